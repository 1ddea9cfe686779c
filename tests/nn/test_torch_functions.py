# SPDX-License-Identifier: Apache-2.0
"""Functions under torch's names: NumPy's values, those of the literature, finite differences."""

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn.nn import torch_names
from sycl_dnn.nn.torch_names import special

A = np.array([[0.5, -2.0, 3.0], [4.0, 0.0, -1.5], [1.0, 7.0, 2.5]], "f4")
B = np.array([[1.0, 2.0, 2.0], [-1.0, 3.0, 0.5], [2.0, 0.0, 1.0]], "f4")
#: Calls of ``t``, and of NumPy.
CALLS = [
    ("t.addbmm(a, c, c, beta=2, alpha=3)", "2 * a + 3 * (c @ c).sum(0)"),
    ("t.renorm(a, 2, 0, 3.0)", "a * (3 / np.maximum(np.linalg.norm(a, axis=1), 3))[:, None]"),
    ("t.pdist(a)", "np.linalg.norm(a[[0, 0, 1]] - a[[1, 2, 2]], axis=1)"),
    ("t.cholesky_solve(b, t.cholesky(a @ a.T))", "np.linalg.solve(a @ a.T, b)"),
    ("t.matrix_exp(b - b.T)[0]", "rotation(b - b.T)[0]"),
    ("t.isnan(t.linalg.lu_factor(a * 0, pivot=False).LU)", "np.ones_like(a, bool)"),
    ("t.vander(a[0])", "np.vander(a[0])"),
    ("t.vander(a[1], 4, increasing=True)", "np.vander(a[1], 4, True)"),
    ("t.vander(a[1], 0)", "np.vander(a[1], 0)"),
    ("t.real(t.gradient(t.complex(a, b)[0])[0])", "np.gradient(a[0])"),
    ("t.linalg.vecdot(a, b)", "(a * b).sum(1)"),
    ("t.linalg.cross(a, b)", "np.cross(a, b)"),
    ("t.linalg.matrix_rank(c * 0 + a[:1])", "np.array([1, 1])"),
    ("t.linalg.pinv(a[:2])", "np.linalg.pinv(a[:2])"),
    ("t.linalg.pinv(a + a.T, hermitian=True)", "np.linalg.inv(a + a.T)"),
    ("t.linalg.multi_dot(t.linalg.lu(a))", "a"),
    ("t.linalg.lu_solve(*t.linalg.lu_factor(c), a)", "np.linalg.solve(c, a + 0 * c)"),
    ("t.linalg.lu_solve(*t.linalg.lu_factor(c), a, left=False)", "a @ np.linalg.inv(c)"),
    ("t.sort(t.real(t.linalg.eigvals(c)))[0]", "np.sort(np.linalg.eigvals(c).real)"),
    ("t.gcd(k, k[0])", "np.gcd(k, k[0])"),
    ("t.lcm(k, k[0])", "np.lcm(k, k[0])"),
    ("t.frexp(a).mantissa + 0 * t.frexp(a).exponent", "np.frexp(a)[0]"),
    ("t.frexp(a * 1e-42).exponent", "np.frexp(a * np.float32(1e-42))[1]"),
    ("(t.nextafter(a, b) - a) * 2**24", "(np.nextafter(a, b) - a) * 2**24"),
    ("t.mode(k, 1).values", "np.array([0, 3])"),
    ("t.take_along_dim(k, t.mode(k, 1, True).indices, 1)", "np.array([[0], [3]])"),
    ("t.combinations(a[0], 2)", "a[0][[[0, 1], [0, 2], [1, 2]]]"),
    ("t.combinations(a[0], 2, True)", "a[0][[[0, 0], [0, 1], [0, 2], [1, 1], [1, 2], [2, 2]]]"),
    ("t.stack(t.unravel_index(k, (3, 5)))", "np.stack(np.unravel_index(k, (3, 5)))"),
    ("t.index_reduce(a, 0, k[1, 2:], b[:1], 'amax')", "np.stack([*a[:2], np.maximum(a[2], b[0])])"),
    ("t.fft.hfft2(a)", "np.fft.hfft(np.fft.fft(a, axis=0), axis=1)"),
    ("t.fft.ihfftn(a)", "np.fft.ifft(np.fft.ihfft(a, axis=1), axis=0)"),
]  # fmt: skip
WINDOWS = {
    "bartlett": np.bartlett(7), "blackman": np.blackman(7), "hamming": np.hamming(7),
    "hann": np.hanning(7), "kaiser": np.kaiser(7, 12.0),
    "cosine": np.sin(np.pi * (np.arange(7) + 0.5) / 7),
    "gaussian": np.exp(-(np.arange(-3, 4) ** 2) / 2), "exponential": np.exp(-abs(np.arange(-3, 4))),
}  # fmt: skip
X = (-2.5, -0.3, 0.7, 4.0, 12.0)
VALUES = {
    special.i0: (3.28983914405, 1.02262687935, 1.12630301831, 11.3019219521, 18948.9253493),
    special.i0e: (0.270046441612, 0.757580625183, 0.559305526507, 0.207001921224, 0.116426221213),
    special.i1: (-2.51671624529, -0.151693840004, 0.371879677777, 9.7594651537, 18141.3487816),
    special.i1e: (-0.206584649531, -0.11237756064, 0.184669982763, 0.178750839502, 0.11146429929),
    special.erfcx: (1035.81484297, 1.45374923284, 0.525930337349, 0.136999457625, 0.0468542210149),
    special.log_ndtr: (-5.08164827728, -0.962102818169, -0.277023942277, -3.16717433775e-5, 0.0),
    1: (9.53924664499, 13.9451602678, 2.83404915669, 0.283822955737, 0.0869018728718),
    2: (-0.108204051642, 67.6390811999, -6.43499287419, -0.0800397322451, -0.007547205369),
    3: (194.747876219, 766.619890419, 25.8791496784, 0.0448653281928, 0.00131009323107),
}  # fmt: skip
QUANTILES = {1e-20: -9.2623400898, 1e-3: -3.09023230617, 0.2: -0.841621233573, 0.5: 0.0,
             0.875: 1.15034938038, 1.0: np.inf, 0.0: -np.inf, 1.5: np.nan}  # fmt: skip


def rotation(x):
    """The exponential of a skew-symmetric matrix."""
    values, vectors = np.linalg.eig(x)
    return (vectors * np.exp(values) @ np.linalg.inv(vectors)).real


def operands(make):
    return {"a": make(A), "b": make(B), "c": make(np.stack([A, B])),
            "k": make(np.array([[8, 0, 0], [3, 3, 2]]))}  # fmt: skip


@pytest.mark.parametrize("traced", [False, True], ids=["called", "compiled"])
@pytest.mark.parametrize(("call", "reference"), CALLS, ids=[c for c, _ in CALLS])
@pytest.mark.sweep(4)
def test_values_are_those_of_numpy(call, reference, traced, queue):
    expected = eval(reference, {"np": np, "rotation": rotation}, operands(lambda x: x))
    given = operands(lambda x: dpnp.asarray(x, sycl_queue=queue))

    def function(given):
        return eval(call, {"t": torch_names}, given)

    actual = (sycl_dnn.compile(function) if traced else function)(given)
    assert actual.shape == np.shape(expected)
    np.testing.assert_allclose(actual.asnumpy(), expected, rtol=3e-5, atol=3e-5)


@pytest.mark.parametrize("name", WINDOWS)
def test_windows_are_symmetric_unless_told(name):
    function = getattr(torch_names.signal.windows, name)
    np.testing.assert_allclose(function(7).asnumpy(), WINDOWS[name], rtol=1e-6, atol=1e-7)
    longer = function(8).asnumpy()
    np.testing.assert_array_equal(function(7, sym=False).asnumpy(), longer[:7])
    assert (function(0).shape, function(1).tolist()) == ((0,), [1.0])


def call_of(function):
    return function if callable(function) else lambda x: torch_names.polygamma(function, x)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_special_functions(dtype, queue):
    x = dpnp.asarray(X, dtype=dtype, sycl_queue=queue)
    tolerance = 2e-6 if dtype == "float32" else 1e-11
    for function, expected in VALUES.items():
        found = call_of(function)(x).asnumpy()
        np.testing.assert_allclose(
            found, expected, rtol=tolerance, atol=1e-30, err_msg=f"{function}"
        )
    p = dpnp.asarray([*QUANTILES], dtype=dtype, sycl_queue=queue)
    np.testing.assert_allclose(special.ndtri(p).asnumpy(), [*QUANTILES.values()], rtol=tolerance)


@pytest.mark.float64
def test_gradients_are_slopes(queue):
    x = dpnp.asarray((*X[:4], 0.01), dtype="f8", sycl_queue=queue)
    h = 1e-5
    for function in (*VALUES, special.ndtri):
        call, points = call_of(function), abs(x) / 5 if function is special.ndtri else x
        found = sycl_dnn.grad(lambda x, call=call: F.sum(call(x)))(points).asnumpy()
        slopes = (call(points + h) - call(points - h)).asnumpy() / (2 * h)
        np.testing.assert_allclose(found, slopes, rtol=2e-4, err_msg=f"{function}")


def test_runs_have_lengths(queue):
    x = dpnp.asarray([1, 1, 2, 2, 2, 1], sycl_queue=queue)
    values, inverse, counts = torch_names.unique_consecutive(x, True, True)
    assert [v.tolist() for v in (values, inverse, counts)] == [
        [1, 2, 1],
        [0, 0, 1, 1, 1, 2],
        [2, 3, 1],
    ]
    rows = torch_names.unique_consecutive(F.stack([x, x, x + 1]), dim=0)
    assert rows.tolist() == [[1, 1, 2, 2, 2, 1], [2, 2, 3, 3, 3, 2]]
    assert torch_names.unique_consecutive(x[:0]).shape == (0,)


@pytest.mark.parametrize("options", [{}, {"range": (-2.0, 4.0)}, {"density": True}])
def test_histograms(options, queue):
    x = dpnp.asarray(A, sycl_queue=queue)
    found = torch_names.histogram(x, 5, **options)
    for actual, expected in zip(found, np.histogram(A, 5, **options), strict=True):
        np.testing.assert_allclose(actual.asnumpy(), expected, rtol=1e-6)
    edges = dpnp.asarray([-1.0, 0.5, 3.0], dtype="f4", sycl_queue=queue)
    weighted = torch_names.histogram(x, edges, weight=x).hist.asnumpy()
    np.testing.assert_allclose(weighted, np.histogram(A, [-1.0, 0.5, 3.0], weights=A)[0])


def test_missing_gradients_are_refused(queue):
    x = dpnp.asarray(A, sycl_queue=queue)
    with pytest.raises(NotImplementedError, match="eigvals: no gradient"):
        sycl_dnn.grad(lambda x: F.sum(F.real(torch_names.linalg.eigvals(x))))(x)
    with pytest.raises(NotImplementedError, match="lu_factor: A must be square for a gradient"):
        sycl_dnn.grad(lambda x: F.sum(torch_names.linalg.lu_factor(x[:2]).LU))(x)
    with pytest.raises(AttributeError, match="as_strided.*x.unfold"):
        _ = torch_names.as_strided
