# SPDX-License-Identifier: Apache-2.0
"""Exported functions compute the same: by ONNX's evaluator, and loaded back."""

import dpnp
import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn
from sycl_dnn.errors import InvalidArguments, UnsupportedOperator
from sycl_dnn.onnx import export, load
from sycl_dnn.onnx.exported_functions import ROWS

try:
    import onnxruntime
except ImportError:
    onnxruntime = None


def drawn(*shape, seed=0):
    return dpnp.asarray(np.random.default_rng(seed).standard_normal(shape).astype("f4"))


def arrays_of(made):
    made = made if isinstance(made, (tuple, list)) else [made]
    flat = (arrays_of(v) if isinstance(v, (tuple, list)) else [v] for v in made if v is not None)
    return [dpnp.asnumpy(v) for part in flat for v in part]


def check(f, *given, model=None, evaluator=True):
    """Compare a function with its model, which is loaded back, evaluated, and run by others."""
    expected = arrays_of((f if isinstance(f, nn.Module) else sycl_dnn.compile(f))(*given))
    model = export(f, *given) if model is None else model
    onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
    names = [i.name for i in model.graph.input]
    feed = dict(zip(names, map(dpnp.asnumpy, given), strict=True))
    runs = [lambda: arrays_of(load(model)(*given))]
    if evaluator:
        runs.append(lambda: ReferenceEvaluator(model).run(None, feed))
    if onnxruntime is not None:
        runs.append(lambda: onnxruntime.InferenceSession(model.SerializeToString()).run(None, feed))
    for run in runs:
        result = run()
        assert len(result) == len(expected)
        for a, b in zip(result, expected, strict=True):
            assert (a.shape, a.dtype) == (b.shape, b.dtype)
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    return model


def operators(model):
    return [n.op_type for n in model.graph.node if n.op_type != "Constant"]


X, Y, P = drawn(2, 4, 6), drawn(2, 4, 6, seed=1), dpnp.abs(drawn(2, 4, 6)) + 1.5
Z, INDEX = drawn(2, 4, 6, 8), dpnp.asarray(np.array([[0, 1], [2, 0]]))
MASK = dpnp.asarray(np.array([[1, 0, 1, 1], [0] * 4, [1] * 4, [0, 1, 0, 0]], bool))
UNARY = [
    "abs", "atan", "ceil", "cos", "cosh", "erf", "erfc", "exp", "exp2",
    "expm1", "floor", "gelu", "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "isfinite",
    "isinf", "isnan", "leaky_relu", "logsigmoid", "mish", "neg", "relu", "relu6", "round", "selu",
    "sigmoid", "sign", "silu", "sin", "sinh", "softplus", "softshrink", "softsign", "square",
    "tanh", "tanhshrink", "trunc", "elu", "celu",
]  # fmt: skip
POSITIVE = [
    "acosh", "log", "log1p", "log2", "log10", "reciprocal", "rsqrt", "sqrt",
]  # fmt: skip
BINARY = [
    "add", "sub", "mul", "div", "maximum", "minimum", "eq", "ne", "gt",
    "ge", "lt", "le", "fmod", "remainder", "floor_divide",
]  # fmt: skip
REDUCTIONS = [
    "sum", "mean", "prod", "amax", "amin", "logsumexp", "var", "std", "argmax",
    "argmin", "max", "min", "var_mean",
]  # fmt: skip


def called(names, *more):
    """Return a function with the results of several, whose kernels are compiled together."""
    return lambda *x: [getattr(F, name)(*x, *more) for name in names]


def test_functions_of_one_value():
    check(called(UNARY), X)
    check(called(POSITIVE), P)
    check(called(REDUCTIONS, 1), X)


def test_functions_of_two_values():
    check(called(BINARY), X, P)
    check(called([name for name in BINARY if name not in ("maximum", "minimum")], 1.5), X)


FUNCTIONS = {
    "clamp": (lambda x: F.clamp(x, -0.5, 0.2) + F.clamp_min(x, 0.1) + F.clamp_max(x, P), X),
    "threshold": (lambda x: F.threshold(x, 0.1, 7), X),
    "glu": (lambda x: F.glu(x, 1), X),
    "where": (lambda x: F.where(x > 0, x, 0.5) + F.masked_fill(x, x > 1, -1), X),
    "lerp": (lambda x, y: F.lerp(x, y, 0.3) + F.addcmul(x, y, y, value=2), X, Y),
    "pow": (lambda x: F.pow(x, 2) + 2**x, P),
    "any": (lambda x: (F.all(x > 0, 1), F.any(x > 0), F.argmax(x), F.max(x)), X),
    "integers": (lambda i: (F.sum(i, 1), i * 2 + 1, i > 0.5), INDEX),
    "norms": (lambda x: (F.norm(x, 2, 1), F.norm(x), F.normalize(x), F.norm(x, 1, -1)), X),
    "cosine": (F.cosine_similarity, X, Y),
    "order": (lambda x: (*F.topk(x, 3), *F.sort(x, 1), F.argsort(x, -1, True)), X),
    "cumsum": (lambda x: F.cumsum(x, 1), X),
    "softmax": (lambda x: F.softmax(x, 1) + F.log_softmax(x, -1) + F.softmin(x, 0), X),
    "regression": (lambda x, y: F.mse_loss(x, y) + F.l1_loss(x, y, reduction="sum"), X, Y),
    "classes": (lambda x, i: F.cross_entropy(x, i), drawn(2, 5), INDEX[0]),
    "shapes": (lambda x: F.unsqueeze(F.unflatten(F.flatten(x, 1), 1, (2, 12)).squeeze(), 1), X),
    "axes": (lambda x: F.movedim(F.permute(x, (1, 0, 2)), 0, -1).swapaxes(0, 1).T, X),
    "expand": (lambda x: F.tile(F.expand(x[:, :1], (2, 3, 6)), (2, 1, 1, 1)), X),
    "flip": (lambda x: F.flip(F.roll(x, (1, -2), (0, 2)), (1,)) + F.tril(x) - F.triu(x, 1), X),
    "parts": (lambda x: (*F.chunk(x, 3, 2), *F.split(x, [1, 3], 1), *F.unbind(x, 0)), X),
    "joined": (lambda x: (F.cat([x, x], -1), F.stack([x, x], 1), F.hstack([x, x])), X),
    "index": (lambda x: (x[:, None, 1:-1, ..., 0], x[0, -1], x[:, ::-1, ::2], x[..., -2:]), X),
    "index_array": (lambda x: x[:, np.array([0, 2])], X),
    "selected": (lambda x: F.select(x, 1, -1) + F.narrow(x, 1, 1, 2)[:, 0], X),
    "gather": (lambda x, i: (F.gather(x, 1, i), F.index_select(x, 1, i[0])), drawn(2, 4), INDEX),
    "scatter": (lambda x, i: (F.scatter(x, 1, i, 2.0), F.scatter_add(x, 1, i, x)), drawn(2, 4),
                INDEX),
    "pixels": (lambda x: (F.pixel_unshuffle(F.pixel_shuffle(x, 2), 2), F.channel_shuffle(x, 2)),
               Z),
    "pad": (lambda x: (F.pad(x, (1, 2, 0, 1)), F.pad(x, (1, 2, 0, 1), "reflect"),
                       F.pad(x, (1, 1, 1, 1), "replicate")), Z),
    "likes": (lambda x: F.zeros_like(x) + F.full_like(x, 3.0) + F.ones(8), Z),
    "pools": (lambda x: (F.max_pool2d(x, 3, 2, 1), F.avg_pool2d(x, 3, 2, 1), F.lp_pool2d(x, 2, 2),
                         F.avg_pool2d(x, 2, count_include_pad=False)), Z),
    "adaptive": (lambda x: (F.adaptive_avg_pool2d(x, (3, 4)), F.adaptive_max_pool2d(x, 1)), Z),
    "norm_layers": (lambda x: (F.group_norm(x, 2), F.instance_norm(x), F.layer_norm(x, (6, 8)),
                               F.rms_norm(x, (8,))), Z),
    "resized": (lambda x: (F.interpolate(x, scale_factor=2),
                           F.interpolate(x, scale_factor=1.5, mode="bilinear"),
                           F.interpolate(x, (9, 11), mode="bilinear", align_corners=True),
                           F.interpolate(x, (4, 5), mode="bilinear")), Z),
    "antialiased": (lambda x: (F.interpolate(x, (4, 5), mode="bicubic", antialias=True),
                               F.interpolate(x, (4, 5), mode="bilinear", antialias=True),
                               F.interpolate(x, (9, 5), mode="bicubic")), Z),
    "products": (lambda x, y: (F.matmul(x, y.mT), F.einsum("bij,bkj->bik", x, y),
                               F.addmm(x[0, :, :4], x[0], y[0].T, beta=0.5, alpha=2)), X, Y),
    "attention": (lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True), Z),
    "masked": (lambda x, m: F.scaled_dot_product_attention(x, x, x, m), X, MASK),
    "grouped": (lambda q, k: F.scaled_dot_product_attention(q, k, k, enable_gqa=True), Z,
                drawn(2, 2, 5, 8)),
    "sampled": (lambda x, g: F.grid_sample(x, g, align_corners=False), Z, drawn(2, 3, 3, 2)),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.sweep(3)
def test_functions(name):
    check(*FUNCTIONS[name])


LAYERS = {
    "mlp": (lambda: nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 3, bias=False)), X),
    "bilinear": (lambda: nn.Bilinear(6, 6, 5), X, Y),
    "conv1d": (lambda: nn.Conv1d(4, 3, 2, padding="same"), X),
    "conv2d": (lambda: nn.Conv2d(4, 6, 3, stride=2, padding=1, groups=2), Z),
    "conv3d": (lambda: nn.Conv3d(1, 3, 2), drawn(1, 1, 4, 4, 4)),
    "transposed": (lambda: nn.ConvTranspose2d(4, 3, 3, stride=2, padding=1, output_padding=1), Z),
    "one_image": (lambda: nn.Sequential(nn.Conv2d(4, 6, 3), nn.MaxPool2d(2)), Z[0]),
    "embedding": (lambda: nn.Embedding(10, 4), INDEX),
    "prelu": (lambda: nn.PReLU(4), Z),
    "batch_norm": (lambda: nn.BatchNorm2d(4), Z),
    "group_norm": (lambda: nn.GroupNorm(2, 4), Z),
    "fold": (lambda: nn.Fold((4, 4), 2, stride=2), drawn(1, 8, 4)),
    "gru": (lambda: nn.GRU(4, 6, 2), drawn(5, 2, 4), drawn(2, 2, 6)),
    "lstm": (lambda: nn.LSTM(4, 6, batch_first=True), drawn(2, 5, 4)),
    "rnn": (lambda: nn.RNN(4, 6), drawn(5, 4)),
    "cells": (lambda: nn.LSTMCell(4, 6), drawn(2, 4)),
    "attention": (lambda: nn.MultiheadAttention(6, 2, batch_first=True), X, X, X),
    "decoder": (lambda: nn.TransformerDecoderLayer(6, 2, 8), X, Y),
    "rotary": (lambda: nn.RotaryEmbedding(8), Z),
}  # fmt: skip


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.sweep(2)
def test_layers(name):
    make, *given = LAYERS[name]
    check(make().eval(), *given)


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (nn.LSTM(4, 6, 2, bidirectional=True), drawn(5, 2, 4)),
        (nn.RNN(4, 6, nonlinearity="relu"), drawn(5, 4)),
        (lambda x: F.local_response_norm(x, 3), Z), (lambda x: F.pad(x, (1, 2, 0, -1)), Z),
    ],
)  # fmt: skip
def test_functions_that_the_evaluator_lacks(f, x):
    check(f, x, evaluator=False)


def test_parameters_keep_their_names():
    net = nn.Sequential(nn.Conv2d(4, 6, 3), nn.BatchNorm2d(6), nn.ReLU(), nn.Flatten(),
                        nn.Linear(144, 3)).eval()  # fmt: skip
    model = check(net, Z)
    assert operators(model) == ["Conv", "BatchNormalization", "Relu", "Reshape", "Gemm"]
    state = {n: v for n, v in net.state_dict().items() if "num_batches" not in n}
    weights = {w.name: onnx.numpy_helper.to_array(w) for w in model.graph.initializer}
    assert weights.keys() == state.keys()
    assert all((weights[n] == dpnp.asnumpy(v)).all() for n, v in state.items())
    again = load(model)
    assert set(again.state_dict()) == set(state)
    assert {n for n, _ in again.named_buffers()} == {"1.running_mean", "1.running_var"}


def test_weights_that_a_function_refers_to():
    scale, net, parts = drawn(6), nn.Linear(6, 3).eval(), {"bias": [drawn(3)]}
    model = check(lambda x: net(x * scale) + parts["bias"][0], X)
    names = [w.name for w in model.graph.initializer]
    assert names == ["scale", "net.weight", "net.bias", "parts.bias.0"]


def test_symbolic_sizes_of_a_network():
    layer = nn.TransformerEncoderLayer(6, 2, 8, batch_first=True)
    net = nn.TransformerEncoder(layer, 2).eval()
    model = export(net, X, dynamic={0: "N", 1: "T"}, inputs=["tokens"], outputs=["codes"])
    for given in (X, drawn(3, 7, 6), drawn(1, 1, 6)):
        check(net, given, model=model)
    assert load(model).inputs == (("tokens", ("N", "T", 6), "float32"),)
    assert load(model).outputs == (("codes", ("N", "T", 6), "float32"),)


def test_symbolic_sizes_in_shapes_and_constants():
    def f(x, y):
        n, t = x.shape[:2]
        counted = F.reshape(F.arange(t), (t,)).astype("float32")
        rows = F.reshape(x, (n * t, 6)) + F.zeros(n * t, 6)
        return F.cat([rows, rows]), x[:, 1:-1] * F.ones(t - 2, 1), counted + y

    model = export(f, X, drawn(4), dynamic={"x": {0: "N", 1: "T"}, "y": {0: "T"}})
    for n, t in ((2, 4), (3, 9)):
        check(f, drawn(n, t, 6), drawn(t), model=model)


def test_numbers_computed_from_symbolic_sizes():
    def f(x):
        n, t = x.shape[:2]
        return x / t, x.sum(1) * n, x - (2 * t + 1)

    model = export(f, X, dynamic={0: "N", 1: "T"})
    for n, t in ((2, 4), (3, 9)):
        check(f, drawn(n, t, 6), model=model)
    with pytest.raises(UnsupportedOperator, match="a constant depends on sizes"):
        export(lambda x: x * x.shape[1] ** 0.5, X, dynamic={1: "T"})


def test_causal_attention_of_any_length():
    def f(x):
        return F.scaled_dot_product_attention(x, x, x, is_causal=True)

    model = export(f, Z, dynamic={2: "T"})
    check(f, drawn(2, 4, 9, 8), model=model)


def test_a_loaded_model_is_exported_again(network):
    net = load(network)
    x = drawn(2, 3, 8, 8)
    model = export(net.forward, x)
    np.testing.assert_allclose(arrays_of(load(model)(x))[0], arrays_of(net(x))[0], rtol=1e-5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_types(dtype):
    x, weight = F.astype(X, dtype), F.astype(drawn(3, 6), dtype)
    model = export(lambda x: F.relu(F.linear(x, weight)), x)
    result, expected = (
        F.astype(v, "float32") for v in (load(model)(x), F.relu(F.linear(x, weight)))
    )
    np.testing.assert_allclose(arrays_of(result)[0], arrays_of(expected)[0], atol=2e-2)


def test_results_that_are_inputs_or_the_same():
    check(lambda x, y: (x, x * 2, (y,)), X, Y)

    def twice(x):
        result = x + 1
        return result, result

    check(twice, X)


def test_windows_beyond_an_image_have_the_means_of_torch():
    check(lambda x: F.lp_pool2d(x, 2, 2, ceil_mode=True), drawn(2, 3, 5, 7))
    check(lambda x: F.lp_pool1d(x, 4, 3, 2, ceil_mode=True), drawn(3, 8))


@pytest.mark.parametrize("size", [(2, 3, 1, 4), (2, 3, 1, 1), (2, 3, 3, 1, 2)])
def test_grids_of_one_element_are_in_the_middle(size):
    theta = drawn(2, len(size) - 2, len(size) - 1)
    check(lambda theta: F.affine_grid(theta, size, align_corners=True), theta)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_antialiasing_leaves_axes_whose_size_remains(mode):
    check(lambda x: F.interpolate(x, scale_factor=1.3, mode=mode, antialias=True),
          drawn(1, 2, 2, 4), evaluator=False)  # fmt: skip


def test_softplus_is_linear_beyond_its_threshold():
    check(lambda x: F.softplus(x, 0.5, 0.2), X)


@pytest.mark.parametrize("function", [F.expm1, F.log1p])
def test_functions_of_small_numbers_are_exact(function):
    x = dpnp.asarray(np.array([1e-9, -3e-8, 1e-5, -0.5, 2.0, 80.0, np.inf, np.nan], np.float32))
    result = load(export(function, x))(x)
    np.testing.assert_allclose(dpnp.asnumpy(result), dpnp.asnumpy(function(x)), rtol=2e-6)


def test_infinities_pass_bounds_on_the_other_side():
    x = dpnp.asarray(np.array([np.inf, -np.inf, np.nan, 2.0], np.float32))
    check(lambda x: (F.clamp(x, min=0.0), F.clamp(x, max=1.0), F.clamp_min(x, 0.5)), x)


def test_tests_of_bytes_are_bytes():
    check(lambda x: (F.any(x, 0), F.all(x)), dpnp.asarray(np.array([3, 0], np.uint8)))


def test_shapes_without_elements():
    check(lambda x: (F.reshape(x, (3, 1, 0)), F.flatten(x)), F.zeros(2, 0, 3))
    check(lambda x: (F.any(x > 0), F.all(x > 0)), F.zeros(2, 0, 3))
    keys, values = F.zeros(1, 1, 5, 0), drawn(1, 1, 5, 3)
    check(lambda q: F.scaled_dot_product_attention(q, keys, values, enable_gqa=True, scale=0.5),
          F.zeros(1, 2, 4, 0), evaluator=False)  # fmt: skip


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (nn.Dropout(0.5), "dropout"), (nn.BatchNorm1d(4), "batch_norm"),
        (lambda x: x + F.randn(6), "random number"), (nn.Unfold(2), "unfold"),
        (lambda x: F.max_pool1d(x, 2, return_indices=True), "max_pool1d"),
        (lambda x: F.adaptive_avg_pool1d(x, 4), "must divide"),
        (lambda x: F.local_response_norm(F.reshape(x, (2, -1, 3)), 2), "size must be odd"),
        (lambda x: F.interpolate(x[:, :, :3], scale_factor=1.3), "must change a size"),
        (lambda x: F.abs(F.fft.rfft(x)), "rfft has no form"),
        (lambda x: F.abs(F.astype(x, "complex64")), "operators have no complex numbers"),
        (lambda x: F.abs(x > 0), r"Abs has no form .* unsupported type: tensor\(bool\)"),
        (lambda x: (x > 0) + (x < 1), r"Add has no form .* unsupported type: tensor\(bool\)"),
        (lambda x: F.isnan(F.astype(x, "int32")), "IsNaN has no form .* unsupported type"),
    ],
)  # fmt: skip
def test_refusals_name_the_function(f, message):
    given = Z if isinstance(f, nn.Unfold) else X
    with pytest.raises(UnsupportedOperator, match=message):
        export(f, given)


def test_numbers_that_a_function_draws_are_no_constants():
    with pytest.raises(TypeError, match="must not draw random numbers"):
        export(lambda x: x + np.random.rand(), X)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"dynamic": {"z": {0: "N"}}}, "names of inputs"), ({"dynamic": {3: "N"}}, "axes of x"),
        ({"dynamic": {0: "1N"}}, "must be a name"), ({"inputs": ["a", "b"]}, "1 different names"),
        ({"outputs": ["x"]}, "their own names"), ({"dynamic": {2: "N"}}, "can change"),
    ],
)  # fmt: skip
def test_arguments_are_checked(arguments, message):
    with pytest.raises(InvalidArguments, match=message):
        export(lambda x: F.reshape(x, (2, 24)), X, **arguments)


def test_no_array_is_refused():
    with pytest.raises(InvalidArguments, match="an array among"):
        export(lambda n: n, 3)
    with pytest.raises(InvalidArguments, match="must return arrays"):
        export(lambda x: "text", X)


def test_all_rules_belong_to_functions():
    inner = {"_astype", "taken_from", "stop_gradient"}
    assert not [n for n in set(ROWS) - inner if not hasattr(F, n)]
    assert sycl_dnn.onnx.export is export
