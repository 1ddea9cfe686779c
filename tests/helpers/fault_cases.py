# SPDX-License-Identifier: Apache-2.0
"""Cases in a separate process, which a fault of oneDNN may end; also without the register."""

import os
import subprocess
import sys
from collections.abc import Iterable

from conformance.case_runs import cases_of, run_case

import sycl_dnn
from sycl_dnn import _core
from sycl_dnn import onednn as dnnl
from sycl_dnn.onednn import faults


def outcomes(lines: Iterable[str], stream):
    """Return the outcome of each case of some lines."""
    return [run_case(case, stream) for line in lines for case in cases_of(line)]


def in_process(lines: Iterable[str], *, checked: bool, isa: str = "", seconds: float = 900):
    """Return a process that printed status and reason of each case, a line each.

    ``checked``: with what the register refuses and avoids; ``isa``: the most instructions.
    """
    isa = isa or dnnl.get_effective_cpu_isa().name.upper()
    environment = {**os.environ, "ONEDNN_MAX_CPU_ISA": isa, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-W", "ignore", __file__, str(checked), isa.lower(), *lines]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=seconds)


if __name__ == "__main__":
    is_checked, isa, *cases = sys.argv[1:]
    assert dnnl.get_effective_cpu_isa().name == isa
    if is_checked == "False":
        _core._watch(set(), faults.check)
    chosen = sycl_dnn.default_queue("cpu")
    for done in outcomes(cases, dnnl.Stream(dnnl.Engine(chosen), chosen)):
        print(done.status, *done.reason.splitlines(), flush=True)
