# SPDX-License-Identifier: Apache-2.0
"""Queries for oneDNN's implementation of a case, in a separate process per device and ISA.

oneDNN reads the ISA limit from the environment once, and logs its reasons only to standard output;
both require a separate process.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import tempfile
import warnings
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from sycl_dnn.device import is_simulated
from sycl_dnn.errors import DnnlError, InvalidArguments, OneDnnFaultWarning
from sycl_dnn.onednn import reasons
from sycl_dnn.tools.cases import call as attributes
from sycl_dnn.tools.cases.call import Call, describe
from sycl_dnn.tools.cases.case_files import Case
from sycl_dnn.tools.cases.case_process import CaseProcess
from sycl_dnn.tools.cases.execution import stream_on

#: States of answers, from worst to best; those of one row are of equal worth.
RANKS = (("died",), ("invalid", "refused"), ("ref",), ("simple",), ("optimized",))
#: State -> parts of the names of its implementations; the first match counts.
_SLOW = {"ref": ("ref",), "simple": ("simple", "ncsp_", "nspc_", "rnn_data_reorder")}


def state(impl: str) -> str:
    """Return ``"ref"``, ``"simple"`` or ``"optimized"`` for oneDNN's name of an implementation."""
    slow = (name for name, parts in _SLOW.items() if any(part in impl for part in parts))
    return next(slow, "optimized")


def rank(state_: str) -> int:
    """Return the rank of a state: 0 (the process crashed) to 4 (optimized)."""
    return next(number for number, states in enumerate(RANKS) if state_ in states)


# --- Querying one case


@dataclass(frozen=True)
class Attempt:
    """An implementation that oneDNN considered.

    impl : its name; empty if the log has none
    reason : why it declined; empty if it accepts the case
    layouts : layout by argument, if it accepts the case
    scratchpad : in bytes, if it accepts the case
    """

    impl: str
    reason: str = ""
    layouts: dict[str, str] = field(default_factory=dict)
    scratchpad: int = 0


#: Reason for an implementation that was excluded by an option.
LEFT_OUT = "left out by --impl or --skip-impl"


@dataclass(frozen=True)
class Answer:
    """oneDNN's answer to one case.

    state : ``optimized``, ``simple``, ``ref``, ``refused``, ``invalid`` or ``died``
    impl : name of the implementation that would run
    error : first line of the refusal
    attempts : all implementations considered, in oneDNN's order
    warned : known faults of oneDNN that affect the case
    of_hint : whether the refusal is about the forward descriptor of a gradient
    """

    state: str
    impl: str = ""
    error: str = ""
    attempts: tuple[Attempt, ...] = ()
    warned: tuple[str, ...] = ()
    of_hint: bool = False

    @property
    def reason(self) -> str:
        """The reason of the most general implementation, or the refusal itself."""
        texts = [a.reason for a in self.attempts if a.reason and a.impl]
        texts = texts or [a.reason for a in self.attempts if a.reason]
        if texts or self.state != "refused":
            return texts[-1] if texts else self.error
        # oneDNN has a list of implementations per combination of types. Refusals by the fault
        # register have their own message.
        if self.error.endswith(": unimplemented"):
            return "oneDNN has no list of such types"
        return self.error.partition("): ")[2] or self.error

    @property
    def first(self) -> Attempt:
        """The implementation that would run."""
        return next(a for a in self.attempts if not a.reason)

    def as_dict(self) -> dict[str, Any]:
        """Return the fields by name, as in the JSON output."""
        return asdict(self)


def answer_of(data: dict[str, Any]) -> Answer:
    """Restore an answer from ``Answer.as_dict``."""
    attempts = tuple(Attempt(**attempt) for attempt in data["attempts"])
    return Answer(**data | {"attempts": attempts, "warned": tuple(data["warned"])})


def declined(log: str, row: str) -> list[Attempt]:
    """Parse the implementations that declined from oneDNN's log about the primitive ``row``.

    Implementations' helpers log lines without a name, which are kept in order.
    """
    kind, matches = reasons._log_kind(row), []
    for line in log.splitlines():
        named = reasons._parse(line, kind)
        fields = line.split(",")
        if named and fields[3] == "create:dispatch":
            impl, _, reason = named.partition(": ")
            matches.append(Attempt(impl.removesuffix("undef").rstrip(":"), reason))
        elif named:
            matches.append(Attempt("", named))
        elif fields[3:5] == ["create:dispatch", kind] and fields[5:6] not in (["cpu"], ["gpu"]):
            matches.append(Attempt("", ",".join(fields[5:-1])))
    return [attempt for attempt, _ in itertools.groupby(matches)]


def _attempt_of(pd: Any, call: Call) -> Attempt:
    """Return the current implementation of a descriptor, with the layouts it requires."""
    if not call.attr.allows(pd.impl_info):
        return Attempt(pd.impl_info, LEFT_OUT)
    named = {name: pd.desc_of(name) for name in call.tensors}
    layouts = {name: str(desc) for name, desc in named.items() if not desc.is_zero}
    return Attempt(pd.impl_info, "", layouts, pd.scratchpad_desc.size)


def _all(pd: Any, call: Call, log: Any, every: bool) -> list[Attempt]:
    attempts = [*declined(log.take(), call.row), _attempt_of(pd, call)]
    while (every or attempts[-1].reason) and pd.next_impl():
        attempts += [*declined(log.take(), call.row), _attempt_of(pd, call)]
    return attempts + (declined(log.take(), call.row) if every else [])


def _refusal(error: DnnlError, attempts: list[Attempt]) -> Answer:
    state = "invalid" if isinstance(error, InvalidArguments) else "refused"
    text = str(error.args[0] if error.args else error).split("\n")[0]
    return Answer(state, error=text, attempts=tuple(attempts))


def probe(case: Case, engine: Any, log: Any, every: bool = False) -> Answer:
    """Return oneDNN's answer to a case, without executing anything.

    ``log``: object with ``take() -> str``, oneDNN's log output since the last call; ``every``: list
    all implementations, rather than stopping at the first that accepts the case.
    """
    call, hint = case.call(), None
    log.take()
    if call.forward is not None:
        try:
            hint = describe(call.forward, engine, None, attributes.build(call.forward))
        except DnnlError as error:
            refusal = _refusal(error, declined(log.take(), call.forward.row))
            return replace(refusal, of_hint=True)
        log.take()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", OneDnnFaultWarning)
        try:
            pd = describe(call, engine, hint, attributes.build(call))
        except DnnlError as error:
            return _refusal(error, declined(log.take(), call.row))
    warned = tuple(str(w.message) for w in caught if issubclass(w.category, OneDnnFaultWarning))
    attempts = _all(pd, call, log, every)
    impl = next((a.impl for a in attempts if not a.reason), "")
    if not impl:
        return Answer("refused", error=LEFT_OUT, attempts=tuple(attempts))
    return Answer(state(impl), impl, "", tuple(attempts), warned)


# --- Names of devices and ISA levels

#: ISA levels by oneDNN's names, oldest first.
LEVELS = (
    *("sse41", "avx2", "avx2_vnni", "avx2_vnni_2"),
    *("avx512_core", "avx512_core_vnni", "avx512_core_bf16"),
    *("avx10_1_512", "avx10_1_512_amx", "avx10_1_512_amx_fp16", "avx10_2", "avx10_2_amx_2"),
)
#: Device names for PCI ids, if the driver reports only those.
_NAMES = {"0x56a0": "Arc A770", "0x4905": "DG1", "0x9a49": "Tiger Lake"}


def target_name(facts: dict[str, Any]) -> str:
    """Return the name of a target: ``cpu:avx2``, or the GPU's."""
    if facts["kind"] == "cpu":
        return f"cpu:{facts['isa']}"
    device = facts["device"]
    return next((name for number, name in _NAMES.items() if number in device), device)


# --- A worker process per device and ISA that describes cases and captures oneDNN's log


_LOG = {"ONEDNN_VERBOSE": "dispatch,check", "ONEDNN_VERBOSE_TIMESTAMP": "0"}


class Log:
    """The library's standard output since the last call."""

    def __init__(self) -> None:
        self.file = tempfile.TemporaryFile()  # noqa: SIM115 (open as long as the process)
        os.dup2(self.file.fileno(), 1)

    def take(self) -> str:
        """Return the output and clear it."""
        sys.stdout.flush()
        size = os.fstat(1).st_size
        text = os.pread(self.file.fileno(), min(size, 1 << 20), 0).decode(errors="replace")
        os.ftruncate(1, 0)
        os.lseek(1, 0, os.SEEK_SET)
        return text


_LIMIT = "ONEDNN_MAX_CPU_ISA"


class ProbeError(RuntimeError):
    """The worker process does not start because there is no such device."""


def _facts(stream: Any) -> dict[str, Any]:
    import sycl_dnn
    from sycl_dnn import onednn as dnnl

    device, version = stream.sycl_queue.sycl_device, dnnl.version()
    kind = device.device_type.name
    return {
        "device": device.name,
        "kind": kind,
        "isa": dnnl.get_effective_cpu_isa().name if kind == "cpu" else "",
        "simulated": is_simulated(kind),
        "driver": device.driver_version,
        "threads": os.cpu_count() if kind == "cpu" else 0,
        "oneDNN": ".".join(str(version[part]) for part in ("major", "minor", "patch")),
        "commit": version["hash"],
        "sycl_dnn": sycl_dnn.__version__,
    }


def serve(device: str) -> None:
    """Write facts, then an answer to each case on standard input, as lines of JSON."""
    results = os.fdopen(os.dup(1), "w", buffering=1)
    log = Log()
    stream = stream_on(device)
    results.write(json.dumps(_facts(stream)) + "\n")
    for line in sys.stdin:
        request = json.loads(line)
        answer = probe(Case(**request["case"]), stream.engine, log, request["every"])
        results.write(json.dumps(answer.as_dict()) + "\n")


class Prober:
    """Describes cases on one device under one ISA limit.

    ``device``: ``"cpu"``, ``"gpu"`` or a dpctl filter string; empty is the default device. ``isa``:
    oneDNN's name of a level, such as ``"avx2"``; empty for no limit. ``facts``: what the process
    reports about itself: device, kind, isa, simulated, driver and versions. Raises ProbeError if
    the process does not start; the message is its last output.
    """

    def __init__(self, device: str = "", isa: str = "") -> None:
        self.device, self.isa = device, isa
        self._start()

    def _start(self) -> None:
        variables = os.environ | _LOG
        if self.isa:
            variables[_LIMIT] = self.isa.upper()
        self.process = CaseProcess([sys.executable, "-c", _START, self.device], variables)
        self.facts = self.process.take()
        if self.facts is None:
            self.process.end()
            raise ProbeError(f"{self.device or 'default device'}: {self.process.last_line()}")

    def ask(self, case: Case, every: bool = False) -> Answer:
        """Return the answer to a case; ``died`` if it crashed the process."""
        self.process.give({"case": asdict(case), "every": every})
        answer = self.process.take()
        if answer is not None:
            return answer_of(answer)
        self.process.end()
        last = self.process.last_line()
        self._start()
        return Answer("died", error=f"the process died: {last}")

    def close(self) -> None:
        """End the process."""
        self.process.end()

    def __enter__(self) -> Prober:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


_START = "import sys; from sycl_dnn.tools.explain.probe import serve; serve(sys.argv[1])"
