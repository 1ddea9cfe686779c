"""Gradients as nodes: paths, repeated operands, forward mode, refusals."""

import numpy as np
import pytest
from node_values import pushforward, values_of

from sycl_dnn import ops
from sycl_dnn.ir.derivation import pullback
from sycl_dnn.ir.node import LEAF, OPERATIONS, NotDifferentiable, Operation, in_order, leaf
from sycl_dnn.ops import arithmetic, creation

X = leaf("x", (), "float64")
Y = leaf("y", (), "float64")
ONE = creation.full(1.0, (), "float64")


def _value(node, **leaves):
    found = {leaf(name, np.shape(v), "float64"): np.asarray(v, float) for name, v in leaves.items()}
    return values_of([node], found)[0]


def test_a_repeated_operand_gets_the_sum_of_gradients():
    (g,) = pullback([X * X], [ONE], [X])
    assert _value(g, x=3.0) == 6.0


def test_a_repeated_operand_of_a_composite_operation_gets_the_sum():
    twice = Operation(
        "product_of_two_for_a_test",
        lambda inputs: (inputs[0].shape, inputs[0].dtype),
        definition=lambda a, b: a * b,
    )
    try:
        (g,) = pullback([twice(X, X)], [ONE], [X])
        assert _value(g, x=3.0) == 6.0
    finally:
        del OPERATIONS[twice.name]


def test_repeated_results_accumulate_both_seeds():
    y = X * X
    (g,) = pullback([y, y], [ONE, ONE], [X])
    assert _value(g, x=3.0) == 12.0


def test_a_result_may_be_a_variable():
    assert pullback([X], [Y], [X]) == (Y,)


def test_the_gradient_stops_at_the_first_variable():
    inner = X * X
    outer = inner * X
    by_inner, by_x = pullback([outer], [ONE], [inner, X])
    assert _value(by_inner, x=3.0) == 3.0
    assert _value(by_x, x=3.0) == 9.0


def test_the_gradient_without_a_path_is_none():
    assert pullback([X * X], [ONE], [Y]) == (None,)
    assert pullback([arithmetic.STOP_GRADIENT(X)], [ONE], [X]) == (None,)
    assert pullback([arithmetic.FLOOR(X)], [ONE], [X]) == (None,)


def test_integers_on_a_path_stop_the_gradient():
    whole = arithmetic.cast(X, "int64")
    assert pullback([arithmetic.cast(whole, "float64")], [ONE], [X]) == (None,)


def test_an_operation_without_a_gradient_is_named():
    odd = Operation("odd_for_a_test", lambda inputs: (inputs[0].shape, inputs[0].dtype))
    try:
        with pytest.raises(NotDifferentiable, match="odd_for_a_test has no gradient"):
            pullback([odd(X)], [ONE], [X])
        assert pullback([odd(Y)], [ONE], [X]) == (None,)
    finally:
        del OPERATIONS[odd.name]


def test_long_chains_have_gradients():
    z = X
    for _ in range(20_000):
        z = z * Y
    (g,) = pullback([z], [ONE], [X])
    assert _value(g, x=2.0, y=1.0) == 1.0


def test_the_same_gradient_is_the_same_node():
    y = arithmetic.TANH(X) * X
    assert pullback([y], [ONE], [X]) == pullback([y], [ONE], [X])
    assert pushforward([y], [X], [ONE]) == pushforward([y], [X], [ONE])


def test_forward_mode_needs_no_gradient_of_the_result():
    results = [arithmetic.SIN(X) * Y, X * X, Y]
    tangents = pushforward(results, [X], [ONE])
    assert tangents[2] is None
    leaves = {n.attributes["key"] for n in in_order(tangents[:2]) if n.operation is LEAF}
    assert leaves <= {"x", "y"}
    assert np.isclose(_value(tangents[0], x=0.5, y=2.0), 2 * np.cos(0.5))
    assert _value(tangents[1], x=0.5) == 1.0


def test_every_operation_has_a_gradient_rule_or_is_listed_without():
    without = {
        name
        for name, op in OPERATIONS.items()
        if not (op.vjp or op.definition or op.is_flat or name in ("leaf", "number"))
    }
    # Functions that use these have their own rules.
    assert without <= {"erfinv_single", "scatter_max", "scatter_min"}
    both = {name for name, op in OPERATIONS.items() if op.is_flat and (op.vjp or op.definition)}
    assert both == set()


def test_rules_are_written_in_registered_operations():
    x = leaf("m", (3, 4), "float64")
    (g,) = pullback([ops.reduction.SOFTMAX(x, axis=1)], [x], [x])
    assert {n.operation.name for n in in_order([g])} <= set(OPERATIONS)
