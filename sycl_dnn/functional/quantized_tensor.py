# SPDX-License-Identifier: Apache-2.0
"""Quantised arrays: integers with the scales and zero points that give them their meaning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from sycl_dnn.dispatch.tensor import Tensor
from sycl_dnn.dispatch.views import transpose

#: Least and largest value of the dtypes that quantised arrays have.
RANGES = {"int8": (-128, 127), "uint8": (0, 255), "int4": (-8, 7), "uint4": (0, 15)}


class QuantizedTensor(NamedTuple):
    """Integers that stand for ``scale * (data - zero_point)``.

    Made by ``quantize`` and ``quantize_dynamic``, or by hand from arrays. Any of the arrays may be
    frozen (``sycl_dnn.freeze``), which keeps packed weights.

    Attributes
    ----------
    data : dpnp.ndarray of int8 or uint8, Array of int4 or uint4, or Frozen (*S)
    scale : dpnp.ndarray of float32
        () for all elements alike. With ``axis`` (S[axis],). With ``group_size`` the shape of
        ``data`` where ``axis`` has S[axis] / group_size elements.
    zero_point : dpnp.ndarray of int32, optional
        The shape of ``scale``; 0 without it.
    axis : int, optional
    group_size : int, optional
        Neighbours along ``axis`` that share a scale.
    """

    data: Any
    scale: Any
    zero_point: Any = None
    axis: int | None = None
    group_size: int | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the integers."""
        return self.data.shape

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.data.shape)

    @property
    def dtype(self) -> str:
        """Name of the integers' dtype."""
        return str(self.data.dtype)

    def turned(self) -> QuantizedTensor:
        """Return the transpose of a traced matrix."""
        is_grouped = self.group_size is not None
        scale, zero_point = (
            transpose(t, (1, 0)) if is_grouped and t is not None else t
            for t in (self.scale, self.zero_point)
        )
        axis = None if self.axis is None else 1 - self.axis % 2
        data = transpose(self.data, (1, 0))
        return QuantizedTensor(data, scale, zero_point, axis, self.group_size)


def scale_shape(
    name: str, shape: Sequence[int], axis: int | None, group_size: int | None
) -> tuple[int, ...]:
    """Return the shape that scales of an array must have.

    Raises
    ------
    ValueError
        ``group_size`` is given without ``axis`` or does not divide it.
    """
    if axis is None:
        if group_size is not None:
            raise ValueError(f"{name}: axis must be given with group_size, got None")
        return ()
    if group_size is None:
        return (shape[axis],)
    if group_size < 1 or shape[axis] % group_size:
        raise ValueError(
            f"{name}: group_size must divide the size of axis {axis}, {shape[axis]}, got "
            f"{group_size}"
        )
    return tuple(n // group_size if i == axis else n for i, n in enumerate(shape))


def checked(name: str, argument: str, q: Any, dtypes: Sequence[str] = tuple(RANGES)) -> Any:
    """Return a quantised tensor with its axis counted from the front, after checking it."""
    if not isinstance(q, QuantizedTensor):
        raise TypeError(f"{name}: {argument} must be a QuantizedTensor, got {type(q).__name__}")
    if q.dtype not in dtypes:
        raise TypeError(f"{name}: {argument} must have dtype {' or '.join(dtypes)}, got {q.dtype}")
    if isinstance(q.scale, Tensor):
        # Lowered functions keep scales in float32.
        q = q._replace(scale=q.scale.trace.widened(q.scale))
    axis = q.axis
    if axis is not None:
        if not -q.ndim <= axis < q.ndim:
            raise ValueError(f"{name}: axis of {argument} must be below {q.ndim}, got {axis}")
        axis %= q.ndim
    wanted = scale_shape(name, q.shape, axis, q.group_size)
    check_scales(name, wanted, q.scale, q.zero_point, f" of {argument}")
    return q._replace(axis=axis)


def check_scales(name: str, wanted: tuple[int, ...], scale: Any, zero: Any, of: str = "") -> None:
    """Check shape and dtype of scales and zero points."""
    for what, tensor, dtype in (("scale", scale, "float32"), ("zero_point", zero, "int32")):
        if tensor is None and what == "zero_point":
            continue
        shape = getattr(tensor, "shape", None)
        if shape != wanted and not (wanted == () and shape == (1,)):
            raise ValueError(f"{name}: {what}{of} must have shape {wanted}, got {shape}")
        if tensor.dtype != dtype:
            raise TypeError(f"{name}: {what}{of} must have dtype {dtype}, got {tensor.dtype}")
