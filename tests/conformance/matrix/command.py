# SPDX-License-Identifier: Apache-2.0
"""``python tests/conformance matrix``: measure, write, compare."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from conformance.matrix import record
from conformance.matrix.families import FAMILIES, cells
from conformance.matrix.page import page
from conformance.matrix.record import measure
from sycl_dnn.tools.explain.probe import ProbeError, check_levels

_DESCRIPTION = """\
Make primitive descriptors for every primitive, direction, type and layout, and write which
implementation oneDNN chooses on each device. Nothing is executed.

  python tests/conformance matrix --json matrix.json --markdown matrix.md
  python tests/conformance matrix --device cpu --isa avx2 --drivers conv,matmul
  python tests/conformance matrix --compare matrix.json

The exit status is 0, 1 if --compare finds something worse on the same device, 2 for arguments that
cannot be used. On another device differences are shown and do not count.
"""


def _list(text: str) -> tuple[str, ...]:
    return tuple(part for part in text.split(",") if part)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    result = argparse.ArgumentParser(
        prog="python tests/conformance matrix",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = result.add_argument
    add("--device", action="append", metavar="D", help="cpu, gpu or a filter string; repeatable")
    add("--isa", type=_list, default=(), metavar="L,L", help="levels, native: the highest (all)")
    add("--drivers", type=_list, default=tuple(FAMILIES), metavar="D,D", help="drivers (all)")
    add("--json", type=Path, metavar="FILE", help="write every answer")
    add("--markdown", type=Path, metavar="FILE", help="write the page")
    add("--with", dest="others", type=Path, action="append", default=[], metavar="FILE",
        help="add the other targets of this JSON file")  # fmt: skip
    add("--compare", type=Path, metavar="FILE", help="show what differs from this JSON file")
    return result


def _devices(kinds: list[str] | None) -> list[str]:
    """Return the selected devices: by default, the CPU and a GPU if there is one."""
    from sycl_dnn.device import usable_devices

    return kinds or [kind for kind in ("cpu", "gpu") if usable_devices(kind)]


def _together(measured: record.Record, others: list[record.Record]) -> record.Record:
    """Return one record in which new measurements replace those of the other records."""
    merged = record.Record()
    order = dict.fromkeys(name for one in (*others, measured) for name in one.targets)
    for one in (measured, *others):
        merged.add(one)
    merged.targets = {name: merged.targets[name] for name in order}
    return merged


def _run(options: argparse.Namespace) -> int:
    old = record.load(options.compare) if options.compare else None
    others = [record.load(path) for path in options.others]
    asked = list(cells(options.drivers))
    measured = measure(_devices(options.device), check_levels(options.isa), asked, print)
    difference = record.compare(old, measured) if old else None
    merged = _together(measured, others)
    if options.json:
        merged.save(options.json)
    if options.markdown:
        options.markdown.write_text(page(merged))
    if difference is None:
        return 0
    print("\n".join(record.lines(difference)))
    return 1 if difference.failures else 0


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return its exit status."""
    options = parser().parse_args(arguments)
    try:
        return _run(options)
    except (ProbeError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
