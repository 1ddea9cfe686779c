# SPDX-License-Identifier: Apache-2.0
"""``CompiledCall``: a compiled function bound to arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sycl_dnn.call.plan import BoundCall
from sycl_dnn.trace import policy

if TYPE_CHECKING:
    from sycl_dnn.compiler.programs import Programs


class CompiledCall(BoundCall):
    """A program bound to arrays, created by ``Compiled.bind``.

    Calls submit it and return the result, always in the same arrays. If something that the function
    reads from outside has changed, it is recompiled and bound again.
    """

    def __init__(self, compiled: Programs, args: Any, kwargs: Any) -> None:
        self._compiled, self._args, self._kwargs = compiled, args, kwargs
        self._policy = policy.current()
        self._bind()

    def _bind(self) -> None:
        with policy.using(**self._policy._asdict()):
            plan = self._compiled._program(self._args, self._kwargs)
            placed, _ = self._compiled._placed(self._args, self._kwargs)
        if plan.assigned:
            raise TypeError(
                f"bind: {self._compiled.__name__} must not assign attributes of modules; call it, "
                "or return their values"
            )
        self._check = plan.check
        self._fill(plan, placed)
