"""Reductions read through gathers and coordinates: one kernel, nothing of full size in memory."""

import numpy as np
import pytest
from kernel_cases import of_nodes

import sycl_dnn
from sycl_dnn.ir.node import number
from sycl_dnn.ops import arithmetic as ops
from sycl_dnn.ops import reduction as r
from sycl_dnn.ops import selection as t
from sycl_dnn.ops.creation import iota, triangle
from sycl_dnn.ops.shape import SUM, broadcast_to

RNG = np.random.default_rng(5)
#: Many rows, many columns, and too few of either for the processors.
SHAPES = [(70, 90), (300, 40), (3, 70_000), (70_000, 3), (5, 7)]


def n_kernels(run):
    """Return the result of a function, and how many primitives and kernels it submitted."""
    with sycl_dnn.profile() as p:
        result = run()
    return result, sum(record.kind == "primitive" for record in p.records)


def weighted(x, axis, axes):
    """Sum elements times their coordinate along an axis."""
    return SUM(x * ops.cast(iota(x.shape[axis], axis, 2), x.dtype), axes=axes)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.sweep(2)
def test_coordinates_in_sums(shape, on_queue):
    a = RNG.integers(-3, 4, shape).astype("f4")
    for axes in ((0,), (1,), (0, 1)):
        for axis in (0, 1):
            result = of_nodes(lambda v, k=axis, s=axes: weighted(v, k, s), on_queue(a))
            places = np.arange(shape[axis]).reshape([-1 if k == axis else 1 for k in (0, 1)])
            expected = (a.astype("f8") * places).sum(axes, keepdims=True)
            most = np.abs(a * places).sum(axes).max()
            np.testing.assert_allclose(result.asnumpy(), expected, rtol=1e-6, atol=1e-7 * most)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.sweep(9)
def test_rows_by_index(shape, dtype, on_queue):
    a = RNG.integers(-3, 4, shape)
    rows, columns = (RNG.integers(-1, n + 1, n) for n in shape)
    x = sycl_dnn.asarray(on_queue(a.astype("f4")), dtype=dtype)
    wide = "float32" if "float" in dtype else dtype

    def definition(v, i, j):
        i = i if i.ndim == 2 else t.reshape(i, (-1, 1))
        by_row = t.gather(v, [t.reshape(i, (shape[0], 1))], (0,))
        by_column = t.gather(v, [t.reshape(j, (1, shape[1]))], (1,))
        return SUM(ops.cast(by_row, wide) * ops.cast(by_column, wide), axes=axes)

    i, j = (np.clip(k, 0, n - 1) for k, n in zip((rows, columns), shape, strict=True))
    for axes in ((0,), (1,), (0, 1)):
        result = of_nodes(definition, x, on_queue(rows[:, None]), on_queue(columns[None]))
        expected = (a[i] * a[:, j]).sum(axes, keepdims=True)
        np.testing.assert_allclose(result.asnumpy(), expected, rtol=1e-6)


@pytest.mark.parametrize("shape", SHAPES)
def test_indices_of_extremes_of_gathered_elements(shape, on_queue):
    a = RNG.integers(-9, 9, shape).astype("f4")
    rows = RNG.integers(0, shape[0], (shape[0], 1))
    for axes in ((0,), (1,)):
        result = of_nodes(
            lambda v, i, s=axes: r.ARGMAX(t.gather(v, [i], (0,)), axes=s),
            on_queue(a), on_queue(rows),
        )  # fmt: skip
        expected = a[rows[:, 0]].argmax(axes[0], keepdims=True)
        np.testing.assert_array_equal(result.asnumpy(), expected)


def test_a_masked_softmax_is_one_kernel(on_queue):
    a = RNG.uniform(-2, 2, (4, 100, 100)).astype("f4")

    def definition(x):
        rows, columns = iota(100, 1, 3), iota(100, 2, 3)
        masked = ops.where(ops.GE(rows, columns), x, number(-1e30, "float32"))
        powers = ops.EXP(masked - r.MAX(masked, axes=(2,)))
        return powers / SUM(powers, axes=(2,))

    result, count = n_kernels(lambda: of_nodes(definition, on_queue(a)).asnumpy())
    powers = np.where(np.tril(np.ones((100, 100), bool)), np.exp(a.astype("f8")), 0)
    np.testing.assert_allclose(result, powers / powers.sum(2, keepdims=True), rtol=1e-5, atol=1e-7)
    assert count == 1


@pytest.mark.parametrize(
    "definition",
    [
        lambda v: SUM(triangle(v, 0, is_lower=True), axes=(0, 1)),
        lambda v: SUM(t.pad(v, [(1, 2), (3, 0)], 2.0), axes=(1,)),
        lambda v: r.MAX(t.flip(v, 0) - v, axes=(0,)),
        lambda v: SUM(t.roll(v, 3, 1) * v, axes=(1,)),
        lambda v: SUM(t.BORDER(v, widths=((2, 2), (0, 1)), mode="reflect"), axes=(0,)),
    ],
    ids=["triangle", "pad", "flip", "roll", "border"],
)
def test_moved_elements_are_read_in_place(definition, on_queue):
    """The same as with the moved elements in memory, in one launch."""
    a = RNG.uniform(-2, 2, (60, 80)).astype("f4")
    result, count = n_kernels(lambda: of_nodes(definition, on_queue(a)).asnumpy())
    assert count == 1
    from node_values import values_of

    from sycl_dnn.ir.node import leaf

    node = leaf("x", a.shape, "float32")
    (expected,) = values_of([definition(node)], {node: a.astype("f8")})
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)


def test_a_gather_after_a_reduction_reads_memory(on_queue):
    """A gather of a result, or of its indices, is another kernel."""
    a = RNG.uniform(-2, 2, (40, 50)).astype("f4")

    def definition(v):
        total = SUM(v, axes=(1,))
        turned = t.flip(total, 0)
        return turned * ops.cast(iota(40, 0, 2), "float32") + total

    result = of_nodes(definition, on_queue(a)).asnumpy()
    total = a.astype("f8").sum(1, keepdims=True)
    expected = total[::-1] * np.arange(40)[:, None] + total
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("axis", [0, 1])
def test_a_coordinate_of_an_axis_that_is_broadcast_is_zero(axis, on_queue):
    shape = (3, 5)
    sizes = tuple(1 if k == axis else n for k, n in enumerate(shape))

    def masked(x):
        place = broadcast_to(iota(1, axis, 2), sizes)
        return x * ops.cast(broadcast_to(place, shape), x.dtype)

    result = of_nodes(lambda x: masked(x) + x, on_queue(np.ones(shape, "f4")))
    np.testing.assert_array_equal(result.asnumpy(), np.ones(shape))
    result = of_nodes(lambda x: SUM(masked(x) + x, axes=(axis,)), on_queue(np.ones(shape, "f4")))
    np.testing.assert_array_equal(result.asnumpy(), np.full(sizes, shape[axis]))
