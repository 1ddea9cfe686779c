# SPDX-License-Identifier: Apache-2.0
"""``repr`` of containers: equal neighbors share an entry in lists, as in torch."""

import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn


def listed(library):
    """Containers of equal and of different modules, some of several lines."""
    linear, block = library.Linear, lambda: library.Sequential(library.Linear(2, 2), library.ReLU())
    lists = [
        [], [linear(2, 2)], [linear(2, 2) for _ in range(3)],
        [linear(2, 2), linear(2, 2), linear(2, 3), linear(2, 2)],
        [library.ReLU(), block(), block(), library.ReLU()],
        [library.ModuleList([block(), block()]), library.ModuleList([block(), block()])],
    ]  # fmt: skip
    results = [library.ModuleList(modules) for modules in lists]
    return [
        *results,
        library.Sequential(linear(2, 2), linear(2, 2)),
        library.Sequential(*results[4:]),
    ]


def test_equal_neighbors_share_an_entry():
    text = repr(nn.ModuleList([nn.ReLU(), nn.ReLU(), nn.Tanh(), nn.ReLU()]))
    assert text == "ModuleList(\n  (0-1): 2 x ReLU()\n  (2): Tanh()\n  (3): ReLU()\n)"


def test_repr_matches_torch():
    torch = pytest.importorskip("torch")
    assert list(map(repr, listed(nn))) == list(map(repr, listed(torch.nn)))


class _Scaled(nn.Module):
    """Parameters in containers of containers."""

    def __init__(self):
        super().__init__()
        pair = nn.ParameterList([F.full((3,), 2.0), nn.Parameter(F.ones(3))])
        self.pairs = nn.ParameterList([pair, F.full((3,), 5.0)])
        self.named = nn.ParameterDict({"a": F.ones(3), "b": nn.ParameterList([F.ones(3)])})

    def forward(self, x):
        (scale, offset), last = self.pairs
        return ((x * scale + offset) * last * self.named["a"] + self.named["b"][0]).sum()


def test_containers_of_parameters_hold_others():
    net = _Scaled()
    names = ["pairs.1", "pairs.0.0", "pairs.0.1", "named.a", "named.b.0"]  # torch's order
    assert list(net.state_dict()) == names
    assert len(net.pairs) == 2
    assert list(net.named.keys()) == ["a", "b"]
    value, grads = sycl_dnn.value_and_grad(lambda net: net(F.ones(3)))(net)
    assert float(value) == 48
    slopes = [float(grad[0]) for grad in grads.state_dict().values()]
    assert slopes == [3, 5, 5, 15, 1]
