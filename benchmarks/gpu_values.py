# SPDX-License-Identifier: Apache-2.0
"""Write the result of each implementation on the executing GPU, from the conformance tests'.

The table goes into docs/gpu_tests.md, which has the command.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import page_tables

PAGE = Path(__file__).parents[1] / "docs" / "gpu_tests.md"
#: Column -> statuses of conformance cases.
COLUMNS = {
    "passed": ("PASSED",),
    "failed": ("FAILED", "MISTRUSTED"),
    "known": ("KNOWN",),
    "refused": ("UNIMPLEMENTED",),
    "not run": ("SKIPPED", "LIMITS", "INVALID"),
}


def implementation(result: dict[str, str]) -> str:
    """Return the implementation without the name of its layout; "-" if there is none."""
    name = result["impl"].removesuffix(":any")
    return f"`{name}`" if name else "-"


def table(results: list[dict[str, str]]) -> str:
    """Return rows of primitive and implementation, with the number of cases by result."""
    columns = {status: column for column, statuses in COLUMNS.items() for status in statuses}
    counts: dict[tuple[str, str], Counter[str]] = {}
    for result in results:
        key = result["driver"], implementation(result)
        counts.setdefault(key, Counter())[columns[result["status"]]] += 1
    total = sum(counts.values(), Counter())
    rows = [[*key, *(count[c] or "" for c in COLUMNS)] for key, count in sorted(counts.items())]
    rows.append(["all", "", *(total[column] for column in COLUMNS)])
    return page_tables.table(["primitive", "implementation", *COLUMNS], rows, len(COLUMNS))


def results_of(file: Path) -> dict[str, dict[str, str]]:
    """Return the properties of each test in a file of ``pytest --junitxml``, by its name."""
    return {
        test.attrib["name"]: {p.attrib["name"]: p.attrib["value"] for p in test.iter("property")}
        for test in ElementTree.parse(file).iter("testcase")
    }


def main() -> None:
    """Read what ``pytest --junitxml`` wrote of the conformance tests, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path, help="of runs; later ones replace cases")
    results: dict[str, dict[str, str]] = {}
    for file in parser.parse_args().files:
        results |= results_of(file)
    page_tables.write(PAGE, values=table(list(results.values())))


if __name__ == "__main__":
    main()
