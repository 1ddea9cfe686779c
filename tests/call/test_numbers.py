# SPDX-License-Identifier: Apache-2.0
"""Python floats among arguments are run-time values; code that needs the value is retraced."""

import math
import warnings
from concurrent.futures import ThreadPoolExecutor

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn.compiler.compiled_function import Compiled

RATES = (0.5, 0.25, -3.0, 0.0, 7.5, math.inf)


@pytest.fixture
def x(queue):
    return dpnp.arange(1, 7, dtype="f4", sycl_queue=queue).reshape(2, 3)


EXPRESSIONS = {
    "product": lambda x, s: x * s,
    "from the left": lambda x, s: s * x + s - x,
    "difference": lambda x, s: x - s,
    "difference from the left": lambda x, s: s - x,
    "numbers among themselves": lambda x, s: x * (2 * s - s / 4 + abs(-s)),
    "powers of numbers": lambda x, s: x * ((1 - 0.9**s) + abs(s) ** 0.5),
    "alpha": lambda x, s: F.add(x, x, alpha=-s),
    "comparison": lambda x, s: F.where(x > s, x, x * 2),
    "largest": lambda x, s: F.maximum(x, s) + F.minimum(x, s),
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_another_value_compiles_nothing(x, name):
    function = EXPRESSIONS[name]
    compiled = sycl_dnn.compile(function)
    sycl_dnn.cache.clear()
    for rate in RATES[:-1]:
        expected = dpnp.asnumpy(function(x, rate))
        actual = [compiled(x, rate), sycl_dnn.vjp(function, x, rate)[0]]
        for result in actual:
            np.testing.assert_allclose(dpnp.asnumpy(result), expected, rtol=1e-6)
            assert result.dtype == x.dtype
    assert compiled.cache_info().misses == 1


def test_gradients_at_other_values(x):
    def loss(x, scale, power):
        return F.sum(F.square(x) * scale) * power

    sycl_dnn.cache.clear()
    for scale in RATES[:-1]:
        _, pullback = sycl_dnn.vjp(loss, x, scale, 2.0)
        gradient, *rest = pullback()
        np.testing.assert_allclose(
            dpnp.asnumpy(gradient), 4 * scale * dpnp.asnumpy(x), rtol=1e-6, atol=1e-6
        )
        assert rest == [None, None]
    assert sycl_dnn.cache.info().misses == 1


def test_code_that_needs_the_value_is_traced_for_each_value(x):
    @sycl_dnn.compile
    def function(x, scale, slope, power):
        if power > 1:
            x = x * 2
        return F.leaky_relu(x - 3, slope) * scale

    for scale, slope, power in ((1.0, 0.1, 0.5), (2.0, 0.1, 0.5), (2.0, 0.3, 1.5), (4.0, 0.3, 1.5)):
        x2 = x * 2 if power > 1 else x
        expected = F.leaky_relu(x2 - 3, slope) * scale
        actual = function(x, scale, slope, power)
        np.testing.assert_allclose(dpnp.asnumpy(actual), dpnp.asnumpy(expected), rtol=1e-6)
    assert function.cache_info().misses == 2


def test_functions_of_floats_only(x):
    def function(x, s):
        if not isinstance(s, float):
            raise TypeError("s must be a float")
        return x * math.exp(s) + round(s) + np.float64(s)

    compiled = sycl_dnn.compile(function)
    for s in (0.5, 1.5):
        np.testing.assert_allclose(
            dpnp.asnumpy(compiled(x, s)), dpnp.asnumpy(x) * math.exp(s) + round(s) + s, rtol=1e-6
        )


def test_returned_numbers_are_unchanged(x):
    compiled = sycl_dnn.compile(lambda x, s: {"y": x, "s": s, "text": f"{s:.1f}"})
    assert compiled(x, 0.5)["s"] == 0.5
    assert compiled(x, 1.5)["s"] == 1.5
    assert compiled(x, 2.5)["text"] == "2.5"


def test_numbers_in_trees_and_from_numpy(x):
    compiled = sycl_dnn.compile(lambda x, o: x * o["lr"] + o["shift"][0])
    for rate in (np.float32(0.5), np.float64(2.0), 3.0):
        actual = compiled(x, {"shift": [1.0], "lr": rate})
        np.testing.assert_allclose(
            dpnp.asnumpy(actual), dpnp.asnumpy(x) * float(rate) + 1, rtol=1e-6
        )
    assert compiled.cache_info().misses == 1


def test_special_values(x):
    compiled = sycl_dnn.compile(lambda x, s: x * s)
    for s in (math.nan, math.inf, -0.0):
        np.testing.assert_array_equal(dpnp.asnumpy(compiled(x, s)), dpnp.asnumpy(x) * np.float32(s))


@pytest.mark.float64
def test_float64_arrays_keep_the_digits(queue):
    x = dpnp.ones(3, dtype="f8", sycl_queue=queue)
    for function in (lambda x, s: x + s, sycl_dnn.compile(lambda x, s: x + s)):
        result = function(x, 1e-12)
        assert result.dtype == x.dtype
        np.testing.assert_array_equal(dpnp.asnumpy(result) - 1, np.ones(3) + 1e-12 - 1)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.filterwarnings("ignore::sycl_dnn.FallbackWarning")
def test_bfloat16_and_float16_arrays_cause_no_retrace(x, dtype):
    traces = []

    def step(x, s):
        traces.append(s)
        return F.maximum((x * s + s - x) / s, s)

    narrow = F.astype(x, dtype)
    compiled = sycl_dnn.compile(step)
    for s in (0.1, 0.2, -0.3):
        actual = F.astype(compiled(narrow, s), "float32")
        values = dpnp.asnumpy(x).astype("f8")
        want = np.maximum((values * s + s - values) / s, s)
        np.testing.assert_allclose(dpnp.asnumpy(actual), want, rtol=0.04, atol=0.04)
    assert len(traces) == 1
    # The number itself is not rounded: 0.1 is 0.10009765625 in bfloat16.
    tenth = sycl_dnn.compile(lambda x, s: x * s)(narrow, 0.1)
    assert (tenth == F.mul(narrow, 0.1)).all()


def test_comparisons_of_narrow_arrays_round_the_number(x):
    narrow = F.astype(x * 0 + 0.1, "bfloat16")
    compiled = sycl_dnn.compile(lambda x, s: x > s)
    assert not compiled(narrow, 0.1).any()
    assert not (narrow > 0.1).any()


def test_ints_stay_static(x):
    compiled = sycl_dnn.compile(lambda x, n: F.reshape(x, (n, -1)))
    assert [compiled(x, n).shape for n in (1, 2, 3)] == [(1, 6), (2, 3), (3, 2)]


def test_eight_retraces_for_one_argument_give_one_warning_that_names_it(x):
    compiled = sycl_dnn.compile(lambda x, n, mode: x * n)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for n in range(12):
            compiled(x, n, "a")
    texts = [str(w.message) for w in seen if "traced again" in str(w.message)]
    assert len(texts) == 1
    assert "8 times" in texts[0]
    assert "'n' alone" in texts[0]


def test_changing_shapes_give_no_warning(queue):
    compiled = sycl_dnn.compile(lambda x: x * 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n in range(1, 14):
            compiled(dpnp.ones(n, dtype="f4", sycl_queue=queue))


def test_a_bound_call_keeps_its_numbers(x):
    bound = sycl_dnn.compile(lambda x, s: x * s).bind(x, 2.0)
    np.testing.assert_array_equal(dpnp.asnumpy(bound()), dpnp.asnumpy(x) * 2)
    plan = sycl_dnn.plan(lambda x, s: x * s, x, 3.0)
    np.testing.assert_array_equal(dpnp.asnumpy(plan()), dpnp.asnumpy(x) * 3)


def test_constants_and_numbers_together(x):
    compiled = sycl_dnn.compile(lambda w, lr, x: F.matmul(x, w) * lr, constants=("w",))
    w = dpnp.ones((3, 4), dtype="f4", sycl_queue=x.sycl_queue)
    for rate in (0.5, 2.0):
        np.testing.assert_allclose(
            dpnp.asnumpy(compiled(w, rate, x)), dpnp.asnumpy(x) @ np.ones((3, 4)) * rate
        )
    assert compiled.cache_info().misses == 1


def test_values_that_code_needs_beside_constants(x):
    compiled = sycl_dnn.compile(lambda w, s, x: x * w if s > 0 else x - w, constants=("w",))
    w = dpnp.full((2, 3), 2.0, dtype="f4", sycl_queue=x.sycl_queue)
    for s in (1.0, 1.0, -1.0, 1.0):
        expected = dpnp.asnumpy(x) * 2 if s > 0 else dpnp.asnumpy(x) - 2
        np.testing.assert_array_equal(dpnp.asnumpy(compiled(w, s, x)), expected)


@pytest.fixture
def without_python(monkeypatch):
    """Return a function after which compiled calls that are not repeated raise an error."""

    def switch():
        monkeypatch.setattr(Compiled, "_key", lambda *args: pytest.fail("not repeated"))

    return switch


def test_repeated_calls_with_other_numbers_need_no_python(x, without_python):
    compiled = sycl_dnn.compile(lambda x, s, o: x * s + o["shift"] * 2)
    compiled(x, 1.0, {"shift": 2.0})
    without_python()
    results = [compiled(x, np.float32(i), {"shift": -0.5 * i}) for i in range(1000)]
    for i, result in enumerate(results):
        np.testing.assert_allclose(dpnp.asnumpy(result), dpnp.asnumpy(x) * i - i, rtol=1e-6)


def test_repeated_calls_tell_apart_the_numbers_whose_values_are_needed(x, without_python):
    compiled = sycl_dnn.compile(lambda x, s, p, out: x * s if p > 1 else (x + s) * math.exp(p))
    targets = [dpnp.empty_like(x) for _ in range(2)]
    powers = 0.0, -0.0, 0.5, 2.0, math.nan
    for power in powers:
        compiled(x, 1.0, power, targets)
    without_python()
    for scale in (3.0, 4.0):
        for power in powers:
            values = dpnp.asnumpy(x)
            want = values * scale if power > 1 else (values + scale) * np.float32(math.exp(power))
            actual = compiled(x, scale, power, targets)
            np.testing.assert_allclose(dpnp.asnumpy(actual), want, rtol=1e-6)
    with pytest.raises(pytest.fail.Exception, match="not repeated"):
        compiled(x, 3.0, 0.75, targets)


def test_threads_repeat_a_call_with_their_own_numbers(x):
    compiled = sycl_dnn.compile(lambda x, s: F.sin(x) * s + s)
    sines = np.sin(dpnp.asnumpy(x))

    def difference(number):
        results = [(s, compiled(x, s)) for s in np.arange(number, 200.0 + number)]
        return max(np.abs(dpnp.asnumpy(y) - (sines + 1) * s).max() for s, y in results)

    with ThreadPoolExecutor(8) as threads:
        assert max(threads.map(difference, range(8))) < 1e-4
