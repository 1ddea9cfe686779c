"""Nodes are interned by exact structure, and freed when unreferenced."""

import gc
import math

import pytest

from sycl_dnn import ops
from sycl_dnn.ir import node as nodes
from sycl_dnn.ir.node import OPERATIONS, Operation, in_order, leaf, number, value_of

X = leaf("x", (2, 3), "float32")
Y = leaf("y", (3,), "float32")


def test_nodes_of_equal_structure_are_one_object():
    assert leaf("x", (2, 3), "float32") is X
    assert (X + Y) * X is (X + Y) * X
    assert ops.shape.transpose(X, (1, 0)) is ops.shape.transpose(X, (-1, -2))


@pytest.mark.parametrize(
    ("a", "b"),
    [(0.0, -0.0), (1.0, 1.5), (math.nan, 0.0), (math.inf, -math.inf)],
    ids=["signed zeros", "values", "nan", "infinities"],
)
def test_different_numbers_are_different_nodes(a, b):
    assert number(a, "float32") is not number(b, "float32")
    assert number(a, "float32") is number(a, "float32")


def test_one_and_true_are_different_attributes():
    assert number(1, "int64") is not number(True, "bool")
    op = OPERATIONS["clamp"]
    assert op(X, low=1.0, high=None) is not op(X, low=1, high=None)


def test_number_gets_the_dtype_of_the_other_operand():
    assert (X * 2).inputs[1].dtype == "float32"
    assert value_of((leaf("n", (2,), "int64") * 2).inputs[1]) == 2


def test_order_of_operands_is_kept():
    assert (X - Y).inputs == (X, Y)
    assert (1 - X).inputs[1] is X


def test_unreferenced_nodes_are_freed():
    gc.collect()
    before = len(nodes._nodes)
    z = X
    for _ in range(100):
        z = z * Y
    assert len(nodes._nodes) == before + 100
    del z
    gc.collect()
    assert len(nodes._nodes) == before


def test_long_chains_are_built_sorted_and_freed():
    z = X
    for _ in range(50_000):
        z = z + Y
    assert len(in_order([z])) == 50_002
    del z
    gc.collect()


def test_names_of_operations_are_unique():
    with pytest.raises(ValueError, match="name must be unique, got 'add' twice"):
        Operation("add", lambda inputs: ((), "float32"))


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: X + leaf("z", (4,), "float32"), ValueError, "must broadcast together"),
        (lambda: X + leaf("z", (3,), "float64"), TypeError, "must have one dtype"),
        (lambda: OPERATIONS["exp"](leaf("n", (2,), "int64")), TypeError, "floating-point"),
        (lambda: ops.shape.reshape(X, (4,)), ValueError, "must have 6 elements"),
        (lambda: ops.selection.narrow(X, 1, 1, 3), IndexError, "must exist, got size 3"),
        (lambda: ops.products.matmul(X, X), ValueError, "matmul: operands must be"),
        (lambda: ops.selection.concat([X, Y]), ValueError, "concat: shapes must be equal"),
        (lambda: OPERATIONS["max"](leaf("e", (0,), "float32"), axes=(0,)), ValueError, "empty"),
    ],
)
def test_invalid_calls_are_refused(call, error, text):
    with pytest.raises(error, match=text):
        call()
