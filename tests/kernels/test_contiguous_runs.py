# SPDX-License-Identifier: Apache-2.0
"""Rows that gather neighbors between others: vectors begin anew where a run begins and ends."""

import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn.ir.node import leaf
from sycl_dnn.kernels.contiguous_runs import contiguous_run
from sycl_dnn.kernels.elementwise_schedule import grid_of
from sycl_dnn.kernels.node_expressions import expression_of
from sycl_dnn.ops import selection

MODES = {"reflect": "reflect", "replicate": "edge", "circular": "wrap", "constant": "constant"}


def _run(node, x, n):
    """Return the run of a node of one axis."""
    nodes = [node]
    while nodes[-1].operation.definition is not None:
        nodes.append(nodes[-1].operation.definition(*nodes[-1].inputs, **nodes[-1].attributes))
    expression = expression_of(nodes[-1:], [])
    grid = grid_of((2, n), [(0, 0), *[(0, 1)] * expression.n_places, (n, 1)])
    return contiguous_run(expression, grid, [x.shape[0]] * expression.n_indices)


def test_the_longest_run_of_a_row():
    x = leaf("x", (20,), "float32")
    assert _run(selection.BORDER(x, widths=((2, 3),), mode="reflect"), x, 25) == (2, 22)
    assert _run(selection.BORDER(x, widths=((0, 3),), mode="replicate"), x, 23) == (0, 20)
    assert _run(selection.pad(x, [(4, 0)]), x, 24) == (4, 24)
    assert _run(selection.roll(x, 5, 0), x, 20) == (5, 20)
    assert _run(selection.roll(x, 10, 0), x, 20) in ((0, 10), (10, 20))
    assert _run(selection.flip(x, 0), x, 20) == ()
    assert _run(selection.narrow(x, 0, 2, 5), x, 5) == ()


@pytest.mark.parametrize("is_last", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32"])
@pytest.mark.parametrize("mode", MODES)
def test_padded_images(mode, dtype, is_last, queue):
    for n, (left, right) in ((7, (1, 1)), (9, (2, 0)), (24, (5, 6)), (61, (1, 1)), (127, (0, 1))):
        values = np.random.default_rng(n).integers(-9, 9, (2, 24, 5, n)).astype("f4")
        x = sycl_dnn.asarray(values, dtype=dtype, sycl_queue=queue)
        if is_last:
            last = np.ascontiguousarray(np.moveaxis(values, 1, -1))
            x = F.permute(sycl_dnn.asarray(last, dtype=dtype, sycl_queue=queue), (0, 3, 1, 2))
        y = F.astype(F.pad(x, (left, right, 1, 2), mode=mode), "float32").asnumpy()
        expected = np.pad(values, ((0, 0), (0, 0), (1, 2), (left, right)), MODES[mode])
        np.testing.assert_array_equal(y, expected)
        turned = F.astype(F.roll(x, 3, -1), "float32").asnumpy()
        np.testing.assert_array_equal(turned, np.roll(values, 3, -1))
