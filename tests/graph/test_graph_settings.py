# SPDX-License-Identifier: Apache-2.0
"""Settings of graphs: math mode, caches, the pool, dumps."""

import dpnp
import numpy as np
import pytest
from graph_ops.small import matmul_relu

from sycl_dnn import InvalidArguments
from sycl_dnn import graph as sg
from sycl_dnn import onednn as dnnl


def test_math_mode_is_kept():
    g = sg.Graph("cpu", "bf16")
    assert g.get_fpmath_mode() == (dnnl.fpmath_mode.bf16, False)
    g.set_fpmath_mode("strict", True)
    assert g.get_fpmath_mode() == (dnnl.fpmath_mode.strict, True)


@pytest.mark.parametrize("mode", ["bf16", "tf32", "any"])
def test_products_in_a_math_mode_are_near_those_in_float32(mode, kind, queue):
    g = sg.Graph(kind, mode)
    g.relu(g.matmul(g.input((32, 64)), g.input((64, 16))))
    x, w = (np.random.default_rng(0).standard_normal(s).astype("f4") for s in ((32, 64), (64, 16)))
    actual = g.compile(queue)(*(dpnp.asarray(a, sycl_queue=queue) for a in (x, w))).asnumpy()
    np.testing.assert_allclose(actual, np.maximum(x @ w, 0), atol=0.1)


def test_caches_have_capacities(kind):
    before = sg.get_compiled_partition_cache_capacity()
    try:
        sg.set_compiled_partition_cache_capacity(7)
        assert sg.get_compiled_partition_cache_capacity() == 7
        with pytest.raises(InvalidArguments, match="negative"):
            sg.set_compiled_partition_cache_capacity(-1)
    finally:
        sg.set_compiled_partition_cache_capacity(before)


def test_pool_reuses_a_buffer(kind, engine, stream, queue):
    """Without a scratchpad from the caller oneDNN uses the allocator; constants always do."""
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
        result = sg.Partition(op, kind).compile([x, w], [y], engine)
        ins = [sg.Tensor(t, engine) for t in (x, w)]
        for _ in range(3):
            result.execute(stream, ins, [sg.Tensor(y, engine)]).wait()
        after = sg.graph_pool_info()
        assert before < after["buffers"] <= before + 1
    finally:
        sg.set_constant_tensor_cache_capacity(kind, 0)
        sg.clear_graph_pool()


def _weights_changed_in_place(kind, engine, stream, queue, property_type):
    """Ratios of a matmul's results to correct ones, before and after its weights change."""
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
        provided = {0: x, 1: w, 2: y, 3: wide}
        steps.append(p.compile([provided[t.id] for t in p.input_ports],
                               [provided[t.id] for t in p.output_ports], engine))  # fmt: skip
    data = {0: sg.Tensor(x, engine, ones), 1: sg.Tensor(w, engine, array),
            2: sg.Tensor(y, engine), 3: sg.Tensor(wide, engine)}  # fmt: skip
    for value in (1, 3):
        array[...] = value
        queue.wait()
        for result in steps:
            result.execute(stream, [data[t.id] for t in result.inputs],
                         [data[t.id] for t in result.outputs]).wait()  # fmt: skip
        results.append(dpnp.asnumpy(data[2].to_array())[0, 0] / (16 * value))
    return results


def test_constants_are_reread_unless_the_cache_is_on(kind, engine, stream, queue):
    assert sg.get_constant_tensor_cache_capacity(kind) == 0
    assert _weights_changed_in_place(kind, engine, stream, queue, "constant") == [1, 1]


def test_dump_mode_writes_graphs(tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)
    sg.set_graph_dump_mode(sg.graph_dump_mode.graph)
    try:
        matmul_relu(kind)
    finally:
        sg.set_graph_dump_mode(0)
    assert list(tmp_path.glob("graph*.json"))
