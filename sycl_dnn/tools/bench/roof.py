# SPDX-License-Identifier: Apache-2.0
"""The roofline model: measured limits of a device, and a plot of cases below them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sycl_dnn.tools.bench.measure import Figures, Settings, measure
from sycl_dnn.tools.cases.case_files import Case

_SIDE = {"cpu": 1024, "gpu": 4096}
_COPY = Case("reorder", "4096x4096")
#: Dtypes of source and weights, and the product that reaches peak performance.
_PRODUCTS = {
    **dict.fromkeys(("bf16", "f16", "f32", "f64"), ""),
    **dict.fromkeys(("u8", "s8"), "u8:s8:s32"),
}


@dataclass(frozen=True)
class Roof:
    """Measured limits of a device.

    bandwidth : GB/s of a 64 MiB copy, counting bytes read and written
    peaks : GFLOP/s of a large square matrix product, by type
    """

    bandwidth: float
    peaks: dict[str, float] = field(default_factory=dict)

    def limit(self, figures: Figures, dtype: str) -> float:
        """Return the attainable GFLOP/s of a case: bandwidth times intensity, at most the peak."""
        by_bytes = self.bandwidth * figures.intensity
        return min(by_bytes, self.peaks[dtype]) if dtype in self.peaks else by_bytes

    def share(self, figures: Figures, dtype: str) -> float:
        """Return the fraction of the roof that a case attains.

        That is GFLOP/s for products and GB/s for all others, by median time. Data in the cache may
        exceed 1.
        """
        if not figures.flops:
            return figures.bandwidth(figures.median_ms) / max(self.bandwidth, 1e-9)
        return figures.gflops(figures.median_ms) / max(self.limit(figures, dtype), 1e-9)


def type_of(case: Case) -> str:
    """Return the type whose peak applies to a case: that of its first source."""
    tensors = case.call().tensors
    first = next((n for n in ("src", "src_layer", "diff_dst") if n in tensors), next(iter(tensors)))
    return tensors[first].dtype


def _product(dtype: str, kind: str) -> Case:
    side = _SIDE.get(kind, _SIDE["cpu"])
    types = {"dt": _PRODUCTS[dtype] or dtype}
    return Case("matmul", f"{side}x{side}:{side}x{side}", types)


def find(types: Iterable[str], stream: Any, settings: Settings) -> Roof:
    """Measure the roof."""
    warm = Settings(settings.seconds, settings.runs)
    copy, peaks = measure(_COPY, stream, warm), {}
    kind = stream.sycl_queue.sycl_device.device_type.name
    for dtype in dict.fromkeys(types):
        if dtype in _PRODUCTS:
            figures = measure(_product(dtype, kind), stream, warm)
            if not figures.refusal:
                peaks[dtype] = figures.gflops(figures.median_ms)
    return Roof(copy.bandwidth(copy.median_ms), peaks)


# --- The roofline plot, by matplotlib


def require_matplotlib() -> None:
    """Raise if the plot cannot be drawn.

    Raises ValueError if matplotlib is not installed; the message says how to install it.
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise ValueError('--plot needs matplotlib; type: pip install "matplotlib>=3.8"') from None


def _extent(figures: list[tuple[Figures, str]], roof: Roof) -> tuple[float, float]:
    """Return the range of intensities over all cases and the corners of the roof."""
    at = [f.intensity for f, _ in figures]
    at += [peak / max(roof.bandwidth, 1e-9) for peak in roof.peaks.values()]
    return min(at, default=0.1) / 2, max(at, default=10.0) * 2


def roofline(figures: list[tuple[Figures, str]], roof: Roof, title: str):
    """Return the plot.

    ``figures``: list of (Figures, type), cases; those without operations are omitted. GFLOP/s over
    operations per byte, both logarithmic; one roof and color per type.
    """
    from matplotlib.figure import Figure

    drawn = [(f, t) for f, t in figures if f.flops and not f.refusal]
    low, high = _extent(drawn, roof)
    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.add_subplot()
    types = list(dict.fromkeys([*roof.peaks, *(t for _, t in drawn)]))
    for number, dtype in enumerate(types):
        color = f"C{number}"
        if dtype in roof.peaks:
            peak = roof.peaks[dtype]
            corner = peak / max(roof.bandwidth, 1e-9)
            x = [low, corner, high]
            label = f"{dtype}: {peak:.3g} GFLOP/s"
            axes.plot(x, [low * roof.bandwidth, peak, peak], color=color, label=label)
        points = [(f.intensity, f.gflops(f.median_ms), f.name) for f, t in drawn if t == dtype]
        axes.plot(*([p[i] for p in points] for i in (0, 1)), "o", color=color)
        for x_, y_, name in points:
            axes.annotate(name, (x_, y_), fontsize=7, xytext=(3, 3), textcoords="offset points")
    axes.set(xscale="log", yscale="log", xlabel="operations for each byte", ylabel="GFLOP/s")
    axes.set_title(f"{title}, {roof.bandwidth:.3g} GB/s")
    axes.grid(True, which="both", alpha=0.3)
    if roof.peaks:
        axes.legend()
    return figure


def save(path: Path, figures: list[tuple[Figures, str]], roof: Roof, title: str) -> None:
    """Write the plot; the format is determined by the file name."""
    roofline(figures, roof, title).savefig(path, dpi=150)
