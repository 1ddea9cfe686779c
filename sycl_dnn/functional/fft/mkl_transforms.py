# SPDX-License-Identifier: Apache-2.0
"""Transforms in the memory of a CPU's arrays by oneMKL's C interface (DFTI).

dpnp prepares each transform anew: 0.4 to 2 ms, also for eight numbers. Here a prepared one is kept.
``numpy.fft`` takes two to ten times as long to compute.
"""

from __future__ import annotations

import ctypes
import functools
import math
from collections.abc import Sequence
from ctypes import c_double, c_int, c_long, c_void_p
from typing import Any, NamedTuple

import numpy as np

from sycl_dnn.errors import Unimplemented
from sycl_dnn.functional.onemkl import library

# Names and values of mkl_dfti.h.
_FORWARD_SCALE, _BACKWARD_SCALE, _NUMBER_OF_TRANSFORMS = 4, 5, 7
_CONJUGATE_EVEN_STORAGE, _PLACEMENT = 10, 11
_INPUT_STRIDES, _OUTPUT_STRIDES, _INPUT_DISTANCE, _OUTPUT_DISTANCE = 12, 13, 14, 15
_COMPLEX, _REAL, _SINGLE, _DOUBLE, _COMPLEX_COMPLEX, _NOT_INPLACE = 32, 33, 35, 36, 39, 44

#: Calls above which an array is copied to one that needs a single call.
_MOST_CALLS = 64
#: Axes that one transform can have.
_MOST_AXES = 7


class _Batch(NamedTuple):
    """Transforms, or calls, at constant distances, in elements of both arrays."""

    n: int
    source: int
    target: int


class _Form(NamedTuple):
    """What oneMKL prepares: a batch of transforms between arrays with these strides."""

    is_double: bool
    is_real: bool
    sizes: tuple[int, ...]
    sources: tuple[int, ...]
    targets: tuple[int, ...]
    batch: _Batch
    scale: float


class _Prepared:
    """A descriptor of oneMKL, which threads may share."""

    def __init__(self, form: _Form) -> None:
        self._library: Any = library()
        self._handle = c_void_p()
        n, domain = len(form.sizes), _REAL if form.is_real else _COMPLEX
        sizes = (c_long * n)(*form.sizes)
        precision = _DOUBLE if form.is_double else _SINGLE
        self._call("DftiCreateDescriptor", ctypes.byref(self._handle), precision, domain,
                   c_long(n), sizes if n > 1 else sizes[0])  # fmt: skip
        strides = c_long * (n + 1)
        values = {
            _PLACEMENT: c_int(_NOT_INPLACE),
            _NUMBER_OF_TRANSFORMS: c_long(form.batch.n),
            _INPUT_STRIDES: strides(0, *form.sources), _INPUT_DISTANCE: c_long(form.batch.source),
            _OUTPUT_STRIDES: strides(0, *form.targets), _OUTPUT_DISTANCE: c_long(form.batch.target),
            _FORWARD_SCALE: c_double(form.scale), _BACKWARD_SCALE: c_double(form.scale),
        }  # fmt: skip
        if form.is_real:
            values[_CONJUGATE_EVEN_STORAGE] = c_int(_COMPLEX_COMPLEX)
        for parameter, value in values.items():
            self._call("DftiSetValue", self._handle, parameter, value)
        self._call("DftiCommitDescriptor", self._handle)

    def __del__(self) -> None:
        if self._handle:
            self._library.DftiFreeDescriptor(ctypes.byref(self._handle))

    def _call(self, name: str, *arguments: Any) -> None:
        status = getattr(self._library, name)(*arguments)
        if status:
            raise Unimplemented(f"fft: oneMKL's {name} failed with status {status}")

    def compute(self, is_inverse: bool, source: int, target: int) -> None:
        """Transform between addresses."""
        name = "DftiComputeBackward" if is_inverse else "DftiComputeForward"
        self._call(name, self._handle, c_void_p(source), c_void_p(target))


#: Large ones hold tables of as many numbers as they transform.
_prepared = functools.lru_cache(maxsize=32)(_Prepared)


def _strides(shape: Sequence[int]) -> list[int]:
    """Return those of a row-major array, in elements."""
    return [math.prod(shape[a + 1 :]) for a in range(len(shape))]


def _loops(source: Sequence[int], target: Sequence[int], axes: Sequence[int]) -> list[_Batch]:
    """Return the loops over all other axes of two shapes, the longest one last."""
    loops: list[_Batch] = []
    rows = list(map(_Batch._make, zip(source, _strides(source), _strides(target), strict=True)))
    for row in [rows[a] for a in reversed(range(len(rows))) if a not in axes]:
        last = loops[-1] if loops else None
        if last and row[1:] == (last.n * last.source, last.n * last.target):
            loops[-1] = last._replace(n=last.n * row.n)
        elif row.n > 1:
            loops.append(row)
    return sorted(loops, key=lambda loop: loop.n)


class _Calls(NamedTuple):
    """A prepared transform, and the bytes between its calls and the first one in both arrays."""

    transform: _Prepared
    starts: list[tuple[int, int]]


@functools.lru_cache(maxsize=256)
def _calls(
    source: tuple[int, ...], target: tuple[int, ...], types: tuple[str, str],
    axes: tuple[int, ...], scale: float,
) -> _Calls | None:  # fmt: skip
    """Return what transforms an array of one shape and type to another; None if not few calls."""
    *loops, batch = _loops(source, target, axes) or [_Batch(1, 0, 0)]
    if math.prod(loop.n for loop in loops) > _MOST_CALLS:
        return None
    dtypes = [np.dtype(t) for t in types]
    is_real = dtypes[0].kind != dtypes[1].kind
    whole = source if dtypes[0].kind == "f" else target
    of_source, of_target = _strides(source), _strides(target)
    form = _Form(
        np.finfo(dtypes[0]).bits == 64, is_real, tuple(whole[a] for a in axes),
        tuple(of_source[a] for a in axes), tuple(of_target[a] for a in axes), batch, scale,
    )  # fmt: skip
    indices = list(np.ndindex(*(loop.n for loop in loops)))
    starts = [
        (sum(i * loop.source for i, loop in zip(index, loops, strict=True)) * dtypes[0].itemsize,
         sum(i * loop.target for i, loop in zip(index, loops, strict=True)) * dtypes[1].itemsize)
        for index in indices
    ]  # fmt: skip
    return _Calls(_prepared(form), starts)


def transform(
    x: np.ndarray, target: np.ndarray, axes: tuple[int, ...], is_inverse: bool, scale: float
) -> None:
    """Write the transform along axes to a row-major array.

    Between real and complex numbers the last one of ``axes`` is halved.
    """
    if len(axes) > _MOST_AXES:
        part = np.empty_like(target)
        transform(x, part, axes[_MOST_AXES:], is_inverse, 1.0)
        x, axes = part, axes[:_MOST_AXES]
    source = np.ascontiguousarray(x)
    types = source.dtype.str, target.dtype.str
    calls = _calls(source.shape, target.shape, types, axes, scale)
    if calls is None:
        last = tuple(range(-len(axes), 0))
        moved = np.moveaxis(target, axes, last)
        result = np.empty(moved.shape, target.dtype)
        inner = tuple(a + x.ndim for a in last)
        transform(np.moveaxis(source, axes, last), result, inner, is_inverse, scale)
        moved[...] = result
        return
    first, to = source.ctypes.data, target.ctypes.data
    for of_source, of_target in calls.starts:
        calls.transform.compute(is_inverse, first + of_source, to + of_target)
