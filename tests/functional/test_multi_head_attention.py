# SPDX-License-Identifier: Apache-2.0
"""``multi_head_attention_forward``; tests of ``nn.MultiheadAttention`` compare its options, too."""

import itertools

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F

SHAPES = {
    "in_proj_weight": (24, 8), "in_proj_bias": (24,), "bias_k": (1, 1, 8), "bias_v": (1, 1, 8),
    "out_proj_weight": (8, 8), "out_proj_bias": (8,),
}  # fmt: skip


def _arrays(names=SHAPES):
    random = np.random.default_rng(1)
    drawn = {name: random.standard_normal(shape).astype("f4") for name, shape in SHAPES.items()}
    return {name: drawn[name] if name in names else None for name in SHAPES}


def _call(function, convert, x, others, names, **options):
    values = {n: None if v is None else convert(v) for n, v in _arrays(names).items()}
    return function(
        *map(convert, (x, *others)) if others else [convert(x)] * 3, 8, 2,
        values["in_proj_weight"], values["in_proj_bias"], values["bias_k"], values["bias_v"],
        options.pop("add_zero_attn", False), 0.0, values["out_proj_weight"],
        values["out_proj_bias"], **{
            n: convert(v) if isinstance(v, np.ndarray) else v for n, v in options.items()
        },
    )  # fmt: skip


def _reference(x, mask):
    """Return output and weights of self-attention with two heads, for x (L, N, 8), in float64."""
    w = {n: v.astype("f8") for n, v in _arrays().items()}
    q, k, v = np.split(x.astype("f8") @ w["in_proj_weight"].T + w["in_proj_bias"], 3, -1)
    q, k, v = (t.reshape(*t.shape[:2], 2, 4).transpose(1, 2, 0, 3) for t in (q, k, v))
    scores = np.where(mask, -np.inf, q @ k.swapaxes(-1, -2) / 2)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    y = (weights @ v).transpose(2, 0, 1, 3).reshape(x.shape)
    return y @ w["out_proj_weight"].T + w["out_proj_bias"], weights


PROJECTIONS = ("in_proj_weight", "in_proj_bias", "out_proj_weight", "out_proj_bias")
X = np.random.default_rng(0).standard_normal((5, 3, 8)).astype("f4")
CAUSAL = np.triu(np.ones((5, 5), bool), 1)


@pytest.mark.parametrize("is_compiled", [False, True])
@pytest.mark.parametrize("need_weights", [False, True])
def test_arrays_as_the_definition(need_weights, is_compiled):
    options = {"attn_mask": dpnp.asarray(CAUSAL), "need_weights": need_weights}
    arrays = {n: dpnp.asarray(v) for n, v in _arrays(PROJECTIONS).items() if v is not None}
    attend = lambda x: F.multi_head_attention_forward(  # noqa: E731
        x, x, x, 8, 2, arrays["in_proj_weight"], arrays["in_proj_bias"], None, None, False, 0.0,
        arrays["out_proj_weight"], arrays["out_proj_bias"], average_attn_weights=False, **options,
    )  # fmt: skip
    y, weights = (sycl_dnn.compile(attend) if is_compiled else attend)(dpnp.asarray(X))
    expected, wanted_weights = _reference(X, CAUSAL)
    np.testing.assert_allclose(y.asnumpy(), expected, rtol=1e-4, atol=1e-5)
    if need_weights:
        np.testing.assert_allclose(weights.asnumpy(), wanted_weights, rtol=1e-5, atol=1e-6)
    else:
        assert weights is None


OPTIONS = [
    {"names": names, "add_zero_attn": zero, "key_padding_mask": padding, "attn_mask": mask}
    for names, zero, padding, mask in itertools.product(
        (PROJECTIONS, ("in_proj_weight", "out_proj_weight"), tuple(SHAPES)), (False, True),
        (None, np.array([[False] * 4 + [True]] * 3)),
        (None, CAUSAL, np.linspace(-1, 1, 25, dtype="f4").reshape(5, 5)),
    )
]  # fmt: skip


@pytest.mark.parametrize("options", OPTIONS, ids=map(str, range(len(OPTIONS))))
def test_options_as_torch(options):
    torch = pytest.importorskip("torch")

    options = dict(options)
    names = options.pop("names")
    function = torch.nn.functional.multi_head_attention_forward
    others = (X * 0.5 + 1, X[::-1].copy()) if options["add_zero_attn"] else ()
    expected = _call(function, torch.tensor, X, others, names, **options)
    results = _call(F.multi_head_attention_forward, dpnp.asarray, X, others, names, **options)
    for ours, theirs in zip(results, expected, strict=True):
        np.testing.assert_allclose(ours.asnumpy(), theirs.numpy(), rtol=1e-4, atol=1e-5)


def test_gradients_are_those_of_the_definition():
    mask = dpnp.asarray(CAUSAL)
    arrays = {n: dpnp.asarray(v) for n, v in _arrays(PROJECTIONS).items() if v is not None}

    def loss(x, w):
        y, weights = F.multi_head_attention_forward(
            x, x, x, 8, 2, w, None, None, None, False, 0.0, arrays["out_proj_weight"], None,
            attn_mask=mask,
        )  # fmt: skip
        return (y * y).sum() + (weights * weights).sum()

    x, w = dpnp.asarray(X), arrays["in_proj_weight"]
    v = F.full(X.shape, 1e-2)
    _, slope = sycl_dnn.jvp(lambda x: loss(x, w), (x,), (v,))
    expected = (float(loss(x + v, w)) - float(loss(x - v, w))) / 2
    assert float(slope) == pytest.approx(expected, rel=2e-2)
    dx, dw = sycl_dnn.grad(loss, (0, 1))(x, w)
    assert float((dx * v).sum()) == pytest.approx(float(slope), rel=1e-3)
    assert dw.shape == w.shape


@pytest.mark.parametrize("name", ["in_proj_weight", "static_k"])
def test_wrong_arrays_are_refused(name):
    x, w = dpnp.asarray(X), dpnp.zeros((24, 8), dtype="f4")
    w, options = (None, {}) if name == "in_proj_weight" else (w, {name: x})
    with pytest.raises((TypeError, ValueError), match=name):
        F.multi_head_attention_forward(
            x, x, x, 8, 2, w, None, None, None, False, 0.0, x[0], None, **options
        )
