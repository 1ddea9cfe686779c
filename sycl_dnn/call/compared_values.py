# SPDX-License-Identifier: Apache-2.0
"""How guards compare values: constants, NumPy's arrays, and objects of libraries by their state."""

from __future__ import annotations

import copyreg
import enum
import re
import types
import weakref
from typing import Any

import dpctl
import numpy as np

from sycl_dnn.trace.frozen import Seed

#: Classes of constants; a subclass may have attributes and methods.
PLAIN: frozenset[type] = frozenset(
    (bool, int, float, complex, str, bytes, type(None), type(Ellipsis))
)
BY_IDENTITY = (
    enum.Enum, np.dtype, np.generic, re.Pattern, types.BuiltinFunctionType, np.ufunc,
    types.MethodDescriptorType, types.WrapperDescriptorType, types.MemberDescriptorType,
    types.GetSetDescriptorType,
    types.MethodWrapperType, types.ClassMethodDescriptorType, dpctl.SyclQueue, dpctl.SyclDevice,
    dpctl.SyclContext, Seed,
)  # fmt: skip
CONTAINERS = (tuple, list, dict, set, frozenset)


def is_plain(value: Any) -> bool:
    """Whether a value is a constant or a tuple of constants."""
    return value.__class__ in PLAIN or (value.__class__ is tuple and all(map(is_plain, value)))


def same(a: Any, b: Any) -> bool:
    """Whether two constants cannot be distinguished."""
    if a.__class__ is not b.__class__:
        return False
    if a.__class__ is tuple:
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, (float, complex, np.generic)):
        return repr(a) == repr(b)
    return bool(a == b)


def same_numbers(a: Any, b: np.ndarray) -> bool:
    """Whether a NumPy array still holds the same values."""
    return (
        a.__class__ is np.ndarray
        and a.dtype == b.dtype
        and a.shape == b.shape
        and a.tobytes() == b.tobytes()
    )


def plain_part(value: Any) -> Any:
    """Return the number or text in an instance of a subclass, whatever methods it overrides."""
    base: Any = next(kind for kind in type(value).__mro__ if kind in PLAIN)
    return base.__getnewargs__(value)[0]


def is_filled(cell: types.CellType) -> bool:
    """Whether a variable of an enclosing function has a value."""
    try:
        return bool((cell.cell_contents,))
    except ValueError:
        return False


def state_of(value: Any) -> Any:
    """Return what an object of a library holds, as pickling writes it.

    None for what cannot be pickled and for iterators, which change as they are read.
    """
    if isinstance(value, types.MappingProxyType):
        return dict(value)
    if isinstance(value, weakref.ReferenceType):
        return value()
    if isinstance(value, memoryview):
        return value.tobytes()
    if hasattr(type(value), "__next__"):
        return None
    reduce = copyreg.dispatch_table.get(type(value))
    try:
        made = reduce(value) if reduce else value.__reduce_ex__(2)
    except Exception:  # whatever a library raises for what it cannot pickle
        return None
    if isinstance(made, str):
        return made
    return tuple(part if i < 3 or part is None else tuple(part) for i, part in enumerate(made))


#: What the source of a guard calls.
IN_GUARDS = {
    function.__name__: function
    for function in (is_filled, plain_part, same, same_numbers, state_of)
}
