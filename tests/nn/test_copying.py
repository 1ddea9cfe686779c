# SPDX-License-Identifier: Apache-2.0
"""Modules, those of ``nn`` and users', can be pickled and deep-copied with their attributes."""

import collections
import copy
import inspect
import pickle

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn

PADDINGS = [n for n in dir(nn) if n.endswith(("Pad1d", "Pad2d", "Pad3d"))]
#: Arguments of the classes that require some.
ARGUMENTS = {
    "AdaptiveLogSoftmaxWithLoss": (8, 10, [4]), "Bilinear": (2, 3, 4), "ChannelShuffle": (2,),
    "Embedding": (5, 3), "EmbeddingBag": (5, 3), "Fold": ((4, 4), 3), "GroupNorm": (2, 4),
    "LayerNorm": (4,), "Linear": (3, 2), "LocalResponseNorm": (3,), "MultiheadAttention": (8, 2),
    "PixelShuffle": (2,), "PixelUnshuffle": (2,), "RMSNorm": (4,), "Sequential": (nn.ReLU(),),
    "Threshold": (0.1, 2.0), "Transformer": (8, 2, 1, 1, 16), "Unflatten": (1, (2, 2)),
    "TransformerEncoderLayer": (8, 2, 16), "TransformerDecoderLayer": (8, 2, 16),
    "TransformerEncoder": (nn.TransformerEncoderLayer(8, 2, 16), 2),
    "TransformerDecoder": (nn.TransformerDecoderLayer(8, 2, 16), 2), "Unfold": (3,),
    "ModuleList": ([nn.Linear(2, 2)],), "ModuleDict": ({"a": nn.Linear(2, 2)},),
    **dict.fromkeys(PADDINGS, (1,)), "ConstantPad1d": (1, 0.0), "ConstantPad2d": (1, 0.0),
    "ConstantPad3d": (1, 0.0),
    **{f"{kind}{n}d": (3, 4, 2) for kind in ("Conv", "ConvTranspose") for n in (1, 2, 3)},
    **{f"{kind}{n}d": (4,) for kind in ("BatchNorm", "InstanceNorm") for n in (1, 2, 3)},
    **{f"{kind}Pool{n}d": (2,) for kind in ("Max", "Avg", "AdaptiveMax", "AdaptiveAvg")
       for n in (1, 2, 3)},
    **{f"MaxUnpool{n}d": (2,) for n in (1, 2, 3)}, **{f"LPPool{n}d": (2, 2) for n in (1, 2, 3)},
    **dict.fromkeys(("RNN", "LSTM", "GRU", "RNNCell", "LSTMCell", "GRUCell"), (4, 3)),
}  # fmt: skip
CLASSES = sorted(
    n
    for n, kind in vars(nn).items()
    if inspect.isclass(kind) and issubclass(kind, nn.Module) and kind is not nn.Module
)
COPIES = [lambda net: pickle.loads(pickle.dumps(net)), copy.deepcopy]


def check_equal(net, other):
    assert type(other).__name__ == type(net).__name__
    assert repr(other) == repr(net)
    assert [m.training for m in other.modules()] == [m.training for m in net.modules()]
    want, found = net.state_dict(), other.state_dict()
    assert list(found) == list(want)
    for name, value in want.items():
        assert found[name] is not value, name
        assert str(found[name].dtype) == str(value.dtype), name
        np.testing.assert_array_equal(
            dpnp.asnumpy(F.astype(found[name], "float32")),
            dpnp.asnumpy(F.astype(value, "float32")),
            name,
        )


@pytest.mark.parametrize("copied", COPIES, ids=["pickle", "deepcopy"])
@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.sweep(2)
def test_each_module_is_copied_with_its_attributes(name, copied):
    arguments = ARGUMENTS.get(name)
    if arguments is None:
        needed = [
            p
            for p in list(inspect.signature(getattr(nn, name).__init__).parameters.values())[1:]
            if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD
        ]
        arguments = tuple(4 for _ in needed)
    net = getattr(nn, name)(*arguments).eval()
    check_equal(net, copied(net))


NORMALIZED = {
    "weight_norm": nn.utils.weight_norm,
    "parametrization": nn.utils.parametrizations.weight_norm,
    "both": lambda net: nn.utils.weight_norm(nn.utils.weight_norm(net), "bias", None),
    "bfloat16": lambda net: nn.utils.weight_norm(net).bfloat16(),
    "frozen": lambda net: nn.utils.weight_norm(net).freeze(),
}


@pytest.mark.parametrize("copied", COPIES, ids=["pickle", "deepcopy"])
@pytest.mark.parametrize("normalized", NORMALIZED.values(), ids=NORMALIZED)
def test_normalized_weights_are_copied(normalized, copied):
    net = nn.Sequential(normalized(nn.Linear(4, 3)), nn.ReLU())
    other, x = copied(net), F.randn(2, 4)
    check_equal(net, other)
    x = F.astype(x, next(net.parameters()).dtype)
    matches = [dpnp.asnumpy(F.astype(n(x), "float32")) for n in (net, other)]
    np.testing.assert_array_equal(*matches)
    names = [[n for n, _ in m.named_parameters(trainable=True)] for m in (net, other)]
    assert names[0] == names[1]
    other.load_state_dict(net.state_dict())


class Kept(nn.Module):
    """Attributes of many kinds, some containing arrays."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.again = self.layer
        self.tied = self.layer.weight
        self.sizes = [1, [2, 3]]
        self.table = {"array": F.ones(2), "number": 3}
        self.ordered = collections.OrderedDict(b=1, a=2)
        self.array = F.arange(3)
        self.bfloat16 = F.ones(2, dtype="bfloat16")
        self.parts = [self.layer]
        self.register_buffer("count", F.zeros(1), persistent=False)

    def forward(self, x):
        return self.layer(x) * self.table["number"] + self.table["array"]


@pytest.mark.parametrize("copied", COPIES, ids=["pickle", "deepcopy"])
def test_attributes_of_all_kinds_are_copied_once(copied):
    net = Kept().eval()
    other = copied(net)
    check_equal(net, other)
    assert other.again is other.layer
    assert other.parts[0] is other.layer
    assert other._parameters["tied"] is other.layer._parameters["weight"]
    assert (other.sizes, other.ordered) == (net.sizes, net.ordered)
    assert other.sizes is not net.sizes
    assert other.table["array"].tolist() == [1, 1]
    assert other.array.tolist() == [0, 1, 2]
    assert "count" not in other.state_dict()
    x = F.randn(3, 2)
    np.testing.assert_array_equal(dpnp.asnumpy(other(x)), dpnp.asnumpy(net(x)))


class Own(nn.Linear):
    """Overrides the state that is pickled."""

    def __getstate__(self):
        return {**super().__getstate__(), "note": "stored"}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self.__dict__["note"] += ", loaded"


def test_overridden_pickle_states_are_used():
    assert pickle.loads(pickle.dumps(nn.Sequential(Own(2, 2))))[0].note == "stored, loaded"


def test_a_copy_of_a_list_of_modules_keeps_shared_parameters():
    layer = nn.Linear(2, 2)
    first, second = copy.deepcopy([nn.Sequential(layer), nn.Sequential(layer)])
    assert first[0] is second[0]
    assert first[0] is not layer


def test_copies_remain_on_their_queue():
    net = nn.Linear(2, 2).to(sycl_dnn.default_queue("cpu"))
    assert copy.deepcopy(net).weight.sycl_queue == net.weight.sycl_queue


def test_values_of_state_dicts_have_torchs_methods():
    net = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    state = net.state_dict()
    assert sum(value.numel() for value in state.values()) == 6 + 2 + 4 * 2 + 1
    assert state["0.weight"] is net[0].weight
    state["0.weight"].copy_(F.ones(2, 3))
    for value in state.values():
        if value.dtype.kind == "f":
            value.mul_(0.5)
    assert (net[0].weight == 0.5).all()
    kept = copy.deepcopy(state)
    state["0.weight"].zero_()
    assert kept["0.weight"].clone().sum().item() == 3.0
    net.load_state_dict(kept)
    assert (net[0].weight == 0.5).all()
