# SPDX-License-Identifier: Apache-2.0
"""The references of the normalizations and of LRN against their definitions."""

import math

import numpy as np
from reference_calls import call, random

from conformance.references import reference


def norm_params(*flags, **others):
    """Parameters of a normalization without epsilon."""
    return {"prop_kind": "forward_training", "epsilon": 0.0, "flags": flags} | others


def test_normalizations_have_mean_0_and_variance_1():
    """Over their own groups of elements; the statistics are returned."""
    src = 3 + 2 * random(4, 6, 5, 7)
    axes = {"batch": (0, 2, 3), "layer": (3,)}
    for kind, over in axes.items():
        out = reference(f"{kind}_normalization_forward", norm_params(), {"src": src})
        assert np.allclose(out["dst"].mean(axis=over), 0)
        assert np.allclose(out["dst"].var(axis=over), 1)
        assert np.allclose(out["mean"], src.mean(axis=over))
        assert np.allclose(out["variance"], src.var(axis=over))
    params = norm_params(groups=3)
    out = reference("group_normalization_forward", params, {"src": src})
    grouped = out["dst"].reshape(4, 3, -1)
    assert np.allclose(grouped.mean(axis=2), 0)
    assert np.allclose(grouped.var(axis=2), 1)
    assert out["mean"].shape == (4, 3)


def test_normalizations_meet():
    """One group per channel and one sample: batch and group normalization are the same."""
    src, scale = random(1, 5, 4, 3), random(5, seed=1)
    params = norm_params("use_scale", groups=5)
    batch = call("batch_normalization_forward", params, src=src, scale=scale)
    group = call("group_normalization_forward", params, src=src, scale=scale)
    layer = call("layer_normalization_forward", norm_params(), src=src.reshape(5, 12))
    assert np.allclose(batch, group)
    assert np.allclose(batch, layer.reshape(src.shape) * scale.reshape(5, 1, 1))


def test_rms_norm_by_definition():
    """The mean square takes the place of the variance, and there is no mean."""
    src, scale = random(3, 8), random(8, seed=1)
    params = norm_params("rms_norm", "use_scale")
    out = reference("layer_normalization_forward", params, {"src": src, "scale": scale})
    assert np.allclose(out["dst"], scale * src / np.sqrt((src**2).mean(axis=1, keepdims=True)))
    assert "mean" not in out


def test_fused_relu():
    """Is a maximum with 0 after the normalization."""
    src = random(2, 3, 4, 5)
    plain = call("batch_normalization_forward", norm_params(), src=src)
    fused = call("batch_normalization_forward", norm_params("fuse_norm_relu"), src=src)
    assert np.array_equal(fused, np.maximum(plain, 0))


def test_lrn_at_one_point():
    """Three channels of one image, and the 3 by 3 neighbourhood inside one channel."""
    src = random(1, 5, 4, 4)
    params = {"local_size": 3, "alpha": 2.0, "beta": 0.75, "k": 1.5}
    across = call("lrn_forward", params | {"algorithm": "lrn_across_channels"}, src=src)
    total = (src[0, 1:4, 1, 2] ** 2).sum()
    assert math.isclose(across[0, 2, 1, 2], src[0, 2, 1, 2] * (1.5 + 2 / 3 * total) ** -0.75)
    within = call("lrn_forward", params | {"algorithm": "lrn_within_channel"}, src=src)
    total = (src[0, 2, 0:2, 1:4] ** 2).sum()
    assert math.isclose(within[0, 2, 0, 2], src[0, 2, 0, 2] * (1.5 + 2 / 9 * total) ** -0.75)
