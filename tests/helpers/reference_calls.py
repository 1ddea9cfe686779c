# SPDX-License-Identifier: Apache-2.0
"""Calls of the references, for the tests of the references."""

import numpy as np
import pytest
from conformance.references import reference

each = pytest.mark.parametrize


def exact(arrays):
    """The same arrays in float64."""
    return {name: array.astype(np.float64) for name, array in arrays.items()}


def run(case, arrays):
    """All outputs of the reference for a case."""
    return reference(case.row, case.params, arrays, case.shapes)


def call(row, params, shapes=None, **arrays):
    """The ``dst`` of one reference."""
    return reference(row, params, arrays, shapes)["dst"]


def random(*shape, seed=0):
    """Reproducible normal numbers."""
    return np.random.default_rng(seed).standard_normal(shape)
