# SPDX-License-Identifier: Apache-2.0
"""Arrays of the dtypes that dpnp lacks: bfloat16, float8 and int4."""

from __future__ import annotations

import math
from typing import Any

import dpnp
import numpy as np

from sycl_dnn.dispatch import allocation, functions
from sycl_dnn.dispatch.operators import Operators
from sycl_dnn.onednn import dtypes

__all__ = ["Array"]


class Array(Operators):
    """A tensor of a dtype that dpnp lacks, over a dpnp array that carries its bits.

    Made by ``sycl_dnn.asarray(x, dtype="bfloat16")`` and by functions of ``sycl_dnn.functional``;
    ``astype("float32")`` gives a dpnp array back. Operators are functions of
    ``sycl_dnn.functional``, so ``==`` compares element by element.

    Parameters
    ----------
    data : dpnp.ndarray
        The bits: uint16 for bfloat16, uint8 for float8, both with the array's shape and strides.
        uint8 for int4 and uint4, two neighbours along the last axis in a byte, the first in its
        low half; so the last axis of the array is even and twice as long.
    dtype : {"bfloat16", "float8_e4m3", "float8_e5m2", "int4", "uint4"}

    Attributes
    ----------
    data, dtype
        As given.
    shape : tuple of int

    Raises
    ------
    TypeError
        ``dtype`` is another one; ``data`` has not the dtype that carries it.
    ValueError
        ``data`` of 4-bit numbers has gaps along its last axis.
    """

    __slots__ = ("data", "dtype", "shape")
    # Comparisons give arrays, as those of dpnp do.
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, data: dpnp.ndarray, dtype: str) -> None:
        if dtype not in dtypes.CARRIED:
            raise TypeError(
                f"Array: dtype must be one of {', '.join(dtypes.CARRIED)}, got {dtype!r}"
            )
        if data.dtype != dtypes.CARRIED[dtype]:
            wanted = dtypes.CARRIED[dtype]
            raise TypeError(f"Array: data must have dtype {wanted} for {dtype}, got {data.dtype}")
        self.data = data
        self.dtype = dtype
        self.shape = data.shape
        if dtype in dtypes.PACKED:
            _check_packable(data)
            self.shape = (*data.shape[:-1], 2 * data.shape[-1])

    @classmethod
    def from_bits(cls, bits: Any, dtype: str, **kwargs: Any) -> Array:
        """Return an array of numbers given by their bits.

        Parameters
        ----------
        bits : array_like of int
            As ``data`` above; copied to the device unless it is a dpnp array of that dtype.
        dtype : str
        **kwargs
            For ``dpnp.asarray``: ``sycl_queue``, ``device``, ``usm_type``...
        """
        carrier = dtypes.CARRIED.get(dtype, np.dtype("u1"))
        return cls(dpnp.asarray(bits, dtype=carrier, **kwargs), dtype)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def strides(self) -> tuple[int, ...]:
        """Strides of ``data`` in bytes, as dpnp counts them."""
        return self.data.strides

    @property
    def element_strides(self) -> tuple[int, ...]:
        """Strides in elements."""
        strides = self.data.get_array().strides
        return (*(2 * s for s in strides[:-1]), 1) if self.dtype in dtypes.PACKED else strides

    @property
    def nbytes(self) -> int:
        """Bytes of the elements."""
        return self.data.nbytes

    @property
    def sycl_queue(self) -> Any:
        """The queue that the array belongs to."""
        return self.data.sycl_queue

    @property
    def usm_type(self) -> str:
        """Kind of the USM allocation."""
        return self.data.usm_type

    def get_array(self) -> Any:
        """Return the usm_ndarray of the bits."""
        return self.data.get_array()

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, key: Any) -> Array:
        return Array(self.data[self._checked_key(key)], self.dtype)

    def __setitem__(self, key: Any, value: Any) -> None:
        if not isinstance(value, Array) or value.dtype != self.dtype:
            value = functions.asarray(value, self.dtype, sycl_queue=self.sycl_queue)
        self.data[self._checked_key(key)] = value.data

    def _checked_key(self, key: Any) -> Any:
        if self.dtype in dtypes.PACKED:
            keys = key if isinstance(key, tuple) else (key,)
            if len(keys) >= self.ndim or not all(isinstance(k, (int, slice)) for k in keys):
                raise IndexError(
                    f"Array: {self.dtype} must be indexed by integers and slices before its last "
                    f"axis, got {key!r}"
                )
        return key

    def reshape(self, *shape: Any) -> Array:
        """Return the elements in another shape; one size may be -1."""
        sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        if self.dtype in dtypes.PACKED:
            sizes = list(sizes)
            if not sizes or sizes[-1] % 2 and sizes[-1] != -1:
                raise ValueError(
                    f"reshape: the last size must be even for {self.dtype}, got {sizes}"
                )
            sizes[-1] = sizes[-1] if sizes[-1] == -1 else sizes[-1] // 2
        return Array(self.data.reshape(tuple(sizes)), self.dtype)

    def transpose(self, *axes: Any) -> Array:
        """Return a view with permuted axes, reversed by default."""
        return Array(self.data.transpose(*axes), self.dtype)

    @property
    def T(self) -> Array:  # noqa: N802
        """The array with its axes reversed."""
        return self.transpose()

    def astype(self, dtype: Any) -> Any:
        """Return the values in another dtype, converted on the device."""
        return functions.astype(self, dtype)

    def copy(self) -> Array:
        """Return a copy."""
        return Array(self.data.copy(), self.dtype)

    def asnumpy(self) -> np.ndarray:
        """Return the values as NumPy's float32, after waiting for them."""
        return dpnp.asnumpy(self.astype("float32"))

    def item(self) -> float:
        """Return the only element as a Python number."""
        return self.asnumpy().item()

    def __eq__(self, other: object) -> Any:
        return functions.eq(self, other)

    def __ne__(self, other: object) -> Any:
        return functions.ne(self, other)

    def __repr__(self) -> str:
        values = np.array2string(self.asnumpy(), separator=", ", prefix="Array(")
        return f"Array({values}, dtype={self.dtype})"


def _check_packable(data: Any) -> None:
    strides = data.get_array().strides
    if not strides or (strides[-1] != 1 and data.shape[-1] > 1):
        raise ValueError(
            f"Array: data of 4-bit numbers must be dense along its last axis, got shape "
            f"{data.shape} with strides {strides} (in elements)"
        )


def wrapped(array: Any, dtype: str) -> Any:
    """Return what the user gets for a usm_ndarray."""
    made = allocation.wrap(array)
    return Array(made, dtype) if dtype in dtypes.CARRIED else made
