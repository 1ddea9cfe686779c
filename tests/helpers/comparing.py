# SPDX-License-Identifier: Apache-2.0
"""Compare the results of compiled functions with those of the functions themselves."""

from __future__ import annotations

from typing import Any

import dpnp
import numpy as np
from arithmetic import saturates

import sycl_dnn
from sycl_dnn.device import executes_on_cpu
from sycl_dnn.trace.nested_arguments import arrays_of


def numpy_leaves(value: Any) -> list[np.ndarray]:
    """Return the arrays of nested results as float32 NumPy arrays."""
    arrays = [a if isinstance(a, dpnp.ndarray) else a.astype("float32") for a in arrays_of(value)]
    return [dpnp.asnumpy(a) for a in arrays]


def assert_same(actual: Any, expected: Any, tolerance: float = 2e-5) -> None:
    """Compare nested results; errors are relative to the largest element of each array."""
    actual, expected = numpy_leaves(actual), numpy_leaves(expected)
    assert [a.shape for a in actual] == [a.shape for a in expected]
    for a, b in zip(actual, expected, strict=True):
        scale = max(np.abs(b).max(initial=0.0), 1e-3)
        np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * scale)


def assert_in_integers(report: Any, queue: Any) -> None:
    """Check that a step multiplies integers, or that all candidates say floats are as fast here."""
    if any("x int8" in text for part in report.parts for text in part.fused):
        return
    refused = [text for part in report.parts for text in part.refused if "integers: " in text]
    assert refused, str(report)
    assert all("would run as" in text for text in refused), str(report)
    # With instructions for integers, oneDNN has fast kernels for each product.
    assert saturates(queue), str(report)


def slow_parts(report: Any, queue: Any) -> list[Any]:
    """Return the parts that use reference kernels; the executing GPU has hardly any others."""
    return [] if executes_on_cpu(queue.sycl_device) else list(report.slow)


def reference_warnings(caught: Any, queue: Any) -> list[Any]:
    """Return the warnings about reference kernels; the executing GPU has hardly any others."""
    if executes_on_cpu(queue.sycl_device):
        return []
    return [w for w in caught if w.category is sycl_dnn.ReferenceWarning]


def compiled_as_eager(function: Any, *args: Any, tolerance: float = 2e-5, **options: Any) -> Any:
    """Compile, compare twice, and return the report of what runs."""
    expected = function(*args)
    compiled = sycl_dnn.compile(function, **options)
    for _ in range(2):
        assert_same(compiled(*args), expected, tolerance)
    return compiled.explain(*args)
