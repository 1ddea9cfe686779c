# SPDX-License-Identifier: Apache-2.0
"""The properties that are tested for every case.

A test file has a list ``CASES`` and ``TestCases = checked(CASES)``. The rest of the file contains
special tests.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from functional import answers
from functional.case import TOLERANCE, Case, specs_of
from functional.implementations import assert_no_reference
from functional.on_device import device_arguments, flat, to_device, to_numpy

import sycl_dnn

#: Where oneDNN lacks the dtype on some CPUs.
FALLS_BACK = pytest.mark.filterwarnings("ignore::sycl_dnn.FallbackWarning")


class Checks:
    """The tests that run for all cases of a file."""

    cases: Sequence[Case] = ()
    #: Cases in which oneDNN may run its reference implementations.
    may_be_slow: Sequence[Case] = ()

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Parametrize each test with its cases."""
        if "case" in metafunc.fixturenames:
            metafunc.parametrize("case", self.cases, ids=str)

    def test_case(self, case: Case, queue: Any) -> None:
        """Value, gradient and implementations are as they should be."""
        check(case, queue)
        # On GPUs oneDNN's reference kernels are compiled ones, and often the best.
        may_be_slow = any(case is other for other in self.may_be_slow)
        if queue.sycl_device.is_cpu and _computes(case) and not may_be_slow:
            assert_no_reference(case, queue)

    def test_stored(self, case: Case) -> None:
        """Stored answers are those of the installed PyTorch."""
        pytest.importorskip("torch")
        for kept, found in zip(answers.stored(case), answers.by_torch(case), strict=True):
            assert [a is None for a in kept] == [a is None for a in found]
            for answer, array in zip(kept, found, strict=True):
                if answer is not None and array is not None:
                    _assert_near(case, array, answer, "stored", 1e-6)


def checked(
    cases: Sequence[Case], *marks: Any, sweep: int = 1, may_be_slow: Any = ()
) -> type[Checks]:
    """Return the class of the tests of cases; with ``may_be_slow=True`` all of them may be."""
    slow = cases if may_be_slow is True else may_be_slow
    result: Any = type("TestCases", (Checks,), {"cases": cases, "may_be_slow": slow})
    for mark in (*marks, pytest.mark.sweep(sweep)) if sweep > 1 else marks:
        result = mark(result)
    return result


def _computes(case: Case) -> bool:
    """Whether a case is one function of the layer in a dtype that has its own kernels."""
    return hasattr(case.function, "operation") and case.dtype != "float16"


def check(case: Case, queue: Any) -> None:
    """Compare the values of a function and, if it has one, its gradient with PyTorch's."""
    check_value(case, queue)
    if case.has_gradient:
        check_gradient(case, queue)


def check_value(case: Case, queue: Any) -> None:
    """Compare the values of a function with those of PyTorch."""
    actual = case.function(*device_arguments(case, queue), **case.kwargs)
    _assert_all_near(case, flat(actual), answers.stored(case)[0], "result")


def check_gradient(case: Case, queue: Any) -> None:
    """Compare the pullback of a function with PyTorch's gradient."""
    values, gradients = answers.stored(case)
    y, pullback = sycl_dnn.vjp(case.function, *device_arguments(case, queue), **case.kwargs)
    actual = flat(y)
    _assert_all_near(case, actual, values, "value")
    are_floats = [str(a.dtype).startswith(("float", "bfloat")) for a in actual]
    shapes = [v.shape for v, is_float in zip(values, are_floats, strict=True) if is_float]
    dy = (to_device(s, case.dtype, queue) for s in answers.seeds_of(case, shapes))
    # Integer results have no gradient, so None replaces it.
    shaped = [next(dy) if is_float else None for is_float in are_floats]
    grads = pullback(shaped[0] if len(actual) == 1 else _like(y, iter(shaped)))
    leaves = _aligned(grads, case.args)
    for index, (spec, grad, expected) in enumerate(
        zip(specs_of(case.args), leaves, gradients, strict=True)
    ):
        if expected is not None:
            assert grad is not None, f"{case}: argument {index} has no gradient"
            assert tuple(grad.shape) == spec.shape
            limit = max(TOLERANCE[case.dtype], 1e-6)
            _assert_near(case, to_numpy(grad), expected, f"gradient {index}", limit)


def _assert_all_near(case: Case, actual: list[Any], expected: list[Any], what: str) -> None:
    assert len(actual) == len(expected), f"{case}: {what}: {len(actual)} arrays for {len(expected)}"
    for index, (array, answer) in enumerate(zip(actual, expected, strict=True)):
        _assert_near(case, to_numpy(array), answer, f"{what} {index}", TOLERANCE[case.dtype])


def _assert_near(
    case: Case, actual: np.ndarray, expected: answers.Answer, what: str, limit: float
) -> None:
    """Compare shapes, and parts within a limit relative to the largest element, twice for sums."""
    limit *= 1 if actual.size == expected.parts.size else 2
    assert actual.shape == expected.shape, f"{case}: {what}: {actual.shape} for {expected.shape}"
    np.testing.assert_allclose(
        answers.parts_of(actual), expected.parts, rtol=0, err_msg=f"{case}: {what}",
        atol=limit * case.slack * max(expected.scale, 1e-3),
    )  # fmt: skip


def _like(nest: Any, leaves: Any) -> Any:
    if isinstance(nest, (list, tuple)):
        return [_like(v, leaves) for v in nest]
    return next(leaves)


def _aligned(grads: Any, args: Any) -> list[Any]:
    """Return one gradient for each array among the arguments."""
    results = []
    for grad, arg in zip(grads, args, strict=True):
        specs = specs_of(arg)
        if not specs:
            continue
        results += (
            [grad] if len(specs) == 1 and not isinstance(arg, (list, tuple)) else _every(grad)
        )
    return results


def _every(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return [leaf for v in value for leaf in _every(v)]
    return [value]
