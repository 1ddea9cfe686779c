# SPDX-License-Identifier: Apache-2.0
"""``python -m sycl_dnn``: the environment report, and the other commands."""

from __future__ import annotations

import argparse
import difflib
import importlib
import json
import os
import sys
from collections.abc import Callable, Iterable
from typing import Any

from sycl_dnn import _runtime
from sycl_dnn.tools import environment

#: Module and function of each command (imported on use), and its description.
COMMANDS: dict[str, tuple[str, str, str]] = {
    "report": ("sycl_dnn.__main__", "report_command", "this report, also without a command"),
    "explain": ("sycl_dnn.tools.explain.command", "main", "why a case is refused or slow"),
    "bench": ("sycl_dnn.tools.bench.command", "main", "measure cases: time, GFLOP/s, GB/s"),
    "launch": (
        "sycl_dnn.tools.launch.command",
        "main",
        "start the ranks of a program, and stop them together",
    ),
    "check-gpu": ("sycl_dnn.tools.check_gpu.command", "main", "check the GPUs, write a report"),
    "generate": (
        "sycl_dnn.tools.generate.command",
        "main",
        "print what a language model writes after a prompt",
    ),
    "trace": ("sycl_dnn.tools.profile.command", "main", "run a script and record its primitives"),
}


def _table(rows: Iterable[tuple[str, Any]]) -> list[str]:
    rows = list(rows)
    width = max((len(name) for name, _ in rows), default=0)
    return [f"  {name:<{width}}  {'-' if value is None else value}" for name, value in rows]


def _device_lines(device: dict[str, Any]) -> list[str]:
    aspects = [name for name, present in device["aspects"].items() if present]
    lacking = [name for name, present in device["aspects"].items() if not present]
    has = ", ".join(aspects) + (f"; not {', '.join(lacking)}" if lacking else "")
    engine = "yes" if device["engine"] else f"no: {device['refusal']}"
    mark = "  <- default_queue()" if device["default"] else ""
    rows = [
        ("kind", f"{device['kind']}, through {device['backend']}"),
        ("driver", f"{device['driver_version']} ({device['vendor']})"),
        ("memory", f"{device['memory_bytes'] / 2**30:.1f} GiB"),
        ("aspects", has),
        ("oneDNN engine", engine),
    ]
    title = f"  {device['filter_string']}: {device['name']}{mark}"
    return [title, *(f"  {line}" for line in _table(rows))]


def _missing_lines(missing: dict[str, str]) -> list[str]:
    lines = [f"  {missing['what']}"]
    return [*lines, f"    type: {missing['next']}"] if missing["next"] else lines


def format_report(data: dict[str, Any]) -> str:
    """Format the data of ``report.collect()``."""
    devices = [line for device in data["devices"] for line in _device_lines(device)]
    missing = [line for entry in data["missing"] for line in _missing_lines(entry)]
    sections = {
        "Versions": _table(data["versions"].items()),
        "Location": [f"  {folder}" for folder in data["location"]],
        "Devices": devices or ["  none"],
        "CPU instruction set of oneDNN": [f"  {data['cpu_isa'] or '-'}"],
        "Environment after import": _table(data["settings"].items()),
        "Fixed at import": [f"  {line}" for line in data["fixes"]],
        "Missing": missing,
    }
    parts = ["\n".join([title, *(lines or ["  nothing"])]) for title, lines in sections.items()]
    return "\n\n".join(parts)


def _epilog() -> str:
    lines = [f"  {name:<10} {summary}" for name, (_, _, summary) in COMMANDS.items()]
    return "\n".join(["commands (python -m sycl_dnn COMMAND --help):", *lines])


def report_command(arguments: list[str] | None = None) -> int:
    """Print the report; return 0 if there is a device that oneDNN can use, else 1."""
    parser = argparse.ArgumentParser(
        prog="python -m sycl_dnn",
        usage="python -m sycl_dnn [COMMAND] [--json]",
        description=__doc__,
        epilog=_epilog(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--json", action="store_true", help="print the same as JSON")
    options = parser.parse_args(arguments)
    _runtime.avoid_crash()
    data = environment.collect()
    print(json.dumps(data, indent=2) if options.json else format_report(data))
    return 0 if data["default"] is not None else 1


def command(name: str) -> Callable[[list[str]], int]:
    """Return a command's function, which maps arguments to an exit status."""
    module, function, _ = COMMANDS[name]
    return getattr(importlib.import_module(module), function)


def main(arguments: list[str] | None = None) -> int:
    """Run the command named by the first argument, or the report."""
    words = sys.argv[1:] if arguments is None else arguments
    if not words or words[0].startswith("-"):
        return report_command(words)
    if words[0] in COMMANDS:
        return command(words[0])(words[1:])
    print(_no_command(words[0]), file=sys.stderr)
    return 2


def _no_command(name: str) -> str:
    """Return the error message for an unknown command, with a suggestion."""
    near = next(iter(difflib.get_close_matches(name.lower(), COMMANDS, n=1, cutoff=0.5)), "")
    hint = f"did you mean {near}?" if near else f"commands are {', '.join(COMMANDS)}"
    return f"python -m sycl_dnn: there is no command {name!r}; {hint}"


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BrokenPipeError:
        # The reader of the output has exited; Python must not write to it at exit.
        os._exit(1)
