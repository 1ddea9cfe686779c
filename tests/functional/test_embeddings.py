# SPDX-License-Identifier: Apache-2.0
import dpnp
import numpy as np
import pytest
from functional.case import Case, Spec, queue_of
from functional.checks import checked
from functional.on_device import to_device, to_numpy

import sycl_dnn
from sycl_dnn import functional as F


def _numbers(shape, high, **traits):
    return Spec(shape, "integer", high=high, **traits)


def case(name, indices, weight, **options):
    return Case(f"embedding-{name}", F.embedding, (indices, weight), options,
                "embedding", on_gpu=True)  # fmt: skip


TABLE = Spec((11, 5))
CASES = [
    case("plain", _numbers((3, 7), 11), TABLE),
    case("one_number", _numbers((), 11), TABLE),
    case("often", _numbers((97,), 2), TABLE),
    case("int32", _numbers((13,), 11, dtype="int32"), TABLE),
    case("wide", _numbers((4, 5, 6), 101), Spec((101, 67))),
    case("one_row", _numbers((4,), 1), Spec((1, 1))),
    case("no_numbers", _numbers((0, 3), 11), TABLE),
    case("no_width", _numbers((4,), 3), Spec((3, 0))),
    case("strided", _numbers((6, 4), 11, layout="strided"), Spec((11, 5), layout="strided")),
    case("reversed", _numbers((6, 4), 11, layout="reversed"), Spec((11, 5), layout="reversed")),
    case("transposed", _numbers((6, 4), 11, layout="transposed"),
         Spec((11, 5), layout="transposed")),
    *(case(f"options-{i}", _numbers((9, 4), 6), Spec((6, 3)), **options)
      for i, options in enumerate((
          {"padding_idx": 3}, {"padding_idx": -1}, {"scale_grad_by_freq": True},
          {"padding_idx": 0, "scale_grad_by_freq": True},
      ))),
]  # fmt: skip
CASES += [c.as_dtype(d) for c in CASES[:3] for d in ("bfloat16", "float16")]
TestCases = checked(CASES, sweep=2)


def test_gradient_is_exact(queue):
    """Whole numbers small enough add up without rounding, however often a row comes."""
    rng = np.random.default_rng(0)
    indices = rng.integers(0, 3, 4099)
    dy = rng.integers(-8, 9, (4099, 17))
    _, pullback = sycl_dnn.vjp(
        F.embedding, to_device(indices, "int64", queue), to_device(np.zeros((3, 17)), "float32",
                                                                   queue),
    )  # fmt: skip
    grad = pullback(to_device(dy, "float32", queue))[1]
    expected = np.zeros((3, 17))
    np.add.at(expected, indices, dy)
    np.testing.assert_array_equal(to_numpy(grad), expected)


def test_other_tables(queue):
    indices = dpnp.asarray([[2, 0]], sycl_queue=queue)
    for dtype in ("int32", "int64", "bool", "float64"):
        if dtype == "float64" and not queue.sycl_device.has_aspect_fp64:
            continue
        table = np.arange(6).reshape(3, 2).astype(dtype)
        result = F.embedding(indices, dpnp.asarray(table, sycl_queue=queue))
        assert result.dtype == table.dtype
        np.testing.assert_array_equal(dpnp.asnumpy(result), table[[[2, 0]]])


#: Beyond 32 bits the lower half alone would be a number of the table.
OUTSIDE = {"int32": [-1, 3, -(2**31), 2**31 - 1], "int64": [-1, 3, -(2**63), 2**32 + 1]}


@pytest.mark.sweep(4)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_gradients_of_few_rows_are_summed_in_float32(dtype, queue):
    """No table of float32 is needed for it, nor what its conversion takes."""
    dy = np.ones((9, 70))
    dy[1:8] /= 4096  # each is lost if it is added to 1 alone
    table = to_device(np.zeros((20_000, 70)), dtype, queue)
    indices = to_device(np.array([3, 3, 3, 3, 3, 3, 3, 3, 19_999]), "int64", queue)
    _, pullback = sycl_dnn.vjp(F.embedding, indices, table)
    cotangent = to_device(dy, dtype, queue)
    with sycl_dnn.profile() as profile:
        grad = pullback(cotangent)[1]
    tensors = [t for record in profile.records for t in record.tensors]
    assert tensors
    assert not any(t.shape == (20_000, 70) and t.dtype == "f32" for t in tensors)
    dy = to_numpy(cotangent).astype(np.float32)
    expected = np.zeros((20_000, 70), np.float32)
    np.add.at(expected, [3] * 8 + [19_999], dy)
    rounded = to_numpy(to_device(expected, dtype, queue))
    np.testing.assert_array_equal(to_numpy(grad), rounded)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64", "int32", "bool"])
@pytest.mark.parametrize("numbers", OUTSIDE)
def test_indices_out_of_range(numbers, dtype, queue):
    """Rows of NaN or zeros, whatever lies there in memory; the gradient is that of the others."""
    indices = np.array([0, *OUTSIDE[numbers], 2, 0])
    known = (indices >= 0) & (indices < 3)
    values = np.arange(6).reshape(3, 2) + 1
    there = to_device(indices, numbers, queue)
    is_float = dtype not in ("int32", "bool")
    table = to_device(values, dtype, queue)
    result = to_numpy(F.embedding(there, table))
    np.testing.assert_array_equal(result[known], values.astype(result.dtype)[indices[known]])
    assert np.isnan(result[~known]).all() if is_float else not result[~known].any()
    if is_float and queue.sycl_device.has_aspect_fp64:
        y, pullback = sycl_dnn.vjp(F.embedding, there, table)
        dy = to_device(np.ones(y.shape), dtype, queue)
        np.testing.assert_array_equal(to_numpy(pullback(dy)[1]), [[2, 2], [0, 0], [1, 1]])


@pytest.mark.parametrize("numbers", OUTSIDE)
def test_classes_out_of_range(numbers, queue):
    indices = np.array([0, *OUTSIDE[numbers], 2, 0])
    result = dpnp.asnumpy(F.one_hot(to_device(indices, numbers, queue), 3))
    np.testing.assert_array_equal(result, indices[:, None] == np.arange(3))


@pytest.mark.parametrize("shape", [(), (5,), (2, 3), (0, 3)])
@pytest.mark.parametrize("num_classes", [-1, 7])
def test_one_hot(shape, num_classes, queue):
    if num_classes == -1 and 0 in shape:
        return
    values = np.asarray(np.random.default_rng(0).integers(0, 5, shape))
    result = F.one_hot(dpnp.asarray(values, sycl_queue=queue), num_classes)
    n = values.max() + 1 if num_classes == -1 else num_classes
    assert result.dtype == np.int64
    np.testing.assert_array_equal(dpnp.asnumpy(result), np.eye(n, dtype=int)[values])


def _bag_case(name, shape, offsets=None, is_weighted=False, is_compiled=False, **options):
    """A case of bags whose offsets are given, of indices that include the one of ``padding``."""

    def bags(indices, weight, *factors):
        place = {"sycl_queue": queue_of(weight)}
        ends = offsets and dpnp.asarray(offsets, **place)
        given = factors[0] if factors else None
        return F.embedding_bag(indices, weight, ends, per_sample_weights=given, **options)

    def by_torch(indices, weight, *factors):
        import torch

        ends = offsets and torch.tensor(offsets)
        given = factors[0] if factors else None
        bag = torch.nn.functional.embedding_bag
        return bag(indices, weight, ends, per_sample_weights=given, **options)

    args = [_numbers(shape, 4), Spec((4, 5))]
    args += [Spec(shape, differentiable=False)] if is_weighted else []
    function = sycl_dnn.compile(bags) if is_compiled else bags
    return Case(f"bags-{name}", function, tuple(args), torch=by_torch)


_ENDS = [0, 0, 3, 7, 11]
BAGS = [
    _bag_case(f"{name}-{padding}-{how}", *args, padding_idx=padding, is_compiled=how == "compiled",
              **options)
    for name, args, options in (
        ("mean", ((3, 3),), {}),
        ("sum", ((3, 3), None, True), {"mode": "sum"}),
        ("max", ((3, 3),), {"mode": "max"}),
        ("listed", ((11,), _ENDS), {}),
        ("listed-sum", ((11,), _ENDS, True), {"mode": "sum"}),
        ("listed-ends", ((11,), _ENDS), {"mode": "sum", "include_last_offset": True}),
    )
    for padding in (None, 2)
    for how in ("eager", "compiled")
]  # fmt: skip
TestBags = checked(BAGS, sweep=4)


def test_indices_before_the_first_offset_are_in_no_bag(queue):
    i, o = (dpnp.asarray(a, sycl_queue=queue) for a in ([1, 2, 3], [1]))
    table = dpnp.asarray(np.eye(4, dtype="f4"), sycl_queue=queue)
    assert F.embedding_bag(i, table, o, mode="sum").tolist() == [[0, 0, 1, 1]]


def test_infinite_maxima_and_the_first_of_equal_rows(queue):
    table = np.array([[-np.inf, 1], [-np.inf, 1], [2, 0]], "f4")
    i = dpnp.asarray([[0, 1], [2, 2]], sycl_queue=queue)
    w = to_device(table, "float32", queue)
    y, pullback = sycl_dnn.vjp(lambda w: F.embedding_bag(i, w, mode="max", padding_idx=2), w)
    assert y.tolist() == [[-np.inf, 1], [0, 0]]
    assert pullback(dpnp.ones_like(y))[0].tolist() == [[1, 1], [0, 0], [0, 0]]


@pytest.mark.parametrize("is_compiled", [False, True])
def test_maxima_of_listed_bags(queue, is_compiled):
    table = np.array([[1, -2], [1, 5], [3, np.nan], [-np.inf, 0]], "f4")
    # Bags: equal rows, empty, padding alone, padding and minus infinity, NaN.
    indices, offsets = [0, 1, 0, 2, 2, 3, 1, 3], [0, 3, 3, 4, 6, 8]
    i, o = (dpnp.asarray(a, sycl_queue=queue) for a in (indices, offsets))
    w = to_device(table, "float32", queue)

    def bags(w, i, o):
        return F.embedding_bag(i, w, o, mode="max", padding_idx=2, include_last_offset=True)

    run = sycl_dnn.compile(bags) if is_compiled else bags
    assert run(w, i, o).tolist() == [[1, 5], [0, 0], [0, 0], [-np.inf, 0], [1, 5]]
    factors = dpnp.asarray([1, 10], dtype="f4", sycl_queue=queue)
    grad = sycl_dnn.grad(lambda w: F.sum(run(w, i, o) * factors))(w)
    assert grad.tolist() == [[1, 0], [1, 20], [0, 0], [1, 10]]
    assert np.isnan(dpnp.asnumpy(F.embedding_bag(i, w, o, mode="max"))[2, 1])
    assert F.embedding_bag(i[:0], w, o[:1] * 0, mode="max").tolist() == [[0, 0]]


def test_counts_scale_gradients_and_not_tangents():
    index = F.tensor([0, 2, 2], dtype="int64")
    rows = lambda table: F.embedding(index, table, scale_grad_by_freq=True)  # noqa: E731
    table, tangent = F.zeros(3, 1), F.tensor([[1.0], [2.0], [3.0]])
    _, found = sycl_dnn.jvp(rows, (table,), (tangent,))
    assert found.tolist() == [[1], [3], [3]]
    total = lambda t: F.sum(sycl_dnn.jvp(rows, (table,), (t,))[1])  # noqa: E731
    assert sycl_dnn.grad(total)(tangent).tolist() == [[1], [0], [1]]  # as torch's
    _, pullback = sycl_dnn.vjp(rows, table)
    assert pullback(F.ones(3, 1))[0].tolist() == [[1], [0], [1]]
