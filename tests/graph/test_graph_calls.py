# SPDX-License-Identifier: Apache-2.0
"""Compiled graphs under the conditions of real programs: lifetime, threads, queues, strides."""

import gc
import threading

import dpctl
import dpnp
import numpy as np
import pytest
from fresh_process import run
from graph_ops import download, upload

import sycl_dnn
from sycl_dnn import InvalidArguments, Unimplemented
from sycl_dnn.graph import Graph
from sycl_dnn.graph.compiled import MOST_PLANS
from sycl_dnn.graph.steps import InsteadStep, PartitionStep


def mlp(kind, n=64):
    g = Graph(kind)
    x, w = g.input((None, n), name="x"), g.input((n, n), name="w")
    g.relu(g.matmul(x, w, name="product"), name="y")
    return g


def test_arrays_may_be_dropped_after_the_call(queue, kind):
    compiled = mlp(kind).compile(queue)
    eye = dpnp.eye(64, dtype="f4", sycl_queue=queue)
    kept = []
    for i in range(200):
        x = dpnp.full((8, 64), float(i), dtype="f4", sycl_queue=queue)
        y = compiled(x=x, w=eye)
        if i % 20 == 0:
            kept.append((i, y))
        del x, y
    del compiled, eye
    gc.collect()
    for i, y in kept:
        assert (dpnp.asnumpy(y) == i).all()


def test_calls_are_ordered_with_dpnp(queue, kind):
    compiled = mlp(kind).compile(queue)
    eye = dpnp.eye(64, dtype="f4", sycl_queue=queue)
    x = dpnp.ones((512, 64), dtype="f4", sycl_queue=queue)
    for _ in range(20):
        x = compiled(x + 1, eye)
    assert (dpnp.asnumpy(x) == 21).all()


def test_eight_threads_share_one_compiled_graph(queue, kind):
    compiled = mlp(kind).compile(queue)
    wrong = []

    def work(number):
        rng = np.random.default_rng(number)
        w = rng.standard_normal((64, 64), "f4")
        for rows in (1, 5, 8):
            x = rng.standard_normal((rows, 64), "f4")
            y = compiled(dpnp.asarray(x, sycl_queue=queue), dpnp.asarray(w, sycl_queue=queue))
            if not np.allclose(dpnp.asnumpy(y), np.maximum(x @ w, 0), atol=1e-4):
                wrong.append((number, rows))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len(compiled.plans) == 3


def test_plans_are_bounded(queue, kind):
    compiled = mlp(kind, 4).compile(queue)
    w = dpnp.eye(4, dtype="f4", sycl_queue=queue)
    for rows in range(1, MOST_PLANS + 5):
        compiled(dpnp.ones((rows, 4), dtype="f4", sycl_queue=queue), w)
    assert len(compiled.plans) == MOST_PLANS


def test_waiting_for_a_dependency_lets_python_run(queue, kind):
    """The CPU device runs partitions at once: what they wait for may need the GIL."""
    compiled = mlp(kind).compile(queue)
    x = dpnp.ones((8, 64), dtype="f4", sycl_queue=queue)
    w = dpnp.eye(64, dtype="f4", sycl_queue=queue)
    compiled(x, w)
    ran = threading.Event()
    big = dpnp.ones((1024, 1024), dtype="f4", sycl_queue=queue)
    for _ in range(4):
        big = dpnp.matmul(big, big)
    thread = threading.Thread(target=ran.set)
    thread.start()
    compiled(x, w)
    thread.join(30)
    assert ran.is_set()


def test_exit_while_work_is_queued():
    code = (
        "import dpnp, sycl_dnn\n"
        "from sycl_dnn.graph import Graph\n"
        "q = sycl_dnn.default_queue('cpu')\n"
        "g = Graph('cpu')\n"
        "g.relu(g.matmul(g.input((256, 256)), g.input((256, 256))))\n"
        "c = g.compile(q)\n"
        "x = dpnp.ones((256, 256), dtype='f4', sycl_queue=q)\n"
        "for _ in range(50): x = c(x, x)\n"
        "print('end')\n"
    )
    done = run("-c", code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "end"


def test_strides_of_inputs_are_taken_as_they_are(queue, kind):
    compiled = mlp(kind, 6).compile(queue)
    a = np.arange(24, dtype="f4").reshape(6, 4)
    w = np.arange(36, dtype="f4").reshape(6, 6)
    got = compiled(dpnp.asarray(a, sycl_queue=queue).T, dpnp.asarray(w, sycl_queue=queue).T)
    assert np.allclose(dpnp.asnumpy(got), a.T @ w.T)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"x": None}, InvalidArguments, "x must be given"),
        ({"z": 1}, InvalidArguments, "inputs are x, w, got 'z'"),
        ({"x": np.ones((8, 64), "f4")}, TypeError, "x must be a dpnp array"),
        ({"x": "f8"}, TypeError, "x: dtype must be one of"),
        ({"x": "i4"}, TypeError, "x must have dtype f32, got s32"),
        ({"x": (8, 63)}, InvalidArguments, r"x must have shape \(None, 64\), got \(8, 63\)"),
        ({"w": (64,)}, InvalidArguments, "w must have shape"),
    ],
)
def test_arguments_are_checked_before_anything_runs(queue, kind, change, error, words):
    compiled = mlp(kind).compile(queue)
    given = {n: dpnp.ones(s, dtype="f4", sycl_queue=queue) for n, s in
             (("x", (8, 64)), ("w", (64, 64)))}  # fmt: skip
    for name, value in change.items():
        if value is None:
            del given[name]
        elif isinstance(value, tuple):
            given[name] = dpnp.ones(value, dtype="f4", sycl_queue=queue)
        elif isinstance(value, str):
            given[name] = dpnp.ones((8, 64), dtype=value, sycl_queue=queue)
        else:
            given[name] = value
    with pytest.raises(error, match=words):
        compiled(**given)


def test_arrays_of_another_queue_are_refused(queue, kind):
    compiled = mlp(kind).compile(queue)
    other = dpctl.SyclQueue(queue.sycl_device)
    x = dpnp.ones((8, 64), dtype="f4", sycl_queue=other)
    with pytest.raises(dpnp.exceptions.ExecutionPlacementError, match="x must be on"):
        compiled(x, dpnp.ones((64, 64), dtype="f4", sycl_queue=queue))


def test_target_must_be_of_the_graphs_kind(queue, kind):
    other = "gpu" if kind == "cpu" else "cpu"
    with pytest.raises(InvalidArguments, match="target must be"):
        mlp(other).compile(queue)


def test_marked_values_are_results_though_they_are_read(queue, kind):
    g = Graph(kind)
    x = g.input((4, 6), name="x")
    first = g.output(g.exp(x))
    second = g.output(g.square(first))
    assert g.outputs == [first, second]
    x = np.linspace(-1, 1, 24, dtype="f4").reshape(4, 6)
    a, b = g.compile(queue)(dpnp.asarray(x, sycl_queue=queue))
    assert np.allclose(dpnp.asnumpy(a), np.exp(x), atol=1e-5)
    assert np.allclose(dpnp.asnumpy(b), np.exp(x) ** 2, atol=1e-5)


def test_constants_are_part_of_the_graph(queue, kind):
    w = np.arange(12, dtype="f4").reshape(3, 4)
    g = Graph(kind)
    y = g.matmul(g.input((2, 3)), g.constant(dpnp.asarray(w, sycl_queue=queue)))
    y = g.add(g.multiply(y, 0.5), g.constant(np.ones(4, "f4")))
    got = g.compile(queue)(dpnp.ones((2, 3), dtype="f4", sycl_queue=queue))
    assert np.allclose(dpnp.asnumpy(got), w.sum(0) * 0.5 + 1)


def test_debug_policy_runs_each_operation_alone(queue, kind):
    compiled = mlp(kind).compile(queue, policy="debug")
    assert [len(p.ops) for p in compiled.partitions] == [1, 1]
    x = dpnp.ones((2, 64), dtype="f4", sycl_queue=queue)
    assert (dpnp.asnumpy(compiled(x, dpnp.eye(64, dtype="f4", sycl_queue=queue))) == 1).all()


def test_function_of_the_user_stands_between_partitions(queue, kind):
    g = Graph(kind)
    x = g.relu(g.input((4, 5)))
    (y,) = g.wildcard(lambda a: dpnp.cumsum(a, axis=1), x, shapes=[(4, 5)], dtypes=["f32"])
    g.sqrt(y)
    compiled = g.compile(queue)
    a = np.random.default_rng(0).standard_normal((4, 5)).astype("f4")
    got = compiled(dpnp.asarray(a, sycl_queue=queue))
    assert np.allclose(dpnp.asnumpy(got), np.sqrt(np.cumsum(np.maximum(a, 0), 1)), atol=1e-5)
    kinds = [type(step) for step in compiled.plans[0].steps]
    assert kinds == [PartitionStep, InsteadStep, PartitionStep]


def test_wrong_result_of_a_function_is_named(queue, kind):
    g = Graph(kind)
    g.wildcard(lambda a: a[:2], g.input((4, 5)), shapes=[(4, 5)], dtypes=["f32"])
    with pytest.raises(ValueError, match=r"shape \(4, 5\), got \(2, 5\)"):
        g.compile(queue)(dpnp.ones((4, 5), dtype="f4", sycl_queue=queue))


@pytest.mark.parametrize("behind", [None, "relu", "matmul"])
def test_dropout_alone_and_fused(queue, kind, behind):
    """oneDNN never writes the mask; it comes from the same numbers over ones."""
    g = Graph(kind)
    x = g.input((64, 64), name="x")
    seed, offset = g.scalar("s64", name="seed"), g.scalar("s64", name="offset")
    p = g.scalar("f32", name="p")
    before = {"relu": lambda: g.relu(x), "matmul": lambda: g.matmul(x, x), None: lambda: x}
    y, mask = g.dropout(before[behind](), seed, offset, p, with_mask=True)
    g.output(y), g.output(mask)
    compiled = g.compile(queue)
    ones = dpnp.ones((64, 64), dtype="f4", sycl_queue=queue)
    results = [compiled(ones, seed=s, offset=0, p=0.25) for s in (1, 1, 2)]
    (first, mask), (again, _), (other, _) = [[download(a) for a in r] for r in results]
    assert set(np.unique(first)) <= {
        0.0,
        float(np.float32((64 if behind == "matmul" else 1) / 0.75)),
    }
    assert ((first != 0) == (mask != 0)).all()
    assert 0.15 < 1 - mask.mean() < 0.35
    assert (first == again).all()
    assert (first != other).any()
    assert isinstance(compiled.plans[0].steps[0], PartitionStep if behind else InsteadStep)


@pytest.mark.parametrize("op", ["relu", "exp", "matmul", "type_cast"])
def test_half_precision_runs_on_every_device(queue, kind, op):
    """A CPU without instructions for f16 computes in f32."""
    g = Graph(kind)
    x = g.input((6, 6), "f16")
    {"matmul": lambda: g.matmul(x, x), "type_cast": lambda: g.type_cast(x, dtype="f32"),
     "relu": lambda: g.relu(x), "exp": lambda: g.exp(x)}[op]()  # fmt: skip
    a = np.linspace(-1, 1, 36).reshape(6, 6).astype("f2")
    compute = {"matmul": lambda a: a @ a, "type_cast": lambda a: a, "exp": np.exp,
               "relu": lambda a: np.maximum(a, 0)}[op]  # fmt: skip
    got = g.compile(queue)(upload(a, "f16", queue))
    assert got.dtype == ("float32" if op == "type_cast" else "float16")
    assert np.allclose(download(got), compute(a.astype("f8")), atol=5e-3)


def test_f16_and_partitions_meet_in_one_graph(queue, kind):
    g = Graph(kind)
    x = g.input((4, 5), "f16")
    g.tanh(g.type_cast(g.relu(x), dtype="f32"))
    a = np.linspace(-1, 1, 20).reshape(4, 5).astype("f2")
    got = g.compile(queue)(upload(a, "f16", queue))
    assert np.allclose(download(got), np.tanh(np.maximum(a, 0)), atol=1e-3)


@pytest.mark.parametrize("dtype", ["f8_e4m3", "f8_e5m2"])
def test_float8_goes_there_and_back(queue, kind, dtype):
    g = Graph(kind)
    y = g.quantize(g.input((4, 6)), dtype=dtype, scales=(0.5,))
    g.dequantize(y, scales=(0.5,))
    a = np.array([0.25, 0.5, 1, 2, -1, -4] * 4, "f4").reshape(4, 6)
    got = g.compile(queue)(upload(a, "f32", queue))
    assert np.allclose(download(got), a)


def test_what_nothing_computes_is_refused_by_name(queue, kind):
    g = Graph(kind)
    g.interpolate(
        g.input((1, 4, 4, 2)), mode="nearest", sizes=(8, 8),
        coordinate_transformation_mode="align_corners",
    )  # fmt: skip
    with pytest.raises(Unimplemented, match="^interpolate: "):
        g.compile(queue)


def test_results_have_the_usm_type_of_the_inputs(queue, kind):
    compiled = mlp(kind).compile(queue)
    x, w = (dpnp.ones((64, 64), dtype="f4", sycl_queue=queue, usm_type="shared") for _ in "xw")
    assert compiled(x, w).usm_type == "shared"


def test_package_offers_the_module():
    assert sycl_dnn.graph.Graph is Graph
