# SPDX-License-Identifier: Apache-2.0
"""Complex arrays: values and gradients of each function that takes them; all others refuse them.

What PyTorch gives for ``CALLS`` lies in complex_values.json;
``python tests/helpers/store_answers.py`` writes that file.
"""

import inspect
import operator
import re
from pathlib import Path

import dpnp
import numpy as np
import pytest
import stored_tables
import wide_dtypes

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn.call.complex_arguments import MOVING, RULES
from sycl_dnn.nn import torch_names

STORED = Path(__file__).with_name("complex_values.json")
TABLE = stored_tables.read(STORED)


def numbers(*shape, seed=0, dtype="complex64"):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)


def on(queue, *arrays):
    return [dpnp.asarray(a, sycl_queue=queue) for a in arrays]


def assert_near(actual, expected, tolerance=2e-5):
    actual, expected = dpnp.asnumpy(actual), np.asarray(expected)
    assert actual.dtype == expected.dtype
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)


# --- PyTorch's values and gradients

#: Over z and w (3, 4), b (2, 3, 4), v (4,), real x (3, 4), a mask m (3, 4) and indices k.
CALLS = [
    *(f"{name}(z)" for name in (
        "exp", "log", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "square", "neg",
        "reciprocal", "sigmoid", "silu", "rsqrt", "exp2", "log2", "log10", "real", "imag", "abs",
        "angle", "conj", "sum", "mean", "prod", "norm", "flatten", "tril", "diagonal", "diff",
        "rot90", "zeros_like", "ones_like", "view_as_real", "asin", "acos", "atan", "asinh",
        "acosh", "atanh", "log1p", "expm1", "sinc", "normalize")),
    "expm1(z * 1e-9)", "log1p(z * 1e-9)", "logsumexp(z, 1)", "logsumexp(z * 40, (0, 1), True)",
    "normalize(z, 1.0, 0)", "l1_loss(z, w)", "l1_loss(z, x, reduction='sum')",
    "addmm(z[:, :3], z, transpose(w, 0, 1), beta=0.5, alpha=2j)",
    "baddbmm(b[:, :, :3], b, transpose(b, 1, 2), alpha=2)", "addcmul(z, w, v, value=0.5)",
    "addcdiv(z, w, x, value=2)", "lerp(z, w, 0.3)", "cross(z, w, 0)",
    *(f"{name}({pair})" for name in ("add", "sub", "mul", "div")
      for pair in ("z, w", "b, v", "z, x", "x, z", "z, 2.5", "2.5, z", "z, 3", "1 - 2j, z")),
    *(f"pow(z, {exponent})" for exponent in (0, 0.5, 1, 2, 3, -1, 1.7, "1 - 2j")),
    "polar(abs(z), angle(z))", "angle(x)", "complex(x, x * x)",
    "view_as_complex(view_as_real(z) * 2)",
    "sum(z, 1)", "mean(z, 1)", "prod(z, 1)", "sum(z[:0], 0)", "prod(z[:0], 0)", "var(z, 1)",
    "std(z, 1)", "var(z, 0, correction=0)", "std(z, 0, keepdim=True)", "cumsum(z, 1)",
    "cumprod(z, 1)", "matmul(z, transpose(w, 0, 1))", "matmul(b, transpose(z, 0, 1))",
    "matmul(reshape(b, (2, 1, 3, 4)), transpose(b, 1, 2))", "matmul(v, transpose(z, 0, 1))",
    "matmul(z, v)", "matmul(v, v)", "matmul(z[:0], transpose(w, 0, 1))", "mv(z, v)",
    "linear(z, w, v[:3])", "einsum('ij,kj->ik', z, w)", "einsum('bij,kj->bki', b, z)",
    "tensordot(z, w, 2)", "outer(v, v)", "trace(z[:, :3])", "dot(v, v)",
    "reshape(z, (4, 3))", "permute(z, (1, 0))", "transpose(z, 0, 1)", "narrow(z, 1, 1, 2)",
    "cat([z, w], 1)", "stack([z, w], 2)", "split(z, 3, 1)[1]", "chunk(z, 2, 1)[1]",
    "unbind(z)[2]", "select(z, 1, 2)", "squeeze(z[:, :1], 1)", "unsqueeze(z, 1)",
    "unflatten(z, 1, (2, 2))", "broadcast_to(z, (2, 3, 4))", "expand(z, (2, 3, 4))",
    "flip(z, (1,))", "roll(z, 1, 1)", "tile(z, (2, 1))", "triu(z, 1)", "diag(v)",
    "pad(z, (1, 2), value=3.0)", "repeat_interleave(z, 2, 1)", "hstack([z, w])",
    "vstack([z, w])", "movedim(z, 0, 1)", "swapaxes(z, 0, 1)", "meshgrid(v, v, indexing='ij')[0]",
    "tensor_split(z, 3, 1)[0]", "pixel_shuffle(z.reshape(12, 1, 1), 2)",
    "pixel_unshuffle(z.reshape(3, 2, 2), 2)", "select_scatter(z, w[0], 0, 1)",
    "slice_scatter(z, w[:, :2], 1, 1, 3)",
    "gather(z, 0, k)", "scatter(z, 0, k[:1], w[:1])", "scatter_add(z, 0, k, w)", "take(z, k)",
    "take_along_dim(z, k, 0)", "index_select(z, 0, k[0])", "index_add(z, 1, k[0], w)",
    "index_copy(z, 0, k[:, 0], w)", "index_fill(z, 0, k[0], 1)", "index_put(z, (k[:, 0],), w)",
    "embedding(k, z)", "z[:, 1:3]", "z[1, ...]", "z[k[0]]", "z[::2, 1]",
    "where(m, z, w)", "where(m, z, 0.0)", "masked_fill(z, m, 1j)",
    "eq(z, where(m, z, w))", "ne(z, where(m, z, w))", "isclose(z, where(m, z, w))", "isfinite(z)",
    "matmul(z * 2, transpose(w, 0, 1)) * exp(1j * real(z[:, :3]))",
]  # fmt: skip
#: The same for PyTorch, which has no gradient of some.
EQUIVALENT = {
    "silu(z)": "z * sigmoid(z)", "select_scatter(z, w[0], 0, 1)": "cat([z[:1], w[:1], z[2:]])",
    "slice_scatter(z, w[:, :2], 1, 1, 3)": "cat([z[:, :1], w[:, :2], z[:, 3:]], 1)",
}  # fmt: skip
INDICES, MASK = np.array([[2, 0, 2, 1], [0, 1, 1, 2], [1, 2, 0, 0]]), np.eye(3, 4) > 0


def operands(call):
    """Return the arrays that a call reads, by name, and the constants."""
    shapes = {"z": (3, 4), "w": (3, 4), "b": (2, 3, 4), "v": (4,)}
    made = {n: numbers(*s, seed=k, dtype="complex128") for k, (n, s) in enumerate(shapes.items())}
    made["x"] = made["w"].imag + 0
    words = set(re.findall(r"\b[a-z]\b", call))
    return {n: a for n, a in made.items() if n in words}, {"m": MASK, "k": INDICES}


def seed_of(shape, is_complex):
    """Return an incoming gradient."""
    turns = np.arange(int(np.prod(shape))).reshape(shape)
    return np.cos(turns) + 0.3 + (1j * np.sin(2.0 * turns) if is_complex else 0)


def function_of(call, names, provided):
    return eval(f"lambda {', '.join(provided)}: {call}", names)


def parts(array):
    """Return real numbers to store or compare: those of both parts."""
    array = np.ascontiguousarray(array)
    return array.view("f8") if array.dtype == "c16" and array.ndim else np.stack(
        [array.real, array.imag], -1) if array.dtype == "c16" else array  # fmt: skip


def by_torch(call):
    """Return dtype, value, and the gradients of operands, as lists of both parts."""
    import torch

    scope = {**vars(torch), **vars(torch.nn.functional), "expand": torch.broadcast_to}
    scope |= {"mean": torch.mean, "embedding": lambda i, w: w[i]}
    arrays, constants = operands(call)
    scope |= {n: torch.tensor(a) for n, a in constants.items()}
    tensors = {n: torch.tensor(a, requires_grad=True) for n, a in arrays.items()}
    y = function_of(EQUIVALENT.get(call, call), scope, tensors)(*tensors.values())
    grads = None
    if y.requires_grad:
        seed = torch.tensor(seed_of(tuple(y.shape), y.is_complex()))
        grads = torch.autograd.grad(y, [*tensors.values()], seed, materialize_grads=True)
    stored = [parts(t.detach().resolve_conj().resolve_neg().numpy()) for t in (y, *(grads or ()))]
    stored = [np.round(a.astype("f8"), 10).tolist() for a in stored]
    return [str(y.dtype).removeprefix("torch."), stored[0], grads and stored[1:]]


def write():
    stored_tables.write(STORED, {call: by_torch(call) for call in CALLS})


def assert_stored(array, stored, tolerance, what):
    """Compare an array with stored parts."""
    values = dpnp.asnumpy(array)
    values = parts(values.astype("c16" if values.dtype.kind == "c" else values.dtype))
    stored = np.asarray(stored, "f8")
    limit = tolerance * max(1, np.abs(stored).max(initial=1))
    assert values.shape == stored.shape or values.size == stored.size == 0, what
    np.testing.assert_allclose(
        values.astype("f8"), stored.reshape(values.shape), rtol=0, atol=limit, err_msg=what
    )


@pytest.mark.sweep(6)
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("call", CALLS)
def test_values_and_gradients_are_torchs(call, dtype, queue):
    wide_dtypes.need(dtype, queue)
    tolerance, real = (2e-5, "f4") if dtype == "complex64" else (1e-9, "f8")
    arrays, constants = operands(call)
    names = {n: getattr(F, n) for n in dir(F)}
    names |= {n: dpnp.asarray(a, sycl_queue=queue) for n, a in constants.items()}
    function = function_of(call, names, arrays)
    provided = on(queue, *(a.astype(dtype if a.dtype.kind == "c" else real)
                           for a in arrays.values()))  # fmt: skip
    kind, value, slopes = TABLE[call]
    eager = function(*provided)
    narrow = {"complex128": "complex64", "float64": "float32"} if dtype == "complex64" else {}
    assert str(eager.dtype) == narrow.get(kind, kind)
    assert_stored(eager, value, tolerance, "eager")
    if slopes is None:
        return

    def both(*arrays):
        result, pullback = sycl_dnn.vjp(function, *arrays)
        seed = seed_of(result.shape, kind.startswith("complex"))
        return result, pullback(on(queue, seed.astype(str(eager.dtype)))[0])

    for run in (both, sycl_dnn.compile(both)):
        result, grads = run(*provided)
        assert_stored(result, value, tolerance, "value")
        for x, gradient, slope in zip(provided, grads, slopes, strict=True):
            assert gradient is None or gradient.dtype == x.dtype
            gradient = F.zeros_like(x) if gradient is None else gradient
            assert_stored(gradient, slope, 10 * tolerance, "gradient")


def test_table_matches_pytorch():
    pytest.importorskip("torch")
    for call in CALLS:
        (kind, value, slopes), (found, other, others) = TABLE[call], by_torch(call)
        assert kind == found, call
        for a, b in zip([value, *(slopes or ())], [other, *(others or ())], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-9, err_msg=call)


# --- What has no number of its own


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
        function = operator.attrgetter(name)(F)
        of_function = [p for p in inspect.signature(function).parameters if p != "out"]
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


def test_derivatives_of_complex_results_are_refused(queue):
    z = on(queue, numbers(2, 3))[0]
    with pytest.raises(TypeError, match="hessian: z must be"):
        sycl_dnn.hessian(lambda z: F.sum(F.abs(z)))(z)
    with pytest.raises(TypeError, match="must return a floating-point"):
        sycl_dnn.grad(lambda z: F.sum(z))(z)


def test_assignments(queue):
    z, w = numbers(3, 4), numbers(3, 2, seed=1)
    array, other = on(queue, z, w)

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
REFUSED_CALLS = {
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


def _key(name):
    return name if name.startswith("linalg.") else _own_name(name)


REAL = [name for name in FUNCTIONS if _key(name) not in MOVING | RULES.keys()]


def test_every_other_function_refuses_complex_numbers_by_name(queue):
    z = on(queue, numbers(2, 4, 4))[0]
    for name in REAL:
        function, own = FUNCTIONS[name], _own_name(name)
        call = REFUSED_CALLS.get(own, lambda f, z: f(*[z] * max(len(_required(f)), 1)))
        with pytest.raises(TypeError, match=rf"^{own}: .*(complex|float)"):
            call(function, z)


CONVOLUTIONS = {  # input, weight and options
    "conv1d": ((2, 4, 9), (6, 2, 3), {"stride": 2, "padding": 1, "groups": 2}),
    "conv2d": ((3, 8, 7), (4, 3, 3, 2), {"dilation": 2, "padding": "same"}),
    "conv3d": ((1, 2, 4, 5, 4), (3, 2, 2, 2, 2), {}),
    "conv_transpose1d": ((2, 4, 5), (4, 3, 3), {"stride": 2, "groups": 2, "output_padding": 1}),
    "conv_transpose2d": ((2, 3, 5, 4), (3, 2, 3, 3), {"padding": 1}),
    "conv_transpose3d": ((1, 2, 3, 3, 3), (2, 2, 2, 2, 2), {}),
}


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions_are_those_of_the_parts(name, queue):
    source, weights, options = CONVOLUTIONS[name]
    function, n = getattr(F, name), int(name[-2])
    outputs = weights[1] * options.get("groups", 1) if "transpose" in name else weights[0]
    shapes = (source, weights, (outputs,))
    x, w, bias = on(queue, *(numbers(*shape, seed=k) for k, shape in enumerate(shapes)))

    def by_parts(x, w, bias):
        (a, b), (c, d) = ((F.real(v), F.imag(v)) for v in (x, w))
        real = F.sub(function(a, c, **options), function(b, d, **options))
        imag = F.add(function(a, d, **options), function(b, c, **options))
        return F.add(F.complex(real, imag), F.reshape(bias, (-1, *[1] * n)))

    def energy(call, *arrays):
        y = call(*arrays)
        return F.sum(F.sin(F.real(y)) + F.real(y) * F.imag(y))

    def direct(x, w, bias):
        return function(x, w, bias, **options)

    assert_near(direct(x, w, bias), dpnp.asnumpy(by_parts(x, w, bias)), 1e-5)
    for transform in (lambda f: f, sycl_dnn.compile):
        actual, expected = (
            transform(sycl_dnn.grad(lambda *a, call=call: energy(call, *a), (0, 1, 2)))(x, w, bias)
            for call in (direct, by_parts)
        )
        for gradient, wanted in zip(actual, expected, strict=True):
            assert_near(gradient, dpnp.asnumpy(wanted), 1e-4)
    with pytest.raises(TypeError, match=f"{name}: weight must have the dtype of input"):
        function(x, F.real(w))


def test_double_precision_is_refused_where_primitives_lack_it(queue):
    if not queue.sycl_device.is_cpu:
        pytest.skip("GPUs compute it")
    x, w = on(queue, numbers(1, 2, 5, dtype="complex128"), numbers(2, 2, 3, dtype="complex128"))
    with pytest.raises(NotImplementedError, match="computes no float64 in convolutions"):
        F.conv1d(x, w)


@pytest.mark.parametrize("name", ["asin", "acos", "atan", "asinh", "acosh", "atanh", "log1p"])
def test_branch_cuts_are_those_of_numpy(name, queue):
    wide_dtypes.need("complex128", queue)
    sizes = np.array([0.0, 1e-9, 0.5, 1.5, 3.0])
    values = np.concatenate([-sizes, sizes])
    z = np.array([complex(a, b) for a in values for b in values])
    z = np.concatenate([z, [complex(a, b) for a in (-2.0, 2.0) for b in (-0.0, 0.0)],
                        [complex(a, b) for a in (-0.0, 0.0) for b in (-2.0, 2.0)]])  # fmt: skip
    known = {"asin": "arcsin", "acos": "arccos", "atan": "arctan"}
    numpys = getattr(np, known.get(name, name.replace("a", "arc", 1) if name[0] == "a" else name))
    actual, expected = dpnp.asnumpy(getattr(F, name)(*on(queue, z))), numpys(z)
    for part in ("real", "imag"):
        np.testing.assert_allclose(
            getattr(actual, part), getattr(expected, part), atol=1e-15, rtol=1e-9
        )


def test_each_listed_function_is_tested():
    called = set(re.findall(r"(\w+)\(", " ".join(CALLS)))
    others = {"astype", "copied", "created", "stop_gradient", "empty_like", "full_like"}
    of_matrices = {"eig", "eigvals", "lu_factor", "pinv"}  # those in tests of linalg
    moved = {name for name in MOVING if not name.startswith("linalg.")}
    assert moved - set(F.fft.__all__) <= called | others | of_matrices


def test_roots_of_the_largest_numbers(queue):
    z = np.array([3e38, -3e38, 3e38j, 2e38 + 2e38j], "c8")
    roots = dpnp.asnumpy(F.sqrt(dpnp.asarray(z, sycl_queue=queue)))
    np.testing.assert_allclose(roots, np.sqrt(z.astype("c16")), rtol=1e-6)
