# SPDX-License-Identifier: Apache-2.0
"""The table of operations agrees with oneDNN's header and its schemas."""

import importlib.metadata
import inspect
import re
from pathlib import Path

import pytest

from sycl_dnn import graph as sg
from sycl_dnn.graph import OPERATIONS, Graph
from sycl_dnn.graph.table import ATTRIBUTE_KINDS

#: The header's sentences over each block of attributes, in its order.
BLOCKS = ("float", "floats", "int", "ints", "bool", "str")


def header():
    """The C header of the installed oneDNN."""
    files = importlib.metadata.files("onednn-devel")
    match = next(f for f in files if f.name == "dnnl_graph_types.h")
    return Path(match.locate()).read_text()


def test_names_match_the_header():
    found = re.findall(r"dnnl_graph_op_(?!attr_|kind|last_symbol|t\b)(\w+)", header())
    names = set(found) - {"kind_t", "attr_t"}
    assert names == set(OPERATIONS)
    assert len(OPERATIONS) == 88


def test_kinds_match_the_enumeration():
    assert {row.kind for row in OPERATIONS.values()} == set(sg.op_kind.__members__)


def test_attribute_kinds_match_the_header():
    body = header().split("dnnl_graph_op_attr_undef = 0,")[1].split("dnnl_graph_op_attr_end")[0]
    parts = re.split(r"dnnl_graph_op_attr_\w+ = 0x", body)
    firsts = re.findall(r"dnnl_graph_op_attr_(\w+) = 0x", body)
    for kind, first, part in zip(BLOCKS, firsts, parts[1:], strict=True):
        others = re.findall(r"dnnl_graph_op_attr_(\w+)[,\n]", part)
        assert {first, *others} == set(ATTRIBUTE_KINDS[kind].split())


def _minimal(row):
    """The required attributes of a row."""
    values = {"float": 0.5, "floats": (0.5,), "int": 1, "ints": (1, 1), "bool": True}
    return {
        a.name: a.choices[0] if a.kind == "str" else values[a.kind]
        for a in row.attributes
        if a.required
    }


def _op(row, dtype, attributes, n_inputs=None):
    inputs = [i for i in row.inputs if not i.optional][:n_inputs]
    outputs = [o for o in row.outputs if o.when is None]

    def tensor(id, dtypes):
        return sg.LogicalTensor(id, dtype if dtype in dtypes else dtypes[0], layout_type="undef")

    def written(output):
        known = {i.name: i.dtypes for i in row.inputs}
        if output.dtype is None:
            return next((c,) for c in output.choices if c != dtype)
        return known.get(output.dtype, (output.dtype,))

    ins = [tensor(n, i.dtypes) for n, i in enumerate(inputs)]
    outs = [tensor(n + 10, written(o)) for n, o in enumerate(outputs)]
    return sg.Op(0, row.kind, ins, outs, attributes)


#: Rules between attributes and tensors that a schema check does not cover.
EXTRA = {
    "avg_pool_backward": {"src_shape": (1, 1)},
    "convolution_backward_data": {"dst_shape": (1, 1)},
    "convolution_backward_weights": {"weights_shape": (1, 1)},
    "conv_transpose_backward_weights": {"weights_shape": (1, 1)},
    "interpolate": {"sizes": (1, 1)},
    "interpolate_backward": {"sizes": (1, 1)},
    "group_norm": {"keep_stats": False},
    "layer_norm": {"keep_stats": False},
    "layer_norm_backward": {"use_affine": False},
    **{name: {"axes": (1,)} for name in OPERATIONS if name.startswith("reduce_")},
}
SCHEMAS = [name for name in OPERATIONS if name != "wildcard"]


@pytest.mark.parametrize("name", SCHEMAS)
def test_schema_requires_exactly_what_the_row_requires(name):
    row = OPERATIONS[name]
    attributes = _minimal(row) | EXTRA.get(name, {})
    dtype = "f32"
    assert _status(_op(row, dtype, attributes)) == "success"
    for attribute in row.attributes:
        if attribute.required:
            less = {n: v for n, v in attributes.items() if n != attribute.name}
            assert _status(_op(row, dtype, less)) == "invalid_graph_op", attribute.name
    needed = [i for i in row.inputs if not i.optional]
    if len(needed) > 1:
        assert _status(_op(row, dtype, attributes, len(needed) - 1)) != "success"


def _status(op):
    return sg.Graph("cpu").add_op(op, allow_exception=False).name


@pytest.mark.parametrize("name", SCHEMAS)
def test_schema_accepts_all_attributes_and_choices(name):
    row = OPERATIONS[name]
    least = _minimal(row) | EXTRA.get(name, {})
    for attribute in row.attributes:
        # Rules between several attributes have their own tests.
        if attribute.is_flag or attribute.kind != "str":
            continue
        for choice in attribute.choices:
            if choice == "per_channel" or choice == "per_group":
                continue
            assert _status(_op(row, "f32", {**least, attribute.name: choice})) == "success"
        # oneDNN's schema does not check these two.
        if attribute.name not in ("rounding_type", "qtype"):
            wrong = {**least, attribute.name: "none of them"}
            assert _status(_op(row, "f32", wrong)) == "invalid_graph_op"


@pytest.mark.parametrize("name", [n for n in OPERATIONS if n != "wildcard"])
def test_help_shows_tensors_and_attributes(name):
    row, method = OPERATIONS[name], getattr(Graph, name)
    parameters = inspect.signature(method).parameters
    expected = {i.name for i in row.inputs} | {a.name for a in row.attributes}
    assert expected <= set(parameters)
    for parameter in parameters:
        assert parameter == "self" or f"\n{parameter} : " in method.__doc__
    for word in ("Parameters", "Raises", "Notes"):
        assert f"\n{word}\n" in method.__doc__
