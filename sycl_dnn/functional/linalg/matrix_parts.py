# SPDX-License-Identifier: Apache-2.0
"""Shared parts of the functions of matrices: checks, recorded calls of dpnp, diagonals."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import dpnp
import numpy as np

from sycl_dnn.call.operation import SMOOTH, described_as_torch
from sycl_dnn.functional.arithmetic.binary import mul, sub
from sycl_dnn.functional.arithmetic.convert import converted
from sycl_dnn.functional.arithmetic.operands import check_arrays
from sycl_dnn.functional.complex_numbers.complex_parts import conj
from sycl_dnn.functional.linalg.host_matrices import function_of
from sycl_dnn.functional.onemkl import library
from sycl_dnn.functional.shape.arrangement import spread
from sycl_dnn.functional.shape.reshaping import transpose, unsqueeze
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace.pointwise import add
from sycl_dnn.trace.steps import Out, on_host_or
from sycl_dnn.trace.values import Tensor

_DTYPES = ("float32", "float64", "complex64", "complex128")
_ALLOWED = f"{', '.join(_DTYPES[:-1])} or {_DTYPES[-1]}"

_ERRORS = """A matrix that must be square is not, shapes do not match, or there is no such option.
dpnp.linalg.LinAlgError
    The matrix has no result, for example a singular one no inverse."""


def described(returns: str, notes: str = "") -> Any:
    """Return a decorator that completes the docstring of a function of matrices."""
    return described_as_torch(
        "linalg.", returns=returns, types=f"An argument is not an array of {_ALLOWED}.",
        errors=_ERRORS, notes=notes + SMOOTH,
    )  # fmt: skip


def checked(name: str, *, is_square: bool = False, **arguments: Any) -> None:
    """Raise unless arguments are matrices in batches, of a dtype that oneMKL factorizes."""
    check_arrays(name, **arguments)
    for argument, x in arguments.items():
        if str(x.dtype) not in _DTYPES:
            raise TypeError(f"{name}: {argument} must be {_ALLOWED}, got {x.dtype}")
        if x.ndim < 2:
            raise ValueError(f"{name}: {argument} must have at least 2 axes, got shape {x.shape}")
        if is_square and x.shape[-1] != x.shape[-2]:
            raise ValueError(f"{name}: {argument} must be square, got shape {x.shape}")


def is_hosted(trace: Any) -> bool:
    """Whether oneMKL computes in the arrays' memory; else dpnp submits several times a call."""
    return trace.is_on_cpu and library() is not None


def factorized(
    name: str, x: list[Tensor], shapes: Sequence[tuple[int, ...]],
    rule: Callable[..., dict[str, Tensor]], kinds: Sequence[str] | None = None, **options: Any,
) -> list[Tensor]:  # fmt: skip
    """Record a function of ``dpnp.linalg``, on CPUs that of ``numpy.linalg`` or of oneMKL.

    ``rule(results, grads)`` gets None for missing gradients. Results have the dtype of the first
    input, or ``kinds``.
    """

    def by_dpnp(*arrays: Any) -> Any:
        results = getattr(dpnp.linalg, name)(*arrays, **options)
        if isinstance(results, tuple):
            return tuple(map(dpnp.ascontiguousarray, results))
        return dpnp.ascontiguousarray(results)

    on_host = named_errors(name, functools.partial(function_of(name, x[0].shape), **options))
    call = on_host_or(by_dpnp, x[0].trace, name, on_host if is_hosted(x[0].trace) else None)
    kinds = kinds or [str(x[0].dtype)] * len(shapes)
    return recorded(call, x, [Out(*out) for out in zip(shapes, kinds, strict=True)], rule)


def named_errors(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of NumPy arrays that raises dpnp's errors, with a name."""

    def call(*arrays: np.ndarray) -> Any:
        try:
            return function(*arrays)
        except np.linalg.LinAlgError as error:
            raise dpnp.linalg.LinAlgError(f"{name}: {error}") from None

    return call


def recorded(
    call: Callable[..., Any], x: list[Tensor], outs: Sequence[Out],
    rule: Callable[..., dict[str, Tensor]],
) -> list[Tensor]:  # fmt: skip
    """Record a call over arrays, or ``OnHost``; ``rule`` as for ``factorized``."""

    def gradients(entry: Any, grads: Any) -> dict[str, Tensor]:
        numbers = [str(n) for n in range(len(outs))]
        return rule([entry.outputs[n] for n in numbers], [grads.get(n) for n in numbers])

    return x[0].trace.array_call(call, x, outs, gradients)


def turned(x: Tensor) -> Tensor:
    """Return the transposed matrices."""
    return transpose(x, -2, -1)


def total(parts: Sequence[Tensor]) -> Tensor:
    """Return the sum of tensors."""
    return functools.reduce(add, parts)


def columns_of(values: Tensor) -> Tensor:
    """Return values of columns as a matrix to multiply by."""
    return unsqueeze(values, -2)


def adjoint(x: Tensor) -> Tensor:
    """Return the transposed matrices, of conjugates if they are complex."""
    return conj(turned(x))


def skewed(x: Tensor) -> Tensor:
    """Return matrices minus their adjoints."""
    return sub(x, adjoint(x))


def identity(like: Tensor) -> Tensor:
    """Return identity matrices of a shape."""
    return converted(spread(_diagonal_of_ones(like), like.shape), str(like.dtype))


def diagonal_matrix(values: Tensor) -> Tensor:
    """Return matrices with diagonals."""
    return mul(columns_of(values), _diagonal_of_ones(values))


def _diagonal_of_ones(like: Tensor) -> Tensor:
    return like.trace.literal(np.eye(like.shape[-1]), dtypes.part_of(like.dtype))
