# SPDX-License-Identifier: Apache-2.0
"""``python -m sycl_dnn bench``: performance lines, files, a roofline picture."""

from __future__ import annotations

import argparse
import csv
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sycl_dnn.device import is_simulated
from sycl_dnn.errors import NoDeviceError
from sycl_dnn.tools.bench import roof
from sycl_dnn.tools.bench.measure import COLD, Figures, Settings, measure, stream_for
from sycl_dnn.tools.cases.case_files import Case
from sycl_dnn.tools.cases.command_line import byte_count, parser_of, read_cases
from sycl_dnn.tools.cases.driver import CaseError

_DESCRIPTION = """\
Measure cases in benchdnn's language and print a line for each:

  python -m sycl_dnn bench --matmul --dt=f32,bf16 512x512:512x512
  python -m sycl_dnn bench --conv --batch=shapes.in --csv=conv.csv --plot=roofline.png

Times are those of one run, in ms; rates are 10**9 operations and bytes per second. The exit status
is 0, 1 if no case could be measured, 2 for lines that cannot be read or devices that are not there.
"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of options that are independent of drivers."""
    result = parser_of("python -m sycl_dnn bench", _DESCRIPTION)
    add = result.add_argument
    add("--mode", choices=("P", "p"), help="as in benchdnn; performance is the only one here")
    add("--max-ms-per-prb", type=float, default=1000.0, metavar="MS", help="for a case (1000)")
    add("--fix-times-per-prb", type=int, metavar="N", help="run each case N times instead")
    add("--cold-cache", choices=COLD, default="none", help="what no run finds in the cache (none)")
    add("--max-memory", type=byte_count, default=4 << 30, metavar="B", help="bytes (4G)")
    add("--perf-template", default=TEMPLATE, metavar="T", help="fields of a line")
    add("--roof", action="store_true", help="measure the roof and print each case's share of it")
    add("--plot", type=Path, metavar="FILE", help="draw the roofline picture")
    add("--json", type=Path, metavar="FILE", help="write everything")
    add("--csv", type=Path, metavar="FILE", help="write one row a case")
    return result


def _checked(options: argparse.Namespace) -> Settings:
    if options.fix_times_per_prb is not None and options.fix_times_per_prb < 1:
        raise ValueError(f"--fix-times-per-prb must be at least 1, got {options.fix_times_per_prb}")
    if not 0 <= options.max_ms_per_prb <= 3.6e6:
        raise ValueError(f"--max-ms-per-prb must be 0 to 3600000, got {options.max_ms_per_prb:g}")
    if options.plot:
        roof.require_matplotlib()
    check(options.perf_template)
    seconds, runs = options.max_ms_per_prb / 1e3, options.fix_times_per_prb
    return Settings(seconds, runs, options.cold_cache, options.max_memory)


def _stream(name: str) -> Any:
    import sycl_dnn

    device = sycl_dnn.default_queue(name or None).sycl_device
    if is_simulated(device.device_type.name):
        raise ValueError(f"device must execute something, got the simulated {device.name}")
    return stream_for(device)


def _measured(cases: list[Case], stream: Any, settings: Settings, template: str) -> list[Figures]:
    kind, results = stream.sycl_queue.sycl_device.device_type.name, []
    print(f"Output template: {template}")
    for case in cases:
        figures = measure(case, stream, settings)
        results.append(figures)
        text = f"REFUSED {figures.line}: {figures.refusal}" if figures.refusal else ""
        print(text or line(template, figures, kind), flush=True)
    return results


def _with_roof(options: Any, cases: list[Case], figures: list[Figures], stream: Any, settings: Any):
    """Measure the roof, print shares, draw the plot; return facts for the output files."""
    accepted = [(f, roof.type_of(c)) for c, f in zip(cases, figures, strict=True) if not f.refusal]
    limits = roof.find([dtype for _, dtype in accepted], stream, settings)
    peaks = ", ".join(f"{t} {peak:.4g} GFLOP/s" for t, peak in limits.peaks.items())
    print(f"roof: {limits.bandwidth:.4g} GB/s; {peaks}")
    for figure, dtype in accepted:
        print(f"  {limits.share(figure, dtype):6.1%}  {figure.line}")
    if options.plot:
        name = stream.sycl_queue.sycl_device.name
        roof.save(options.plot, accepted, limits, name)
    return {"bandwidth": limits.bandwidth, "peaks": limits.peaks}


def _run(options: argparse.Namespace, words: list[str]) -> int:
    settings = _checked(options)
    cases, reader = read_cases(words)
    if not cases:
        why = "".join(f"; {reason}" for reason in reader.skipped)
        raise CaseError(f"bench: there must be a case, such as --matmul 512x512:512x512{why}")
    stream = _stream(options.device)
    figures = _measured(cases, stream, settings, options.perf_template)
    facts: dict[str, Any] = {"device": stream.sycl_queue.sycl_device.name}
    facts["cold_cache"] = settings.cold
    if options.roof or options.plot:
        facts["roof"] = _with_roof(options, cases, figures, stream, settings)
    if options.json:
        write_json(options.json, figures, facts)
    if options.csv:
        write_csv(options.csv, figures)
    return 0 if any(not figure.refusal for figure in figures) else 1


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return its exit status."""
    options, words = parser().parse_known_args(arguments)
    try:
        return _run(options, words)
    except (ValueError, NoDeviceError) as error:
        print(error, file=sys.stderr)
        return 2


# --- Output: performance lines and files


TEMPLATE = (
    "perf,%engine%,%impl%,%name%,%prb%,%Gops%,%ctime%,%-time%,%-Gflops%,%-bw%,%0time%,%0Gflops%,"
    "%0bw%"
)
#: The time that a figure refers to, by its prefix.
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


def check(template: str) -> str:
    """Validate the fields of a template and return it.

    Raises ValueError if a field is unknown.
    """
    for sign, name in _FIELD.findall(template):
        if not (name in _RATES if sign else name in _PLAIN or name == "engine"):
            some = ", ".join([*_PLAIN, "engine", *(f"-{n}" for n in _RATES)])
            raise ValueError(f"--perf-template must have fields such as {some}, got {sign}{name}")
    return template


def line(template: str, figures: Figures, engine: str) -> str:
    """Return one performance line.

    ``template``: text with fields between ``%``; prefixes ``-``, ``0``, ``+`` and ``~`` of
    ``time``, ``Gflops`` and ``bw`` select the minimum, mean, maximum and median time. ``engine``:
    value of ``%engine%``.
    """

    def value(match: re.Match) -> str:
        sign, name = match.groups()
        if name == "engine":
            return engine
        text = _RATES[name](figures, _TIMES[sign](figures)) if sign else _PLAIN[name](figures)
        return f"{text:.6g}" if isinstance(text, float) else str(text)

    return _FIELD.sub(value, template)


def write_json(path: Path, figures: list[Figures], facts: dict[str, Any]) -> None:
    """Write device facts and all figures."""
    data = {"facts": facts, "cases": [figure.as_dict() for figure in figures]}
    path.write_text(json.dumps(data, indent=1) + "\n")


def write_csv(path: Path, figures: list[Figures]) -> None:
    """Write one row per case."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, Figures("", "").as_dict())
        writer.writeheader()
        writer.writerows(figure.as_dict() for figure in figures)
