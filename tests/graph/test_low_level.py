# SPDX-License-Identifier: Apache-2.0
"""Partitions, compiled partitions and tensors, without the builder."""

import dpctl
import dpnp
import numpy as np
import pytest
from graph_ops.small import matmul_relu

from sycl_dnn import InvalidArguments, Unimplemented, onednn
from sycl_dnn import graph as sg


@pytest.fixture
def made(kind, engine):
    partition, x, w, y = matmul_relu(kind)
    return partition.compile([x, w], [y], engine)


def arrays(queue):
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal((4, 6), "f4"), rng.standard_normal((6, 5), "f4")
    return a, b, dpnp.asarray(a, sycl_queue=queue), dpnp.asarray(b, sycl_queue=queue)


def tensors(made, engine, x, w):
    y = sg.Tensor(made.query_logical_tensor(3), engine)
    return [sg.Tensor(made.inputs[0], engine, x), sg.Tensor(made.inputs[1], engine, w)], y


def test_arrays_of_other_queues_are_in_sequence(queue, kind):
    """The execution waits for dpnp's work on them, and that for the execution."""
    other = dpctl.SyclQueue(queue.sycl_context, queue.sycl_device)
    engine = onednn.Engine(queue)
    stream = onednn.Stream(engine, queue, ordered=True)
    src, dst = (sg.LogicalTensor(i, "f32", (1000, 1000)) for i in (0, 1))
    relu = sg.Partition(sg.Op(0, "ReLU", [src], [dst]), kind).compile([src], [dst], engine)
    small = dpnp.full((1000, 1000), 0.001, dtype="f4", sycl_queue=other)
    for number in range(10):
        x = (small @ small @ small) * 0 + number
        y = dpnp.full((1000, 1000), -1, dtype="f4", sycl_queue=queue)
        placed = sg.Tensor(relu.inputs[0], engine, dpnp.zeros_like(x))
        placed.set_data_handle(x)
        relu.execute(stream, [placed], [sg.Tensor(relu.outputs[0], engine, y)])
        x[...] = -2  # waits for the execution
        assert y.min() == y.max() == number


def test_partitions_need_a_finalized_graph(kind):
    with pytest.raises(InvalidArguments, match="finalize"):
        sg.Graph(kind).get_partitions()


def test_partition_lists_its_ports(kind, engine):
    partition, x, w, y = matmul_relu(kind)
    assert [t.id for t in partition.input_ports] == [0, 1]
    assert [t.id for t in partition.output_ports] == [3]
    assert partition.ops == [0, 1]
    assert partition.is_supported
    assert partition.engine_kind.name == kind
    single = sg.Partition(sg.Op(0, "ReLU", [x], [sg.LogicalTensor(9, "f32", (4, 6))]), kind)
    assert single.ops == [0]


PADS = {"strides": (2, 2), "pads_begin": (0, 0), "pads_end": (0, 0)}
POOL = PADS | {"kernel": (2, 2)}
CONV = PADS | {"dilations": (1, 1)}
#: Gradients with inconsistent ranks: shapes, attributes, and the tensor that differs.
GRADIENTS = {
    "MaxPoolBackward": ([(2, 3, 8, 8), (4,)], POOL, "src, 4"),
    "AvgPoolBackward": ([(4,)], POOL | {"src_shape": (2, 3, 8, 8), "exclude_pad": True},
                        "src_shape, 4"),
    "ConvolutionBackwardData": ([(2, 3, 8, 8), (3, 3, 1, 1)], CONV | {"dst_shape": ()},
                                "dst_shape, 0"),
    "ConvolutionBackwardWeights": ([(2, 3, 8, 8), (2, 3, 4, 4)], CONV | {"weights_shape": (3, 3)},
                                   "weights_shape, 2"),
    "ConvTransposeBackwardWeights": ([(2, 3, 4, 4), (2, 3, 8, 8)], CONV | {"weights_shape": (3,)},
                                     "weights_shape, 1"),
}  # fmt: skip


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_need_as_many_axes(kind, name):
    """oneDNN crashes, or reads sizes that do not exist."""
    shapes, attrs, words = GRADIENTS[name]
    inputs = [sg.LogicalTensor(i, "f32", shape) for i, shape in enumerate(shapes)]
    op = sg.Op(0, name, inputs, [sg.LogicalTensor(9, "f32", (2, 3, 8, 8))], attrs)
    for taker in (sg.Graph(kind).add_op, lambda op: sg.Partition(op, kind)):
        with pytest.raises(InvalidArguments, match=f"diff_dst must have as many axes as {words}"):
            taker(op)


@pytest.mark.parametrize("name", ["strides", "dilations", "kernel"])
def test_windows_have_positive_sizes_and_steps(name):
    """oneDNN divides by a stride of 0, which crashes the process."""
    kind = "MaxPool" if name == "kernel" else "Convolution"
    with pytest.raises(InvalidArguments, match=rf"{name} of {kind} .* positive.*\(1, 0\)"):
        sg.Op(0, kind, attrs={name: (1, 0)})


@pytest.mark.parametrize(
    ("inputs", "outputs", "words"),
    [
        ([0], [3], "must hold a logical tensor for 1"),
        ([0, 1, 1], [3], "once"),
        ([0, 1, 3], [3], "partition's own"),
        ([0, 1], [0], "must hold a logical tensor for 3"),
    ],
)
def test_compile_matches_tensors_by_id(kind, engine, inputs, outputs, words):
    partition, x, w, y = matmul_relu(kind)
    by_id = {0: x, 1: w, 3: y}
    with pytest.raises(InvalidArguments, match=words):
        partition.compile([by_id[i] for i in inputs], [by_id[i] for i in outputs], engine)


def test_undefined_layout_is_refused(kind, engine):
    partition, x, w, y = matmul_relu(kind)
    with pytest.raises(InvalidArguments, match="layout any, strided or opaque"):
        partition.compile([x, w], [sg.LogicalTensor(3, "f32", layout_type="undef")], engine)
    with pytest.raises(InvalidArguments, match="known shapes"):
        partition.compile([sg.LogicalTensor(0, "f32"), w], [y], engine)


def test_unsupported_partition_is_not_compiled(kind, engine):
    x, y = (sg.LogicalTensor(i, "f32", (2,)) for i in range(2))
    partition = sg.Partition(sg.Op(0, "Pow", [x], [y], {"beta": 2.0}), kind)
    assert not partition.is_supported
    with pytest.raises(Unimplemented, match="is_supported"):
        partition.compile([x], [y], engine)


def test_shape_is_inferred_and_tensors_run_in_any_order(made, engine, stream, queue):
    """oneDNN takes tensors by position and computes nonsense if they are exchanged."""
    a, b, x, w = arrays(queue)
    assert made.query_logical_tensor(3).dims == (4, 5)
    ins, y = tensors(made, engine, x, w)
    for order in (ins, ins[::-1]):
        y.to_array()[...] = 0
        queue.wait()
        made.execute(stream, order, [y]).wait()
        assert np.allclose(dpnp.asnumpy(y.to_array()), np.maximum(a @ b, 0), atol=1e-5)


def test_missing_and_foreign_tensors_are_refused(made, engine, stream, queue):
    """oneDNN reads past the end of a list that is too short."""
    _, _, x, w = arrays(queue)
    ins, y = tensors(made, engine, x, w)
    for inputs, outputs, words in (
        (ins[:1], [y], "inputs must hold a tensor for 1"),
        (ins, [], "outputs must hold a tensor for 3"),
        ([*ins, ins[0]], [y], "once"),
        ([*ins, y], [y], "partition's own"),
    ):
        with pytest.raises(InvalidArguments, match=words):
            made.execute(stream, inputs, outputs)


def test_layout_and_type_of_a_tensor_must_match_the_compiled_ones(made, engine, stream, queue):
    _, _, x, w = arrays(queue)
    ins, y = tensors(made, engine, x, w)
    for wrong in (
        sg.Tensor(sg.LogicalTensor(0, "f32", (4, 6), strides=(1, 4)), engine),
        sg.Tensor(sg.LogicalTensor(0, "s32", (4, 6)), engine),
        sg.Tensor(sg.LogicalTensor(0, "f32", (6, 4)), engine),
    ):
        with pytest.raises(InvalidArguments, match="input must be 0: f32"):
            made.execute(stream, [wrong, ins[1]], [y])


def test_array_must_fit_its_logical_tensor(engine, queue):
    t = sg.LogicalTensor(0, "f32", (4, 6))
    for array, words in (
        (dpnp.zeros((4, 6), dtype="i4", sycl_queue=queue), "dtype f32"),
        (dpnp.zeros((6, 4), dtype="f4", sycl_queue=queue), "shape"),
        (dpnp.zeros((6, 4), dtype="f4", sycl_queue=queue).T, "strides"),
    ):
        with pytest.raises(InvalidArguments, match=words):
            sg.Tensor(t, engine, array)
    with pytest.raises(InvalidArguments, match="hold 96 bytes"):
        sg.Tensor(t, engine, dpnp.zeros(8, dtype="f4", sycl_queue=queue).get_array().usm_data)


def test_results_share_memory_only_where_allowed(kind, engine, stream, queue):
    """A residual may be overwritten by the sum, the operands of a product may not."""
    x, w = sg.LogicalTensor(0, "f32", (6, 6)), sg.LogicalTensor(1, "f32", (6, 6))
    m, r = sg.LogicalTensor(2, "f32"), sg.LogicalTensor(3, "f32", (6, 6))
    y = sg.LogicalTensor(4, "f32", (6, 6))
    g = sg.Graph(kind)
    g.add_op(sg.Op(0, "MatMul", [x, w], [m]))
    g.add_op(sg.Op(1, "Add", [m, r], [y]))
    g.finalize()
    (partition,) = g.get_partitions()
    made = partition.compile([x, w, r], [y], engine)
    assert made.inplace_ports == [(3, 4)]
    ones, sums = (dpnp.ones((6, 6), dtype="f4", sycl_queue=queue) for _ in range(2))
    queue.wait()  # the stream is not ordered behind dpnp
    ins = [sg.Tensor(t, engine, sums if t.id == 3 else ones) for t in (x, w, r)]
    made.execute(stream, ins, [sg.Tensor(y, engine, sums)]).wait()
    assert (dpnp.asnumpy(sums) == 7).all()
    with pytest.raises(InvalidArguments, match="must not share memory with input"):
        made.execute(stream, ins, [sg.Tensor(y, engine, ones)])


def test_own_scratchpad_must_be_large_enough(kind, engine, stream, queue):
    x = sg.LogicalTensor(0, "f32", (64, 64))
    y = sg.LogicalTensor(1, "f32", (64, 64))
    op = sg.Op(0, "SoftMax", [x], [y], {"axis": 0})
    made = sg.Partition(op, kind).compile([x], [y], engine)
    needed = made.scratchpad_logical_tensor
    ins, outs = [sg.Tensor(x, engine)], [sg.Tensor(y, engine)]
    made.execute(stream, ins, outs, sg.Tensor(needed, engine) if needed.mem_size else None).wait()
    if needed.mem_size > 1:
        small = sg.Tensor(sg.LogicalTensor(needed.id, "u8", (1,)), engine)
        with pytest.raises(InvalidArguments, match="scratchpad must"):
            made.execute(stream, ins, outs, small)


def test_host_scalar_is_a_number(engine):
    t = sg.LogicalTensor(0, "s32", (), property_type="host_scalar")
    assert sg.Tensor(t, 7).engine is None
    for wrong in (0.5, 2**31):
        with pytest.raises(InvalidArguments, match="of s32 must be an integer in"):
            sg.Tensor(t, wrong)
    with pytest.raises(TypeError, match="must be a number"):
        sg.Tensor(t, "7")
