# SPDX-License-Identifier: Apache-2.0
"""Logical tensors, operations, partitions, compiled partitions and tensors, without the builder."""

import dpnp
import numpy as np
import pytest

from sycl_dnn import InvalidArguments, Unimplemented
from sycl_dnn import graph as sg
from sycl_dnn import onednn as dnnl


def matmul_relu(kind, shape=(4, 6), strides=None):
    """Partition of relu(x @ w) with its logical tensors x, w, y."""
    x = sg.LogicalTensor(0, "f32", shape, strides=strides)
    w = sg.LogicalTensor(1, "f32", (6, 5))
    m = sg.LogicalTensor(2, "f32")
    y = sg.LogicalTensor(3, "f32", layout_type="strided")
    g = sg.Graph(kind)
    g.add_op(sg.Op(0, "MatMul", [x, w], [m], {"transpose_b": False}, "mm"))
    g.add_op(sg.Op(1, "ReLU", [m], [y]))
    g.finalize()
    (partition,) = g.get_partitions()
    return partition, x, w, y


@pytest.fixture
def kind(queue):
    return "cpu" if queue.sycl_device.is_cpu else "gpu"


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


def test_logical_tensor_says_what_it_was_given():
    t = sg.LogicalTensor(7, "bf16", (2, None, 4), layout_type="any", property_type="constant")
    assert (t.id, t.dims, t.strides, t.layout_id) == (7, (2, None, 4), None, None)
    assert t.data_type is sg.logical_data_type.bf16
    assert t.layout_type is sg.layout_type.any
    assert t.property_type is sg.property_type.constant
    assert not t.has_known_shape
    assert sg.LogicalTensor(7, dnnl.data_type.f32).dims is None


def test_one_number_is_a_shape_and_no_rank():
    """In C++ ``{1}`` selects the overload that takes the number of axes."""
    t = sg.LogicalTensor(0, "f32", (1,))
    assert (t.dims, t.strides, t.mem_size) == ((1,), (1,), 4)
    assert sg.LogicalTensor(0, "f32", ()).dims == ()


def test_equality_is_that_of_all_parts():
    t = sg.LogicalTensor(0, "f32", (2, 3))
    assert t.is_equal(sg.LogicalTensor(0, "f32", (2, 3), strides=(3, 1)))
    assert not t.is_equal(sg.LogicalTensor(0, "f32", (2, 3), strides=(1, 2)))
    assert not t.is_equal(sg.LogicalTensor(1, "f32", (2, 3)))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"dims": (2, -1)}, "dims must not be negative"),
        ({"dims": (2, 3), "strides": (1,)}, "strides must be as many"),
        ({"dims": (1,) * 13}, "at most 12"),
        ({"dims": (2,), "layout_type": "opaque"}, "layout_id"),
        ({"dims": (2,), "layout_type": "blocked"}, "one of undef, any, strided, opaque"),
        ({"dims": (2,), "property_type": "host_scalar"}, "host scalar must have dims"),
    ],
)
def test_logical_tensor_names_the_rule(arguments, words):
    with pytest.raises(InvalidArguments, match=words):
        sg.LogicalTensor(0, "f32", **arguments)


@pytest.mark.parametrize(
    ("kind", "attribute", "value", "words"),
    [
        ("MatMul", "transpose_a", 1, "be True or False, got 1"),
        ("Elu", "alpha", "1", "be a number, got '1'"),
        ("Elu", "alpha", True, "be a number, got True"),
        ("SoftMax", "axis", 1.5, "be an integer, got 1.5"),
        ("ReduceSum", "axes", (0.5,), "be a sequence of integers"),
        ("Quantize", "scales", 0.5, "be a sequence of numbers"),
        ("MatMul", "transposed", True, "must be one of"),
        ("Convolution", "auto_pad", 3, "be a string"),
    ],
)
def test_attributes_have_the_kind_that_onednn_reads(kind, attribute, value, words):
    with pytest.raises(InvalidArguments, match=words):
        sg.Op(0, kind).set_attr(attribute, value)


def test_every_kind_of_attribute_is_kept():
    values = {"alpha": 0.5, "scales": [0.5, 1], "axis": -1, "axes": (), "use_dst": True,
              "auto_pad": "VALID"}  # fmt: skip
    assert sg.Op(0, "Elu", attrs=values).attributes == values


def test_a_number_is_used_once():
    """oneDNN leaves the second operation out without a word."""
    x, y = sg.LogicalTensor(0, "f32", (2,)), sg.LogicalTensor(1, "f32", (2,))
    g = sg.Graph("cpu")
    g.add_op(sg.Op(5, "ReLU", [x], [y]))
    with pytest.raises(InvalidArguments, match="must be new, got <Op 5"):
        g.add_op(sg.Op(5, "Abs", [y], [sg.LogicalTensor(2, "f32", (2,))]))


def test_lower_case_padding_is_refused_with_its_operation():
    x, w, y = (sg.LogicalTensor(i, "f32", (1, 1, 3, 3)) for i in range(3))
    ones = dict.fromkeys(("strides", "pads_begin", "pads_end", "dilations"), (1, 1))
    op = sg.Op(0, "Convolution", [x, w], [y], {**ones, "auto_pad": "same_upper"}, "conv1")
    g = sg.Graph("cpu")
    assert g.add_op(op, allow_exception=False) is sg.graph_status.invalid_graph_op
    with pytest.raises(InvalidArguments, match="'conv1'.*same_upper") as refusal:
        g.add_op(op)
    assert refusal.value.status is sg.graph_status.invalid_graph_op


def test_partitions_need_a_finalized_graph(kind):
    with pytest.raises(InvalidArguments, match="finalize"):
        sg.Graph(kind).get_partitions()


def test_partition_tells_its_ports(kind, engine):
    partition, x, w, y = matmul_relu(kind)
    assert [t.id for t in partition.input_ports] == [0, 1]
    assert [t.id for t in partition.output_ports] == [3]
    assert partition.ops == [0, 1]
    assert partition.is_supported
    assert partition.engine_kind.name == kind
    single = sg.Partition(sg.Op(0, "ReLU", [x], [sg.LogicalTensor(9, "f32", (4, 6))]), kind)
    assert single.ops == [0]


@pytest.mark.parametrize(
    ("inputs", "outputs", "words"),
    [
        ([0], [3], "must hold a logical tensor for 1"),
        ([0, 1, 1], [3], "once"),
        ([0, 1, 3], [3], "partition's own"),
        ([0, 1], [0], "must hold a logical tensor for 3"),
    ],
)
def test_compile_goes_by_numbers(kind, engine, inputs, outputs, words):
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
    """oneDNN reads behind the end of a list that is too short."""
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


def test_layout_and_type_of_a_tensor_must_be_those_compiled(made, engine, stream, queue):
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
        with pytest.raises(InvalidArguments, match="integer of s32"):
            sg.Tensor(t, wrong)
    with pytest.raises(TypeError, match="must be a number"):
        sg.Tensor(t, "7")


def test_math_mode_is_kept():
    g = sg.Graph("cpu", "bf16")
    assert g.get_fpmath_mode() == (dnnl.fpmath_mode.bf16, False)
    g.set_fpmath_mode("strict", True)
    assert g.get_fpmath_mode() == (dnnl.fpmath_mode.strict, True)


def test_caches_have_capacities(kind):
    before = sg.get_compiled_partition_cache_capacity()
    try:
        sg.set_compiled_partition_cache_capacity(7)
        assert sg.get_compiled_partition_cache_capacity() == 7
        with pytest.raises(InvalidArguments, match="negative"):
            sg.set_compiled_partition_cache_capacity(-1)
    finally:
        sg.set_compiled_partition_cache_capacity(before)


def test_pool_lends_a_buffer_again(kind, engine, stream, queue):
    """Without a scratchpad of the caller's oneDNN would ask the allocator; constants always do."""
    sg.set_constant_tensor_cache_capacity(kind, 16)
    try:
        before = sg.graph_pool_info()["buffers"]
        x, w, y = (
            sg.LogicalTensor(0, "f32", (2, 16, 8, 8)),
            sg.LogicalTensor(1, "f32", (16, 16, 3, 3), property_type="constant"),
            sg.LogicalTensor(2, "f32", (2, 16, 6, 6)),
        )
        zeros, ones = (0, 0), (1, 1)
        op = sg.Op(0, "Convolution", [x, w], [y], {"strides": ones, "dilations": ones,
                   "pads_begin": zeros, "pads_end": zeros, "data_format": "NCX",
                   "weights_format": "OIX"})  # fmt: skip
        made = sg.Partition(op, kind).compile([x, w], [y], engine)
        ins = [sg.Tensor(t, engine) for t in (x, w)]
        for _ in range(3):
            made.execute(stream, ins, [sg.Tensor(y, engine)]).wait()
        after = sg.graph_pool_info()
        assert before < after["buffers"] <= before + 1
    finally:
        sg.set_constant_tensor_cache_capacity(kind, 0)
        sg.clear_graph_pool()


def _weights_changed_in_place(kind, engine, stream, queue, property_type):
    """What a matmul gives before and after its weights were overwritten, over the right values."""
    x, y = sg.LogicalTensor(0, "f32", (4, 32)), sg.LogicalTensor(2, "f32", (4, 16))
    w = sg.LogicalTensor(1, "s8", (32, 16), property_type=property_type)
    wide = sg.LogicalTensor(3, "f32", (32, 16))
    g = sg.Graph(kind)
    g.add_op(sg.Op(0, "Dequantize", [w], [wide], {"scales": [0.5]}))
    g.add_op(sg.Op(1, "MatMul", [x, wide], [y]))
    g.finalize()
    results = []
    array = dpnp.ones((32, 16), dtype="i1", sycl_queue=queue)
    ones = dpnp.ones((4, 32), dtype="f4", sycl_queue=queue)
    steps = []
    for p in g.get_partitions():
        given = {0: x, 1: w, 2: y, 3: wide}
        steps.append(p.compile([given[t.id] for t in p.input_ports],
                               [given[t.id] for t in p.output_ports], engine))  # fmt: skip
    data = {0: sg.Tensor(x, engine, ones), 1: sg.Tensor(w, engine, array),
            2: sg.Tensor(y, engine), 3: sg.Tensor(wide, engine)}  # fmt: skip
    for value in (1, 3):
        array[...] = value
        queue.wait()
        for made in steps:
            made.execute(stream, [data[t.id] for t in made.inputs],
                         [data[t.id] for t in made.outputs]).wait()  # fmt: skip
        results.append(dpnp.asnumpy(data[2].to_array())[0, 0] / (16 * value))
    return results


def test_constants_are_read_anew_unless_the_cache_is_on(kind, engine, stream, queue):
    assert sg.get_constant_tensor_cache_capacity(kind) == 0
    assert _weights_changed_in_place(kind, engine, stream, queue, "constant") == [1, 1]


def test_dump_mode_writes_graphs(tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)
    sg.set_graph_dump_mode(sg.graph_dump_mode.graph)
    try:
        matmul_relu(kind)
    except InvalidArguments:
        pytest.skip("this oneDNN was built without graph dumps")
    finally:
        sg.set_graph_dump_mode(0)
    assert list(tmp_path.glob("graph*.json"))
