# SPDX-License-Identifier: Apache-2.0
"""Index operands in every kind of view equal dense ones, in every way to call.

Values of dense arrays are those of the cases of each function.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F


def _offset(dense: Any) -> Any:
    whole = dpnp.zeros(dense.size + 11, dtype=dense.dtype, sycl_queue=dense.sycl_queue)
    part = whole[7 : 7 + dense.size].reshape(dense.shape)
    part[...] = dense
    return part


def _rows(dense: Any) -> Any:
    shape = (dense.shape[0] + 5, *dense.shape[1:])
    whole = dpnp.zeros(shape, dtype=dense.dtype, sycl_queue=dense.sycl_queue)
    whole[3 : 3 + dense.shape[0]] = dense
    return whole[3 : 3 + dense.shape[0]]


def _strided(dense: Any) -> Any:
    shape = (*dense.shape[:-1], 3 * dense.shape[-1] + 1)
    whole = dpnp.zeros(shape, dtype=dense.dtype, sycl_queue=dense.sycl_queue)
    whole[..., 1::3] = dense
    return whole[..., 1::3]


def _reversed(dense: Any) -> Any:
    return dpnp.ascontiguousarray(dpnp.flip(dense))[tuple([slice(None, None, -1)] * dense.ndim)]


def _transposed(dense: Any) -> Any:
    return dpnp.ascontiguousarray(dense.transpose()).transpose()


VIEWS: dict[str, Callable[[Any], Any]] = {
    "offset": _offset, "rows": _rows, "strided": _strided, "reversed": _reversed,
    "transposed": _transposed,
}  # fmt: skip


@dataclass(frozen=True)
class Row:
    """A call and the arrays that it takes: NumPy's, the first ones floats."""

    function: Callable[..., Any]
    arrays: tuple[np.ndarray, ...]
    is_traceable: bool = True
    #: Whether numbers may repeat.
    repeats: bool = True


def _numbers(high: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape) + high).integers(0, high, shape)


def _floats(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).standard_normal(shape).astype("f4")


def _packed(x: Any, lengths: Any) -> Any:
    return F.pad_packed_sequence(F.pack_padded_sequence(x, lengths, enforce_sorted=False))[0]


_X = _floats(5, 6)
_ORDER = np.random.default_rng(0).permuted(np.tile(np.arange(5), (6, 1)), axis=1).T
_PLACES = np.random.default_rng(1).permuted(np.tile(np.arange(16), (2, 1)), axis=1)[:, :4]
_RECTANGLES = np.abs(_floats(4, 4)) + np.array([0, 0, 2, 2], "f4")
_BOXES = np.column_stack([np.zeros(4), _RECTANGLES]).astype("f4")

ROWS = {
    "gather": Row(lambda x, i: F.gather(x, 0, i), (_X, _numbers(5, 3, 6))),
    "take_along_dim": Row(lambda x, i: F.take_along_dim(x, i, 1), (_X, _numbers(6, 5, 3))),
    "take_along_flat": Row(F.take_along_dim, (_X, _numbers(30, 2, 4))),
    "index_select": Row(lambda x, i: F.index_select(x, 1, i), (_X, _numbers(6, 4))),
    "key": Row(lambda x, i: F.mul(x[i], 1.0), (_X, _numbers(5, 3, 2))),
    "two_keys": Row(lambda x, i, j: F.mul(x[i, j], 1.0),
                    (_X, _numbers(5, 3, 2), _numbers(6, 3, 2))),
    "index_add": Row(lambda x, y, i: F.index_add(x, 0, i, y), (_X, _floats(4, 6), _numbers(5, 4))),
    "index_put": Row(lambda x, y, i, j: F.index_put(x, (i, j), y),
                     (_X, _floats(5), np.array([4, 0, 3, 1, 2]), np.array([5, 0, 0, 2, 2])),
                     repeats=False),
    "index_put_added": Row(lambda x, y, i: F.index_put(x, (i,), y, accumulate=True),
                           (_X, _floats(4, 6), _numbers(5, 4))),
    "scatter": Row(lambda x, y, i: F.scatter(x, 0, i, y), (_X, _floats(4, 6), _ORDER[:4]),
                   repeats=False),
    "scatter_add": Row(lambda x, y, i: F.scatter_add(x, 0, i, y),
                       (_X, _floats(4, 6), _numbers(5, 4, 6))),
    "embedding": Row(lambda x, i: F.embedding(i, x), (_X, _numbers(5, 3, 4))),
    "embedding_padding": Row(lambda x, i: F.embedding(i, x, 2), (_X, _numbers(5, 3, 4))),
    "one_hot": Row(lambda x, i: F.mul(F.astype(F.one_hot(i, 5), "float32"), x[0, 0]),
                   (_X, _numbers(5, 3, 4))),
    "nll_loss": Row(F.nll_loss, (_X, _numbers(6, 5))),
    "nll_loss_image": Row(F.nll_loss, (_floats(2, 6, 3), _numbers(6, 2, 3))),
    "cross_entropy": Row(F.cross_entropy, (_X, _numbers(6, 5))),
    "cross_entropy_image": Row(F.cross_entropy, (_floats(2, 6, 3), _numbers(6, 2, 3))),
    "multi_margin_loss": Row(F.multi_margin_loss, (_X, _numbers(6, 5))),
    "multilabel_margin_loss": Row(F.multilabel_margin_loss, (_X, _ORDER.T[:5, :1].repeat(6, 1))),
    "max_unpool2d": Row(lambda x, i: F.max_unpool2d(x, i, 2),
                        (_floats(1, 2, 2, 2), _PLACES.reshape(1, 2, 2, 2)), repeats=False),
    "repeat_interleave": Row(lambda x, i: F.repeat_interleave(x, i, 0, output_size=8),
                             (_X, np.array([2, 0, 3, 1, 2])), repeats=False),
    "grid_sample": Row(lambda x, g: F.grid_sample(x, g, align_corners=False),
                       (_floats(1, 2, 4, 4), _floats(1, 3, 3, 2))),
    "ctc_loss": Row(lambda x, t, n, m: F.ctc_loss(x, t, n, m),
                    (-np.abs(_floats(6, 2, 5)), _numbers(4, 2, 3) + 1, np.array([6, 5]),
                     np.array([3, 2])), repeats=False),
    "packed": Row(_packed, (_floats(4, 3, 2), np.array([2, 4, 1])), is_traceable=False),
    "roi_align": Row(lambda x, b: F.roi_align(x, b, 2, sampling_ratio=2),
                     (_floats(1, 2, 6, 6), _BOXES), is_traceable=False),
    "nms": Row(lambda b, s: F.nms(b, s, 0.4), (_RECTANGLES, _floats(4)), is_traceable=False),
    "masked_fill": Row(lambda x, m: F.masked_fill(x, m, 2.0), (_X, _X > 0.1)),
    "where": Row(lambda x, y, m: F.where(m, x, y), (_X, _floats(5, 6) + 1, _X > 0.1)),
    "argsort": Row(lambda x: F.argsort(x, 0), (_X,)),
    "sort": Row(lambda x: F.sort(x, 1).values, (_X,)),
    "topk": Row(lambda x: F.topk(x, 2, 0).values, (_X,)),
    "unique": Row(F.unique, (_numbers(6, 5, 4),), is_traceable=False),
    "nonzero": Row(F.nonzero, (_numbers(2, 5, 4),), is_traceable=False),
}  # fmt: skip


def _on_device(arrays: Any, queue: Any, dtype: str, view: Callable[[Any], Any]) -> list[Any]:
    results = []
    for values in arrays:
        kind = dtype if values.dtype.kind == "i" else values.dtype
        results.append(
            view(dpnp.asarray(np.ascontiguousarray(values), dtype=kind, sycl_queue=queue))
        )
    return results


def _dense(array: Any) -> Any:
    return array


def _calls(row: Row) -> list[Callable[..., Any]]:
    return [row.function, sycl_dnn.compile(row.function)] if row.is_traceable else [row.function]


def _wanted(row: Row, queue: Any) -> np.ndarray:
    return dpnp.asnumpy(row.function(*_on_device(row.arrays, queue, "int64", _dense)))


def _check(row: Row, args: list[Any], expected: np.ndarray) -> None:
    for call in _calls(row):
        for _ in range(2):
            actual = dpnp.asnumpy(call(*args))
            np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-6)


def _slopes(row: Row, args: list[Any]) -> list[np.ndarray]:
    y, pullback = sycl_dnn.vjp(row.function, *args)
    wide = np.cos(np.arange(y.size)).reshape(y.shape).astype("f4")
    slopes = pullback(dpnp.asarray(wide, sycl_queue=args[0].sycl_queue))
    return [dpnp.asnumpy(g) for g in slopes if g is not None]


@pytest.mark.sweep(48)
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", ROWS)
def test_views(name, view, queue):
    _compared(ROWS[name], view, "int64", queue)


@pytest.mark.sweep(8)
@pytest.mark.parametrize("name", [n for n in ROWS if n != "max_unpool2d"])
def test_int32_indices_with_an_offset(name, queue):
    _compared(ROWS[name], "offset", "int32", queue)


@pytest.mark.sweep(16)
@pytest.mark.parametrize("view", ["offset", "reversed"])
@pytest.mark.parametrize("name", ROWS)
def test_views_without_kernels(name, view, queue):
    """Computed by dpnp and oneDNN, as on devices without generated kernels."""
    with sycl_dnn.kernel_mode("never"):
        _compared(ROWS[name], view, "int64", queue)


def _compared(row, view, dtype, queue):
    provided = _on_device(row.arrays, queue, dtype, VIEWS[view])
    _check(row, provided, _wanted(row, queue))
    is_smooth = row.is_traceable and row.arrays[0].dtype == "f4" and row is not ROWS["argsort"]
    if is_smooth:
        dense = _slopes(row, _on_device(row.arrays, queue, dtype, _dense))
        for actual, expected in zip(_slopes(row, provided), dense, strict=True):
            np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.sweep(16)
@pytest.mark.parametrize("name", [n for n, row in ROWS.items() if row.repeats])
def test_expanded(name, queue):
    """One number or row for all: a stride of 0."""
    row = ROWS[name]
    arrays = [np.broadcast_to(v[:1], v.shape) if v.dtype.kind in "ib" else v for v in row.arrays]
    same = Row(row.function, tuple(map(np.ascontiguousarray, arrays)), row.is_traceable)
    provided = _on_device(same.arrays, queue, "int64", _dense)
    provided = [
        dpnp.broadcast_to(g[:1], g.shape) if v.dtype.kind in "ib" else g
        for g, v in zip(provided, arrays, strict=True)
    ]
    _check(same, provided, _wanted(same, queue))


EMPTY = {
    "gather": (lambda x, i: F.gather(x, 0, i), (0, 6), (0, 6)),
    "index_select": (lambda x, i: F.index_select(x, 1, i), (0,), (5, 0)),
    "index_add": (lambda x, i: F.index_add(x, 0, i, x[:0]), (0,), (5, 6)),
    "scatter_add": (lambda x, i: F.scatter_add(x, 0, i, x), (0, 6), (5, 6)),
    "embedding": (lambda x, i: F.embedding(i, x), (2, 0), (2, 0, 6)),
    "one_hot": (lambda x, i: F.one_hot(i, 4), (0,), (0, 4)),
    "take_along_dim": (lambda x, i: F.take_along_dim(x, i, 0), (0, 6), (0, 6)),
    "index_put": (lambda x, i: F.index_put(x, (i,), x[:0]), (0,), (5, 6)),
    "key": (lambda x, i: F.mul(x[i], 1.0), (0,), (0, 6)),
}


@pytest.mark.parametrize("name", EMPTY)
def test_empty(name, queue):
    function, shape, expected = EMPTY[name]
    x = dpnp.asarray(_X, sycl_queue=queue)
    whole = dpnp.zeros((*shape[:-1], 9), dtype="int64", sycl_queue=queue)
    for index in (
        dpnp.zeros(shape, dtype="int64", sycl_queue=queue),
        whole[..., 4 : 4 + shape[-1]]
        if len(shape) == 1 or not shape[-1]
        else whole[:, ::-1][:, :6],
    ):
        for call in (function, sycl_dnn.compile(function)):
            actual = call(x, index)
            assert actual.shape == expected
            if actual.size and actual.shape == x.shape:
                np.testing.assert_array_equal(dpnp.asnumpy(actual), _X)


SINGLE = {
    "index_select": (lambda x, i: F.index_select(x, 0, i), lambda x: x[3:4]),
    "embedding": (lambda x, i: F.embedding(i, x), lambda x: x[3]),
    "one_hot": (lambda x, i: F.one_hot(i, 5), lambda x: np.eye(5)[3]),
    "key": (lambda x, i: F.mul(x[i], 1.0), lambda x: x[3]),
    "take": (lambda x, i: F.gather(x[:, 0], 0, F.reshape(i, (1,))), lambda x: x[3:4, 0]),
}


@pytest.mark.parametrize("name", SINGLE)
def test_without_axes(name, queue):
    """A number of a larger array, with no axis left."""
    function, reference = SINGLE[name]
    x = dpnp.asarray(_X, sycl_queue=queue)
    index = dpnp.asarray([[9, 9, 9], [9, 3, 9]], dtype="int64", sycl_queue=queue)[1, 1]
    for call in (function, sycl_dnn.compile(function)):
        np.testing.assert_allclose(dpnp.asnumpy(call(x, index)), reference(_X), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "uint32", "uint64"])
@pytest.mark.parametrize("name", [n for n, row in ROWS.items() if row.is_traceable
                                  and any(v.dtype.kind == "i" for v in row.arrays)])  # fmt: skip
@pytest.mark.sweep(4)
def test_other_integer_dtypes_are_correct_or_refused_by_name(name, dtype, queue):
    row = ROWS[name]
    args = _on_device(row.arrays, queue, dtype, _offset)
    for call in _calls(row):
        try:
            actual = call(*args)
        except (TypeError, IndexError) as refusal:
            assert dtype in str(refusal)  # noqa: PT017
        else:
            expected = _wanted(row, queue)
            np.testing.assert_allclose(dpnp.asnumpy(actual), expected, rtol=1e-5, atol=1e-6)
