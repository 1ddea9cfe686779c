# SPDX-License-Identifier: Apache-2.0
"""The properties that are tested for every case.

A test file has a list ``CASES`` and a ``class TestCases(Checks)`` whose ``cases`` are those. The
rest of the file contains special tests.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import compared_with_torch
import numpy as np
import pytest
from functional.case import TOLERANCE, Case, arrays_of, filled, numpy_arguments, specs_of
from functional.implementations import assert_no_reference
from functional.on_device import assert_close, device_arguments, flat, to_device, to_numpy

import sycl_dnn

#: Step of the central differences, in float64.
_STEP = 1e-6


class Checks:
    """The tests that run for all cases of a file."""

    cases: Sequence[Case] = ()
    #: Cases in which oneDNN may run its reference implementations.
    may_be_slow: Sequence[Case] = ()

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Parametrise each test with its cases."""
        if "case" in metafunc.fixturenames:
            of_torch = metafunc.function is Checks.test_torch
            cases = [
                case for case in self.cases
                if not of_torch or (case.torch is not None and compared_with_torch.IS_INSTALLED)
            ]  # fmt: skip
            metafunc.parametrize("case", cases, ids=str)

    def test_case(self, case: Case, queue: Any) -> None:
        """Value, gradient and implementations are as they should be."""
        check_value(case, queue)
        if case.has_gradient:
            check_gradient(case, queue)
        # On GPUs oneDNN's reference kernels are compiled ones, and often the best.
        may_be_slow = any(case is other for other in self.may_be_slow)
        if queue.sycl_device.is_cpu and _computes(case) and not may_be_slow:
            assert_no_reference(case, queue)

    def test_torch(self, case: Case, queue: Any) -> None:
        check_torch(case, queue)


def _computes(case: Case) -> bool:
    """Whether a case is one function of the layer in a dtype that has its own kernels."""
    return hasattr(case.function, "operation") and case.dtype != "float16"


def check_value(case: Case, queue: Any) -> None:
    """Compare the function with its reference."""
    got = case.function(*device_arguments(case, queue), **case.kwargs)
    assert_close(case, got, case.reference(*numpy_arguments(case), **case.kwargs))


def _seeds(results: list[np.ndarray]) -> list[np.ndarray]:
    rng = np.random.default_rng(7)
    return [rng.standard_normal(r.shape) for r in results]


def _directional(case: Case, values: list[Any], index: int, direction: np.ndarray,
                 seeds: list[np.ndarray]) -> float:  # fmt: skip
    """Return the derivative of <seeds, reference> along ``direction`` of one array."""

    def at(step: float) -> float:
        arrays = arrays_of(values)
        arrays[index] = arrays[index] + step * direction
        made = flat(case.reference(*[filled(v, arrays) for v in values], **case.kwargs))
        floats = [np.asarray(m) for m in made if np.asarray(m).dtype.kind == "f"]
        return sum(float((s * m).sum()) for s, m in zip(seeds, floats, strict=True))

    return (at(_STEP) - at(-_STEP)) / (2 * _STEP)


def check_gradient(case: Case, queue: Any) -> None:
    """Compare the pullback with central differences of the reference, in random directions."""
    values = numpy_arguments(case)
    expected = case.reference(*values, **case.kwargs)
    results = [np.asarray(r) for r in flat(expected)]
    seeds = _seeds([r for r in results if r.dtype.kind == "f"])
    y, pullback = sycl_dnn.vjp(case.function, *device_arguments(case, queue), **case.kwargs)
    assert_close(case, y, expected, "value")
    dy = [to_device(s, case.dtype, queue) for s in seeds]
    # Integer results have no gradient, so None replaces it.
    nested = iter(dy)
    shaped = [next(nested) if r.dtype.kind == "f" else None for r in results]
    grads = pullback(shaped[0] if len(results) == 1 else _like(y, iter(shaped)))
    leaves = _aligned(grads, case.args)
    rng = np.random.default_rng(11)
    seeds = [to_numpy(d) for d in dy]
    for index, (spec, grad) in enumerate(zip(specs_of(case.args), leaves, strict=True)):
        if spec.is_integer or not spec.differentiable:
            continue
        assert grad is not None, f"{case}: argument {index} has no gradient"
        assert tuple(grad.shape) == spec.shape
        got = to_numpy(grad)
        for _ in range(3):
            direction = rng.standard_normal(spec.shape)
            wanted = _directional(case, values, index, direction, seeds)
            scale = max(np.linalg.norm(got) * np.linalg.norm(direction), 1e-3)
            error = abs(float((got * direction).sum()) - wanted) / scale
            limit = max(TOLERANCE[case.dtype], 1e-6) * case.slack
            assert error < limit, f"{case}: gradient {index}: off by {error:.2g} of its norm"


def _like(nest: Any, leaves: Any) -> Any:
    if isinstance(nest, (list, tuple)):
        return [_like(v, leaves) for v in nest]
    return next(leaves)


def _aligned(grads: Any, args: Any) -> list[Any]:
    """Return one gradient for each array among the arguments."""
    found = []
    for grad, arg in zip(grads, args, strict=True):
        specs = specs_of(arg)
        if not specs:
            continue
        found += [grad] if len(specs) == 1 and not isinstance(arg, (list, tuple)) else _every(grad)
    return found


def _every(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return [leaf for v in value for leaf in _every(v)]
    return [value]


def check_torch(case: Case, queue: Any) -> None:
    """Compare values and gradients with torch, if it is installed."""
    torch = pytest.importorskip("torch")
    named = isinstance(case.torch, str)
    function = getattr(torch.nn.functional, case.torch) if named else case.torch
    values = numpy_arguments(case)
    tensors = []
    for spec, value in zip(specs_of(case.args), arrays_of(values), strict=True):
        tensor = torch.tensor(np.array(value))
        wants = tensor.is_floating_point() and spec.differentiable
        tensors.append(tensor.requires_grad_(wants and case.has_gradient))
    supply = tensors[:]
    wanted = function(*[filled(a, supply) for a in case.args], **case.kwargs)
    detached = _detached(wanted)
    got = case.function(*device_arguments(case, queue), **case.kwargs)
    assert_close(case, got, detached, "torch")
    floats = [t for t in flat(wanted) if t.is_floating_point()]
    if not case.has_gradient or not floats:
        return
    seeds = [torch.tensor(s) for s in _seeds([t.detach().numpy() for t in floats])]
    seeds = [torch.tensor(to_numpy(to_device(s.numpy(), case.dtype, queue))) for s in seeds]
    leaves = [t for t in tensors if t.requires_grad]
    truth = torch.autograd.grad(floats, leaves, seeds, allow_unused=True)
    y, pullback = sycl_dnn.vjp(case.function, *device_arguments(case, queue), **case.kwargs)
    dys = [to_device(s.numpy(), case.dtype, queue) for s in seeds]
    supply = iter(dys)
    shaped = [next(supply) if t.is_floating_point() else None for t in flat(wanted)]
    grads = pullback(shaped[0] if len(shaped) == 1 else _like(y, iter(shaped)))
    pairs = zip(_aligned(grads, case.args), tensors, strict=True)
    mine = [g for g, t in pairs if t.requires_grad]
    for index, (grad, want) in enumerate(zip(mine, truth, strict=True)):
        if want is not None:
            assert_close(case, grad, want.numpy(), f"torch gradient {index}")


def _detached(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_detached(v) for v in value]
    return value.detach().numpy()
