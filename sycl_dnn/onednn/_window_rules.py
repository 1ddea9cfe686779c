# SPDX-License-Identifier: Apache-2.0
"""Rules of windows: strides, padding, dilation, channels and sizes; as in ``_rules``."""

from __future__ import annotations

from collections.abc import Iterator

from sycl_dnn.onednn._rules import tensor_of

_SPATIAL = ("strides", "dilates", "dilation", "padding_l", "padding_r", "kernel")


def spatial_lengths(name: str, p: dict) -> str | None:
    """Require one entry per spatial dimension in strides, dilation and padding."""
    key, data = tensor_of(p, "src", "dst")
    if data is None or data.ndims < 3:
        return None
    for option in _SPATIAL:
        given = p.get(option)
        if given is not None and len(given) != data.ndims - 2:
            rule = f"one entry per spatial dimension of {key} ({data.ndims - 2})"
            return f"{option} must have {rule}, got {tuple(given)}"
        if option in ("strides", "kernel") and given is not None and min(given) < 1:
            return f"{option} must be at least 1, got {tuple(given)}"
    return None


def convolution_channels(name: str, p: dict) -> str | None:
    """Require channels of weights, source and result that fit together, groups included."""
    if not name.startswith(("convolution", "deconvolution")):
        return None
    (s, src), (w, wei), (d, dst) = (tensor_of(p, k) for k in ("src", "weights", "dst"))
    if wei is None or src is None or dst is None:
        return None
    if wei.ndims not in (src.ndims, src.ndims + 1):
        return f"{w} must have {src.ndims} dimensions, or one more with groups, got {wei.dims}"
    groups = wei.dims[0] if wei.ndims > src.ndims else 1
    oc, ic = wei.dims[wei.ndims - src.ndims :][:2]
    if groups == 0 or src.dims[1] % groups:
        return f"groups must divide {src.dims[1]} (channels of {s}), got {groups} ({w} {wei.dims})"
    if src.dims[1] != ic * groups:
        rule = f"{src.dims[1] // groups} input channels ({src.dims[1]} of {s} / groups={groups})"
        return f"{w} must have {rule}, got {wei.dims}"
    if dst.dims[1] != oc * groups:
        return f"{d} must have {oc * groups} channels ({w} is {wei.dims}), got {dst.dims}"
    return None


def _window(name: str, p: dict) -> Iterator[tuple[int, int, int, int, int, int]]:
    """Yield input, output, kernel, dilation, padding sum and stride per spatial dimension."""
    (_, src), (_, wei), (_, dst) = (tensor_of(p, k) for k in ("src", "weights", "dst"))
    if name.startswith("deconvolution"):
        src, dst = dst, src
    kernel = p.get("kernel") or wei.dims[-(src.ndims - 2) :]
    dilation = p.get("dilates") or p.get("dilation") or [0] * len(kernel)
    padding = [a + b for a, b in zip(p["padding_l"], p["padding_r"], strict=True)]
    yield from zip(src.dims[2:], dst.dims[2:], kernel, dilation, padding, p["strides"], strict=True)


def window_sizes(name: str, p: dict) -> str | None:
    """Require the size that follows from source, kernel, stride, dilation and padding."""
    if not name.startswith(("convolution", "deconvolution", "pooling")):
        return None
    for axis, (i, o, k, dilation, padding, stride) in enumerate(_window(name, p)):
        size = (i - ((k - 1) * (dilation + 1) + 1) + padding) // stride + 1
        if o != size:
            side = "src" if name.startswith("deconvolution") else "dst"
            formula = f"(({i} - {(k - 1) * (dilation + 1) + 1} + {padding}) // {stride} + 1)"
            return f"{side} must have size {size} in spatial dimension {axis} {formula}, got {o}"
    return None
