# SPDX-License-Identifier: Apache-2.0
"""Graph operations over inputs with gaps give the results of dense ones."""

import dpnp
import pytest
from graph_ops import CASES, assert_close, build, expected
from graph_ops.run import upload

#: For these, oneDNN's CPU kernels assume that such inputs are dense.
NAMES = ("layer_norm", "layer_norm_backward", "dynamic_dequantize", "batch_norm_inference")
CHOSEN = [case for case in CASES if case.op in NAMES]


def gaps(array):
    return dpnp.repeat(array, 2, axis=-1)[..., ::2]


def inside(array):
    """A part of a larger array: rows with gaps between them."""
    larger = dpnp.pad(array, [(1, 1)] * array.ndim)
    return larger[tuple(slice(1, 1 + n) for n in array.shape)]


@pytest.mark.parametrize("view", [gaps, inside])
@pytest.mark.parametrize("case", CHOSEN, ids=str)
def test_views_give_the_results_of_dense_arrays(case, view, queue):
    (dtype, *_) = case.dtypes
    graph, arrays = build(case, dtype, "cpu" if queue.sycl_device.is_cpu else "gpu")
    compiled = graph.compile(queue)
    dense = {n: upload(arrays[n], v.dtype, queue) for n, v in graph.inputs.items()}
    actual = compiled(
        **{n: view(a) if isinstance(a, dpnp.ndarray) and a.ndim else a for n, a in dense.items()}
    )
    assert_close(graph, actual, expected(graph, arrays, compiled), dtype, case.tolerance)
