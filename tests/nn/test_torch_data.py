# SPDX-License-Identifier: Apache-2.0
"""``torch.utils.data``: batches, splits, samplers, and what is refused."""

from collections import namedtuple

import numpy as np
import pytest

import sycl_dnn
from sycl_dnn.nn import torch_data as data
from sycl_dnn.nn import torch_names


class Squares(data.Dataset):
    def __len__(self):
        return 7

    def __getitem__(self, i):
        return {
            "x": np.full(2, i, "f4"),
            "y": i * i,
            "name": f"{i}",
            "z": (torch_names.ones(1), 0.5),
        }


ROWS = data.TensorDataset(torch_names.arange(7), torch_names.arange(7) * 2)


def test_items_of_a_dataset_are_collated():
    batches = list(data.DataLoader(Squares(), batch_size=3, num_workers=4, pin_memory=True))
    assert [b["x"].shape for b in batches] == [(3, 2), (3, 2), (1, 2)]
    assert [b["y"].tolist() for b in batches] == [[0, 1, 4], [9, 16, 25], [36]]
    assert batches[1]["name"] == ["3", "4", "5"]
    assert batches[0]["z"][0].shape == (3, 1)
    assert (batches[0]["y"].dtype, batches[0]["z"][1].dtype) == ("int64", "float64")
    loader = data.DataLoader(Squares(), 3, drop_last=True, collate_fn=len)
    assert (len(loader), list(loader)) == (2, [3, 3])
    pair = namedtuple("Pair", "a b")
    assert data.default_collate([pair(1, "x"), pair(2, "y")]).a.tolist() == [1, 2]
    assert data.default_collate([[1, 2], [3, 4]])[1].tolist() == [2, 4]
    with pytest.raises(TypeError, match="items must be arrays, numbers, strings"):
        data.default_collate([None])


def test_items_without_batches_are_converted():
    pair, words = namedtuple("Pair", "a b"), np.array(["x"])
    item = data.default_convert({"x": np.zeros(2, "i4"), "y": (np.float32(3), "z", pair(1, words))})
    assert (item["x"].dtype, item["x"].tolist(), item["y"][0].item()) == ("int32", [0, 0], 3.0)
    assert (item["y"][1:], type(item["y"])) == (["z", pair(1, words)], list)
    first = next(iter(data.DataLoader(Squares(), batch_size=None)))
    assert (first["x"].shape, first["y"], first["z"][1]) == ((2,), 0, 0.5)
    assert first["x"].mean().item() == 0  # a method of torch's


def test_shuffled_epochs_hold_each_row_once_and_follow_the_seed():
    def epochs():
        sycl_dnn.manual_seed(4)
        loader = data.DataLoader(ROWS, batch_size=2, shuffle=True)
        return [[x.tolist() for x, _ in loader] for _ in range(2)]

    first = epochs()
    assert first == epochs()
    assert first[0] != first[1]
    assert sorted(sum(first[0], [])) == list(range(7))
    assert all((y == 2 * x).all() for x, y in data.DataLoader(ROWS, 2, shuffle=True))


def test_parts_of_datasets():
    generator = torch_names.Generator().manual_seed(1)
    parts = data.random_split(ROWS, [0.5, 0.5], generator)
    assert [len(p) for p in parts] == [4, 3]
    rows = [int(part[i][0]) for part in parts for i in range(len(part))]
    assert sorted(rows) == list(range(7))
    x, y = next(iter(data.DataLoader(parts[0], batch_size=4)))
    assert x.tolist() == rows[:4]
    assert (y == 2 * x).all()
    assert [len(p) for p in data.random_split(Squares(), [5, 2])] == [5, 2]
    joined = Squares() + data.Subset(Squares(), [6, 0])
    assert (len(joined), joined[7]["y"], joined[-1]["y"]) == (9, 36, 0)
    with pytest.raises(ValueError, match=r"lengths must add up to 7, got \[5, 3\]"):
        data.random_split(ROWS, [5, 3])
    with pytest.raises(ValueError, match="must have as many rows"):
        data.TensorDataset(torch_names.ones(2), torch_names.ones(3))


def test_samplers():
    generator = torch_names.Generator().manual_seed(2)
    weights = data.WeightedRandomSampler([0, 1, 0, 3], 100, generator=generator)
    drawn = list(weights)
    assert (set(drawn), len(weights)) == ({1, 3}, 100)
    assert drawn.count(3) > drawn.count(1)
    assert sorted(data.SubsetRandomSampler([4, 2])) == [2, 4]
    assert len(list(data.RandomSampler(ROWS, replacement=True, num_samples=20))) == 20
    assert len(list(data.RandomSampler(ROWS, num_samples=20))) == 20
    loader = data.DataLoader(ROWS, batch_sampler=[[0, 6], [3]])
    assert [x.tolist() for x, _ in loader] == [[0, 6], [3]]
    assert [int(x) for x, _ in data.DataLoader(ROWS, None, sampler=[5, 1])] == [5, 1]
    assert sorted(data.SubsetRandomSampler(torch_names.arange(2))) == [0, 1]


STREAM = data.IterableDataset()


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: data.DataLoader(ROWS, 0), "DataLoader: batch_size must be .* at least 1, got 0"),
        (lambda: data.DataLoader(ROWS, 2.5), "batch_size must be an integer .*, got 2.5"),
        (lambda: data.BatchSampler(ROWS, -1, True), "BatchSampler: batch_size .*, got -1"),
        (lambda: data.ConcatDataset([]), "ConcatDataset: datasets must be at least one, got"),
        (lambda: data.RandomSampler([]), "RandomSampler: num_samples .*, got 0"),
        (lambda: data.DataLoader([], shuffle=True), "RandomSampler: num_samples .*, got 0"),
        (lambda: data.WeightedRandomSampler([1], 0), "WeightedRandomSampler: num_samples"),
        (lambda: data.WeightedRandomSampler([1, -1], 2), "weights must be finite, at least 0"),
        (lambda: data.WeightedRandomSampler([0, 0], 2), "weights must be finite, at least 0"),
        (lambda: data.WeightedRandomSampler([1, np.nan], 2), "weights must be finite"),
        (lambda: data.DataLoader(ROWS, shuffle=True, sampler=[0]), "shuffle must .* with sampler"),
        (lambda: data.DataLoader(STREAM, shuffle=True), "shuffle must .* an IterableDataset"),
        (lambda: data.DataLoader(STREAM, sampler=[0]), "sampler must .* an IterableDataset"),
        (lambda: data.DataLoader(STREAM, batch_sampler=[[0]]), "batch_sampler must .* Iterable"),
        (lambda: data.DataLoader(ROWS, 2, batch_sampler=[[0]]), "batch_size .* batch_sampler"),
        (lambda: data.DataLoader(ROWS, batch_sampler=[[0]], drop_last=True), "drop_last must not"),
        (lambda: data.DataLoader(ROWS, None, drop_last=True), "drop_last .* batch_size=None"),
        (lambda: data.random_split(ROWS, [1.5, -0.5]), "random_split: lengths must be at least 0"),
    ],
)
def test_options_out_of_range_or_of_no_effect_are_refused(call, text):
    with pytest.raises(ValueError, match=text):
        call()


def test_misspelt_options_are_refused():
    with pytest.raises(TypeError, match="shufle"):
        data.DataLoader(ROWS, 2, shufle=True)


def test_generators_repeat_without_a_seed():
    orders = [list(data.RandomSampler(ROWS, generator=data.Generator())) for _ in range(2)]
    assert orders[0] == orders[1]
    assert data.Generator().manual_seed(4).initial_seed() == 4


def test_iterable_datasets():
    class Stream(data.IterableDataset):
        def __iter__(self):
            return iter(range(5))

    assert [b.tolist() for b in data.DataLoader(Stream(), 2)] == [[0, 1], [2, 3], [4]]
    assert len(list(data.DataLoader(Stream(), 2, drop_last=True))) == 2
    assert list(data.DataLoader(Stream(), None)) == [0, 1, 2, 3, 4]


def test_lengths_and_collated_batches_are_torchs():
    theirs = pytest.importorskip("torch").utils.data
    for n, size, drop_last in ((7, 2, False), (7, 2, True), (6, 3, True), (1, 4, True)):
        own, other = (d.DataLoader(range(n), size, drop_last=drop_last) for d in (data, theirs))
        assert len(own) == len(other)
        assert [b.tolist() for b in own] == [b.tolist() for b in other]
    lengths = [0.2, 0.3, 0.5]
    parts = [len(p) for p in data.random_split(range(11), lengths)]
    assert parts == [len(p) for p in theirs.random_split(range(11), lengths)]
