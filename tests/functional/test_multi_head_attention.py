# SPDX-License-Identifier: Apache-2.0
"""``multi_head_attention_forward``; tests of ``nn.MultiheadAttention`` compare its options, too."""

import itertools

import dpnp
import numpy as np
import pytest

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


PROJECTIONS = ("in_proj_weight", "in_proj_bias", "out_proj_weight", "out_proj_bias")
X = np.random.default_rng(0).standard_normal((5, 3, 8)).astype("f4")
CAUSAL = np.triu(np.ones((5, 5), bool), 1)


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


@pytest.mark.parametrize("name", ["in_proj_weight", "static_k"])
def test_wrong_arrays_are_refused(name):
    x, w = dpnp.asarray(X), dpnp.zeros((24, 8), dtype="f4")
    w, options = (None, {}) if name == "in_proj_weight" else (w, {name: x})
    with pytest.raises((TypeError, ValueError), match=name):
        F.multi_head_attention_forward(
            x, x, x, 8, 2, w, None, None, None, False, 0.0, x[0], None, **options
        )
