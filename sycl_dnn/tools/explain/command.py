# SPDX-License-Identifier: Apache-2.0
"""``python -m sycl_dnn explain``: explain cases in benchdnn's language."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from sycl_dnn.tools.cases.command_line import parser_of, read_cases
from sycl_dnn.tools.cases.driver import CaseError
from sycl_dnn.tools.explain.judge import Explanation, explain
from sycl_dnn.tools.explain.probe import LEVELS, ProbeError, Prober, target_name

_DESCRIPTION = """\
Say why oneDNN refuses a case or runs it slowly, and which similar cases are better:

  python -m sycl_dnn explain --conv --dir=BWD_W --dt=bf16 --stag=abx mb1ic3ih227oc96kh11sh4
  python -m sycl_dnn explain --isa avx2 --matmul --dt=bf16 --attr-post-ops=relu 12x32:32x16

The language is benchdnn's, see docs/verify.md. Nothing is executed. The exit status is 0, 2
for lines that cannot be read or devices that are not there.
"""
_MAX_CASES = 50


def parser() -> argparse.ArgumentParser:
    """Return the parser of options that are independent of drivers."""
    result = parser_of("python -m sycl_dnn explain", _DESCRIPTION)
    add = result.add_argument
    add("--isa", default="", metavar="L", help="limit the CPU to this level, such as avx2")
    add("--all", action="store_true", help="list all variants that oneDNN accepts")
    add("--limit", type=int, default=12, metavar="N", help="variants to list (12)")
    add("--json", type=Path, metavar="FILE", help="write everything as JSON")
    return result


def _attempts(explanation: Explanation) -> list[str]:
    """Format the implementations, in oneDNN's order."""
    width = max((len(a.impl or "(no name)") for a in explanation.answer.attempts), default=0)
    lines, first = [], True
    for number, attempt in enumerate(explanation.answer.attempts, start=1):
        outcome = f"declines: {attempt.reason}" if attempt.reason else "takes it"
        if not attempt.reason and first:
            outcome, first = "takes it  <- this one runs", False
        lines.append(f"    {number:>2}. {attempt.impl or '(no name)':<{width}}  {outcome}")
        if attempt.layouts:
            tags = (f"{n} {t.rpartition(' ')[2]}" for n, t in attempt.layouts.items())
            lines.append(f"        {'':<{width}}  {', '.join(tags)}")
    return lines or ["    (oneDNN's log names none)"]


def _variants(explanation: Explanation, limit: int) -> list[str]:
    if not explanation.better:
        return [f"  none of {explanation.tried} variants has a better implementation"]
    lines = ["  nearest variants that are better:"]
    for variant, answer in explanation.better[:limit]:
        lines.append(f"    {answer.state}: {answer.impl}  ({variant.change})")
        lines.append(f"        {variant.case.line}")
    n_more = len(explanation.better) - limit
    return [*lines, f"    ... and {n_more} more (--limit)"] if n_more > 0 else lines


def text(explanation: Explanation, limit: int = 12) -> str:
    """Format an explanation as text."""
    answer = explanation.answer
    head = f"{answer.state}: {answer.impl or answer.error}"
    lines = [explanation.case.line, f"  {head}", *(f"  - {note}" for note in explanation.notes)]
    lines += ["  implementations in oneDNN's order:", *_attempts(explanation)]
    return "\n".join([*lines, *_variants(explanation, limit)])


def _run(options: argparse.Namespace, words: list[str]) -> int:
    cases, reader = read_cases(words)
    if not 0 < len(cases) <= _MAX_CASES:
        why = "".join(f"; {reason}" for reason in reader.skipped)
        raise CaseError(f"explain: cases must be 1 to {_MAX_CASES}, got {len(cases)}{why}")
    if options.isa not in ("", *LEVELS):
        raise ValueError(f"isa must be of {', '.join(LEVELS)}, got {options.isa!r}")
    matches = []
    with Prober(options.device, options.isa) as prober:
        if options.isa and prober.facts["isa"] != options.isa:
            raise ProbeError(f"explain: this machine has no {options.isa}")
        print(f"{target_name(prober.facts)}: {prober.facts['device']}")
        for case in cases:
            matches.append(explain(case, prober, options.all))
            print(f"\n{text(matches[-1], options.limit)}")
    if options.json:
        data = {"facts": prober.facts, "cases": [match.as_dict() for match in matches]}
        options.json.write_text(json.dumps(data, indent=1) + "\n")
    return 0


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return its exit status."""
    options, words = parser().parse_known_args(arguments)
    try:
        return _run(options, words)
    except (CaseError, ProbeError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
