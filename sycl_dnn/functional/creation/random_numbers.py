# SPDX-License-Identifier: Apache-2.0
"""Random arrays: rand, randn, randint, randperm, bernoulli, multinomial and ``*_like``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dpnp

from sycl_dnn.call.operation import named, operation
from sycl_dnn.device import default_queue
from sycl_dnn.functional.activation.dropout import NextSeed, next_seed
from sycl_dnn.functional.arithmetic.binary import mul, sub
from sycl_dnn.functional.arithmetic.comparison import clamp, lt
from sycl_dnn.functional.arithmetic.convert import astype
from sycl_dnn.functional.arithmetic.elementwise import log, neg
from sycl_dnn.functional.complex_numbers.complex_parts import view_as_complex
from sycl_dnn.functional.creation.factories import (
    LIKE,
    check_place,
    documented,
    place_of,
    shape_of,
)
from sycl_dnn.functional.index.ordering import argsort, topk
from sycl_dnn.functional.reduction.extremes import argmax
from sycl_dnn.functional.shape.arrangement import broadcast_to
from sycl_dnn.functional.shape.reshaping import checked_int, unsqueeze
from sycl_dnn.lower.node_lowering import computed
from sycl_dnn.onednn import dtypes
from sycl_dnn.ops.random_bits import integers, normal, uniform
from sycl_dnn.trace.captured_inputs import of_this_call
from sycl_dnn.trace.frozen import Seed
from sycl_dnn.trace.module_arrays import in_manner
from sycl_dnn.trace.trace_state import running_trace
from sycl_dnn.trace.values import Tensor

if TYPE_CHECKING:
    from sycl_dnn.trace.array import Array


#: By name: calls with functions as arguments are not repeated without Python.
_DRAWS: dict[str, Any] = {"normal": normal, "uniform": uniform, "integers": integers}


@operation
def _drawn_from(seed, shape, draw, values):
    return computed(lambda node: _DRAWS[draw](node, shape, *values), seed)


@operation
def _drawn_on(place, seed, shape, draw, values, dtype):
    return astype(_drawn_from(seed, shape, draw, values), dtype)


def _recorded(
    name: str, trace: Any, queue: Any, shape: tuple[int, ...], draw: str, values: Any, dtype: str
) -> Any:
    """Draw numbers from the next seed and convert them, or record that every call does."""
    if trace is not None:
        # A trace keeps the seed object, which is evaluated in every call.
        return astype(_drawn_from(trace.capture(NextSeed()), shape, draw, values), dtype)
    place = place_of(name, shape, queue)
    return _drawn_on(place, Seed(next_seed()), shape, draw, values, dtype)


def _drawn(name: str, shape: tuple[int, ...], dtype: Any, trace: Any, queue: Any) -> Any:
    dtype = dtypes.name_of(dtype)
    if dtypes.is_complex(dtype):
        pairs = _drawn(name, (*shape, 2), dtypes.part_of(dtype), trace, queue)
        # The variance of both parts together is 1.
        return view_as_complex(mul(pairs, 0.5**0.5) if name.startswith("randn") else pairs)
    if not dtypes.is_float(dtype):
        raise TypeError(f"{name}: dtype must be floating-point, got {dtype}")
    draw = "normal" if name.startswith("randn") else "uniform"
    return _recorded(name, trace, queue, shape, draw, (dtype,), dtype)


def _new(name: str, size: tuple[Any, ...], dtype: Any, device: Any) -> Any:
    trace, shape = running_trace(), shape_of(name, size)
    if trace is not None:
        check_place(name, trace, device)
    queue = default_queue(device) if trace is None else None
    return _drawn(name, shape, dtype or "float32", trace, queue)


_NOTES = "Its seed is the\nnext one of the sequence that ``manual_seed`` starts. "


@documented(dtype="float32 by default", returns="array (*size)", notes=_NOTES)
def rand(*size: Any, dtype: Any = None, device: Any = None) -> dpnp.ndarray | Array:
    """Return random numbers, uniformly distributed over [0, 1).

    Parameters
    ----------
    *size : ints, or a sequence of int
        Also accepted by keyword: ``size=(2, 3)``.
    """
    return _new("rand", size, dtype, device)


@documented(dtype="float32 by default", returns="array (*size)", notes=_NOTES)
def randn(*size: Any, dtype: Any = None, device: Any = None) -> dpnp.ndarray | Array:
    """Return random numbers from the standard normal distribution.

    Parameters
    ----------
    *size : ints, or a sequence of int
        Also accepted by keyword: ``size=(2, 3)``.
    """
    return _new("randn", size, dtype, device)


def _like(name: str, input: Any, dtype: Any) -> Any:
    if not hasattr(input, "dtype") or not hasattr(input, "sycl_queue"):
        raise TypeError(f"{name}: input must be an array, got {type(input).__name__}")
    input = of_this_call(input)
    whole = getattr(input, "whole", None)
    if whole is not None:  # each sample of ``vmap`` has its own numbers
        return input.trace.wrapped(_like(name, whole, dtype))
    kind = dtypes.name_of(input.dtype) if dtype is None else dtype
    trace = input.trace if isinstance(input, Tensor) else None
    queue = None if trace is not None else input.sycl_queue
    return _drawn(name, tuple(input.shape), kind, trace, queue)


def _likeness(name: str, distribution: str) -> Any:
    def call(input: dpnp.ndarray | Array, *, dtype: Any = None) -> dpnp.ndarray | Array:
        return _like(name, input, dtype)

    doc = LIKE.format(
        name=name,
        what=f"random numbers {distribution}",
        whose="an array",
        value="",
        error="The dtype is not floating point, or ``input`` is not an array",
        notes="Each call draws the next seed of the generator that ``manual_seed`` seeds.\n",
    )
    return named(call, name, doc)


rand_like = _likeness("rand_like", "uniformly distributed over [0, 1)")
randn_like = _likeness("randn_like", "of the standard normal distribution")


# --- randint, randperm, bernoulli


def _of_integers(name: str, shape: Any, first: int, n: int, dtype: Any, device: Any) -> Any:
    dtype, trace = dtypes.name_of(dtype or "int64"), running_trace()
    if trace is not None:
        check_place(name, trace, device)
    queue = default_queue(device) if trace is None else None
    return _recorded(name, trace, queue, shape, "integers", (first, n), dtype)


_RAISES = "ValueError\n    The range is empty, or a size is negative."


@documented(dtype="int64 by default", returns="array (*size)", notes=_NOTES, raises=_RAISES)
def randint(
    low: int, high: Any = None, size: Any = None, *, dtype: Any = None, device: Any = None
) -> dpnp.ndarray | Array:
    """Return random integers from ``low`` to ``high``, excluding ``high``.

    Parameters
    ----------
    low : int
        If it is the only bound, it is ``high``, and ``low`` is 0.
    high : int
    size : sequence of int
    """
    if size is None:
        low, high, size = 0, low, high
    elif high is None:
        low, high = 0, low
    first, last = checked_int("randint", "low", low), checked_int("randint", "high", high)
    if not 0 < last - first <= 2**48:
        raise ValueError(f"randint: high must be 1 to 2**48 more than low, got {first} and {last}")
    shape = shape_of("randint", (size,))
    return _of_integers("randint", shape, first, last - first, dtype, device)


@documented(dtype="int64 by default", returns="array (n,)", notes=_NOTES)
def randperm(n: int, *, dtype: Any = None, device: Any = None) -> dpnp.ndarray | Array:
    """Return a random permutation of the integers below ``n``.

    Parameters
    ----------
    n : int
    """
    count = checked_int("randperm", "n", n, 0)
    keys = _of_integers("randperm", (count,), 0, 2**48, "int64", device)
    return in_manner(astype(argsort(keys), dtypes.name_of(dtype or "int64")))


def bernoulli(input: dpnp.ndarray | Array) -> dpnp.ndarray | Array:
    """Draw 0 or 1; the elements of an array are the probabilities of 1.

    Parameters
    ----------
    input : array (*)
        Probabilities, floating point.

    Returns
    -------
    array (*)
        Same dtype; not differentiable.

    Raises
    ------
    TypeError
        The dtype is not floating point, or ``input`` is not an array.

    Notes
    -----
    Each call draws the next seed of the generator that ``manual_seed`` seeds. Source:
    ``torch.bernoulli``.
    """
    uniform = _like("bernoulli", input, "float32")
    if not dtypes.is_float(dtypes.name_of(input.dtype)):
        raise TypeError(f"bernoulli: input must be floating-point, got {input.dtype}")
    return in_manner(astype(lt(uniform, astype(input, "float32")), input.dtype))


def multinomial(
    input: dpnp.ndarray | Array, num_samples: int, replacement: bool = False
) -> dpnp.ndarray | Array:
    """Draw indices from rows of probabilities, which need not add up to 1.

    Parameters
    ----------
    input : array (n,) or (m, n)
        Not negative, floating point.
    num_samples : int
    replacement : bool
        Whether an index may be drawn again.

    Returns
    -------
    array (num_samples,) or (m, num_samples) of int64

    Raises
    ------
    TypeError
        The dtype is not floating point, or ``input`` is not an array.
    ValueError
        ``input`` has other axes or no elements, ``num_samples`` is less than 1, or larger than n
        without replacement.

    Notes
    -----
    Each call draws the next seed of the generator that ``manual_seed`` seeds. Probabilities are not
    read by the host: if fewer are positive than are drawn, others are drawn, too. Source:
    ``torch.multinomial``.
    """
    name = "multinomial"
    count = checked_int(name, "num_samples", num_samples, 1)
    if not hasattr(input, "shape"):
        raise TypeError(f"{name}: input must be an array, got {type(input).__name__}")
    if input.ndim not in (1, 2) or not input.shape[-1]:
        raise ValueError(f"{name}: input must have 1 or 2 axes, with elements, got {input.shape}")
    if count > input.shape[-1] and not replacement:
        raise ValueError(
            f"{name}: num_samples must be at most {input.shape[-1]} without replacement, got "
            f"{count}"
        )
    if not dtypes.is_float(dtypes.name_of(input.dtype)):
        raise TypeError(f"{name}: input must be floating-point, got {input.dtype}")
    scores = log(astype(input, "float32"))
    if replacement:
        shape = (*input.shape[:-1], count, input.shape[-1])
        scores = broadcast_to(unsqueeze(scores, -2), shape)
    # The largest sum with noise of the Gumbel distribution; uniform numbers are never 0.
    uniform = clamp(_like(name, scores, "float32"), 2.0**-25)
    noisy = sub(scores, log(neg(log(uniform))))
    return in_manner(argmax(noisy, -1) if replacement else topk(noisy, count, -1)[1])
