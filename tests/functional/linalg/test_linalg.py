# SPDX-License-Identifier: Apache-2.0
"""Functions of matrices: torch's values and gradients, refusals, edge cases."""

import dpnp
import numpy as np
import pytest
import wide_dtypes
from functional.case import Case, Spec
from functional.checks import checked
from functional.torch_functions import of_torch

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn.ir.node import NotDifferentiable
from sycl_dnn.nn import torch_names

A, B, WIDE = Spec((2, 3, 3)), Spec((2, 3, 2)), Spec((2, 3, 5))


def _case(words, *args, slack=20.0, **options):
    name, *_ = words.split("-")
    function = getattr(F.linalg, name)
    return Case(words, function, args, options, of_torch(name, module="torch.linalg"), slack=slack)


CASES = [
    _case("inv", A), _case("solve", A, B), _case("solve-batch", A, Spec((3, 2))),
    _case("solve-vector", A, Spec((3,))), _case("solve-vectors", A, Spec((2, 3))),
    _case("solve-right", A, Spec((2, 4, 3)), left=False),
    _case("solve_triangular", A, B, upper=True),
    _case("solve_triangular-unit", A, B, upper=False, unitriangular=True),
    _case("det", A), _case("slogdet", A), _case("eigvalsh", A), _case("eigvalsh-upper", A, "U"),
    _case("svdvals", WIDE), _case("matrix_power", A, 5), _case("matrix_power-negative", A, -2),
    *(_case(f"matrix_norm-{order}", WIDE, order)
      for order in ("fro", "nuc", 1, -1, 2, -2, float("inf"), -float("inf"))),
    _case("matrix_norm-axes", WIDE, 2, (2, 0), True), _case("vector_norm", WIDE),
    _case("vector_norm-axes", WIDE, 3, (0, 1), True),
    _case("vector_norm-inf", WIDE, float("inf"), 1),
    _case("norm", WIDE), _case("norm-matrix", WIDE, "fro", (0, 2)),
    _case("norm-1", WIDE, 1, (1, 2)),
    _case("norm-vector", WIDE, 3, 1, True), _case("norm-axes", WIDE, None, (0, 1)),
    *(_case(f"cond-{order}", A, order) for order in (None, 2, -2)),
    _case("multi_dot", [Spec((2, 9)), Spec((9, 3)), Spec((3, 8)), Spec((8,))]),
]  # fmt: skip
TestCases = checked(CASES, sweep=2, may_be_slow=True)


def _matrices(shape, queue, dtype="f4"):
    wide_dtypes.need(dtype, queue)
    return dpnp.asarray(np.random.default_rng(0).normal(size=shape).astype(dtype), sycl_queue=queue)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 3), (2, 3, 4), (0, 3, 2), (2, 0, 3)])
@pytest.mark.sweep(2)
def test_factors_multiply_to_the_matrix(shape, dtype, queue):
    x, limit = _matrices(shape, queue, dtype), 1e-5 if dtype == "float32" else 1e-13

    def near(actual, expected=x):
        np.testing.assert_allclose(actual.asnumpy(), expected.asnumpy(), atol=limit)

    for mode in ("reduced", "complete"):
        near(F.matmul(*F.linalg.qr(x, mode)))
    u, s, vh = F.linalg.svd(x, full_matrices=False)
    near((u * s[..., None, :]) @ vh)
    assert F.linalg.svd(x)[2].shape == (*shape[:-2], shape[-1], shape[-1])
    square = x @ dpnp.swapaxes(x, -1, -2) + dpnp.eye(shape[-2], dtype=dtype, sycl_queue=queue)
    lower = sycl_dnn.compile(F.linalg.cholesky)(square)
    near(lower @ dpnp.swapaxes(lower, -1, -2), square)
    values, vectors = F.linalg.eigh(square)
    near((vectors * values[..., None, :]) @ dpnp.swapaxes(vectors, -1, -2), square)
    near(F.linalg.solve(square, x), F.linalg.inv(square) @ x)


def test_only_one_triangle_is_read(queue):
    x = dpnp.asarray([[2.0, 9.0], [1.0, 2.0]], dtype="f4", sycl_queue=queue)
    np.testing.assert_allclose(F.linalg.eigvalsh(x).asnumpy(), [1, 3], rtol=1e-6)
    upper = F.linalg.eigh(x, UPLO="U").eigenvalues.asnumpy()
    np.testing.assert_allclose(upper, [-7, 11], rtol=1e-6)


def _hermitian(queue, dtype):
    rng = np.random.default_rng(1)
    x = (rng.normal(size=(2, 3, 3)) + 1j * rng.normal(size=(2, 3, 3))).astype(dtype)
    return dpnp.asarray(x, sycl_queue=queue), x + x.conj().swapaxes(-1, -2)


@pytest.mark.parametrize(("dtype", "limit"), [("complex64", 1e-5), ("complex128", 1e-12)])
def test_hermitian_matrices_have_real_eigenvalues(dtype, limit, queue):
    wide_dtypes.need(dtype, queue)
    _, h = _hermitian(queue, dtype)
    x = dpnp.asarray(h, sycl_queue=queue)
    for call in (F.linalg.eigh, sycl_dnn.compile(F.linalg.eigh)):
        values, vectors = (v.asnumpy() for v in call(x))
        assert values.dtype == h.real.dtype
        adjoint = vectors.conj().swapaxes(-1, -2)
        np.testing.assert_allclose(vectors * values[:, None] @ adjoint, h, atol=limit)
    expected = np.linalg.eigvalsh(h)
    np.testing.assert_allclose(F.linalg.eigvalsh(x).asnumpy(), expected, atol=limit)


def test_gradients_of_hermitian_matrices_are_differences_of_values(queue):
    wide_dtypes.need("float64", queue)
    x, _ = _hermitian(queue, "complex128")
    w = dpnp.asarray(np.random.default_rng(2).normal(size=(2, 3, 3)), sycl_queue=queue)

    def energy(x):  # of two projections and the values: phases of vectors do not matter
        values, vectors = F.linalg.eigh(F.add(x, F.conj(F.transpose(x, -2, -1))))
        low = vectors[:, :, :2]
        shape = F.abs(F.matmul(low, F.conj(F.transpose(low, -2, -1))))
        return F.sum(shape * shape * w) + F.sum(values * values * values)

    def slope(function, x, step):
        return float(function(x + step) - function(x - step)) / 2e-5

    def squared(x):
        return F.sum(F.square(F.abs(sycl_dnn.grad(energy)(x))))

    directions = [1e-5 * F.exp(F.mul(w, 1j)), 1e-5 * F.exp(F.mul(w, -2j))]
    for function in (energy, squared):
        gradient = sycl_dnn.compile(sycl_dnn.grad(function))(x)
        for step in directions:
            product = float(F.sum(F.real(F.mul(F.conj(gradient), step)))) / 1e-5
            np.testing.assert_allclose(product, slope(function, x, step), rtol=1e-6)


def _cubes(*arrays):
    """Return a real number in which every real and imaginary part counts."""
    total = 0.0
    for x in arrays:
        parts = (F.real(x), F.imag(x)) if np.dtype(str(x.dtype)).kind == "c" else (x,)
        total = total + sum((k + 1) * F.sum(F.sin(F.mul(p, k + 1.5))) for k, p in enumerate(parts))
    return total


def _energies_of_factors(x, b):
    """Return functions of complex matrices that do not depend on phases of vectors."""
    t, linalg = torch_names, torch_names.linalg

    def definite(x):
        return F.add(F.matmul(x, t.adjoint(x)), t.eye(x.shape[-1], device=b.device))

    def by_svd(x):
        u, s, vh = linalg.svd(x[..., :2], full_matrices=False)
        return _cubes(F.matmul(u * s[..., None, :], vh), F.matmul(u[..., :1], vh[..., :1, :]), s)

    return [
        lambda x: _cubes(linalg.inv(x)), lambda x: _cubes(linalg.solve(x, b)),
        lambda x: _cubes(linalg.solve(x, F.transpose(b, -2, -1), left=False)),
        *(lambda x, up=up, unit=unit: _cubes(
            linalg.solve_triangular(x, b, upper=up, unitriangular=unit),
            linalg.solve_triangular(x, t.adjoint(b), upper=up, unitriangular=unit, left=False),
        ) for up in (True, False) for unit in (True, False)),
        lambda x: _cubes(linalg.det(x[..., :3, :3])), lambda x: _cubes(*linalg.slogdet(x)),
        lambda x: _cubes(linalg.cholesky(definite(x))),
        lambda x: _cubes(t.cholesky_solve(b, linalg.cholesky(definite(x), upper=True), upper=True)),
        lambda x: _cubes(*linalg.qr(x)), lambda x: _cubes(*linalg.qr(x[..., :2])), by_svd,
        lambda x: _cubes(linalg.matrix_power(x, -2)), lambda x: _cubes(linalg.pinv(x[..., :2])),
        lambda x: _cubes(linalg.cond(x)) + linalg.matrix_norm(x, "nuc").sum(),
        lambda x: _cubes(linalg.lstsq(x[..., :2], b).solution),
        lambda x: _cubes(*linalg.lu(x)[1:]),
        lambda x: _cubes(linalg.lu_solve(*linalg.lu_factor(x), b, adjoint=True)),
    ]  # fmt: skip


@pytest.mark.parametrize("n", [3, pytest.param(66, marks=pytest.mark.slow)])
@pytest.mark.parametrize("number", range(19))
def test_derivatives_of_functions_of_complex_matrices(number, n, queue):
    wide_dtypes.need("complex128", queue)
    rng = np.random.default_rng(n)

    def normal(*shape):
        values = rng.normal(size=shape) + 1j * rng.normal(size=shape)
        return dpnp.asarray(values / n**0.5, sycl_queue=queue)

    x, step = normal(2, n, n) + 2 * dpnp.eye(n, sycl_queue=queue), 1e-5 * normal(2, n, n)
    energy = _energies_of_factors(x, torch_names.as_tensor(normal(2, n, 2)))[number]

    def squared(x):
        return F.sum(F.square(F.abs(sycl_dnn.grad(energy)(x))))

    for function in (energy, squared):
        gradient = sycl_dnn.compile(sycl_dnn.grad(function))(x)
        product = float(F.sum(F.real(F.mul(F.conj(gradient), step))))
        difference = float(function(x + step) - function(x - step)) / 2
        np.testing.assert_allclose(product, difference, rtol=1e-6)


def test_products_and_norms_of_complex_matrices(queue):
    a, b = _matrices((2, 3, 3), queue) * (1 + 2j), _matrices((2, 3, 2), queue) * (2 - 1j)
    x, y = a.asnumpy(), b.asnumpy()
    _near(F.linalg.multi_dot([a[0], a[1], b[0]]), x[0] @ x[1] @ y[0], 1e-5)
    for order in ("fro", "nuc", 1, -1, 2, -2, np.inf):
        _near(F.linalg.matrix_norm(a, order), np.linalg.norm(x, order, (-2, -1)), 1e-5)
    _near(F.linalg.svdvals(a), np.linalg.svd(x)[1], 1e-5)
    values, vectors = torch_names.linalg.eig(a)
    _near(F.matmul(a, vectors), (vectors * values[..., None, :]).asnumpy(), 1e-5)


def test_singular_matrices(queue):
    zero = dpnp.zeros((2, 2), dtype="f4", sycl_queue=queue)
    sign, logarithm = F.linalg.slogdet(zero)
    assert (float(sign), float(logarithm), float(F.linalg.det(zero))) == (0, -np.inf, 0)
    for call in (F.linalg.inv, sycl_dnn.compile(F.linalg.inv), sycl_dnn.grad(F.linalg.det)):
        with pytest.raises(dpnp.linalg.LinAlgError, match="[Ss]ingular"):
            call(zero)
    with pytest.raises(dpnp.linalg.LinAlgError, match="not positive definite"):
        F.linalg.cholesky(zero - 1)


def test_modules_find_the_namespace(queue):
    assert set(F.linalg.__all__) <= set(dir(F.linalg))
    assert all(getattr(torch_names.linalg, n) is getattr(F.linalg, n) for n in F.linalg.__all__)


def test_whole_factors_are_not_differentiated(queue):
    x = _matrices((3, 3, 3), queue)
    with pytest.raises(NotDifferentiable, match="svd: full_matrices must be False"):
        sycl_dnn.grad(lambda x: F.linalg.svd(x)[0].sum())(x[:, :2])
    with pytest.raises(NotDifferentiable, match="qr: mode 'complete' must not be differentiated"):
        sycl_dnn.grad(lambda x: F.linalg.qr(x, "complete")[0].sum())(x[:, :, :2])


@pytest.mark.parametrize("order", ["fro", "nuc", 1, -1, np.inf])
def test_condition_numbers_of_other_orders(order, queue):
    x = _matrices((2, 3, 3), queue)
    matrices = x.asnumpy().astype("f8")
    expected = [
        np.linalg.norm(m, order) * np.linalg.norm(np.linalg.inv(m), order) for m in matrices
    ]
    np.testing.assert_allclose(F.linalg.cond(x, order).asnumpy(), expected, rtol=1e-4)


@pytest.mark.parametrize(
    ("of_a", "of_b"), [((5, 3), (5, 2)), ((3, 3), (3, 2)), ((3, 5), (3, 2)), ((5, 3), (5,))]
)
def test_least_squares_are_those_of_numpy(of_a, of_b, queue):
    a, b = (_matrices(shape, queue, "f8") for shape in (of_a, of_b))
    expected = np.linalg.lstsq(a.asnumpy(), b.asnumpy(), rcond=None)
    actual = F.linalg.lstsq(a, b, driver="gels")
    np.testing.assert_allclose(actual.solution.asnumpy(), expected[0], atol=1e-12)
    np.testing.assert_allclose(actual.residuals.asnumpy(), expected[1], atol=1e-12)
    assert actual.rank.shape == actual.singular_values.shape == (0,)
    batch = F.linalg.lstsq(F.stack([a, 2 * a]), F.stack([b, b])).solution
    np.testing.assert_allclose(batch[1].asnumpy(), expected[0] / 2, atol=1e-12)
    # The gradient is that of the normal equations, of which one side or the other has an inverse.
    wide, column = of_a[0] < of_a[1], b.reshape(of_b[0], -1)

    def by_inverse(a):
        gram = F.linalg.inv(F.matmul(a, a.T) if wide else F.matmul(a.T, a))
        right = F.matmul(a.T, gram) if wide else F.matmul(gram, a.T)
        return F.sum(F.matmul(right, column) ** 3)

    gradient = sycl_dnn.grad(lambda a: F.sum(F.linalg.lstsq(a, b).solution ** 3))(a)
    np.testing.assert_allclose(gradient.asnumpy(), sycl_dnn.grad(by_inverse)(a).asnumpy(), 1e-8)


def _near(actual, expected, limit=2e-3):
    expected = np.asarray(expected)
    np.testing.assert_allclose(actual.asnumpy(), expected, atol=limit * max(1, abs(expected).max()))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(70, 70), (2, 90, 66), (2, 66, 90)])
@pytest.mark.sweep(2)
def test_factors_of_large_matrices(shape, dtype, queue):
    x, limit = _matrices(shape, queue, dtype), 1e-4 if dtype == "float32" else 1e-12
    given = x.asnumpy()

    def turned(x):
        return dpnp.swapaxes(x, -1, -2)

    for mode in ("reduced", "complete"):
        q, r = F.linalg.qr(x, mode)
        assert (q.shape, r.shape) == tuple(f.shape for f in np.linalg.qr(given, mode))
        _near(q @ r, given, limit)
        _near(
            turned(q) @ q,
            np.broadcast_to(np.eye(q.shape[-1]), (*shape[:-2], *q.shape[-1:] * 2)),
            limit,
        )
    for is_full in (True, False):
        u, s, vh = F.linalg.svd(x, full_matrices=is_full)
        assert (u.shape, vh.shape) == tuple(np.linalg.svd(given, is_full)[f].shape for f in (0, 2))
        k = s.shape[-1]
        _near((u[..., :k] * s[..., None, :]) @ vh[..., :k, :], given, limit)
    square = x @ turned(x) + dpnp.eye(shape[-2], dtype=dtype, sycl_queue=queue)
    _near(F.linalg.inv(square) @ square, np.eye(shape[-2]) + 0 * square.asnumpy(), limit)
    lower = sycl_dnn.compile(F.linalg.cholesky)(square)
    _near(lower @ turned(lower), square.asnumpy(), limit)
    for uplo in "LU":
        values, vectors = F.linalg.eigh(square, uplo)
        _near((vectors * values[..., None, :]) @ turned(vectors), square.asnumpy(), limit)
    general = x[..., : min(shape[-2:]), : min(shape[-2:])]
    values, vectors = torch_names.linalg.eig(general)
    _near(F.matmul(F.astype(general, values.dtype), vectors),
          (vectors * values[..., None, :]).asnumpy(), 10 * limit)  # fmt: skip
    sign, logarithm = F.linalg.slogdet(general)
    for actual, expected in zip(
        (sign, logarithm), np.linalg.slogdet(general.asnumpy()), strict=True
    ):
        _near(actual, expected, limit)


@pytest.mark.parametrize("n", [3, 70])
def test_singular_matrices_raise_one_error(n, queue):
    zero = dpnp.zeros((2, n, n), dtype="f4", sycl_queue=queue)
    with pytest.raises(dpnp.linalg.LinAlgError, match="inv: Singular matrix"):
        F.linalg.inv(zero)
    with pytest.raises(dpnp.linalg.LinAlgError, match="solve: Singular matrix"):
        F.linalg.solve(zero, zero)
    with pytest.raises(dpnp.linalg.LinAlgError, match="cholesky: Matrix is not positive definite"):
        F.linalg.cholesky(zero)
    assert F.linalg.det(zero).asnumpy().tolist() == [0, 0]


def test_triangles_with_zeros_on_the_diagonal_have_infinite_solutions(queue):
    if not queue.sycl_device.is_cpu:
        pytest.skip(f"oneMKL computes on {queue.sycl_device.name}")
    a = dpnp.asarray([[2.0, np.nan], [4.0, 0.0]], dtype="f4", sycl_queue=queue)
    b = dpnp.asarray([[2.0], [3.0]], dtype="f4", sycl_queue=queue)
    for call in (F.linalg.solve_triangular, sycl_dnn.compile(F.linalg.solve_triangular)):
        assert call(a, b, upper=False).asnumpy().tolist() == [[1], [-np.inf]]
        right = call(dpnp.swapaxes(a, 0, 1), b.T, upper=True, left=False)
        assert right.asnumpy().tolist() == [[1, -np.inf]]
        assert call(a, b, upper=False, unitriangular=True).asnumpy().tolist() == [[2], [-5]]


@pytest.mark.parametrize("n", [4, 70])
@pytest.mark.parametrize("left", [True, False])
def test_derivatives_of_solutions_use_their_factors(n, left, queue):
    wide_dtypes.need("float64", queue)
    rng = np.random.default_rng(n)
    a, b = (dpnp.asarray(rng.normal(size=s), sycl_queue=queue) for s in ((2, n, n), (n, n)))
    a += 3 * dpnp.eye(n, sycl_queue=queue)
    triangle = dpnp.tril(a, k=-1) / n + 2 * dpnp.eye(n, sycl_queue=queue)

    def product(x, b):
        return F.matmul(x, b) if left else F.matmul(b, x)

    for matrix, solved in (
        (a, lambda a, b: F.linalg.solve(a, b, left=left)),
        (triangle, lambda a, b: F.linalg.solve_triangular(a, b, upper=False, left=left)),
    ):

        def expected(a, b, matrix=matrix):
            return F.sum(F.sin(product(F.linalg.inv(F.tril(a) if matrix is triangle else a), b)))

        def energy(a, b, solved=solved):
            return F.sum(F.sin(solved(a, b)))

        def curvature(function, a, b):
            return sycl_dnn.grad(lambda a, b: sum(
                F.sum(F.square(g)) for g in sycl_dnn.grad(function, argnums=(0, 1))(a, b)
            ), argnums=(0, 1))(a, b)  # fmt: skip

        for order in (lambda f, a, b: sycl_dnn.grad(f, argnums=(0, 1))(a, b), curvature):
            for actual, wanted in zip(
                order(energy, matrix, b), order(expected, matrix, b), strict=True
            ):
                _near(actual, wanted.asnumpy(), 1e-9)


def test_work_on_the_host_waits_for_the_queue(queue):
    x = dpnp.asarray(np.eye(60, dtype="f4") * 2, sycl_queue=queue)

    def many(x):
        y = x
        for _ in range(20):
            y = F.matmul(y, x) * 0.5
        return F.linalg.inv(F.transpose(y, 0, 1)) + F.linalg.cholesky(y)

    for call in (many, sycl_dnn.compile(many)):
        expected = np.eye(60) * (0.5 + 2**0.5)
        for _ in range(10):
            np.testing.assert_allclose(call(x).asnumpy(), expected, rtol=1e-5)


def test_gradient_of_qr_without_full_rank_is_nan_in_that_matrix_alone(queue):
    if not queue.sycl_device.is_cpu:
        pytest.skip(f"oneMKL computes on {queue.sycl_device.name}")
    x = _matrices((2, 3, 3), queue)
    x[1, :, 2] = 0
    slopes = sycl_dnn.grad(lambda x: F.sum(F.linalg.qr(x).R))(x).asnumpy()
    assert np.isfinite(slopes[0]).all()
    assert not np.isfinite(slopes[1]).all()
