# SPDX-License-Identifier: Apache-2.0
"""``vmap`` of every function: the results of a batch are those of its samples, one by one."""

import importlib
from pathlib import Path

import numpy as np
import pytest
from functional.case import TOLERANCE, arrays_of, filled, numpy_arguments, specs_of
from functional.on_device import to_device, to_numpy

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import tree

FOLDER = Path(__file__).parent
SIZE = 3


def _cases():
    """Return up to three cases of each function, of different numbers of axes where there are."""
    cases = {}
    for path in sorted(FOLDER.rglob("test_*.py")):
        if path.name not in ("test_mapped.py", "test_float64.py"):
            module = importlib.import_module(
                ".".join(path.relative_to(FOLDER.parent).with_suffix("").parts)
            )
            for case in getattr(module, "CASES", []):
                name = getattr(case.function, "__name__", "")
                ranks = tuple(len(s.shape) for s in specs_of(case.args))
                is_written = "running" in case.name  # statistics, by the first sample
                if case.dtype == "float32" and hasattr(F, name) and not is_written and ranks:
                    cases.setdefault(name, {}).setdefault((ranks, len(case.args)), case)
    return [case for of_name in cases.values() for case in list(of_name.values())[:3]]


CASES = _cases()
#: Each with all arrays mapped, and with only the first.
CALLS = [(case, len(specs_of(case.args))) for case in CASES]
CALLS += [(case, 1) for case, n in CALLS if n > 1]


def _on_device(case, arrays, queue):
    return [
        to_device(a, case.dtype if a.dtype.kind == "f" else str(a.dtype), queue) for a in arrays
    ]


def _assert_near(case, batch, samples):
    """Compare the results of a batch with those of its samples."""
    actual = [to_numpy(v) for v in tree.leaves(batch) if v is not None]
    leaves = [[to_numpy(v) for v in tree.leaves(s) if v is not None] for s in samples]
    for a, b in zip(actual, [np.stack(parts) for parts in zip(*leaves, strict=True)], strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        scale = np.abs(b[np.isfinite(b)]).max(initial=1e-3) if b.dtype.kind == "f" else 1
        np.testing.assert_allclose(a, b, rtol=0, atol=case.slack * TOLERANCE["float32"] * scale)


@pytest.mark.sweep(24)
@pytest.mark.filterwarnings("ignore:.*should have the shape:UserWarning")
@pytest.mark.parametrize(("case", "n_mapped"), CALLS, ids=str)
def test_batch_is_its_samples(case, n_mapped, queue):
    arguments = [numpy_arguments(case, seed) for seed in range(SIZE)]
    fixed = arrays_of(arguments[0])[n_mapped:]
    samples = [_on_device(case, arrays_of(a)[:n_mapped] + fixed, queue) for a in arguments]
    mapped = zip(*[arrays_of(a)[:n_mapped] for a in arguments], strict=True)
    batch = _on_device(case, [*map(np.stack, mapped), *fixed], queue)
    axes = (0,) * n_mapped + (None,) * len(fixed)

    def function(*arrays):
        return case.function(*filled(list(arguments[0]), list(arrays)), **case.kwargs)

    def gradient(*arrays):
        y, pullback = sycl_dnn.vjp(function, *arrays)
        return pullback(tree.map(lambda v: F.cos(v) if "float" in str(v.dtype) else v, y))

    _assert_near(
        case,
        sycl_dnn.vmap(function, axes)(*batch),
        [sycl_dnn.vjp(function, *arrays)[0] for arrays in samples],
    )
    if case.has_gradient and hasattr(case.function, "operation"):
        _assert_near(
            case,
            sycl_dnn.vmap(gradient, axes)(*batch),
            [gradient(*arrays) for arrays in samples],
        )
