# SPDX-License-Identifier: Apache-2.0
"""Each operation of the Graph API alone on a GPU: built, partitioned, compiled, submitted."""

import numpy as np
import pytest
from graph_ops import CASES, build, upload
from graph_ops.pattern_values import arrays_of, values_of
from graph_ops.patterns import PATTERNS

from sycl_dnn.graph import Graph
from sycl_dnn.graph.steps import PartitionStep

CASES_BY_TYPE = [(case, dtype) for case in CASES for dtype in case.dtypes]


@pytest.mark.parametrize(("case", "dtype"), CASES_BY_TYPE, ids=lambda v: str(v))
def test_operation_is_submitted(case, dtype, gpu):
    graph, arrays = build(case, dtype, "gpu")
    compiled = graph.compile(gpu)
    made = compiled(**{n: upload(arrays[n], v.dtype, gpu) for n, v in graph.inputs.items()})
    results = made if isinstance(made, tuple) else (made,)
    for value, array in zip(graph.outputs, results, strict=True):
        assert tuple(array.shape) == compiled.plans[-1].shapes[value.id]


#: What oneDNN 3.13 fuses on the CPU only.
CPU_ONLY = ("layer_norm_gelu_quantize",)
RUNS = [(name, build, dtype, kwargs) for name, build, types, kwargs in PATTERNS for dtype in types]


@pytest.mark.parametrize(
    ("name", "build", "dtype", "kwargs"), RUNS, ids=[f"{r[0]}-{r[2]}" for r in RUNS]
)
def test_pattern_is_one_partition_and_submitted(name, build, dtype, kwargs, gpu):
    graph = Graph("gpu")
    given = build(graph, dtype, **kwargs) or {}
    values = values_of(graph, name, given)
    compiled = graph.compile(gpu)
    compiled(**arrays_of(graph, values, given, gpu))
    steps = compiled.plans[-1].steps
    assert all(isinstance(step, PartitionStep) for step in steps)
    assert len(steps) == 1 or name in CPU_ONLY


def test_dropout_is_submitted(gpu):
    graph = Graph("gpu")
    numbers = [graph.scalar("s64"), graph.scalar("s64"), graph.scalar("f32")]
    graph.dropout(graph.relu(graph.input((4, 8), name="x")), *numbers, with_mask=True)
    x = upload(np.ones((4, 8)), "f32", gpu)
    y, mask = graph.compile(gpu)(1, 0, 0.5, x)
    assert (y.shape, mask.shape, mask.dtype) == ((4, 8), (4, 8), "uint8")
