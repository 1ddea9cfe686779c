# SPDX-License-Identifier: Apache-2.0
"""Functions on a GPU: the smallest case of each, forward and gradient."""

import importlib
import itertools
import warnings
from pathlib import Path

import dpnp
import numpy as np
import pytest
from functional import answers
from functional.case import arrays_of, numpy_arguments, specs_of
from functional.checks import check
from functional.on_device import device_arguments, flat, to_device
from simulated import by_turns

import sycl_dnn
from sycl_dnn import functional as F

#: Functions of oneMKL whose host code reads what the device computed.
OF_VALUES = [
    getattr(F.linalg, name) for name in F.linalg.__all__ if name not in ("multi_dot", "vector_norm")
]
FOLDER = Path(__file__).parents[1] / "functional"


def _function_name(case):
    return getattr(case.function, "__name__", str(case.function))


def _cases():
    turns = itertools.count()
    for path in sorted(FOLDER.rglob("test_*.py")):
        matches = getattr(
            importlib.import_module(
                ".".join(path.relative_to(FOLDER.parent).with_suffix("").parts)
            ),
            "CASES",
            [],
        )
        matches = [c for c in matches if c.dtype in ("float32", "bfloat16")]
        matches.sort(key=_function_name)
        for _, group in itertools.groupby(matches, key=_function_name):
            # The smallest: what is checked does not depend on size.
            cases = sorted(group, key=_n_elements)
            for dtype in by_turns(next(turns), sorted({c.dtype for c in cases})):
                yield next(c for c in cases if c.dtype == dtype)


def _n_elements(case):
    sizes = [int(np.prod(s.shape)) for s in specs_of(case.args)]
    return (0 in sizes, sum(sizes))


def _check_array(array, expected, case, queue):
    assert tuple(array.shape) == expected.shape
    assert array.sycl_queue == queue
    assert array.usm_type == "device"
    name = array.dtype if isinstance(array.dtype, str) else array.dtype.name
    assert name == case.dtype or not _is_float(array)


def _is_float(array):
    return str(array.dtype).startswith(("float", "bfloat"))


@pytest.mark.parametrize("case", list(_cases()), ids=lambda c: f"{_function_name(c)}-{c}")
def test_function(case, gpu, tally, has_values):
    if case.function in OF_VALUES and not has_values:
        pytest.skip(f"{case}: oneMKL's host code reads pivots, which this GPU does not compute")
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = answers.stored(case)[0]
        args = device_arguments(case, gpu)
        actual = flat(case.function(*args, **case.kwargs))
        assert len(actual) == len(expected)
        for array, truth in zip(actual, expected, strict=True):
            _check_array(array, truth, case, gpu)
        if case.has_gradient and all(map(_is_float, actual)):
            _check_gradient(case, args, expected, gpu)
        if has_values:
            check(case, gpu)
    gpu.wait()
    tally[f"function {_function_name(case)}"] = "runs"


def _check_gradient(case, args, expected, queue):
    y, pullback = sycl_dnn.vjp(case.function, *args, **case.kwargs)
    dy = [to_device(np.ones(w.shape), case.dtype, queue) for w in expected]
    grads = pullback(dy[0] if not isinstance(y, (list, tuple)) else _nested(y, iter(dy)))
    shapes = {tuple(a.shape) for a in arrays_of(numpy_arguments(case))}
    for grad in flat(grads):
        assert tuple(grad.shape) in shapes
        assert grad.sycl_queue == queue


def _nested(nest, leaves):
    if isinstance(nest, (list, tuple)):
        return [_nested(v, leaves) for v in nest]
    return next(leaves)


def test_a_plan_is_submitted(gpu):
    x = dpnp.ones((2, 3, 8, 8), dtype="f4", sycl_queue=gpu)
    w = dpnp.ones((4, 3, 3, 3), dtype="f4", sycl_queue=gpu)
    plan = sycl_dnn.plan(sycl_dnn.functional.conv2d, x, w)
    for _ in range(3):
        assert plan().shape == (2, 4, 6, 6)
    gpu.wait()


def test_indices_are_not_waited_for(gpu):
    """Whatever is read there must do: a simulated GPU has never written them."""
    table = dpnp.ones((7, 3), dtype="f4", sycl_queue=gpu)
    for dtype in ("int32", "int64"):
        numbers = dpnp.zeros((4, 5), dtype=dtype, sycl_queue=gpu)
        y, pullback = sycl_dnn.vjp(sycl_dnn.functional.embedding, numbers, table)
        assert y.shape == (4, 5, 3)
        assert pullback(y)[1].shape == table.shape
        assert sycl_dnn.functional.one_hot(numbers, 7).shape == (4, 5, 7)
    gpu.wait()


def test_a_pair_of_devices_is_refused(gpu, cpu):
    x = dpnp.ones((2, 3), dtype="f4", sycl_queue=gpu)
    w = dpnp.ones((4, 3), dtype="f4", sycl_queue=cpu)
    with pytest.raises(dpnp.exceptions.ExecutionPlacementError, match="one queue"):
        sycl_dnn.functional.linear(x, w)


def test_arrays_of_another_device_inside_a_traced_function_are_refused(gpu, cpu):
    """Their memory is inaccessible there."""
    x = dpnp.ones((2, 3), dtype="f4", sycl_queue=gpu)
    w = dpnp.ones((4, 3), dtype="f4", sycl_queue=cpu)
    misplaced = dpnp.exceptions.ExecutionPlacementError
    for held in (w, sycl_dnn.freeze(w)):
        with pytest.raises(misplaced, match="refers to (itself )?must be"):
            sycl_dnn.vjp(lambda x, held=held: sycl_dnn.functional.linear(x, held), x)
