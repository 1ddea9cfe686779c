# SPDX-License-Identifier: Apache-2.0
"""Lines of reductions, softmax, normalization and cumulative sums."""

from __future__ import annotations

from differential.drawing import Drawing, Unsuitable


def _axes(d: Drawing, n: int, single: bool = False) -> str:
    if single or d.chance(0.5):
        return str(d.int(-n, n - 1))
    axes = list(range(n))
    d.rng.shuffle(axes)
    return str(tuple(axes[: d.int(1, n)]))


def _check_extreme(d: Drawing, x: str, axis: int | None) -> None:
    """Refuse an array whose extremes differ only by rounding: their index is undefined."""
    values = d.value(x).detach()
    values = values.flatten() if axis is None else values.movedim(axis, -1)
    steps = values.sort(-1).values.diff(dim=-1)
    if bool((steps < 1e-5).any()):
        raise Unsuitable


def reduced(d: Drawing) -> None:
    x = d.float()
    n = d.value(x).ndim
    name = d.choice(("sum", "mean", "sum", "mean", "amax", "amin", "prod", "var", "std", "norm",
                     "logsumexp", "max", "min", "argmax", "argmin",
                     "var_mean", "std_mean"))  # fmt: skip
    keep = ", keepdim=True" if d.chance(0.4) else ""
    if n == 0 or (d.chance(0.2) and name != "logsumexp"):
        if name in ("argmax", "argmin"):
            _check_extreme(d, x, None)
        if name in ("var_mean", "std_mean"):
            d.line(f"F.{name}({x})[{d.int(0, 1)}]")
        elif name != "logsumexp":
            d.line(f"F.{name}({x})")
        return
    single = name in ("prod", "max", "min", "argmax", "argmin")
    axes = _axes(d, n, single)
    if name in ("var", "std", "var_mean", "std_mean"):
        correction = d.choice(("", ", correction=0", ", correction=1", ", correction=0.5"))
        end = f"[{d.int(0, 1)}]" if "_" in name else ""
        d.line(f"F.{name}({x}, {axes}{correction}{keep}){end}")
    elif name == "norm":
        p = d.choice(("2", "1", "3", "float('inf')", "'fro'", "2.5"))
        d.line(f"F.norm({x}, {p}, {axes}{keep})")
    elif name in ("argmax", "argmin"):
        _check_extreme(d, x, int(axes))
        d.line(f"F.{name}({x}, {axes}{keep})")
    elif name in ("max", "min"):
        d.line(f"F.{name}({x}, {axes}{keep})[{d.choice((0, 0, 1))}]")
    else:
        d.line(f"F.{name}({x}, {axes}{keep})")


def softmax(d: Drawing) -> None:
    x = d.float(least=1)
    axis = d.int(-d.value(x).ndim, d.value(x).ndim - 1)
    name = d.choice(("softmax", "log_softmax", "softmin", "softmax"))
    x = f"{x} * 3" if d.chance(0.3) else x
    d.line(f"F.{name}({x}, dim={axis})" if d.chance(0.5) else f"F.{name}({x}, {axis})")


def running(d: Drawing) -> None:
    x = d.float(least=1)
    axis = d.int(-d.value(x).ndim, d.value(x).ndim - 1)
    name = d.choice(("cumsum", "cumprod", "cumsum"))
    d.line(f"F.{name}({x}, {axis})")


def sorted_(d: Drawing) -> None:
    x = d.float(least=1)
    shape = d.value(x).shape
    axis = d.int(0, len(shape) - 1)
    if not shape[axis]:
        return
    k = d.int(1, shape[axis])
    part = d.choice((0, 0, 1))
    largest = d.choice((True, False))
    text = d.choice((
        f"F.topk({x}, {k}, {axis}, largest={largest})[{part}]", f"F.sort({x}, {axis})[{part}]",
        f"F.sort({x}, {axis}, descending=True)[{part}]", f"F.argsort({x}, {axis})",
    ))  # fmt: skip
    neighbors = d.value(x).sort(axis).values.diff(dim=axis)
    if "topk" in text and bool((neighbors == 0).any()):
        # Which of equal elements gets the gradient is undefined.
        raise Unsuitable
    if not text.endswith("[0]"):
        # Which of equal elements comes first is undefined, but not the values at the indices.
        text = f"F.gather({x}, {axis}, {text})"
    d.line(text)


def _affine(d: Drawing, shape: tuple[int, ...]) -> tuple[str, str]:
    """Return the texts of weight and bias, or None."""
    kind = d.int(0, 3)
    weight = d.operand(shape) if kind in (1, 2, 3) else "None"
    bias = d.operand(shape) if kind in (2, 3) else "None"
    if kind == 3 and d.chance(0.3):
        weight = "None"
    return weight, bias


def normalized(d: Drawing) -> None:
    kind = d.choice(("layer", "layer", "rms", "batch", "group", "instance", "normalize", "lrn"))
    eps = d.choice(("", ", eps=1e-3"))
    if kind in ("layer", "rms"):
        x = d.float(least=1)
        shape = tuple(d.value(x).shape)
        tail = shape[-d.int(1, min(len(shape), 3)) :]
        weight, bias = _affine(d, tail)
        if kind == "rms":
            d.line(f"F.rms_norm({x}, {tail}, {weight}{eps})")
        else:
            d.line(f"F.layer_norm({x}, {tail}, {weight}, {bias}{eps})")
        return
    if kind == "normalize":
        x = d.float(least=1)
        axis = d.int(0, d.value(x).ndim - 1)
        if d.value(x).shape[axis] == 1:
            # Signs: their gradient is only rounding error.
            raise Unsuitable
        d.line(f"F.normalize({x}, dim={axis}{d.choice(('', ', p=1', ', p=3.0'))})")
        return
    x = d.float(d.choice((3, 4, 4, 5)) if kind != "batch" else d.choice((2, 3, 4, 5)))
    channels = d.value(x).shape[1]
    if kind == "lrn":
        d.line(f"F.local_response_norm({x}, {d.int(1, 5)}, alpha={d.choice((1e-4, 0.5))}, k=2.0)")
        return
    weight, bias = _affine(d, (channels,))
    if kind == "group":
        if not d.value(x).numel():
            # PyTorch's gradient of the weight is NaN there, that of no elements is 0.
            raise Unsuitable
        groups = d.choice([g for g in range(1, channels + 1) if channels % g == 0] or [1])
        d.line(f"F.group_norm({x}, {groups}, {weight}, {bias}{eps})")
    elif d.chance(0.4):
        mean = d.input((channels,), is_constant=True)
        var = d.input((channels,), "positive", is_constant=True)
        if kind == "batch":
            d.line(f"F.batch_norm({x}, {mean}, {var}, {weight}, {bias}{eps})")
        else:
            d.line(f"F.instance_norm({x}, {mean}, {var}, {weight}, {bias}, use_input_stats=False)")
    elif kind == "batch":
        d.line(f"F.batch_norm({x}, None, None, {weight}, {bias}, training=True{eps})")
    else:
        d.line(f"F.instance_norm({x}, None, None, {weight}, {bias}{eps})")


def distances(d: Drawing) -> None:
    x = d.float(least=1)
    shape = tuple(d.value(x).shape)
    y = d.operand(shape)
    axis = d.int(0, len(shape) - 1)
    options = [f"F.cosine_similarity({x}, {y}, dim={axis})", f"F.pairwise_distance({x}, {y})",
               f"F.pairwise_distance({x}, {y}, p=1, keepdim=True)"]  # fmt: skip
    if len(shape) > 1:
        other = d.operand((*shape[:-2], d.int(1, 5), shape[-1]))
        options += [f"F.cdist({x}, {other}, p={d.choice((2.0, 1.0, 3.0))})"] * 2
    d.line(d.choice(options))
