# SPDX-License-Identifier: Apache-2.0
"""Strides of axes of length 1 are canonical, wherever a descriptor comes from."""

import itertools

import dpnp
import numpy as np
import pytest
from filled_memory import desc

from sycl_dnn import functional as F
from sycl_dnn import onednn as dnnl
from sycl_dnn.graph import logical_tensor_of
from sycl_dnn.onednn import MemoryDesc

F32 = dnnl.data_type.f32
SHAPE = (2, 3, 4, 5)
ORDERS = list(itertools.permutations(range(4)))


def with_ones(shape):
    return itertools.product(*((n, 1) for n in shape))


def transposed(queue, shape, order):
    """A dense array of the shape with its axes in a given memory order."""
    inner = tuple(shape[a] for a in order)
    result = dpnp.arange(np.prod(shape), dtype="f4", sycl_queue=queue).reshape(inner)
    return result.transpose([order.index(a) for a in range(len(shape))])


@pytest.mark.parametrize("order", ORDERS)
def test_all_constructors_of_descriptors_give_equal_strides(engine, order):
    tag = "".join("abcd"[a] for a in order)
    for shape in with_ones(SHAPE):
        array = transposed(engine.sycl_queue, shape, order)
        inner = tuple(shape[a] for a in order)
        ways = {
            "array": dnnl.Memory.from_array(array, engine).desc,
            "strides": MemoryDesc(shape, F32, strides=array.get_array().strides),
            "permuted": MemoryDesc(inner, F32).permute_axes(list(order)),
            "part": MemoryDesc((*inner, 1), F32).permute_axes([*order, 4]).submemory_desc(
                (*shape, 1), (0,) * 5
            ).reshape(shape),
            "graph": logical_tensor_of(array, 0),
        }  # fmt: skip
        if tag in dnnl.format_tag.__members__:
            ways["tag"] = MemoryDesc(shape, F32, tag)
            ways["queried"] = dnnl.reorder(
                engine, src=MemoryDesc(shape, F32), dst=ways["tag"]
            ).dst_desc
        assert {way: d.strides for way, d in ways.items()} == dict.fromkeys(
            ways, ways["array"].strides
        ), shape


@pytest.mark.parametrize("order", ORDERS)
def test_only_axes_of_length_1_change(order):
    for shape in with_ones(SHAPE):
        inner = tuple(shape[a] for a in order)
        dense = MemoryDesc(inner, F32).permute_axes(list(order)).strides
        for other in (0, -7, 1, 999):
            provided = tuple(other if n == 1 else s for n, s in zip(shape, dense, strict=True))
            assert MemoryDesc(shape, F32, strides=provided).strides == dense
        assert all(s > 0 for s in dense)


def test_rows_of_a_view_keep_their_distance():
    strided = [
        ((4, 1, 6), (40, 99, 1), (40, 6, 1)),  # x[:, :1, :6]
        ((1, 8), (99, 16), (1, 16)),  # x[:, :1].T, read by columns
        ((8, 1), (16, 99), (16, 1)),  # x[:, :1]
        ((2, 1, 3, 1), (60, 99, 4, 99), (60, 12, 4, 1)),
        ((3, 1, 5), (0, 99, 1), (0, 5, 1)),  # repeated
    ]
    for shape, provided, expected in strided:
        assert MemoryDesc(shape, F32, strides=provided).strides == expected


@pytest.mark.parametrize("shape", [(0,), (0, 4), (3, 0), (2, 0, 3), (0, 0)])
def test_without_elements_any_strides_are_those_of_a_new_tensor(engine, shape):
    views = [dpnp.ones(shape, dtype="f4", sycl_queue=engine.sycl_queue)]
    views += [views[0][..., ::-1], views[0][::2], views[0][::-1]]
    for view in views:
        memory = dnnl.Memory.from_array(view, engine)
        assert memory.desc == MemoryDesc(view.shape, F32)
        assert memory.writable
        assert logical_tensor_of(view, 0).dims == view.shape


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (2, 0, 3)])
def test_a_result_without_elements_is_written(engine, stream, shape):
    d = MemoryDesc(shape, F32)
    pd = dnnl.eltwise_forward(
        engine, prop_kind="forward_inference", algorithm="eltwise_relu", src=d, dst=d
    )
    args = {"src": dnnl.Memory(d, engine), "dst": dnnl.Memory(d, engine)}
    dnnl.Primitive(pd).execute(stream, args).wait()
    assert args["dst"].to_array().shape == shape


def subtracted(stream, a, b):
    """``a - b`` by oneDNN, over arrays in their own layouts."""
    engine = stream.engine
    src_0, src_1 = (dnnl.Memory.from_array(x, engine) for x in (a, b))
    dst = dnnl.Memory(desc(*a.shape), engine)
    pd = dnnl.binary(engine, algorithm="binary_sub", src0=src_0.desc, src1=src_1.desc, dst=dst.desc)
    args = {"src_0": src_0, "src_1": src_1, "dst": dst}
    dnnl.Primitive(pd).execute(stream, args).wait()
    return dst.to_array().asnumpy()


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.sweep(3)
def test_one_token_of_permuted_heads_broadcasts(engine, stream, order):
    for shape in with_ones((8, 12, 3, 16)):
        a = transposed(engine.sycl_queue, shape, order)
        b = dpnp.arange(shape[2] * shape[3], dtype="f4", sycl_queue=engine.sycl_queue)
        b = b.reshape((1, 1, *shape[2:]))
        engine.sycl_queue.wait()
        for first in (a, dpnp.ascontiguousarray(a)):  # the cache must not serve one to the other
            engine.sycl_queue.wait()
            expected = a.asnumpy() - b.asnumpy()
            np.testing.assert_array_equal(subtracted(stream, first, b), expected, str(shape))


@pytest.mark.parametrize("key", [np.s_[:, ::-1], np.s_[::-1], np.s_[::-1, ::-1], np.s_[:, ::-2]])
def test_functions_of_empty_reversed_views(queue, key):
    import sycl_dnn

    x = dpnp.ones((0, 8), dtype="f4", sycl_queue=queue)[key]
    for function in (F.glu, lambda x: F.sigmoid(F.chunk(x, 2, -1)[1])):
        for call in (function, sycl_dnn.compile(function)):
            assert call(x).shape == (0, x.shape[1] // 2)
