# SPDX-License-Identifier: Apache-2.0
"""Each operation of the Graph API and each pattern on a GPU: built, partitioned, compiled, run."""

import numpy as np
import pytest
from graph_ops import CASES, assert_close, build, expected, upload
from graph_ops.pattern_values import arrays_of, values_of
from graph_ops.patterns import PATTERNS
from simulated import by_turns

from sycl_dnn.graph import Graph
from sycl_dnn.graph.partition_plan import PartitionStep

CASES_BY_TYPE = [
    (case, dtype) for i, case in enumerate(CASES) for dtype in by_turns(i, case.dtypes)
]


@pytest.mark.parametrize(("case", "dtype"), CASES_BY_TYPE, ids=lambda v: str(v))
def test_operation(case, dtype, gpu, has_values):
    graph, arrays = build(case, dtype, "gpu")
    compiled = graph.compile(gpu)
    actual = compiled(**{n: upload(arrays[n], v.dtype, gpu) for n, v in graph.inputs.items()})
    results = actual if isinstance(actual, tuple) else (actual,)
    for value, array in zip(graph.outputs, results, strict=True):
        assert tuple(array.shape) == compiled.plans[-1].shapes[value.id]
    if has_values:
        assert_close(graph, results, expected(graph, arrays, compiled), dtype, case.tolerance)


#: Patterns that oneDNN 3.13 fuses only on the CPU.
CPU_ONLY = ("layer_norm_gelu_quantize",)
RUNS = [
    (name, build, dtype, kwargs)
    for i, (name, build, types, kwargs) in enumerate(PATTERNS)
    for dtype in by_turns(i, types)
]


@pytest.mark.parametrize(
    ("name", "build", "dtype", "kwargs"), RUNS, ids=[f"{r[0]}-{r[2]}" for r in RUNS]
)
def test_pattern_is_one_partition(name, build, dtype, kwargs, gpu, has_values):
    graph = Graph("gpu")
    provided = build(graph, dtype, **kwargs) or {}
    values = values_of(graph, name, provided)
    compiled = graph.compile(gpu)
    actual = compiled(**arrays_of(graph, values, provided, gpu))
    steps = compiled.plans[-1].steps
    if (
        name == "sdpa_select_mask"
    ):  # oneDNN broadcasts its condition incorrectly there; F.where does not
        assert any(not isinstance(step, PartitionStep) for step in steps)
    else:
        assert all(isinstance(step, PartitionStep) for step in steps)
        assert len(steps) == 1 or name in CPU_ONLY
    if has_values:
        assert_close(graph, actual, expected(graph, values, compiled), dtype, 3.0)


def test_dropout_is_submitted(gpu):
    graph = Graph("gpu")
    numbers = [graph.scalar("s64"), graph.scalar("s64"), graph.scalar("f32")]
    graph.dropout(graph.relu(graph.input((4, 8), name="x")), *numbers, with_mask=True)
    x = upload(np.ones((4, 8)), "f32", gpu)
    y, mask = graph.compile(gpu)(1, 0, 0.5, x)
    assert (y.shape, mask.shape, mask.dtype) == ((4, 8), (4, 8), "uint8")
