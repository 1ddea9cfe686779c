# SPDX-License-Identifier: Apache-2.0
"""``torch.utils.data``: datasets, samplers and a ``DataLoader`` in this process.

Orders are drawn from the generator of ``manual_seed``, or from a ``Generator``; they are not
torch's. Source: ``torch.utils.data``.
"""

from __future__ import annotations

import bisect
import itertools
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from sycl_dnn import _torch_habits
from sycl_dnn import functional as F
from sycl_dnn.functional.activation.dropout import next_seed
from sycl_dnn.nn.torch_docstrings import constructed, described
from sycl_dnn.trace.module_arrays import plain, with_methods

#: Separate modules in torch.
dataloader = dataset = distributed = sampler = sys.modules[__name__]


def __getattr__(name: str) -> Any:
    raise _torch_habits.missing("torch", "torch_names.utils.data", name)


#: What the parameters of datasets and samplers are.
_WORDS = {
    "dataset": "Dataset", "data_source": "Dataset", "indices": "sequence of int",
    "generator": "Generator, optional", "sampler": "iterable of int", "device": "ignored",
    "num_samples": "int\n    The number of items of an epoch.", "weights": "array (N,) or sequence",
    "replacement": "bool\n    Whether an item may be drawn again.",
    "drop_last": "bool\n    Whether to drop an incomplete last batch.", "batch_size": "int",
}  # fmt: skip


@constructed("", **_WORDS)
class Generator:
    """A generator of orders, as ``torch.Generator``."""

    def __init__(self, device: Any = None) -> None:
        self.manual_seed(67280421310721)  # as torch's, so that scripts repeat

    def manual_seed(self, seed: int) -> Generator:
        """Start again from a seed; return the generator."""
        self._seed = seed
        self.numbers = np.random.default_rng(seed)
        return self

    def initial_seed(self) -> int:
        """Return the last seed."""
        return self._seed


def _check_count(owner: str, name: str, value: Any) -> int:
    """Return a count after a check that it is one."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ValueError(f"{owner}: {name} must be an integer of at least 1, got {value!r}")
    return int(value)


def _numbers(generator: Generator | None) -> np.random.Generator:
    return np.random.default_rng(next_seed()) if generator is None else generator.numbers


class Dataset:
    """The base class: ``__getitem__`` by number and ``__len__``."""

    def __class_getitem__(cls, item: Any) -> Any:
        """Return the class: ``Dataset[int]`` is for annotations."""
        return cls

    def __add__(self, other: Any) -> ConcatDataset:
        return ConcatDataset([self, other])


class IterableDataset(Dataset):
    """A dataset that is only iterated over."""


class TensorDataset(Dataset):
    """Rows of arrays.

    Parameters
    ----------
    *tensors : arrays (N, *)

    Raises
    ------
    ValueError
        The arrays differ in their number of rows.
    """

    def __init__(self, *tensors: Any) -> None:
        if len({len(t) for t in tensors}) != 1:
            shapes = [tuple(t.shape) for t in tensors]
            raise ValueError(f"TensorDataset: tensors must have as many rows, got {shapes}")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Any, ...]:
        return tuple(with_methods(t)[index] for t in self.tensors)

    def __len__(self) -> int:
        return len(self.tensors[0])


class ConcatDataset(Dataset):
    """Concatenated datasets.

    Parameters
    ----------
    datasets : iterable of Dataset

    Raises
    ------
    ValueError
        There is none.
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise ValueError("ConcatDataset: datasets must be at least one, got []")
        self.cumulative_sizes = list(itertools.accumulate(map(len, self.datasets)))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> Any:
        index = range(len(self))[index]
        which = bisect.bisect_right(self.cumulative_sizes, index)
        return self.datasets[which][index - ([0, *self.cumulative_sizes])[which]]


@constructed("utils.data.", **_WORDS)
class Subset(Dataset):
    """Some items of a dataset, by number."""

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, (list, np.ndarray)):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __len__(self) -> int:
        return len(self.indices)


@described(
    "list of Subset",
    "A length is negative, or they do not add up to that of the dataset, or the fractions to 1.",
    types="A length is no number.", notes="", module="utils.data.", dataset="Dataset",
    lengths="sequence of int, or of float", generator="Generator, optional",
)  # fmt: skip
def random_split(
    dataset: Any, lengths: Sequence[float], generator: Generator | None = None
) -> list[Subset]:
    """Return random parts of a dataset, of these lengths or these fractions of it."""
    total = len(dataset)
    if any(n < 0 for n in lengths):
        raise ValueError(f"random_split: lengths must be at least 0, got {list(lengths)}")
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        fractions, lengths = lengths, [math.floor(total * part) for part in lengths]
        for i in range(total - int(sum(lengths))):
            lengths[i % len(fractions)] += 1
    if sum(lengths) != total:
        raise ValueError(f"random_split: lengths must add up to {total}, got {list(lengths)}")
    order = _numbers(generator).permutation(total).tolist()
    ends = list(itertools.accumulate(map(int, lengths)))
    parts = zip(ends, lengths, strict=True)
    return [Subset(dataset, order[end - int(n) : end]) for end, n in parts]


class Sampler:
    """The base class: an iterable of numbers of items."""

    def __init__(self, data_source: Any = None) -> None: ...

    __class_getitem__ = Dataset.__class_getitem__


@constructed("utils.data.", **_WORDS)
class SequentialSampler(Sampler):
    """All items in order."""

    def __init__(self, data_source: Any) -> None:
        self.data_source = data_source

    def __len__(self) -> int:
        return len(self.data_source)

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self)))


class _Drawn(Sampler):
    """A sampler of ``num_samples`` items that ``_order`` draws for each epoch."""

    num_samples: int
    generator: Generator | None

    def _order(self, numbers: np.random.Generator) -> np.ndarray:
        raise NotImplementedError

    def __len__(self) -> int:
        return self.num_samples

    def __iter__(self) -> Iterator[int]:
        return iter(self._order(_numbers(self.generator)).tolist())


@constructed("utils.data.", **_WORDS)
class RandomSampler(_Drawn):
    """Items in random order, or drawn with replacement."""

    def __init__(
        self, data_source: Any, replacement: bool = False, num_samples: int | None = None,
        generator: Generator | None = None,
    ) -> None:  # fmt: skip
        self.data_source, self.replacement, self.generator = data_source, replacement, generator
        count = len(data_source) if num_samples is None else num_samples
        self.num_samples = _check_count("RandomSampler", "num_samples", count)

    def _order(self, numbers: np.random.Generator) -> np.ndarray:
        total = len(self.data_source)
        if self.replacement:
            return numbers.integers(0, total, self.num_samples)
        orders = [numbers.permutation(total) for _ in range(-(-self.num_samples // total))]
        return np.concatenate(orders)[: self.num_samples]


@constructed("utils.data.", **_WORDS)
class SubsetRandomSampler(_Drawn):
    """These items in random order."""

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        self.indices, self.generator, self.num_samples = indices, generator, len(indices)

    def _order(self, numbers: np.random.Generator) -> np.ndarray:
        return numbers.permutation([int(i) for i in self.indices])


@constructed("utils.data.", **_WORDS)
class WeightedRandomSampler(_Drawn):
    """Items drawn with probabilities in proportion to weights."""

    def __init__(
        self, weights: Any, num_samples: int, replacement: bool = True,
        generator: Generator | None = None,
    ) -> None:  # fmt: skip
        self.weights = np.asarray([float(w) for w in weights])
        self.num_samples = _check_count("WeightedRandomSampler", "num_samples", num_samples)
        self.replacement, self.generator = replacement, generator
        if not (self.weights >= 0).all() or not 0 < self.weights.sum() < math.inf:
            raise ValueError(
                "WeightedRandomSampler: weights must be finite, at least 0 and not all 0, got "
                f"{self.weights}"
            )

    def _order(self, numbers: np.random.Generator) -> np.ndarray:
        p = self.weights / self.weights.sum()
        return numbers.choice(len(p), self.num_samples, self.replacement, p)


@constructed("utils.data.", **_WORDS)
class BatchSampler(Sampler):
    """Batches of another sampler's indices."""

    def __init__(self, sampler: Any, batch_size: int, drop_last: bool) -> None:
        self.sampler, self.drop_last = sampler, drop_last
        self.batch_size = _check_count("BatchSampler", "batch_size", batch_size)

    def __len__(self) -> int:
        full, rest = divmod(len(self.sampler), self.batch_size)
        return full + bool(rest and not self.drop_last)

    def __iter__(self) -> Iterator[list[int]]:
        return _batches(self.sampler, self.batch_size, self.drop_last)


def _batches(items: Iterable[Any], size: int, drop_last: bool) -> Iterator[list[Any]]:
    rest = iter(items)
    while batch := list(itertools.islice(rest, size)):
        if len(batch) < size and drop_last:
            return
        yield batch


@described(
    "array, list, dict or named tuple", types="An item is none of these and no string.", notes="",
    module="utils.data.", batch="sequence of items",
)  # fmt: skip
def default_collate(batch: Sequence[Any]) -> Any:
    """Return a batch of items: arrays are stacked, numbers become arrays, nests stay nests.

    NumPy's arrays and Python's numbers become arrays on the default queue.
    """
    first = batch[0]
    if isinstance(first, (np.ndarray, np.generic)):
        return with_methods(F.from_numpy(np.stack(batch)))
    if hasattr(first, "shape") and hasattr(first, "dtype"):
        return with_methods(F.stack(list(map(plain, batch))))
    if isinstance(first, (bool, int, float)):
        return with_methods(F.from_numpy(np.asarray(batch)))
    if isinstance(first, (str, bytes)):
        return list(batch)
    if isinstance(first, Mapping):
        return {key: default_collate([item[key] for item in batch]) for key in first}
    if isinstance(first, (tuple, list)):
        columns = [default_collate(column) for column in zip(*batch, strict=True)]
        if hasattr(first, "_fields"):
            return type(first)(*columns)
        return columns
    raise TypeError(
        f"default_collate: items must be arrays, numbers, strings or nests of them, got "
        f"{type(first).__name__}"
    )


def default_convert(data: Any) -> Any:
    """Return an item whose NumPy arrays are arrays on the default queue; the rest stays."""
    if isinstance(data, (np.ndarray, np.generic)):
        return with_methods(F.from_numpy(np.asarray(data))) if data.dtype.kind in "biufc" else data
    if isinstance(data, Mapping):
        return {key: default_convert(value) for key, value in data.items()}
    if isinstance(data, (tuple, list)):
        items = map(default_convert, data)
        return type(data)(*items) if hasattr(data, "_fields") else list(items)
    return data


def _rows_of(dataset: Any) -> bool:
    """Whether a list of numbers may select rows of all arrays in one step."""
    return isinstance(dataset, TensorDataset) or (
        type(dataset) is Subset and _rows_of(dataset.dataset)
    )


def _check_off(reason: str, options: dict[str, Any]) -> None:
    """Raise ValueError for the first option that is given."""
    for name, is_given in options.items():
        if is_given:
            raise ValueError(f"DataLoader: {name} must not be given with {reason}")


class DataLoader:
    """Batches of a dataset; each ``iter()`` is one epoch.

    Batches are loaded in this process: ``num_workers`` and what belongs to it change nothing.
    ``sycl_dnn.data.Prefetcher(loader)`` copies to a device in a thread.

    Parameters
    ----------
    dataset : Dataset or sequence
    batch_size : int, optional
        None: items are not batched; ``default_convert`` converts their arrays.
    shuffle : bool
    sampler, batch_sampler : iterable, optional
        Of numbers of items, or of lists of them, instead of ``shuffle``.
    collate_fn : callable, optional
        Makes a batch of a list of items; by default ``default_collate``.
    drop_last : bool
        Whether to drop an incomplete last batch.
    generator : Generator, optional

    Raises
    ------
    ValueError
        ``batch_size`` is less than 1, or options exclude each other: an ``IterableDataset`` has no
        order, ``batch_sampler`` replaces all options of batches, and ``sampler`` ``shuffle``.

    Examples
    --------
    >>> from sycl_dnn.nn import torch_names as torch
    >>> from sycl_dnn.nn.torch_data import DataLoader, TensorDataset
    >>> rows = TensorDataset(torch.arange(5), torch.arange(5) * 10)
    >>> [(x.tolist(), y.tolist()) for x, y in DataLoader(rows, batch_size=2)]
    [([0, 1], [0, 10]), ([2, 3], [20, 30]), ([4], [40])]
    """

    def __init__(
        self, dataset: Any, batch_size: int | None = 1, shuffle: bool | None = None,
        sampler: Any = None, batch_sampler: Any = None, num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None, pin_memory: bool = False,
        drop_last: bool = False, timeout: float = 0, worker_init_fn: Any = None,
        multiprocessing_context: Any = None, generator: Generator | None = None, *,
        prefetch_factor: int | None = None, persistent_workers: bool = False,
        pin_memory_device: str = "", in_order: bool = True,
    ) -> None:  # fmt: skip
        is_iterable = isinstance(dataset, IterableDataset)
        order = {"shuffle": shuffle, "sampler": sampler is not None}
        if is_iterable:
            order["batch_sampler"] = batch_sampler is not None
            _check_off("an IterableDataset", order)
        if sampler is not None:
            _check_off("sampler", {"shuffle": shuffle})
        if batch_sampler is not None:
            batches = {"batch_size": batch_size != 1, "drop_last": drop_last}
            _check_off("batch_sampler", order | batches)
        elif batch_size is None:
            _check_off("batch_size=None", {"drop_last": drop_last})
        else:
            _check_count("DataLoader", "batch_size", batch_size)
        self.dataset, self.batch_size, self.drop_last = dataset, batch_size, drop_last
        self.collate_fn, self.num_workers = collate_fn, num_workers
        if sampler is None and not is_iterable:
            sampler = RandomSampler(dataset, generator=generator) if shuffle else None
            sampler = SequentialSampler(dataset) if sampler is None else sampler
        self.sampler = sampler
        if batch_sampler is None and batch_size is not None and not is_iterable:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_sampler = batch_sampler

    def __len__(self) -> int:
        if isinstance(self.dataset, IterableDataset):
            full, rest = divmod(len(self.dataset), self.batch_size or 1)  # type: ignore[arg-type]
            return full + bool(rest and not self.drop_last)
        return len(self.sampler if self.batch_sampler is None else self.batch_sampler)

    def _batch_of(self, numbers: list[int]) -> Any:
        if self.collate_fn is None and _rows_of(self.dataset):
            return list(self.dataset[numbers])
        return (self.collate_fn or default_collate)([self.dataset[i] for i in numbers])

    def __iter__(self) -> Iterator[Any]:
        one = self.collate_fn or default_convert
        if not isinstance(self.dataset, IterableDataset):
            if self.batch_sampler is None:
                return (one(self.dataset[i]) for i in self.sampler)
            return map(self._batch_of, self.batch_sampler)
        if self.batch_size is None:
            return map(one, self.dataset)  # type: ignore[call-overload]
        batches = _batches(self.dataset, self.batch_size, self.drop_last)  # type: ignore[arg-type]
        return map(self.collate_fn or default_collate, batches)
