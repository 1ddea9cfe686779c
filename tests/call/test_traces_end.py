# SPDX-License-Identifier: Apache-2.0
"""Leaked traced values, arrays of another queue, and dpnp code inside a trace."""

import dpctl
import dpnp
import numpy as np
import pytest
from dpnp.exceptions import ExecutionPlacementError
from transforms import TRANSFORMS

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import graph


@pytest.fixture(params=TRANSFORMS)
def run(request):
    return TRANSFORMS[request.param]


@pytest.fixture
def x(queue):
    return dpnp.asarray(np.arange(12, dtype="f4").reshape(3, 4) / 5, sycl_queue=queue)


# Leaks -----------------------------------------------------------------------------------------

USES = {
    "in an eager call": lambda kept, x: F.relu(kept),
    "beside an array": lambda kept, x: x + kept,
    "by a method": lambda kept, x: kept.sum(),
    "by index": lambda kept, x: kept[0],
    "as a view": lambda kept, x: kept.T,
    "by dpnp's step": lambda kept, x: kept.cumsum(),
    "in vjp": lambda kept, x: sycl_dnn.vjp(lambda x: x * kept, x),
    "in compile": lambda kept, x: sycl_dnn.compile(lambda x: x * kept)(x),
    "in plan": lambda kept, x: sycl_dnn.plan(lambda x: x * kept, x),
    "as a result": lambda kept, x: sycl_dnn.compile(lambda x: kept)(x),
    "as a result of vjp": lambda kept, x: sycl_dnn.vjp(lambda x: (x, kept), x),
    "as an argument": lambda kept, x: sycl_dnn.vjp(F.relu, kept),
    "as a compiled argument": lambda kept, x: sycl_dnn.compile(F.relu)(kept),
    "in array_function": lambda kept, x: sycl_dnn.array_function(
        dpnp.sin, kept, shape=(3, 4), dtype="f4"
    ),
}


@pytest.mark.parametrize("use", USES)
def test_a_leaked_value_raises(use, run, x):
    kept = []
    run(lambda x: kept.append(x) or F.relu(x), x)
    with pytest.raises(RuntimeError, match=r"shape \(3, 4\).*after its trace had ended"):
        USES[use](kept[0], x)


def test_a_value_that_leaked_from_a_failed_trace_raises(run, x):
    kept = []

    def function(x):
        kept.append(x)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(function, x)
    with pytest.raises(RuntimeError, match="after its trace had ended"):
        F.relu(kept[0])


@pytest.mark.parametrize("inner", [F.relu, lambda v: v])
def test_a_leaked_pullback_raises(inner, x):
    kept = []

    def function(x):
        y, pullback = sycl_dnn.vjp(inner, x)
        kept.append(pullback)
        return y

    sycl_dnn.vjp(function, x)
    with pytest.raises(RuntimeError, match="after its trace had ended"):
        kept[0](x)


# Queues ----------------------------------------------------------------------------------------


@pytest.fixture
def other(x):
    return dpnp.ones((3, 4), dtype="f4", sycl_queue=dpctl.SyclQueue(x.sycl_queue.sycl_device))


@pytest.mark.parametrize("wrap", ["array", "frozen", "bfloat16"])
def test_a_captured_array_of_another_queue_raises(wrap, run, x, other):
    held = {
        "array": lambda: other,
        "frozen": lambda: sycl_dnn.freeze(other),
        "bfloat16": lambda: sycl_dnn.asarray(other, "bfloat16"),
    }[wrap]()
    with pytest.raises(ExecutionPlacementError, match="another queue of.*sycl_queue="):
        run(lambda x: F.add(x, held), x)


def test_a_cached_plan_raises_on_another_queue(x, other):
    held = dpnp.ones((3, 4), dtype="f4", sycl_queue=x.sycl_queue)

    def function(x):
        return F.mul(F.add(x, held), 2.0)

    sycl_dnn.vjp(function, x)
    with pytest.raises(ExecutionPlacementError, match="another queue"):
        sycl_dnn.vjp(function, other)
    compiled = sycl_dnn.compile(function)
    compiled(x)
    for use in (compiled, compiled.bind):
        with pytest.raises(ExecutionPlacementError, match="another queue"):
            use(other)
    bound = sycl_dnn.plan(function, x)
    with pytest.raises(ExecutionPlacementError, match="another queue"):
        bound.rebind(x=other)
    np.testing.assert_allclose(bound().asnumpy(), 2 * (x.asnumpy() + 1))


def test_a_graph_takes_only_arrays_of_its_queue(x, other):
    def built(constant):
        g = graph.Graph("cpu" if x.sycl_queue.sycl_device.is_cpu else "gpu")
        g.output(g.add(g.input((3, 4), "f32"), g.constant(constant)))
        return g.compile(x.sycl_queue)

    with pytest.raises(ExecutionPlacementError, match="queue"):
        built(other)(x)
    with pytest.raises(ExecutionPlacementError, match="queue"):
        built(dpnp.ones_like(x))(other)


def test_functions_without_captures_run_on_every_queue(x, other):
    compiled = sycl_dnn.compile(lambda x: x + 1.0)
    for array in (x, other):
        np.testing.assert_allclose(compiled(array).asnumpy(), array.asnumpy() + 1)
        assert compiled(array).sycl_queue == array.sycl_queue


# dpnp's code inside a trace --------------------------------------------------------------------


def _sin(x):
    return sycl_dnn.array_function(
        dpnp.sin, x, shape=x.shape, dtype=x.dtype, gradient=lambda x, dy: dy * dpnp.cos(x)
    )


def test_array_function_in_every_transform(run, x):
    expected = np.sin(x.asnumpy() * 2) + 1
    np.testing.assert_allclose(_sin(x * 2).asnumpy() + 1, expected, rtol=1e-5)
    for _ in range(2):
        np.testing.assert_allclose(run(lambda x: _sin(x * 2) + 1, x).asnumpy(), expected, rtol=1e-5)


def test_array_function_reads_new_values_at_each_call(x):
    bound = sycl_dnn.plan(lambda x: _sin(x), x)
    compiled = sycl_dnn.compile(lambda x: _sin(x))
    for _ in range(3):
        x += 1
        expected = np.sin(x.asnumpy())
        np.testing.assert_allclose(bound().asnumpy(), expected, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(compiled(x).asnumpy(), expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", ["compile", "plan"])
def test_array_function_of_several_arrays(name, x):
    def both(a, b):
        return dpnp.hypot(a, b), dpnp.sum(a > b, axis=0)

    def function(a):
        return sycl_dnn.array_function(
            both, a, held, shape=[(3, 4), (4,)], dtype=["float32", "int64"]
        )

    held = dpnp.ones_like(x)
    actual = TRANSFORMS[name](function, x)
    np.testing.assert_allclose(actual[0].asnumpy(), np.hypot(x.asnumpy(), 1), rtol=1e-5)
    np.testing.assert_array_equal(actual[1].asnumpy(), (x.asnumpy() > 1).sum(0))
    assert isinstance(function(x), tuple)


def test_gradients_of_several_results(x):
    def function(a):
        product, total = sycl_dnn.array_function(
            lambda a: (a * a, dpnp.sum(a)), a, shape=[(3, 4), ()], dtype="float32",
            gradient=lambda a, dy, dz: 2 * a * dy + dz,
        )  # fmt: skip
        return product.sum() + 3 * total

    y, pullback = sycl_dnn.vjp(function, x)
    actual = pullback(dpnp.ones_like(y))[0].asnumpy()
    np.testing.assert_allclose(actual, 2 * x.asnumpy() + 3, rtol=1e-5)


@pytest.mark.slow
def test_array_function_receives_arrays_of_dtypes_that_dpnp_lacks(run, x):
    narrow = sycl_dnn.asarray(x, "bfloat16")

    def doubled(a, *dy):
        assert isinstance(a, sycl_dnn.Array)
        return a * 2

    def function(a):
        return sycl_dnn.array_function(doubled, a, shape=(3, 4), dtype="bfloat16", gradient=doubled)

    actual = run(function, narrow)
    assert actual.dtype == "bfloat16"
    np.testing.assert_allclose(actual.asnumpy(), 2 * narrow.asnumpy())


def test_array_function_without_a_gradient_says_so(x):
    def function(x):
        return sycl_dnn.array_function(dpnp.sin, x, shape=x.shape, dtype=x.dtype, name="sine")

    np.testing.assert_allclose(
        TRANSFORMS["compile"](function, x).asnumpy(), np.sin(x.asnumpy()), rtol=1e-5, atol=1e-6
    )
    with pytest.raises(NotImplementedError, match="sine .*has no gradient"):
        sycl_dnn.vjp(function, x)


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda x: (dpnp.sum, (x,), (3, 4), "f4"), ValueError, r"shape \(3, 4\).*got \(\)"),
        (lambda x: (dpnp.sin, (x,), (3, 4), "i4"), ValueError, "dtype int32, got.*float32"),
        (lambda x: (dpnp.sin, (), (3, 4), "f4"), TypeError, "at least one array"),
        (lambda x: (lambda a: 1.0, (x,), (), "f4"), TypeError, "must return arrays, got float"),
        (lambda x: (lambda a: (a, a), (x,), (3, 4), "f4"), ValueError, "1 arrays, got 2"),
        (lambda x: (dpnp.sin, (x,), [(3, 4)], ["f4", "f4"]), ValueError, "dtype must be one or 1"),
    ],
)
@pytest.mark.parametrize("is_traced", [False, True])
def test_array_function_checks_declared_results(call, error, said, is_traced, x):
    def function(x):
        inner, arrays, shape, dtype = call(x)
        return sycl_dnn.array_function(inner, *arrays, shape=shape, dtype=dtype)

    with pytest.raises(error, match=said):
        sycl_dnn.compile(function)(x) if is_traced else function(x)
