# SPDX-License-Identifier: Apache-2.0
"""Items and captured arrays of functions that run again: found without Python, and current."""

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn.trace import indexing

KEYS = [1, -1, (0, 2), slice(1, None), (slice(None), slice(None, None, -2)), None, ...,
        (..., None, 1), (slice(0, 2), None, 1), (1, slice(2, 2))]  # fmt: skip


def _x():
    return dpnp.asarray(np.arange(12, dtype="f4").reshape(3, 4))


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_items_of_later_runs_equal_the_first_runs(key):
    gradient = sycl_dnn.grad(lambda x: (x[key] ** 2).sum())
    expected = np.zeros((3, 4), "f4")
    expected[key] = 2 * dpnp.asnumpy(_x())[key]
    for _ in range(3):
        np.testing.assert_array_equal(dpnp.asnumpy(gradient(_x())), expected)


def test_later_runs_do_not_read_the_key_again(monkeypatch):
    gradient = sycl_dnn.grad(lambda x: (x[1:, None] * x[..., 0].sum()).sum())
    first = dpnp.asnumpy(gradient(_x()))
    monkeypatch.setattr(indexing, "full_key", None)
    np.testing.assert_array_equal(dpnp.asnumpy(gradient(_x())), first)


def test_keys_that_differ_from_run_to_run():
    key = [0]
    gradient = sycl_dnn.grad(lambda x: x[key[0]].sum())
    for value in (0, 1, slice(0, 2), 1, 0, (2, 3), slice(0, 2)):
        key[0], expected = value, np.zeros((3, 4), "f4")
        expected[value] = 1
        np.testing.assert_array_equal(dpnp.asnumpy(gradient(_x())), expected)


def test_bounds_and_masks_of_values_are_read_in_each_run():
    def loss(x, n):
        return x[: n.sum()].sum() + 2 * x[x > n.sum()].sum()

    both = sycl_dnn.value_and_grad(loss)
    for n in (1, 2, 1, 3):
        value, dx = both(_x(), dpnp.asarray([n]))
        expected = 2.0 * (dpnp.asnumpy(_x()) > n)
        expected[:n] += 1
        np.testing.assert_array_equal(dpnp.asnumpy(dx), expected)
        assert float(value) == (expected * dpnp.asnumpy(_x())).sum()


def test_arrays_of_indices_are_those_of_the_run():
    index = dpnp.asarray([0, 2])
    gradient = sycl_dnn.grad(lambda x: x[index].sum() + x[index, 1].sum())
    for rows in ([0, 2], [1, 1], [2, 0]):
        index[...] = dpnp.asarray(rows)
        expected = np.zeros((3, 4), "f4")
        np.add.at(expected, rows, 1)
        np.add.at(expected, (rows, 1), 1)
        np.testing.assert_array_equal(dpnp.asnumpy(gradient(_x())), expected)


def test_writes_to_items_are_seen_by_their_source_in_each_run():
    def loss(x):
        y = x * 1
        part = y[1]
        part += 1
        y[:, 0] *= 3
        return (y * part).sum()

    gradient = sycl_dnn.grad(loss)
    first = dpnp.asnumpy(gradient(_x()))
    for _ in range(2):
        np.testing.assert_array_equal(dpnp.asnumpy(gradient(_x())), first)


@pytest.mark.parametrize("kind", ["device", "shared"])
def test_captured_arrays_are_those_of_the_run(kind):
    held = [None]
    both = sycl_dnn.value_and_grad(lambda x: F.mul(x, held[0]).sum() + (held[0] ** 2).sum())
    arrays = [
        _x(),
        _x() + 1,
        _x().astype("f8").astype("f4"),
        dpnp.ones((4, 3), dtype="f4").T,
        _x()[:1],
    ]
    for array in [*arrays, *reversed(arrays)]:
        held[0] = dpnp.asarray(array, usm_type=kind)
        _, dx = both(_x())
        expected = np.broadcast_to(dpnp.asnumpy(held[0]), (3, 4))
        np.testing.assert_array_equal(dpnp.asnumpy(dx), expected)
        held[0][...] = held[0] * 2
        np.testing.assert_array_equal(dpnp.asnumpy(both(_x())[1]), 2 * expected)
