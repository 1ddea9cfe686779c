# SPDX-License-Identifier: Apache-2.0
"""sycl_dnn.functional: the cases of its tests with other shapes, dtypes, layouts and options."""

import importlib
import inspect
from dataclasses import replace
from functools import cache
from pathlib import Path

import dpnp
import numpy as np
from functional.case import Case, Spec, filled, specs_of
from functional.on_device import to_device
from hypothesis import strategies as st

import sycl_dnn
from fuzz.guards import GUARD
from fuzz.values import chance, mutated, note, renamed_sizes, wrong

FOLDER = Path(__file__).parents[1] / "functional"
DTYPES = st.sampled_from(
    ("float32", "float16", "bfloat16", "float64", "int32", "int64", "int8", "uint8", "bool")
)
LAYOUTS = st.sampled_from(("plain", "channels_last", "strided", "reversed", "transposed"))
#: Elements of an array at most.
MOST = 50_000


@cache
def cases():
    """All cases of tests/functional."""
    found = []
    for path in sorted(FOLDER.rglob("test_*.py")):
        module = importlib.import_module(
            ".".join(path.relative_to(FOLDER.parent).with_suffix("").parts)
        )
        found += [c for c in getattr(module, "CASES", ()) if isinstance(c, Case)]
    return found


@cache
def pure_cases():
    """Those that only read their arrays; batch_norm also updates running statistics."""
    return [c for c in cases() if c.dtype == "float32" and "running" not in c.name]


def changed(draw, specs):
    """The arrays with other shapes, dtypes and layouts."""
    shapes = renamed_sizes(draw, {str(i): s.shape for i, s in enumerate(specs)})
    result = [replace(s, shape=shapes[str(i)]) for i, s in enumerate(specs)]
    if chance(draw, 30):
        result = [replace(s, layout=draw(LAYOUTS)) for s in result]
    if result and chance(draw, 20):
        at = draw(st.integers(0, len(result) - 1))
        result[at] = replace(result[at], dtype=draw(DTYPES))
    return result


def array(spec, dtype, queue, rng):
    """The array of a spec; integers may be out of range."""
    if min(spec.shape, default=0) < 0 or np.prod(spec.shape, dtype=float) > MOST:
        raise ValueError("more than a test shall allocate")
    if spec.is_integer:
        values = rng.integers(-1, spec.high + 1, spec.shape)
    else:
        values = rng.uniform(0.05, 2, spec.shape)
    dtype = spec.dtype or ("int64" if spec.is_integer else dtype)
    return to_device(values, dtype, queue, spec.layout)


def call(draw, stream):
    """One function with changed arguments; the result is waited for and read."""
    case = draw(st.sampled_from(cases()))
    queue = stream.sycl_queue
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    dtype = draw(DTYPES) if chance(draw, 20) else case.dtype
    specs = changed(draw, specs_of(case.args))
    arrays = [array(s, dtype, queue, rng) for s in specs]
    args, kwargs = list(filled(list(case.args), arrays)), dict(case.kwargs)
    if chance(draw, 30) and args:
        at = draw(st.integers(0, len(args) - 1))
        simple = not specs_of(case.args[at])
        args[at] = mutated(draw, args[at]) if simple else draw(wrong)
    for name in [n for n in kwargs if chance(draw, 20)]:
        kwargs[name] = mutated(draw, kwargs[name])
    if np.prod(kwargs.get("size") or 0, dtype=float) > 1000 * MOST:
        raise ValueError("more than a test shall allocate")
    if chance(draw, 3):
        kwargs["no_such_option"] = 1
    note(case, specs, dtype, args, kwargs)
    finish(case.function(*args, **kwargs), queue)
    return getattr(case.function, "__name__", str(case))


def finish(made, queue):
    """Wait, and read every result."""
    sycl_dnn.synchronize(queue)
    for one in made if isinstance(made, (tuple, list)) else (made,):
        if isinstance(one, dpnp.ndarray):
            dpnp.asnumpy(one)


def guarded_call(draw, stream):
    """One function whose arrays, including any ``out``, lie between guard bytes."""
    case = draw(st.sampled_from(pure_cases()))
    queue = stream.sycl_queue
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    specs = changed(draw, specs_of(case.args))
    plain = [array(replace(s, layout="plain"), "float32", queue, rng) for s in specs]
    wholes, views, kept = [], [], []
    for one in plain:
        if not isinstance(one, dpnp.ndarray):
            raise TypeError("no guards for this dtype")
        pad = GUARD // one.dtype.itemsize
        whole = dpnp.full((one.size + 2 * pad,), 7, dtype=one.dtype, sycl_queue=queue)
        whole[pad : pad + one.size] = one.reshape(-1)
        views.append(whole[pad : pad + one.size].reshape(one.shape))
        wholes.append(whole)
        kept.append(dpnp.asnumpy(whole))
    given = list(filled(list(case.args), list(views)))
    kwargs = dict(case.kwargs)
    if "out" in inspect.signature(case.function).parameters and chance(draw, 50):
        kwargs["out"] = dpnp.zeros(tuple(specs[0].shape), dtype="f4", sycl_queue=queue)
    note(case, specs, kwargs)
    try:
        finish(case.function(*given, **kwargs), queue)
    finally:
        sycl_dnn.synchronize(queue)
        for before, whole in zip(kept, wholes, strict=True):
            same = np.array_equal(before, dpnp.asnumpy(whole), equal_nan=before.dtype.kind == "f")
            assert same, f"{case} changed its input or around it"
    return getattr(case.function, "__name__", str(case))


__all__ = ["Spec", "call", "guarded_call"]
