# SPDX-License-Identifier: Apache-2.0
"""Each fusion: correct values, one step where there were several, no reference kernel."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import dpnp
import numpy as np
import pytest
from arithmetic import is_older_than_avx2
from comparing import assert_same, compiled_as_eager, slow_parts

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn.compiler.passes import fusing
from sycl_dnn.onednn import shared_descriptors

C = (2, 32, 6, 6)


@dataclass(frozen=True)
class Fusion:
    """A function of one input and constants, and its number of steps, not counting copies."""

    name: str
    function: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]
    n_steps: int = 1

    def __str__(self) -> str:
        return self.name


ACTIVATIONS = {
    "relu": F.relu, "leaky_relu": F.leaky_relu, "elu": F.elu, "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"), "silu": F.silu, "mish": F.mish,
    "sigmoid": F.sigmoid, "tanh": F.tanh, "hardswish": F.hardswish, "hardsigmoid": F.hardsigmoid,
    "relu6": F.relu6, "hardtanh": F.hardtanh, "abs": F.abs, "square": F.square, "exp": F.exp,
    "selu": F.selu, "affine": lambda x: 2.0 * x - 1.0,
}  # fmt: skip
K3, K1, DW, TURNED = (32, 32, 3, 3), (32, 32, 1, 1), (32, 1, 3, 3), (32, 32, 2, 2)
V = (32,)
L, W = (5, 7, 32), (48, 32)


def _conv_norm(x, w, b, *stats):
    return F.relu(F.batch_norm(F.conv2d(x, w, b, padding=1), *stats))


FUSIONS = [
    *[Fusion(f"conv-{n}", lambda x, w, b, f=f: f(F.conv2d(x, w, b, padding=1)), (C, K3, V))
      for n, f in ACTIVATIONS.items()],
    *[Fusion(f"linear-{n}", lambda x, w, b, f=f: f(F.linear(x, w, b)), (L, W, (48,)))
      for n, f in ACTIVATIONS.items()],
    Fusion("depthwise-hardswish",
           lambda x, w: F.hardswish(F.conv2d(x, w, padding=1, groups=32)), (C, DW)),
    Fusion("turned-relu", lambda x, w, b: F.relu(F.conv_transpose2d(x, w, b, stride=2)),
           (C, TURNED, V)),
    Fusion("conv-prelu", lambda x, w, a: F.prelu(F.conv2d(x, w), a), (C, K1, V)),
    Fusion("conv-norm-relu", _conv_norm, (C, K3, V, V, V, V, V)),
    Fusion("grouped-norm-relu",
           lambda x, w, *s: F.relu(F.batch_norm(F.conv2d(x, w, groups=4), *s)),
           (C, (32, 8, 3, 3), V, V, V, V)),
    Fusion("depthwise-norm", lambda x, w, *s: F.batch_norm(F.conv2d(x, w, groups=32), *s),
           (C, DW, V, V, V, V)),
    Fusion("turned-norm",
           lambda x, w, *s: F.batch_norm(F.conv_transpose2d(x, w, stride=2), *s),
           (C, TURNED, V, V, V, V)),
    Fusion("linear-norm", lambda x, w, *s: F.batch_norm(F.linear(x, w), *s),
           ((6, 32), W, (48,), (48,), (48,), (48,))),
    Fusion("conv-scale-shift", lambda x, w, a, b: F.conv2d(x, w) * a + b,
           (C, K1, (1, 32, 1, 1), (32, 1, 1))),
    Fusion("conv-scales-relu", lambda x, w, a, b: F.relu((F.conv2d(x, w) * a + b) * 0.5 * a - 1.0),
           (C, K1, (1, 32, 1, 1), (32, 1, 1))),
    Fusion("conv-scale-then-gate", lambda x, w, a: F.hardswish(F.conv2d(x, w) * a) * a,
           (C, K1, (1, 32, 1, 1))),
    Fusion("conv-add-relu", lambda x, w, b: F.relu(F.conv2d(x, w, b) + x), (C, K1, V)),
    Fusion("conv-add-of-conv", lambda x, w, v: F.relu(F.conv2d(x, w) + F.conv2d(x, v)),
           (C, K1, K1), 2),
    Fusion("add-on-the-left", lambda x, w, v: F.conv2d(x, w) - F.conv2d(x, v), (C, K1, K1), 2),
    Fusion("linear-gelu-linear-add",
           lambda x, w, v: F.linear(F.gelu(F.linear(x, w)), v) + x, (L, W, (32, 48)), 2),
    Fusion("linear-times-full", lambda x, w, y: F.linear(x, w) * y, (L, W, (5, 7, 48))),
    Fusion("matmul-scale-softmax", lambda x, y: F.softmax(F.matmul(x, y) * 0.125, -1),
           ((2, 3, 8, 16), (2, 3, 16, 8)), 2),
    Fusion("softmax-times", lambda x, y: F.softmax(x, -1) * y, (L, L)),
    Fusion("layer-norm-relu", lambda x, w, b: F.relu(F.layer_norm(x, (32,), w, b)), (L, V, V)),
    Fusion("group-norm-silu", lambda x, w, b: F.silu(F.group_norm(x, 4, w, b)), (C, V, V), 2),
    Fusion("pool-relu", lambda x: F.relu(F.max_pool2d(x, 2)), (C,)),
    Fusion("average-add", lambda x, y: F.avg_pool2d(x, 2) + y, (C, (2, 32, 3, 3)), 1),
    Fusion("chain-of-ten", lambda x, y: F.tanh(F.relu(F.abs(x * 2.0 + y) - 1.0) * y) / 3.0,
           (C, C)),
    Fusion("gate-of-two", lambda x, w: (lambda y: y * F.sigmoid(y))(F.conv2d(x, w)), (C, K1), 1),
    Fusion("hard-gate", lambda x, w: (lambda y: y * F.relu6(y + 3.0) / 6.0)(F.conv2d(x, w)),
           (C, K1), 1),
    Fusion("no-dropout", lambda x, w: F.relu(F.dropout(F.linear(x, w), 0.5, training=False)),
           (L, W)),
    Fusion("twice-transposed",
           lambda x, w: F.relu(F.transpose(F.transpose(F.linear(x, w), 0, 1), 0, 1)), (L, W)),
    Fusion("common-part", lambda x, w: F.relu(F.linear(x, w)) * F.relu(F.linear(x, w)), (L, W), 2),
    Fusion("constant-part", lambda x, w, v: F.linear(x, F.matmul(w, v)), (L, W, (32, 32))),
]  # fmt: skip


def _arrays(fusion, make):
    """Return the input and the constants; of four vectors the second is a variance."""
    x, *rest = (make(*shape) for shape in fusion.shapes)
    if "norm" in fusion.name and len(rest) > 4:
        rest[-3] = dpnp.abs(rest[-3]) + 0.5
    # Weights that preserve the magnitude of values.
    return x, [a / 4 if a.ndim in (2, 4) else a for a in rest]


@pytest.mark.parametrize("fusion", FUSIONS, ids=str)
@pytest.mark.parametrize("dtype", [None, "bfloat16"])
@pytest.mark.sweep(6)
def test_fused(fusion, dtype, make, queue):
    x, rest = _arrays(fusion, make)
    function = lambda a: fusion.function(a, *rest)  # noqa: E731
    options = {"dtype": dtype, "tolerance": 2e-5 if dtype is None else 5e-2}
    report = compiled_as_eager(function, x, **options, passes={"run_on_host": False})
    steps = [p for p in report.parts if p.row != "reorder"]
    # Layer normalization has no kernel with post-ops there.
    is_apart = fusion.name == "layer-norm-relu" and is_older_than_avx2(queue)
    assert len(steps) == fusion.n_steps + is_apart, str(report)
    assert not slow_parts(report, queue), str(report)


def test_unfused_steps_are_reported(make):
    x, w = make(*C), make(*K1)
    function = lambda a: (lambda y: (F.relu(y), y))(F.conv2d(a, w))  # noqa: E731
    compiled = sycl_dnn.compile(function, passes={"run_on_host": False})
    assert_same(compiled(x), (F.relu(F.conv2d(x, w)), F.conv2d(x, w)))
    assert compiled.explain(x).n_steps >= 2
    narrow = sycl_dnn.compile(lambda a: F.conv2d(a, w) + make.row)
    make.row = make(1, 1, 1, 6)
    report = narrow.explain(x)
    refused = [text for part in report.parts for text in part.refused]
    assert any("instead of" in text for text in refused), str(report)
    assert "instead of" in str(report)


def test_a_residual_is_added_in_place(make):
    x, w = make(*C), make(*K1)
    compiled = sycl_dnn.compile(lambda a: F.relu(F.conv2d(F.tanh(a), w) + F.tanh(a)) * 2.0)
    assert_same(compiled(x), F.relu(F.conv2d(F.tanh(x), w) + F.tanh(x)) * 2.0)


def test_explicit_rounding_is_kept(make):
    x, w = make(*L), make(*W)

    def rounded(a):
        return F.astype(F.astype(F.linear(a, w), "bfloat16"), "float32") * 3.0

    compiled_as_eager(rounded, x, tolerance=1e-6)


#: Two views of one value, of which one broadcasts to the other.
PAIRS = {
    "point": (lambda v: v[:1, 1:2], lambda v: v), "row": (lambda v: v[1:2], lambda v: v),
    "last row": (lambda v: v, lambda v: v[-1:]), "column": (lambda v: v[:, :1], lambda v: v),
    "halves": (lambda v: v[:2], lambda v: v[2:]), "turned": (lambda v: v, lambda v: v.T),
    "whole": (lambda v: v, lambda v: v),
}  # fmt: skip


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("combine", [F.mul, F.sub, F.maximum], ids=lambda f: f.__name__)
@pytest.mark.sweep(3)
def test_two_views_of_one_value_are_both_read(make, combine, pair):
    """The result of a step fused into its producer is not written, so no other view may read it."""
    (first, second), w = PAIRS[pair], make(4, 4)
    for produce in (lambda x: x - F.tanh(x), lambda x: F.linear(x, w), lambda x: F.relu(x)):

        def function(x, produce=produce):
            value = produce(x)
            return combine(first(value), second(value))

        x = make(4, 4)
        assert_same(sycl_dnn.compile(function)(x), function(x))


@pytest.fixture
def shared(monkeypatch):
    """Descriptors that no other test has made."""
    monkeypatch.setattr(shared_descriptors, "shared", shared_descriptors.Descriptors())
    return shared_descriptors.shared


def test_a_chain_is_fused_with_one_descriptor(make, shared):
    def function(x, w, p):
        y = F.conv2d(x, w, padding=1) * p
        return F.hardswish(y + 1.5) * p

    x, w, p = make(*C), make(*K3), make(1, 32, 1, 1)
    fused = sycl_dnn.compile(function, constants="w", passes={"run_on_host": False})
    asked = []
    result = shared.described_or_none
    shared.described_or_none = lambda *given: asked.append(given[1]) or result(*given)
    report = fused.explain(x, w, p)
    assert asked.count("convolution_forward") == 1
    assert [len(part.fused) for part in report.parts if part.fused] == [4]
    assert_same(fused(x, w, p), function(x, w, p))


def test_the_first_of_a_chain_is_fused_if_all_are_refused(make, shared):
    def function(x, w):
        return F.tanh(F.relu(F.conv2d(x, w, padding=1)))

    result = shared.described_or_none

    def one_at_most(engine, row, params, attr):
        if attr is not None and len(shared_descriptors.post_ops_of(attr)) > 1:
            return None
        return result(engine, row, params, attr)

    shared.described_or_none = one_at_most
    x, w = make(*C), make(*K3)
    fused = sycl_dnn.compile(function, constants="w", passes={"run_on_host": False})
    (convolution,) = (p for p in fused.explain(x, w).parts if p.fused)
    assert convolution.fused == ("relu",)
    assert any("no implementation" in reason for reason in convolution.refused)
    assert_same(fused(x, w), function(x, w))


@pytest.mark.parametrize("is_refused", [False, True])
def test_folded_and_following_steps_share_a_descriptor(make, shared, is_refused):
    w, a, b = make(*K3), make(1, 32, 1, 1), make(32, 1, 1)

    def function(x):
        return F.tanh(F.relu((F.conv2d(x, w, padding=1) * a + b) * a))

    asked = []
    result = shared.described_or_none

    def fewer(engine, row, params, attr):
        n_post_ops = 0 if attr is None else len(shared_descriptors.post_ops_of(attr))
        if row == "convolution_forward":
            asked.append(n_post_ops)
        return None if is_refused and n_post_ops else result(engine, row, params, attr)

    shared.described_or_none = fewer
    x, fused = make(*C), sycl_dnn.compile(function, passes={"run_on_host": False})
    (convolution,) = (p for p in fused.explain(x).parts if p.row == "convolution_forward")
    assert [text for text in convolution.fused if "in weights" in text] == [
        "binary_mul (in weights)", "binary_add (in weights)", "binary_mul (in weights)"
    ]  # fmt: skip
    assert convolution.fused[3:] == (() if is_refused else ("relu", "tanh"))
    assert asked[0] == 2
    assert is_refused or len(asked) == 1
    assert_same(fused(x), function(x))


@pytest.mark.parametrize("count", [29, 30, 31, 32, 65])
def test_more_operations_than_a_layer_takes(queue, count):
    rng = np.random.default_rng(count)

    def array(*shape):
        return dpnp.asarray(rng.normal(size=shape).astype("f4"), sycl_queue=queue)

    def function(x, w, parts):
        y = F.linear(x, w)
        for part in parts:
            y = y + part
        return y

    x, w, parts = array(4, 8), array(6, 8), [array(4, 6) for _ in range(count)]
    expected = dpnp.asnumpy(function(x, w, parts))
    for passes in ({}, {"fuse_kernels": False}):
        compiled = sycl_dnn.compile(function, passes=passes)
        np.testing.assert_allclose(
            dpnp.asnumpy(compiled(x, w, parts)), expected, rtol=1e-4, atol=1e-5
        )


def test_the_work_for_a_chain_grows_with_its_length(queue, monkeypatch):
    calls = []
    look = fusing.is_overwritten
    monkeypatch.setattr(fusing, "is_overwritten", lambda *args: calls.append(args) or look(*args))
    x = dpnp.ones((3,), dtype="f4", sycl_queue=queue)
    for n in (60, 120):
        calls.clear()

        def chain(x, n=n):
            for _ in range(n):
                x = (x + x) * 0.5
            return x

        assert sycl_dnn.compile(chain)(x).tolist() == [1, 1, 1]
        assert len(calls) <= 31 * 2 * n
