# SPDX-License-Identifier: Apache-2.0
"""The calls of a program to a GPU's driver, counted in SYCL's trace (SYCL_UR_TRACE).

The program marks the start of a phase by writing a line with ``mark`` of this module.
"""

import os
import re
import subprocess
import sys
from dataclasses import dataclass

_MARK = "== phase "
#: The runtime logs a call twice; the second line has its arguments.
_CALL = re.compile(r"<--- (ur\w+)\((.*)")
_ALLOCATIONS = {f"urUSM{kind}Alloc" for kind in ("Device", "Shared", "Host")}
_ALLOCATED = re.compile(r"\.size = (?P<size>\d+), \.ppMem = 0x\w+ \((?P<address>0x\w+)\)")
_WAITS = {"urQueueFinish", "urEventWait"}


@dataclass
class Asked:
    """The calls to the driver in one phase."""

    #: Launched kernels.
    kernels: int = 0
    #: Copies and fills of memory that were queued.
    copies: int = 0
    #: Calls in which the host waits for the device.
    waits: int = 0
    #: Allocations of USM.
    allocations: int = 0
    #: Largest number of bytes of USM allocated at the same time, from the first phase onwards.
    peak_bytes: int = 0


def mark(phase):
    """Start a phase in the traced program."""
    sys.stdout.flush()
    os.write(1, f"{_MARK}{phase}\n".encode())


def _add(asked, name, arguments, live):
    asked.kernels += name.startswith("urEnqueueKernelLaunch")
    asked.copies += name.startswith(("urEnqueueUSMMemcpy", "urEnqueueUSMFill"))
    asked.waits += name in _WAITS or re.search(r"\.blocking = (1|true)", arguments) is not None
    if result := _ALLOCATED.search(arguments) if name in _ALLOCATIONS else None:
        asked.allocations += 1
        live[result["address"]] = int(result["size"])
    elif gone := re.search(r"\.pMem = (0x\w+)", arguments) if name == "urUSMFree" else None:
        live.pop(gone[1], None)
    asked.peak_bytes = max(asked.peak_bytes, sum(live.values()))


def counted(text):
    """Return the calls of a trace by phase."""
    phases, live = {}, {}
    asked = Asked()
    for line in text.splitlines():
        if line.startswith(_MARK):
            asked = phases.setdefault(line.removeprefix(_MARK), Asked())
        elif found := _CALL.search(line):
            _add(asked, *found.groups(), live)
    return phases


def traced(*command, timeout=600, **variables):
    """Run Python with these arguments; return the calls by phase, and the output.

    Output that is not part of the trace, such as the program's own JSON, is returned as a string.
    """
    done = subprocess.run(
        [sys.executable, *map(str, command)],
        capture_output=True,
        text=True,
        timeout=timeout,
        errors="replace",
        env=os.environ | {"SYCL_UR_TRACE": "2"} | variables,
    )
    assert done.returncode == 0, (done.stderr or done.stdout)[-2000:]
    own = [x for x in done.stdout.splitlines() if not re.match(r"\s*(-+>|<-+|==)", x)]
    return counted(done.stdout), "\n".join(own)
