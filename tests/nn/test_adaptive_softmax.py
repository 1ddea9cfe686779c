# SPDX-License-Identifier: Apache-2.0
"""``AdaptiveLogSoftmaxWithLoss``: predictions and refusals; masks of attention with more keys."""

import dpnp
import numpy as np
import pytest
from arrays import on_device
from compared_with_torch import torch

from sycl_dnn import functional as F
from sycl_dnn import nn


def pair():
    own, other = (m.AdaptiveLogSoftmaxWithLoss(16, 20, [3, 9], 2.0) for m in (nn, torch.nn))
    assert repr(own) == repr(other)
    expected = {name: tuple(value.shape) for name, value in other.state_dict().items()}
    assert {name: value.shape for name, value in own.state_dict().items()} == expected
    own.load_state_dict(other.state_dict())
    return own, other


def close(a, b):
    np.testing.assert_allclose(dpnp.asnumpy(a), b.detach().numpy(), rtol=1e-5, atol=1e-5)


def test_probabilities_and_predictions_match_torch():
    own, other = pair()
    x = 3 * np.random.default_rng(1).standard_normal((40, 16)).astype("f4")
    close(own.log_prob(on_device(x)), other.log_prob(torch.tensor(x)))
    actual = dpnp.asnumpy(own.predict(on_device(x)))
    expected = other.predict(torch.tensor(x)).numpy()
    np.testing.assert_array_equal(actual, expected)
    assert 0 < (expected < 3).sum() < 40
    total = F.sum(F.exp(own.log_prob(on_device(x))), -1)
    np.testing.assert_allclose(dpnp.asnumpy(total), 1, rtol=1e-5)


def test_classes_out_of_range_give_nan():
    own, _ = pair()
    result = own(F.ones(3, 16), on_device(np.array([-1, 4, 20])))
    assert np.isnan(dpnp.asnumpy(result.output)).tolist() == [True, False, True]


def test_invalid_use_is_refused():
    for cutoffs in ([], [3, 3], [5, 2], [0, 4], [4, 20], [2.5]):
        with pytest.raises(ValueError, match="cutoffs must be different increasing integers"):
            nn.AdaptiveLogSoftmaxWithLoss(16, 20, cutoffs)
    with pytest.raises(ValueError, match="cluster 1 must have features"):
        nn.AdaptiveLogSoftmaxWithLoss(8, 20, [3, 9])
    own, _ = pair()
    with pytest.raises(ValueError, match=r"input must be \(N, 16\) or \(16,\), got shape \(2, 4"):
        own(F.ones(2, 4), F.arange(2))
    with pytest.raises(ValueError, match=r"target must have the shape \(2,\), got \(3,\)"):
        own(F.ones(2, 16), F.arange(3))


@pytest.mark.parametrize("needs_weights", [True, False])
def test_masks_of_attention_grow_with_its_keys(needs_weights):
    options = {"add_bias_kv": True, "add_zero_attn": True, "batch_first": True}
    own, other = (m.MultiheadAttention(8, 2, **options) for m in (nn, torch.nn))
    own.load_state_dict(other.state_dict())
    rng = np.random.default_rng(3)
    x, keys = (rng.standard_normal((2, n, 8)).astype("f4") for n in (5, 4))
    padding = np.array([[False, False, True, True], [False, True, False, False]])
    mask = rng.standard_normal((5, 4)).astype("f4")
    masks = {"key_padding_mask": padding, "attn_mask": mask}
    actual = own(*map(on_device, (x, keys, keys)), need_weights=needs_weights,
                **{n: on_device(m) for n, m in masks.items()})  # fmt: skip
    padding = np.where(padding, -np.inf, 0).astype("f4")  # torch requires masks of one kind
    masks = {"key_padding_mask": torch.tensor(padding), "attn_mask": torch.tensor(mask)}
    expected = other(*map(torch.tensor, (x, keys, keys)), need_weights=needs_weights, **masks)
    close(actual[0], expected[0])
    if needs_weights:
        assert actual[1].shape == (2, 5, 6)
        close(actual[1], expected[1])
    with pytest.raises(ValueError, match="add_bias_kv and add_zero_attn must be False, got True"):
        own.step(F.ones(1, 1, 8), own.new_cache(1, 4))
