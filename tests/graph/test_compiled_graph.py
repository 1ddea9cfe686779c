# SPDX-License-Identifier: Apache-2.0
"""Compiled graphs under the conditions of real programs: lifetime, threads, queues, strides."""

import gc
import threading

import dpctl
import dpnp
import numpy as np
import pytest
from fresh_process import run
from in_threads import in_threads

import sycl_dnn
from sycl_dnn import InvalidArguments
from sycl_dnn.graph import Graph
from sycl_dnn.graph.compiled_graph import MOST_PLANS


def mlp(kind, n=64):
    g = Graph(kind)
    x, w = g.input((None, n), name="x"), g.input((n, n), name="w")
    g.relu(g.matmul(x, w, name="product"), name="y")
    return g


@pytest.mark.slow
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

    in_threads(8, work)
    assert not wrong
    assert len(compiled.plans) == 3


def test_plans_are_bounded(queue, kind):
    compiled = mlp(kind, 4).compile(queue)
    w = dpnp.eye(4, dtype="f4", sycl_queue=queue)
    for rows in range(1, MOST_PLANS + 5):
        compiled(dpnp.ones((rows, 4), dtype="f4", sycl_queue=queue), w)
    assert len(compiled.plans) == MOST_PLANS


def test_waiting_for_a_dependency_lets_python_run(queue, kind):
    """The CPU device runs partitions synchronously, and their dependencies may need the GIL."""
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


@pytest.mark.slow
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


def test_strides_of_inputs_are_used_without_a_copy(queue, kind):
    compiled = mlp(kind, 6).compile(queue)
    a = np.arange(24, dtype="f4").reshape(6, 4)
    w = np.arange(36, dtype="f4").reshape(6, 6)
    actual = compiled(dpnp.asarray(a, sycl_queue=queue).T, dpnp.asarray(w, sycl_queue=queue).T)
    assert np.allclose(dpnp.asnumpy(actual), a.T @ w.T)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"x": None}, InvalidArguments, "x must be given"),
        ({"z": 1}, InvalidArguments, "inputs are x, w, got 'z'"),
        ({"x": np.ones((8, 64), "f4")}, TypeError, "x must be a dpnp array"),
        ({"x": "c8"}, TypeError, "x: dtype must be one of"),
        ({"x": "i4"}, TypeError, "x must have dtype f32, got s32"),
        ({"x": (8, 63)}, InvalidArguments, r"x must have shape \(None, 64\), got \(8, 63\)"),
        ({"w": (64,)}, InvalidArguments, "w must have shape"),
    ],
)
def test_arguments_are_checked_before_anything_runs(queue, kind, change, error, words):
    compiled = mlp(kind).compile(queue)
    provided = {n: dpnp.ones(s, dtype="f4", sycl_queue=queue) for n, s in
             (("x", (8, 64)), ("w", (64, 64)))}  # fmt: skip
    for name, value in change.items():
        if value is None:
            del provided[name]
        elif isinstance(value, tuple):
            provided[name] = dpnp.ones(value, dtype="f4", sycl_queue=queue)
        elif isinstance(value, str):
            provided[name] = dpnp.ones((8, 64), dtype=value, sycl_queue=queue)
        else:
            provided[name] = value
    with pytest.raises(error, match=words):
        compiled(**provided)


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


def test_marked_values_are_outputs_even_if_read(queue, kind):
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
    actual = g.compile(queue)(dpnp.ones((2, 3), dtype="f4", sycl_queue=queue))
    assert np.allclose(dpnp.asnumpy(actual), w.sum(0) * 0.5 + 1)


def test_debug_policy_runs_each_operation_separately(queue, kind):
    compiled = mlp(kind).compile(queue, policy="debug")
    assert [len(p.ops) for p in compiled.partitions] == [1, 1]
    x = dpnp.ones((2, 64), dtype="f4", sycl_queue=queue)
    assert (dpnp.asnumpy(compiled(x, dpnp.eye(64, dtype="f4", sycl_queue=queue))) == 1).all()


def test_results_have_the_usm_type_of_the_inputs(queue, kind):
    compiled = mlp(kind).compile(queue)
    x, w = (dpnp.ones((64, 64), dtype="f4", sycl_queue=queue, usm_type="shared") for _ in "xw")
    assert compiled(x, w).usm_type == "shared"


def test_package_offers_the_module():
    assert sycl_dnn.graph.Graph is Graph
