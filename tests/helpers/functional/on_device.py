# SPDX-License-Identifier: Apache-2.0
"""Arrays of cases on a device, and comparisons of results."""

from __future__ import annotations

from typing import Any

import dpnp
import numpy as np
from functional.case import Case, Spec, filled, numpy_arguments, specs_of

import sycl_dnn


def to_device(values: np.ndarray, dtype: str, queue: Any, layout: str = "plain") -> Any:
    """Return values as a dpnp array, or as an Array if dpnp lacks the dtype."""
    if dtype == "bfloat16":
        wide = _laid_out(np.asarray(values, np.float32), queue, "plain")
        narrow = sycl_dnn.asarray(wide, dtype="bfloat16")
        return narrow if layout == "plain" else sycl_dnn.Array(_relaid(narrow.bits, layout), dtype)
    return _laid_out(np.asarray(values).astype(dtype), queue, layout)


def _laid_out(values: np.ndarray, queue: Any, layout: str) -> Any:
    return _relaid(dpnp.asarray(np.array(values, order="C"), sycl_queue=queue), layout)


def _relaid(plain: Any, layout: str) -> Any:
    """Return the same values with different strides."""
    rank = plain.ndim
    if layout == "offset":  # within another array
        whole = dpnp.zeros(plain.size + 11, dtype=plain.dtype, sycl_queue=plain.sycl_queue)
        part = whole[7 : 7 + plain.size].reshape(plain.shape)
        part[...] = plain
        return part
    if layout == "plain" or rank == 0 or (layout == "channels_last" and rank < 3):
        return plain
    if layout == "channels_last":
        last = dpnp.ascontiguousarray(dpnp.moveaxis(plain, 1, -1))
        return dpnp.moveaxis(last, -1, 1)
    if layout == "transposed":
        return dpnp.ascontiguousarray(plain.transpose()).transpose()
    if layout == "reversed":
        return dpnp.ascontiguousarray(plain[::-1])[::-1]
    if layout == "interleaved":  # rows begin before the previous row has ended
        wide = dpnp.zeros((*plain.shape[:-1], 2 * plain.shape[-1] - 1), dtype=plain.dtype,
                          sycl_queue=plain.sycl_queue)  # fmt: skip
        wide[..., ::2] = plain
        return wide[..., ::2]
    if layout == "strided":
        wide = dpnp.zeros((*plain.shape[:-1], 2 * plain.shape[-1]), dtype=plain.dtype,
                          sycl_queue=plain.sycl_queue)  # fmt: skip
        wide[..., ::2] = plain
        return wide[..., ::2]
    raise ValueError(layout)


def to_numpy(array: Any) -> np.ndarray:
    """Return an array's values as float64, integers unchanged."""
    if isinstance(array, sycl_dnn.Array):
        array = array.astype("float32")
    values = dpnp.asnumpy(array)
    return values.astype(np.float64) if values.dtype.kind == "f" else values


def device_arguments(case: Case, queue: Any) -> list[Any]:
    """Return the positional arguments of a case with arrays on the queue's device."""
    values = numpy_arguments(case)
    specs = specs_of(case.args)
    from functional.case import arrays_of

    results = [
        to_device(v, _dtype(s, case), queue, s.layout)
        for v, s in zip(arrays_of(values), specs, strict=True)
    ]
    return [filled(a, results) for a in case.args]


def _dtype(spec: Spec, case: Case) -> str:
    return spec.dtype or ("int64" if spec.is_integer else case.dtype)


def flat(value: Any) -> list[Any]:
    """Return the leaves of nested results except None."""
    if isinstance(value, (list, tuple)):
        return [leaf for v in value for leaf in flat(v)]
    return [] if value is None else [value]
