# SPDX-License-Identifier: Apache-2.0
"""``nn.utils.lora``: added and trained parameters; merging does not change results."""

import dpnp
import numpy as np
import pytest
from small_language_models import decoder

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn, optim
from sycl_dnn.nn.utils import lora, merge_lora


def network():
    sycl_dnn.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3))


def test_training_changes_only_the_low_rank_matrices():
    x, t = F.randn(16, 6), F.randn(16, 3)
    plain, net = network(), lora(network(), rank=2, targets=["0", "2"])
    np.testing.assert_allclose(dpnp.asnumpy(net(x)), dpnp.asnumpy(plain(x)), 1e-5, 1e-6)
    opt = optim.AdamW(lr=0.05)
    state = opt.init(net)

    @sycl_dnn.compile(donate=("net", "state"))
    def step(net, state):
        loss, grads = sycl_dnn.value_and_grad(lambda net: F.mse_loss(net(x), t))(net)
        return loss, *opt.update(grads, state, net)

    losses = []
    for _ in range(30):
        loss, net, state = step(net, state)
        losses.append(float(loss))
    assert losses[-1] < 0.7 * losses[0]
    for name in ("0", "2"):
        kept, old = net[int(name)].base_layer, plain[int(name)]
        np.testing.assert_array_equal(dpnp.asnumpy(kept.weight), dpnp.asnumpy(old.weight))
    before = dpnp.asnumpy(net(x))
    merged = merge_lora(net)
    assert list(merged.state_dict()) == list(plain.state_dict())
    np.testing.assert_allclose(dpnp.asnumpy(merged(x)), before, atol=1e-5)


def test_transposed_weights_are_merged_in_their_layout():
    sizes = {"vocab_size": 32, "n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": 8}
    net = decoder({"model_type": "gpt2", **sizes})
    ids = dpnp.asarray([[1, 5, 9]], dtype="i4")
    lora(net, rank=2, targets=["c_attn"])
    for part in net.modules():
        if hasattr(part, "lora_B"):
            part.lora_B = F.mul(F.randn(part.lora_B.shape), 0.1)
    before = dpnp.asnumpy(net(ids))
    np.testing.assert_allclose(dpnp.asnumpy(merge_lora(net)(ids)), before, atol=1e-4)


def randomized(net):
    """Draw the matrices that ``lora`` sets to zero."""
    for part in net.modules():
        if hasattr(part, "lora_B"):
            part.lora_B = F.randn(part.lora_B.shape)
    return net


class Twice(nn.Module):
    """One layer under two names."""

    def __init__(self):
        super().__init__()
        self.first = self.second = nn.Linear(4, 4)

    def forward(self, x):
        return self.second(F.tanh(self.first(x)))


class Product(nn.Module):
    """``x @ weight``, with or without saying so."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(F.randn(4, 4))

    def forward(self, x):
        return F.matmul(x, self.weight)


class Declared(Product):
    is_transposed = True


class Doubled(nn.Linear):
    def forward(self, x):
        return F.mul(super().forward(x), 2.0)


@pytest.mark.parametrize("targets", [["first"], ["second"], ["first", "second"]])
def test_a_shared_layer_stays_shared_and_is_merged_once(targets):
    net, x = randomized(lora(Twice(), rank=2, targets=targets)), F.randn(3, 4)
    before = dpnp.asnumpy(net(x))
    merged = merge_lora(net)
    assert merged.first is merged.second
    assert type(merged.first) is nn.Linear
    np.testing.assert_allclose(dpnp.asnumpy(merged(x)), before, rtol=1e-4, atol=1e-4)


def test_a_layer_adapted_again_merges_into_one_weight():
    net = lora(nn.Sequential(Declared()), rank=1, targets=["0"])
    net, x = randomized(lora(net, rank=2, targets=["base_layer"])), F.randn(3, 4)
    before = dpnp.asnumpy(net(x))
    merged = merge_lora(net)
    assert list(merged.state_dict()) == ["0.weight"]
    np.testing.assert_allclose(dpnp.asnumpy(merged(x)), before, rtol=1e-4, atol=1e-4)


def test_modules_that_read_the_weight_of_an_adapted_layer_see_the_sum():
    net, x = nn.MultiheadAttention(4, 2, batch_first=True), F.randn(2, 3, 4)
    first = dpnp.asnumpy(net(x, x, x)[0])
    randomized(lora(net, rank=2, targets=["out_proj"]))
    before = dpnp.asnumpy(net(x, x, x)[0])
    assert abs(before - first).max() > 1e-3
    np.testing.assert_allclose(dpnp.asnumpy(merge_lora(net)(x, x, x)[0]), before, atol=1e-5)


@pytest.mark.parametrize(
    "layer",
    [lambda: nn.Embedding(4, 4), lambda: nn.EmbeddingBag(4, 4), Product, lambda: Doubled(4, 4),
     lambda: nn.utils.weight_norm(nn.Linear(4, 4))],
)  # fmt: skip
def test_layers_that_would_merge_to_other_results_are_refused(layer):
    with pytest.raises(ValueError, match="lora: 0 must"):
        lora(nn.Sequential(layer()), rank=2, targets=["0"])


@pytest.mark.parametrize(("options", "said"), [
    ({"rank": 0}, "rank must be at least 1, got 0"),
    ({"targets": ["q_proj"]}, "targets must be names of layers"),
    ({"targets": ["1"]}, "1 must have a weight of two axes"),
])  # fmt: skip
def test_invalid_options_are_refused(options, said):
    with pytest.raises(ValueError, match=f"lora: {said}"):
        lora(network(), **options)
