# SPDX-License-Identifier: Apache-2.0
"""Changes of module attributes by a function, applied when its program is submitted."""

from __future__ import annotations

from typing import Any

from sycl_dnn.call.recorded_calls import Recording


class Changes:
    """Changes of module attributes by a function; their tensors are additional results.

    Each change has ``module``, ``name``, ``tensors()``, and ``apply(arrays)``, which is called with
    the arrays of all changes' tensors when the function's program has been submitted; ``key`` says
    what it changes, ``copy`` is what the function changed instead.
    """

    def __init__(self, recording: Recording, has_aux: bool) -> None:
        self._changes = _distinct_changes(
            [change for w in recording.watched for change in w.changes()]
        )
        self._has_aux = has_aux
        self._tensors = tuple([t for change in self._changes for t in change.tensors()])

    def __bool__(self) -> bool:
        return bool(self._changes)

    def joined(self, result: Any) -> Any:
        """Return the result of the function with the tensors."""
        if self._has_aux:
            return result[0], (result[1], self._tensors)
        return result, self._tensors

    def done(self, outcome: Any) -> Any:
        """Apply the changes; return the results of the function and its transform without them."""
        if not self._changes:
            return outcome
        (result, rest), pullback = outcome
        if self._has_aux:
            result, rest = (result, rest[0]), rest[1]
        arrays = iter(rest)
        for change in self._changes:
            change.apply(arrays)
        return result, pullback


def _distinct_changes(changes: list[Any]) -> list[Any]:
    """Return one change for each changed attribute.

    Raises
    ------
    ValueError
        A function has changed an attribute in two copies of a module.
    """
    by_key: dict[Any, Any] = {}
    for change in changes:
        if by_key.setdefault(change.key, change).copy is not change.copy:
            raise ValueError(
                f"{type(change.module).__name__}.{change.name} must not be changed by a function "
                "that is given the module twice, or is given it and refers to it"
            )
    return list(by_key.values())


def watch(recording: Recording, originals: Any, copies: Any) -> None:
    """Let a recording watch the modules among nested arguments and their copies over tensors."""
    for value, copy in zip(originals, copies, strict=True):
        if isinstance(value, (tuple, list)):
            watch(recording, value, copy)
        elif isinstance(value, dict):
            watch(recording, value.values(), copy.values())
        elif hasattr(type(value), "_runs_as"):
            value._runs_as(copy, recording)
