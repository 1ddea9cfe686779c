# SPDX-License-Identifier: Apache-2.0
"""``autocast``: which functions compute in bfloat16 and in float32, forward and backward."""

import json
import threading
from operator import attrgetter
from pathlib import Path

import dpnp
import numpy as np
import pytest
from functional import answers

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import onednn as dnnl
from sycl_dnn.call.autocast import NARROW, WIDE, WIDEST
from sycl_dnn.program.place import place_of
from sycl_dnn.trace.capabilities import multiplies

#: float32 inputs by name: shape.
SHAPES = {
    "rows": (4, 8), "square": (8, 8), "batch": (3, 8, 8), "weight": (6, 8), "bias": (6,),
    "eight": (8,),
    "line": (2, 4, 9), "image": (2, 4, 8, 8), "volume": (2, 4, 5, 5, 5), "four": (4,),
    "kernel1": (6, 4, 3), "kernel2": (6, 4, 3, 3), "kernel3": (6, 4, 3, 3, 3),
    "turned1": (4, 6, 3), "turned2": (4, 6, 3, 3), "turned3": (4, 6, 3, 3, 3),
    "steps": (3, 2, 8), "state": (1, 2, 5), "pairs": (6, 8, 8),
    "l_ih": (20, 8), "l_hh": (20, 5), "l_b": (20,), "g_ih": (15, 8), "g_hh": (15, 5), "g_b": (15,),
    "r_ih": (5, 8), "r_hh": (5, 5), "r_b": (5,), "heads": (2, 3, 8, 8),
}  # fmt: skip


def _rnn(name, letter):
    def call(v):
        params = [v(f"{letter}_{part}") for part in ("ih", "hh", "b", "b")]
        hx = (v("state"), v("state")) if name == "lstm" else v("state")
        return getattr(F, name)(v("steps"), hx, params)

    return call


#: Calls of all functions that are cast to the narrow dtype; ``v(name)`` gives an input.
PRODUCTS = {
    "linear": lambda v: F.linear(v("rows"), v("weight"), v("bias")),
    "matmul": lambda v: F.matmul(v("rows"), v("square")),
    "mm": lambda v: F.mm(v("rows"), v("square")),
    "bmm": lambda v: F.bmm(v("batch"), v("batch")),
    "addmm": lambda v: F.addmm(v("rows"), v("rows"), v("square")),
    "baddbmm": lambda v: F.baddbmm(v("batch"), v("batch"), v("batch")),
    "conv1d": lambda v: F.conv1d(v("line"), v("kernel1"), v("bias")),
    "conv2d": lambda v: F.conv2d(v("image"), v("kernel2"), v("bias")),
    "conv3d": lambda v: F.conv3d(v("volume"), v("kernel3"), v("bias")),
    "conv_transpose1d": lambda v: F.conv_transpose1d(v("line"), v("turned1"), v("bias")),
    "conv_transpose2d": lambda v: F.conv_transpose2d(v("image"), v("turned2"), v("bias")),
    "conv_transpose3d": lambda v: F.conv_transpose3d(v("volume"), v("turned3"), v("bias")),
    "scaled_dot_product_attention": lambda v: F.scaled_dot_product_attention(
        v("heads"), v("heads"), v("heads")
    ),
    "prelu": lambda v: F.prelu(v("image"), v("four")),
    "lstm": _rnn("lstm", "l"),
    "gru": _rnn("gru", "g"),
    "rnn_tanh": _rnn("rnn_tanh", "r"),
    "rnn_relu": _rnn("rnn_relu", "r"),
}
if hasattr(F, "einsum"):
    PRODUCTS["einsum"] = lambda v: F.einsum("ij,kj->ik", v("rows"), v("weight"))


def _each(names, *more):
    """Calls of functions with the input "rows" and what ``more`` makes of the inputs."""

    def call(name):
        return lambda v: getattr(F, name)(v("rows"), *(make(v) for make in more))

    return {name: call(name) for name in names.split()}


def _labels(v):
    return dpnp.asarray([0, 3, 1, 7], sycl_queue=v("rows").sycl_queue)


#: Calls of all functions that are cast to float32.
SUMS = {
    **_each("exp logsigmoid mean norm normalize prod reciprocal softplus std sum var"),
    **_each("log_softmax logsumexp softmax softmin", lambda v: 1),
    **_each("quantile nanquantile", lambda v: 0.3),
    **_each("huber_loss kl_div l1_loss mse_loss smooth_l1_loss", lambda v: v("rows")),
    **_each("hinge_embedding_loss multilabel_soft_margin_loss poisson_nll_loss soft_margin_loss",
            lambda v: v("rows")),
    **_each("margin_ranking_loss triplet_margin_loss",
            lambda v: v("rows"), lambda v: v("rows")),
    "gaussian_nll_loss": lambda v: F.gaussian_nll_loss(v("rows"), v("rows"), 2.0),
    "cosine_embedding_loss": lambda v: F.cosine_embedding_loss(
        v("rows"), v("rows"), F.ones_like(_labels(v))
    ),
    "multilabel_margin_loss": lambda v: F.multilabel_margin_loss(
        v("rows"), F.zeros_like(v("rows"), dtype="int64")
    ),
    **_each("multi_margin_loss", _labels),
    **_each("binary_cross_entropy_with_logits", lambda v: v("rows")),
    **_each("cross_entropy nll_loss", _labels),
    "log": lambda v: F.log(F.square(v("rows"))),
    "pow": lambda v: F.pow(v("rows"), 2.0),
    "binary_cross_entropy": lambda v: F.binary_cross_entropy(
        F.sigmoid(v("rows")), F.sigmoid(v("rows"))
    ),
    "layer_norm": lambda v: F.layer_norm(v("rows"), (8,), v("eight"), v("eight")),
    "rms_norm": lambda v: F.rms_norm(v("rows"), (8,), v("eight")),
    "group_norm": lambda v: F.group_norm(v("image"), 2, v("four"), v("four")),
    "local_response_norm": lambda v: F.local_response_norm(v("image"), 3),
}  # fmt: skip

#: Calls that keep the dtype of their input.
KEPT = {
    **_each("abs amax elu gelu glu neg relu sigmoid silu sqrt square tanh"),
    "batch_norm": lambda v: F.batch_norm(v("image"), None, None, training=True),
    "instance_norm": lambda v: F.instance_norm(v("image")),
    "avg_pool2d": lambda v: F.avg_pool2d(v("image"), 2),
    "max_pool2d": lambda v: F.max_pool2d(v("image"), 2),
    "interpolate": lambda v: F.interpolate(v("image"), scale_factor=2),
    "reshape": lambda v: F.reshape(v("rows"), (8, 4)),
}  # fmt: skip


class Values:
    """Inputs by name, equal for equal names: on the device, or as torch's."""

    def __init__(self, queue, dtype="float32"):
        self._queue, self._dtype, self._made = queue, dtype, {}

    def __call__(self, name):
        if name not in self._made:
            self._made[name] = sycl_dnn.asarray(numbers(name), self._dtype, sycl_queue=self._queue)
        return self._made[name]


def numbers(name):
    rng = np.random.default_rng(sorted(SHAPES).index(name))
    return rng.standard_normal(SHAPES[name]).astype("f4")


def leaves(value):
    if isinstance(value, (tuple, list)):
        return [leaf for item in value for leaf in leaves(item)]
    return [value]


def host(value):
    return np.asarray(value.asnumpy(), "f8")


def names(value):
    return {str(leaf.dtype) for leaf in leaves(value)}


@pytest.fixture(autouse=True)
def _has_bfloat16(queue):
    if not multiplies(place_of(queue)[0].engine, "bfloat16"):
        isa = dnnl.get_effective_cpu_isa().name
        assert not (queue.sycl_device.is_cpu and isa.startswith("avx512")), isa
        pytest.skip(f"oneDNN multiplies no bfloat16 on {queue.sycl_device.name} ({isa})")


def test_every_listed_function_is_tested():
    known = {n for n in F.__all__ if getattr(F, n, None) is not None} | set(F.fft.__all__)
    listed = NARROW | WIDE | WIDEST
    assert len(listed) == len(NARROW) + len(WIDE) + len(WIDEST)
    assert listed - known <= {"einsum"}
    for name in listed & known:
        assert (getattr(F.fft, name, None) or getattr(F, name)).operation.name == name
    assert set(PRODUCTS) == NARROW & known
    assert set(SUMS) == WIDE - set(F.fft.__all__)


def test_the_docstring_lists_what_is_cast():
    text = " ".join(sycl_dnn.autocast.__doc__.split())
    losses = {n for n in WIDE if n.endswith("_loss") or "entropy" in n or n == "kl_div"}
    ranges = {"conv2d", "conv_transpose2d", *F.fft.__all__}
    assert not [n for n in (NARROW | WIDE | WIDEST) - losses - ranges if f"{n}," not in text
                and f"{n}." not in text and f"{n} to" not in text]  # fmt: skip


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_return_bfloat16_and_equal_a_manual_cast(name, queue):
    wide = PRODUCTS[name](Values(queue))
    with sycl_dnn.autocast("bfloat16"):
        actual = PRODUCTS[name](Values(queue))
    assert names(wide) == {"float32"}
    assert names(actual) == {"bfloat16"}
    manual = PRODUCTS[name](Values(queue, "bfloat16"))
    for g, m, w in zip(leaves(actual), leaves(manual), leaves(wide), strict=True):
        g, m, w = host(g), host(m), host(w)
        # The bias stays float32; the steps are otherwise the same.
        np.testing.assert_allclose(g, m, rtol=2**-6, atol=2**-6 * np.abs(w).max())
        error = np.abs(g - w).max() / np.abs(w).max()
        assert 1e-5 < error < 0.05, "bfloat16 rounds, and only that"


@pytest.mark.filterwarnings("ignore:kl_div. reduction='mean'")
@pytest.mark.parametrize("name", SUMS)
@pytest.mark.sweep(4)
def test_sums_norms_and_losses_return_float32(name, queue):
    with sycl_dnn.autocast("bfloat16"):
        actual = SUMS[name](Values(queue, "bfloat16"))
    assert names(actual) == {"float32"}

    def rounded(key):
        return Values(queue, "bfloat16")(key).astype("float32")

    wide = SUMS[name](rounded)
    if name not in ("log", "binary_cross_entropy"):  # their operands are rounded on the way
        np.testing.assert_allclose(host(actual), host(wide), rtol=1e-5, atol=1e-6)
    assert names(SUMS[name](Values(queue))) == {"float32"}


@pytest.mark.parametrize("name", KEPT)
@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
@pytest.mark.sweep(2)
def test_other_functions_keep_the_dtype_of_their_input(name, dtype, queue):
    with sycl_dnn.autocast("bfloat16"):
        assert names(KEPT[name](Values(queue, dtype))) == {dtype}


def test_mixed_operands_promote_to_the_widest(queue):
    h, x = Values(queue, "bfloat16")("rows"), Values(queue)("rows")
    mask = dpnp.ones((4, 8), dtype="?", sycl_queue=queue)
    with sycl_dnn.autocast("bfloat16"):
        mixed = [h + x, F.mul(x, h), F.maximum(h, x), F.where(mask, h, x), F.cat([h, x]),
                 F.stack([h, x]), F.bilinear(h, x, Values(queue)("pairs"))]  # fmt: skip
    assert [names(m) for m in mixed] == [{"float32"}] * len(mixed)


#: Calls of torch: function, inputs.
OF_TORCH = {
    "linear": ("nn.functional.linear", "rows weight bias"), "matmul": ("matmul", "rows square"),
    "bmm": ("bmm", "batch batch"), "addmm": ("addmm", "rows rows square"),
    "baddbmm": ("baddbmm", "batch batch batch"),
    "conv1d": ("nn.functional.conv1d", "line kernel1 bias"),
    "conv2d": ("nn.functional.conv2d", "image kernel2 bias"),
    "conv3d": ("nn.functional.conv3d", "volume kernel3 bias"),
    "conv_transpose2d": ("nn.functional.conv_transpose2d", "image turned2 bias"),
    "scaled_dot_product_attention": (
        "nn.functional.scaled_dot_product_attention", "heads heads heads"),
    "prelu": ("nn.functional.prelu", "image four"),
    "mse_loss": ("nn.functional.mse_loss", "rows rows"), "prod": ("prod", "rows"),
    "exp": ("exp", "rows"), "softmax": ("softmax", "rows"), "relu": ("relu", "rows"),
}  # fmt: skip
STORED = Path(__file__).with_name("autocast_answers.json")


def by_torch():
    """Return dtypes, and parts of values and gradients, under torch's autocast."""
    import torch

    twin, match = torch.nn.functional, {}
    for name, (function, keys) in OF_TORCH.items():
        args = [torch.tensor(numbers(k)) for k in keys.split()]
        with torch.autocast("cpu", torch.bfloat16):
            result = attrgetter(function)(torch)(*args, *([1] if name == "softmax" else []))
        match[name] = [str(result.dtype).removeprefix("torch."), _stored_parts(result)]
    keys = ("square", "eight", "eight", "weight", "rows")
    w1, b1, gain, w2, x = provided = [torch.tensor(numbers(k), requires_grad=True) for k in keys]
    with torch.autocast("cpu", torch.bfloat16):
        hidden = twin.gelu(twin.linear(x, w1, b1))
        result = twin.linear(twin.layer_norm(x + hidden, (8,), gain), w2)
        torch.mean(torch.square(result)).float().backward()
    match["gradients"] = [
        [str(t.grad.dtype).removeprefix("torch."), _stored_parts(t.grad)] for t in provided
    ]
    return match


def _stored_parts(tensor):
    return [float(f"{v:.6g}") for v in answers.parts_of(tensor.detach().double().numpy())]


def write():
    """Store torch's answers."""
    STORED.write_text(json.dumps(by_torch()) + "\n")


def near(actual, expected, limit, name):
    dtype, parts = expected
    assert names(actual) == {dtype}, name
    atol = limit * max(np.abs(parts).max(), np.abs(host(actual)).max())
    np.testing.assert_allclose(answers.parts_of(host(actual)), parts, 0, atol, err_msg=name)


@pytest.mark.parametrize("name", OF_TORCH)
def test_dtypes_and_values_are_torchs(name, queue):
    with sycl_dnn.autocast("bfloat16"):
        actual = {**PRODUCTS, **SUMS, **KEPT}[name](Values(queue))
    near(actual, json.loads(STORED.read_text())[name], 0.02, name)


def test_stored_answers_are_torchs():
    pytest.importorskip("torch")
    stored, found = json.loads(STORED.read_text()), by_torch()
    pairs = [(stored[n], found[n]) for n in OF_TORCH]
    pairs += zip(stored["gradients"], found["gradients"], strict=True)
    for (dtype, parts), (of_torch, now) in pairs:
        assert dtype == of_torch
        np.testing.assert_allclose(parts, now, rtol=0.02, atol=0.02 * np.abs(parts).max())


def _network(parameters, x):
    w1, b1, gain, w2 = parameters
    hidden = F.gelu(F.linear(x, w1, b1))
    return F.mean(F.square(F.linear(F.layer_norm(x + hidden, (8,), gain), w2)))


def _parameters(queue):
    v = Values(queue)
    return [v("square"), v("eight"), v("eight"), v("weight")]


def _gradients(queue, transform="eager", dtype="bfloat16"):
    parameters, x = _parameters(queue), Values(queue)("rows")

    def step(parameters, x):
        y, pullback = sycl_dnn.vjp(_network, parameters, x)
        return y, *pullback(dpnp.ones((), dtype="f4", sycl_queue=queue))

    with sycl_dnn.autocast(dtype):
        if transform == "compile":
            step = sycl_dnn.compile(step)
        y, grads, dx = step(parameters, x)
    return [y, *grads, dx]


@pytest.mark.parametrize("transform", ["eager", "compile"])
def test_gradients_arrive_in_float32(transform, queue):
    exact = _gradients(queue, transform, None)
    actual = _gradients(queue, transform)
    assert [str(g.dtype) for g in actual] == ["float32"] * 6
    for g, e in zip(actual, exact, strict=True):
        error = np.abs(host(g) - host(e)).max() / np.abs(host(e)).max()
        assert 1e-6 < error < 0.05


def test_gradients_are_torchs(queue):
    expected = json.loads(STORED.read_text())["gradients"]
    for n, (actual, answer) in enumerate(zip(_gradients(queue)[1:], expected, strict=True)):
        near(actual, answer, 0.05, f"gradient {n}")


def test_a_pullback_called_outside_of_the_region_computes_the_same(queue):
    x, w = Values(queue)("rows"), Values(queue)("weight")
    with sycl_dnn.autocast("bfloat16"):
        y, pullback = sycl_dnn.vjp(F.linear, x, w)
        inside = pullback(y)
    outside = pullback(y)
    assert str(y.dtype) == "bfloat16"
    for a, b in zip(inside, outside, strict=True):
        assert str(a.dtype) == "float32"
        np.testing.assert_array_equal(host(a), host(b))


def test_a_plan_keeps_its_region_when_rebound(queue):
    v = Values(queue)
    with sycl_dnn.autocast("bfloat16"):
        bound = sycl_dnn.plan(F.linear, v("rows"), v("weight"))
    bound.rebind(input=dpnp.copy(v("rows")))
    assert names(bound()) == {"bfloat16"}


def test_a_region_inside_a_traced_function(queue):
    def function(x, w):
        with sycl_dnn.autocast("bfloat16"):
            narrow = F.linear(x, w)
            with sycl_dnn.autocast(None):
                wide = F.linear(x, w)
        return narrow, wide, F.linear(x, w)

    v = Values(queue)
    for call in (function, sycl_dnn.compile(function)):
        matches = [str(a.dtype) for a in call(v("rows"), v("weight"))]
        assert matches == ["bfloat16", "float32", "float32"]
    matches, _ = sycl_dnn.vjp(function, v("rows"), v("weight"))
    assert [str(a.dtype) for a in matches] == ["bfloat16", "float32", "float32"]


def test_regions_nest_and_end(queue):
    v = Values(queue)

    def dtype():
        return str(F.linear(v("rows"), v("weight")).dtype)

    with sycl_dnn.autocast():
        assert dtype() == "bfloat16"
        for off in ({"dtype": None}, {"dtype": "float32"}, {"enabled": False}):
            with sycl_dnn.autocast(**off):
                assert dtype() == "float32"
        assert dtype() == "bfloat16"
        with pytest.raises(ZeroDivisionError), sycl_dnn.autocast(None):
            raise ZeroDivisionError
        assert dtype() == "bfloat16"
    assert dtype() == "float32"


def test_regions_are_thread_local(queue):
    v, matches = Values(queue), []
    with sycl_dnn.autocast():
        work = threading.Thread(
            target=lambda: matches.append(str(F.linear(v("rows"), v("weight")).dtype))
        )
        work.start()
        work.join()
    assert matches == ["float32"]


def test_functions_that_are_not_cast(queue):
    v = Values(queue)
    weight = F.quantize_dynamic(v("weight"), "int8", 0)
    out = dpnp.empty((4, 6), dtype="f4", sycl_queue=queue)
    whole = dpnp.ones((4, 8), dtype="i4", sycl_queue=queue)
    with sycl_dnn.autocast("bfloat16"):
        assert names(F.linear(v("rows"), weight)) == {"float32"}
        assert F.linear(v("rows"), v("weight"), out=out) is out
        assert str(F.matmul(whole, whole.T).dtype) == "int32"
        assert str(F.sum(whole).dtype) == "int64"
        half = F.linear(v("rows").astype("f2"), v("weight"))
    assert names(half) == {"bfloat16"}
    np.testing.assert_array_equal(host(out), host(F.linear(v("rows"), v("weight"))))


def _parts(function, *args):
    with sycl_dnn.autocast("bfloat16"):
        return sycl_dnn.compile(function).explain(*args).parts


def test_products_run_as_primitives_of_bfloat16(queue):
    v = Values(queue)
    x = dpnp.asarray(np.ones((2, 32, 14, 14), "f4"), sycl_queue=queue)
    w = dpnp.asarray(np.ones((32, 32, 3, 3), "f4"), sycl_queue=queue)
    parts = _parts(lambda a, b, x, w: (F.linear(a, b), F.conv2d(x, w)),
                   v("rows"), v("weight"), x, w)  # fmt: skip
    products = [p for p in parts if p.row in ("matmul", "convolution_forward")]
    assert [p.dtype for p in products] == ["bfloat16"] * 2
    if queue.sycl_device.is_cpu:  # a GPU that the CPU executes has only kernels of OpenCL C
        assert not [p.implementation for p in products if "ref" in p.implementation]


def test_a_weight_is_cast_once_in_a_trace(queue):
    def repeated(x, w):
        for _ in range(5):
            x = F.tanh(F.linear(x, w))
        return x

    v = Values(queue)
    parts = _parts(repeated, v("rows"), v("square"))
    rows = [row for p in parts for row in ([p.row] if p.row == "matmul" else p.fused or [p.row])]
    assert rows == ["reorder"] * 2 + ["matmul"] * 5  # of the input and of the weight


@pytest.mark.parametrize(
    ("dtype", "words"),
    [("tf32", "set_fpmath_mode"), ("int8", "autocast: dtype"), ("float64", "autocast: dtype")],
)
def test_other_dtypes_are_refused_by_name(dtype, words):
    with pytest.raises(ValueError, match=words), sycl_dnn.autocast(dtype):
        pass


def test_float16_is_refused_or_warned_about_if_unsupported(queue):
    v = Values(queue)
    has_it = multiplies(place_of(queue)[0].engine, "float16")
    with sycl_dnn.autocast("float16"):
        if has_it:
            assert str(F.linear(v("rows"), v("weight")).dtype) == "float16"
            return
        from sycl_dnn.trace import policy

        policy._warned.clear()
        with pytest.warns(sycl_dnn.FallbackWarning, match="no arithmetic of float16"):
            actual = F.matmul(v("rows"), v("square"))
        assert str(actual.dtype) == "float32"
        with (
            sycl_dnn.fallback("error"),
            pytest.raises(sycl_dnn.Unimplemented, match=r"autocast.*float16.*addmm"),
        ):
            F.addmm(v("rows"), v("rows"), v("square"))
