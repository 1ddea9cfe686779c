# SPDX-License-Identifier: Apache-2.0
"""Gradients of arrays whose slices were read: overlapping, adjacent, strided, many."""

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F

#: Slices of an array of 12 x 10, each squared and summed; some read the whole array, too.
SLICES = {
    "one": [np.s_[:, 3:8]],
    "one of two axes": [np.s_[2:9, 1:4]],
    "adjacent": [np.s_[:, :4], np.s_[:, 4:]],
    "with gaps": [np.s_[:, 6:8], np.s_[:, 1:3]],
    "overlapping": [np.s_[1:], np.s_[:-1]],
    "the same": [np.s_[:, 2], np.s_[:, 2], np.s_[:, 2]],
    "with steps": [np.s_[:, ::2], np.s_[:, 1::2]],
    "reversed": [np.s_[::-1, ::-3], np.s_[3]],
    "stencil": [np.s_[2:, 1:-1], np.s_[:-2, 1:-1], np.s_[1:-1, 2:], np.s_[1:-1, :-2],
                np.s_[1:-1, 1:-1]],
    "every row": [np.s_[i] for i in range(12)],
    "rows twice": [np.s_[i] for i in (*range(12), *range(12))],
    "of slices": [np.s_[:, 2:9]] * 2,
    "empty": [np.s_[:0], np.s_[4:6]],
}  # fmt: skip


def _loss(slices, whole, nested=np.s_[:]):
    def loss(x):
        total = F.sum(F.mul(x, x)) if whole else 0
        for n, key in enumerate(slices):
            part = x[key][nested]
            total = F.sum(F.mul(F.mul(part, part), n + 1.0)) + total
        return total

    return loss


def _expected(x, slices, whole, nested=np.s_[:]):
    gradient = 2 * x if whole else np.zeros_like(x)
    for n, key in enumerate(slices):
        gradient[key][nested] += 2 * (n + 1) * x[key][nested]
    return gradient


@pytest.mark.parametrize("is_compiled", [False, True])
@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("scale", [1, 64])
@pytest.mark.parametrize("name", SLICES)
def test_gradient(name, scale, whole, is_compiled, queue):
    values = np.random.default_rng(0).standard_normal((12, 10, scale * 7)).astype("f4")
    nested = np.s_[3:9:2, 1:6] if name == "of slices" else np.s_[:]
    gradient = sycl_dnn.grad(_loss(SLICES[name], whole, nested))
    gradient = sycl_dnn.compile(gradient) if is_compiled else gradient
    result = gradient(dpnp.asarray(values, sycl_queue=queue)).asnumpy()
    np.testing.assert_allclose(result, _expected(values, SLICES[name], whole, nested), rtol=1e-5)


@pytest.mark.parametrize("dtype", ["float64", "complex64", "float16"])
def test_gradient_in_other_dtypes(dtype, queue):
    if dtype == "float64" and not queue.sycl_device.has_aspect_fp64:
        pytest.skip(f"{queue.sycl_device.name} has no float64")
    values = np.random.default_rng(0).standard_normal((12, 10)).astype(dtype)

    def loss(x):
        return F.sum(F.abs(x[1:]) + F.abs(x[:-1]))

    x = dpnp.asarray(values, sycl_queue=queue)
    unit = values / np.abs(values)
    expected = np.pad(unit[1:], ((1, 0), (0, 0))) + np.pad(unit[:-1], ((0, 1), (0, 0)))
    limit = 2e-3 if dtype == "float16" else 1e-6
    np.testing.assert_allclose(sycl_dnn.grad(loss)(x).asnumpy(), expected, rtol=limit, atol=limit)


@pytest.mark.parametrize("name", ["adjacent", "overlapping", "one of two axes", "every row"])
def test_second_derivative(name, queue):
    values = np.random.default_rng(0).standard_normal((12, 10)).astype("f4")
    x = dpnp.asarray(values, sycl_queue=queue)

    def slope(x):
        gradient = sycl_dnn.grad(_loss(SLICES[name], False))(x)
        return F.sum(gradient * gradient)

    counts = _expected(np.ones_like(values), SLICES[name], False)
    result = sycl_dnn.grad(slope)(x).asnumpy()
    np.testing.assert_allclose(result, 2 * counts * counts * values, rtol=1e-5)


def test_adjacent_slices_of_a_large_array_are_joined(queue):
    def loss(x):
        a, b = F.chunk(x, 2, 1)
        return F.sum(F.mul(F.exp(a), b))

    x = dpnp.ones((512, 256), dtype="f4", sycl_queue=queue)
    with sycl_dnn.profile() as profile:
        sycl_dnn.grad(loss)(x)
    names = [record.name for record in profile.records]
    assert "concat" in names
    assert "zeros" not in names
