# SPDX-License-Identifier: Apache-2.0
"""Compiled functions with and without work of the host."""

import dpnp
import numpy as np

import sycl_dnn


def compared(function, *args, tolerance=2e-6):
    """Return the report of a compiled function that agrees with the one without host sequences."""
    compiled = sycl_dnn.compile(function)
    expected = sycl_dnn.compile(function, passes={"run_on_host": False})(*args)
    for _ in range(2):
        for result, value in zip(_flat(compiled(*args)), _flat(expected), strict=True):
            value = dpnp.asnumpy(value)
            scale = max(1.0, float(np.abs(value[np.isfinite(value)]).max(initial=0)))
            np.testing.assert_allclose(dpnp.asnumpy(result), value, 0, tolerance * scale)
    return compiled.explain(*args)


def _flat(results):
    return results if isinstance(results, tuple) else (results,)


def rows_of(report):
    """Return the row of each part of a report."""
    return [part.row for part in report.parts]
