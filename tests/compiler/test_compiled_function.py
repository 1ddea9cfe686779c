# SPDX-License-Identifier: Apache-2.0
"""How compiled functions are called: arguments, results, ``out``, threads."""

import dpnp
import numpy as np
import pytest
from comparing import assert_same

import sycl_dnn
from sycl_dnn import functional as F


def test_as_a_decorator_with_and_without_options(make, weights):
    @sycl_dnn.compile
    def plain(x):
        """Double."""
        return F.relu(F.linear(x, weights))

    @sycl_dnn.compile(cache_size=2)
    def bounded(x):
        return F.relu(F.linear(x, weights))

    assert (plain.__name__, plain.__doc__) == ("plain", "Double.")
    for rows in (1, 2, 3, 2, 3):
        x = make(rows, 16)
        assert_same((plain(x), bounded(x)), (F.relu(F.linear(x, weights)),) * 2)
    assert plain.cache_info()[:3] == (2, 3, 3)
    assert bounded.cache_info().size == 2
    assert "3 steps" not in plain.summary()
    assert "float32[1, 16]: 1 steps" in plain.summary()


def test_nested_arguments_and_results(make):
    @sycl_dnn.compile
    def function(tree, factor, *, name):
        a, (b, c) = tree["first"], tree["rest"]
        return {"sum": a + b, name: [c * factor, (a - b).T], "none": None, "number": 3}

    tree = {"first": make(3, 4), "rest": (make(3, 4), make(3, 4))}
    a, (b, c) = tree["first"], tree["rest"]
    result = function(tree, 2.0, name="x")
    assert list(result) == ["sum", "x", "none", "number"]
    assert (result["none"], result["number"]) == (None, 3)
    assert_same(result, {"sum": a + b, "x": [c * 2.0, (a - b).T]})
    assert_same(function(tree, 3.0, name="x")["x"][0], c * 3.0)
    assert function.cache_info().misses == 1


def test_results_are_written_to_out(make, weights):
    function = sycl_dnn.compile(lambda x: F.relu(F.linear(x, weights)))
    x, out = make(5, 16), make(16, 5).T
    assert function(x, out=out) is out
    assert_same(out, F.relu(F.linear(x, weights)))
    pair = sycl_dnn.compile(lambda x: {"a": x * 2.0, "b": x + 1.0})
    outs = {"a": make(5, 16), "b": make(5, 16)}
    assert pair(x, out=outs) is outs
    assert_same(outs, {"a": x * 2.0, "b": x + 1.0})
    with pytest.raises(ValueError, match="out must have shape"):
        function(x, out=make(4, 16))
    with pytest.raises(ValueError, match="out must have 2 arrays"):
        pair(x, out=make(5, 16))


def test_out_may_be_an_input(make, weights):
    x = make(5, 16)
    function = sycl_dnn.compile(lambda a: F.relu(F.linear(a, weights)) + a)
    expected = dpnp.asnumpy(F.relu(F.linear(x, weights)) + x)
    function(x, out=x)
    np.testing.assert_allclose(dpnp.asnumpy(x), expected, atol=1e-5)
    chained = sycl_dnn.compile(lambda a: F.tanh(a * 2.0) + F.softmax(a, -1))
    expected = dpnp.asnumpy(F.tanh(x * 2.0) + F.softmax(x, -1))
    chained(x, out=x)
    np.testing.assert_allclose(dpnp.asnumpy(x), expected, atol=1e-5)


VIEWS = {
    "transposed": lambda a: a.T,
    "reversed": lambda a: a[::-1],
    "halves": lambda a: (a[32:], a[:32]),
    "another and a view": lambda a: (F.relu(a), a.T),
}


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_of_an_input_is_read_before_out_is_written(name, make):
    x, big = make(64, 64), make(128, 64)
    function = sycl_dnn.compile(VIEWS[name])
    outs = (x[:32], x[32:]) if name == "halves" else (x, make(64, 64))
    expected = VIEWS[name](dpnp.copy(x))
    single = not isinstance(expected, tuple)
    function(x, out=x if single else outs)
    assert_same(x if single else outs, expected)
    if single:
        for rows in (slice(0, 64), slice(64, 128)):
            expected = VIEWS[name](dpnp.copy(big[rows]))
            function(big[rows], out=big[32:96])
            assert_same(big[32:96], expected)


def test_inputs_may_be_freed_before_the_work_is_done(make, weights):
    function = sycl_dnn.compile(lambda x: F.linear(F.relu(F.linear(x, weights)), weights))
    kept = make(512, 16)
    expected = dpnp.asnumpy(function(kept))
    results = []
    for _ in range(30):
        x = kept.copy()
        results.append(function(x))
        del x
    for actual in results:
        np.testing.assert_allclose(dpnp.asnumpy(actual), expected, atol=1e-5)


#: What the function computes, and the order in which the call names its arguments.
ORDERS = [
    (lambda a, b, c: a * 4 + b * 2 + c, ("b", "a", "c")),
    (lambda a, b, c: a * 4 + b * 2 + c, ("c", "b", "a")),
    (lambda a, *, c, b: a * 4 + b * 2 + c, ("b", "c", "a")),
    (lambda a, **more: a * 4 + more["b"] * 2 + more["c"], ("c", "a", "b")),
]


@pytest.mark.parametrize("constants", [(), ("a",)])
@pytest.mark.parametrize(("function", "names"), ORDERS)
@pytest.mark.parametrize("is_number", [False, True])
def test_arguments_by_name_in_any_order(function, names, constants, is_number, make):
    values = {name: make(2, 3) for name in "abc"}
    values["b"] = 1.5 if is_number else values["b"]
    given = {name: values[name] for name in names}
    expected = values["a"] * 4 + values["b"] * 2 + values["c"]
    compiled = sycl_dnn.compile(function, constants=constants)
    for _ in range(3):
        assert_same(compiled(**given), expected)
    assert_same(compiled(**dict(reversed(given.items()))), expected)
    assert_same(compiled.bind(**given)(), expected)
