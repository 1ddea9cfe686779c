# SPDX-License-Identifier: Apache-2.0
"""Operations of graphs over operands whose axes are in any order in memory, or that have gaps.

They are views of the caller's, or results of `static_transpose` within the graph. With CI_LONG=1
all orders of axes are tried, otherwise a sample.
"""

import os
from itertools import permutations
from random import Random
from zlib import crc32

import dpnp
import numpy as np
import pytest
from graph_ops import CASES, assert_close, build, expected
from graph_ops.run import input_of, upload

from sycl_dnn.graph import Graph

LONG = bool(os.environ.get("CI_LONG"))
#: Operations whose operand is not moved: 4-bit integers, and tensors that are not images.
FLOAT = [case for case in CASES if "f32" in case.dtypes]


def permuted(array, order):
    """Return the same values with this axis order in memory."""
    inverse = tuple(int(i) for i in np.argsort(order))
    return dpnp.ascontiguousarray(array.transpose(order)).transpose(inverse)


def any_order(draw, rank):
    order = list(range(rank))
    draw.shuffle(order)
    return tuple(order)


def gaps(array, draw):
    return dpnp.repeat(array, 2, axis=-1)[..., ::2]


def inside(array, draw):
    """Return a part of a larger array: rows with gaps between them."""
    larger = dpnp.pad(array, [(1, 1)] * array.ndim)
    return larger[tuple(slice(1, 1 + n) for n in array.shape)]


def in_any_order(array, draw):
    return permuted(array, any_order(draw, array.ndim)) if array.ndim > 1 else array


def compared(case, dtype, view, queue, n_times=1):
    """Compare a case with views of its inputs with NumPy."""
    graph, arrays = build(case, dtype, "cpu" if queue.sycl_device.is_cpu else "gpu")
    compiled, draw = graph.compile(queue), Random(crc32(str(case).encode()))
    dense = {n: upload(arrays[n], v.dtype, queue) for n, v in graph.inputs.items()}
    for _ in range(n_times):
        actual = compiled(**{
            n: view(a, draw) if isinstance(a, dpnp.ndarray) and a.ndim else a
            for n, a in dense.items()
        })  # fmt: skip
        assert_close(graph, actual, expected(graph, arrays, compiled), dtype, case.tolerance)


@pytest.mark.sweep(4)
@pytest.mark.parametrize("case", FLOAT, ids=str)
def test_views_in_any_order(case, queue):
    compared(case, "f32", in_any_order, queue, 8 if LONG else 1)


#: For these, oneDNN's CPU kernels assume that inputs with gaps are dense.
NAMES = ("layer_norm", "layer_norm_backward", "dynamic_dequantize", "batch_norm_inference")


@pytest.mark.parametrize("view", [gaps, inside])
@pytest.mark.parametrize("case", [case for case in CASES if case.op in NAMES], ids=str)
def test_views_with_gaps(case, view, queue):
    compared(case, case.dtypes[0], view, queue)


def transposed(draw):
    """Return a function that makes inputs of graphs whose axes are transposed in the graph."""

    def operand(graph, tensor, data, dtype, label):
        order = any_order(draw, len(tensor.shape))
        if len(tensor.shape) < 2 or (tensor.dtype or dtype) != "f32":
            return input_of(graph, tensor, data, dtype, label)
        value = graph.input([tensor.shape[a] for a in order], "f32", name=label)
        back = [int(i) for i in np.argsort(order)]
        return graph.static_transpose(value, order=back), np.transpose(data, order)

    return operand


@pytest.mark.parametrize("case", [c for c in FLOAT if c.op != "end"], ids=str)
@pytest.mark.sweep(4)
def test_transposed_within_the_graph(case, queue):
    kind = "cpu" if queue.sycl_device.is_cpu else "gpu"
    draw = Random(crc32(str(case).encode()) + 1)
    for _ in range(8 if LONG else 1):
        graph, arrays = build(case, "f32", kind, transposed(draw))
        compiled = graph.compile(queue)
        actual = compiled(**{n: upload(arrays[n], v.dtype, queue) for n, v in graph.inputs.items()})
        assert_close(graph, actual, expected(graph, arrays, compiled), "f32", case.tolerance)


# --- chains: what oneDNN fuses, over axes of length 1 and operands that broadcast

SHAPES = ((8, 12, 1, 64), (2, 12, 3, 16), (1, 12, 3, 16), (2, 1, 3, 16), (2, 16, 1, 1), (3, 8, 16))
BINARY = ("add", "subtract", "multiply", "divide", "maximum", "minimum")


def _reduce(graph, x, draw):
    axis = draw.choice([a for a, n in enumerate(x.shape) if n > 1])  # oneDNN refuses length 1
    return graph.reduce_mean(x, axes=[axis], keep_dims=True)


def _product(graph, x, draw):
    weights = graph.input((*x.shape[:-2], x.shape[-1], x.shape[-2]), name="weights")
    return graph.matmul(x, weights)


FIRST = {
    "alone": lambda graph, x, draw: x,
    "relu": lambda graph, x, draw: graph.relu(x),
    "softmax": lambda graph, x, draw: graph.softmax(x, axis=draw.randrange(len(x.shape))),
    "layer_norm": lambda graph, x, draw: graph.layer_norm(
        x, begin_norm_axis=-1, use_affine=False, keep_stats=False
    ),
    "reduce": _reduce,
    "product": _product,
}


def chain(first, shape, order, axes, name, swapped, kind, seed):
    """Return first(transposed input), then a binary operation with an operand along some axes."""
    graph, draw = Graph(kind), Random(seed)
    x = graph.input([shape[a] for a in order], name="x")
    back = [int(i) for i in np.argsort(order)]
    result = FIRST[first](graph, graph.static_transpose(x, order=back), draw)
    spread = [n if a in axes else 1 for a, n in enumerate(result.shape)]
    operand = graph.input([spread[a] for a in order], name="operand")
    moved = graph.static_transpose(operand, order=back)
    graph.output(getattr(graph, name)(*((moved, result) if swapped else (result, moved))))
    return graph


def chains():
    """Yield the parameters of all chains, but for which binary operation."""
    for first in FIRST:
        for shape in SHAPES:
            for order in permutations(range(len(shape))):
                for bits in range(1 << len(shape)):
                    axes = [a for a in range(len(shape)) if bits >> a & 1]
                    if all(shape[a] > 1 for a in axes):
                        yield first, shape, order, axes


@pytest.mark.slow
def test_chains_with_operands_that_broadcast(queue):
    kind = "cpu" if queue.sycl_device.is_cpu else "gpu"
    drawn = list(chains())
    wrong = []
    for number, case in enumerate(drawn if LONG else Random(5).sample(drawn, 120)):
        draw = Random(number)
        name = draw.choice(BINARY)
        swapped = draw.random() < 0.3 and name != "divide"  # by values near 0
        graph = chain(*case, name, swapped, kind, number)
        rng = np.random.default_rng(number)
        arrays = {n: (rng.random(v.shape) + 0.5).astype("f4") for n, v in graph.inputs.items()}
        compiled = graph.compile(queue)
        result = compiled(**{n: upload(a, "f32", queue) for n, a in arrays.items()})
        try:
            assert_close(graph, result, expected(graph, arrays, compiled), "f32", 4.0)
        except AssertionError:
            wrong.append((case, str(graph)))
    assert not wrong, (len(wrong), wrong[:5])
