# SPDX-License-Identifier: Apache-2.0
"""Random arrays: rand, randn, randint, randperm, bernoulli, multinomial and ``*_like``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dpnp
import numpy as np

from sycl_dnn.call.operation import named
from sycl_dnn.device import default_queue
from sycl_dnn.functional.activation.dropout import NextSeed, generator, next_seed
from sycl_dnn.functional.arithmetic.binary import mul, sub
from sycl_dnn.functional.arithmetic.comparison import clamp, lt
from sycl_dnn.functional.arithmetic.convert import asarray, astype, constant_call, converted
from sycl_dnn.functional.arithmetic.elementwise import log, neg
from sycl_dnn.functional.complex_numbers.complex_parts import view_as_complex
from sycl_dnn.functional.creation.factories import LIKE, check_place, documented, shape_of
from sycl_dnn.functional.index.ordering import topk
from sycl_dnn.functional.reduction.extremes import argmax
from sycl_dnn.functional.shape.arrangement import broadcast_to
from sycl_dnn.functional.shape.reshaping import checked_int, unsqueeze
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace.captured_inputs import of_this_call
from sycl_dnn.trace.module_arrays import in_manner
from sycl_dnn.trace.trace_state import running_trace
from sycl_dnn.trace.values import Tensor

if TYPE_CHECKING:
    from sycl_dnn.trace.array import Array

#: Random bits per number in [0, 1) of a narrow dtype: more would round up to 1.
_BITS = {"bfloat16": 8, "float16": 11}


class _Draw:
    """Draws random numbers on the queue of a call, from a seed."""

    takes_queue = True

    def __init__(self, shape: tuple[int, ...], dtype: str, is_normal: bool) -> None:
        self._shape = shape
        self._dtype = dtype
        self._is_normal = is_normal
        self.__qualname__ = "randn" if is_normal else "rand"

    def __call__(self, seed: int, queue: Any) -> Any:
        wide = dtypes.wide(self._dtype)
        if 0 in self._shape:
            return dpnp.zeros(self._shape, dtype=wide, sycl_queue=queue)
        state = generator(seed, queue)
        # oneMKL rounds up to the bound, about once in 2**25 numbers.
        one = 1.0 if self._is_normal else float(np.nextafter(np.ones((), wide), 0))
        draw = state.normal if self._is_normal else state.uniform
        result = draw(0.0, one, size=self._shape or (1,), dtype=getattr(dpnp, wide))
        bits = None if self._is_normal else _BITS.get(self._dtype)
        result = result if bits is None else dpnp.floor(result * 2**bits) / 2**bits
        return result.reshape(self._shape)


def _drawn(name: str, shape: tuple[int, ...], dtype: Any, trace: Any, queue: Any) -> Any:
    dtype = dtypes.name_of(dtype)
    if dtypes.is_complex(dtype):
        pairs = _drawn(name, (*shape, 2), dtypes.part_of(dtype), trace, queue)
        # The variance of both parts together is 1.
        return view_as_complex(mul(pairs, 0.5**0.5) if name.startswith("randn") else pairs)
    if not dtypes.is_float(dtype):
        raise TypeError(f"{name}: dtype must be floating-point, got {dtype}")
    draw = _Draw(shape, dtype, name.startswith("randn"))
    if trace is None:
        result = draw(next_seed(), queue)
        return in_manner(result if result.dtype == dtype else asarray(result, dtype))
    return _recorded(trace, draw, shape, dtypes.wide(dtype), dtype)


def _recorded(trace: Any, draw: Any, shape: tuple[int, ...], drawn_dtype: str, dtype: str) -> Any:
    # A trace keeps the seed object, which is evaluated in every call.
    seed = trace.capture(NextSeed())
    return converted(constant_call(trace, draw, [seed], shape, drawn_dtype), dtype)


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
    if whole is not None:  # samples of ``vmap`` have numbers of their own
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


class _Integers:
    """Draws integers in [low, high) on the queue of a call, from a seed."""

    takes_queue = True

    def __init__(self, shape: tuple[int, ...], low: int, high: int) -> None:
        self._shape, self._low, self._range = shape, low, high - low
        self.__qualname__ = "randint"

    def __call__(self, seed: int, queue: Any) -> Any:
        if 0 in self._shape:
            return dpnp.zeros(self._shape, dtype="int64", sycl_queue=queue)
        state = generator(seed, queue)
        high, low = (state.uniform(0.0, 1.0, size=self._shape or (1,), dtype=dpnp.float32)
                     for _ in range(2))  # fmt: skip
        # 48 bits from two draws, so that every integer of a large range can occur.
        bits = dpnp.floor(high * 2.0**24).astype("int64") * 2**24
        bits = bits + dpnp.floor(low * 2.0**24).astype("int64")
        return (self._low + bits % self._range).reshape(self._shape)


class _Permutation:
    """Draws a permutation of n on the queue of a call, from a seed."""

    takes_queue = True

    def __init__(self, n: int) -> None:
        self._draw = _Integers((n,), 0, 2**48)
        self.__qualname__ = "randperm"

    def __call__(self, seed: int, queue: Any) -> Any:
        return dpnp.argsort(self._draw(seed, queue)).astype("int64")


def _of_integers(name: str, draw: Any, shape: tuple[int, ...], dtype: Any, device: Any) -> Any:
    dtype, trace = dtypes.name_of(dtype or "int64"), running_trace()
    if trace is None:
        integers = draw(next_seed(), default_queue(device))
        return in_manner(integers if dtype == "int64" else asarray(integers, dtype))
    check_place(name, trace, device)
    return _recorded(trace, draw, shape, "int64", dtype)


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
    return _of_integers("randint", _Integers(shape, first, last), shape, dtype, device)


@documented(dtype="int64 by default", returns="array (n,)", notes=_NOTES)
def randperm(n: int, *, dtype: Any = None, device: Any = None) -> dpnp.ndarray | Array:
    """Return a random permutation of the integers below ``n``.

    Parameters
    ----------
    n : int
    """
    count = checked_int("randperm", "n", n, 0)
    return _of_integers("randperm", _Permutation(count), (count,), dtype, device)


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
