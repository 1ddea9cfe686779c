# SPDX-License-Identifier: Apache-2.0
"""The table of keywords that torch's functions accept besides their parameter names."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from sycl_dnn.device import default_queue
from sycl_dnn.trace.module_arrays import is_in_builder
from sycl_dnn.trace.trace_state import running_trace

#: NumPy's names, which torch accepts wherever its own are parameters.
_NAMES = {"axis": "dim", "keepdims": "keepdim", "x": "input", "x1": "input", "x2": "other"}
#: By function: names that torch or its methods use there.
_OWN = {
    "broadcast_to": {"shape": "size"}, "dequantize": {"tensor": "input"},
    "expand": {"sizes": "size"}, "permute": {"axes": "dims"},
    "reshape": {"size": "shape"}, "tile": {"reps": "dims"},
    "split": {"input": "tensor", "split_size": "split_size_or_sections"},
}  # fmt: skip
#: Ignored here: oneDNN chooses layouts, copies are ordered.
_IGNORED = frozenset(("layout", "memory_format", "non_blocking", "pin_memory", "requires_grad"))
_LIKE = ("empty_like", "full_like", "ones_like", "rand_like", "randn_like", "zeros_like")


def renamed(
    name: str, parameters: Mapping[str, inspect.Parameter], args: Any, kwargs: dict[str, Any]
) -> dict[str, Any]:
    """Return the keywords of a call by the names of a function's parameters.

    Raises TypeError if one requires gradients, a generator or another device.
    """
    if kwargs.keys() <= parameters.keys():
        return kwargs
    keywords = {}
    for word, value in kwargs.items():
        if word in parameters:
            keywords[word] = value
            continue
        if word == "unbiased" and "correction" in parameters and "correction" not in kwargs:
            keywords["correction"] = int(value)
            continue
        new = _OWN.get(name, {}).get(word) or _NAMES.get(word, word)
        if new in parameters and new not in kwargs:
            keywords[new] = value
        elif word in _IGNORED or (word == "device" and name in _LIKE):
            _check_ignored(name, word, value, args, kwargs)
        else:
            keywords[word] = value  # the call names it
    return keywords


def check_requires_grad(name: str, value: Any) -> None:
    """Raise TypeError for arrays that require gradients where that has no meaning.

    In a traced function gradients reach every value, and while a module is built, what is to have
    them becomes a parameter.
    """
    if value and running_trace() is None and not is_in_builder():
        raise TypeError(
            f"{name}: requires_grad must be False, got {value}; make it a nn.Parameter of a "
            "module, or an argument of the function that sycl_dnn.grad differentiates"
        )


def _check_ignored(name: str, word: str, value: Any, args: Any, kwargs: Any) -> None:
    """Raise TypeError for a keyword that would change the result."""
    if word == "requires_grad":
        check_requires_grad(name, value)
    if word == "device" and value is not None:
        queue = (args[0] if args else kwargs["input"]).sycl_queue
        place = default_queue(value) if isinstance(value, str) else value
        if getattr(place, "sycl_device", place) != queue.sycl_device:
            raise TypeError(f"{name}: device must be that of input, got {value}")
