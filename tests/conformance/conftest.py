# SPDX-License-Identifier: Apache-2.0
"""How many cases had each status."""

from collections import Counter


def pytest_terminal_summary(terminalreporter):
    """Print the number of cases by status."""
    reports = (r for n in ("passed", "failed") for r in terminalreporter.stats.get(n, ()))
    counts = Counter(
        value for r in reports for name, value in r.user_properties if name == "status"
    )
    if counts:
        told = ", ".join(f"{number:,} {status}" for status, number in counts.most_common())
        terminalreporter.write_line(f"cases: {told}")
