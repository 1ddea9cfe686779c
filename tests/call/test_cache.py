# SPDX-License-Identifier: Apache-2.0
import gc
import warnings

import dpnp
import fresh_process
import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn.program.executable import Executable
from sycl_dnn.trace import policy
from sycl_dnn.trace.recording import Trace

pytestmark = pytest.mark.usefixtures("clean_cache")


def array(queue, *shape):
    return dpnp.ones(shape, dtype="f4", sycl_queue=queue)


def test_the_second_call_finds_the_plan_of_the_first(queue):
    x = array(queue, 3, 4)
    F.relu(x)
    F.relu(x)
    assert sycl_dnn.cache.info() == (1, 1, 1, 1024)


@pytest.mark.parametrize(
    "other",
    [
        lambda x: x.T,
        lambda x: x[:, :2],
        lambda x: x.astype("f2"),
        lambda x: dpnp.ascontiguousarray(x[:2]),
    ],
    ids=["strides", "view", "dtype", "shape"],
)
def test_each_layout_and_dtype_has_its_own_plan(queue, other, monkeypatch):
    monkeypatch.setattr(policy, "_warned", set())
    x = array(queue, 3, 4)
    F.tanh(x)
    misses = sycl_dnn.cache.info().misses
    with warnings.catch_warnings():
        # CPUs without instructions for float16 compute in float32, and warn once.
        warnings.simplefilter("ignore")
        F.tanh(other(x))
    assert sycl_dnn.cache.info().misses == misses + 1


def test_the_least_recently_used_plan_is_evicted(queue):
    sycl_dnn.cache.resize(2)
    a, b, c = (array(queue, n) for n in (2, 3, 4))
    for x in (a, b, a, c, a):
        F.relu(x)
    assert sycl_dnn.cache.info() == (2, 3, 2, 2)


def test_resize_refuses_a_negative_capacity():
    with pytest.raises(ValueError, match="-1"):
        sycl_dnn.cache.resize(-1)


def test_calls_work_without_a_cache(queue):
    sycl_dnn.cache.resize(0)
    for _ in range(3):
        assert float(F.relu(array(queue, 3)).sum()) == 3.0
    assert sycl_dnn.cache.info().size == 0


SHAPES = """
import dpnp, sycl_dnn
from sycl_dnn import functional as F

queue = sycl_dnn.default_queue()
sycl_dnn.cache.resize(64)
for n in range(1, 6001):
    F.relu(dpnp.ones(n, dtype="f4", sycl_queue=queue))
    if n in (3000, 6000):
        print(int(open("/proc/self/statm").read().split()[1]) * 4096)
"""


# A separate process: the heap left by earlier tests changes memory by tens of megabytes.
@pytest.mark.slow
def test_memory_is_bounded_over_many_shapes():
    early, late = map(int, fresh_process.output(SHAPES).split())
    assert late - early < 10e6


def forward(x, w):
    F.conv2d(x, w)


def forward_and_gradient(x, w):
    y, pullback = sycl_dnn.vjp(F.conv2d, x, w)
    pullback(y)


@pytest.mark.slow
@pytest.mark.parametrize("call", [forward, forward_and_gradient])
def test_evicted_plans_are_freed_without_garbage_collection(queue, call):
    x, w = array(queue, 1, 2, 5, 5), array(queue, 3, 2, 3, 3)
    gc.collect()
    gc.disable()
    try:
        call(x, w)
        sycl_dnn.cache.clear()
        assert not [o for o in gc.get_objects() if isinstance(o, (Executable, Trace))]
    finally:
        gc.enable()


def test_the_policy_is_part_of_the_key(queue):
    x, w = array(queue, 8, 8), array(queue, 8, 8)
    F.linear(x, w)
    with sycl_dnn.autocast("bfloat16"):
        F.linear(x, w)
    assert sycl_dnn.cache.info().misses == 2


def test_scalars_of_different_types_that_compare_equal_have_separate_plans(queue):
    from sycl_dnn.call.arguments import Collected

    tokens = {Collected().token(v) for v in (1, 1.0, True)}
    assert len(tokens) == 3


FIRST = """
import dpnp
from sycl_dnn import functional as F
from sycl_dnn.call import cache

x = dpnp.ones((2, 3), dtype="f4")
F.neg({first})
before = cache.plans.calls.hits
for _ in range(3):
    F.relu(x)
print(cache.plans.calls.hits - before)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "first", ["x[0, 0]", "x[:0]", "x[::-1]", "dpnp.broadcast_to(x, (4, 2, 3))"]
)
def test_repeated_calls_hit_the_cache_for_any_first_array_of_the_process(first):
    assert fresh_process.output(FIRST.format(first=first)) == "2"


# --- Plans, programs and graphs together


@pytest.fixture
def x(queue):
    gc.collect()
    sycl_dnn.cache.clear()
    yield dpnp.ones(4, dtype="f4", sycl_queue=queue)
    sycl_dnn.cache.resize(1024)
    sycl_dnn.cache.clear()


@pytest.fixture
def graph(queue):
    result = sycl_dnn.graph.Graph(engine="gpu" if queue.sycl_device.is_gpu else "cpu")
    result.output(result.relu(result.input((4,))))
    return result.compile(queue)


@pytest.mark.slow
def test_info_counts_plans_programs_and_graphs(x, graph):
    size = sycl_dnn.cache.info().size
    F.relu(x)
    assert sycl_dnn.cache.info().size == size + 1
    sycl_dnn.vjp(lambda x: F.relu(x), x)
    assert sycl_dnn.cache.info().size == size + 2
    compiled = sycl_dnn.compile(lambda x: F.relu(x))
    compiled(x)
    compiled(x[:2])
    assert sycl_dnn.cache.info().size == size + 4
    graph(x)
    info = sycl_dnn.cache.info()
    assert info.size >= size + 4
    del compiled
    gc.collect()
    assert sycl_dnn.cache.info().size == info.size - 2


@pytest.mark.slow
def test_clear_and_resize_apply_to_plans_programs_and_graphs(x, graph):
    compiled = sycl_dnn.compile(lambda x: F.relu(x))
    for n in (1, 2, 3, 4):
        compiled(x[:n])
        sycl_dnn.vjp(lambda x: F.relu(x), x[:n])
    graph(x)
    sycl_dnn.cache.resize(2)
    assert compiled.cache_info().size == 2
    assert sycl_dnn.cache.info().capacity == 2
    compiled(x[:1])
    assert compiled.cache_info().size == 2
    sycl_dnn.cache.clear()
    assert sycl_dnn.cache.info()[:3] == (0, 0, 0)
    assert (compiled.cache_info().size, graph.cache_info().size) == (0, 0)
    assert dpnp.asnumpy(graph(x)).tolist() == dpnp.asnumpy(compiled(x)).tolist() == [1] * 4
