# SPDX-License-Identifier: Apache-2.0
"""A picture of a profile."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from sycl_dnn.profiling.record import Record
from sycl_dnn.profiling.summary import Summary, charged, summarized

__all__ = ["parts_by_name", "plot"]

#: What a bar is made of: label, colour, and which records belong to it; the first that fits.
PARTS: tuple[tuple[str, str, Callable[[Record], bool]], ...] = (
    ("inserted reorder", "#e8a33d", lambda r: r.inserted),
    ("ref implementation", "#c8443c", lambda r: r.reference),
    ("dpnp", "#8a6fb0", lambda r: r.kind == "dpnp"),
    ("oneDNN", "#3c78b4", lambda r: True),
)
#: Bars; what is less becomes one.
_MOST = 15


def parts_by_name(records: Sequence[Record]) -> dict[str, list[float]]:
    """Return milliseconds by name and, in a list, by part; the longest first."""
    found: dict[str, list[float]] = {}
    for record, spent in zip(records, charged(records)[1], strict=True):
        if record.is_execution:
            number = next(i for i, (_, _, fits) in enumerate(PARTS) if fits(record))
            found.setdefault(record.name, [0.0] * len(PARTS))[number] += spent / 1e6
    longest = sorted(found.items(), key=lambda item: -sum(item[1]))
    shown, rest = longest[:_MOST], longest[_MOST:]
    if rest:
        sums = [sum(values) for values in zip(*(v for _, v in rest), strict=True)]
        shown.append((f"({len(rest)} more)", sums))
    return dict(shown)


def plot(records: Sequence[Record], path: str | os.PathLike[str]) -> None:
    """Draw the picture of ``Profile.plot``."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("plot: matplotlib must be installed: pip install matplotlib") from None
    parts = parts_by_name(records)
    totals = summarized(records)
    figure = Figure(figsize=(11, max(3.2, 0.34 * len(parts) + 1.6)), layout="constrained")
    FigureCanvasAgg(figure)
    bars, shares = figure.subplots(1, 2, width_ratios=(3, 1))
    _draw_bars(bars, parts, totals)
    _draw_shares(shares, totals)
    figure.savefig(path, dpi=120)


def _draw_bars(axes: Any, parts: dict[str, list[float]], totals: Summary) -> None:
    names = list(parts)[::-1]
    left = [0.0] * len(names)
    for number, (label, colour, _) in enumerate(PARTS):
        widths = [parts[n][number] for n in names]
        if any(widths):
            axes.barh(names, widths, left=left, color=colour, label=label)
        left = [a + b for a, b in zip(left, widths, strict=True)]
    what = ", ".join(totals.clocks) if totals.measure == "time" else "of submission"
    axes.set_xlabel(f"ms ({what})")
    axes.set_title(f"{totals.executions} executions")
    if names:
        axes.legend(loc="lower right")


def _draw_shares(axes: Any, totals: Summary) -> None:
    names = [label.replace(" ", "\n") for label, _, _ in PARTS[:3]]
    shares = [totals.inserted_share, totals.reference_share, totals.dpnp_share]
    drawn = axes.bar(names, [100 * s for s in shares], color=[c for _, c, _ in PARTS[:3]])
    axes.bar_label(drawn, fmt="%.1f")
    axes.set_ylim(0, max(10.0, 115 * max(shares)))
    axes.set_ylabel(f"% of {totals.measure}")
    axes.set_title("shares")
