# SPDX-License-Identifier: Apache-2.0
"""Functions over arrays without elements: compiled, differentiated twice, and as in PyTorch."""

import contextlib
import dataclasses
import math
from pathlib import Path

import dpnp
import numpy as np
import pytest
from functional import answers
from functional.case import Spec, specs_of
from functional.on_device import device_arguments, flat, to_numpy

import sycl_dnn
from sycl_dnn import functional as F

HERE = Path(__file__).parent
FILES = [p for p in sorted(HERE.rglob("test_*.py")) if "= checked(" in p.read_text()]
#: Messages that a function needs elements.
REFUSALS = (ValueError, TypeError, NotImplementedError)


def cases_of(path):
    """Return the cases of a file in float32, each with another of its sizes replaced by 0."""
    text = path.relative_to(HERE).with_suffix("").parts
    matches = [c for c in answers.cases_of_module(".".join(text)) if c.dtype == "float32"]
    for number, case in enumerate(matches):
        sizes = sorted({n for s in specs_of(case.args) for n in s.shape})
        if sizes:
            size = sizes[number % len(sizes)]
            args = resized(case.args, size)
            if not any(s.layout == "interleaved" and not s.shape[-1] for s in specs_of(args)):
                yield dataclasses.replace(case, args=args, name=f"{case.name}, 0 for {size}")


def resized(value, size):
    if isinstance(value, Spec):
        shape = tuple(0 if n == size else n for n in value.shape)
        return dataclasses.replace(value, shape=shape)
    if isinstance(value, (list, tuple)):
        return type(value)(resized(v, size) for v in value)
    return value


def over_arrays(case, queue):
    """Return the function of a case over its arrays, and these; first those with gradients."""
    args, specs = device_arguments(case, queue), specs_of(case.args)
    arrays = [a for a in flat(args) if hasattr(a, "shape")]
    has_gradient = [case.has_gradient and s.differentiable and not s.is_integer for s in specs]
    order = sorted(range(len(specs)), key=lambda i: not has_gradient[i])

    def function(*provided):
        places = dict(zip(order, provided, strict=True))
        found = iter([places[i] for i in range(len(specs))])

        def fill(value):
            if isinstance(value, Spec):
                return next(found)
            if isinstance(value, (list, tuple)):
                return type(value)(fill(v) for v in value)
            return value

        return flat(case.function(*[fill(a) for a in case.args], **case.kwargs))

    return function, [arrays[i] for i in order], sum(has_gradient)


def values(results):
    return [np.asarray(to_numpy(r)) for r in results]


def assert_alike(case, actual, expected):
    assert [a.shape for a in actual] == [a.shape for a in expected], case.name
    for a, b in zip(actual, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4, err_msg=case.name)


def summed(function, n, rest):
    """Return the sum of squares of a function's results, as a function of its first n arguments."""

    def total(*args):
        results = [r for r in function(*args, *rest) if "float" in str(r.dtype)]
        return sum((F.sum(F.square(r)) for r in results), start=0.0)

    return total


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_compiled_and_differentiated(path, queue):
    for case in cases_of(path):
        function, arrays, n = over_arrays(case, queue)
        try:
            expected = values(function(*arrays))
        except REFUSALS:
            continue
        assert_alike(case, values(sycl_dnn.compile(function)(*arrays)), expected)
        if not n or not any("float" in str(r.dtype) for r in function(*arrays)):
            continue
        args, rest = arrays[:n], arrays[n:]
        places = tuple(range(n))
        first = sycl_dnn.grad(summed(function, n, rest), argnums=places)
        actual = first(*args)
        assert [g.shape for g in actual] == [a.shape for a in args], case.name
        second = sycl_dnn.grad(summed(first, n, ()), argnums=places)
        with contextlib.suppress(NotImplementedError):  # its gradient has no derivative
            assert [g.shape for g in second(*args)] == [a.shape for a in args], case.name


@pytest.mark.torch
@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_values_are_those_of_torch(path, queue):
    for case in cases_of(path):
        if case.name.startswith(("multi_margin_loss(", "multilabel_margin_loss(")):
            continue  # PyTorch 2.13 returns what happened to be in memory
        try:
            expected, _ = answers.by_torch(case)
        except (RuntimeError, ValueError, IndexError, AssertionError):
            continue
        function, arrays, n = over_arrays(case, queue)
        try:
            actual = values(function(*arrays))
        except REFUSALS:
            continue
        assert_alike(case, actual, expected)


def test_a_batch_mean_of_no_batch_is_nan(queue):
    x = dpnp.zeros((0, 3), dtype="f4", sycl_queue=queue)
    assert math.isnan(float(F.kl_div(x, x, reduction="batchmean")))
