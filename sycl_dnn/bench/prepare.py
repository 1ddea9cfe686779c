# SPDX-License-Identifier: Apache-2.0
"""A case ready to be repeated: primitive, arguments, and copies of them for a cold cache."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from sycl_dnn.dispatch.caches import cache_bytes
from sycl_dnn.verify.call import Call
from sycl_dnn.verify.cases import Case
from sycl_dnn.verify.drivers import DRIVERS
from sycl_dnn.verify.execute import prepare
from sycl_dnn.verify.execution import Execution

COLD = ("none", "wei", "all")
_MAX_COPIES = 256


@dataclass(frozen=True)
class Prepared:
    """What is measured.

    primitive : sycl_dnn.onednn.Primitive
    arguments : one dictionary of memories for each copy; runs take them in turn
    create_ms : time to make descriptor and primitive
    """

    call: Call
    primitive: Any
    arguments: list[dict[str, Any]]
    impl: str
    create_ms: float


def _from_forward(case: Case, call: Call, hint: Any, stream: Any) -> tuple[dict, dict]:
    """Run the forward call of a gradient; return values by argument, and the workspace."""
    if call.forward is None:
        return {}, {}
    forward = Execution(call.forward, hint, stream, case.line, DRIVERS[case.driver].fill)
    forward.run({})
    workspace = {n: m for n, m in forward.args.items() if n == "workspace"}
    return forward.arrays | forward.results()[0], workspace


def _copies(nbytes: int, cold: str, device: Any) -> int:
    """Return how many copies are twice as large as the caches."""
    if cold == "none":
        return 1
    return min(max(2 * cache_bytes(device) // max(nbytes, 1) + 1, 2), _MAX_COPIES)


def _is_cold(name: str, cold: str) -> bool:
    return cold == "all" or "weights" in name


def ready(case: Case, stream: Any, cold: str = "none") -> Prepared:
    """Make, fill and run a case once.

    Parameters
    ----------
    case : Case
    stream : sycl_dnn.onednn.Stream
    cold : {"none", "wei", "all"}
        Which arguments no run finds in the cache: there are as many copies as that takes.

    Raises
    ------
    sycl_dnn.errors.DnnlError
        oneDNN refuses the case.
    """
    call, start = case.call(), time.perf_counter()
    pd, hint, _ = prepare(call, stream.engine)
    fill = DRIVERS[case.driver].fill
    first = Execution(call, pd, stream, case.line, fill)
    create_ms = (time.perf_counter() - start) * 1e3
    values, given = _from_forward(case, call, hint, stream)
    first.arrays |= values
    first.run(given)
    changing = [buffer for name, buffer in first.buffers.items() if _is_cold(name, cold)]
    count = _copies(sum(buffer.nbytes for buffer in changing), cold, stream.sycl_queue.sycl_device)
    arguments = [first.args]
    while len(arguments) < count:
        one = Execution(call, pd, stream, case.line, fill)
        one.arrays |= first.arrays
        one.run(given)
        arguments.append(first.args | {n: m for n, m in one.args.items() if _is_cold(n, cold)})
    return Prepared(call, first.primitive, arguments, pd.impl_info, create_ms)
