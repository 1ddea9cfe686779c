# SPDX-License-Identifier: Apache-2.0
"""``repr`` of containers: equal neighbors share an entry in lists, as in torch."""

import pytest

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
