# SPDX-License-Identifier: Apache-2.0
"""Overridden methods of submodules are called by their parents' methods, as in torch."""

import dpnp
import numpy as np
import pytest
from in_threads import in_a_thread

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn


class Recording(nn.Linear):
    """Records which of its methods run."""

    def __init__(self):
        super().__init__(2, 2)
        self.calls = []

    def train(self, mode=True):
        self.calls.append(("train", mode))
        return super().train(mode)

    def state_dict(self, *args, **kwargs):
        self.calls.append("state_dict")
        return super().state_dict(*args, **kwargs)

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        self.calls.append(("save", prefix))
        super()._save_to_state_dict(destination, prefix, keep_vars)

    def _load_from_state_dict(self, state_dict, prefix, *args):
        self.calls.append(("load", prefix))
        super()._load_from_state_dict(state_dict, prefix, *args)

    def _apply(self, fn, recurse=True):
        self.calls.append("apply to arrays")
        return super()._apply(fn)

    def apply(self, fn):
        self.calls.append("apply")
        return super().apply(fn)

    def extra_repr(self):
        return "recorded"


@pytest.mark.parametrize(
    ("use", "calls"),
    [
        (lambda net: net.eval(), [("train", False)]),
        (lambda net: net.train(), [("train", True)]),
        (lambda net: net.state_dict(), ["state_dict", ("save", "0.1.")]),
        (lambda net: net.load_state_dict(nn.Module.state_dict(net[0]), strict=False),
         ["state_dict", ("save", "1."), ("load", "0.1.")]),
        (lambda net: net.float(), ["apply to arrays"]),
        (lambda net: net.half(), ["apply to arrays"]),
        (lambda net: net.to("cpu"), ["apply to arrays"]),
        (lambda net: net.cpu(), ["apply to arrays"]),
        (lambda net: net.apply(lambda module: None), ["apply"]),
    ],
)  # fmt: skip
def test_methods_of_submodules_are_called(use, calls):
    net = nn.Sequential(nn.Sequential(nn.ReLU(), Recording()))
    use(net)
    assert net[0][1].calls == calls
    assert "(1): Recording(recorded)" in repr(net)


class FrozenNorm(nn.BatchNorm1d):
    def train(self, mode=True):
        return super().train(False)


class AlwaysDropout(nn.Dropout):
    def train(self, mode=True):
        return super().train(True)


def test_overridden_modes_of_submodules_are_respected():
    net = nn.Sequential(FrozenNorm(3), AlwaysDropout(0.5))
    x = F.randn(64, 3) + 5
    net.train()(x)
    np.testing.assert_array_equal(dpnp.asnumpy(net[0].running_mean), 0)
    kept = dpnp.asnumpy(net.eval()(x))
    assert 0.3 < (kept == 0).mean() < 0.7


class Merging(nn.Linear):
    """Adds a low-rank update to its weight in eval mode, as LoRA does."""

    def __init__(self, n):
        super().__init__(n, n)
        self.down, self.up = nn.Parameter(F.randn(1, n)), nn.Parameter(F.randn(n, 1))
        self.merged = False

    def train(self, mode=True):
        super().train(mode)
        if mode == self.merged:
            sign = -1.0 if mode else 1.0
            self.weight.data += sign * (self.up @ self.down)
            self.merged = not mode
        return self

    def forward(self, x):
        result = F.linear(x, self.weight, self.bias)
        return result if self.merged else result + x @ self.down.T @ self.up.T


def test_weights_merged_by_train_give_equal_results():
    net, x = nn.Sequential(Merging(3), nn.ReLU()), F.randn(5, 3)
    before, weight = dpnp.asnumpy(net(x)), dpnp.asnumpy(net[0].weight)
    np.testing.assert_allclose(dpnp.asnumpy(net.eval()(x)), before, rtol=1e-4, atol=1e-5)
    assert np.abs(dpnp.asnumpy(net[0].weight) - weight).max() > 0.01
    net.train()
    np.testing.assert_allclose(dpnp.asnumpy(net[0].weight), weight, rtol=1e-5, atol=1e-6)


class Turning(nn.Module):
    """Computes with arrays whose methods differ between torch and dpnp."""

    def __init__(self, given):
        super().__init__()
        self.given = given
        self.weight = nn.Parameter(F.exp(given).transpose(0, 1))

    def reset_parameters(self):
        self.weight.data.copy_(F.exp(self.given).transpose(0, 1))

    def train(self, mode=True):
        self.weight.data += (F.exp(self.given) @ self.weight).transpose(0, 1)
        return super().train(mode)

    def eval(self):
        self.weight.data.copy_(F.exp(self.given).max(0)[0])
        return self

    def other(self):
        return F.exp(self.given).transpose(0, 1)


def test_weight_initialization_code_runs_as_in_torch():
    provided = F.randn(3, 3)
    exp = np.exp(dpnp.asnumpy(provided))
    for _ in range(3):  # the second call reuses what the first one created
        net = Turning(provided)
        np.testing.assert_allclose(dpnp.asnumpy(net.weight), exp.T, rtol=1e-5)
        net.weight.zero_()
        net.reset_parameters()
        np.testing.assert_allclose(dpnp.asnumpy(net.weight), exp.T, rtol=1e-5)
        nn.Sequential(net).train()
        np.testing.assert_allclose(dpnp.asnumpy(net.weight), exp.T + (exp @ exp.T).T, rtol=1e-4)
        nn.ModuleList([net])[0].eval()
        expected = np.broadcast_to(exp.max(0), (3, 3))
        np.testing.assert_allclose(dpnp.asnumpy(net.weight), expected, rtol=1e-5)
        # In all other methods arrays are dpnp's, and results plain.
        np.testing.assert_allclose(dpnp.asnumpy(net.other()), exp, rtol=1e-5)
        assert type(F.exp(provided)) is dpnp.ndarray


def test_results_in_other_threads_are_plain_arrays():
    provided, kinds = F.randn(3), []
    F.exp(provided)

    class Starting(nn.Module):
        def __init__(self):
            super().__init__()
            kinds.append(in_a_thread(lambda: type(F.exp(provided))))
            kinds.append(type(F.exp(provided)))

    Starting()
    assert kinds[0] is dpnp.ndarray
    assert kinds[1] is not dpnp.ndarray


def test_a_step_with_a_cache_calls_overridden_submodules():
    class Layer(nn.TransformerEncoderLayer):
        def _sa_block(self, x, *masks, is_causal=False):
            return x

    layer = Layer(8, 2, 16, dropout=0.0, batch_first=True)
    with pytest.raises(NotImplementedError, match=r"Layer.step: _sa_block is overridden"):
        layer.step(F.randn(1, 3, 8), layer.new_cache(1, 16))


class Versioned(nn.Module):
    """Loads old names, and has state that is not an array."""

    def __init__(self):
        super().__init__()
        self.weight, self.seen = nn.Parameter(F.zeros(2)), 0

    def get_extra_state(self):
        return {"seen": self.seen}

    def set_extra_state(self, state):
        self.seen = state["seen"]

    def _load_from_state_dict(self, state_dict, prefix, *args):
        if prefix + "old" in state_dict:
            state_dict[prefix + "weight"] = state_dict.pop(prefix + "old")
        super()._load_from_state_dict(state_dict, prefix, *args)


def test_states_other_than_arrays_and_old_names_are_loaded():
    net, other = nn.Sequential(Versioned()), nn.Sequential(Versioned())
    net[0].seen = 3
    state = net.state_dict()
    assert list(state) == ["0.weight", "0._extra_state"]
    state["0.old"] = state.pop("0.weight") + 1
    assert other.load_state_dict(state) == ([], [])
    assert other[0].seen == 3
    assert other[0].weight.tolist() == [1, 1]
    assert "0.old" in state  # the caller's is unchanged
    with pytest.raises(RuntimeError, match=r'Missing key\(s\) in state_dict: "0._extra_state"'):
        other.load_state_dict({"0.weight": F.zeros(2)})


def test_hooks_of_state_dicts_run():
    net, seen = nn.Sequential(nn.Linear(2, 2)), []
    first = net[0]
    handles = [
        first.register_state_dict_pre_hook(lambda m, prefix, keep: seen.append(prefix)),
        first.register_state_dict_post_hook(lambda m, state, prefix, meta: state.pop("0.bias")),
        first.register_load_state_dict_pre_hook(
            lambda m, state, prefix, *rest: state.setdefault(prefix + "bias", F.ones(2))),
        net.register_load_state_dict_post_hook(lambda m, keys: seen.append(keys.missing_keys)),
    ]  # fmt: skip
    state = net.state_dict()
    assert list(state) == ["0.weight"]
    assert net.load_state_dict(state) == ([], [])
    assert seen == ["0.", []]
    assert net[0].bias.tolist() == [1, 1]
    for handle in handles:
        handle.remove()
        handle.remove()
    assert list(net.state_dict()) == ["0.weight", "0.bias"]


class Failing(nn.Linear):
    def _load_from_state_dict(self, *args):
        super()._load_from_state_dict(*args)
        raise ValueError("refused")


def test_nothing_is_loaded_when_a_submodule_refuses():
    net = nn.Sequential(nn.Linear(2, 2), Failing(2, 2))
    before = net[0].weight
    with pytest.raises(ValueError, match="refused"):
        net.load_state_dict({n: v + 1 for n, v in net.state_dict().items()})
    assert net[0].weight is before


def test_state_dict_extends_an_existing_dict():
    found = {"other": 1}
    nn.Linear(2, 2).state_dict(destination=found, prefix="layer.")
    assert list(found) == ["other", "layer.weight", "layer.bias"]


class Computed(nn.Module):
    """Attributes by its own ``__getattr__`` and ``__setattr__``."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(2, 2)
        self.doubled = 3

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self.inner, name)

    def __setattr__(self, name, value):
        super().__setattr__(name, value * 2 if name == "doubled" else value)

    def forward(self, x):
        return F.linear(x, self.weight, self.bias) * self.doubled


def test_attributes_from_custom_getattr_are_tracked_in_forward():
    net, x = Computed(), F.randn(4, 2)
    want = dpnp.asnumpy(net.inner(x)) * 6
    np.testing.assert_allclose(dpnp.asnumpy(net(x)), want, rtol=1e-5)
    grads = sycl_dnn.grad(lambda net: F.sum(net(x)))(net)
    np.testing.assert_allclose(dpnp.asnumpy(grads.inner.bias), [24, 24], rtol=1e-5)


@pytest.mark.parametrize("name", ["cuda", "xpu", "cuda:0", "gpu"])
def test_missing_device_is_refused_by_name(name):
    if sycl_dnn.device.usable_devices("gpu"):
        assert nn.Linear(2, 2).to(name).weight.sycl_device.is_gpu
    else:
        with pytest.raises(sycl_dnn.NoDeviceError, match="gpu"):
            nn.Linear(2, 2).to(name)
