# SPDX-License-Identifier: Apache-2.0
"""Gradients that torch.export does not record: ``autograd.Function`` and hooks.

An export has what a function computes, and its gradient is that of these operators. Where
``backward`` differs from it, a reversed or a straight-through gradient would be lost.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any
from unittest import mock

import torch
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils.checkpoint import CheckpointFunction

#: Every ``apply`` ends in that of this class, also one that was bound before.
_Function: Any = torch.autograd.function._SingleLevelFunction


@contextlib.contextmanager
def recorded(mark: Any) -> Iterator[None]:
    """Export results of functions with gradients of their own through ``mark(tensor, name)``.

    Raises
    ------
    RuntimeError
        A hook is added to a tensor: on call, at the line that does it.
    """

    def marked(cls: Any, *args: Any, **kwargs: Any) -> Any:
        if cls is CheckpointFunction:  # computes again in its backward what it has computed
            return args[0](*args[2:])
        result = super(_Function, cls).apply(*args, **kwargs)
        if cls.__module__.startswith("torch.") or _is_derivative(cls, args, kwargs):
            return result
        outputs = result if isinstance(result, tuple) else (result,)
        name = f"torch.autograd.Function {cls.__qualname__}"
        outputs = tuple(
            mark(v, name) if isinstance(v, torch.Tensor) and v.is_floating_point() else v
            for v in outputs
        )
        return outputs if isinstance(result, tuple) else outputs[0]

    def refused(*_: Any) -> Any:
        raise RuntimeError("hooks of tensors are not exported, so what they do is lost")

    with (
        mock.patch.object(_Function, "apply", classmethod(marked)),
        mock.patch.object(torch.Tensor, "register_hook", refused),
    ):
        yield


def check_hooks(module: Any) -> None:
    """Refuse hooks of gradients, which have no meaning outside of torch."""
    hooked = [
        f"parameter {name}" for name, p in module.named_parameters()
        if p._backward_hooks or getattr(p, "_post_accumulate_grad_hooks", None)
    ] + [
        f"module {name or type(part).__name__}" for name, part in module.named_modules()
        if part._backward_hooks or part._backward_pre_hooks
    ]  # fmt: skip
    if hooked:
        raise NotImplementedError(
            f"from_torch: the {hooked[0]} must have no hooks of its gradient; they would be lost"
        )


def _is_derivative(cls: Any, args: Any, kwargs: dict[str, Any]) -> bool:
    """Whether ``backward`` gives the derivative of ``forward``, for random arguments."""
    with _disable_current_modes(), torch.enable_grad(), torch.random.fork_rng():
        torch.manual_seed(0)
        try:
            given = [_random(v) for v in args]
            leaves = [v for v in given if isinstance(v, torch.Tensor) and v.requires_grad]
            own = _gradients(super(_Function, cls).apply(*_copies(given), **kwargs), leaves)
            is_split = cls.setup_context is not torch.autograd.Function.setup_context
            context = () if is_split else (mock.MagicMock(),)
            derivative = _gradients(cls.forward(*context, *_copies(given), **kwargs), leaves)
        except Exception:  # of the user's code, which may expect other values
            return False
    return all(
        a is b or None not in (a, b) and torch.allclose(a, b, rtol=1e-3, atol=1e-5)
        for a, b in zip(own, derivative, strict=True)
    )


def _copies(values: list[Any]) -> list[Any]:
    """Return arguments that may be written to."""
    return [v.clone() if isinstance(v, torch.Tensor) else v for v in values]


def _random(value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    sizes = [s if isinstance(s, int) else s.node.hint for s in value.shape]
    if not value.is_floating_point():
        return torch.randint(2, sizes).to(value.dtype)
    return torch.randn(sizes).to(value.dtype).requires_grad_()


def _gradients(result: Any, leaves: list[Any]) -> Any:
    outputs = [v for v in (result if isinstance(result, tuple) else (result,))
               if isinstance(v, torch.Tensor) and v.requires_grad]  # fmt: skip
    generator = torch.Generator().manual_seed(0)
    seeds = [torch.randn(v.shape, generator=generator).to(v.dtype) for v in outputs]
    return torch.autograd.grad(outputs, leaves, seeds, allow_unused=True)
