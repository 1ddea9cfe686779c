# SPDX-License-Identifier: Apache-2.0
"""Run examples one after the other in one process, without a start-up for each.

    python tests/helpers/run_examples.py FILE... [-- OPTION...]

Every example gets the options. One line for each says how it ended; the output of one that fails
is printed. ``--report FILE`` before the files writes exit statuses and outputs as JSON. The exit
status is 0 if those of all examples are. Modules that examples share remain loaded.

``--once-more SECONDS`` is for drivers that crash or hang: an example that ends the process, or
prints nothing for that long, is run once more in a new process, followed by those after it.
"""

import argparse
import contextlib
import functools
import io
import json
import os
import runpy
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path

from simulated import leave


def run(path: Path, options: list[str]) -> tuple[int, str]:
    """Run an example as if it had been started by itself; return exit status and output."""
    folder, arguments, output = str(path.resolve().parent), sys.argv, io.StringIO()
    sys.argv = [str(path), *options]
    sys.path.insert(0, folder)
    status = 0
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        try:
            runpy.run_path(str(path), run_name="__main__")
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else int(end.code is not None)
            if isinstance(end.code, str):
                print(end.code)
        except Exception:
            status = 1
            traceback.print_exc()
    sys.argv = arguments
    sys.path.remove(folder)
    return status, output.getvalue()


def start(command: list, folder: Path | str, timeout: int) -> tuple[int, str, str]:
    """Run a Python command in a folder; return exit status, output and errors."""
    done = subprocess.run(
        [sys.executable, *map(str, command)],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "MPLCONFIGDIR": str(folder)},
        timeout=timeout,
    )
    return done.returncode, done.stdout, done.stderr


@functools.cache
def run_all(files: tuple[Path, ...], *options: str) -> dict[Path, tuple[int, str]]:
    """Run examples in one new process; return the exit status and the output of each."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        _, _, errors = start([__file__, "--report", report, *files, "--", *options], folder, 900)
        assert report.exists(), f"the process ended early: {errors}"
        ended = json.loads(report.read_text(encoding="utf-8"))
    return {file: ended[str(file)] for file in files}


def follow(child: subprocess.Popen, silence: float) -> list[str]:
    """Print the output of a process until it ends; kill it if it is silent for that long."""

    def end() -> None:
        print(f"nothing printed for {silence:g} s: process killed", flush=True)
        child.kill()

    lines = []
    while True:
        patience = threading.Timer(silence, end)
        patience.start()
        line = child.stdout.readline()
        patience.cancel()
        if not line:
            child.wait()
            return lines
        print(line, end="", flush=True)
        lines.append(line)


def run_twice(files: list[Path], options: list[str], silence: float) -> int:
    """Run the files in child processes; return 1 if one fails, or ends its process twice."""
    failed, ended = False, set()
    while files:
        command = [sys.executable, __file__, *map(str, files), "--", *options]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        lines = follow(child, silence)
        failed |= child.returncode > 0
        if child.returncode >= 0:
            break
        files = files[sum(line.startswith(tuple(f"{f}: " for f in files)) for line in lines) :]
        for file in files[:1]:
            again = file not in ended
            print(f"{file}: ended its process with status {child.returncode}", flush=True)
            ended.add(file)
            if not again:
                failed, files = True, files[1:]
    return int(failed)


def main() -> int:
    """Run the files before ``--`` with the options after it."""
    arguments = sys.argv[1:]
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--report", type=Path, help="JSON of exit statuses and outputs")
    parser.add_argument("--once-more", type=float, metavar="SECONDS", help="see above")
    parser.add_argument("files", nargs="+", type=Path)
    asked = parser.parse_args(arguments[:cut])
    if asked.once_more:
        return run_twice(asked.files, arguments[cut + 1 :], asked.once_more)
    report = {}
    for path in asked.files:
        started = time.perf_counter()
        status, output = report[str(path)] = run(path, arguments[cut + 1 :])
        last = output.strip().rpartition("\n")[2]
        print(f"{path}: {time.perf_counter() - started:.1f} s: {last}", flush=True)
        if status:
            print(f"{output}FAILED: {path}, exit status {status}", flush=True)
    if asked.report:
        asked.report.write_text(json.dumps(report), encoding="utf-8")
    failed = sum(status != 0 for status, _ in report.values())
    print(f"{len(report) - failed} of {len(report)} examples ran")
    leave(int(failed > 0))
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
