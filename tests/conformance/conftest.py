# SPDX-License-Identifier: Apache-2.0
"""``--cases``: which cases run; and how many of them had each status."""

from collections import Counter


def pytest_addoption(parser):
    """Cases of one's own, or of benchdnn's files."""
    parser.addoption("--cases", help="lines in benchdnn's language instead of the folder's files")


def pytest_terminal_summary(terminalreporter):
    """Print the number of cases by status."""
    reports = (r for n in ("passed", "failed") for r in terminalreporter.stats.get(n, ()))
    counts = Counter(
        value for r in reports for name, value in r.user_properties if name == "status"
    )
    if counts:
        told = ", ".join(f"{number:,} {status}" for status, number in counts.most_common())
        terminalreporter.write_line(f"cases: {told}")
