# SPDX-License-Identifier: Apache-2.0
"""Write the result of each implementation on the executing GPU, from the verifier's output.

The table goes into docs/gpu_tests.md, which has the command.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[1] / "docs" / "gpu_tests.md"
BEGIN, END = "<!-- values: begin -->\n", "<!-- values: end -->\n"
#: Column -> statuses of the verifier.
COLUMNS = {
    "passed": ("PASSED",),
    "failed": ("FAILED", "MISTRUSTED"),
    "known": ("KNOWN",),
    "refused": ("UNIMPLEMENTED",),
    "not run": ("SKIPPED", "LIMITS", "INVALID"),
}


def implementation(result: dict[str, Any]) -> str:
    """Return the implementation without the name of its layout; "-" if there is none."""
    name = result["impl"].removesuffix(":any")
    return f"`{name}`" if name else "-"


def table(results: list[dict[str, Any]]) -> str:
    """Return rows of primitive and implementation, with the number of cases by result."""
    columns = {status: column for column, statuses in COLUMNS.items() for status in statuses}
    counts: dict[tuple[str, str], Counter[str]] = {}
    for result in results:
        key = result["driver"], implementation(result)
        counts.setdefault(key, Counter())[columns[result["status"]]] += 1
    total = sum(counts.values(), Counter())
    lines = [["primitive", "implementation", *COLUMNS], ["---", "---", *["--:"] * len(COLUMNS)]]
    for key, count in sorted(counts.items()):
        lines.append([*key, *(str(count[column] or "") for column in COLUMNS)])
    lines.append(["all", "", *(str(total[column]) for column in COLUMNS)])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def page(text: str, made: str) -> str:
    """Return the page with a new table between its markers."""
    pattern = re.compile(re.escape(BEGIN) + ".*" + re.escape(END), re.DOTALL)
    return pattern.sub(lambda _: f"{BEGIN}\n{made}\n{END}", text)


def main() -> None:
    """Read files that ``python tests/conformance verify --json`` wrote, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path, help="of verify --json")
    parser.add_argument("again", nargs="*", type=Path, help="the same of cases that ran again")
    options = parser.parse_args()
    results, *later = (
        json.loads(file.read_text())["results"] for file in (options.file, *options.again)
    )
    newer = {result["line"]: result for again in later for result in again}
    results = [newer.pop(result["line"], result) for result in results]
    PAGE.write_text(page(PAGE.read_text(), table([*results, *newer.values()])))


if __name__ == "__main__":
    main()
