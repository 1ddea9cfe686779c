# SPDX-License-Identifier: Apache-2.0
"""torch's windows and short-time Fourier transforms: their definitions, gradients, refusals."""

import dpnp
import numpy as np
import pytest
import wide_dtypes
from compared_with_torch import torch

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn
from sycl_dnn.nn import torch_names

WINDOWS = ["hann_window", "hamming_window", "blackman_window", "bartlett_window", "kaiser_window"]


def signals(*shape, dtype="f4"):
    rng = np.random.default_rng(0)
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def spectra(x, n, hop, window):
    """Transforms of the frames of a signal, by their definition."""
    firsts = range(0, x.shape[-1] - n + 1, hop)
    turns = np.exp(-2j * np.pi * np.outer(np.arange(n), np.arange(n)) / n)
    return np.stack([turns @ (x[first : first + n] * window) for first in firsts], -1)


# --- Windows


@pytest.mark.parametrize("name", WINDOWS)
def test_periodic_windows_are_longer_ones_without_the_end(name):
    window = getattr(torch_names, name)
    for n in (2, 7, 64):
        whole = window(n + 1, periodic=False).asnumpy()
        np.testing.assert_array_equal(window(n).asnumpy(), whole[:n])
        np.testing.assert_allclose(whole, whole[::-1], atol=1e-6)
        assert abs(window(2 * n + 1, False).asnumpy()[n] - 1) < 1e-6
    assert window(0).shape == (0,)
    assert window(1).tolist() == [1.0]
    assert window(3, dtype=torch_names.float16).dtype == "float16"


def test_parameters_of_windows():
    assert torch_names.hann_window(4).tolist() == [0.0, 0.5, 1.0, 0.5]
    assert torch_names.bartlett_window(5, False).tolist() == [0.0, 0.5, 1.0, 0.5, 0.0]
    np.testing.assert_allclose(
        torch_names.hamming_window(2, True, 0.75, 0.25).asnumpy(), [0.5, 1.0]
    )
    np.testing.assert_allclose(
        torch_names.kaiser_window(3, False, 5.0).asnumpy(), np.kaiser(3, 5.0), rtol=1e-6
    )


@pytest.mark.parametrize("name", WINDOWS)
def test_windows_are_torchs(name):
    pytest.importorskip("torch")
    for n in (0, 1, 2, 5, 400):
        for periodic in (False, True):
            expected = getattr(torch, name)(n, periodic, dtype=torch.float64)
            actual = getattr(torch_names, name)(n, periodic, dtype="float64")
            np.testing.assert_allclose(actual.asnumpy(), expected, atol=1e-12)


# --- Transforms


@pytest.mark.parametrize(("n", "hop", "width"), [(8, 3, 8), (9, 4, 5), (6, 6, 2)])
@pytest.mark.parametrize("dtype", ["f4", "c8"])
def test_frames_are_transformed(n, hop, width, dtype, queue):
    x, window = signals(3, 40, dtype=dtype), np.hanning(width + 2)[1:-1].astype("f4")
    left = (n - width) // 2
    padded = np.pad(window, (left, n - width - left))
    arrays = [dpnp.asarray(v, sycl_queue=queue) for v in (x, window)]

    def of_frames(x, window, **options):
        options = {"center": False, "return_complex": True, "win_length": width} | options
        return torch_names.stft(x, n, hop, window=window, **options)

    expected = np.stack([spectra(row, n, hop, padded) for row in x])
    rows = n // 2 + 1 if dtype == "f4" else n
    for call in (of_frames, sycl_dnn.compile(of_frames), lambda x, w: sycl_dnn.vmap(
            of_frames, in_axes=(0, None))(x, w)):  # fmt: skip
        actual = call(*arrays)
        assert actual.dtype == "complex64"
        np.testing.assert_allclose(actual.asnumpy(), expected[:, :rows], atol=1e-5)
    whole = of_frames(arrays[0][0], arrays[1], onesided=False, normalized=True).asnumpy()
    np.testing.assert_allclose(whole, expected[0] / np.sqrt(n), atol=1e-5)
    pairs = of_frames(*arrays, return_complex=False).asnumpy()
    np.testing.assert_allclose(pairs[..., 1], expected[:, :rows].imag, atol=1e-5)
    centered = of_frames(*arrays, center=True, pad_mode="constant").asnumpy()
    beyond = np.stack([spectra(np.pad(v, n // 2), n, hop, padded) for v in x])
    np.testing.assert_allclose(centered, beyond[:, :rows], atol=1e-5)
    aligned = of_frames(*arrays, align_to_window=True).asnumpy()
    zeros = np.stack([spectra(np.pad(v, (left, n - width - left)), n, hop, padded) for v in x])
    np.testing.assert_allclose(aligned, zeros[:, :rows], atol=1e-5)


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8"])
@pytest.mark.parametrize(("n", "hop", "width"), [(8, 2, None), (9, 3, 6), (16, 5, 12)])
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.sweep(3)
def test_signals_are_found_again(dtype, n, hop, width, center, queue):
    wide_dtypes.need(dtype, queue)
    x = dpnp.asarray(signals(2, 61, dtype=dtype), sycl_queue=queue)
    window = torch_names.hamming_window(width or n, dtype="f8" if dtype == "f8" else "f4")
    window = dpnp.asarray(window, sycl_queue=queue)
    options = {"win_length": width, "window": window, "center": center}

    def again(x):
        z = torch_names.stft(x, n, hop, return_complex=True, **options)
        return torch_names.istft(z, n, hop, return_complex=dtype == "c8", **options)

    limit = 1e-12 if dtype == "f8" else 2e-5
    if not center and width:
        with pytest.raises(ValueError, match="istft: window must have no gaps between frames"):
            again(x)
        return
    for y in (again(x), sycl_dnn.compile(again)(x), sycl_dnn.vjp(again, x)[0]):
        assert str(y.dtype) == str(x.dtype)
        n_samples = y.shape[-1]
        assert 61 - hop < n_samples <= 61
        np.testing.assert_allclose(y.asnumpy(), x.asnumpy()[:, :n_samples], atol=limit)


def test_the_length_of_signals(queue):
    x = dpnp.asarray(signals(40), sycl_queue=queue)
    z = torch_names.stft(x, 8, 4, return_complex=True)
    for length in (33, 40, 60):
        y = torch_names.istft(z, 8, 4, length=length).asnumpy()
        assert y.shape == (length,)
        np.testing.assert_allclose(y[:40], x.asnumpy()[:length], atol=1e-5)
        assert not y[44:].any()


def test_methods_in_modules_and_second_derivatives(queue):
    class Spectral(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("window", torch_names.hann_window(8))

        def forward(self, x):
            z = x.stft(8, hop_length=2, window=self.window, return_complex=True)
            return (z * z.abs()).istft(8, hop_length=2, window=self.window, length=x.size(-1))

    net, x = Spectral().to(queue), dpnp.asarray(signals(2, 30), sycl_queue=queue)
    v = dpnp.asarray(signals(4, 30)[2:], sycl_queue=queue)

    def energy(x):
        return F.sum(F.square(net(x)))

    def slope(function, x, step=1e-2):
        return (float(function(x + v * step)) - float(function(x - v * step))) / (2 * step)

    gradient = sycl_dnn.grad(energy)
    np.testing.assert_allclose(float(F.sum(gradient(x) * v)), slope(energy, x), rtol=2e-3)
    product = float(sycl_dnn.hvp(energy, (x,), (v,))[1][0].__mul__(v).sum())
    np.testing.assert_allclose(product, slope(lambda x: F.sum(gradient(x) * v), x), rtol=2e-3)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda t, x, z: t.hann_window(-1), ValueError, "hann_window: window_length must be at"),
        (lambda t, x, z: t.hann_window(4, dtype="int64"), TypeError, "hann_window: dtype must be"),
        (lambda t, x, z: t.stft(x, 8), ValueError, "return_complex must be True or False for real"),
        (lambda t, x, z: t.stft(x, 0), ValueError, "stft: n_fft must be at least 1, got 0"),
        (lambda t, x, z: t.stft(x, 8, 0), ValueError, "stft: hop_length must be at least 1"),
        (lambda t, x, z: t.stft(x, 8, 2, 9), ValueError, "win_length must be at most n_fft, 8"),
        (lambda t, x, z: t.stft(x, 8, window=x, return_complex=True), ValueError,
         r"stft: window must have shape \(8,\), as win_length says, got \(20,\)"),
        (lambda t, x, z: t.stft(x, 24, center=False, return_complex=True), ValueError,
         "stft: n_fft must be at most the length 20, got 24"),
        (lambda t, x, z: t.stft(x, 8, align_to_window=True, return_complex=True), ValueError,
         "stft: align_to_window must be None with center, got True"),
        (lambda t, x, z: t.stft(z, 4, onesided=True), ValueError, "onesided must not be True"),
        (lambda t, x, z: t.stft(x[None, None], 8, return_complex=True), ValueError,
         r"stft: input must have 1 or 2 axes, got shape \(1, 1, 20\)"),
        (lambda t, x, z: t.stft(x.astype("i4"), 8, return_complex=True), TypeError,
         "stft: input must be floating-point or complex, got int32"),
        (lambda t, x, z: t.istft(x, 8), TypeError, "istft: input must be complex"),
        (lambda t, x, z: t.istft(z[0], 8), ValueError, "istft: input must have 2 or 3 axes"),
        (lambda t, x, z: t.istft(z, 8, 9), ValueError, "hop_length must be at most win_length, 8"),
        (lambda t, x, z: t.istft(z, 16), ValueError, "input must have 9 frequencies for n_fft 16"),
        (lambda t, x, z: t.istft(z, 8, return_complex=True), ValueError, "return_complex must be"),
        (lambda t, x, z: t.istft(z, 8, length=0), ValueError, "length must be at least 1, got 0"),
        (lambda t, x, z: t.istft(z, 8, window=F.mul(x[:8], 1j)), ValueError, "complex window"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_refused(call, error, words, queue):
    x = dpnp.asarray(signals(20), sycl_queue=queue)
    z = dpnp.asarray(signals(5, 6, dtype="c8"), sycl_queue=queue)
    with pytest.raises(error, match=words):
        call(torch_names, x, z)


def test_a_module_runs_on_its_one_device(queue):
    net = torch_names.nn.DataParallel(nn.Linear(3, 2), device_ids=[0, 1]).to(queue)
    x = dpnp.asarray(signals(4, 3), sycl_queue=queue)
    assert list(net.state_dict()) == ["module.weight", "module.bias"]
    np.testing.assert_array_equal(net(x).asnumpy(), net.module(x).asnumpy())
    grads = sycl_dnn.grad(lambda net: F.sum(net(x)))(net)
    np.testing.assert_allclose(grads.module.bias.asnumpy(), [4.0, 4.0])
