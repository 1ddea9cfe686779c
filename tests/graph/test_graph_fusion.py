# SPDX-License-Identifier: Apache-2.0
"""Each pattern becomes one partition with correct results."""

import pytest
from arithmetic import saturates
from graph_ops import as_it_runs, assert_close, expected
from graph_ops.pattern_values import arrays_of, values_of
from graph_ops.patterns import PATTERNS

from sycl_dnn.graph import Graph
from sycl_dnn.graph.partition_plan import PartitionStep

RUNS = [(name, build, dtype, kwargs) for name, build, types, kwargs in PATTERNS for dtype in types]


def test_every_name_is_used_once():
    names = [name for name, *_ in PATTERNS]
    assert len(names) == len(set(names))


def _assert_is_one_partition(compiled):
    """All operations are in one partition, except integer products where they saturate."""
    plan = compiled.plans[-1]
    (partition,) = [p for p in compiled.partitions if p.is_supported]
    nodes = [n for n in compiled.graph.nodes if n.operation.name != "end"]
    assert len(partition.ops) == len(nodes)
    if plan.refused:
        ((_, reason),) = plan.refused
        assert "in 16 bits" in reason
        assert saturates(compiled.queue)
        return
    (step,) = plan.steps
    assert isinstance(step, PartitionStep)


@pytest.mark.parametrize(
    ("name", "build", "dtype", "kwargs"), RUNS, ids=[f"{r[0]}-{r[2]}" for r in RUNS]
)
def test_pattern_is_one_partition_and_correct(name, build, dtype, kwargs, queue):
    graph = Graph("cpu" if queue.sycl_device.is_cpu else "gpu")
    provided = build(graph, dtype, **kwargs) or {}
    values = values_of(graph, name, provided)
    compiled = graph.compile(queue)
    actual = compiled(**arrays_of(graph, values, provided, queue))
    _assert_is_one_partition(as_it_runs(compiled))
    assert_close(graph, actual, expected(graph, values, compiled), dtype, 3.0)
