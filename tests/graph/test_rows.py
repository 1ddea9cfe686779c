# SPDX-License-Identifier: Apache-2.0
"""The table of operations agrees with oneDNN's header and its schemas."""

import importlib.metadata
import inspect
import re
from pathlib import Path

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
SCHEMAS = {name: row for name, row in OPERATIONS.items() if name != "wildcard"}


def test_schemas_require_exactly_what_the_rows_require():
    for name, row in SCHEMAS.items():
        attributes = _minimal(row) | EXTRA.get(name, {})
        assert _status(_op(row, "f32", attributes)) == "success", name
        for attribute in row.attributes:
            if attribute.required:
                less = {n: v for n, v in attributes.items() if n != attribute.name}
                assert _status(_op(row, "f32", less)) == "invalid_graph_op", (name, attribute.name)
        needed = [i for i in row.inputs if not i.optional]
        if len(needed) > 1:
            assert _status(_op(row, "f32", attributes, len(needed) - 1)) != "success", name


def _status(op):
    return sg.Graph("cpu").add_op(op, allow_exception=False).name


def test_schemas_accept_all_choices():
    for name, row in SCHEMAS.items():
        least = _minimal(row) | EXTRA.get(name, {})
        # Rules between several attributes have their own tests.
        for attribute in (a for a in row.attributes if a.kind == "str" and not a.is_flag):
            for choice in set(attribute.choices) - {"per_channel", "per_group"}:
                op = _op(row, "f32", {**least, attribute.name: choice})
                assert _status(op) == "success", (name, choice)
            # oneDNN's schema does not check these two.
            if attribute.name not in ("rounding_type", "qtype"):
                op = _op(row, "f32", {**least, attribute.name: "none of them"})
                assert _status(op) == "invalid_graph_op", (name, attribute.name)


def test_help_shows_tensors_and_attributes():
    for name, row in SCHEMAS.items():
        method = getattr(Graph, name)
        parameters = set(inspect.signature(method).parameters) - {"self"}
        assert parameters >= {v.name for v in (*row.inputs, *row.attributes)}, name
        shown = [f"\n{p} : " for p in parameters]
        shown += [f"\n{word}\n" for word in ("Parameters", "Raises", "Notes")]
        assert not [text for text in shown if text not in method.__doc__], name
