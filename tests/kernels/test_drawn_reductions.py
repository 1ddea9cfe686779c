# SPDX-License-Identifier: Apache-2.0
"""Drawn functions of several reductions, over arrays around the size of a cache, as NumPy's."""

import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F

#: Shapes and the reduced axis: just below and beyond a cache; rows that are no multiple of a block
#: nor of groups, columns that are none of vectors; several spans, kept axes outside; rows.
SHAPES = [
    ((509, 514), 0), ((513, 512), 0), ((601, 437), 0), ((1999, 133), 0), ((131, 2049), 0),
    ((3, 257, 353), 1), ((263, 1009), 1), ((5, 131, 409), 0),
]  # fmt: skip


class Library:
    """What the drawn functions call: this package's functions."""

    def __init__(self, axis):
        self.axis = axis

    def operand(self, kind, x, row, column):
        return {
            "x": lambda: x, "abs": lambda: F.abs(x), "shifted": lambda: x + row,
            "scaled": lambda: x * column, "squashed": lambda: F.sigmoid(x - column),
            "centered": lambda: x - F.mean(x, self.axis, keepdim=True),
            "bounded": lambda: x / (1.0 + F.amax(F.abs(x), self.axis, keepdim=True)),
        }[kind]()  # fmt: skip

    def reduced(self, kind, v, keepdim):
        if kind in ("any", "all"):
            return getattr(F, kind)(v > (1.5 if kind == "any" else -3.0), self.axis, keepdim)
        return getattr(F, kind)(v, self.axis, keepdim=keepdim)


class Reference(Library):
    """The same in float64."""

    def operand(self, kind, x, row, column):
        return {
            "x": lambda: x, "abs": lambda: abs(x), "shifted": lambda: x + row,
            "scaled": lambda: x * column, "squashed": lambda: 1 / (1 + np.exp(column - x)),
            "centered": lambda: x - x.mean(self.axis, keepdims=True),
            "bounded": lambda: x / (1 + abs(x).max(self.axis, keepdims=True)),
        }[kind]()  # fmt: skip

    def reduced(self, kind, v, keepdim):
        if kind in ("any", "all"):
            v = v > (1.5 if kind == "any" else -3.0)
        if kind == "logsumexp":
            return np.log(np.exp(v).sum(self.axis, keepdims=keepdim))
        more = {"ddof": 1} if kind == "var" else {}
        name = {"amax": "max", "amin": "min"}.get(kind, kind)
        return getattr(np, name)(v, self.axis, keepdims=keepdim, **more)


OPERANDS = ("x", "x", "abs", "shifted", "scaled", "squashed", "centered", "bounded")
KINDS = ("sum", "mean", "var", "amax", "amin", "logsumexp", "argmax", "argmin", "any", "all")


def drawn(rng):
    """Return a function of a library and its operands: several reductions, some of others."""
    plan = [(rng.choice(OPERANDS), rng.choice(KINDS), bool(rng.integers(2)))
            for _ in range(rng.integers(2, 7))]  # fmt: skip
    again = rng.choice(("sum", "amax"))

    def function(library, *operands):
        results = [library.reduced(kind, library.operand(name, *operands), keepdim)
                   for name, kind, keepdim in plan]  # fmt: skip
        least = library.reduced("amin", operands[0], True)
        return [*results, library.reduced(again, operands[0] - least, False)]

    return function, [*[(name, kind) for name, kind, _ in plan], ("x", str(again))]


def assert_close(actual, expected, kind, operand, axis, eps):
    """Compare; for indices, compare the values there, since rounding may decide between two."""
    if kind in ("argmax", "argmin"):
        actual, expected = (
            np.take_along_axis(operand, at.reshape(np.expand_dims(at, axis).shape
                               if at.ndim < operand.ndim else at.shape), axis)
            for at in (actual, expected)
        )  # fmt: skip
    if kind in ("any", "all"):
        np.testing.assert_array_equal(actual, expected)
        return
    scale = operand.shape[axis] ** 0.75 if kind == "sum" else 1
    np.testing.assert_allclose(actual, expected, rtol=8 * eps, atol=8 * eps * scale)


@pytest.mark.parametrize("seed", range(32))
@pytest.mark.sweep(4)
def test_drawn_functions(seed, on_queue):
    rng = np.random.default_rng(seed)
    shape, axis = SHAPES[seed % len(SHAPES)]
    dtype = "bfloat16" if seed % 3 == 2 else "float32"
    function, names = drawn(rng)
    given = [rng.standard_normal(s).astype("f4")
             for s in (shape, shape[-1:], (*shape[:-1], 1))]  # fmt: skip
    if seed % 4 == 1:
        given[0].reshape(-1)[rng.integers(given[0].size, size=9)] = np.nan
    arrays = [F.astype(on_queue(v), dtype) for v in given]
    x, row, column = (F.astype(v, "float32").asnumpy().astype("f8") for v in arrays)
    reference = Reference(axis)
    with np.errstate(invalid="ignore"):
        expected = function(reference, x, row, column)
        operands = [reference.operand(name, x, row, column) for name, _ in names]
    library, eps = Library(axis), 8e-3 if dtype == "bfloat16" else 2e-6
    compiled = [sycl_dnn.compile(lambda *a: function(library, *a), passes={"fuse_kernels": on})
                for on in (True, False)]  # fmt: skip
    for call in (lambda *a: function(library, *a), *compiled):
        for y, e, (_, kind), v in zip(call(*arrays), expected, names, operands, strict=True):
            y = y if kind in ("any", "all", "argmax", "argmin") else F.astype(y, "float32")
            assert y.shape == e.shape
            assert_close(y.asnumpy(), e, kind, v, axis, eps)
