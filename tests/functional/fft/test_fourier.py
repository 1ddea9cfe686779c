# SPDX-License-Identifier: Apache-2.0
"""Discrete Fourier transforms: NumPy's values, the adjoints as gradients, torch's rules."""

import dpnp
import numpy as np
import pytest
import wide_dtypes
from in_threads import in_threads

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn.functional.fft import transforms

ONE = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
SEVERAL = ("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn")
OF_REAL = ("rfft", "ihfft", "rfft2", "rfftn")
OPTIONS = {
    **dict.fromkeys(ONE, ({}, {"n": 6}, {"n": 11, "dim": 0}, {"dim": 1, "norm": "ortho"},
                          {"dim": 1, "n": 1}, {"norm": "forward"})),
    **dict.fromkeys(SEVERAL, ({}, {"s": (6, 4)}, {"s": (4, 9), "dim": (0, 2), "norm": "ortho"},
                              {"dim": (2, 0), "norm": "forward"})),
}  # fmt: skip
CALLS = [(name, options) for name in (*ONE, *SEVERAL) for options in OPTIONS[name]]
DTYPES = ("float32", "float64", "complex64", "complex128")
ROWS = [
    (name, options, dtype)
    for name, options in CALLS
    for dtype in (DTYPES[:2] if name in OF_REAL else DTYPES)
]
SHAPE = (2, 3, 5)


def of_numpy(name, x, options):
    """Return NumPy's result in double precision."""
    options = dict(options)
    dim = options.pop("dim", (-2, -1) if name[-1] == "2" else None if name in SEVERAL else -1)
    options["axes" if name in SEVERAL else "axis"] = dim
    if name in SEVERAL and dim is None and "s" in options:
        options["axes"] = tuple(range(-len(options["s"]), 0))
    return getattr(np.fft, name)(x, **options)


def on(queue, *arrays):
    return [dpnp.asarray(a, sycl_queue=queue) for a in arrays]


def drawn(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def as_reals(x):
    """Return real and imaginary parts as one vector of real numbers."""
    x = np.asarray(x)
    return (np.stack([x.real, x.imag], -1) if np.iscomplexobj(x) else x).reshape(-1)


def adjoint(name, x, options, g):
    """Return the gradient by the matrix of the transform between real numbers."""
    is_complex, columns = np.iscomplexobj(x), []
    for place in np.ndindex(x.shape):
        for unit in (1, 1j) if is_complex else (1,):
            basis = np.zeros(x.shape, "c16" if is_complex else "f8")
            basis[place] = unit
            columns.append(as_reals(of_numpy(name, basis, options)))
    gradient = np.stack(columns) @ as_reals(g)
    if is_complex:
        gradient = gradient.reshape(-1, 2) @ [1, 1j]
    return gradient.reshape(x.shape)


@pytest.mark.sweep(16)
@pytest.mark.parametrize(("name", "options", "dtype"), ROWS)
def test_values_and_gradients(name, options, dtype, queue, monkeypatch):
    monkeypatch.setattr(transforms, "_FEW", 0)  # as of larger arrays
    wide_dtypes.need(dtype, queue)
    tolerance = 1e-5 if dtype in ("float32", "complex64") else 1e-12
    x = drawn(SHAPE, dtype)
    expected = of_numpy(name, x.astype("c16" if np.iscomplexobj(x) else "f8"), options)

    def function(x):
        return getattr(F.fft, name)(x, **options)

    value, pullback = sycl_dnn.vjp(function, *on(queue, x))
    kinds = {"float32": "complex64", "float64": "complex128"}
    real = {"complex64": "float32", "complex128": "float64"}
    expected_dtype = (
        kinds.get(dtype, dtype) if np.iscomplexobj(expected) else real.get(dtype, dtype)
    )
    g = drawn(expected.shape, expected_dtype, seed=1)
    gradient = pullback(*on(queue, g))[0]
    for result, other in (
        (value, expected), (function(*on(queue, x)), expected),
        (gradient, adjoint(name, x, options, g)),
    ):  # fmt: skip
        scale = tolerance * max(1, abs(other).max())
        np.testing.assert_allclose(dpnp.asnumpy(result), other, atol=scale, rtol=0)
    assert (str(value.dtype), str(gradient.dtype)) == (expected_dtype, dtype)


@pytest.mark.parametrize("name", ["rfft", "irfft", "fft"])
def test_compiled_transforms_repeat(name, queue):
    x = on(queue, drawn(SHAPE, "float32"))[0]

    def step(x):
        return sycl_dnn.value_and_grad(lambda x: F.sum(F.abs(getattr(F.fft, name)(x * 2))))(x)

    compiled = sycl_dnn.compile(step)
    for _ in range(2):
        value, gradient = compiled(x)
    expected = step(x)
    np.testing.assert_allclose(float(value), float(expected[0]), rtol=1e-5)
    np.testing.assert_allclose(gradient.asnumpy(), expected[1].asnumpy(), rtol=1e-4, atol=1e-5)


def test_integers_become_float32(queue):
    x = on(queue, np.arange(4))[0]
    assert F.fft.rfft(x).asnumpy().tolist() == np.fft.rfft(np.arange(4)).tolist()
    assert str(F.fft.fft(x).dtype) == "complex64"


def test_strided_and_empty_arrays(queue):
    x = drawn((4, 6, 8), "complex64")
    array = on(queue, x)[0].transpose(2, 0, 1)[::2, ::-1]
    other = x.transpose(2, 0, 1)[::2, ::-1]
    np.testing.assert_allclose(
        F.fft.fft(array, dim=0).asnumpy(), np.fft.fft(other, axis=0), atol=1e-4
    )
    value, pullback = sycl_dnn.vjp(F.fft.rfft, on(queue, np.ones((0, 4), "f4"))[0])
    assert (value.shape, str(value.dtype)) == ((0, 3), "complex64")
    assert pullback(value)[0].shape == (0, 4)
    assert F.fft.fftn(on(queue, np.float32(2))[0]).shape == ()


def test_frequencies_and_shifts(queue):
    for n in (1, 4, 5):
        for name in ("fftfreq", "rfftfreq"):
            expected = getattr(np.fft, name)(n, 0.3)
            result = getattr(F.fft, name)(n, 0.3)
            np.testing.assert_allclose(result.asnumpy(), expected, rtol=1e-6)
            assert str(result.dtype) == "float32"
    x = drawn((3, 4), "complex64")
    for name in ("fftshift", "ifftshift"):
        for dim in (None, 1, (0, 1)):
            result = getattr(F.fft, name)(*on(queue, x), dim)
            assert (result.asnumpy() == getattr(np.fft, name)(x, dim)).all()
    frequencies = sycl_dnn.compile(lambda x: x * F.fft.rfftfreq(4))
    np.testing.assert_allclose(frequencies(*on(queue, np.ones(3, "f4"))).asnumpy(), [0, 0.25, 0.5])


def test_a_spectral_derivative_and_its_hessian(queue):
    n = 16
    t = 2 * np.pi * np.arange(n) / n

    def slope(u):
        k = F.fft.rfftfreq(n, 1 / n, device=None)
        return F.fft.irfft(1j * k * F.fft.rfft(u), n=n)

    u = on(queue, np.sin(3 * t).astype("f4"))[0]
    value = sycl_dnn.vjp(slope, u)[0]
    np.testing.assert_allclose(value.asnumpy(), 3 * np.cos(3 * t), atol=1e-4)
    energy = sycl_dnn.hessian(lambda u: F.sum(slope(u) ** 2) / 2)(u).asnumpy()
    matrix = np.stack([np.fft.irfft(1j * np.fft.rfftfreq(n, 1 / n) * np.fft.rfft(e), n)
                       for e in np.eye(n)], 1)  # fmt: skip
    np.testing.assert_allclose(energy, matrix.T @ matrix, atol=1e-3)
    _, tangent = sycl_dnn.jvp(slope, (u,), (u,))
    np.testing.assert_allclose(tangent.asnumpy(), value.asnumpy(), atol=1e-4)


def test_regions_in_narrow_dtypes_transform_float32(queue):
    x = on(queue, drawn((3, 8), "float32"))[0]
    with sycl_dnn.autocast("bfloat16"):
        assert str(F.fft.rfft(F.astype(x, "bfloat16")).dtype) == "complex64"
        z = F.fft.fft(x)
        assert str(F.matmul(z, F.transpose(z, 0, 1)).dtype) == "complex64"
    whole = sycl_dnn.compile(lambda x: F.fft.irfft(F.fft.rfft(x * 2), n=8), dtype="bfloat16")
    np.testing.assert_allclose(whole(x).asnumpy(), 2 * x.asnumpy(), rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize(
    ("shape", "dim"),
    [
        ((2,) * 9, tuple(range(9))),
        ((5, 4, 6, 3, 2), (1, 3)),
        ((70, 4, 80), (1,)),
        ((3, 80, 70, 4), (0, 3)),
        ((1, 1, 7), (0, 2)),
        ((2, 1009), (1,)),
        ((6,), (0,)),
    ],
)
@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn"])
def test_layouts_of_axes(shape, dim, name, queue):
    """More axes than one transform of oneMKL has, and axes that no single call walks over."""
    x = drawn(shape, "float32" if name == "rfftn" else "complex64")
    result = getattr(F.fft, name)(on(queue, x)[0], dim=dim, norm="ortho").asnumpy()
    expected = getattr(np.fft, name)(x, axes=dim, norm="ortho")
    np.testing.assert_allclose(result, expected, atol=1e-5 * max(1, abs(expected).max()), rtol=0)


def test_nan_and_infinities_stay_in_their_row(queue):
    x = drawn((5, 160), "float32")
    x[1, 3], x[3, 0] = np.nan, np.inf
    result = F.fft.rfft(on(queue, x)[0]).asnumpy()
    assert np.isfinite(result).all(1).tolist() == [True, False, True, False, True]


def test_threads_share_what_is_prepared_for_a_shape(queue):
    x = drawn((8, 8, 96), "complex64")

    def work(number):
        for _ in range(20):
            result = F.fft.fft(on(queue, x[number])[0]).asnumpy()
            np.testing.assert_allclose(result, np.fft.fft(x[number]), atol=1e-4, rtol=0)

    in_threads(8, work)


def test_without_mkls_c_interface_dpnp_transforms(queue, monkeypatch):
    monkeypatch.setattr(transforms, "library", lambda: None)
    x = drawn((3, 35), "float32")
    result = F.fft.rfft2(on(queue, x)[0]).asnumpy()
    np.testing.assert_allclose(result, np.fft.rfft2(x), atol=1e-4, rtol=0)
