# SPDX-License-Identifier: Apache-2.0
"""Methods of dpnp arrays on traced tensors, so that model code need not tell them apart."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

_VALUES = (
    "the values of an array are not known while a function is traced; functions given to plan, "
    "vjp or compile must not depend on them"
)


def _refusal(what: str) -> Any:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(f"{what}: {_VALUES}")

    method.__doc__ = "Values are not known: raises TypeError."
    return method


def _reduction(name: str) -> Any:
    def method(self: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
        from sycl_dnn import functional

        return getattr(functional, name)(self, axis, keepdim=keepdims)

    method.__doc__ = f"As ``sycl_dnn.functional.{name}``, with NumPy's names of parameters."
    return method


class ArrayMethods:
    """Shapes, slices, dtypes and reductions; what needs values is refused."""

    __slots__ = ()

    # Of the class that this is mixed into.
    shape: tuple[int, ...]

    # Comparisons give tensors, as those of arrays do; as a key a tensor is itself.
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> Any:
        from sycl_dnn import functional

        return functional.eq(self, other)

    def __ne__(self, other: object) -> Any:
        from sycl_dnn import functional

        return functional.ne(self, other)

    __bool__ = _refusal("bool()")
    __float__ = _refusal("float()")
    __int__ = _refusal("int()")
    __index__ = _refusal("use as an index")
    __array__ = _refusal("conversion to NumPy")
    item = _refusal("item()")
    tolist = _refusal("tolist()")
    asnumpy = _refusal("asnumpy()")
    __setitem__ = _refusal("assignment to elements")

    sum = _reduction("sum")
    mean = _reduction("mean")
    max = _reduction("amax")
    min = _reduction("amin")

    def reshape(self, *shape: Any) -> Any:
        """Return the elements in another shape; one size may be -1."""
        from sycl_dnn import functional

        is_nested = len(shape) == 1 and isinstance(shape[0], (tuple, list))
        return functional.reshape(self, shape[0] if is_nested else shape)

    def transpose(self, *axes: Any) -> Any:
        """Return a view with permuted axes, reversed by default."""
        from sycl_dnn import functional

        given = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        return functional.permute(self, given or tuple(range(len(self.shape)))[::-1])

    @property
    def T(self) -> Any:  # noqa: N802
        """The tensor with its axes reversed."""
        return self.transpose()

    def swapaxes(self, axis1: int, axis2: int) -> Any:
        """Return a view with two axes exchanged."""
        from sycl_dnn import functional

        return functional.transpose(self, axis1, axis2)

    def flatten(self) -> Any:
        """Return the elements in one axis."""
        return self.reshape(-1)

    ravel = flatten

    def squeeze(self, axis: int | Sequence[int] | None = None) -> Any:
        """Leave out axes of size 1: all, or those named."""
        from sycl_dnn import functional

        return functional.squeeze(self, axis)

    def astype(self, dtype: Any) -> Any:
        """Return the values in another dtype."""
        from sycl_dnn import functional

        return functional.astype(self, dtype)

    def copy(self) -> Any:
        """Return the tensor itself, which nothing can write to."""
        return self

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a tensor without axes has no length")
        return self.shape[0]

    def __iter__(self) -> Any:
        return (self[i] for i in range(self.__len__()))

    def __getitem__(self, key: Any) -> Any:
        from sycl_dnn.dispatch import views

        made: Any = self
        axis, kept = 0, []
        for item in _full_key(key, len(self.shape)):
            if item is None:
                kept.append(1)
                continue
            n = self.shape[axis]
            start, length, step = _range(item, n, axis)
            if (start, length, step) != (0, n, 1):
                made = views.narrow(made, axis, start, length, step)
            if isinstance(item, slice):
                kept.append(length)
            axis += 1
        return made if tuple(kept) == made.shape else views.reshape(made, kept)


def _full_key(key: Any, ndim: int) -> list[Any]:
    """Return a key with one item for each axis, besides None."""
    items = list(key) if isinstance(key, tuple) else [key]
    n_axes = sum(i is not None and i is not Ellipsis for i in items)
    if n_axes > ndim or sum(i is Ellipsis for i in items) > 1:
        raise IndexError(f"index: there must be at most {ndim} items and one ..., got {key!r}")
    rest = [slice(None)] * (ndim - n_axes)
    at = next((p for p, i in enumerate(items) if i is Ellipsis), None)
    return items + rest if at is None else items[:at] + rest + items[at + 1 :]


def _range(item: Any, n: int, axis: int) -> tuple[int, int, int]:
    """Return start, length and step of one item of a key."""
    if isinstance(item, slice):
        start, stop, step = item.indices(n)
        if step < 0:
            raise IndexError(f"index: the step must be positive in a traced function, got {step}")
        return start, len(range(start, stop, step)), step
    if hasattr(item, "shape") and item.shape != ():
        raise TypeError(
            "index: arrays as indices are not taken in a traced function; for rows of a table use "
            "sycl_dnn.functional.embedding, for a choice sycl_dnn.functional.where"
        )
    number = operator.index(item)
    if not -n <= number < n:
        raise IndexError(f"index: {number} is out of range for axis {axis} of size {n}")
    return number % n, 1, 1
