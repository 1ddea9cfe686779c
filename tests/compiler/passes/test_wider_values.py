# SPDX-License-Identifier: Apache-2.0
"""Views of values that become parts of wider ones, against NumPy."""

import numpy as np
import pytest

from sycl_dnn import _core
from sycl_dnn.compiler.passes.batch_slicing import Cut, part_desc, size_of_parts
from sycl_dnn.compiler.passes.wider_values import place
from sycl_dnn.compiler.tracing import CompileTrace
from sycl_dnn.trace import layout
from sycl_dnn.trace.values import Storage, Tensor


@pytest.fixture
def trace(queue):
    return CompileTrace(_core.Engine(queue))


def value(trace, shape):
    desc = layout.row_major(shape, "float32")
    return Tensor(trace, Storage(desc), desc, "float32", shape)


def seen(tensor, numbers):
    """Return the elements that a view of float32 numbers shows."""
    start = tensor.offset // 4
    strides = [4 * s for s in tensor.desc.strides]
    return np.lib.stride_tricks.as_strided(numbers[start:], tensor.desc.dims, strides)


WIDE = np.arange(4 * 10, dtype="f4")
#: Views of a (4, 6) value: shape, strides, offset in elements.
VIEWS = {
    "whole": ((4, 6), (6, 1), 0),
    "transposed": ((6, 4), (1, 6), 0),
    "one row": ((6,), (1,), 12),
    "one column": ((4,), (6,), 5),
    "split columns": ((4, 2, 3), (6, 3, 1), 0),
    "half of the columns": ((4, 3), (6, 1), 3),
    "heads first": ((2, 4, 3), (3, 6, 1), 0),
    "a step of two": ((2, 3), (12, 2), 6),
}


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("start", [0, 2, 4])
def test_views_of_columns_of_a_wider_matrix(trace, name, start):
    shape, strides, offset = VIEWS[name]
    old, wide = value(trace, (4, 6)), value(trace, (4, 10))
    moved = place(old.desc, wide.storage, wide.strides, start).of(old.view(shape, strides, offset))
    inner = np.ascontiguousarray(WIDE.reshape(4, 10)[:, start : start + 6]).ravel()
    np.testing.assert_array_equal(seen(moved, WIDE), seen(old.view(shape, strides, offset), inner))
    assert moved.storage is wide.storage


def test_views_across_rows_cannot_be_placed_in_wider_values(trace):
    old, wide = value(trace, (4, 6)), value(trace, (4, 10))
    found = place(old.desc, wide.storage, wide.strides, 0)
    assert found.of(old.view((24,), (1,))) is None
    assert found.of(old.view((3, 8), (8, 1))) is None
    # As wide as its container, it may be viewed in any shape.
    whole = place(old.desc, wide.storage, old.strides, 0)
    assert whole.of(old.view((3, 8), (8, 1))).desc.dims == (3, 8)


@pytest.mark.parametrize(("batch", "size"), [(6, 2), (7, 3), (5, 4)])
def test_parts_of_a_batch_cover_it(trace, batch, size):
    whole = value(trace, (batch, 3, 2))
    cut = Cut(batch, size, set())
    numbers = np.arange(batch * 6, dtype="f4")
    parts = [seen(cut.tensor(whole, i), numbers) for i in range(cut.count)]
    np.testing.assert_array_equal(np.concatenate(parts), numbers.reshape(batch, 3, 2))
    assert {len(p) for p in parts[:-1]} == {size}


def test_inner_values_of_a_part_have_a_storage_of_its_size(trace):
    whole = value(trace, (7, 3))
    cut = Cut(7, 3, {whole.storage})
    result = [cut.tensor(whole, i) for i in range(cut.count)]
    assert [t.storage.desc.dims for t in result] == [(3, 3), (3, 3), (1, 3)]
    assert len({t.storage for t in result}) == 3
    assert cut.tensor(whole, 1).storage is result[1].storage
    assert part_desc(whole.desc, 2).dims == (2, 3)


@pytest.mark.parametrize("batch", [2, 3, 12, 97, 397, 512])
@pytest.mark.parametrize("most", [1, 2, 5, 13, 100, 1000])
def test_sizes_of_parts(batch, most):
    size = size_of_parts(batch, most)
    assert 1 <= size <= max(1, min(most, batch - 1))
    assert -(-batch // size) <= 2 * -(-batch // max(1, min(most, batch - 1)))
