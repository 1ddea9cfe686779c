# SPDX-License-Identifier: Apache-2.0
"""Memory.submemory: a part of a tensor in the same allocation."""

import gc
import weakref

import dpnp
import numpy as np
import pytest
from arrays import F32, D, T, doubled, usm

from sycl_dnn import InvalidArguments, Unimplemented
from sycl_dnn import onednn as dnnl


def test_part_shares_the_allocation(grid, engine, stream):
    whole = dnnl.Memory.from_array(grid, engine)
    part = whole.submemory((2, 3, 4), (1, 2, 1))
    expected = grid[1:3, 2:5, 1:5].asnumpy()
    assert isinstance(part, dnnl.Memory)
    assert part.desc == whole.desc.submemory_desc((2, 3, 4), (1, 2, 1))
    assert (part.pointer, part.engine) == (whole.pointer, engine)
    np.testing.assert_array_equal(part.to_array().asnumpy(), expected)
    np.testing.assert_array_equal(doubled(part, stream), 2 * expected)
    part.to_array()[...] = -1.0
    assert int((grid == -1.0).sum()) == expected.size


def test_part_of_a_view_of_a_part(grid, engine):
    view = dnnl.Memory.from_array(grid[1:, ::2, :].transpose((2, 0, 1)), engine)
    part = view.submemory((3, 2, 2), (1, 1, 1)).submemory((2, 1, 2), (1, 0, 0))
    expected = grid.asnumpy()[1:, ::2, :].transpose(2, 0, 1)[1:4, 1:3, 1:3][1:3, 0:1, 0:2]
    np.testing.assert_array_equal(part.to_array().asnumpy(), expected)


def test_part_of_a_blocked_tensor_is_cut_between_blocks(engine, stream):
    values = np.arange(2 * 48, dtype="f4").reshape(2, 48, 1, 1)
    plain = dnnl.Memory.from_array(dpnp.asarray(values, sycl_queue=engine.sycl_queue), engine)
    engine.sycl_queue.wait()
    blocked = dnnl.Memory(D(values.shape, F32, "nChw16c"), engine)
    pd = dnnl.reorder(engine, src=plain.desc, dst=blocked.desc)
    dnnl.Primitive(pd).execute(stream, {"src": plain, "dst": blocked}).wait()
    part = blocked.submemory((2, 16, 1, 1), (0, 32, 0, 0))
    np.testing.assert_array_equal(doubled(part, stream), 2 * values[:, 32:])
    with pytest.raises(Unimplemented, match="offsets \\(0, 8, 0, 0\\)"):
        blocked.submemory((2, 16, 1, 1), (0, 8, 0, 0))


def test_part_can_be_written_by_a_primitive(grid, engine, stream):
    part = dnnl.Memory.from_array(grid, engine).submemory((1, 6, 5), (2, 0, 0))
    ones = dnnl.Memory.from_array(dpnp.ones_like(grid[:1]), engine)
    expected = grid.asnumpy()
    expected[2] = 1
    engine.sycl_queue.wait()
    pd = dnnl.reorder(engine, src=ones.desc, dst=part.desc)
    dnnl.Primitive(pd).execute(stream, {"src": ones, "dst": part}).wait()
    np.testing.assert_array_equal(grid.asnumpy(), expected)


@pytest.mark.slow
def test_part_keeps_the_owner_alive(engine):
    array = usm(dpnp.arange(1000, dtype="f4", sycl_queue=engine.sycl_queue))
    watched = weakref.ref(array)
    part = dnnl.Memory.from_array(array, engine).submemory((10,), (5,))
    del array
    gc.collect()
    assert watched() is not None
    assert part.to_array().asnumpy().tolist() == list(range(5, 15))
    del part
    gc.collect()
    assert watched() is None


def test_part_of_a_read_only_tensor_is_read_only(grid, engine):
    grid.flags.writable = False
    assert not dnnl.Memory.from_array(grid, engine).submemory((1, 6, 5), (0, 0, 0)).writable


def test_invalid_parts_are_refused(grid, engine):
    whole = dnnl.Memory.from_array(grid, engine)
    with pytest.raises(InvalidArguments, match=r"dims must lie within \(4, 6, 5\) at offsets"):
        whole.submemory((4, 6, 5), (1, 0, 0))
    with pytest.raises(Unimplemented, match="csr"):
        dnnl.Memory(D.csr((4, 6), F32, 5, T.s32, T.s32), engine).submemory((2, 6), (0, 0))
    with pytest.raises(Unimplemented, match="host_scalar"):
        dnnl.Memory(D.host_scalar(F32), 1.0).submemory((1,), (0,))
