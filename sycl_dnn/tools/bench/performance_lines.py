# SPDX-License-Identifier: Apache-2.0
"""Performance lines in benchdnn's form, and files."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sycl_dnn.tools.bench.measure import Figures

TEMPLATE = (
    "perf,%engine%,%impl%,%name%,%prb%,%Gops%,%ctime%,%-time%,%-Gflops%,%-bw%,%0time%,%0Gflops%,"
    "%0bw%"
)
#: Which time a figure is about, by the sign in front of it.
_TIMES: dict[str, Callable[[Figures], float]] = {
    "-": lambda f: f.min_ms,
    "0": lambda f: f.avg_ms,
    "+": lambda f: f.max_ms,
    "~": lambda f: f.median_ms,
}
_RATES: dict[str, Callable[[Figures, float], float]] = {
    "time": lambda f, ms: ms,
    "Gflops": lambda f, ms: f.gflops(ms),
    "bw": lambda f, ms: f.bandwidth(ms),
}
_PLAIN: dict[str, Callable[[Figures], Any]] = {
    "driver": lambda f: f.driver,
    "impl": lambda f: f.impl,
    "name": lambda f: f'"{f.name}"' if f.name else "",
    "prb": lambda f: f.line,
    "clock": lambda f: f.clock,
    "Gops": lambda f: f.flops * 1e-9,
    "Gbytes": lambda f: f.nbytes * 1e-9,
    "ctime": lambda f: f.create_ms,
}
_FIELD = re.compile(r"%([-0+~]?)(\w+)%")


def _known(sign: str, name: str) -> bool:
    return name in _RATES if sign else name in _PLAIN or name == "engine"


def check(template: str) -> str:
    """Return a template whose fields are all known.

    Raises
    ------
    ValueError
        A field is not known.
    """
    for sign, name in _FIELD.findall(template):
        if not _known(sign, name):
            some = ", ".join([*_PLAIN, "engine", *(f"-{n}" for n in _RATES)])
            raise ValueError(f"--perf-template must have fields such as {some}, got {sign}{name}")
    return template


def line(template: str, figures: Figures, engine: str) -> str:
    """Return one performance line.

    Parameters
    ----------
    template : text with fields between ``%``; ``-``, ``0``, ``+`` and ``~`` in front of ``time``,
        ``Gflops`` and ``bw`` are for the shortest, mean, longest and median time
    figures : Figures
    engine : what ``%engine%`` becomes
    """

    def value(found: re.Match) -> str:
        sign, name = found.groups()
        if name == "engine":
            return engine
        text = _RATES[name](figures, _TIMES[sign](figures)) if sign else _PLAIN[name](figures)
        return f"{text:.6g}" if isinstance(text, float) else str(text)

    return _FIELD.sub(value, template)


def write_json(path: Path, found: list[Figures], facts: dict[str, Any]) -> None:
    """Write facts of the device and all figures."""
    data = {"facts": facts, "cases": [one.as_dict() for one in found]}
    path.write_text(json.dumps(data, indent=1) + "\n")


def write_csv(path: Path, found: list[Figures]) -> None:
    """Write one row for each case."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, Figures("", "").as_dict())
        writer.writeheader()
        writer.writerows(one.as_dict() for one in found)
