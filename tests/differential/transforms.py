# SPDX-License-Identifier: Apache-2.0
"""Transforms that users wrap around a loss; none changes the gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sycl_dnn
from sycl_dnn import functional as F

Loss = Callable[[Any, Any], Any]


@sycl_dnn.custom_vjp
def _same(values: Any) -> Any:
    return values


_same.defvjp(lambda values: (values, None), lambda _, dy: (dy,))


@sycl_dnn.custom_vjp
def _doubled(values: Any) -> Any:
    return sycl_dnn.tree.map(lambda v: v * 2, values)


_doubled.defvjp(
    lambda values: (sycl_dnn.tree.map(lambda v: v * 2, values), values),
    lambda values, dy: (sycl_dnn.tree.map(lambda g, v: g * 2 + v * 0, dy, values),),
)


def _twice_checkpointed(loss: Loss) -> Loss:
    inner = sycl_dnn.checkpoint(loss)
    return sycl_dnn.checkpoint(lambda f, o: inner(_same(f), o))  # type: ignore[no-any-return]


def _inside_out(loss: Loss) -> Loss:
    """The value is that of an inner gradient's call."""
    return lambda f, o: sycl_dnn.value_and_grad(loss)(f, o)[0]


def _with_an_inner_gradient(loss: Loss) -> Loss:
    def whole(f: Any, o: Any) -> Any:
        value, grads = sycl_dnn.value_and_grad(loss)(f, o)
        kept = sycl_dnn.tree.map(lambda g: F.sum(sycl_dnn.stop_gradient(g)), grads)
        return value + sum(kept.values()) - sum(kept.values())

    return whole


def _written(loss: Loss) -> Loss:
    """Operators that would write in place."""

    def whole(f: Any, o: Any) -> Any:
        f = {name: x * 1.0 for name, x in f.items()}  # arguments with gradients are not written
        for name in f:
            f[name] *= 2.0
            f[name] /= 2.0
        value = loss(f, o)
        value += 1.0
        value -= 1.0
        return value

    return whole


def _branching(loss: Loss) -> Loss:
    """Python that depends on a value."""

    def whole(f: Any, o: Any) -> Any:
        value = loss(f, o)
        if float(value) > 0:
            return value * 1.0
        return value + 0.0

    return whole


def _without_gradient_first(loss: Loss) -> Loss:
    def whole(f: Any, o: Any) -> Any:
        with sycl_dnn.no_grad():
            before = loss(f, o)
        return loss(f, o) + (before - before)

    return whole


def _pushed_forward(loss: Loss) -> Loss:
    """A derivative along a tangent; its gradient by the tangent is that of the loss."""

    def whole(f: Any, o: Any) -> Any:
        point = sycl_dnn.tree.map(sycl_dnn.stop_gradient, f)
        value, along = sycl_dnn.jvp(lambda f: loss(f, o), (point,), (f,))
        return along + sycl_dnn.stop_gradient(value - along)

    return whole


#: By name; those of ``EAGER`` read values, which ``compile`` refuses.
TRANSFORMS: dict[str, Callable[[Loss], Loss]] = {
    "checkpoint": sycl_dnn.checkpoint,
    "checkpoint twice": _twice_checkpointed,
    "rule": lambda loss: lambda f, o: loss(_same(f), o),
    "rule with residuals": lambda loss: (
        lambda f, o: loss(_doubled(sycl_dnn.tree.map(lambda v: v * 0.5, f)), o)
    ),
    "inner": _inside_out,
    "inner constant": _with_an_inner_gradient,
    "compile inside": sycl_dnn.compile,
    "written": _written,
    "no_grad": _without_gradient_first,
    "branch": _branching,
    "jvp": _pushed_forward,
}
EAGER = ("branch",)
