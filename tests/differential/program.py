# SPDX-License-Identifier: Apache-2.0
"""A random program: its arrays, its lines and its results, as data and as source text."""

from __future__ import annotations

import linecache
from dataclasses import dataclass, field
from typing import Any

import numpy as np

#: What lines use besides ``F``; the reference has its own ``turned``.
PRELUDE = "def turned(x, dim):\n    return x[(slice(None),) * dim + (slice(None, None, -1),)]\n"


@dataclass(frozen=True)
class Input:
    """One argument: how its values are drawn, and where they are in memory."""

    name: str
    shape: tuple[int, ...] = ()
    #: normal, positive, unit, large, spread, number, bool, or ``index N``.
    values: str = "normal"
    dtype: str = "float32"
    #: dense, offset, "permuted i j ..", "strided i n", "negative i", "expanded i", "column i".
    layout: str = "dense"
    specials: tuple[float, ...] = ()
    #: PyTorch has no gradient with respect to it.
    is_constant: bool = False

    @property
    def is_float(self) -> bool:
        """Whether gradients are taken with respect to it."""
        return self.dtype == "float32" and self.values != "number" and not self.is_constant

    def draw(self, seed: int) -> Any:
        """Return the values as NumPy arrays: float32, integers or bool; numbers as floats."""
        rng = np.random.default_rng([seed, *self.name.encode()])
        shape = list(self.shape)
        if self.layout.startswith("expanded"):
            shape[int(self.layout.split()[1])] = min(1, shape[int(self.layout.split()[1])])
        if self.values == "number":
            return float(np.float32(rng.uniform(0.5, 1.5)))
        if self.values == "bool":
            result = rng.random(shape) < 0.6
        elif self.values.startswith("index"):
            result = rng.integers(0, max(1, int(self.values.split()[1])), shape)
        elif self.values == "positive":
            result = rng.uniform(0.3, 2.5, shape)
        elif self.values == "unit":
            result = rng.uniform(0.05, 0.95, shape)
        else:
            scale = {"normal": 1.0, "large": 8.0, "spread": 0.5}[self.values]
            result = scale * rng.standard_normal(shape)
        result = np.asarray(result).astype(self.dtype)
        if self.specials and result.size:
            flat = result.reshape(-1)
            for value in self.specials:
                flat[rng.integers(0, flat.size)] = value
        return np.broadcast_to(result, self.shape).copy()


@dataclass(frozen=True)
class Program:
    """Lines of text over inputs; ``results`` are the names that it returns."""

    seed: int
    inputs: tuple[Input, ...]
    lines: tuple[str, ...]
    results: tuple[str, ...]
    #: Values rounded to float16 or bfloat16 are compared loosely.
    is_loose: bool = False
    #: NaN and infinities are expected: values are compared, gradients are not.
    is_special: bool = False
    notes: dict[str, Any] = field(default_factory=dict, compare=False)

    def text(self) -> str:
        names = ", ".join(i.name for i in self.inputs)
        body = "".join(f"    {part}\n" for line in self.lines for part in line.split("\n"))
        results = ", ".join(self.results)
        return f"{PRELUDE}\n\ndef program({names}):\n{body}    return ({results},)\n"

    def function(self, functions: Any, turned: Any = None) -> Any:
        """Return the program over ``functions``: sycl_dnn's or the reference's."""
        text, name = self.text(), f"<program {self.seed} {id(functions)} {hash(self)}>"
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
        scope: dict[str, Any] = {"F": functions, "__name__": "program"}
        exec(compile(text, name, "exec"), scope)
        if turned is not None:
            scope["turned"] = turned
        return scope["program"]

    def values(self, variant: int = 0) -> dict[str, Any]:
        """Return the arguments' values; another variant has other values of the same kinds."""
        return {i.name: i.draw(self.seed + 1_000_003 * variant) for i in self.inputs}

    def standing_alone(self) -> str:
        """Return source text that calls the program, to paste into a report."""
        rows = "".join(
            f"    # {i.name}: {i.dtype} {i.shape}, {i.values}, {i.layout} {i.specials or ''}\n"
            for i in self.inputs
        )
        return f"# seed {self.seed}\n{self.text()}\n{rows}"
