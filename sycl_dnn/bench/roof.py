# SPDX-License-Identifier: Apache-2.0
"""The roof: what the device reaches in a large matrix product and in a copy."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from sycl_dnn.bench.measure import Figures, Settings, measure
from sycl_dnn.verify.cases import Case

_SIDE = {"cpu": 1024, "gpu": 4096}
_COPY = Case("reorder", "4096x4096")
#: Types of source and weights -> the product that shows the peak.
_PRODUCTS = {
    **dict.fromkeys(("bf16", "f16", "f32", "f64"), ""),
    **dict.fromkeys(("u8", "s8"), "u8:s8:s32"),
}


@dataclass(frozen=True)
class Roof:
    """Measured limits of a device.

    bandwidth : GB/s of a copy of 64 MiB, read and written bytes together
    peaks : type -> GFLOP/s of a large square matrix product
    """

    bandwidth: float
    peaks: dict[str, float] = field(default_factory=dict)

    def limit(self, figures: Figures, dtype: str) -> float:
        """Return the GFLOP/s that a case could reach: bandwidth times intensity, or the peak."""
        by_bytes = self.bandwidth * figures.intensity
        return min(by_bytes, self.peaks[dtype]) if dtype in self.peaks else by_bytes

    def share(self, figures: Figures, dtype: str) -> float:
        """Return which part of what is possible a case reaches: 1 is the roof.

        That is GFLOP/s for products and GB/s for everything else, of the median time. Data in a
        cache can be faster than the roof.
        """
        if not figures.flops:
            return figures.bandwidth(figures.median_ms) / max(self.bandwidth, 1e-9)
        return figures.gflops(figures.median_ms) / max(self.limit(figures, dtype), 1e-9)


def type_of(case: Case) -> str:
    """Return the type whose peak counts for a case: that of its first source."""
    tensors = case.call().tensors
    first = next((n for n in ("src", "src_layer", "diff_dst") if n in tensors), next(iter(tensors)))
    return tensors[first].dtype


def _product(dtype: str, kind: str) -> Case:
    side = _SIDE.get(kind, _SIDE["cpu"])
    types = {"dt": _PRODUCTS[dtype] or dtype}
    return Case("matmul", f"{side}x{side}:{side}x{side}", types)


def find(types: Iterable[str], stream: Any, settings: Settings) -> Roof:
    """Measure the roof.

    Parameters
    ----------
    types : data types of the cases; those that the device refuses have no peak
    stream : see `sycl_dnn.bench.timing.stream_for`
    settings : time for each kernel
    """
    warm = Settings(settings.seconds, settings.runs)
    copy, peaks = measure(_COPY, stream, warm), {}
    kind = stream.sycl_queue.sycl_device.device_type.name
    for dtype in dict.fromkeys(types):
        if dtype in _PRODUCTS:
            found = measure(_product(dtype, kind), stream, warm)
            if not found.refusal:
                peaks[dtype] = found.gflops(found.median_ms)
    return Roof(copy.bandwidth(copy.median_ms), peaks)
