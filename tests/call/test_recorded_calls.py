# SPDX-License-Identifier: Apache-2.0
"""``vjp`` and related transforms run the user's function at each call and recognize its steps."""

import itertools
import random

import dpnp
import numpy as np
import pytest
from in_threads import in_threads

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn

pytestmark = pytest.mark.usefixtures("clean_cache")


@pytest.fixture
def make(queue):
    def array(*values):
        return dpnp.asarray(np.array(values, "f4"), sycl_queue=queue)

    return array


def misses():
    return sycl_dnn.cache.info().misses


def gradient(function, *args):
    value, grads = sycl_dnn.value_and_grad(function)(*args)
    return float(value), dpnp.asnumpy(grads).tolist()


def test_python_runs_at_each_call_and_is_traced_once(make):
    calls = []

    def function(x):
        calls.append(x.shape)
        return F.sum(F.tanh(x) * 2)

    x = make(0.0, 0.0)
    for _ in range(4):
        assert gradient(function, x) == (0.0, [2.0, 2.0])
    assert calls == [(2,)] * 4
    assert misses() == 1


#: What no comparison of captured values could foresee.
UNFORESEEN = {
    "a generator": lambda: map(float, itertools.count(1)).__next__,
    "random numbers": lambda: random.Random(0).random,
    "a list that shrinks": lambda: [4.0, 3.0, 2.0].pop,
    "a default that is written to": lambda: lambda held=[0.0]: held.append(len(held)) or held[-1],  # noqa: B006
}


@pytest.mark.parametrize("name", UNFORESEEN)
def test_nothing_is_out_of_date(name, make):
    draw, expected = UNFORESEEN[name](), UNFORESEEN[name]()
    x = make(1.0)
    for _ in range(3):
        factor = np.float32(expected())
        assert gradient(lambda x: F.sum(x * draw()), x)[1] == [factor]


def test_code_that_assigns_outside_is_not_traced_again(make):
    total = 0

    def function(x):
        nonlocal total
        total += 1
        return F.sum(x * x)

    for _ in range(5):
        gradient(function, make(1.0))
    assert total == 5
    assert misses() == 1


def test_each_branch_has_its_own_program(make):
    def function(x):
        y = F.sum(x * x)
        return y * 3 if y > 4 else -y

    small, large = make(1.0), make(3.0)
    assert gradient(function, small) == (-1.0, [-2.0])
    assert gradient(function, large) == (27.0, [18.0])
    before = misses()
    for x, expected in ((large, (27.0, [18.0])), (small, (-1.0, [-2.0]))) * 3:
        assert gradient(function, x) == expected
    assert misses() == before


#: Reads of values, with what they give for [3, 1].
READS = {
    "float": (lambda x: float(x[0]), 3.0),
    "int": (lambda x: int(x[0]), 3),
    "bool": (lambda x: bool(x[0] > 2), True),
    "index": (lambda x: "abcd"[x.astype("int64")[0]], "d"),
    "complex": (lambda x: complex(x[1]), 1 + 0j),
    "item": (lambda x: x[1].item(), 1.0),
    "tolist": (lambda x: x.tolist(), [3.0, 1.0]),
    "asnumpy": (lambda x: x.asnumpy().tolist(), [3.0, 1.0]),
    "in": (lambda x: 3.0 in x, True),
    "loop": (lambda x: len([1 for _ in range(int(F.sum(x)))]), 4),
}


@pytest.mark.parametrize("name", READS)
def test_values_can_be_read(name, make):
    read, expected = READS[name]
    seen = []

    def function(x):
        y = F.exp(F.log(x))  # not an argument
        seen.append((read(x), read(F.round(y))))
        return F.sum(y * y)

    for _ in range(2):
        value, grads = sycl_dnn.value_and_grad(function)(make(3.0, 1.0))
        np.testing.assert_allclose(float(value), 10, rtol=1e-5)
        np.testing.assert_allclose(dpnp.asnumpy(grads), [6, 2], rtol=1e-5)
    assert seen == [(expected, expected)] * 2


def test_values_depend_on_captured_arrays_and_inner_gradients(make):
    held = make(2.0)

    def function(x):
        slope = sycl_dnn.grad(lambda v: F.sum(v * v * held))(x)
        return F.sum(x * float(slope[0]))

    assert gradient(function, make(3.0)) == (36.0, [12.0])
    held = make(1.0)
    assert gradient(function, make(3.0)) == (18.0, [6.0])


def test_values_of_drawn_numbers_are_those_of_the_result(make):
    def function(x):
        noise, kept = F.rand(2), F.dropout(x, 0.5)
        read = (noise.tolist(), kept.tolist())
        return F.sum(kept * noise), (noise, kept, read, F.rand(2))

    sycl_dnn.manual_seed(3)
    seen = []
    for _ in range(3):
        both = sycl_dnn.value_and_grad(function, has_aux=True)(make(1.0, 1.0))
        (value, (noise, kept, read, _)), grads = both
        assert read == (noise.tolist(), kept.tolist())
        np.testing.assert_allclose(float(value), float(F.sum(noise * kept)), rtol=1e-6)
        np.testing.assert_allclose(grads.tolist(), (noise * kept).tolist())
        seen.append(noise.tolist())
    assert len(set(map(tuple, seen))) == 3


def test_reading_values_updates_statistics_once(queue):
    net = nn.BatchNorm1d(2).to(queue)
    x = dpnp.asarray(np.array([[1.0, 2.0], [3.0, 6.0]], "f4"), sycl_queue=queue)

    def loss(net):
        y = F.sum(net(x) * x)
        return y if y > 0 else -y

    for count in (1, 2, 3):
        sycl_dnn.value_and_grad(loss)(net)
        expected = np.array([2.0, 4.0]) * (1 - 0.9**count)
        np.testing.assert_allclose(dpnp.asnumpy(net.running_mean), expected, rtol=1e-5)


def test_the_reverse_pass_reads_no_values(make):
    @sycl_dnn.custom_vjp
    def function(x):
        return x * 2

    function.defvjp(lambda x: (x * 2, x), lambda x, dy: (dy * float(x[0]),))
    with pytest.raises(TypeError, match=r"__float__.*not known while a function is traced"):
        gradient(lambda x: F.sum(function(x)), make(1.0))


# --- Where a run leaves a known path, its calls are repeated on a trace


def _with_everything(make, net, frozen, n):
    """A function with calls of every kind before the point where runs differ."""
    held = make(2.0, 3.0)
    block = sycl_dnn.checkpoint(lambda v: F.tanh(v) * v)

    @sycl_dnn.custom_vjp
    def doubled(x):
        return 2 * x

    doubled.defvjp(lambda x: (2 * x, None), lambda _, dy: (dy * 2,))

    def function(x):
        y = x * held + F.linear(x, frozen) + net(x.reshape(1, 2)).reshape(2)
        y = y + block(doubled(y))[:, None].reshape(-1)
        a, b = F.chunk(y, 2)
        y = F.cat([b, a]) + F.arange(2) + sycl_dnn.grad(lambda v: F.sum(v * v * y))(x)
        with sycl_dnn.no_grad():
            scale = F.sum(y)
        y = y.copy() * scale + F.sort(y)[0] + F.dropout(y, 0.5, seed=sycl_dnn.Seed(7))
        for _ in range(n[0]):
            y = F.sin(y)
        return F.sum(y * y)

    return function


def test_calls_of_every_kind_are_repeated(make, queue):
    sycl_dnn.manual_seed(0)
    net = nn.Linear(2, 2).to(queue)
    frozen = sycl_dnn.freeze(make(1.0, 2.0, 3.0, 4.0).reshape(2, 2))
    n, x = [0], make(0.5, -0.25)
    function = _with_everything(make, net, frozen, n)
    for count in (0, 1, 2, 1, 0, 3):
        n[0] = count
        found = gradient(function, x)
        fresh = gradient(_with_everything(make, net, frozen, [count]), x)
        sycl_dnn.cache.clear()
        alone = gradient(_with_everything(make, net, frozen, [count]), x)
        for other in (fresh, alone):
            np.testing.assert_allclose(found[1], other[1], rtol=1e-5)


# --- Captured arrays


def test_an_array_may_be_an_argument_and_captured(make):
    a, b = make(2.0), make(5.0)

    def function(x):
        return F.sum(x * a * a + x * b)

    for held in (a, b, make(1.0)):
        value, grads = gradient(function, held)
        assert value == float(held[0]) * 9
        assert grads == [9.0]
    assert misses() == 1


@pytest.mark.parametrize("n_arrays", [1, 2])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_captured_indices_are_read_at_each_call(n_arrays, dtype, queue):
    def function(x):
        return F.sum(x[tuple(held[:n_arrays])] * 2)

    values = np.arange(12.0, dtype="f4").reshape(3, 4)
    x = dpnp.asarray(values, sycl_queue=queue)
    for numbers in ([0, 2], [1, 1], [-1, 0]):
        held = [dpnp.asarray(numbers, dtype=dtype, sycl_queue=queue) for _ in range(2)]
        for first in (0, 1):
            held[0][0] = first
            key = tuple([first, numbers[1]] if k == 0 else numbers for k in range(n_arrays))
            slope = np.zeros((3, 4), "f4")
            np.add.at(slope, key, 2)
            assert gradient(function, x) == (values[key].sum() * 2, slope.tolist())
    assert misses() == 1


def test_returned_arrays_are_those_of_the_call(make):
    def function(x):
        return F.sum(x), [held, {"twice": held * 2}]

    for number in (1.0, 2.0, 3.0):
        held = make(number)
        (_, (same, result)), _ = sycl_dnn.value_and_grad(function, has_aux=True)(make(1.0))
        assert same.tolist() == [number]
        assert result["twice"].tolist() == [2 * number]
    assert misses() == 1


def test_captured_arrays_are_told_apart_by_their_use(make):
    first, second = make(2.0), make(3.0)
    held = [first, second]

    def function(x):
        return F.sum(x * held[0] - x * x * held[1])

    assert gradient(function, make(1.0)) == (-1.0, [-4.0])
    held[:] = [second, first]
    assert gradient(function, make(1.0)) == (1.0, [-1.0])
    held[:] = [first, first]
    assert gradient(function, make(1.0)) == (0.0, [-2.0])


def test_a_rule_that_captures_arrays_is_traced_at_each_call(make):
    held = make(2.0)

    @sycl_dnn.custom_vjp
    def function(x):
        return x * 1

    function.defvjp(lambda x: (x * 1, None), lambda _, dy: (dy * held,))
    for factor in (2.0, 2.0, 5.0, 7.0):
        held = make(factor)
        assert gradient(lambda x: F.sum(function(x)), make(1.0))[1] == [factor]


def test_a_rule_whose_numbers_change_is_traced_again(make):
    factor = 2.0

    def define(number):
        result = sycl_dnn.custom_vjp(lambda x: x * 1)
        result.defvjp(lambda x: (x * 1, None), lambda _, dy: (dy * number * factor,))
        return result

    for number, other in ((2.0, 1.0), (3.0, 1.0), (3.0, 4.0)):
        factor = other
        function = define(number)
        grads = gradient(lambda x, function=function: F.sum(function(x)), make(1.0))[1]
        assert grads == [number * other]


def test_a_rule_is_not_traced_again(make):
    @sycl_dnn.custom_vjp
    def function(x):
        return x * 1

    function.defvjp(lambda x: (x * 1, x), lambda x, dy: (F.tanh(x) * dy * 2 + x,))
    for _ in range(4):
        gradient(lambda x: F.sum(function(x)), make(1.0))
    assert misses() == 1


# --- Bounds, errors, threads


@pytest.mark.slow
def test_long_paths_are_forgotten(make):
    def function(x):
        for _ in range(30_000):
            x = x.reshape(1)
        return F.sum(x * 2)

    for _ in range(2):
        assert gradient(function, make(1.0))[1] == [2.0]
    assert misses() == 1
    sycl_dnn.cache.clear()
    assert sycl_dnn.cache.info().size == 0


def test_functions_of_ever_new_numbers_keep_few_programs(make):
    x = make(1.0)
    for number in range(150):
        assert gradient(lambda x, n=number: F.sum(x * float(n)), x)[1] == [float(number)]
    assert sycl_dnn.cache.info().size <= 66


def test_a_function_that_raises_leaves_nothing_behind(make):
    leaked, fails = [], True

    def function(x):
        leaked.append(F.tanh(x))
        if fails:
            raise KeyError("of the user")
        return F.sum(leaked[-1])

    for _ in range(2):
        with pytest.raises(KeyError, match="of the user"):
            gradient(function, make(0.0))
    fails = False
    assert gradient(function, make(0.0)) == (0.0, [1.0])
    for value in leaked:
        with pytest.raises(RuntimeError, match="after its trace had ended"):
            F.exp(value)


def test_threads_follow_their_own_paths(make):
    x = make(1.0)

    def function(x, n):
        for _ in range(n):
            x = x * 2
        return F.sum(x) if F.sum(x) > 0 else F.sum(-x)

    def job(number):
        for i in range(20):
            n = (number + i) % 5
            assert gradient(lambda x: function(x, n), x)[1] == [2.0**n]  # noqa: B023

    in_threads(8, job)


#: Functions of an array and of a float that varies from call to call; NumPy's result and slope.
VARYING = {
    "product": (lambda x, b: x * b, lambda x, b: x * b, lambda x, b: b),
    "reflected": (lambda x, b: b - x, lambda x, b: b - x, lambda x, b: -1.0),
    "quotient": (lambda x, b: x / b, lambda x, b: x / b, lambda x, b: 1 / b),
    "NumPy's": (lambda x, b: x * np.float64(b), lambda x, b: x * b, lambda x, b: b),
    "factor of a sum": (lambda x, b: F.add(x, x, alpha=b), lambda x, b: x + b * x,
                        lambda x, b: 1 + b),
    "two": (lambda x, b: x * b + b / 2, lambda x, b: x * b + b / 2, lambda x, b: b),
    "one of two": (lambda x, b: (x * 2.0) * b * 3.0, lambda x, b: 6 * x * b, lambda x, b: 6 * b),
    "with a value that is read": (lambda x, b: x * b if float((x * b).sum()) < 1e9 else x,
                                  lambda x, b: x * b, lambda x, b: b),
    "in a power, which takes numbers alone": (lambda x, b: F.pow(x, b), lambda x, b: x**b,
                                              lambda x, b: b * x ** (b - 1)),
}  # fmt: skip


@pytest.mark.parametrize("name", VARYING)
@pytest.mark.sweep(2)
def test_floats_that_vary_are_values_of_one_program(name, make):
    function, value, slope = VARYING[name]
    x = np.array([0.5, 1.0, 3.0], "f4")
    for b in (0.5, 0.25, 2.0, 3.0, -1.5, 0.5, 1e-3, 7.0, 0.0625, 11.0, 12.0, 13.0):
        if "power" in name:
            b = abs(b)
        actual = gradient(lambda x, b=b: F.sum(function(x, b)), make(*x))
        assert actual[0] == pytest.approx(np.sum(value(x.astype("f8"), b)), rel=1e-5)
        np.testing.assert_allclose(actual[1], np.broadcast_to(slope(x, b), 3), rtol=1e-5)
    if "power" not in name:
        assert misses() <= 9


def test_pullbacks_keep_the_floats_of_their_call(make):
    x, pullbacks = make(1.0), []
    for number in range(8):
        pullbacks.append(sycl_dnn.vjp(lambda x, b=number / 2: F.sum(x * b), x)[1])
    assert [float(pullback()[0][0]) for pullback in pullbacks] == [n / 2 for n in range(8)]


@pytest.mark.parametrize("dtype", ["bfloat16", "float64", "int64"])
def test_floats_that_vary_beside_other_dtypes(dtype, queue):
    x = sycl_dnn.asarray(dpnp.asarray([1.0, 2.0], dtype="f4", sycl_queue=queue), dtype=dtype)
    for number in range(8):
        b = number / 8 + 1e-3

        def function(w, b=b):
            return F.sum(F.astype(x * b, "float32") * w)

        w = F.ones(2, device=queue)
        actual = sycl_dnn.grad(function)(w).asnumpy()
        np.testing.assert_array_equal(actual, F.astype(x * b, "float32").asnumpy())
