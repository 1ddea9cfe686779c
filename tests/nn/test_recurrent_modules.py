# SPDX-License-Identifier: Apache-2.0
"""Packed sequences in recurrent modules, cells with states, compared with torch."""

import dpnp
import numpy as np
import pytest
from arrays import on_device
from compared_with_torch import torch

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn

pack = nn.utils.rnn.pack_padded_sequence

#: Class, options, whether initial states are given, lengths.
ROWS = [
    ("LSTM", {"bidirectional": True, "num_layers": 2}, True, [3, 6, 1, 3]),
    ("LSTM", {"proj_size": 2}, False, [6, 5, 1]), ("GRU", {"bidirectional": True}, True, [2, 2]),
    ("GRU", {"num_layers": 2, "bias": False}, False, [1, 4, 2]),
    ("RNN", {"nonlinearity": "relu", "bidirectional": True}, True, [5]),
]  # fmt: skip


def close(a, b, tolerance=2e-5):
    a = dpnp.asnumpy(a)
    b = b.detach().numpy()
    assert a.shape == b.shape
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def flat(states):
    return list(states) if isinstance(states, tuple) else [states]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]}-{row[1]}")
@pytest.mark.parametrize("way", ["eager", "compiled"])
def test_packed_sequences_match_torch(row, way):
    name, options, has_states, lengths = row
    rng = np.random.default_rng(0)
    own, other = (getattr(m, name)(4, 3, **options) for m in (nn, torch.nn))
    own.load_state_dict(other.state_dict())
    n, cells = len(lengths), other.num_layers * (2 if other.bidirectional else 1)
    x = rng.standard_normal((max(lengths), n, 4)).astype("f4")
    hx = theirs_hx = None
    if has_states:
        actual = [rng.standard_normal((cells, n, 3)).astype("f4") for _ in range(2)]
        actual = actual if name == "LSTM" else actual[:1]
        hx, theirs_hx = ([f(v) for v in actual] for f in (on_device, torch.tensor))
        hx, theirs_hx = (tuple(v) if name == "LSTM" else v[0] for v in (hx, theirs_hx))
    provided = torch.tensor(x, requires_grad=True)
    of_torch = torch.nn.utils.rnn.pack_padded_sequence(provided, lengths, enforce_sorted=False)
    expected, wanted_states = other(of_torch, theirs_hx)
    (expected.data.sin().sum() + sum(s.cos().sum() for s in flat(wanted_states))).backward()

    def run(net, x):
        actual, states = net(pack(x, lengths, enforce_sorted=False), hx)
        return F.pad_packed_sequence(actual)[0], states

    def loss(net, x):
        actual, states = net(pack(x, lengths, enforce_sorted=False), hx)
        total = F.sum(F.sin(actual.data))
        for state in flat(states):
            total = F.add(total, F.sum(F.cos(state)))
        return total

    change = sycl_dnn.compile if way == "compiled" else (lambda function: function)
    found, states = change(run)(own, on_device(x))
    close(found, torch.nn.utils.rnn.pad_packed_sequence(expected)[0])
    for a, b in zip(flat(states), flat(wanted_states), strict=True):
        close(a, b)
    of_net, of_x = change(sycl_dnn.grad(loss, argnums=(0, 1)))(own, on_device(x))
    close(of_x, provided.grad, 1e-4)
    theirs = dict(other.named_parameters())
    for path, gradient in of_net.named_parameters():
        close(gradient, theirs[path].grad, 1e-4)


def test_a_module_returns_a_packed_sequence():
    net, x = nn.GRU(2, 3), F.randn(4, 2, 2)
    packed = pack(x, [4, 2])
    result, states = net(packed)
    assert isinstance(result, nn.utils.rnn.PackedSequence)
    assert result.batch_sizes == packed.batch_sizes
    assert states.shape == (1, 2, 3)
    with pytest.raises(ValueError, match=r"GRU: data of the sequence must have the shape \(\*, 2"):
        net(pack(F.randn(4, 2, 5), [4, 2]))
    with pytest.raises(ValueError, match=r"GRU: hx must have the shape \(1, 2, 3\), got \(1, 1, 3"):
        net(packed, F.zeros(1, 1, 3))


@pytest.mark.parametrize("name", ["RNNCell", "LSTMCell", "GRUCell"])
@pytest.mark.parametrize("shape", [(2,), ()])
def test_cells_with_states_match_torch(name, shape):
    own, other = (getattr(m, name)(4, 3) for m in (nn, torch.nn))
    own.load_state_dict(other.state_dict())
    rng = np.random.default_rng(1)
    x, h, c = (rng.standard_normal((*shape, size)).astype("f4") for size in (4, 3, 3))
    pair = name == "LSTMCell"
    state, theirs = (
        tuple(f(v) for v in (h, c)) if pair else f(h) for f in (on_device, torch.tensor)
    )
    for _ in range(3):
        state, theirs = own(on_device(x), state), other(torch.tensor(x), theirs)
    for a, b in zip(flat(state), flat(theirs), strict=True):
        close(a, b)
    with pytest.raises(ValueError, match=f"{name}: Expected input to be 1D or 2D, got 3D"):
        own(F.ones(1, 2, 4))
    with pytest.raises(ValueError, match=f"{name}: input_size and hidden_size must be at least 1"):
        getattr(nn, name)(0, 3)


@pytest.mark.parametrize("name", ["LSTM", "GRU", "RNN"])
def test_misplaced_options_are_refused(name):
    with pytest.raises(TypeError, match=f"{name}: bias must be a bool, got 0.5"):
        getattr(nn, name)(4, 3, 2, bias=0.5)
    for sizes in ((0, 3), (4, 0), (4, 3, 0), (4, 2.5), ("4", 3)):
        with pytest.raises(ValueError, match=f"{name}: input_size, hidden_size and num_layers"):
            getattr(nn, name)(*sizes)
