# SPDX-License-Identifier: Apache-2.0
"""``python -m sycl_dnn bench``: performance lines, files, a roofline picture."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from sycl_dnn.device import is_simulated
from sycl_dnn.errors import NoDeviceError
from sycl_dnn.tools.bench import performance_lines, roof
from sycl_dnn.tools.bench.measure import COLD, Figures, Settings, measure, stream_for
from sycl_dnn.tools.verify.case_files import Case
from sycl_dnn.tools.verify.command import byte_count, parser_of, read_cases
from sycl_dnn.tools.verify.driver import CaseError

_DESCRIPTION = """\
Measure cases in benchdnn's language and print a line for each:

  python -m sycl_dnn bench --matmul --dt=f32,bf16 512x512:512x512
  python -m sycl_dnn bench --conv --batch=shapes.in --csv=conv.csv --plot=roofline.png

Times are those of one run, in ms; rates are 10**9 operations and bytes a second. The exit status
is 0, 1 if no case could be measured, 2 for lines that cannot be read or devices that are not there.
"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of what is no option of a driver."""
    found = parser_of("sycl_dnn bench", _DESCRIPTION)
    add = found.add_argument
    add("--mode", choices=("P", "p"), help="as in benchdnn; performance is the only one here")
    add("--max-ms-per-prb", type=float, default=1000.0, metavar="MS", help="for a case (1000)")
    add("--fix-times-per-prb", type=int, metavar="N", help="run each case N times instead")
    add("--cold-cache", choices=COLD, default="none", help="what no run finds in the cache (none)")
    add("--max-memory", type=byte_count, default=4 << 30, metavar="B", help="bytes (4G)")
    add("--perf-template", default=performance_lines.TEMPLATE, metavar="T", help="fields of a line")
    add("--roof", action="store_true", help="measure the roof and print each case's share of it")
    add("--plot", type=Path, metavar="FILE", help="draw the roofline picture")
    add("--json", type=Path, metavar="FILE", help="write everything")
    add("--csv", type=Path, metavar="FILE", help="write one row a case")
    return found


def _checked(options: argparse.Namespace) -> Settings:
    """Return the settings, before anything is measured."""
    if options.fix_times_per_prb is not None and options.fix_times_per_prb < 1:
        raise ValueError(f"--fix-times-per-prb must be at least 1, got {options.fix_times_per_prb}")
    if not 0 <= options.max_ms_per_prb <= 3.6e6:
        raise ValueError(f"--max-ms-per-prb must be 0 to 3600000, got {options.max_ms_per_prb:g}")
    if options.plot:
        roof.require_matplotlib()
    performance_lines.check(options.perf_template)
    seconds, runs = options.max_ms_per_prb / 1e3, options.fix_times_per_prb
    return Settings(seconds, runs, options.cold_cache, options.max_memory)


def _stream(name: str) -> Any:
    import sycl_dnn

    device = sycl_dnn.default_queue(name or None).sycl_device
    if is_simulated(device.device_type.name):
        raise ValueError(f"device must execute something, got the simulated {device.name}")
    return stream_for(device)


def _measured(cases: list[Case], stream: Any, settings: Settings, template: str) -> list[Figures]:
    kind, found = stream.sycl_queue.sycl_device.device_type.name, []
    print(f"Output template: {template}")
    for case in cases:
        one = measure(case, stream, settings)
        found.append(one)
        text = f"REFUSED {one.line}: {one.refusal}" if one.refusal else ""
        print(text or performance_lines.line(template, one, kind), flush=True)
    return found


def _with_roof(options: Any, cases: list[Case], found: list[Figures], stream: Any, settings: Any):
    """Measure the roof, print shares, draw; return the facts for the files."""
    done = [(f, roof.type_of(c)) for c, f in zip(cases, found, strict=True) if not f.refusal]
    limits = roof.find([dtype for _, dtype in done], stream, settings)
    peaks = ", ".join(f"{t} {peak:.4g} GFLOP/s" for t, peak in limits.peaks.items())
    print(f"roof: {limits.bandwidth:.4g} GB/s; {peaks}")
    for one, dtype in done:
        print(f"  {limits.share(one, dtype):6.1%}  {one.line}")
    if options.plot:
        name = stream.sycl_queue.sycl_device.name
        roof.save(options.plot, done, limits, name)
    return {"bandwidth": limits.bandwidth, "peaks": limits.peaks}


def _run(options: argparse.Namespace, words: list[str]) -> int:
    settings = _checked(options)
    cases, reader = read_cases(words)
    if not cases:
        why = "".join(f"; {reason}" for reason in reader.skipped)
        raise CaseError(f"bench: there must be a case, such as --matmul 512x512:512x512{why}")
    stream = _stream(options.device)
    found = _measured(cases, stream, settings, options.perf_template)
    facts: dict[str, Any] = {"device": stream.sycl_queue.sycl_device.name}
    facts["cold_cache"] = settings.cold
    if options.roof or options.plot:
        facts["roof"] = _with_roof(options, cases, found, stream, settings)
    if options.json:
        performance_lines.write_json(options.json, found, facts)
    if options.csv:
        performance_lines.write_csv(options.csv, found)
    return 0 if any(not one.refusal for one in found) else 1


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return its exit status."""
    options, words = parser().parse_known_args(arguments)
    try:
        return _run(options, words)
    except (ValueError, NoDeviceError) as error:
        print(error, file=sys.stderr)
        return 2
