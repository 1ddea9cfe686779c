# SPDX-License-Identifier: Apache-2.0
"""Refusal of parameters that ``forward`` reads through a global or a class attribute.

While a function is traced, the parameters of its module arguments are replaced by traced arrays.
The module object itself keeps the untraced ones, which would receive no gradient.
"""

from __future__ import annotations

from typing import Any

import dpnp

from sycl_dnn.trace.trace_state import running_trace
from sycl_dnn.trace.values import Tensor


def note(form: Any, arguments: list[Any]) -> None:
    """Record in a trace which parameters its arguments represent."""
    trace = next(v.trace for v in arguments if isinstance(v, Tensor))
    root = form.root()
    if root is None:
        return
    from sycl_dnn.nn import module_tree

    leaves, form_now = module_tree.walked(root)
    if form_now == form:
        entries = zip(leaves, form.names, form.constants, strict=True)
        trace.represented |= {id(v): n for v, n, is_constant in entries if not is_constant}


def check(module: Any, name: str, value: Any) -> None:
    """Refuse a parameter of a module that is an argument of the traced function.

    Raises
    ------
    TypeError
        A gradient would not reach it.
    """
    if type(value) is not dpnp.ndarray:
        return
    trace = running_trace()
    path = None if trace is None else trace.represented.get(id(value))
    if path is not None:
        raise TypeError(
            f"{type(module).__name__}: the parameter {path.lstrip('.')} must be reached through "
            "self in a forward, so that it has a gradient, got the module itself, by a global or "
            f"an attribute of a class, for its {name}"
        )
