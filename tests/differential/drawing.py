# SPDX-License-Identifier: Apache-2.0
"""Generate random programs: each line is tried with the reference before it is kept."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Mapping
from typing import Any

import torch

from differential.placing import layouts_of
from differential.program import Input, Program
from differential.torch_functions_of_programs import TorchFunctions, turned

FUNCTIONS = TorchFunctions(torch.float64)


class Unsuitable(Exception):
    """A line cannot be generated from the current values."""


class Drawing:
    """The program so far: its inputs, its lines, and the values of its names."""

    #: Elements of one value, and the largest magnitude that a line may return; lines of a program.
    largest, highest = 3000, 1e4
    n_lines = 3, 12

    def __init__(self, seed: int) -> None:
        self.seed, self.rng = seed, random.Random(seed)
        self.inputs: list[Input] = []
        self.lines: list[str] = []
        self.scope: dict[str, Any] = {"F": FUNCTIONS, "turned": turned}
        self.unused: list[str] = []
        self.names: list[str] = []
        self.is_loose = False
        self.is_special = self.rng.random() < 0.06

    # Choices.
    def chance(self, p: float) -> bool:
        return self.rng.random() < p

    def choice(self, options: Any) -> Any:
        return self.rng.choice(list(options))

    def int(self, low: int, high: int) -> int:
        return self.rng.randint(low, high)

    def value(self, name: str) -> Any:
        return self.scope[name]

    def size(self) -> int:
        if self.chance(0.015):
            return 0
        return self.choice((1, 1, 2, 2, 3, 3, 4, 4, 5, 6, 7, 8, 8, 9, 16))

    def shape(self, ndim: int | None = None) -> tuple[int, ...]:
        ndim = self.choice((0, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4)) if ndim is None else ndim
        while True:
            result = tuple(self.size() for _ in range(ndim))
            if math.prod(result) <= 1000:
                return result

    def product(self, x: str, y: str) -> str:
        """Return ``x @ y``, or ``F.matmul`` where an operand repeats elements.

        dpnp's own ``@`` gives wrong values or raises for such arrays.
        """
        given = [eval(text, dict(self.scope)) for text in (x, y)]
        repeats = any(
            step == 0 and n > 1 for t in given for step, n in zip(t.stride(), t.shape, strict=True)
        )
        return f"F.matmul({x}, {y})" if repeats else f"{x} @ {y}"

    # Names.
    def input(
        self,
        shape: tuple[int, ...],
        values: str = "normal",
        dtype: str = "float32",
        is_constant: bool = False,
    ) -> str:
        """Add an argument of the program, in a random layout."""
        name = f"x{len(self.inputs)}"
        layout = self.layout(shape)
        specials: tuple[float, ...] = ()
        if self.is_special and dtype == "float32" and self.chance(0.6):
            options = (float("nan"), float("inf"), float("-inf"), -0.0, 0.0)
            specials = tuple(self.rng.sample(options, self.int(1, 3)))
        result = Input(name, tuple(shape), values, dtype, layout, specials, is_constant)
        self.inputs.append(result)
        value = result.draw(self.seed)
        self.scope[name] = torch.from_numpy(value) if not isinstance(value, float) else value
        if dtype == "float32" and values != "number":
            self.scope[name] = self.scope[name].double()
        if layout.startswith("expanded") and shape[int(layout.split()[1])]:
            axis = int(layout.split()[1])
            self.scope[name] = self.scope[name].narrow(axis, 0, 1).expand(shape)
        if not is_constant:
            self.names.append(name)
        return name

    def layout(self, shape: tuple[int, ...]) -> str:
        if self.chance(0.35):
            return "dense"
        options = layouts_of(shape)
        if len(shape) > 1 and self.chance(0.5):
            order = list(range(len(shape)))
            self.rng.shuffle(order)
            return "permuted " + " ".join(map(str, order))
        if shape and self.chance(0.12):
            return f"expanded {self.int(0, len(shape) - 1)}"
        return str(self.choice(options))

    def floats(self, ndim: int | None = None, least: int = 0) -> list[str]:
        """Return the names of float values, optionally with a given number of axes."""
        return [
            n
            for n in self.names
            if isinstance(self.scope[n], torch.Tensor)
            and self.scope[n].dtype == torch.float64
            and (ndim is None or self.scope[n].ndim == ndim)
            and self.scope[n].ndim >= least
        ]

    def float(self, ndim: int | None = None, least: int = 0) -> str:
        """Return the name of a float value, preferably an unused one."""
        found = self.floats(ndim, least)
        if found:
            fresh = [n for n in found if n in self.unused]
            return str(self.choice(fresh if fresh and self.chance(0.75) else found))
        if ndim is None or self.chance(0.4):
            return self.input(self.shape(max(least, ndim or least)))
        return self.of_rank(self.float(least=1), ndim)

    def of_rank(self, name: str, ndim: int) -> str:
        """Return a name for the same elements with another number of axes."""
        shape = tuple(self.scope[name].shape)
        if len(shape) > ndim:
            return self.line(f"F.flatten({name}, {ndim - 1})")
        if self.chance(0.5) and len(shape) < ndim:
            lead = ndim - len(shape)
            return self.line(f"F.reshape({name}, {(1,) * lead + shape})")
        size = math.prod(shape)
        parts = []
        for _ in range(ndim - 1):
            part = self.choice([d for d in (1, 2, 3, 4, 8) if size and size % d == 0] or [1])
            parts.append(part)
            size //= part
        parts.append(size)
        self.rng.shuffle(parts)
        return self.line(f"F.reshape({name}, {tuple(parts)})")

    def operand(self, shape: Any, values: str = "normal") -> str:
        """Return a value of exactly this shape: an existing one, or a new argument."""
        shape = tuple(shape)
        found = [n for n in self.floats() if tuple(self.scope[n].shape) == shape]
        if found and values == "normal" and self.chance(0.6):
            return str(self.choice(found))
        return self.input(shape, values)

    def line(self, expression: str, check: bool = True) -> str:
        """Add ``name = expression`` if the reference accepts it."""
        name = f"v{len(self.lines)}"
        self.try_text(f"{name} = {expression}", (name,))
        return name

    def try_text(self, text: str, names: tuple[str, ...]) -> None:
        """Add lines of text that define ``names``."""
        scope = dict(self.scope)
        try:
            exec(text, scope)
        except Exception as error:
            raise Unsuitable(f"{text}: {error}") from None
        for name in names:
            self._accept(text, scope[name])
        self.lines.append(text)
        for name in names:
            self.scope[name] = scope[name].detach()
            self.names.append(name)
        words = set(re.findall(r"\w+", text))
        self.unused = [n for n in self.unused if n not in words] + list(names)

    def _accept(self, text: str, value: Any) -> None:
        if not isinstance(value, torch.Tensor) or value.numel() > self.largest:
            raise Unsuitable(text)
        if value.is_floating_point() and not self.is_special and value.numel():
            highest = value.abs().max().item()
            if not highest < self.highest:
                raise Unsuitable(f"{text}: {highest}")

    def made(self) -> Program:
        """Return the program: its results are unused values, at most three."""
        used = {word for line in self.lines for word in re.findall(r"\w+", line)}
        inputs = tuple(i for i in self.inputs if i.name in used)
        ends = [n for n in self.unused if n.startswith("v")][-3:]
        return Program(
            self.seed, inputs, tuple(self.lines), tuple(ends), self.is_loose, self.is_special
        )


class LargeDrawing(Drawing):
    """A program over arrays beyond caches, which have other schedules than small ones."""

    largest, highest = 700_000, 1e7
    n_lines = 2, 6

    def shape(self, ndim: int | None = None) -> tuple[int, ...]:
        if self.chance(0.2) or ndim == 0:
            return super().shape(ndim)
        ndim = self.choice((1, 2, 2, 2, 2, 3, 3, 4)) if ndim is None else ndim
        left = int(2 ** self.rng.uniform(17.5, 18.9))
        sizes = []
        for _ in range(ndim - 1):
            sizes.append(int(left ** self.rng.uniform(0.05, 0.9)))
            left //= sizes[-1]
        sizes.append(left)
        self.rng.shuffle(sizes)
        return tuple(sizes)

    def try_text(self, text: str, names: tuple[str, ...]) -> None:
        if "F.diag(" in text:
            raise Unsuitable("a matrix of as many columns as a row has elements")
        super().try_text(text, names)


def draw(seed: int) -> Program:
    """Return the program of a seed, over small arrays."""
    from differential.lines import FAMILIES

    return _drawn(Drawing(seed), FAMILIES)


def draw_large(seed: int) -> Program:
    """Return the program of a seed over large arrays, of lines that take linear time."""
    from differential.lines import LINEAR_FAMILIES

    return _drawn(LargeDrawing(seed), LINEAR_FAMILIES)


def _drawn(drawing: Drawing, families: Mapping[Callable[[Drawing], None], int]) -> Program:
    for _ in range(drawing.int(1, 2)):
        drawing.input(drawing.shape())
    expected, tries = drawing.int(*drawing.n_lines), 0
    weighted = [f for f, weight in families.items() for _ in range(weight)]
    while (len(drawing.lines) < expected and tries < 200) or not drawing.made().inputs:
        tries += 1
        kept = len(drawing.inputs), list(drawing.names), list(drawing.unused)
        lines = len(drawing.lines)
        try:
            drawing.choice(weighted)(drawing)
        except Unsuitable:
            # Lines before the failed one are kept; arguments that it added are removed.
            if len(drawing.lines) == lines:
                del drawing.inputs[kept[0] :]
                drawing.names, drawing.unused = kept[1], kept[2]
    return drawing.made()
