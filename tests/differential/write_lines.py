# SPDX-License-Identifier: Apache-2.0
"""Lines that write to values, to parts of them and through views."""

from __future__ import annotations

from differential.drawing import Drawing


def written(d: Drawing) -> None:
    """Write to a copy of a value, which later lines read, as they do a view of it."""
    x = d.float(least=1)
    shape = tuple(d.value(x).shape)
    name = f"v{len(d.lines)}"
    text, names = [f"{name} = {x} * 1.0"], [name]
    if d.chance(0.5):
        key, part = _key(d, shape)
        names.append(f"{name}w")
        text.append(f"{name}w = {name}[{key}]")
    else:
        part = shape
    for _ in range(d.int(1, 4)):
        place = d.int(0, len(names) - 1)
        text.append(_write(d, names[place], (shape, part)[place]))
    d.try_text("\n".join(text), tuple(names))


def _key(d: Drawing, shape: tuple[int, ...]) -> tuple[str, tuple[int, ...]]:
    """Return an index of slices and numbers, and the shape of what it selects."""
    items, selected = [], []
    for n in shape:
        kind = d.choice(("all", "all", "slice", "step", "number"))
        if kind == "number" and n:
            items.append(str(d.int(-n, n - 1)))
            continue
        start, stop, step = (d.int(0, n), d.int(0, n), d.int(1, 3)) if kind != "all" else (0, n, 1)
        stop, step = max(start, stop), step if kind == "step" else 1
        items.append(":" if kind == "all" else f"{start}:{stop}:{step}")
        selected.append(len(range(start, stop, step)))
    return ", ".join(items), tuple(selected)


def _write(d: Drawing, name: str, shape: tuple[int, ...]) -> str:
    """Return a statement that writes to a value of this shape."""
    if d.chance(0.1):
        return f"F.{d.choice(('relu', 'elu', 'silu'))}({name}, inplace=True)"
    target, part = name, shape
    if shape and d.chance(0.6):
        key, part = _key(d, shape)
        target = f"{name}[{key}]"
    sign = d.choice(("=", "=", "+=", "-=", "*=", "/="))
    if sign == "=" and target == name:
        target = f"{name}[...]"
    if not shape or not d.chance(0.25):
        return f"{target} {sign} {_value(d, sign, part)}"
    if d.chance(0.5):
        mask = d.input(shape, "bool", "bool")
        return f"{name}[{mask}] = {d.choice(('0.5', '-1.0'))}"
    if not shape[0]:
        return f"{name} *= 0.5"
    index = d.input(d.choice(((2,), (3,))), f"index {shape[0]}", "int64")
    return f"{name}[{index}] = 0.25"


def _value(d: Drawing, sign: str, shape: tuple[int, ...]) -> str:
    if sign == "/=" or d.chance(0.4):
        return str(d.choice(("0.5", "2.0", "-1.5")))
    # Some axes of the value are broadcast.
    return d.operand([n if d.chance(0.8) else 1 for n in shape][d.int(0, max(0, len(shape) - 1)) :])
