# SPDX-License-Identifier: Apache-2.0
"""Overloads of torch's functions: flags in place of axes, integers, and methods of all arrays."""

import dpnp
import numpy as np
import pytest
import wide_dtypes

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn
from sycl_dnn.nn import torch_names

X = np.array([[1.0, 2.0, 4.0], [0.0, -1.0, 5.0]], "f4")
K = X.astype("i4")


@pytest.fixture
def arrays(queue):
    return [dpnp.asarray(x, sycl_queue=queue) for x in (X, K)]


@pytest.fixture
def as_torch():
    torch_names.set_tensor_methods(True)
    yield
    torch_names.set_tensor_methods(False)


@pytest.mark.parametrize("unbiased", [True, False])
def test_a_flag_in_place_of_axes_is_the_correction(unbiased, arrays):
    x, expected = arrays[0], X.var(ddof=int(unbiased))
    found = [F.var(x, unbiased), F.var_mean(x, unbiased)[0], F.std(x, unbiased) ** 2,
             F.std_mean(x, unbiased)[0] ** 2]  # fmt: skip
    assert [f.shape for f in found] == [()] * 4
    np.testing.assert_allclose([float(f) for f in found], expected, rtol=1e-6)
    np.testing.assert_allclose(F.var(x, 0, correction=None).asnumpy(), X.var(0, ddof=1))


@pytest.mark.parametrize("function", [F.sum, F.softmax, F.cumsum, F.squeeze, F.flip])
def test_other_flags_in_place_of_axes_are_refused(function, arrays):
    with pytest.raises(TypeError, match="must be an int, got True"):
        function(arrays[0], True)


@pytest.mark.parametrize(
    ("dtype", "numbers", "expected"),
    [
        ("int64", (-0.9, 2.1, 2.0), [0]),
        ("int32", (-0.9, 2.1, 2.0), [0, 2]),
        ("int8", (2.1, -2.9, -1.0), [2, 1, 0, -1, -2]),
        ("float64", (0.1, 0.5, 0.2), [0.1, 0.1 + 0.2]),
    ],
)
def test_arange_cuts_off_as_torch_does(dtype, numbers, expected, queue):
    wide_dtypes.need(dtype, queue)
    found = F.arange(*numbers, dtype=dtype, device=queue)
    assert (found.dtype, found.tolist()) == (dtype, expected)


def test_arange_refuses_infinity_and_steps_of_0():
    with pytest.raises(ValueError, match="end must be finite, got inf"):
        F.arange(0, np.inf)
    with pytest.raises(ValueError, match="step must be at least 1 in size"):
        F.arange(0, 1, 0.5, dtype="int64")


INTEGERS = {
    "mm": (lambda k: F.mm(k, k.T), K @ K.T),
    "bmm": (lambda k: F.bmm(k[None], k.T[None])[0], K @ K.T),
    "addmm": (lambda k: F.addmm(k[:, :2], k, k.T, beta=3, alpha=-2), 3 * K[:, :2] - 2 * K @ K.T),
    "linear": (lambda k: F.linear(k, k, k[:, 0]), K @ K.T + K[:, 0]),
    "relu6": (lambda k: F.relu6(2 * k), np.clip(2 * K, 0, 6)),
    "hardtanh": (lambda k: F.hardtanh(k, -0.5, 1.5), np.clip(K, 0, 1)),
    "threshold": (lambda k: F.threshold(k, 1, 7), np.where(K > 1, K, 7)),
    "sigmoid": (F.sigmoid, (1 / (1 + np.exp(-X))).astype("f4")),
    "tanh": (F.tanh, np.tanh(X)),
    "logsumexp": (lambda k: F.logsumexp(k, 1), np.log(np.exp(X).sum(1))),
}


@pytest.mark.parametrize("name", INTEGERS)
def test_integers_give_integers_or_float32(name, arrays):
    function, expected = INTEGERS[name]
    found = function(arrays[1])
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-6)


def test_addmm_of_integers_refuses_fractions(arrays):
    k = arrays[1]
    with pytest.raises(TypeError, match="addmm: beta must be an integer for int32, got 0.5"):
        F.addmm(k[:, :2], k, k.T, beta=0.5)


def test_scatter_adds_and_multiplies(arrays):
    x, index = arrays[0], dpnp.asarray([[0, 0, 2]], sycl_queue=arrays[0].sycl_queue)
    assert F.scatter(x, 1, index, 3.0, reduce="add").tolist()[0] == [7, 2, 7]
    assert F.scatter(x, 1, index, x[:1], reduce="multiply").tolist()[0] == [2, 2, 16]


def test_axes_of_one_element_are_contracted_with_any(arrays):
    x = arrays[0]
    found = F.tensordot(x, x[:1, :1], ([0, 1], [0, 1]))
    assert float(found) == X.sum() * X[0, 0]


def test_norms_of_complex_matrices_are_not_those_of_vectors(arrays):
    z = F.complex(arrays[0], arrays[0])
    of_columns = np.linalg.norm(X + 1j * X, 1)
    np.testing.assert_allclose(float(F.linalg.norm(z, 1)), of_columns, rtol=1e-6)
    expected = np.linalg.norm(X + 1j * X)
    np.testing.assert_allclose([float(F.linalg.norm(z)), float(F.norm(z))], expected, rtol=1e-6)


def test_numbers_fill_arrays_that_can_hold_them(arrays):
    assert F.full((2,), 1 + 2j).tolist() == [1 + 2j] * 2
    with pytest.raises(ValueError, match="full_like: fill_value must fit dtype int32, got"):
        F.full_like(arrays[1], 1 << 40)


def test_covariances_have_the_wider_dtype(arrays):
    x = sycl_dnn.asarray(arrays[0], dtype="bfloat16")
    assert F.cov(x, aweights=arrays[0][0]).dtype == "float32"
    with pytest.raises(TypeError, match="cov: fweights must be integers"):
        F.cov(x, fweights=arrays[0][0])


def test_integers_give_torchs_dtypes_in_compositions(arrays):
    k = arrays[1]
    assert torch_names.trapezoid(k).dtype == torch_names.cumulative_trapezoid(k).dtype == "float32"
    assert torch_names.logspace(0, 3, 4, dtype="int32").tolist() == [1, 10, 100, 1000]
    assert torch_names.tril_indices(2, 2, dtype="int32").dtype == "int32"


def test_a_module_may_be_the_distance(arrays):
    x, net = arrays[0], nn.PairwiseDistance()
    found = F.triplet_margin_with_distance_loss(x, x + 1, x - 2, distance_function=net)
    np.testing.assert_allclose(float(found), float(F.triplet_margin_loss(x, x + 1, x - 2)))


def test_losses_of_one_sample_have_the_shape_of_the_target(arrays):
    target = dpnp.asarray([1], sycl_queue=arrays[0].sycl_queue)
    assert F.multi_margin_loss(arrays[0][0], target, reduction="none").shape == (1,)


def test_sort_with_torchs_methods_is_torchs(as_torch):
    x = torch_names.tensor([3.0, 1.0, 2.0])
    assert x.sort(descending=True)[1].tolist() == [0, 2, 1]
    assert x.tolist() == [3.0, 1.0, 2.0]
    assert x.repeat(0).shape == (0,)


def test_arrays_of_bfloat16_have_torchs_methods_too(as_torch):
    x = sycl_dnn.asarray(F.tensor([[1.0, 2.0, 4.0], [0.0, -1.0, 5.0]]), dtype="bfloat16")
    values, places = x.max(1)
    assert (values.tolist(), places.tolist()) == ([4.0, 5.0], [2, 2])
    assert x.repeat(2, 1).shape == (4, 3)
    assert x.view(3, 2).transpose(0, 1).shape == x.t().mT.shape == (2, 3)
    assert float(x.std()) == float(F.std(x))
    assert x.float().dtype == "float32"
    assert x.clone().unfold(1, 2, 1).shape == (2, 2, 2)


def test_arrays_of_bfloat16_have_numpys_methods_otherwise():
    x = sycl_dnn.asarray(F.tensor([[1.0, 3.0]]), dtype="bfloat16")
    assert (float(x.std()), x.repeat(2).shape, x.T.shape) == (1.0, (4,), (2, 1))
    assert (x.view(2).shape, x.mT.shape, x.numel()) == ((2,), (2, 1), 2)
    with pytest.raises(AttributeError, match="'Array' object has no attribute 'backward'"):
        x.backward()
