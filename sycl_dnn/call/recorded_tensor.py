# SPDX-License-Identifier: Apache-2.0
"""The values that a user's function sees during recording."""

from __future__ import annotations

from typing import Any

import dpnp

from sycl_dnn import tree
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace.array import Array
from sycl_dnn.trace.frozen import Frozen, Seed
from sycl_dnn.trace.values import Storage, Tensor
from sycl_dnn.trace.write_marks import OfCaller

#: Names of dtypes as tensors have them.
_names: dict[Any, dtypes.DtypeName] = {}


class RecordedTensor(Tensor):
    """A value of a running function, with shape and dtype; a tensor once the function is traced."""

    __slots__ = ("_recording", "marks", "number")

    def __init__(self, recording: Any, number: int, shape: Any, dtype: Any, strides: Any) -> None:
        self._recording, self.number = recording, number
        self._shape, self.dtype, self.strides = shape, dtype, strides
        self.marks: list[str] = []

    @property
    def trace(self) -> Any:
        """The recording.

        Raises RuntimeError if the function has returned.
        """
        return self._recording.checked(self)

    @property
    def desc(self) -> Any:  # type: ignore[override]
        """As of the tensor: the function is traced for it."""
        return self.trace.hidden(self).desc

    @property
    def storage(self) -> Storage:  # type: ignore[override]
        """As of the tensor: the function is traced for it."""
        return self.trace.hidden(self).storage

    @property
    def offset(self) -> int:  # type: ignore[override]
        """As of the tensor: the function is traced for it."""
        return self.trace.hidden(self).offset

    @property
    def is_argument(self) -> bool:
        """Whether it is an array of the caller's, or a view of one."""
        return isinstance(self.marks, OfCaller)

    def __getitem__(self, key: Any) -> Any:
        return self.trace.item(self, key)

    def as_it_is(self) -> RecordedTensor:
        """Return a tensor that retains these values if this one is reassigned."""
        return RecordedTensor(self._recording, self.number, self.shape, self.dtype, self.strides)

    def restore(self, argument: RecordedTensor) -> None:
        """Represent an argument again, whose memory has been updated."""
        self._recording.restore(self, argument)

    def note_view(self) -> None:
        """Note that ``x.view``, which never copies, returned the tensor."""
        self._recording.views.add(id(self))

    def share_marks(self, marks: list[str]) -> None:
        """Note that the tensor is a view of one with these marks."""
        self.marks = marks
        self._recording.viewed.add(id(marks))
        if marks:
            self._recording.fresh[id(self)] = len(marks)

    def __repr__(self) -> str:
        return f"Tensor({self.shape}, {self.dtype})"


tree.LEAVES.add(RecordedTensor)


class Opaque:
    """A result of a call that is not a tensor, to be passed to later calls."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number


def described(value: Any) -> tuple[Any, ...]:
    """Return shape, dtype and strides of an array."""
    if type(value) is dpnp.ndarray:
        return _facts(value.get_array())
    if isinstance(value, Seed):
        return ((), dtypes.DtypeName(value.dtype), ())
    carried = value.data if isinstance(value, Frozen) else value
    if isinstance(carried, Array):
        is_packed = carried.dtype in dtypes.PACKED
        strides = carried.element_strides if is_packed else carried.get_array().strides
        return (carried.shape, dtypes.DtypeName(carried.dtype), strides)
    return _facts(value.get_array() if hasattr(value, "get_array") else value)


def _facts(array: Any) -> tuple[Any, ...]:
    return (array.shape, dtype_name(array), array.strides)


def dtype_name(array: Any) -> dtypes.DtypeName:
    """Return the dtype of an array as tensors have it."""
    name = _names.get(array.dtype)
    if name is None:
        name = _names[array.dtype] = dtypes.DtypeName(dtypes.name_of(array.dtype))
    return name
