# SPDX-License-Identifier: Apache-2.0
"""PyTorch's stored values and gradients of the cases, in float64.

``tests/helpers/store_answers.py`` writes ``answers.npz`` again, for all cases of
``tests/functional``. Of large arrays the sums of their parts are kept, with signs: an element that
is wrong or in another place shows.
"""

from __future__ import annotations

import importlib
import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from functional.case import Case, arrays_of, filled, numpy_arguments, rounded, specs_of

STORED = Path(__file__).with_name("answers.npz")
TESTS = Path(__file__).parents[2]
#: Number of stored elements of an array.
_MOST = 32


class Answer(NamedTuple):
    """An array as it is stored: shape, largest finite size of an element, parts."""

    shape: tuple[int, ...]
    scale: float
    parts: np.ndarray


def parts_of(values: np.ndarray) -> np.ndarray:
    """Return the elements, or the signed sums of equal parts in proportion to their spread."""
    flat = np.asarray(values, np.float64).ravel()
    if flat.size <= _MOST:
        return flat
    signs = 1.0 - 2.0 * ((np.arange(flat.size, dtype=np.uint64) * np.uint64(2654435761) >> 16) & 1)
    starts = np.linspace(0, flat.size, _MOST, endpoint=False).astype(int)
    with np.errstate(invalid="ignore"):
        return np.add.reduceat(flat * signs, starts) / np.sqrt(np.diff([*starts, flat.size]))


def seeds_of(case: Case, shapes: list[tuple[int, ...]]) -> list[np.ndarray]:
    """Return the incoming gradient of each non-integer result."""
    rng = np.random.default_rng(7)
    return [rounded(rng.standard_normal(shape), case.dtype) for shape in shapes]


def key_of(case: Case) -> str:
    """Return the name of a case among those of all functions."""
    return f"{getattr(case.function, '__name__', '')}:{case}"


def by_torch(case: Case) -> tuple[list[np.ndarray], list[np.ndarray | None]]:
    """Return values, and a gradient or None for each array among the arguments."""
    import torch

    named = isinstance(case.torch, str)
    function = getattr(torch.nn.functional, case.torch) if named else case.torch
    tensors = []
    values = numpy_arguments(case)
    for spec, value in zip(specs_of(case.args), arrays_of(values), strict=True):
        tensor = torch.tensor(np.array(value))
        wants = case.has_gradient and tensor.is_floating_point() and spec.differentiable
        tensors.append(tensor.requires_grad_(wants))
    supply = tensors[:]
    result = list(_flat(function(*[filled(a, supply) for a in case.args], **case.kwargs)))
    floats = [t for t in result if t.is_floating_point()]
    leaves = [t for t in tensors if t.requires_grad]
    matches: list[Any] = [None] * len(tensors)
    if leaves and any(t.requires_grad for t in floats):
        seeds = [torch.tensor(s) for s in seeds_of(case, [tuple(t.shape) for t in floats])]
        grads = iter(torch.autograd.grad(floats, leaves, seeds, allow_unused=True))
        matches = [next(grads) if t.requires_grad else None for t in tensors]
    return [t.detach().numpy() for t in result], [g if g is None else g.numpy() for g in matches]


def _flat(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _flat(item)
    elif value is not None:
        yield value


def answered(array: np.ndarray) -> Answer:
    """Return the stored summary of an array."""
    sizes = np.abs(np.asarray(array, np.float64)[np.isfinite(array)])
    return Answer(tuple(array.shape), float(sizes.max(initial=0.0)), parts_of(array))


def _inputs(case: Case) -> float:
    arrays = arrays_of(numpy_arguments(case))
    return float(sum(np.abs(np.asarray(a, np.float64)).sum() for a in arrays))


@cache
def _read() -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    with np.load(STORED) as file:
        return json.loads(file["index"].tobytes()), {n: file[n] for n in ("short", "long")}


def stored(case: Case) -> tuple[list[Answer], list[Answer | None]]:
    """Return values and gradients of a case, as `by_torch` orders them."""
    index, numbers = _read()
    inputs, *rows = index[key_of(case)]
    assert np.isclose(inputs, _inputs(case), rtol=1e-6), f"{STORED.name} has other inputs: {case}"
    kind = "long" if case.dtype == "float64" else "short"

    def read(row: Any) -> Answer | None:
        if row is None:
            return None
        shape, scale, start, count = row
        return Answer(tuple(shape), scale, numbers[kind][start : start + count].astype("f8"))

    values, gradients = ([read(row) for row in part] for part in rows)
    return [v for v in values if v is not None], gradients


def cases_of_module(name: str) -> list[Case]:
    """Return the cases of the classes of checks in a module of ``functional``."""
    from functional.checks import Checks

    module = importlib.import_module(f"functional.{name}")
    kinds = [k for k in vars(module).values() if isinstance(k, type)]
    lists = [k.cases for k in kinds if issubclass(k, Checks)]
    return [c for cases in lists for c in cases] + getattr(module, "STORED_CASES", [])


def all_cases() -> dict[str, Case]:
    """Return the cases of all classes of checks, by key."""
    result: dict[str, Case] = {}
    for path in sorted((TESTS / "functional").rglob("test_*.py")):
        text = path.read_text()
        if "= checked(" in text or "STORED_CASES" in text:
            name = ".".join(path.relative_to(TESTS / "functional").with_suffix("").parts)
            for case in cases_of_module(name):
                assert result.setdefault(key_of(case), case).args == case.args, key_of(case)
    return result


def write() -> None:
    """Write the file again."""
    index: dict[str, Any] = {}
    numbers: dict[str, list[float]] = {"short": [], "long": []}
    for key, case in all_cases().items():
        kept = numbers["long" if case.dtype == "float64" else "short"]

        def row(array: np.ndarray | None, kept: list[float] = kept) -> Any:
            if array is None:
                return None
            shape, scale, parts = answered(array)
            kept.extend(parts)
            return [shape, float(f"{scale:.6g}"), len(kept) - len(parts), len(parts)]

        index[key] = [_inputs(case), *([row(a) for a in part] for part in by_torch(case))]
    text = np.frombuffer(json.dumps(index, separators=(",", ":")).encode(), np.uint8)
    arrays = {"short": np.array(numbers["short"], "f4"), "long": np.array(numbers["long"], "f8")}
    np.savez_compressed(STORED, index=text, **arrays)
    print(f"{len(index)} cases, {STORED.stat().st_size} bytes")
