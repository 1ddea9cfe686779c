# SPDX-License-Identifier: Apache-2.0
"""Lines of Python: loops, branches on shapes and numbers, closures, containers."""

from __future__ import annotations

from differential.drawing import Drawing


def looped(d: Drawing) -> None:
    x = d.float()
    name = f"v{len(d.lines)}"
    body = d.choice(("F.tanh({v} * 0.7)", "{v} * 0.5 + {x}", "F.relu({v} - 0.1) + 0.05 * {x}",
                     "F.sin({v}) + i * 0.1", "F.maximum({v} * 0.9, {x})"))  # fmt: skip
    d.try_text(
        f"{name} = {x}\nfor i in range({d.int(1, 4)}):\n    {name} = {body.format(v=name, x=x)}",
        (name,),
    )


def conditional(d: Drawing) -> None:
    x = d.float()
    name = f"v{len(d.lines)}"
    test = f"{x}.ndim > {d.int(0, 3)}"
    if d.value(x).ndim and d.chance(0.6):
        test = d.choice((f"{x}.shape[-1] % 2", f"{x}.shape[0] > 2", f"len({x}.shape) == 2"))
    if d.chance(0.4):
        test = f"{d.input((), 'number')} > {d.choice((0.8, 1.0, 1.2))}"
    one, two = d.choice((("F.relu({x})", "F.tanh({x})"), ("{x} * 2", "{x} + 1"),
                         ("F.sum({x})", "F.mean({x})"), ("turned_{x}", "-{x}")))  # fmt: skip
    one = one if "turned" not in one else "F.square({x})"
    d.try_text(
        f"if {test}:\n    {name} = {one.format(x=x)}\nelse:\n    {name} = {two.format(x=x)}",
        (name,),
    )


def called(d: Drawing) -> None:
    """A nested function, with a closure and default arguments."""
    x, name = d.float(), f"v{len(d.lines)}"
    body = d.choice(
        ("y * scale + {x}", "F.tanh(y) * scale", "F.softplus(y, scale)", "y + scale * {x}")
    )
    use = d.choice((f"helper({x})", f"helper({x}, 0.5)", f"helper(helper({x}), scale=1.5)",
                    f"helper(helper({x}) * 0.5)"))  # fmt: skip
    d.try_text(f"def helper(y, scale=2.0):\n    return {body.format(x=x)}\n{name} = {use}", (name,))


def contained(d: Drawing) -> None:
    """Lists, dictionaries and comprehensions of arrays."""
    x = d.float()
    y = d.operand(d.value(x).shape)
    name = f"v{len(d.lines)}"
    text = d.choice((
        "parts = [{x}, {y}, {x} * 2]\n{n} = sum(p * (i + 1) for i, p in enumerate(parts))",
        "table = {{'a': {x}, 'b': F.tanh({y})}}\n{n} = table['a'] - table['b']",
        "{n} = F.stack([F.sin({x} * k) for k in (1.0, 2.0, 3.0)], 0)",
        "p, (q, r) = {x}, ({y}, {x} + {y})\n{n} = p * q - r",
        "{n} = F.cat([F.flatten(t) for t in ({x}, {y})], 0)",
        "apply = lambda f, *a: f(*a)\n{n} = apply(F.mul, {x}, {y})",
        "{n} = {x}\n{n} = {n} + {y}\n{n} = {n} * {x}",
        "{n} = max(({x}, {y}), key=lambda t: t.ndim) * 0.5",
    ))  # fmt: skip
    d.try_text(text.format(x=x, y=y, n=name), (name,))


def stopped(d: Drawing) -> None:
    """A value with many uses."""
    x = d.float()
    d.line(
        d.choice(
            (f"{x} * {x} + {x}", f"F.mul({x}, {x}) - F.tanh({x}) * {x}", f"({x} + {x}) * ({x} - 1)")
        )
    )
