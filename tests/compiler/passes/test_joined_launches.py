# SPDX-License-Identifier: Apache-2.0
"""Launches that do the same with different arrays become one, between other steps."""

import dpnp
import numpy as np
import pytest
from arrays import normal

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import optim
from sycl_dnn.compiler.passes import joined_launches
from sycl_dnn.kernels.expression import Expression, Term
from sycl_dnn.kernels.forms import ReductionForm, ReductionSchedule
from sycl_dnn.kernels.joined_kernels import joined_module


def compiled_twice(function, *args):
    """Return the rows of the steps, joined, after comparing the results of separate launches."""
    passes = [{"join_launches": is_on, "run_on_host": False} for is_on in (True, False)]
    result = [sycl_dnn.compile(function, passes=p) for p in passes]
    for a, b in zip(*(one(*args) for one in result), strict=True):
        np.testing.assert_array_equal(dpnp.asnumpy(a), dpnp.asnumpy(b))
    return [part.row for part in result[0].explain(*args).parts]


def test_arrays_of_any_size_and_layout(queue):
    arrays = [normal(queue, n, seed=n) for n in (1, 2, 15, 16, 17, 4095, 4096, 4097, 100_001)]
    rows = compiled_twice(lambda *xs: [F.tan(F.exp(x) + 1.0) for x in xs], *arrays)
    assert len(rows) == 1
    turned = [normal(queue, 30, 40 + n, seed=n).T for n in range(5)]
    assert len(compiled_twice(lambda *xs: [F.tan(F.exp(x) * 2.0) for x in xs], *turned)) == 1


def test_broadcast_operands_are_those_of_each_launch(queue):
    arrays = [normal(queue, 30, 40, seed=n) for n in range(4)]
    rows = [normal(queue, 40, seed=9 + n) for n in range(4)]

    def function(*given):
        pairs = zip(given[:4], given[4:], strict=True)
        return [F.tan(F.exp(x) * v) for x, v in pairs]

    assert len(compiled_twice(function, *arrays, *rows)) == 1


@pytest.mark.parametrize("shape", [(6, 40), (3, 200_000), (400, 3), (1000, 100)])
@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.sweep(2)
def test_reductions(shape, dim, queue):
    arrays = [normal(queue, *shape, seed=n) for n in range(5)]
    rows = compiled_twice(lambda *xs: [F.sum(F.square(F.atan(x)), dim) for x in xs], *arrays)
    # Their second stages have few elements, which the host adds one after the other.
    assert len(set(rows)) <= 2
    assert rows[0].startswith("joined_")


@pytest.mark.parametrize("dtypes", [("float32",), ("float32", "bfloat16", "float16")])
def test_launches_of_several_forms(dtypes, queue, monkeypatch):
    sizes = (1, 3, 17, 64, 5000, 70_000)
    xs = [F.astype(normal(queue, n, seed=n), t) for n in sizes for t in dtypes]

    def function(*xs):
        sums = [F.sum(F.square(F.astype(x, "float32"))) for x in xs]
        return [*sums, *[F.tan(x) for x in xs], *[F.amax(x) for x in xs[:3]]]

    counts = []
    for limit in (1, 4, 8):
        monkeypatch.setattr(joined_launches, "MOST_FORMS", limit)
        counts.append(len(compiled_twice(function, *xs)))
    assert counts[0] > counts[1] > counts[2]


def test_an_array_and_its_sum_do_not_wait_for_each_other(queue):
    x, scale = normal(queue, 30, 40), normal(queue, 1, seed=1)[0]
    rows = compiled_twice(
        lambda x, s: (F.tan(x) * s, F.sum(x * s, -1), F.amax(F.tan(x) * s, -1)), x, scale
    )
    assert len(rows) == 1

    def costly(x):
        y = F.tan(x)
        return y, F.sum(y, -1)

    assert len(compiled_twice(costly, x)) == 2


def test_groups_of_several_forms_share_local_memory(queue):
    """Rows of narrow numbers are kept in it."""
    xs = [F.astype(normal(queue, 6, 700, seed=n), "bfloat16") for n in range(2)]

    def function(x, y):
        return F.log_softmax(x, -1), F.softmax(F.tan(y) * 2.0, -1), F.sum(F.exp(x), 0), F.tan(y)

    compiled_twice(function, *xs)


def test_arrays_of_one_form_in_local_memory_are_apart(queue):
    """The states of blocks of rows and those of all blocks have equal lengths."""
    xs = [normal(queue, 600, 500, seed=n) for n in range(2)]
    rows = compiled_twice(lambda x, y: (F.amax(x, 0), F.amin(y, 0), F.argmax(y, 0)), *xs)
    assert rows[0].startswith("joined_")


def test_values_and_places_of_groups_of_items_are_apart():
    expression = Expression(("int32",), (Term("argmax", "int32", (0,), ()),), (1,))
    form = ReductionForm(expression, "kr", ("n1", "n0"), ReductionSchedule(1, 1, 1, 64))
    other = form._replace(schedule=ReductionSchedule(1, 4, 1, 64))
    for forms in ((form,), (form, other)):
        words = np.frombuffer(joined_module(forms), "u4")
        # Variables in the memory of a group: opcode 59 of four words, storage class 4.
        found = (words[:-3] == (4 << 16 | 59)) & (words[3:] == 4)
        assert np.count_nonzero(found) == 2


def test_launches_that_wait_for_a_copy_are_joined_with_others(queue):
    sizes = (300_000, 310_001, *[60_000] * 5)
    xs = [normal(queue, n, seed=n) for n in sizes]
    rows = compiled_twice(lambda *xs: [F.sum(F.square(x)) for x in (*xs[:2], F.cat(xs[2:]))], *xs)
    sums = [row for row in rows if "square_sum" in row]
    assert len(sums) == 1, rows
    assert sums[0].startswith("joined_")


def test_dependent_launches_stay_in_order(queue):
    x = normal(queue, 40)

    def function(x):
        found = [x]
        for _ in range(4):  # each reads the sum of the last, which no kernel can contain
            found.append(F.tan(found[-1]) * F.sum(F.cos(found[-1])))
        return found[1:]

    rows = compiled_twice(function, x)
    assert not any(row.startswith("joined_") for row in rows)


def test_constants_are_not_joined_with_arguments(queue):
    constant, x = normal(queue, 50, seed=1), normal(queue, 60)
    step = sycl_dnn.compile(lambda x, c: (F.sin(F.exp(x)), F.sin(F.exp(c))), constants=("c",))
    parts = step.explain(x, constant).parts
    assert not any(part.row.startswith("joined_") for part in parts)
    for actual, given in zip(step(x, constant), (x, constant), strict=True):
        expected = np.sin(np.exp(dpnp.asnumpy(given)))
        np.testing.assert_allclose(dpnp.asnumpy(actual), expected, rtol=1e-5, atol=1e-6)


def test_memory_is_not_kept_for_a_launch(queue, monkeypatch):
    """What could be freed early is kept up to a limit, beyond which there are more launches."""
    weights = [normal(queue, 256, 256, seed=n) * 0.1 for n in range(6)]
    x, opt = normal(queue, 8, 256), optim.SGD(0.1)

    def function(x, *weights):
        def loss(weights):
            y = x
            for w in weights:
                y = F.tanh(F.linear(y, w))
            return F.sum(y)

        return opt.update(sycl_dnn.grad(loss)(list(weights)), {"step": x[0, 0]}, list(weights))[0]

    def joined():
        parts = sycl_dnn.compile(function).explain(x, *weights).parts
        return [p for p in parts if p.row.startswith("joined_") and p.shape == (256, 256)]

    assert len(joined()) == 1
    monkeypatch.setattr(joined_launches, "MOST_KEPT", 3 * 256 * 256 * 4)
    assert len(joined()) == 2


def test_more_launches_than_one_kernel_joins(queue, monkeypatch):
    monkeypatch.setattr(joined_launches, "MOST_ROWS", 4)
    arrays = [normal(queue, 20_000 + n, seed=n) for n in range(9)]
    rows = compiled_twice(lambda *xs: [F.tan(F.exp(x)) for x in xs], *arrays)
    assert sorted(row.startswith("joined_") for row in rows) == [False, True, True]


def test_parts_of_a_concatenation_are_written_in_place(queue):
    arrays = [normal(queue, 30_000, seed=n) for n in range(5)]
    rows = compiled_twice(lambda *xs: [F.stack([F.sum(F.square(x)) for x in xs])], *arrays)
    assert len(rows) == 1


def test_arrays_that_only_dpnp_has_are_left_alone(queue):
    x, y = (dpnp.asarray(v, dtype="u4", sycl_queue=queue) for v in ([5, 7, 9], [3, 4, 5]))
    result = sycl_dnn.compile(lambda x, y: F.remainder(x, y))(x, y)
    assert result.asnumpy().tolist() == [2, 3, 4]


@pytest.mark.cpu
def test_launches_that_the_host_interprets_sooner_are_not_joined(queue):
    arrays = [normal(queue, 20 + n, seed=n) for n in range(4)]
    compiled = sycl_dnn.compile(lambda *xs: [F.tan(F.exp(x)) for x in xs])
    (part,) = compiled.explain(*arrays).parts
    assert part.row == "host_sequence"
    assert not any(name.startswith("joined_") for name in part.fused)
