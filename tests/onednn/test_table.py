# SPDX-License-Identifier: Apache-2.0
"""Every primitive, enumeration and execution argument of oneDNN's headers is here."""

import re

import pytest
from onednn_headers import header_text, with_macros

from sycl_dnn import onednn as dnnl

#: Python's name of an enum class where it is not the header's.
OTHER_NAMES = {"engine::kind": "engine_kind", "primitive::kind": "primitive_kind"}
#: enum classes of other parts of the header: graph, streams, experimental profiling.
ELSEWHERE = {"flags", "profiling_data_kind"}
ENUMS = (
    "status", "engine::kind", "primitive::kind", "prop_kind", "algorithm", "normalization_flags",
    "rnn_flags", "rnn_direction", "query", "data_type", "format_kind", "format_tag",
    "sparse_encoding", "scratchpad_mode", "rounding_mode", "quantization_mode", "fpmath_mode",
    "accumulation_mode", "cpu_isa", "cpu_isa_hints",
)  # fmt: skip


@pytest.fixture(scope="module")
def header():
    return header_text("dnnl.hpp")


@pytest.fixture(scope="module")
def both_headers(header):
    return header_text("dnnl_common.hpp") + header


def body(text, opening):
    """The text of the braces that follow ``opening``."""
    start = text.index("{", re.search(opening, text, re.M).start())
    depth = 0
    for at in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return text[start:at]
    raise AssertionError(opening)


def test_every_primitive_of_the_header_has_a_row(header):
    names = re.findall(r"^struct (\w+) : public primitive \{", header, re.M)
    assert len(names) == 47
    assert set(names) == set(dnnl.PRIMITIVES)
    assert len(dnnl.PRIMITIVES) == 47
    assert all(callable(getattr(dnnl, name)) for name in names)


def test_every_enumeration_of_the_header_is_covered(both_headers):
    names = set(re.findall(r"^\s*enum class (\w+)", both_headers, re.M)) - ELSEWHERE
    assert names == {name.split("::")[-1] for name in ENUMS}


@pytest.mark.parametrize("name", ENUMS)
def test_enum_has_every_member_of_the_header(name, both_headers):
    *owner, short = name.split("::")
    text = body(both_headers, rf"^struct {owner[0]} :") if owner else both_headers
    found = re.findall(r"(?:^|,|\{)\s*(\w+)\s*(?==)", body(text, rf"enum class {short}\b"))
    members = getattr(dnnl, OTHER_NAMES.get(name, name)).__members__
    assert found
    assert list(members) == found


def test_every_execution_argument_of_the_header_has_a_name():
    """Some have several in the header; one is enough."""
    types = with_macros("dnnl_types.h")
    defined = dict(re.findall(r"^#define DNNL_ARG_(\w+)\s+(\w+)\s*$", types, re.M))
    numbers = {name: int(value) for name, value in defined.items() if value.isdigit()}
    bits = {"UNDEF", "REDUCE", "HINT_MAX_GROUP_SIZE", "MULTIPLE_SRC", "MULTIPLE_DST"}
    bits |= {name for name in numbers if name.startswith("ATTR_") and numbers[name] >= 512}
    expected = {name: n for name, n in numbers.items() if name not in bits}
    assert len(expected) > 30
    assert set(expected.values()) <= set(dnnl.ARGUMENTS.values())
    for name, number in dnnl.ARGUMENTS.items():
        assert expected.get(name.upper(), number) == number == dnnl.argument_id(name)
