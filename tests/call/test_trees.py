# SPDX-License-Identifier: Apache-2.0
"""Trees: kinds of containers, structures, paths, errors."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict, namedtuple
from typing import Any

import dpnp
import pytest

import sycl_dnn.functional  # noqa: F401 - with its arrays
from sycl_dnn import tree

Point = namedtuple("Point", "x y")


@dataclasses.dataclass(frozen=True)
class Layer:
    weight: Any
    bias: Any = None


class Ring:
    def __init__(self, items: list[Any], size: int) -> None:
        self.items, self.size = items, size


tree.register(Ring, lambda r: (r.items, r.size), lambda size, items: Ring(list(items), size))


@pytest.mark.parametrize(
    "value",
    [
        1,
        (),
        None,
        (1, [2, (3,)]),
        {"b": 1, "a": {"c": [2, None]}},
        Point(1, (2, 3)),
        Layer([1, 2], None),
        OrderedDict([("z", 1), ("a", 2)]),
        defaultdict(list, {"k": [1]}),
        {1: "x", "1": "y"},
    ],
)
def test_a_tree_is_rebuilt_from_its_leaves(value):
    found, structure = tree.flatten(value)
    again = tree.unflatten(structure, found)
    assert again == value
    assert type(again) is type(value)
    assert structure.n_leaves == len(found)


def test_order_of_keys_does_not_matter():
    a, b = {"x": 1, "y": 2}, {"y": 2, "x": 1}
    assert tree.flatten(a) == tree.flatten(b)
    assert hash(tree.flatten(a)[1]) == hash(tree.flatten(b)[1])


def test_a_default_dict_keeps_its_factory():
    value = defaultdict(list, {"k": 1})
    assert tree.map(lambda v: v + 1, value).default_factory is list


@pytest.mark.parametrize("cls", [int, dpnp.ndarray])
def test_numbers_and_arrays_remain_leaves(cls):
    with pytest.raises(ValueError, match=rf"tree\.register: {cls.__name__} is a leaf"):
        tree.register(cls, lambda v: ((), None), lambda _, children: None)


def test_registered_classes_are_containers():
    result = tree.map(lambda v: 2 * v, {"r": Ring([1, 2], 9)})
    assert (result["r"].items, result["r"].size) == ([2, 4], 9)
    with pytest.raises(ValueError, match=r"tree\.register: Ring is a container already"):
        tree.register(Ring, lambda r: ((), None), lambda a, c: Ring([], 0))


def test_map_of_several_trees_names_the_path_where_they_differ():
    assert tree.map(lambda a, b: a + b, {"x": (1, 2)}, {"x": (3, 4)}) == {"x": (4, 6)}
    with pytest.raises(ValueError, match=r'tree\.map: tree 1\["x"\] must be a tuple of 2, got int'):
        tree.map(lambda a, b: a, {"x": (1, 2)}, {"x": 3})
    with pytest.raises(ValueError, match="must have the keys 'x', got 'z'"):
        tree.map(lambda a, b: a, {"x": 1}, {"z": 1})


def test_leaves_know_their_paths():
    value = {"conv1": {"weight": 1}, "points": [Point(2, 3)], "layer": Layer(4)}
    assert tree.paths(value) == [
        ('["conv1"]["weight"]', 1),
        (".".join(['["layer"]', "weight"]), 4),
        ('["points"][0].x', 2),
        ('["points"][0].y', 3),
    ]


def test_is_leaf_stops_the_walk():
    assert tree.leaves([(1, 2), 3], is_leaf=lambda v: isinstance(v, tuple)) == [(1, 2), 3]


def test_wrong_number_of_leaves_is_refused():
    with pytest.raises(ValueError, match=r"tree\.unflatten: leaves must be 2, got 1"):
        tree.unflatten(tree.flatten((1, 2))[1], [1])
