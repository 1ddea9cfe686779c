# SPDX-License-Identifier: Apache-2.0
"""Values of new layers, packed batches, renumbered lists, buffers, gains."""

import dpnp
import numpy as np
import pytest

from sycl_dnn import functional as F
from sycl_dnn import nn

X = np.random.default_rng(0).standard_normal((2, 6, 5)).astype("f4")


#: By axes that the mean is over; all without parameters of their own to begin with.
NORMALIZATIONS = [
    (nn.LayerNorm(5), 2), (nn.LayerNorm((6, 5)), (1, 2)), (nn.BatchNorm1d(6), (0, 2)),
    (nn.GroupNorm(1, 6), (1, 2)), (nn.InstanceNorm1d(6, affine=True), 2),
]  # fmt: skip


def close(actual, expected):
    np.testing.assert_allclose(dpnp.asnumpy(actual), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("layer", "axes"), NORMALIZATIONS, ids=lambda v: type(v).__name__)
def test_a_new_normalization_scales_by_one_and_adds_nothing(layer, axes):
    mean, variance = X.mean(axes, keepdims=True), X.var(axes, keepdims=True)
    close(layer(dpnp.asarray(X)), (X - mean) / np.sqrt(variance + layer.eps))


def test_a_new_rms_norm_scales_by_one():
    close(nn.RMSNorm(5)(dpnp.asarray(X)), X / np.sqrt(np.square(X).mean(2, keepdims=True) + 1.2e-7))


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_a_packed_batch_equals_its_separate_sequences(kind):
    net, x, lengths = kind(5, 3, 2, batch_first=True, bidirectional=True), dpnp.asarray(X), [4, 6]
    packed = F.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    result, states = net(packed)
    result, _ = F.pad_packed_sequence(result, batch_first=True)
    with pytest.raises(ValueError, match=r"lengths must be 2 numbers up to 6, got \[4, 7\]"):
        F.pack_padded_sequence(x, [4, 7], batch_first=True, enforce_sorted=False)
    single = F.pack_padded_sequence(x[:1, :1], [1], batch_first=True)
    close(net(single)[0].data, dpnp.asnumpy(net(x[:1, :1])[0])[0])
    for k, n in enumerate(lengths):
        alone, ends = net(x[k : k + 1, :n])
        close(result[k, :n], dpnp.asnumpy(alone)[0])
        pairs = zip(states, ends, strict=True) if kind is nn.LSTM else [(states, ends)]
        for state, end in pairs:
            close(state[:, k], dpnp.asnumpy(end)[:, 0])


def test_modules_are_renumbered_after_insertions_and_deletions():
    first, second, third, last = (nn.Linear(n, n) for n in range(1, 5))
    net = nn.ModuleList([first, second, third, last])
    del net[1]
    assert list(net) == [first, third, last]
    del net[1:]
    net.insert(0, second)
    assert list(net) == [second, first]
    assert list(net.state_dict()) == ["0.weight", "0.bias", "1.weight", "1.bias"]


def test_a_buffer_is_registered_where_it_is_assigned():
    net = nn.Module()
    net.kept, net.shed = nn.Buffer(F.ones(2)), nn.Buffer(F.zeros(2), persistent=False)
    assert [name for name, _ in net.named_buffers()] == ["kept", "shed"]
    assert list(net.state_dict()) == ["kept"]
    assert [v.shape for v in nn.Sequential(net).buffers()] == [(2,), (2,)]
    assert [n for n, _ in nn.Sequential(net).named_buffers()] == ["0.kept", "0.shed"]


def test_gains_match_the_activations():
    found = {name: nn.init.calculate_gain(name) for name in ("linear", "conv2d", "sigmoid", "relu")}
    assert found == {"linear": 1.0, "conv2d": 1.0, "sigmoid": 1.0, "relu": np.sqrt(2)}
    assert nn.init.calculate_gain("tanh") == 5 / 3
    assert nn.init.calculate_gain("selu") == 3 / 4
    assert nn.init.calculate_gain("leaky_relu", 0.5) == pytest.approx(np.sqrt(2 / 1.25))


def test_layers_without_inputs_return_their_bias():
    """torch's bias is zeros then."""
    layer = nn.Linear(0, 3)
    assert (layer(dpnp.ones((2, 0), dtype="f4")).asnumpy() == np.zeros((2, 3))).all()
    assert nn.Conv2d(0, 2, 3).weight.shape == (2, 0, 3, 3)
    for fill in (nn.init.kaiming_uniform_, nn.init.kaiming_normal_):
        assert fill(dpnp.empty((3, 0), dtype="f4")).shape == (3, 0)
