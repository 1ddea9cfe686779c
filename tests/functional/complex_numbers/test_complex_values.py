# SPDX-License-Identifier: Apache-2.0
"""Complex arrays: values and gradients of each function that takes them; all others refuse them."""

import inspect

import dpnp
import numpy as np
import pytest
import wide_dtypes

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn.call.complex_arguments import MOVING, RULES
from sycl_dnn.nn import torch_names

WIDTHS = [("complex64", 2e-5), ("complex128", 1e-12)]


def numbers(*shape, seed=0, dtype="complex64"):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)


@pytest.fixture
def wide_enough(queue):
    """Skip complex128 where the device has no float64."""

    def check(dtype):
        wide_dtypes.need(dtype, queue)

    return check


def on(queue, *arrays):
    return [dpnp.asarray(a, sycl_queue=queue) for a in arrays]


def assert_near(actual, expected, tolerance=2e-5):
    actual, expected = dpnp.asnumpy(actual), np.asarray(expected)
    assert actual.dtype == expected.dtype
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)


# --- Element-wise functions

HOLOMORPHIC = {
    "exp": np.exp, "log": np.log, "sqrt": np.sqrt, "sin": np.sin, "cos": np.cos, "tan": np.tan,
    "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "square": np.square, "neg": np.negative,
    "reciprocal": np.reciprocal, "sigmoid": lambda z: 1 / (1 + np.exp(-z)),
    "silu": lambda z: z / (1 + np.exp(-z)), "rsqrt": lambda z: 1 / np.sqrt(z),
    "exp2": np.exp2, "log2": np.log2, "log10": np.log10,
}  # fmt: skip


@pytest.mark.parametrize(("dtype", "tolerance"), WIDTHS)
@pytest.mark.parametrize("name", HOLOMORPHIC)
@pytest.mark.sweep(4)
def test_holomorphic_functions_and_their_gradients(name, dtype, tolerance, queue, wide_enough):
    wide_enough(dtype)
    z, g = numbers(3, 4, dtype=dtype), numbers(3, 4, seed=1, dtype=dtype)
    function = HOLOMORPHIC[name]
    value, pullback = sycl_dnn.vjp(getattr(F, name), *on(queue, z))
    assert_near(value, function(z), tolerance)
    step = 1e-6
    wide = z.astype("complex128")
    slope = (function(wide + step) - function(wide - step)) / (2 * step)
    # torch's convention: the conjugate of the derivative.
    assert_near(pullback(*on(queue, g))[0], (g * slope.conj()).astype(dtype), max(tolerance, 1e-8))


_PAIRS = {
    "add": (np.add, lambda a, b, g: (g, g)),
    "sub": (np.subtract, lambda a, b, g: (g, -g)),
    "mul": (np.multiply, lambda a, b, g: (g * b.conj(), g * a.conj())),
    "div": (np.divide, lambda a, b, g: (g / b.conj(), -g * (a / b / b).conj())),
}


@pytest.mark.parametrize(("dtype", "tolerance"), WIDTHS)
@pytest.mark.parametrize("name", _PAIRS)
@pytest.mark.sweep(2)
def test_arithmetic_and_its_gradients(name, dtype, tolerance, queue, wide_enough):
    wide_enough(dtype)
    a, b, g = numbers(2, 3, 4, dtype=dtype), *(numbers(3, 4, seed=n, dtype=dtype) for n in (1, 2))
    function, rule = _PAIRS[name]
    g = np.broadcast_to(g, a.shape).copy()
    value, pullback = sycl_dnn.vjp(getattr(F, name), *on(queue, a, b))
    assert_near(value, function(a, b), tolerance)
    of_a, of_b = rule(a, b, g)
    grads = pullback(*on(queue, g))
    assert_near(grads[0], of_a, tolerance)
    assert_near(grads[1], np.broadcast_to(of_b, a.shape).sum(0), 5 * tolerance)


@pytest.mark.parametrize("name", _PAIRS)
@pytest.mark.parametrize("other", [2.5, 3, 1 - 2j, "real"])
@pytest.mark.sweep(2)
def test_operands_of_other_kinds(name, other, queue):
    z, x = numbers(3, 4), np.random.default_rng(3).normal(size=(3, 4)).astype("f4")
    function = getattr(F, name)
    theirs, ours = (x, on(queue, x)[0]) if other == "real" else (np.complex64(other), other)
    array = on(queue, z)[0]
    assert_near(function(array, ours), _PAIRS[name][0](z, theirs))
    assert_near(function(ours, array), _PAIRS[name][0](theirs, z))
    _, pullback = sycl_dnn.vjp(function, array, ours)
    gradients = pullback(array)
    of_z, of_other = _PAIRS[name][1](z, np.full_like(z, theirs) if other != "real" else x, z)
    assert_near(gradients[0], of_z)
    if other == "real":  # its gradient is real
        assert_near(gradients[1], of_other.real.copy(), 1e-4)


def test_promotion_is_torchs(queue):
    z, x = on(queue, numbers(2), np.ones(2, "f4"))
    assert str(F.mul(x, 1j).dtype) == "complex64"
    assert str(F.add(on(queue, np.array([1, 2]))[0], 1j).dtype) == "complex64"
    if queue.sycl_device.has_aspect_fp64:
        wide, one = on(queue, np.ones(2), np.array(1.0))
        kinds = [str(F.add(z, wide).dtype), str(F.add(wide, 1j).dtype), str(F.add(z, one).dtype)]
        assert kinds == ["complex128", "complex128", "complex64"]


def test_sigmoids_of_large_numbers_are_0_and_1(queue):
    z = on(queue, np.array([-200 + 1j, 200 - 1j, -200, 200], "c8"))[0]
    value, pullback = sycl_dnn.vjp(F.sigmoid, z)
    assert_near(value, np.array([0, 1, 0, 1], "c8"))
    assert_near(pullback(z)[0], np.zeros(4, "c8"))


def test_signs_and_their_gradients_are_finite_at_0(queue):
    array = on(queue, np.array([3 + 4j, 0], "c8"))[0]
    value, pullback = sycl_dnn.vjp(torch_names.sgn, array)
    assert_near(value, np.array([0.6 + 0.8j, 0], "c8"))
    assert_near(pullback(F.mul(F.ones_like(array), 1j))[0], np.array([-0.096 + 0.072j, 0], "c8"))


@pytest.mark.parametrize("exponent", [0, 0.5, 1, 2, 3, -1, 1.7, 1 - 2j])
def test_powers(exponent, queue):
    z = numbers(3, 4)
    value = F.pow(*on(queue, z), exponent)
    assert_near(value, (z.astype("c16") ** exponent).astype("c8"), 1e-4)


def test_zeros_and_infinities_are_torchs(queue):
    inf, nan = np.inf, np.nan
    z = on(queue, np.array([0, 1 + 1j, complex(inf, 0)], "c8"))[0]
    assert dpnp.asnumpy(F.abs(z)).tolist()[0] == 0
    assert dpnp.asnumpy(sycl_dnn.grad(lambda z: F.sum(F.abs(z[:2])))(z))[0] == 0
    quotients = dpnp.asnumpy(F.div(z[:2], 0.0))
    assert np.isnan(quotients[0])
    assert quotients[1] == complex(inf, inf)
    assert dpnp.asnumpy(F.exp(z))[2] == complex(inf, 0)
    powers = dpnp.asnumpy(F.pow(z, 1.7))
    assert powers[0] == 0
    product = dpnp.asnumpy(F.mul(on(queue, np.array([complex(inf, 1)], "c8"))[0], 2.0))[0]
    assert (product.real, np.isnan(product.imag)) == (inf, True)
    large = on(queue, np.array([3e30 + 4e30j], "c8"))[0]
    assert_near(F.div(large, large), np.ones(1, "c8"))
    assert dpnp.asnumpy(F.isnan(on(queue, np.array([complex(1, nan)], "c8"))[0])).tolist() == [True]


# --- Parts


def test_parts_and_their_gradients(queue):
    z, g = numbers(3, 4), np.random.default_rng(1).normal(size=(3, 4)).astype("f4")
    array, seed = on(queue, z, g)
    expected = {
        "real": (z.real, g.astype("c8")), "imag": (z.imag, 1j * g),
        "abs": (abs(z), g * z / abs(z)), "angle": (np.angle(z), 1j * g * z / abs(z) ** 2),
    }  # fmt: skip
    for name, (value, gradient) in expected.items():
        result, pullback = sycl_dnn.vjp(getattr(F, name), array)
        assert_near(result, value)
        assert_near(pullback(seed)[0], gradient.astype("c8"))
    assert_near(F.conj(array), z.conj())
    assert_near(F.polar(F.abs(array), F.angle(array)), z)
    assert_near(F.angle(seed), np.angle(g).astype("f4"))


def test_views_as_pairs_and_numbers(queue):
    z = numbers(3, 4)
    array = on(queue, z)[0]
    pairs = np.stack([z.real, z.imag], -1)
    assert_near(F.view_as_real(array), pairs)
    assert_near(F.view_as_real(array[::2, ::-1]), pairs[::2, ::-1])
    assert_near(F.view_as_complex(F.view_as_real(array)), z)
    apart = on(queue, np.ascontiguousarray(pairs.transpose(2, 0, 1)))[0]
    assert_near(F.view_as_complex(F.permute(apart, (1, 2, 0))), z)
    _, pullback = sycl_dnn.vjp(F.view_as_real, array)
    assert_near(pullback(on(queue, pairs)[0])[0], z)
    assert F.view_as_real(array[:0]).shape == (0, 4, 2)
    assert F.view_as_complex(on(queue, np.ones(2, "f4"))[0]).shape == ()
    assert_near(sycl_dnn.compile(lambda z: F.view_as_real(z))(array), pairs)
    written = on(queue, np.zeros((3, 4, 2), "f4"))[0]
    F.view_as_real(array, out=written)
    assert_near(written, pairs)


def test_rules_take_arguments_by_the_names_of_their_functions(queue):
    for name, rule in RULES.items():
        declared = inspect.signature(rule).parameters.values()
        names = [p.name for p in declared if p.kind is p.POSITIONAL_OR_KEYWORD]
        of_function = [p for p in inspect.signature(getattr(F, name)).parameters if p != "out"]
        takes_all = any(p.kind is p.VAR_KEYWORD for p in declared)
        names += [p.name for p in declared if p.kind is p.KEYWORD_ONLY]
        assert names == of_function[: len(names) if takes_all else None], name
    (z,) = on(queue, numbers(3, 3))
    for name in ("real", "conj", "view_as_real"):
        function = getattr(F, name)
        expected = dpnp.asnumpy(function(z))
        assert_near(function(input=z), expected)
        assert_near(sycl_dnn.vmap(function)(z), expected)
    assert_near(F.mm(z, mat2=z), dpnp.asnumpy(F.mm(z, z)))
    assert_near(sycl_dnn.vmap(F.mm)(F.stack([z]), F.stack([z]))[0], dpnp.asnumpy(F.mm(z, z)))


def test_rules_of_arguments(queue):
    x, z = on(queue, np.ones((2, 3), "f4"), numbers(2, 3))
    half = F.astype(x, "float16")
    for call, error, message in (
        (lambda: F.imag(x), TypeError, "imag: input must be complex, got float32"),
        (lambda: F.view_as_real(x), TypeError, "view_as_real: input must be complex"),
        (lambda: F.view_as_complex(x), ValueError, r"view_as_complex: input must have shape"),
        (lambda: F.view_as_complex(half), TypeError, "view_as_complex: input must be float32"),
        (lambda: F.complex(x, half), TypeError, "complex: imag must be float32 or float64"),
        (lambda: F.complex(x, x[:, :2]), ValueError, "complex: imag must broadcast with real"),
        (lambda: F.full_like(x, 1j), TypeError, "full_like: fill_value must be real"),
        (lambda: F.masked_fill(x, F.gt(x, 0), 1j), TypeError, "masked_fill: value must be real"),
        (lambda: F.div(z, 2, rounding_mode="floor"), TypeError, "div: rounding_mode must be None"),
        (lambda: F.sum(z, dtype="float32"), TypeError, "sum: dtype must be complex"),
        (lambda: F.matmul(z, F.transpose(x, 0, 1)), TypeError, "matmul: other must have the dtype"),
        (lambda: F.where(x, z, z), TypeError, "where: condition must have dtype bool"),
        (lambda: sycl_dnn.hessian(lambda z: F.sum(F.abs(z)))(z), TypeError, "hessian: z must be"),
        (lambda: sycl_dnn.grad(lambda z: F.sum(z))(z), TypeError, "must return a floating-point"),
    ):  # fmt: skip
        with pytest.raises(error, match=message):
            call()


# --- Reductions and products


def test_reductions(queue):
    z, g = numbers(3, 5), numbers(3, seed=1)
    array, seed = on(queue, z, g)
    for name in ("sum", "mean", "prod"):
        value, pullback = sycl_dnn.vjp(lambda z, name=name: getattr(F, name)(z, 1), array)
        assert_near(value, getattr(z, name)(1), 1e-4)
        slopes = {"sum": np.ones_like(z), "mean": np.full_like(z, 0.2),
                  "prod": z.prod(1, keepdims=True) / z}[name]  # fmt: skip
        assert_near(pullback(seed)[0], g[:, None] * slopes.conj(), 1e-3)
        assert_near(getattr(F, name)(array), np.asarray(getattr(z, name)()), 1e-3)
    for name in ("var", "std"):  # NumPy's are the same sums over both parts, also real
        statistic = getattr(F, name)
        assert_near(statistic(array, 1, correction=0), getattr(z, name)(1))
        assert_near(statistic(array, 0, keepdim=True), getattr(z, name)(0, ddof=1, keepdims=True))
    _, pullback = sycl_dnn.vjp(lambda z: F.var(z, 1), array)
    centered = z - z.mean(1, keepdims=True)
    assert_near(pullback(on(queue, g.real.copy())[0])[0], g.real[:, None] * centered / 2)
    assert_near(F.cumsum(array, 1), z.cumsum(1))
    assert_near(F.cumprod(array, 1), z.cumprod(1), 1e-4)
    assert_near(F.norm(array), np.asarray(np.linalg.norm(z)))
    assert_near(F.sum(array[:0], 0), z[:0].sum(0))
    assert_near(F.prod(array[:0], 0), z[:0].prod(0))
    assert str(F.sum(F.real(array), dtype="complex64").dtype) == "complex64"


@pytest.mark.parametrize(("dtype", "tolerance"), WIDTHS)
@pytest.mark.parametrize(
    "shapes",
    [((3, 4), (4, 5)), ((2, 3, 4), (4, 5)), ((2, 1, 3, 4), (6, 4, 5)), ((4,), (4, 5)),
     ((3, 4), (4,)), ((4,), (4,)), ((0, 4), (4, 5))],
)  # fmt: skip
@pytest.mark.sweep(2)
def test_products_of_matrices(shapes, dtype, tolerance, queue, wide_enough):
    wide_enough(dtype)
    a, b = (numbers(*shape, seed=n, dtype=dtype) for n, shape in enumerate(shapes))
    value, pullback = sycl_dnn.vjp(F.matmul, *on(queue, a, b))
    assert_near(value, a @ b, tolerance)
    if a.ndim == b.ndim == 2:
        g = numbers(*value.shape, seed=3, dtype=dtype)
        of_a, of_b = pullback(*on(queue, g))
        assert_near(of_a, g @ b.conj().T, tolerance)
        assert_near(of_b, a.conj().T @ g, tolerance)


def test_contractions(queue):
    x, w, c = numbers(2, 3, 4, 5), numbers(3, 6, 4, 5, seed=1), numbers(3, 3, seed=2)
    arrays = on(queue, x, w)
    equation = "bixy,ioxy->boxy"
    assert_near(F.einsum(equation, *arrays), np.einsum(equation, x, w))
    compiled = sycl_dnn.compile(lambda x, w: F.einsum(equation, x, w))
    assert_near(compiled(*arrays), np.einsum(equation, x, w))
    a, b, bias = x[0, 0], x[1, 0], x[0, 0, :, 0]
    assert_near(F.linear(*on(queue, a, b, bias)), a @ b.T + bias)
    assert_near(F.einsum("ij,kj->ik", *on(queue, a, b)), a @ b.T)
    assert_near(F.outer(*on(queue, bias, bias)), np.outer(bias, bias))
    assert_near(F.trace(*on(queue, c)), np.asarray(np.trace(c)))


# --- Elements that are moved

MOVED = {
    "reshape": lambda f, z: f(z, (4, 3)), "permute": lambda f, z: f(z, (1, 0)),
    "transpose": lambda f, z: f(z, 0, 1), "narrow": lambda f, z: f(z, 1, 1, 2),
    "cat": lambda f, z: f([z, z * 2], 1), "stack": lambda f, z: f([z, z * 2], 2),
    "split": lambda f, z: f(z, 3, 1)[1], "chunk": lambda f, z: f(z, 2, 1)[1],
    "unbind": lambda f, z: f(z)[2], "select": lambda f, z: f(z, 1, 2),
    "squeeze": lambda f, z: f(z[:, :1], 1), "unsqueeze": lambda f, z: f(z, 1),
    "flatten": lambda f, z: f(z), "unflatten": lambda f, z: f(z, 1, (2, 2)),
    "expand": lambda f, z: f(z, (2, 3, 4)), "broadcast_to": lambda f, z: f(z, (2, 3, 4)),
    "flip": lambda f, z: f(z, (1,)),
    "roll": lambda f, z: f(z, 1, 1),
    "tile": lambda f, z: f(z, (2, 1)),
    "rot90": lambda f, z: f(z), "tril": lambda f, z: f(z), "triu": lambda f, z: f(z, 1),
    "diag": lambda f, z: f(z[0]), "diagonal": lambda f, z: f(z), "diff": lambda f, z: f(z),
    "pad": lambda f, z: f(z, (1, 2), value=3.0), "repeat_interleave": lambda f, z: f(z, 2, 1),
    "hstack": lambda f, z: f([z, z]), "vstack": lambda f, z: f([z, z]),
    "movedim": lambda f, z: f(z, 0, 1), "swapaxes": lambda f, z: f(z, 0, 1),
    "meshgrid": lambda f, z: f(z[0], z[1], indexing="ij")[0],
    "tensor_split": lambda f, z: f(z, 3, 1)[0],
    "pixel_shuffle": lambda f, z: f(z.reshape(12, 1, 1), 2),
    "pixel_unshuffle": lambda f, z: f(z.reshape(3, 2, 2), 2), "trace": lambda f, z: f(z),
    "select_scatter": lambda f, z: f(z, z[0] * 2, 0, 1), "cumsum": lambda f, z: f(z, 1),
    "slice_scatter": lambda f, z: f(z, z[:, :2], 1, 1, 3), "zeros_like": lambda f, z: f(z),
    "stop_gradient": None, "astype": lambda f, z: F.astype(z, "complex64"),
    "isclose": None, "dot": None, "fftshift": lambda f, z: F.fft.fftshift(z),
    "ifftshift": lambda f, z: F.fft.ifftshift(z, 1),
}  # fmt: skip


def test_moved_elements_and_their_gradients(queue):
    z = numbers(3, 4)
    array = on(queue, z)[0]
    for name, call in MOVED.items():
        if call is None:
            continue
        function = getattr(F, name, None)
        value, pullback = sycl_dnn.vjp(lambda z, f=function, c=call: c(f, z), array)
        seed = numbers(*value.shape, seed=1)
        gradient = dpnp.asnumpy(pullback(*on(queue, seed))[0])
        for part in ("real", "imag"):
            x = on(queue, np.ascontiguousarray(getattr(z, part)))[0]
            shift = function and name == "pad" and part == "imag"
            apart = (lambda f, x: F.pad(x, (1, 2))) if shift else call
            if name == "astype":
                apart = lambda f, x: x * 1  # noqa: E731
            expected, backward = sycl_dnn.vjp(lambda x, f=function, c=apart: c(f, x), x)
            np.testing.assert_allclose(
                getattr(dpnp.asnumpy(value), part), dpnp.asnumpy(expected), rtol=1e-6, err_msg=name
            )
            (of_part,) = backward(*on(queue, getattr(seed, part).copy()))
            np.testing.assert_allclose(
                getattr(gradient, part), dpnp.asnumpy(of_part), rtol=1e-6, err_msg=name
            )


def test_indices_and_assignments(queue):
    z, w = numbers(3, 4), numbers(3, 2, seed=1)
    array, other = on(queue, z, w)
    rows = on(queue, np.array([0, 2, 0]))[0]
    for key, places in (
        ((slice(None), slice(1, 3)), None), ((1, Ellipsis), None), ((rows,), np.array([0, 2, 0])),
    ):  # fmt: skip
        index = key if places is None else (places,)
        value, pullback = sycl_dnn.vjp(lambda z, key=key: z[key], array)
        assert_near(value, z[index])
        expected = np.zeros_like(z)
        np.add.at(expected, index, np.ones_like(z[index]))
        assert_near(pullback(F.ones_like(value))[0], expected)

    def assigned(z, w):
        out = F.zeros(3, 6, dtype="complex64")
        out[:, :4] = z * 2
        out[:, 4:] = w
        out[0, 0] = 1j
        return out

    value, pullback = sycl_dnn.vjp(assigned, array, other)
    expected = np.concatenate([2 * z, w], 1)
    expected[0, 0] = 1j
    assert_near(value, expected)
    of_z, of_w = pullback(value)
    scaled = 2 * expected[:, :4]
    scaled[0, 0] = 0
    assert_near(of_z, scaled)
    assert_near(of_w, w)


def test_writes_to_views_of_parts_are_seen(queue):
    def changed(z, g, library):
        z = z * 1
        pairs = z.view("f4").reshape(3, 4, 2) if library is np else F.view_as_real(z)
        pairs[..., 0] = pairs[..., 1] * 3
        part = z.imag
        part[1:] = g[1:]
        part = z[:, 1:].real
        part[0] = 2.0
        if library is np:
            z[2] = np.conj(z[1] * 1j)
        else:
            z.conj()[2] = z[1] * 1j
        again = pairs * 1  # numbers, whose pairs are written to
        numbers = again.view("c8")[..., 0] if library is np else F.view_as_complex(again)
        numbers[0] = numbers[1] * 1j
        return library.stack([z, again[..., 0] + 1j * again[..., 1]])

    z, g = numbers(3, 4), np.random.default_rng(3).normal(size=(3, 4)).astype("f4")
    arrays = on(queue, z, g)
    expected = changed(z, g, np)

    def energy(z, g, step=0):
        return F.sum(F.square(F.abs(changed(z + step, g, F))))

    for transform in (lambda f: lambda *xs: sycl_dnn.vjp(f, *xs)[0], sycl_dnn.compile):
        assert_near(transform(lambda z, g: changed(z, g, F))(*arrays), expected)
    gradient = sycl_dnn.grad(energy)(*arrays)
    for step in (1e-2, 1e-2j):
        slope = float(energy_of(energy, arrays, step) - energy_of(energy, arrays, -step))
        product = float(F.sum(F.real(gradient * np.conj(step)))) * 2
        np.testing.assert_allclose(slope, product, rtol=1e-3, atol=1e-3)


def energy_of(energy, arrays, step):
    return sycl_dnn.vjp(lambda *xs: energy(*xs, step), *arrays)[0]


def test_choices_and_comparisons(queue):
    z, w = numbers(3, 4), numbers(3, 4, seed=1)
    mask = abs(z) > 1
    w[mask] = z[mask]
    a, b, m = on(queue, z, w, mask)
    assert_near(F.where(m, a, 0.0), np.where(mask, z, 0).astype("c8"))
    assert_near(F.masked_fill(a, m, 1j), np.where(mask, 1j, z).astype("c8"))
    assert dpnp.asnumpy(F.eq(a, b)).tolist() == mask.tolist()
    assert dpnp.asnumpy(F.ne(a, b)).tolist() == (~mask).tolist()
    assert F.allclose(a, a)
    assert not F.allclose(a, b)
    assert dpnp.asnumpy(F.isfinite(a)).all()
    grad = sycl_dnn.grad(lambda a: F.sum(F.real(F.where(m, a, 0.0))))(a)
    assert_near(grad, mask.astype("c8"))


# --- Transformations


def test_derivatives_of_higher_order(queue):
    x = on(queue, np.random.default_rng(0).normal(size=3))[0].astype("f4")

    def energy(x):
        z = F.complex(x, x * x)
        return F.sum(F.real(z * z * z))  # x**3 - 3 * x * x**4

    hessian = dpnp.asnumpy(sycl_dnn.hessian(energy)(x))
    x = dpnp.asnumpy(x)
    np.testing.assert_allclose(hessian, np.diag(6 * x - 60 * x**3), rtol=2e-5, atol=1e-4)


def test_tangents(queue):
    z, dz = numbers(3, 4), numbers(3, 4, seed=1)
    value, tangent = sycl_dnn.jvp(lambda z: F.exp(z * z), *(tuple(on(queue, a)) for a in (z, dz)))
    assert_near(value, np.exp(z * z), 1e-4)
    assert_near(tangent, 2 * z * np.exp(z * z) * dz, 1e-4)


def test_compiled_functions(queue):
    z, w = numbers(5, 5), numbers(5, 5, seed=1)
    arrays = on(queue, z, w)

    def loss(z, w):
        return F.sum(F.abs(F.matmul(z, w) * F.exp(1j * F.real(z))) ** 2)

    step = sycl_dnn.compile(lambda z, w: sycl_dnn.value_and_grad(loss, (0, 1))(z, w))
    for _ in range(2):
        value, (of_z, of_w) = step(*arrays)
    expected, grads = sycl_dnn.value_and_grad(loss, (0, 1))(*arrays)
    assert_near(value, dpnp.asnumpy(expected), 1e-4)
    assert_near(of_z, dpnp.asnumpy(grads[0]), 1e-3)
    assert_near(of_w, dpnp.asnumpy(grads[1]), 1e-3)
    product = (abs(z @ w) ** 2).sum()
    np.testing.assert_allclose(float(value), product, rtol=1e-5)


def test_strided_arguments_and_donated_ones(queue):
    whole = numbers(6, 8)
    strided, plain = on(queue, whole)[0][::2, ::-2], on(queue, numbers(3, 4))[0]
    assert_near(F.mul(strided, plain), whole[::2, ::-2] * numbers(3, 4))
    z = numbers(64, 64)
    compiled = sycl_dnn.compile(lambda z: F.view_as_real(z * 2), donate="z")
    assert_near(compiled(*on(queue, z)), np.stack([2 * z.real, 2 * z.imag], -1))


# --- Refusals

#: Functions without arguments that may be complex, and those that are tested above or accept all.
OTHERS = {
    "arange", "asarray", "astype", "empty", "eye", "from_numpy", "full", "is_complex", "linspace",
    "ones", "rand", "rand_like", "randint", "randn", "randn_like", "randperm", "tensor", "zeros",
    "allclose", "nonzero", "unique", "dequantize", "pack_padded_sequence", "pad_packed_sequence",
    "QuantizedTensor", "PackedSequence", "bce_with_logits",
}  # fmt: skip
#: Those that check other arguments first, or do nothing to their input by default.
CALLS = {
    "multinomial": lambda f, z: f(z[0], 1), "nms": lambda f, z: f(z[0, :, :], z[0, :, 0], 0.5),
    "one_hot": lambda f, z: f(z, 3),
    "roi_align": lambda f, z: f(z[:, None], F.pad(F.real(z[0, :1]), (0, 1)), 2),
    **dict.fromkeys(("alpha_dropout", "feature_alpha_dropout"), lambda f, z: f(z, 0.5, True)),
}  # fmt: skip
FUNCTIONS = {
    **{name: getattr(F, name) for name in F.__all__ if name not in OTHERS},
    **{f"linalg.{name}": getattr(F.linalg, name) for name in F.linalg.__all__},
}


def _required(function):
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(function).parameters.values()
    return [p for p in parameters if p.default is p.empty and p.kind in kinds]


def _own_name(name):
    return name.rpartition(".")[2]


REAL = [name for name in FUNCTIONS if _own_name(name) not in MOVING | RULES.keys()]


def test_every_other_function_refuses_complex_numbers_by_name(queue):
    z = on(queue, numbers(2, 4, 4))[0]
    for name in REAL:
        function, own = FUNCTIONS[name], _own_name(name)
        call = CALLS.get(own, lambda f, z: f(*[z] * max(len(_required(f)), 1)))
        with pytest.raises(TypeError, match=rf"^{own}: .*(complex|float)"):
            call(function, z)


def test_each_listed_function_is_tested():
    tested_elsewhere = {  # here, or in test_every_dtype.py
        "eigh", "eigvalsh", "einsum", "embedding", "empty_like", "full_like", "gather",
        "index_add", "index_copy", "index_fill", "index_put", "index_select", "mv", "ones_like",
        "outer", "scatter",
        "scatter_add", "take", "take_along_dim", "tensordot",
    }  # fmt: skip
    transforms = set(F.fft.__all__)
    assert MOVING - transforms == (set(MOVED) | tested_elsewhere) - transforms
