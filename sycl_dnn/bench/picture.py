# SPDX-License-Identifier: Apache-2.0
"""The roofline picture: cases below what bandwidth and peak allow. Needs matplotlib."""

from __future__ import annotations

from pathlib import Path

from sycl_dnn.bench.measure import Figures
from sycl_dnn.bench.roof import Roof


def require_matplotlib() -> None:
    """Raise where the picture cannot be drawn.

    Raises
    ------
    ValueError
        matplotlib is not installed; the text is what to type.
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise ValueError('--plot needs matplotlib; type: pip install "matplotlib>=3.8"') from None


def _extent(found: list[tuple[Figures, str]], roof: Roof) -> tuple[float, float]:
    """Return the range of intensities: all cases and the corners of the roof."""
    at = [f.intensity for f, _ in found]
    at += [peak / max(roof.bandwidth, 1e-9) for peak in roof.peaks.values()]
    return min(at, default=0.1) / 2, max(at, default=10.0) * 2


def roofline(found: list[tuple[Figures, str]], roof: Roof, title: str):
    """Return the figure.

    Parameters
    ----------
    found : list of (Figures, type)
        Cases; those without operations are left out.
    roof : Roof
    title : str

    Returns
    -------
    matplotlib.figure.Figure
        Operations a byte against GFLOP/s, both logarithmic; one roof and one colour for a type.
    """
    from matplotlib.figure import Figure

    shown = [(f, t) for f, t in found if f.flops and not f.refusal]
    low, high = _extent(shown, roof)
    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.add_subplot()
    types = list(dict.fromkeys([*roof.peaks, *(t for _, t in shown)]))
    for number, dtype in enumerate(types):
        color = f"C{number}"
        if dtype in roof.peaks:
            peak = roof.peaks[dtype]
            corner = peak / max(roof.bandwidth, 1e-9)
            x = [low, corner, high]
            label = f"{dtype}: {peak:.3g} GFLOP/s"
            axes.plot(x, [low * roof.bandwidth, peak, peak], color=color, label=label)
        mine = [(f.intensity, f.gflops(f.median_ms), f.name) for f, t in shown if t == dtype]
        axes.plot(*([p[i] for p in mine] for i in (0, 1)), "o", color=color)
        for x_, y_, name in mine:
            axes.annotate(name, (x_, y_), fontsize=7, xytext=(3, 3), textcoords="offset points")
    axes.set(xscale="log", yscale="log", xlabel="operations for each byte", ylabel="GFLOP/s")
    axes.set_title(f"{title}, {roof.bandwidth:.3g} GB/s")
    axes.grid(True, which="both", alpha=0.3)
    if roof.peaks:
        axes.legend()
    return figure


def save(path: Path, found: list[tuple[Figures, str]], roof: Roof, title: str) -> None:
    """Write the picture; the format is that of the file's name."""
    roofline(found, roof, title).savefig(path, dpi=150)
