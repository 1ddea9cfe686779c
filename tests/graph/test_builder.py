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
STEPS = ONES | {"dilations": (1, 1)}
#: Calls of operations over x (2, 3) and inputs i, and what a refusal says after the name.
VALUES = """
max_pool_backward(i(2, 3, 32, 7), i(4), **WINDOW) -> diff_dst must have shape (2, 2, 16
max_pool_backward(i(2, 32, 7, 3), i(2, 16, 4, 3), **WINDOW | {"strides": (0, 2)}) -> strides must be
convolution_backward_data(i(2, 6, 6, 5), i(3, 3, 4, 5), dst_shape=[], **STEPS) -> dst_shape must
convolution_backward_data(i(2, 6, 6, 5), i(3, 3, 4), dst_shape=n(4), **STEPS) -> weights must have 4
convolution_backward_weights(i(2, 8, 7), i(2, 6, 6, 6), weights_shape=n(4), **STEPS) -> src must hav
convolution_backward_weights(*images(), weights_shape=(3, 3, 4, 6), **STEPS) -> diff_dst must have s
interpolate_backward(i(2, 4, 5, 3), i(2, 8, 9, 3), mode="nearest", sizes=(8, 10)) -> diff_dst must
avg_pool_backward(i(4), src_shape=(2, 3, 32, 7), **WINDOW, exclude_pad=True) -> as src_shape gives
matmul(x, i(4, 5)) -> weights must have 3 rows
matmul(i(2, 4, 3), i(5, 3, 2)) -> weights must have batch axes
bias_add(x, i(4)) -> bias must have shape (3,), one
convolution(i(1, 9, 9, 2), i(3, 2, 4), **STEPS) -> weights must have 4 axes
convolution(i(1, 8, 8, 4), i(3, 3, 5, 6), **STEPS) -> weights must have 4 input channels
convolution(i(1, 8, 8, 4), i(3, 3, 4, 6), **STEPS | {"strides": (1,)}) -> strides must have 2 number
convolution(i(1, 8, 8, 4), i(3, 3, 4, 6), **STEPS | {"pads_end": (0, -1)}) -> pads_end must be non-n
convolution(i(1, 8, 8, 4), i(3, 3, 4, 6), **STEPS, auto_pad="valid") -> auto_pad must be one of 'Non
add(x, i(5)) -> src_1 must broadcast
add(x, i(3), auto_broadcast="none") -> src_1 must have the shape
maximum(x, i(2, 3, dtype="bf16")) -> src_1 must have the dtype of src_0, f32, got bf16
relu(n(2)) -> src must be f32 or bf16 or f16, got s32
relu(Graph("cpu").input((2,))) -> src must belong to this graph
softmax(x, axis=2) -> axis must be an axis of a tensor with 2, got 2
softmax(x, mode="inf") -> mode must be one of 'none', 'inf_as_zero'
static_reshape(x, shape=(4, -1), special_zero=False) -> shape must have 6 elements
static_transpose(x, order=(0, 0)) -> order must be a permutation
static_transpose(x, order=(3, 0)) -> order must be a permutation of 2 axes
concat([x, i(2, 4)], axis=0) -> src must have the sizes
group_norm(x, groups=2) -> groups must divide the 3 channels
layer_norm(x, i(2), i(2)) -> gamma must have shape
max_pool(i(1, 2, 2, 4), **ONES, kernel=(3, 3)) -> src must be at least as large
interpolate(i(1, 2, 2, 4), mode="nearest") -> sizes must be given, or else scales
type_cast(x, dtype="f32") -> dtype must differ
type_cast(x, dtype="s8") -> dtype must be f32 or bf16 or f16, got s8
input((2,), name="x") -> name must be new
output(x) -> value must be the result
scalar("bf16") -> dtype must be f32, s32 or s64
"""
TYPES = """
relu([1, 2]) -> src must be a value of the graph, got list
elu(x, alpha="1") -> alpha must be a number, got '1'
elu(x) -> missing a required argument: 'alpha'
reduce_sum(x, axes=1) -> axes must be a sequence of integers
matmul(x, x, transpose_a=1) -> transpose_a must be True or False
quantize(x, scales=(1.0,)) -> missing a required argument
concat(x, axis=0) -> src must be a sequence
input((2,), "complex64") -> dtype must be one of f32
input((2.5,)) -> shape must hold integers
"""


@pytest.mark.parametrize(("error", "rows"), [(InvalidArguments, VALUES), (TypeError, TYPES)])
def test_errors_name_operation_argument_rule_and_value(g, error, rows):
    x, i = g.input((2, 3), name="x"), lambda *shape, dtype="f32": g.input(shape, dtype)
    names = {n: getattr(g, n) for n in dir(g) if not n.startswith("_")}
    names |= {"x": x, "i": i, "n": lambda *shape: i(*shape, dtype="s32"), "WINDOW": WINDOW,
              "STEPS": STEPS, "ONES": ONES, "Graph": Graph,
              "images": lambda: (i(2, 8, 7, 4), i(2, 6, 6, 6))}  # fmt: skip
    for call, words in (row.split(" -> ") for row in rows.strip().splitlines()):
        with pytest.raises(error) as refusal:
            eval(call, dict(names))
        said, name = str(refusal.value), call.partition("(")[0]
        assert words in said, said
        assert said.startswith((f"{name}: ", f"Graph.{name}: ")), said


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
