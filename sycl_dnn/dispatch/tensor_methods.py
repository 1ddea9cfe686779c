# SPDX-License-Identifier: Apache-2.0
"""Methods of dpnp arrays on traced tensors, so that model code need not tell them apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sycl_dnn.dispatch import functions

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
    def method(self: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Any:
        wide = self if dtype is None else functions.astype(self, dtype)
        return getattr(functions, name)(wide, axis, keepdim=keepdims)

    method.__doc__ = f"As ``sycl_dnn.functional.{name}``, with NumPy's names of parameters."
    return method


def _spread(name: str) -> Any:
    def method(self: Any, axis: Any = None, *, ddof: float = 0, keepdims: bool = False) -> Any:
        return getattr(functions, name)(self, axis, correction=ddof, keepdim=keepdims)

    method.__doc__ = f"As ``sycl_dnn.functional.{name}``, by default over the whole population."
    return method


#: Names of methods that other libraries' arrays have, where the functional layer's differ.
_OTHER_NAMES = {
    "cpu": "the array itself", "detach": "the array itself", "contiguous": "the array itself",
    "dim": "the attribute ndim", "numel": "the attribute size", "view": "reshape",
    "float": "astype('float32')", "to": "astype", "type": "astype", "numpy": "the array itself",
}  # fmt: skip


class ArrayMethods:
    """Shapes, slices, dtypes and reductions; what needs values is refused."""

    __slots__ = ()

    # Of the class that this is mixed into.
    shape: tuple[int, ...]

    # Comparisons give tensors, as those of arrays do; as a key a tensor is itself.
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> Any:
        return functions.eq(self, other)

    def __ne__(self, other: object) -> Any:
        return functions.ne(self, other)

    __bool__ = _refusal("bool()")
    __float__ = _refusal("float()")
    __int__ = _refusal("int()")
    __index__ = _refusal("use as an index")
    __array__ = _refusal("conversion to NumPy")
    item = _refusal("item()")
    tolist = _refusal("tolist()")
    asnumpy = _refusal("asnumpy()")

    sum = _reduction("sum")
    prod = _reduction("prod")
    mean = _reduction("mean")
    max = _reduction("amax")
    min = _reduction("amin")
    argmax = _reduction("argmax")
    argmin = _reduction("argmin")
    var = _spread("var")
    std = _spread("std")

    def __setitem__(self, key: Any, value: Any) -> None:
        raise TypeError(
            "assignment to elements: a traced array cannot be written to; use "
            "sycl_dnn.functional.where or sycl_dnn.functional.cat"
        )

    def __getattr__(self, name: str) -> Any:
        instead = _OTHER_NAMES.get(name)
        if instead is None and not name.startswith("_") and hasattr(functions, name):
            instead = f"sycl_dnn.functional.{name}"
        hint = "" if instead is None else f"; use {instead}"
        raise AttributeError(f"arrays have no attribute {name!r} in a traced function{hint}")

    def clip(self, min: Any = None, max: Any = None) -> Any:
        """Return the elements, those outside of the limits moved to them."""
        return functions.clamp(self, min, max)

    def reshape(self, *shape: Any) -> Any:
        """Return the elements in another shape; one size may be -1."""
        is_nested = len(shape) == 1 and isinstance(shape[0], (tuple, list))
        return functions.reshape(self, shape[0] if is_nested else shape)

    def transpose(self, *axes: Any) -> Any:
        """Return a view with permuted axes, reversed by default."""
        given = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        return functions.permute(self, given or tuple(range(len(self.shape)))[::-1])

    @property
    def T(self) -> Any:  # noqa: N802
        """The tensor with its axes reversed."""
        return self.transpose()

    @property
    def mT(self) -> Any:  # noqa: N802
        """The tensor with its last two axes exchanged."""
        return self.swapaxes(-1, -2)

    def swapaxes(self, axis1: int, axis2: int) -> Any:
        """Return a view with two axes exchanged."""
        return functions.transpose(self, axis1, axis2)

    def flatten(self) -> Any:
        """Return the elements in one axis."""
        return self.reshape(-1)

    ravel = flatten

    def squeeze(self, axis: int | Sequence[int] | None = None) -> Any:
        """Leave out axes of size 1: all, or those named."""
        return functions.squeeze(self, axis)

    def astype(self, dtype: Any) -> Any:
        """Return the values in another dtype."""
        return functions.astype(self, dtype)

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
        from sycl_dnn.dispatch.indexing import taken

        return taken(self, key)
