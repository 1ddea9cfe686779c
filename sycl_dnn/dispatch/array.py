# SPDX-License-Identifier: Apache-2.0
"""Arrays of the dtypes that dpnp lacks: bfloat16, float8 and int4."""

from __future__ import annotations

from typing import Any

from sycl_dnn.dispatch import allocation, dtypes

__all__ = ["Array"]


class Array:
    """A tensor of a dtype that dpnp lacks, over a dpnp array that carries its bits.

    Made by ``sycl_dnn.asarray(x, dtype="bfloat16")`` and by functions of ``sycl_dnn.functional``;
    ``astype("float32")`` gives a dpnp array back.

    Attributes
    ----------
    data : dpnp.ndarray
        The bits: uint16 for bfloat16, uint8 for float8, both with the array's shape and strides.
    dtype : str
    shape : tuple of int
    """

    __slots__ = ("data", "dtype", "shape")

    def __init__(self, data: Any, dtype: str) -> None:
        if dtype not in dtypes.CARRIED:
            raise TypeError(f"Array: dtype must be one of {', '.join(dtypes.CARRIED)}, got {dtype!r}")
        if data.dtype != dtypes.CARRIED[dtype]:
            wanted = dtypes.CARRIED[dtype]
            raise TypeError(f"Array: data must have dtype {wanted} for {dtype}, got {data.dtype}")
        self.data = data
        self.dtype = dtype
        self.shape = data.shape

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.data.size

    @property
    def strides(self) -> tuple[int, ...]:
        """Strides in bytes, as dpnp counts them."""
        return self.data.strides

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
        return Array(self.data[key], self.dtype)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.data[key] = value.data if isinstance(value, Array) else value

    def reshape(self, *shape: Any) -> Array:
        """Return the elements in another shape."""
        return Array(self.data.reshape(*shape), self.dtype)

    def transpose(self, *axes: Any) -> Array:
        """Return a view with permuted axes."""
        return Array(self.data.transpose(*axes), self.dtype)

    @property
    def T(self) -> Array:  # noqa: N802
        """The array with its axes reversed."""
        return Array(self.data.T, self.dtype)

    def astype(self, dtype: Any) -> Any:
        """Return the values in another dtype, converted on the device."""
        from sycl_dnn.functional.convert import astype

        return astype(self, dtype)

    def __repr__(self) -> str:
        return f"Array({self.astype('float32')}, dtype={self.dtype})"


def wrapped(array: Any, dtype: str) -> Any:
    """Return what the user gets for a usm_ndarray."""
    made = allocation.wrap(array)
    return Array(made, dtype) if dtype in dtypes.CARRIED else made
