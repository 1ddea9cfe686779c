# SPDX-License-Identifier: Apache-2.0
"""Exceptions: oneDNN's status codes as Python classes, with reasons."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any

__all__ = [
    "DnnlError",
    "InvalidArguments",
    "NoDeviceError",
    "OneDnnFaultWarning",
    "OutOfMemory",
    "ReferenceWarning",
    "Unimplemented",
    "UnsupportedOperator",
]


class DnnlError(Exception):
    """oneDNN refused or failed; ``status`` is an enumerator of ``onednn.status``.

    For refused primitive descriptors ``reasons`` explains why. Reasons are only in oneDNN's log,
    which must be enabled before a process starts, so reading ``reasons`` or the error's text for
    the first time repeats the creation in a helper process (about 0.3 s). An error that is never
    read costs nothing, so probing in a loop is cheap.
    """

    status_name = "runtime_error"
    recipe: Any = None

    @property
    def status(self) -> Any:
        """The status code as an enumerator of oneDNN."""
        from sycl_dnn import _core

        codes = _core.status if self.status_name in _core.status.__members__ else _core.graph_status
        return codes[self.status_name]

    @cached_property
    def reasons(self) -> tuple[str, ...]:
        """``implementation: reason`` for each one that declined, or oneDNN's violated rule."""
        if self.recipe is None:
            return ()
        from sycl_dnn.onednn import reasons

        return reasons.find(self.recipe)

    def __str__(self) -> str:
        text = super().__str__()
        if not self.reasons:
            return text
        return text + "\noneDNN's reasons:\n" + "\n".join(f"  {line}" for line in self.reasons)


class InvalidArguments(DnnlError, ValueError):
    """An argument violates a rule; the message names argument, rule and value."""

    status_name = "invalid_arguments"


class Unimplemented(DnnlError, NotImplementedError):
    """No implementation of the primitive supports these descriptors on this device."""

    status_name = "unimplemented"


class UnsupportedOperator(Unimplemented):
    """A model uses an unsupported operator, or an operator in an unsupported way.

    ``operator``, ``version`` (of its operator set), ``node`` and ``rule`` are attributes.
    """

    operator: str = ""
    version: int = 0
    node: str = ""
    rule: str = ""

    @classmethod
    def of(cls, operator: str, version: int, node: str, rule: str) -> UnsupportedOperator:
        """Return the error for a use of an operator that violates a rule."""
        error = cls(f"{operator}-{version} (node {node!r}): {rule}")
        error.operator, error.version, error.node, error.rule = operator, version, node, rule
        return error


class OutOfMemory(DnnlError, MemoryError):
    """An allocation failed; existing objects remain usable."""

    status_name = "out_of_memory"


class OneDnnFaultWarning(UserWarning):
    """The installed oneDNN is known to compute this incorrectly; the message says what to do."""


class ReferenceWarning(UserWarning):
    """A slow reference implementation of oneDNN runs; the message says what would be faster."""


class NoDeviceError(RuntimeError):
    """No SYCL device that oneDNN can use; the message says what was checked and what to do."""


_CLASSES = {cls.status_name: cls for cls in (InvalidArguments, OutOfMemory, Unimplemented)}
_CLASSES |= dict.fromkeys(
    ("invalid_graph", "invalid_graph_op", "invalid_shape", "invalid_data_type"), InvalidArguments
)


def from_status(status: Any, message: str) -> DnnlError:
    """Return the error for a status code of oneDNN."""
    error = _CLASSES.get(status.name, DnnlError)(message)
    error.status_name = status.name
    return error


def creation_error(status: Any, name: str, parameters: dict, engine: Any, attr: Any) -> DnnlError:
    """Return the error for a refused primitive descriptor.

    ``status``: member of ``onednn.status``; ``name``: the primitive, such as
    ``"convolution_forward"``.
    """
    from sycl_dnn.onednn import reasons, rules

    problem = rules.find(name, parameters)
    summary = rules.summary(name, parameters, engine, attr)
    error = from_status(status, f"{name}: {problem or status.name}\n{summary}")
    if problem is None or isinstance(error, Unimplemented):
        error.recipe = reasons.Recipe(name, parameters, attr, engine)
    return error


def name_function(error: Exception, name: str) -> None:
    """Let the message of an error name the function that was called, not only one that it uses."""
    is_plain = type(error) in (IndexError, TypeError, ValueError) and len(error.args) == 1
    if is_plain and not name.startswith("_"):
        text = str(error.args[0])
        if not re.search(rf"\b{re.escape(name)}\b", text):
            error.args = (f"{name}: {text}",)
