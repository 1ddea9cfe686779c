# SPDX-License-Identifier: Apache-2.0
"""Each of the 88 operations alone: built, partitioned, compiled, run, compared with NumPy."""

import pytest
from graph_ops import CASES, as_it_runs, assert_close, build, execute, expected
from graph_ops.variants import VARIANTS

from sycl_dnn.graph import OPERATIONS
from sycl_dnn.graph.partition_plan import PartitionStep

CASES_BY_TYPE = [(case, dtype) for case in (*CASES, *VARIANTS) for dtype in case.dtypes]
#: Tested in separate files: random numbers, and user functions.
ELSEWHERE = {"dropout", "wildcard"}


@pytest.mark.parametrize(("case", "dtype"), CASES_BY_TYPE, ids=lambda v: str(v))
@pytest.mark.sweep(8)
def test_single_operation(case, dtype, queue):
    kind = "cpu" if queue.sycl_device.is_cpu else "gpu"
    graph, arrays = build(case, dtype, kind)
    compiled, results = execute(graph, arrays, queue)
    steps = as_it_runs(compiled).plans[-1].steps
    fused = all(isinstance(step, PartitionStep) for step in steps)
    assert fused is not case.instead
    assert_close(graph, results, expected(graph, arrays, compiled), dtype, case.tolerance)


def test_every_operation_is_covered():
    assert {case.op for case in CASES} | ELSEWHERE == set(OPERATIONS)
