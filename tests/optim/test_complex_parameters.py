# SPDX-License-Identifier: Apache-2.0
"""Complex parameters are updated as pairs of real numbers, and saved."""

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn, optim

RULES = {
    "SGD": {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.1}, "Adam": {"lr": 0.1},
    "AdamW": {"lr": 0.1}, "Adagrad": {"lr": 0.1}, "RMSprop": {"lr": 0.1}, "Adamax": {"lr": 0.1},
    "RAdam": {"lr": 0.1}, "Adadelta": {"lr": 1.0}, "NAdam": {"lr": 0.1}, "ASGD": {"lr": 0.1},
}  # fmt: skip


class Filter(nn.Module):
    def __init__(self, weight):
        super().__init__()
        self.weight = nn.Parameter(weight)

    def forward(self, x):
        return F.abs(F.fft.fft(x) * self.weight)


def drawn(*shape, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype("c8")


def on(queue, *arrays):
    return [dpnp.asarray(a, sycl_queue=queue) for a in arrays]


@pytest.mark.parametrize("is_compiled", [False, True])
@pytest.mark.parametrize("name", RULES)
@pytest.mark.sweep(2)
def test_updates_are_those_of_the_pairs(name, is_compiled, queue):
    opt, values = getattr(optim, name)(**RULES[name]), drawn(3, 4)
    weights, pairs = on(queue, values, np.stack([values.real, values.imag], -1))
    tree, real = {"w": weights}, {"w": pairs}
    state, of_pairs = opt.init(tree), opt.init(real)
    update = sycl_dnn.compile(lambda g, s, p: opt.update(g, s, p)) if is_compiled else opt.update
    for number in range(3):
        g = drawn(3, 4, seed=number + 1)
        tree, state = update({"w": on(queue, g)[0]}, state, tree)
        gradient = on(queue, np.stack([g.real, g.imag], -1))[0]
        real, of_pairs = opt.update({"w": gradient}, of_pairs, real)
    assert str(tree["w"].dtype) == "complex64"
    expected = dpnp.asnumpy(real["w"])
    np.testing.assert_allclose(
        dpnp.asnumpy(tree["w"]), expected[..., 0] + 1j * expected[..., 1], rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize("name", ["LBFGS", "Muon", "Adafactor", "LAMB"])
def test_rules_of_whole_arrays_refuse_them_by_name(name, queue):
    with pytest.raises(TypeError, match=rf"{name}: w must be .*, got complex64"):
        getattr(optim, name)().init({"w": on(queue, drawn(3, 4))[0]})


def test_modules_train_and_are_saved(tmp_path, queue):
    net, x = Filter(on(queue, drawn(8))[0]), on(queue, drawn(4, 8, seed=1))[0]
    target = F.abs(F.fft.fft(x)) * 2
    opt = optim.Adam(lr=0.05)
    state = opt.init(net)

    @sycl_dnn.compile
    def step(net, state, x, target):
        loss, grads = sycl_dnn.value_and_grad(lambda net: F.mse_loss(net(x), target))(net)
        return loss, *opt.update(grads, state, net)

    losses = []
    for _ in range(60):
        loss, net, state = step(net, state, x, target)
        losses.append(float(loss))
    assert losses[-1] < losses[0] / 20
    path = tmp_path / "net.npz"
    sycl_dnn.save(path, net.state_dict())
    other = Filter(on(queue, np.zeros(8, "c8"))[0])
    other.load_state_dict(sycl_dnn.load(path))
    assert dpnp.asnumpy(other.weight).tolist() == dpnp.asnumpy(net.weight).tolist()
    assert str(net.double().weight.dtype) == "complex64"


def test_updates_match_torch(queue):
    torch = pytest.importorskip("torch")
    for name, options in RULES.items():
        weight = torch.nn.Parameter(torch.tensor(drawn(3, 4)))
        theirs = getattr(torch.optim, name)([weight], **options)
        opt, tree = getattr(optim, name)(**options), {"w": on(queue, drawn(3, 4))[0]}
        state = opt.init(tree)
        for number in range(3):
            g = drawn(3, 4, seed=number + 1)
            weight.grad = torch.tensor(g)
            theirs.step()
            tree, state = opt.update({"w": on(queue, g)[0]}, state, tree)
        np.testing.assert_allclose(
            dpnp.asnumpy(tree["w"]), weight.detach().numpy(), rtol=1e-4, atol=1e-5, err_msg=name
        )
