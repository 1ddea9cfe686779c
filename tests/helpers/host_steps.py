# SPDX-License-Identifier: Apache-2.0
"""Calls with and without work of the host, and how close their results are."""

import dpnp
import numpy as np

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import tree


def numbers(results):
    """Return the arrays of nested results in NumPy; narrow floats become float32."""
    narrow = ("bfloat16", "float16")
    leaves = tree.leaves(results)
    return [dpnp.asnumpy(F.astype(v, "float32") if v.dtype in narrow else v) for v in leaves]


def assert_near(results, expected, tolerance=2e-6, rtol=0.0, is_scaled=True):
    """Compare arrays; errors are relative to the largest finite element of each, if above 1."""
    for result, value in zip(numbers(results), numbers(expected), strict=True):
        largest = np.abs(value[np.isfinite(value)]).max(initial=0) if is_scaled else 0
        np.testing.assert_allclose(result, value, rtol, tolerance * max(1.0, float(largest)))


def compared(function, *args, tolerance=2e-6, **how):
    """Return the report of a compiled function that agrees with the one without host sequences."""
    compiled = sycl_dnn.compile(function)
    expected = sycl_dnn.compile(function, passes={"run_on_host": False})(*args)
    for _ in range(2):
        assert_near(compiled(*args), expected, tolerance, **how)
    return compiled.explain(*args)


def rows_of(report):
    """Return the row of each part of a report."""
    return [part.row for part in report.parts]
