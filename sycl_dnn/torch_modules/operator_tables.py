# SPDX-License-Identifier: Apache-2.0
"""Supported operators by name: ``aten.add.Tensor``, or ``aten.add`` for all overloads."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from sycl_dnn.torch_modules import (
    array_operators,
    layer_operators,
    library_operators,
    pointwise_operators,
)

#: Python arithmetic on sizes.
_SIZES: dict[str, Callable[..., Any]] = {
    f"_operator.{name}": getattr(operator, name)
    for name in (
        "add", "and_", "eq", "floordiv", "ge", "getitem", "gt", "le", "lt", "mod", "mul", "ne",
        "neg", "not_", "or_", "pow", "sub", "truediv",
    )
} | {
    "math.ceil": math.ceil, "math.floor": math.floor, "math.trunc": math.trunc,
    "torch.sym_float": float, "torch.sym_int": int, "torch.sym_max": max, "torch.sym_min": min,
    "torch.sym_not": operator.not_, "torch.sym_ite": lambda c, a, b: a if c else b,
}  # fmt: skip

_TABLE: dict[str, Callable[..., Any]] = {
    **_SIZES,
    **{
        f"aten.{name}": row
        for module in (
            library_operators,
            pointwise_operators,
            array_operators,
            layer_operators,
        )  # fmt: skip
        for name, row in module.ROWS.items()
    },
    **{f"sycl_dnn.{name}": row for name, row in layer_operators.WHOLE.items()},
    **layer_operators.OTHERS,
}


def row_of(name: str) -> Callable[..., Any] | None:
    """Return the row of an operator's overload, or the common row of all overloads."""
    return _TABLE.get(name) or _TABLE.get(name.rpartition(".")[0])


#: Operators that depend on the mode of the calling module, which is their first argument.
MODAL: dict[str, Callable[..., Any]] = {
    f"sycl_dnn.{name}": row for name, row in layer_operators.MODAL.items()
}
