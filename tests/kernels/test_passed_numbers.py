# SPDX-License-Identifier: Apache-2.0
"""Offsets, bounds, scales and slopes are arguments of a kernel: others need no other kernel."""

import dpnp
import numpy as np
import pytest
from arrays import normal

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn.kernels.expression import Expression, Term
from sycl_dnn.kernels.passed_numbers import with_passed_numbers


def kernels_of(function, *args):
    compiled = sycl_dnn.compile(function)
    result, expected = (dpnp.asnumpy(f(*args)) for f in (compiled, function))
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)
    parts = compiled.explain(*args).parts
    return [part.row for part in parts if part.implementation == "opencl"]


@pytest.mark.parametrize(
    "function",
    [lambda x, n: F.pad(x, (n, n + 3)), lambda x, n: F.pad(x, (n, n + 2), mode="reflect")],
    ids=["constant", "reflect"],
)
def test_other_amounts_are_the_same_kernel(function, queue):
    x = normal(queue, 3, 100_000)  # fewer reflected elements are the host's on a CPU
    first, *others = [kernels_of(lambda x, n=n: function(x, n), x) for n in (4, 7, 9)]
    assert first
    assert all(other == first for other in others)


def test_other_rows_are_the_same_kernel(queue):
    index = sycl_dnn.asarray(np.array([3, 0, 2, 2]), sycl_queue=queue)
    names = [kernels_of(F.embedding, index, normal(queue, n, 24)) for n in (5, 70)]
    assert names[0] == names[1]


@pytest.mark.parametrize(
    "function",
    [
        lambda x, by: F.leaky_relu(x + by, by) / by,
        lambda x, by: F.sum(F.clamp(x * by, -by, by), 1),
        lambda x, by: F.max(x * by, 0)[0],
        lambda x, by: F.softmax(x / by, -1) * by,
        lambda x, by: F.cumsum(x * by, 1),
    ],
    ids=["leaky_relu", "sum", "max", "softmax", "cumsum"],
)
def test_other_scales_are_the_same_kernel(function, queue):
    x = normal(queue, 9, 50)
    first, *others = [kernels_of(lambda x, by=by: function(x, by), x) for by in (0.3, 0.7, 1e-3)]
    assert first
    assert all(other == first for other in others)


def test_means_of_other_sizes_are_the_same_kernel(queue):
    first, *others = [kernels_of(lambda x: F.mean(x, 1), normal(queue, 90, n)) for n in (196, 144)]
    assert first
    assert all(other == first for other in others)


def test_random_numbers_of_other_shapes_are_the_same_kernel(queue):
    names = set()
    for shape in ((40, 50, 6), (900, 70), (60_000,)):
        compiled = sycl_dnn.compile(lambda x: F.dropout(x, 0.5))
        names |= {part.row for part in compiled.explain(normal(queue, *shape)).parts}
    assert len(names) == 1


def number(value, dtype="int64"):
    return Term("number", dtype, (), (("value", value), ("dtype", dtype)))


def test_divisors_of_integers_and_large_numbers_stay_constants():
    """Division by a constant is a multiplication; launches pass 32 bits."""
    terms = (
        Term("iota", "int64", (), (("place", 0),)),
        number(6),
        Term("floor_divide", "int64", (0, 1), ()),
        number(-(1 << 40)),
        Term("maximum", "int64", (2, 3), ()),
        number(-5),
        Term("add", "int64", (4, 5), ()),
        number(0.5, "float32"),
        Term("add", "float32", (6, 7), ()),
    )
    result, passed = with_passed_numbers(Expression((), terms, (8,), (), 1))
    assert passed == (-5,)
    assert result.n_passed == 1
    assert [t for t, old in zip(result.terms, terms, strict=True) if t != old] == [
        Term("number", "int64", (), (("passed", 0),))
    ]


@pytest.mark.parametrize(
    ("value", "passed"),
    [(0.1, (0x3DCCCCCD,)), (1e-40, (71362,)), (0.5, ()), (-255.0, ()), (float("inf"), ())],
)
def test_floats_that_are_not_simple_are_passed_by_their_bits(value, passed):
    terms = (number(("hex", value.hex()), "float32"), Term("mul", "float32", (0, 1), ()))
    assert with_passed_numbers(Expression(("float32",), terms, (2,)))[1] == passed
