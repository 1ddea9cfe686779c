# SPDX-License-Identifier: Apache-2.0
"""``python -m sycl_dnn check-gpu``: check all GPUs of this machine and write a report."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from typing import Any

from sycl_dnn.tools.check_gpu.device_checks import CHECKS, Outcome, outcome
from sycl_dnn.tools.check_gpu.progress_bar import Progress
from sycl_dnn.tools.check_gpu.report_page import page, verdict

_DESCRIPTION = """\
Check what works on the GPUs of this machine, through OpenCL and through Level Zero, and write one
zip with an HTML page to read and a JSON file to compare:

  python -m sycl_dnn check-gpu --report gpu_report.zip

Each check runs in a separate process: a driver that crashes or hangs is a row of the report.
Nothing is sent anywhere. The exit status is 0 if nothing failed, 1 if something did, 2 for wrong
options, 3 if there is no GPU (the CPU is checked in its place), 130 after Ctrl-C, which writes the
report of the checks that had ended.
"""
_BACKENDS = ("level_zero", "opencl")
#: Seconds for a process to end after its result is written.
_PATIENCE = 20.0


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    found_parser = argparse.ArgumentParser(
        prog="python -m sycl_dnn check-gpu",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = found_parser.add_argument
    add("--report", type=Path, default=Path("gpu_report.zip"), metavar="FILE", help="the zip")
    add("--minutes", type=float, default=10.0, metavar="M", help="time for everything (10)")
    add("--device", metavar="D", help="check this device only, a dpctl filter such as cpu")
    add("--only", metavar="NAMES", help=f"some of {','.join(CHECKS)}")
    return found_parser


def _last_lines(log: str) -> str:
    return "\n".join(log.strip().splitlines()[-12:])


def _how(status: int | None) -> tuple[str, str]:
    """Return status and description of the end of a check's process; None: it was killed."""
    if status is None:
        return "hung", "hung"
    if status < 0:
        return "crashed", f"crashed: {signal.Signals(-status).name}"
    return "crashed", f"ended with status {status}"


def _lost(status: int | None, log: str, limit: float) -> Outcome:
    """Return the result for a process that wrote none."""
    name, how = _how(status)
    summary = f"not done after {limit:.0f} s" if status is None else how
    return outcome(name, summary, [{"last lines": _last_lines(log)}], limit=limit)


def _amended(result: Outcome, status: int | None, log: str) -> Outcome:
    """Return a check's result, amended if its process ended abnormally afterwards."""
    if status == 0:
        return result
    name, how = _how(status)
    return {
        "status": "failed" if result["status"] == "failed" else name,
        "summary": f"{result['summary']}; after that its process {how}",
        "rows": result["rows"],
        "figures": result["figures"] | {"found": result["status"], "last lines": _last_lines(log)},
    }


def _wait(process: subprocess.Popen, result: Path, limit: float) -> int | None:
    """Return the status of a process, or None if it is still running; the result comes last."""
    end, written = time.monotonic() + limit, False
    while (left := end - time.monotonic()) > 0:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.wait(min(left, 0.2))
        if result.exists() and not written:
            end, written = min(end, time.monotonic() + _PATIENCE), True
    return process.poll()


def run(
    name: str, device: str, seconds: float, limit: float, **variables: str
) -> tuple[Outcome, str]:
    """Run one check in a separate process.

    ``name``: one of ``CHECKS``, or ``devices``; ``device``: a dpctl filter string; ``seconds``:
    time budget of the check; ``limit``: timeout in seconds, after which the process and its
    children are killed; ``**variables``: environment variables of the process. The result, and the
    output of the process.
    """
    with tempfile.TemporaryDirectory() as folder:
        result, log = Path(folder, "result.json"), Path(folder, "log.txt")
        words = [name, device, f"{seconds:.1f}", f"{limit:.1f}", str(result)]
        command = [sys.executable, "-m", "sycl_dnn.tools.check_gpu.device_checks", *words]
        with log.open("w") as output:
            process = subprocess.Popen(
                command, stdout=output, stderr=output, stdin=subprocess.DEVNULL,
                start_new_session=True, env={**os.environ, **variables},
            )  # fmt: skip
        try:
            status = _wait(process, result, limit)
        finally:
            _end(process)
        text = log.read_text(errors="replace")
        if result.exists():
            return _amended(json.loads(result.read_text()), status, text), text
        return _lost(status, text, limit), text


def _end(process: subprocess.Popen) -> None:
    """Kill a running process and its children."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


class Session:
    """The checks of one run, in order, within a time budget.

    minutes : total budget
    total : number of checks for the progress bar, known once devices are listed
    """

    def __init__(self, minutes: float) -> None:
        self.end = time.monotonic() + 60 * minutes
        self.minutes = minutes
        self.progress = Progress(1, sys.stderr)
        self.results: list[dict[str, Any]] = []
        self.logs: dict[str, str] = {}
        self.variables: dict[str, str] = {}

    def left(self) -> float:
        """Return the remaining seconds."""
        return self.end - time.monotonic()

    def check(self, name: str, device: str, seconds: float) -> Outcome:
        """Run a check; store and print its result."""
        start, log = time.monotonic(), ""
        if self.left() < 5:
            result = outcome("not run", "no time was left")
        else:
            patience = 3 * seconds + 60
            limit = max(min(patience, self.left()), 1)
            result, log = run(name, device, min(seconds, limit / 2), limit, **self.variables)
            if result["status"] == "hung" and limit < patience:
                result = outcome("not run", f"the time of the run was over after {limit:.0f} s")
        result |= {"check": name, "device": device, "seconds": round(time.monotonic() - start, 1)}
        self.results.append(result)
        self.logs[f"{device.replace(':', '_') or 'machine'}_{name}.txt"] = log
        self.progress.clear()
        print(f"{result['status']:<10}{device:<18}{name:<13}{result['summary']}", flush=True)
        bad = result["status"] in ("failed", "crashed", "hung")
        self.progress.step(bad)
        return result


def _devices(session: Session) -> list[dict[str, Any]]:
    """List devices; if Level Zero crashes the process, list again without it."""
    listed = session.check("devices", "", 0.05 * 60 * session.minutes)
    lost = "environment" not in listed["figures"]
    if lost and listed["status"] in ("crashed", "hung"):
        session.variables["ONEAPI_DEVICE_SELECTOR"] = "opencl:*"
        listed = session.check("devices", "", 0.05 * 60 * session.minutes)
    return listed["figures"].get("environment", {}).get("devices", [])


def _chosen(devices: list[dict[str, Any]], expected: str | None) -> list[dict[str, Any]]:
    """Return the devices to check: GPUs on every backend, else the CPU, or the one requested."""
    usable = [d for d in devices if d["engine"]]
    if expected is not None:
        return [d for d in usable if _is_meant(d["filter_string"], expected)][:1]
    gpus = [d for d in usable if d["kind"] == "gpu"]
    gpus.sort(key=lambda d: _BACKENDS.index(d["backend"]) if d["backend"] in _BACKENDS else 9)
    return gpus or [d for d in usable if d["kind"] == "cpu"]


def _is_meant(filter_string: str, expected: str) -> bool:
    return filter_string == expected or set(expected.split(":")) <= set(filter_string.split(":"))


def _backends(devices: list[dict[str, Any]]) -> list[dict[str, str]]:
    """Return a table of the GPUs visible to each backend."""
    rows = []
    for backend in _BACKENDS:
        gpus = [d for d in devices if d["kind"] == "gpu" and d["backend"] == backend]
        names = [f"{d['name']}{'' if d['engine'] else ', refused: ' + d['refusal']}" for d in gpus]
        rows.append({"backend": backend, "GPUs": "; ".join(names) or "none"})
    return rows


def _without_home(text: str) -> str:
    """Replace the user's home folder in a text."""
    home = str(Path.home())
    return text.replace(home, "~") if len(home) > 1 else text


def write(path: Path, data: dict[str, Any], logs: dict[str, str]) -> None:
    """Write the zip: ``report.html``, ``report.json`` and the output of every check."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("report.json", _without_home(json.dumps(data, indent=1)) + "\n")
        file.writestr("report.html", _without_home(page(data)))
        for name, text in logs.items():
            file.writestr(f"logs/{name}", _without_home(text[-200_000:]))


def _checked(arguments: list[str] | None) -> tuple[argparse.Namespace, list[str]]:
    options = parser().parse_args(arguments)
    names = list(CHECKS) if options.only is None else options.only.split(",")
    if unknown := set(names) - set(CHECKS):
        parser().error(f"--only must name some of {', '.join(CHECKS)}, got {', '.join(unknown)}")
    if not 0.1 <= options.minutes <= 600:
        parser().error(f"--minutes must be 0.1 to 600, got {options.minutes:g}")
    if not options.report.suffix and not options.report.is_dir():
        options.report = options.report.with_name(f"{options.report.name}.zip")
    if problem := _unwritable(options.report):
        parser().error(f"--report must name a file {problem}, got {options.report}")
    return options, names


def _unwritable(path: Path) -> str:
    """Return why a report cannot be written to a path; "" if it can."""
    folder = path.resolve().parent
    if not folder.is_dir():
        return "in a folder that exists"
    if path.is_dir():
        return "and not a folder"
    try:
        with path.open("ab") if path.exists() else tempfile.TemporaryFile(dir=folder):
            return ""
    except OSError as error:
        return f"that can be written ({error.strerror})"


def _check_all(session: Session, devices: list[dict[str, Any]], names: list[str]) -> None:
    session.progress.total = len(session.results) + len(devices) * len(names)
    shares = sum(CHECKS[name][1] for name in names) * max(len(devices), 1)
    budget = max(session.left() - 5, 1) * 0.85
    for device in devices:
        for name in names:
            session.check(name, device["filter_string"], budget * CHECKS[name][1] / shares)


def main(arguments: list[str] | None = None) -> int:
    """Check the devices, write the report, and return the exit status."""
    options, names = _checked(arguments)
    start, session = time.time(), Session(options.minutes)
    devices: list[dict[str, Any]] = []
    chosen: list[dict[str, Any]] = []
    interrupted = False
    try:
        devices = _devices(session)
        chosen = _chosen(devices, options.device)
        filters = [d["filter_string"] for d in devices]
        if options.device and filters and not any(_is_meant(k, options.device) for k in filters):
            parser().error(f"--device must be one of {', '.join(filters)}, got {options.device}")
        _check_all(session, chosen, names)
    except KeyboardInterrupt:
        interrupted = True
    session.progress.clear()
    data = {
        "when": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(start)),
        "minutes": round((time.time() - start) / 60, 2),
        "asked": options.device,
        "interrupted": interrupted,
        "checked": chosen,
        "backends": _backends(devices),
        "results": session.results,
    }
    data["verdict"] = verdict(data)
    write(options.report, data, session.logs)
    print(f"\n{data['verdict']['text']}\nreport: {options.report}")
    return data["verdict"]["status"]
