# SPDX-License-Identifier: Apache-2.0
"""Python's operators for arrays of ours and for traced tensors, by functions of the layer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sycl_dnn.dispatch import functions


def _operator(name: str, *, is_reflected: bool = False) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        operands = (other, self) if is_reflected else (self, other)
        return getattr(functions, name)(*operands)

    method.__doc__ = f"As ``sycl_dnn.functional.{name}``."
    return method


def _single(name: str) -> Callable[[Any], Any]:
    def method(self: Any) -> Any:
        return getattr(functions, name)(self)

    method.__doc__ = f"As ``sycl_dnn.functional.{name}``."
    return method


class Operators:
    """``+ - * / ** @ < <= > >=``; numbers and arrays may stand on either side.

    An array of dpnp's on the left is asked first, and raises TypeError for all but arrays of its
    own class. Python asks the right operand first only where that is of a subclass: traced arrays
    are. With an ``Array`` write ``a + x``, or ``sycl_dnn.functional.sub(x, a)``.
    """

    __slots__ = ()
    # Lets NumPy's numbers on the left leave the operation to this class.
    __array_ufunc__ = None

    __add__ = _operator("add")
    __radd__ = _operator("add", is_reflected=True)
    __sub__ = _operator("sub")
    __rsub__ = _operator("sub", is_reflected=True)
    __mul__ = _operator("mul")
    __rmul__ = _operator("mul", is_reflected=True)
    __truediv__ = _operator("div")
    __rtruediv__ = _operator("div", is_reflected=True)
    __pow__ = _operator("pow")
    __rpow__ = _operator("pow", is_reflected=True)
    __matmul__ = _operator("matmul")
    __rmatmul__ = _operator("matmul", is_reflected=True)
    __lt__ = _operator("lt")
    __le__ = _operator("le")
    __gt__ = _operator("gt")
    __ge__ = _operator("ge")
    __neg__ = _single("neg")
    __abs__ = _single("abs")
