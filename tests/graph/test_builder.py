# SPDX-License-Identifier: Apache-2.0
"""Building: shapes and data types are inferred at once; errors name operation, argument, rule."""

import pytest
from graph_ops import CASES, build

from sycl_dnn import InvalidArguments, Unimplemented
from sycl_dnn.graph import Graph, fallbacks
from sycl_dnn.trace.capabilities import has_avx512

ONES = {"strides": (1, 1), "pads_begin": (0, 0), "pads_end": (0, 0)}


@pytest.fixture
def g():
    return Graph("cpu")


@pytest.mark.parametrize("case", [c for c in CASES if c.op != "end"], ids=str)
def test_inferred_shapes_match_onednn(case):
    """Compiled without output shapes, oneDNN infers the same."""
    dtype = case.dtypes[0]
    graph, _ = build(case, dtype)
    from sycl_dnn import onednn as dnnl
    from sycl_dnn.graph import LogicalTensor

    node = graph.nodes[-1]
    (partition,) = graph.partitions()
    if not partition.is_supported:
        # Nothing to compare: a fallback runs, which test_graph_operations.py checks.
        assert case.instead or not has_avx512(dnnl.Engine("cpu"))
        return
    inputs = [LogicalTensor(v.id, v.dtype, v.shape, property_type=v.property) for v in node.values]
    outputs = [LogicalTensor(v.id, v.dtype, layout_type="strided") for v in node.outputs]
    try:
        result = partition.compile(inputs, outputs, dnnl.Engine("cpu"))
    except Unimplemented:
        assert case.instead
        return
    for value in node.outputs:
        assert result.query_logical_tensor(value.id).dims == value.shape


def test_unknown_sizes_are_resolved_at_the_call(g):
    x = g.input((None, 4))
    y = g.relu(x)
    assert (x.shape, y.shape, y.dtype) == ((None, 4), None, "f32")
    assert not x.has_known_shape


def test_numbers_become_constants_of_the_right_type(g):
    x = g.input((2, 3), "bf16")
    assert g.multiply(x, 2).dtype == "bf16"
    assert [c.dtype for c in g.constants] == ["bf16"]


def test_data_format_of_the_graph_is_the_default():
    g = Graph("cpu", data_format="NCX")
    y = g.convolution(g.input((1, 4, 8, 8)), g.input((6, 4, 3, 3)), **ONES, dilations=(1, 1))
    assert y.shape == (1, 6, 6, 6)
    y = g.conv_transpose(y, g.input((6, 2, 3, 3)), **ONES, dilations=(1, 1))
    assert y.shape == (1, 2, 8, 8)
    assert g.bias_add(y, g.input((2,)), data_format="NCX").shape == y.shape


def test_channels_are_last_by_default(g):
    y = g.convolution(g.input((1, 8, 8, 4)), g.input((3, 3, 4, 6)), **ONES, dilations=(1, 1))
    assert y.shape == (1, 6, 6, 6)


WINDOW = {"strides": (2, 2), "pads_begin": (1, 0), "pads_end": (1, 1), "kernel": (3, 2)}

REFUSED = {
    r"max_pool_backward: diff_dst must have shape \(2, 2, 16": lambda g, x: g.max_pool_backward(
        g.input((2, 3, 32, 7)), g.input((4,)), **WINDOW
    ),
    "max_pool_backward: strides must be positive": lambda g, x: g.max_pool_backward(
        g.input((2, 32, 7, 3)), g.input((2, 16, 4, 3)), **WINDOW | {"strides": (0, 2)}
    ),
    "convolution_backward_data: dst_shape must have": lambda g, x: g.convolution_backward_data(
        g.input((2, 6, 6, 5)), g.input((3, 3, 4, 5)), dst_shape=[], **ONES, dilations=(1, 1)
    ),
    "convolution_backward_data: weights must have 4 axes": lambda g, x: g.convolution_backward_data(
        g.input((2, 6, 6, 5)), g.input((3, 3, 4)), dst_shape=g.input((4,), "s32"), **ONES,
        dilations=(1, 1),
    ),
    "convolution_backward_weights: src must have 4 axes": lambda g, x: (
        g.convolution_backward_weights(
            g.input((2, 8, 7)), g.input((2, 6, 6, 6)), weights_shape=g.input((4,), "s32"), **ONES,
            dilations=(1, 1),
        )
    ),
    "convolution_backward_weights: diff_dst must have shape": lambda g, x: (
        g.convolution_backward_weights(
            g.input((2, 8, 7, 4)), g.input((2, 6, 6, 6)), weights_shape=(3, 3, 4, 6), **ONES,
            dilations=(1, 1),
        )
    ),
    "interpolate_backward: diff_dst must have shape": lambda g, x: g.interpolate_backward(
        g.input((2, 4, 5, 3)), g.input((2, 8, 9, 3)), mode="nearest", sizes=(8, 10)
    ),
    r"avg_pool_backward: .*, as src_shape gives": lambda g, x: g.avg_pool_backward(
        g.input((4,)), src_shape=(2, 3, 32, 7), **WINDOW, exclude_pad=True
    ),
    "matmul: weights must have 3 rows": lambda g, x: g.matmul(x, g.input((4, 5))),
    r"matmul: weights must have batch axes": lambda g, x: g.matmul(
        g.input((2, 4, 3)), g.input((5, 3, 2))
    ),
    r"bias_add: bias must have shape \(3,\), one": lambda g, x: g.bias_add(x, g.input((4,))),
    "convolution: weights must have 4 axes": lambda g, x: g.convolution(
        g.input((1, 9, 9, 2)), g.input((3, 2, 4)), **ONES, dilations=(1, 1)
    ),
    "add: src_1 must broadcast": lambda g, x: g.add(x, g.input((5,))),
    "add: src_1 must have the shape": lambda g, x: g.add(x, g.input((3,)), auto_broadcast="none"),
    "maximum: src_1 must have the dtype of src_0, f32, got bf16": lambda g, x: g.maximum(
        x, g.input((2, 3), "bf16")
    ),
    "relu: src must be f32 or bf16 or f16, got s32": lambda g, x: g.relu(g.input((2,), "s32")),
    "relu: src must belong to this graph": lambda g, x: g.relu(Graph("cpu").input((2,))),
    "softmax: axis must be an axis of a tensor with 2, got 2": lambda g, x: g.softmax(x, axis=2),
    "softmax: mode must be one of 'none', 'inf_as_zero'": lambda g, x: g.softmax(x, mode="inf"),
    "static_reshape: shape must have 6 elements": lambda g, x: g.static_reshape(
        x, shape=(4, -1), special_zero=False
    ),
    "static_transpose: order must be a permutation": lambda g, x: g.static_transpose(
        x, order=(0, 0)
    ),
    "static_transpose: order must be a permutation of 2 axes": lambda g, x: g.static_transpose(
        x, order=(3, 0)
    ),
    "concat: src must have the sizes": lambda g, x: g.concat([x, g.input((2, 4))], axis=0),
    "group_norm: groups must divide the 3 channels": lambda g, x: g.group_norm(x, groups=2),
    "layer_norm: gamma must have shape": lambda g, x: g.layer_norm(
        x, g.input((2,)), g.input((2,))
    ),
    "convolution: weights must have 4 input channels": lambda g, x: g.convolution(
        g.input((1, 8, 8, 4)), g.input((3, 3, 5, 6)), **ONES, dilations=(1, 1)
    ),
    "convolution: strides must have 2 numbers": lambda g, x: g.convolution(
        g.input((1, 8, 8, 4)), g.input((3, 3, 4, 6)), **{**ONES, "strides": (1,)},
        dilations=(1, 1),
    ),
    "convolution: pads_end must be non-negative": lambda g, x: g.convolution(
        g.input((1, 8, 8, 4)), g.input((3, 3, 4, 6)), **{**ONES, "pads_end": (0, -1)},
        dilations=(1, 1),
    ),
    "convolution: auto_pad must be one of 'None'": lambda g, x: g.convolution(
        g.input((1, 8, 8, 4)), g.input((3, 3, 4, 6)), **ONES, dilations=(1, 1), auto_pad="valid"
    ),
    "max_pool: src must be at least as large": lambda g, x: g.max_pool(
        g.input((1, 2, 2, 4)), **ONES, kernel=(3, 3)
    ),
    "interpolate: sizes must be given, or else scales": lambda g, x: g.interpolate(
        g.input((1, 2, 2, 4)), mode="nearest"
    ),
    "type_cast: dtype must differ": lambda g, x: g.type_cast(x, dtype="f32"),
    "type_cast: dtype must be f32 or bf16 or f16, got s8": lambda g, x: g.type_cast(x, dtype="s8"),
    "Graph.input: name must be new": lambda g, x: g.input((2,), name="x"),
    "Graph.output: value must be the result": lambda g, x: g.output(x),
    "Graph.scalar: dtype must be f32, s32 or s64": lambda g, x: g.scalar("bf16"),
}  # fmt: skip


@pytest.mark.parametrize("words", REFUSED)
def test_errors_name_operation_argument_rule_and_value(g, words):
    x = g.input((2, 3), name="x")
    with pytest.raises(InvalidArguments, match=words):
        REFUSED[words](g, x)


MISTYPED = {
    "relu: src must be a value of the graph, got ndarray": lambda g, x: g.relu(
        __import__("numpy").ones(2)
    ),
    "elu: alpha must be a number, got '1'": lambda g, x: g.elu(x, alpha="1"),
    "elu: missing a required argument: 'alpha'": lambda g, x: g.elu(x),
    "reduce_sum: axes must be a sequence of integers": lambda g, x: g.reduce_sum(x, axes=1),
    "matmul: transpose_a must be True or False": lambda g, x: g.matmul(x, x, transpose_a=1),
    "quantize: missing a required argument": lambda g, x: g.quantize(x, scales=(1.0,)),
    "concat: src must be a sequence": lambda g, x: g.concat(x, axis=0),
    "dtype must be one of f32": lambda g, x: g.input((2,), "complex64"),
    "shape must hold integers": lambda g, x: g.input((2.5,)),
}


@pytest.mark.parametrize("words", MISTYPED)
def test_invalid_types_raise_type_error(g, words):
    x = g.input((2, 3))
    with pytest.raises(TypeError, match=words):
        MISTYPED[words](g, x)


def test_nothing_is_added_after_finalize(g):
    y = g.relu(g.input((2,)))
    g.partitions()
    for add in (lambda: g.relu(y), lambda: g.input((2,)), lambda: g.output(y)):
        with pytest.raises(InvalidArguments, match="must not be finalized"):
            add()


def test_a_fallback_of_groups_needs_their_shape(g):
    numbers, scales = g.input((4, 16), "s8"), g.input((4, 2), "f32")
    g.output(g.dynamic_dequantize(numbers, scales, qtype="per_group", axis=-1))
    with pytest.raises(InvalidArguments, match="group_shape must be given with qtype 'per_group'"):
        fallbacks.dequantize(g.nodes[-1])
