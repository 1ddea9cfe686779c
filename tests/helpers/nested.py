# SPDX-License-Identifier: Apache-2.0
"""Gradients of gradients, by this package, by torch in float64 and by finite differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import dpnp
import numpy as np
from nested_cases import Case

import sycl_dnn
from sycl_dnn import functional as F  # noqa: N812


def on_device(array: np.ndarray) -> dpnp.ndarray:
    """Return an array on the default queue, floats in float32."""
    kind = "float32" if array.dtype.kind == "f" else array.dtype
    return dpnp.asarray(array.astype(kind), sycl_queue=sycl_dnn.default_queue())


class Nested:
    """A case, and the random factors that reduce gradients to a single number."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.operands, self.more = case.arrays()
        self._given = [on_device(a) for a in self.operands]
        self._more = [on_device(a) for a in self.more]

    def function(self, *x: Any) -> Any:
        """Return the case's function of its operands."""
        return self.case.function(F, *x, *self._more)

    def factors(self, shapes: Sequence[tuple[int, ...]], seed: int = 1) -> list[np.ndarray]:
        """Return random numbers of these shapes."""
        rng = np.random.default_rng(seed)
        return [rng.uniform(-1, 1, s).astype("f4").astype("f8") for s in shapes]

    def shape(self) -> tuple[int, ...]:
        """Return the shape of the function's result."""
        return sycl_dnn.vjp(self.function, *self._given)[0].shape

    def slopes(self, order: int = 2) -> Callable[..., Any]:
        """Return the function of the operands that computes the gradient of this order."""
        (dy,) = self.factors([self.shape()])
        result: Callable[..., Any] = _weighted(self.function, on_device(dy))
        factors = [on_device(a) for a in self.factors([a.shape for a in self.operands], 2)]
        for _ in range(order - 1):
            result = _of_gradients(result, factors)
        return result

    def gradients(self, order: int = 2) -> list[np.ndarray]:
        """Return the gradients of this order by nested ``vjp``."""
        slopes = self.slopes(order)
        return [dpnp.asnumpy(g) for g in sycl_dnn.vjp(slopes, *self._given)[1](_one())]

    def compiled(self, order: int = 2) -> list[np.ndarray]:
        """Return the same from one compiled program."""
        slopes = self.slopes(order)
        run = sycl_dnn.compile(lambda *x: sycl_dnn.vjp(slopes, *x)[1](_one()))
        return [dpnp.asnumpy(g) for g in run(*self._given)]

    def by_torch(self, torch: Any, order: int = 2) -> list[np.ndarray]:
        """Return the same by torch in float64."""
        x = [torch.tensor(a, requires_grad=True) for a in self.operands]
        more = [torch.tensor(a) for a in self.more]
        y = self.case.function(_Torch(torch), *x, *more)
        value = (y * torch.tensor(self.factors([tuple(y.shape)])[0])).sum()
        factors = self.factors([a.shape for a in self.operands], 2)
        for _ in range(order - 1):
            grads = torch.autograd.grad(
                value, x, create_graph=True, allow_unused=True, materialize_grads=True
            )
            value = sum((g * torch.tensor(f)).sum() for g, f in zip(grads, factors, strict=True))
            if not value.requires_grad:
                return [np.zeros_like(a) for a in self.operands]
        grads = torch.autograd.grad(value, x, allow_unused=True, materialize_grads=True)
        return [g.numpy(force=True) for g in grads]

    def along(self, direction: list[np.ndarray], step: float) -> float:
        """Return the change of the first gradients along a direction, by finite differences."""
        slopes = self.slopes(1)
        factors = self.factors([a.shape for a in self.operands], 2)

        def value(at: float) -> float:
            x = [on_device(a + at * d) for a, d in zip(self.operands, direction, strict=True)]
            grads = sycl_dnn.vjp(slopes, *x)[1](_one())
            pairs = zip(grads, factors, strict=True)
            return sum(float((dpnp.asnumpy(g).astype("f8") * f).sum()) for g, f in pairs)

        return (value(step) - value(-step)) / (2 * step)


class _Torch:
    """torch.nn.functional, and torch for what that lacks, with the names of this package."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._own = {"bmm": torch.bmm, "max": torch.max, "maximum": torch.maximum}

    def __getattr__(self, name: str) -> Any:
        functional = self._torch.nn.functional
        return getattr(functional if hasattr(functional, name) else self._torch, name)


def _one() -> dpnp.ndarray:
    return on_device(np.ones(()))


def _weighted(function: Callable[..., Any], factor: dpnp.ndarray) -> Callable[..., Any]:
    return lambda *x: F.sum(F.mul(function(*x), factor))


def _of_gradients(function: Callable[..., Any], factors: list[Any]) -> Callable[..., Any]:
    """Return the sum of a function's gradients, each times its factors."""

    def value(*x: Any) -> Any:
        grads = sycl_dnn.vjp(function, *x)[1](_one())
        terms = [F.sum(F.mul(g, f)) for g, f in zip(grads, factors, strict=True)]
        total = terms[0]
        for term in terms[1:]:
            total = F.add(total, term)
        return total

    return value
