# SPDX-License-Identifier: Apache-2.0
"""float64, which oneDNN's CPU engine lacks: an exact result or a clear error."""

import importlib
import re
from pathlib import Path

import dpnp
import numpy as np
import pytest
from functional.case import specs_of
from functional.checks import check_gradient, check_value
from functional.on_device import to_device

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn
from sycl_dnn.call.double_precision_refusals import REFUSING

FOLDER = Path(__file__).parent
pytestmark = pytest.mark.float64


def _name(case):
    return getattr(case.function, "__name__", "")


def _cases():
    """Return the smallest nonempty case and the largest one of each function."""
    found = {}
    for path in sorted(FOLDER.rglob("test_*.py")):
        if path != Path(__file__):
            module = importlib.import_module(
                ".".join(path.relative_to(FOLDER.parent).with_suffix("").parts)
            )
            for case in getattr(module, "CASES", []):
                if case.dtype == "float32" and _size(case) and hasattr(F, _name(case)):
                    found.setdefault(_name(case), []).append(case.as_dtype("float64"))
    return {n: (min(every, key=_size), max(every, key=_size)) for n, every in found.items()}


def _size(case):
    sizes = [int(np.prod(s.shape)) for s in specs_of(case.args)]
    return 0 if 0 in sizes else sum(sizes)


CHOSEN = _cases()
STORED_CASES = [case for cases in CHOSEN.values() for case in cases]
#: Values of the smallest case, gradients of the largest.
CHECKED = [
    (case, check if case.has_gradient else check_value)
    for cases in CHOSEN.values()
    for case, check in zip(cases, (check_value, check_gradient), strict=True)
]
#: Functions without a list of cases: arguments after a float64 matrix of 0.5.
OTHERS = {
    "all": ((), {}), "any": ((1,), {}),
    "argmax": ((1,), {}), "argmin": ((1,), {}), "cummax": ((1,), {}),
    "cummin": ((1,), {}), "logcumsumexp": ((1,), {}), "dropout": ((0.5,), {"seed": 1}),
    "eq": ((0.5,), {}), "ge": ((0.5,), {}), "gt": ((0.5,), {}), "le": ((0.5,), {}),
    "lt": ((0.5,), {}), "ne": ((0.5,), {}), "quantize_dynamic": ((), {}),
    "acosh": ((), {}), "atanh": ((), {}), "isfinite": ((), {}), "isinf": ((), {}),
    "isnan": ((), {}), "logical_and": ((1,), {}), "logical_not": ((), {}), "logical_or": ((1,), {}),
    "logical_xor": ((1,), {}), "one_hot": ((3,), {}),
    "nonzero": ((), {}), "unique": ((), {}), "rand_like": ((), {}), "randn_like": ((), {}),
    "zeros_like": ((), {}), "ones_like": ((), {}), "empty_like": ((), {}),
    "full_like": ((2.0,), {}),
    "dropout1d": ((0.5,), {"seed": 1}), "alpha_dropout": ((0.5, True), {"seed": 1}),
    "feature_alpha_dropout": ((0.5, True), {"seed": 1}), "gumbel_softmax": ((), {"seed": 1}),
    "bernoulli": ((), {}), "nan_to_num": ((), {}),
    "multinomial": ((1,), {}), "signbit": ((), {}),
    "astype": (("float32",), {}), "asarray": (("float32",), {}),
}  # fmt: skip
#: They take complex numbers, a QuantizedTensor, a separate scale, a condition, or no array.
ELSEWHERE = {"angle", "complex", "conj", "imag", "is_complex", "polar", "real",
             "view_as_complex", "view_as_real",
             "PackedSequence", "allclose", "bincount", "heaviside", "isclose", "float_power",
             "ctc_loss", "nms",
              "pack_padded_sequence", "pad_packed_sequence",
             "roi_align", "arange", "dropout2d", "dropout3d", "empty", "eye", "full", "index_add",
             "masked_fill", "masked_select", "randint", "randperm", "bitwise_and",
             "bitwise_left_shift",
             "bitwise_not", "bitwise_or", "bitwise_right_shift", "bitwise_xor",
             "linspace", "ones", "rand", "randn", "zeros",
             "QuantizedTensor", "bce_with_logits", "dequantize", "quantized_conv1d",
             "quantized_conv2d", "quantized_conv3d", "quantize", "quantized_linear",
             "quantized_matmul", "where", "cosine_embedding_loss", "gaussian_nll_loss",
             "hinge_embedding_loss", "margin_ranking_loss", "multi_margin_loss",
             "multilabel_margin_loss", "multilabel_soft_margin_loss", "poisson_nll_loss",
             "soft_margin_loss", "triplet_margin_loss", "linear_recurrence", "embedding_bag",
             "triplet_margin_with_distance_loss", "from_numpy", "tensor",
             "multi_head_attention_forward"}  # fmt: skip


def _either(call, may_refuse=True):
    """Make a call; fail unless it works, or it may be refused and its error names float64."""
    try:
        call()
    except (NotImplementedError, TypeError) as refusal:
        # The full text would start a process to obtain oneDNN's reasons.
        said = refusal.args[0]
    else:
        return
    assert "float64" in said
    assert may_refuse, said


def _may_refuse(name, queue):
    """Whether a device refuses a function in float64; some GPUs compute all of them."""
    return name in REFUSING or name == "one_hot" or not queue.sycl_device.is_cpu


@pytest.mark.sweep(12)
@pytest.mark.parametrize("share", range(24))
def test_float64_is_exact_or_refused(share, queue):
    """Many cases in one test, since CPUs refuse nearly all; executing GPUs run a share."""
    for case, check in CHECKED[share::24]:
        _either(lambda case=case, check=check: check(case, queue), _may_refuse(_name(case), queue))


@pytest.mark.slow
def test_functions_without_cases(queue):
    x = to_device(np.full((2, 4), 0.5), "float64", queue)
    for name, (args, kwargs) in OTHERS.items():
        call = lambda name=name, a=args, k=kwargs: getattr(F, name)(x, *a, **k)  # noqa: E731
        _either(call, _may_refuse(name, queue))


def test_every_function_is_covered():
    assert set(F.__all__) == set(CHOSEN) | set(OTHERS) | ELSEWHERE
    assert set(F.__all__) >= REFUSING


#: The only answer, except for the function's name.
ANSWER = r"this device \(.*\) computes no float64 in convolutions, .*; use float32: astype"


def _mixed(queue):
    """Return calls with operands of float64, alone or with float32, and who answers."""
    wide = to_device(np.ones((4, 4)), "float64", queue)
    narrow = to_device(np.ones((4, 4)), "float32", queue)
    compiled = sycl_dnn.compile(F.avg_pool1d)
    return {
        "avg_pool1d": [
            lambda: F.avg_pool1d(wide, 2), lambda: compiled(wide, 2),
            lambda: sycl_dnn.vjp(F.avg_pool1d, wide, 2),
        ],
        "conv1d": [
            lambda: F.conv1d(wide[None], narrow[..., None]),
            lambda: F.conv1d(narrow[None], wide[..., None]),
        ],
        "lstm": [lambda: nn.LSTM(4, 3).to(queue)(wide[None])],
        "scaled_dot_product_attention": [
            lambda: F.scaled_dot_product_attention(narrow, narrow, narrow, attn_mask=wide),
            lambda: F.scaled_dot_product_attention(wide, narrow, narrow),
        ],
        "max_pool2d": [lambda: nn.MaxPool2d(2).to(queue)(wide[None])],
        "max_pool1d": [lambda: F.max_pool1d(wide, 2)],
        "prelu": [lambda: F.prelu(wide, F.ones(4, device=queue))],
    }  # fmt: skip


@pytest.mark.cpu  # oneDNN computes float64 on GPUs that have it
def test_refusals_have_one_message(queue):
    for name, calls in _mixed(queue).items():
        for number, call in enumerate(calls):
            with pytest.raises((TypeError, NotImplementedError)) as caught:
                call()
            assert re.match(f"{name}: {ANSWER}", str(caught.value.args[0])), (name, number)


def test_networks_in_float64(queue):
    """A solver's residual: derivatives of a small network with respect to its input."""
    net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1)).to(queue).double()
    rng = np.random.default_rng(3)
    first, second = (rng.standard_normal(s) for s in ((8, 1), (1, 8)))
    net[0].weight, net[2].weight = (to_device(w, "float64", queue) for w in (first, second))
    net[0].bias, net[2].bias = (to_device(np.zeros(n), "float64", queue) for n in (8, 1))
    values = np.linspace(-1, 1, 5)[:, None]
    x = to_device(values, "float64", queue)
    slope = sycl_dnn.grad(lambda x: F.sum(net(x)))
    actual = sycl_dnn.compile(sycl_dnn.grad(lambda x: F.sum(slope(x))))(x)
    hidden = np.tanh(values @ first.T)
    expected = (-2 * hidden * (1 - hidden**2) * first.T**2) @ second.T
    np.testing.assert_allclose(dpnp.asnumpy(actual), expected, rtol=1e-12, atol=1e-13)


def test_float64_is_never_narrowed_implicitly(queue):
    """Functions that would compute in float32 internally are refused."""
    x = to_device(np.ones((1, 2, 3, 4)), "float64", queue)
    for call in (lambda: F.local_response_norm(x, 2), lambda: F.interpolate(x, (6, 8))):
        _either(lambda c=call: np.testing.assert_equal(c().dtype, np.float64))


def test_gradients_of_overlapping_windows_accumulate_in_float64(queue):
    """A function that only copies in the forward pass accumulates in the backward pass."""
    x = to_device(np.arange(2 * 3 * 5.0).reshape(1, 2, 3, 5), "float64", queue)

    def call():
        y, pullback = sycl_dnn.vjp(F.interpolate, x, (7, 4))
        grad = pullback(dpnp.ones_like(y))[0]
        rows, columns = np.arange(7) * 3 // 7, np.arange(4) * 5 // 4
        expected = np.outer(np.bincount(rows, minlength=3), np.bincount(columns, minlength=5))
        np.testing.assert_array_equal(dpnp.asnumpy(grad)[0, 0], expected)

    _either(call)


def test_exponentials_are_exact_and_have_gradients(queue):
    values = np.array([[0.3, -1.0, 700.0], [-800.0, -801.0, -np.inf]])
    x = to_device(values, "float64", queue)
    expected = np.logaddexp.reduce(values, 1)
    for actual in (F.logsumexp(x, 1), sycl_dnn.compile(lambda x: F.logsumexp(x, 1))(x)):
        np.testing.assert_allclose(dpnp.asnumpy(actual), expected, rtol=1e-15)
    np.testing.assert_allclose(dpnp.asnumpy(F.exp(x)), np.exp(values), rtol=1e-15)
    y, pullback = sycl_dnn.vjp(lambda x: F.logsumexp(x, 1), x)
    shares = np.exp(values - expected[:, None])
    np.testing.assert_allclose(dpnp.asnumpy(pullback(dpnp.ones_like(y))[0]), shares, rtol=1e-12)


def test_mixing_float64_with_another_dtype_suggests_a_remedy(queue):
    wide, narrow = (to_device(np.ones((2, 4)), d, queue) for d in ("float64", "float32"))
    net = nn.Linear(4, 3).to(queue)
    for call in (lambda: net(wide), lambda: net.double()(narrow), lambda: F.matmul(wide, narrow.T)):
        with pytest.raises(TypeError, match=r"float64.*astype\('float32'\).*double\(\)"):
            call()


def test_compiled_functions_compute_in_one_program_what_eager_ones_compute(queue):
    """oneDNN's primitives, which compiled functions prefer, have no float64 on CPUs."""
    x = to_device(np.random.default_rng(3).standard_normal((2, 4, 6)), "float64", queue)
    functions = {
        "softmax": lambda x: F.softmax(x, -1), "log_softmax": lambda x: F.log_softmax(x, -1),
        "softmin": lambda x: F.softmin(x, -1), "add": lambda x: x + x.sum(),
        "adaptive_avg_pool1d": lambda x: F.adaptive_avg_pool1d(x, 1),
        "mean": lambda x: F.mean(x, (1, 2)), "matmul": lambda x: F.matmul(x, F.transpose(x, 1, 2)),
        "batch_norm": lambda x: F.batch_norm(x, x[0, :, 0], F.abs(x[0, :, 1])),
        "layer_norm": lambda x: F.layer_norm(x, (6,)), "relu": F.relu,
    }  # fmt: skip
    for name, function in functions.items():
        compiled = sycl_dnn.compile(function, fallback="error")
        expected = dpnp.asnumpy(function(x))
        np.testing.assert_allclose(dpnp.asnumpy(compiled(x)), expected, 1e-12, 1e-14, err_msg=name)
