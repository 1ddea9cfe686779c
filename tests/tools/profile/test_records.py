# SPDX-License-Identifier: Apache-2.0
"""Contents of records: flags, clocks, limits, nesting."""

import dpctl
import dpnp
import numpy as np
import pytest
from recorded import names

import sycl_dnn
from sycl_dnn import _core
from sycl_dnn import functional as F
from sycl_dnn import onednn as dnnl
from sycl_dnn.device import usable_devices


def test_inserted_reorders_are_distinguished_from_requested_ones(ones):
    x, w = ones(2, 8, 9, 9), ones(8, 8, 3, 3)
    with sycl_dnn.profile() as p:
        F.conv2d(x, w)
    reorders = [r for r in p.records if r.kind == "primitive" and r.name == "reorder"]
    assert reorders
    assert all(r.inserted for r in reorders)
    assert p.summary.inserted == len(reorders)
    with sycl_dnn.profile() as p:
        F.astype(x, "bfloat16")
    assert [r.inserted for r in p.records if r.kind == "primitive"] == [False]


def test_reference_implementations(engine, queue, stream):
    desc = dnnl.MemoryDesc((4, 5), dnnl.data_type.f32, "ab")
    kinds = {"prop_kind": dnnl.prop_kind.forward_inference}
    kinds["algorithm"] = dnnl.algorithm.eltwise_relu
    pd = dnnl.eltwise_forward(engine, **kinds, src=desc, dst=desc)
    while not pd.impl_info.startswith("ref"):
        assert pd.next_impl()
    primitive = dnnl.Primitive(pd)
    a, b = dnnl.Memory(desc, engine), dnnl.Memory(desc, engine)
    with sycl_dnn.profile() as p:
        primitive.execute(stream, {"src": a, "dst": b})
    stream.wait()
    assert p.records[0].reference
    assert p.summary.reference == 1
    assert p.summary.reference_share == 1.0


def test_misses_of_both_caches(ones):
    x = ones(211, 97)  # the host computes smaller products
    sycl_dnn.cache.clear()
    with sycl_dnn.profile() as p:
        F.linear(x, x)
        F.linear(x, x)
    assert names(p, "trace") == ["linear"]
    assert names(p, "create") == ["matmul"]
    assert names(p) == ["matmul"] * 2
    sycl_dnn.cache.clear()
    with sycl_dnn.profile() as p:
        F.linear(x, x)
    assert p.summary.plan_misses == 1
    # Still a fault of oneDNN, if the library says so.
    assert p.summary.cache_misses in (0, None)


@pytest.mark.parametrize("wait", [False, True])
def test_profiles_do_not_change_values(timed, wait):
    rng = np.random.default_rng(3)
    x = dpnp.asarray(rng.standard_normal((2, 8, 12, 12)).astype("f4"), sycl_queue=timed)
    w = dpnp.asarray(rng.standard_normal((8, 8, 3, 3)).astype("f4"), sycl_queue=timed)

    def run():
        y, pullback = sycl_dnn.vjp(lambda x, w: F.softmax(F.conv2d(x, w), dim=1), x, w)
        return [dpnp.asnumpy(a) for a in (y, *pullback(y))]

    before = run()
    with sycl_dnn.profile(wait=wait):
        within = run()
    for a, b in zip(before, within, strict=True):
        np.testing.assert_array_equal(a, b)


def test_clocks(ones):
    plain = dpnp.ones((30, 40), dtype="f4", sycl_queue=dpctl.SyclQueue(usable_devices("cpu")[0]))
    expected = [(ones(30, 40), False, "host_task"), (plain, False, ""), (plain, True, "wall")]
    for x, wait, clock in expected:
        with sycl_dnn.profile(wait=wait) as p:
            F.tanh(x)
        (run,) = [r for r in p.records if r.is_execution]
        assert run.clock == clock
        assert (run.time is None) == (not clock)
        assert run.submitted <= run.started <= run.finished


def test_nothing_is_recorded_outside_of_the_block(ones):
    x = ones(4, 4)
    F.tanh(x)
    with sycl_dnn.profile() as p:
        pass
    F.tanh(x)
    assert p.records == []
    assert not _core.is_recording()


def test_errors_end_the_block(ones):
    p = sycl_dnn.profile(wait=True)

    def fail():
        with p:
            F.tanh(ones(30, 40))
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    F.tanh(ones(30, 40))
    assert not _core.is_recording()
    assert not _core.is_recording_waits()
    assert names(p) == ["eltwise_forward"]


def test_a_refused_call_leaves_no_record(engine, stream):
    desc = dnnl.MemoryDesc((4, 5), dnnl.data_type.f32, "ab")
    copy = dnnl.Primitive(dnnl.reorder(engine, src=desc, dst=desc))
    with sycl_dnn.profile() as p, pytest.raises(sycl_dnn.InvalidArguments):
        copy.execute(stream, {"src": dnnl.Memory(desc, engine)})
    assert p.records == []


def test_nested_blocks_each_see_what_runs_in_them(ones):
    x = ones(4, 4)
    for f in (F.relu, F.tanh, F.sigmoid):
        f(x)
    with sycl_dnn.profile() as outer:
        F.tanh(x)
        with sycl_dnn.profile() as inner:
            F.tanh(x)
        F.sigmoid(x)
    assert len(names(outer)) == 3
    assert len(names(inner)) == 1


def test_records_can_be_read_inside(ones):
    x = ones(4, 4)
    F.tanh(x)
    with sycl_dnn.profile() as p:
        assert p.records == []
        F.tanh(x)
        assert len(p.records) == 1
        F.tanh(x)
    assert len(p.records) == 2
    assert p.records == p.records


def test_the_limit_is_kept_and_the_rest_counted(ones):
    x = ones(4, 4)
    F.tanh(x)
    with sycl_dnn.profile(limit=10) as p:
        for _ in range(25):
            F.tanh(x)
    assert len(p.records) == 10
    assert p.dropped == p.summary.dropped == 15
    assert "15 records dropped: the limit is 10" in p.table()


def test_more_records_than_are_left_open(ones):
    x = ones(30, 40)
    F.tanh(x)
    with sycl_dnn.profile() as p:
        for _ in range(1500):
            F.tanh(x)
    assert len(p.records) == 1500
    assert all(r.clock == "host_task" and r.finished >= r.started > 0 for r in p.records)


def test_wrong_use():
    for limit, error in [(0, ValueError), (-1, ValueError), (2.5, TypeError), (True, TypeError)]:
        with pytest.raises(error, match="profile: limit must"):
            sycl_dnn.profile(limit=limit)
    p = sycl_dnn.profile()
    with p:
        pass
    with pytest.raises(RuntimeError, match="only once"), p:
        pass
