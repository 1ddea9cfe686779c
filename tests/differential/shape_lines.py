# SPDX-License-Identifier: Apache-2.0
"""Lines that change shapes: views, slices, concatenation and creation."""

from __future__ import annotations

import math

from differential.drawing import Drawing


def _slice(d: Drawing, size: int) -> str:
    kind = d.int(0, 9)
    if kind < 3:
        return ":"
    if kind == 3 and size > 1:
        return f"{d.int(0, size - 1)}:"
    if kind == 4 and size > 1:
        return f":{d.int(1, size)}"
    if kind == 5:
        return f"::{d.int(2, 3)}"
    if kind == 6 and size > 1:
        return f"{d.int(0, 1)}::2"
    if kind == 7 and size > 1:
        return ":-1"
    if kind == 8 and size:
        return str(d.int(-size, size - 1))
    return "None" if d.chance(0.3) else ":"


def sliced(d: Drawing) -> None:
    x = d.float(least=1)
    shape = d.value(x).shape
    parts = []
    for size in shape:
        part = _slice(d, size)
        parts += [part, ":"] if part == "None" else [part]
    if d.chance(0.25):
        parts = ["...", parts[-1]] if parts[-2:-1] != ["None"] else parts
    while len(parts) > 1 and parts[-1] == ":":
        parts.pop()
    d.line(f"{x}[{', '.join(parts)}]")


def moved(d: Drawing) -> None:
    x = d.float(least=1)
    shape = tuple(d.value(x).shape)
    n = len(shape)
    a, b = d.int(-n, n - 1), d.int(0, n - 1)
    order = list(range(n))
    d.rng.shuffle(order)
    options = [
        f"F.transpose({x}, {a}, {b})", f"F.permute({x}, {tuple(order)})", f"turned({x}, {b})",
        f"F.swapaxes({x}, {a}, {b})", f"F.movedim({x}, {a}, {b})", f"F.flip({x}, ({b},))",
        f"F.flip({x}, {tuple(range(n))})", f"F.roll({x}, {d.int(-3, 3)}, {b})",
        f"F.roll({x}, {d.int(-3, 3)})", f"F.unsqueeze({x}, {a})", f"F.flatten({x})",
        f"F.flatten({x}, {b})", f"F.flatten({x}, 0, {b})", f"F.squeeze({x})",
        f"F.squeeze({x}, {b})", f"F.narrow({x}, {b}, 0, {max(1, shape[b] - 1)})",
        f"F.select({x}, {b}, {d.int(0, max(0, shape[b] - 1))})", f"F.tile({x}, {(2,) * n})",
        f"F.repeat_interleave({x}, {d.int(1, 3)}, {b})", f"F.diag({x})", f"F.diagonal({x})",
        f"F.diagonal({x}, {d.int(-1, 1)}, 0, {b})", f"F.tril({x}, {d.int(-1, 1)})",
        f"F.triu({x}, {d.int(-1, 1)})", f"F.tile({x}, (1, 2))",
        f"F.expand({x}, {(d.int(1, 3), *shape)})", f"F.broadcast_to({x}, {(2, *shape)})",
        f"F.reshape({x}, (-1,))", f"F.diag({x}, 1)",
    ]  # fmt: skip
    d.line(d.choice(options))


def reshaped(d: Drawing) -> None:
    x = d.float(least=1)
    size = math.prod(d.value(x).shape)
    if not size:
        d.line(f"F.flatten({x})")
        return
    parts, rest = [], size
    for _ in range(d.int(0, 3)):
        part = d.choice([n for n in (1, 2, 3, 4, 5, 7, 8) if rest % n == 0])
        parts.append(part)
        rest //= part
    parts.append(rest)
    d.rng.shuffle(parts)
    if d.chance(0.3):
        parts[d.int(0, len(parts) - 1)] = -1
    d.line(f"F.reshape({x}, {tuple(parts)})")


def grown(d: Drawing) -> None:
    """Expand axes of length 1."""
    x = d.float(least=1)
    shape = tuple(d.value(x).shape)
    at = d.int(0, len(shape))
    wide = (*shape[:at], d.int(1, 4), *shape[at:])
    d.line(f"F.expand(F.unsqueeze({x}, {at}), {wide})")


def parted(d: Drawing) -> None:
    x = d.float(least=1)
    shape = tuple(d.value(x).shape)
    axis = d.int(0, len(shape) - 1)
    size = shape[axis]
    if size < 1 or size > 9:
        return
    kind = d.int(0, 3)
    if kind == 0:
        many, text = size, f"F.unbind({x}, {axis})"
    elif kind == 1:
        step = d.int(1, size)
        many, text = -(-size // step), f"F.split({x}, {step}, {axis})"
    elif kind == 2:
        chunks = d.int(1, 3)
        many = -(-size // (-(-size // chunks)))
        text = f"F.chunk({x}, {chunks}, {axis})"
    else:
        first = d.int(0, size)
        many, text = 2, f"F.split({x}, ({first}, {size - first}), {axis})"
    base = len(d.lines)
    names = tuple(f"v{base}_{i}" for i in range(many))
    d.try_text(f"{', '.join(names)}, = {text}", names)
    if d.chance(0.5):
        kept = d.choice(names)
        d.unused = [n for n in d.unused if n not in names or n == kept]


def joined(d: Drawing) -> None:
    x = d.float(least=1)
    shape = tuple(d.value(x).shape)
    axis = d.int(0, len(shape) - 1)
    name = d.choice(("cat", "stack", "cat", "cat", "hstack", "vstack"))
    others = []
    for _ in range(d.int(0, 2)):
        other = list(shape)
        if name == "cat" and d.chance(0.5):
            other[axis] = d.int(0, 3)
        others.append(d.operand(other))
    parts = [x, *others]
    d.rng.shuffle(parts)
    dim = f", {axis}" if name in ("cat", "stack") else ""
    opened = "[{}]" if d.chance(0.5) else "({},)"
    d.line(f"F.{name}({opened.format(', '.join(parts))}{dim})")


def padded(d: Drawing) -> None:
    x = d.float(least=1)
    n = d.value(x).ndim
    if d.chance(0.6):
        pads = [d.int(-1, 2) for _ in range(2 * d.int(1, min(n, 3)))]
        value = d.choice(("", ", value=0.5", ", 'constant', -1.0"))
        d.line(f"F.pad({x}, {tuple(pads)}{value})")
        return
    mode = d.choice(("reflect", "replicate", "circular"))
    spatial = d.int(1, 3)
    x = d.float(d.choice((spatial + 1, spatial + 2)))
    pads = [d.int(0, 2) for _ in range(2 * spatial)]
    d.line(f"F.pad({x}, {tuple(pads)}, '{mode}')")


def created(d: Drawing) -> None:
    x = d.float()
    shape = tuple(d.value(x).shape)
    last = shape[-1] if shape else 1
    options = [
        f"{x} + F.zeros({shape})", f"{x} * F.ones({shape})", f"F.full({shape}, 0.3) - {x}",
        f"F.zeros_like({x}) + {x}", f"F.ones_like({x}) * F.tanh({x})",
        f"F.full_like({x}, 1.5) * {x}",
        f"{x} * F.arange({last}, dtype='float32')", f"{x} + F.linspace(0, 1, {last})",
        f"F.arange({last}, dtype='float32')", f"F.eye({max(last, 1)})",
        f"F.arange(0, {last}, 2, dtype='float32')",
    ]  # fmt: skip
    if len(shape) > 1:
        options += [d.product(x, f"F.eye({last})"), f"{x} + F.eye({shape[-2]}, {last})"]
    if len(shape) == 1:
        options += [f"F.outer({x}, {x})", f"F.meshgrid({x}, {x}, indexing='ij')[0]",
                    f"F.meshgrid({x}, F.arange(3, dtype='float32'), indexing='xy')[0]"]  # fmt: skip
    d.line(d.choice(options))


def shuffled(d: Drawing) -> None:
    """Reordering of channels and pixels."""
    x = d.float(4)
    n, c, h, w = d.value(x).shape
    if not d.value(x).numel():
        return
    options = [f"F.pixel_shuffle({x}, 2)", f"F.pixel_unshuffle({x}, {d.int(1, 3)})",
               f"F.unflatten({x}, 1, ({c}, 1))"]  # fmt: skip
    if c and c % 2 == 0:
        options += [f"F.channel_shuffle({x}, 2)", f"F.unflatten({x}, 1, (2, {c // 2}))"]
    d.line(d.choice(options))
