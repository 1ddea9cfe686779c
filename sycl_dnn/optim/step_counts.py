# SPDX-License-Identifier: Apache-2.0
"""Counts in a state: of all steps, and of a parameter's own updates if it missed some steps."""

from __future__ import annotations

from typing import Any

from sycl_dnn import functional as F

#: The entries of a state that count: ``"steps"`` has parameters that missed steps, by name.
COUNTS = ("step", "steps")


def slots_of(name: str, state: dict[str, Any]) -> dict[str, Any]:
    """Return the state entries of one parameter."""
    rows = ((key, value) for key, value in state.items() if key not in COUNTS)
    return {key: value[name] for key, value in rows if name in value}


class Counts:
    """The counts of one step, that step included."""

    def __init__(self, state: dict[str, Any]) -> None:
        self._state = state
        self.step = F.add(state["step"], 1.0)
        self._own = {name: F.add(n, 1.0) for name, n in state.get("steps", {}).items()}

    def own(self, name: str) -> str | None:
        """Return the name of a parameter with its own count, otherwise None."""
        return name if name in self._own else None

    def of(self, name: str, dtype: str) -> tuple[Any, Any]:
        """Return the number of steps, and the number of a parameter's updates."""
        return F.astype(self.step, dtype), F.astype(self._own.get(name, self.step), dtype)

    def after(self, updated: set[str]) -> dict[str, Any]:
        """Return the entries of the next state, given which parameters were updated."""
        rows = [slots for key, slots in self._state.items() if key not in COUNTS]
        missed = sorted({name for slots in rows for name in slots} - updated)
        old = self._state.get("steps", {})
        own = self._own | {name: old.get(name, self._state["step"]) for name in missed}
        return {"step": self.step} | ({"steps": own} if own else {})
