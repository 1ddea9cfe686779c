# SPDX-License-Identifier: Apache-2.0
"""Lines of windows: convolutions, pools, unfolding, resizing and sampling."""

from __future__ import annotations

from differential.drawing import Drawing, Unsuitable


def _spatial(d: Drawing) -> tuple[int, str, tuple[int, ...]]:
    """Return the number of spatial axes, a value with two more, and its shape."""
    n = d.choice((1, 2, 2, 2, 3))
    x = d.float(n + 2)
    return n, x, tuple(d.value(x).shape)


def _each(d: Drawing, n: int, low: int, high: int) -> str:
    """Return one number, or one for each axis."""
    if d.chance(0.6):
        return str(d.int(low, high))
    result = tuple(d.int(low, high) for _ in range(n))
    return str(result)


def convolved(d: Drawing) -> None:
    if d.is_special:
        # Padding times a nonfinite weight: NaN in PyTorch, skipped by kernels.
        raise Unsuitable
    n, x, shape = _spatial(d)
    channels = shape[1]
    groups = d.choice([g for g in range(1, channels + 1) if channels % g == 0] or [1])
    groups = groups if d.chance(0.4) else 1
    kernel = tuple(d.int(1, max(1, min(3, s + 1))) for s in shape[2:])
    out = groups * d.int(1, 4)
    bias = d.operand((out,)) if d.chance(0.5) else "None"
    stride, dilation = _each(d, n, 1, 2), _each(d, n, 1, 2) if d.chance(0.4) else "1"
    if d.chance(0.6):
        weight = d.operand((out, channels // groups, *kernel), "spread")
        padding = d.choice((_each(d, n, 0, 2), _each(d, n, 0, 2), "'same'", "'valid'"))
        if padding == "'same'":
            stride = "1"
        d.line(f"F.conv{n}d({x}, {weight}, {bias}, {stride}, {padding}, {dilation}, {groups})")
        return
    weight = d.operand((channels, out // groups, *kernel), "spread")
    extra = "0" if stride == "1" else d.choice(("0", "1"))
    padding = _each(d, n, 0, 1)
    d.line(
        f"F.conv_transpose{n}d({x}, {weight}, {bias}, {stride}, {padding}, {extra}, {groups}, "
        f"{dilation})"
    )


def pooled(d: Drawing) -> None:
    n, x, _ = _spatial(d)
    if d.chance(0.15):
        x = d.float(n + 1)
    kind = d.choice(("max", "max", "avg", "avg", "lp", "adaptive_avg", "adaptive_max", "indices"))
    if kind.startswith("adaptive"):
        d.line(f"F.{kind}_pool{n}d({x}, {_each(d, n, 1, 4)})")
        return
    kernel, stride = _each(d, n, 1, 3), d.choice(("None", _each(d, n, 1, 3)))
    ceil = d.choice((True, False))
    padding = d.choice(("0", "0", "1" if "1" not in kernel else "0"))
    if kind == "lp":
        p = d.choice(("2.0", "2.0", "3.0", "1.0"))
        d.line(f"F.lp_pool{n}d(F.abs({x}) + 0.1, {p}, {kernel}, {stride}, ceil_mode={ceil})")
    elif kind == "avg":
        counted = d.choice((True, False))
        end = f", count_include_pad={counted}"
        if n > 1 and d.chance(0.2):
            end += ", divisor_override=3"
        d.line(f"F.avg_pool{n}d({x}, {kernel}, {stride}, {padding}, {ceil}{end})")
    elif kind == "max":
        # A window that is entirely padding makes PyTorch write out of bounds.
        dilation = d.choice(("1", "1", "2")) if padding == "0" else "1"
        d.line(f"F.max_pool{n}d({x}, {kernel}, {stride}, {padding}, {dilation}, {ceil})")
    else:
        _unpooled(d, n, x)


def _unpooled(d: Drawing, n: int, x: str) -> None:
    base = len(d.lines)
    names = (f"v{base}_0", f"v{base}_1")
    d.try_text(f"{names[0]}, {names[1]} = F.max_pool{n}d({x}, 2, return_indices=True)", names)
    sizes = tuple(d.value(x).shape[2:])
    d.line(f"F.max_unpool{n}d({names[0]} * 1.5, {names[1]}, 2, output_size={sizes})")


def unfolded(d: Drawing) -> None:
    x = d.float(4)
    n, c, h, w = d.value(x).shape
    kernel, padding = (d.int(1, 3), d.int(1, 3)), d.int(0, 1)
    stride, dilation = d.int(1, 2), d.int(1, 2)
    given = f"{kernel}, dilation={dilation}, padding={padding}, stride={stride}"
    result = d.line(f"F.unfold({x}, {given})")
    if d.chance(0.5):
        d.line(f"F.fold({result} * 0.5, ({h}, {w}), {given})")


def resized(d: Drawing) -> None:
    n = d.choice((1, 2, 2, 3))
    x = d.float(n + 2)
    modes = {1: ("linear",), 2: ("bilinear", "bicubic", "bilinear"), 3: ("trilinear",)}[n]
    mode = d.choice((*modes, "nearest", "nearest-exact", "area"))
    is_smooth = "linear" in mode or "cubic" in mode
    if is_smooth and d.is_special:
        # Neighbors of weight 0: PyTorch multiplies an infinite one by it.
        raise Unsuitable
    end = d.choice(("", ", align_corners=True", ", align_corners=False")) if is_smooth else ""
    if n == 2 and is_smooth and d.chance(0.2):
        end = ", antialias=True"
    if d.chance(0.5):
        d.line(f"F.interpolate({x}, size={_each(d, n, 1, 7)}, mode='{mode}'{end})")
        return
    factor = d.choice((2, 0.5, 1.5, 1, 3, 1.3, 0.7))
    if d.chance(0.3):
        end += f", recompute_scale_factor={d.choice((True, False))}"
    d.line(f"F.interpolate({x}, scale_factor={factor}, mode='{mode}'{end})")


def sampled(d: Drawing) -> None:
    x = d.float(4)
    n, c, h, w = d.value(x).shape
    if not n * c * h * w:
        raise Unsuitable("nothing to sample")
    if d.is_special:
        # A gradient at a NaN coordinate crashes PyTorch.
        raise Unsuitable
    corners = d.choice((True, False))
    if d.chance(0.5):
        theta = d.input((n, 2, 3), "spread")
        grid = d.line(
            f"F.affine_grid({theta}, {(n, c, d.int(1, 4), d.int(1, 4))}, align_corners={corners})"
        )
    else:
        grid = d.input((n, d.int(1, 4), d.int(1, 4), 2), "spread")
    mode = d.choice(("bilinear", "nearest", "bicubic"))
    padding = d.choice(("zeros", "border", "reflection"))
    d.line(f"F.grid_sample({x}, {grid}, '{mode}', '{padding}', align_corners={corners})")
