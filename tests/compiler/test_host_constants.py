# SPDX-License-Identifier: Apache-2.0
"""Coefficients that the host computes from constants: as primitives would, but without them."""

import numpy as np
import pytest
from comparing import assert_same

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn.compiler import host_constants
from sycl_dnn.compiler.passes import folding
from sycl_dnn.onednn import shared_descriptors


@pytest.fixture
def rows(monkeypatch):
    """Count the descriptors that are created, by row."""
    found, create = [], shared_descriptors.Descriptors._created

    def counted(self, key, engine, row, *rest):
        found.append(row)
        return create(self, key, engine, row, *rest)

    monkeypatch.setattr(shared_descriptors.Descriptors, "_created", counted)
    return found


@pytest.fixture
def functions(monkeypatch):
    """Note the functions that the host computes."""
    found, compute = [], host_constants.compute

    def noted(nodes, *rest):
        found.extend(node.function.name for node in nodes)
        return compute(nodes, *rest)

    monkeypatch.setattr(host_constants, "compute", noted)
    return found


def layer(make, n):
    """Return a function with a normalization, a scale per channel and a number to fold."""
    w, b = make(n, 3, 3, 3), make(n)
    mean, weight, bias, scale = make(n), make(n), make(n), make(n, 1, 1)
    variance = make(n) ** 2 + 0.5

    def function(x):
        y = F.batch_norm(F.conv2d(x, w, b), mean, variance, weight, bias)
        return (y * scale + 0.5) * 2.0

    return function


@pytest.mark.cpu
def test_folding_creates_no_descriptors(make, rows, functions):
    shared_descriptors.shared.clear()
    x, function = make(2, 3, 9, 9), layer(make, 23)
    program = sycl_dnn.compile(function)
    result = program(x)
    created = list(rows)
    assert functions == ["normalization", "coefficients"]
    assert program.explain(x).n_steps == 1
    # The product in the function, and that of the normalization; both were folded.
    assert created.count("binary") == 2
    np.testing.assert_allclose(result.asnumpy(), function(x).asnumpy(), rtol=1e-4, atol=1e-4)


def test_the_host_rounds_as_primitives_do(make, monkeypatch):
    x, w, b, scale, shift = make(2, 3, 9, 9), make(8, 3, 3, 3), make(8), make(8), make(8)

    def function(x):
        return F.conv2d(x, w, b) * scale[:, None, None] + shift[:, None, None]

    result = sycl_dnn.compile(function)(x)
    monkeypatch.setattr(folding, "recorded_on_host", lambda *args: None)
    assert (sycl_dnn.compile(function)(x).asnumpy() == result.asnumpy()).all()


@pytest.mark.cpu
def test_programs_of_other_shapes_share_the_coefficients(make, functions):
    program = sycl_dnn.compile(layer(make, 24))
    program(make(2, 3, 9, 9))
    n_results, n_bytes = len(functions), program._pool.nbytes
    program(make(2, 3, 11, 9))
    assert n_results == 2
    assert (len(functions), program._pool.nbytes) == (n_results, n_bytes)


@pytest.mark.cpu
def test_statistics_that_a_call_passes_are_not_read_before(make, functions):
    w, x, mean = make(8, 3, 3, 3), make(2, 3, 9, 9), make(8)
    program = sycl_dnn.compile(lambda x, m: F.batch_norm(F.conv2d(x, w), m, m * m + 1.0))
    for given in (mean, mean + 1.0):
        expected = F.batch_norm(F.conv2d(x, w), given, given * given + 1.0)
        assert_same(program(x, given), expected)
    assert not functions


@pytest.mark.cpu
def test_constants_that_a_primitive_computes_are_folded_by_primitives(make, functions):
    x, w, scale = make(2, 3, 9, 9), make(8, 3, 3, 3), make(8)

    def function(x, scale):
        return F.conv2d(x, w) * F.softmax(scale, 0)[:, None, None]

    program = sycl_dnn.compile(function, constants="scale")
    assert_same(program(x, scale), function(x, scale))
    assert program.explain(x, scale).n_steps == 1
    assert not functions


@pytest.mark.cpu
def test_large_weights_are_folded_by_primitives(make, functions, monkeypatch):
    monkeypatch.setattr(host_constants, "_MOST", 100)  # fewer than of the weights
    x, function = make(2, 3, 9, 9), layer(make, 25)
    program = sycl_dnn.compile(function)
    np.testing.assert_allclose(program(x).asnumpy(), function(x).asnumpy(), rtol=1e-4, atol=1e-4)
    assert functions == ["normalization"]
    assert program.explain(x).n_steps == 1
