# SPDX-License-Identifier: Apache-2.0
"""Values and derivatives of a program in float64, and how far float32 may deviate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from differential.program import Program
from differential.torch_functions_of_programs import TorchFunctions, turned


@dataclass
class Expected:
    """Values with the tolerance of each; integers and booleans have None."""

    values: Any
    tolerance: Any = None


@dataclass
class Reference:
    outputs: list[Expected]
    gradients: dict[str, Expected] | None = None
    seconds: dict[str, Expected] | None = None


def weights_of(program: Program, outputs: Sequence[Any]) -> list[Any]:
    """Return the fixed weights of each float output in the loss."""
    rng = np.random.default_rng([program.seed, 17])
    return [rng.standard_normal(np.shape(o)).astype(np.float32) for o in outputs]


def directions_of(program: Program) -> dict[str, Any]:
    rng = np.random.default_rng([program.seed, 23])
    return {
        i.name: rng.standard_normal(i.shape).astype(np.float32)
        for i in program.inputs
        if i.is_float
    }


def _tensor(value: Any, dtype: torch.dtype, is_float: bool) -> Any:
    if isinstance(value, float):
        return value
    result = torch.from_numpy(np.array(value))
    result = result.to(dtype) if result.is_floating_point() else result
    return result.requires_grad_() if is_float else result


def _loss(outputs: Any, weights: Any, dtype: torch.dtype) -> Any:
    total = torch.zeros((), dtype=dtype)
    for out, weight in zip(outputs, weights, strict=True):
        total = total + (out * torch.from_numpy(weight).to(dtype)).sum() + 0.1 * (out * out).sum()
    return total


def _numbers(tensors: Any) -> list[Any]:
    return [t.detach().to(torch.float64).numpy() if t.is_floating_point() else t.detach().numpy()
            for t in tensors]  # fmt: skip


def evaluate(
    program: Program, values: dict[str, Any], dtype: torch.dtype, order: int
) -> tuple[list[Any], list[Any] | None, list[Any] | None]:
    """Return outputs, gradients and gradients of gradients by PyTorch, up to ``order``."""
    # Values alone need no tape, of which PyTorch refuses writes through views without elements.
    given = {
        i.name: _tensor(values[i.name], dtype, i.is_float and order > 0) for i in program.inputs
    }
    outputs = program.function(TorchFunctions(dtype), turned)(**given)
    floats = {i.name: given[i.name] for i in program.inputs if i.is_float}
    parts = [o for o in outputs if o.is_floating_point()]
    found = _numbers(outputs)
    if not order or not floats or not any(p.requires_grad for p in parts):
        return found, None, None
    loss = _loss(parts, weights_of(program, parts), dtype)
    wrt = list(floats.values())
    first = torch.autograd.grad(loss, wrt, create_graph=order > 1, materialize_grads=True)
    if order == 1 or not any(g.requires_grad for g in first):
        zeros = [np.zeros(g.shape) for g in first]
        return found, _numbers(first), zeros if order > 1 else None
    directions = directions_of(program)
    along = sum(
        (g * torch.from_numpy(directions[n]).to(dtype)).sum()
        for n, g in zip(floats, first, strict=True)
        if g.requires_grad
    )
    second = torch.autograd.grad(along, wrt, materialize_grads=True)
    return found, _numbers(first), _numbers(second)


def _disturbed(program: Program, values: dict[str, Any], size: float, seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {
        i.name: np.asarray(
            values[i.name].astype(np.float64) * (1 + size * rng.standard_normal(i.shape))
            + size * 0.01 * rng.standard_normal(i.shape)
        )
        if i.is_float
        else values[i.name]
        for i in program.inputs
    }


def _expected(
    exact: list[Any], others: list[list[Any]], base: float, order: int = 0
) -> list[Expected]:
    """Return values with tolerances: a part of their size, and several times their deviation."""
    result = []
    absolute = 1e-5 if order == 0 else 5e-5
    # Where terms cancel, the rest is as exact as its neighbors.
    unit = max([1.0, *(np.abs(v[np.isfinite(v)]).max(initial=0.0) for v in exact)])
    for index, value in enumerate(exact):
        seen = [other[index] for other in others]
        if value.dtype.kind != "f":
            same = np.all([s == value for s in seen], axis=0)
            result.append(Expected(value, np.where(same & (base < 1e-2), 0.0, np.inf)))
            continue
        with np.errstate(all="ignore"):
            off = np.max([np.where(s == value, 0.0, np.abs(s - value)) for s in seen], axis=0)
        is_known = np.isfinite(value) & np.isfinite(off)
        largest = np.abs(value[is_known]).max(initial=0.0)
        spread = np.sqrt(np.mean(off[is_known] ** 2)) if is_known.any() else 0.0
        size = np.where(is_known, np.abs(value), 0.0)
        tolerance = base * (size + 0.3 * largest) + 10 * off + 3 * spread + absolute * unit
        # Values that are not finite are compared exactly, unless they depend on the last digits.
        is_number = ~np.isnan(value)
        unsteady = np.any(
            [(s != value) & ~np.isfinite(s + value) & (is_number | ~np.isnan(s)) for s in seen],
            axis=0,
        )
        # PyTorch's second derivatives multiply padding and infinite slopes by 0, the first do not.
        unsteady |= np.isnan(value) & (order == 2)
        tolerance = np.where(np.isfinite(value), tolerance, 0.0)
        result.append(Expected(value, np.where(unsteady, np.inf, tolerance)))
    return result


def refer(
    program: Program,
    values: dict[str, Any],
    order: int = 2,
    sizes: Sequence[float] = (3e-7, 3e-7),
    roundings: int = 1,
) -> Reference:
    """Return the expected values; ``sizes`` are relative disturbances of the inputs.

    ``roundings`` is how often PyTorch computes in float32, from inputs that differ by less than
    float32 tells apart: where terms cancel, one result may be exact by chance.
    """
    if "scale_grad_by_freq" in program.text():
        order = min(order, 1)  # PyTorch's second derivatives leave out the frequencies
    if program.is_loose:
        sizes = tuple(3e3 * s for s in sizes)
    while True:
        try:
            exact = evaluate(program, values, torch.float64, order)
            break
        except (RuntimeError, NotImplementedError):
            if not order:
                raise
            order -= 1
    others = [
        evaluate(program, _disturbed(program, values, size, seed), torch.float64, order)
        for seed, size in enumerate(sizes)
    ]
    others.append(evaluate(program, values, torch.float32, order))
    for seed in range(1, roundings):
        near = _disturbed(program, values, 1e-7, 100 + seed)
        others.append(evaluate(program, near, torch.float32, order))
    base = 3e-2 if program.is_loose else 3e-5
    names = [i.name for i in program.inputs if i.is_float]
    parts: list[Any] = []
    for part in range(3):
        if exact[part] is None:
            parts.append(None)
            continue
        result = _expected(exact[part], [o[part] for o in others], base * (1 + part), part)
        parts.append(dict(zip(names, result, strict=True)) if part else result)
    return Reference(*parts)
