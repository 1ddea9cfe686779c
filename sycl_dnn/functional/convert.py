# SPDX-License-Identifier: Apache-2.0
"""Between dtypes: ``asarray`` and ``astype``, also for those that dpnp lacks."""

from __future__ import annotations

from typing import Any

import dpnp

from sycl_dnn.dispatch import dtypes
from sycl_dnn.dispatch.array import Array
from sycl_dnn.dispatch.operation import operation

__all__ = ["asarray", "astype"]


@operation
def _convert(input, dtype):
    return input.trace.convert(input, dtype)


def astype(x: Any, dtype: Any) -> Any:
    """Return an array in another dtype, rounded to nearest even, converted on its device.

    Parameters
    ----------
    x : dpnp.ndarray or Array
    dtype : str or NumPy dtype
        Also ``"bfloat16"``, ``"float8_e4m3"``, ``"float8_e5m2"``.

    Returns
    -------
    dpnp.ndarray, or Array for a dtype that dpnp lacks
    """
    name = dtypes.name_of(dtype)
    mine = x.dtype if isinstance(x, Array) else x.dtype.name
    if name == mine:
        return x
    return _convert(x, name)


def asarray(x: Any, dtype: Any = None, **kwargs: Any) -> Any:
    """Return ``x`` as an array of ``dtype``, also of those that dpnp lacks.

    Parameters
    ----------
    x : array_like
        What ``dpnp.asarray`` takes, or an ``Array``.
    dtype : str or NumPy dtype, optional
        Also ``"bfloat16"``, ``"float8_e4m3"``, ``"float8_e5m2"``.
    **kwargs
        For ``dpnp.asarray``: ``sycl_queue``, ``device``, ``usm_type``...

    Returns
    -------
    dpnp.ndarray or Array
    """
    if isinstance(x, Array):
        return x if dtype is None else astype(x, dtype)
    name = None if dtype is None else dtypes.name_of(dtype)
    if name not in dtypes.CARRIED:
        return dpnp.asarray(x, dtype=dtype, **kwargs)
    return astype(dpnp.asarray(x, dtype="float32", **kwargs), name)
