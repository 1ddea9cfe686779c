# SPDX-License-Identifier: Apache-2.0
"""What oneDNN fuses: each pattern becomes ONE partition and computes the right numbers."""

import numpy as np
import pytest
from graph_ops import download, evaluate, is_close, rounded, upload
from graph_ops.cases import hash_of
from graph_ops.patterns import PATTERNS

from sycl_dnn.graph import Graph
from sycl_dnn.graph.plan import PartitionStep

RUNS = [(name, build, dtype, kwargs) for name, build, types, kwargs in PATTERNS for dtype in types]


def _values(graph, name, given):
    """Values for each input, as its data type holds them."""
    rng = np.random.default_rng(hash_of(name))
    made = {}
    for label, value in graph.inputs.items():
        ranges = {"s8": (-60, 60), "u8": (0, 120), "u4": (0, 16), "boolean": (0, 2)}
        if label in given:
            x = np.asarray(given[label])
        elif value.dtype == "u8" and "zps" in given:
            x = np.full(value.shape, given["zps"])
        elif value.dtype in ranges:
            x = rng.integers(*ranges[value.dtype], value.shape)
        else:
            x = rng.standard_normal(value.shape) * 0.5
        made[label] = rounded(x, value.dtype)
    return made


def _arrays(graph, values, given, queue):
    """Arrays on the device; stacked ones are views of one."""
    arrays = {}
    for label, value in graph.inputs.items():
        scalar = value.property == "host_scalar"
        arrays[label] = (
            values[label].item() if scalar else upload(values[label], value.dtype, queue)
        )
    if given.get("stacked"):
        b, h, s, d = graph.inputs["q"].shape
        stacked = np.stack([values[n].transpose(0, 2, 1, 3) for n in "qkv"], axis=3)
        whole = upload(stacked.reshape(b, s, h * 3 * d), graph.inputs["q"].dtype, queue)
        whole = whole.reshape(b, s, h, 3, d)
        for i, n in enumerate("qkv"):
            arrays[n] = whole[:, :, :, i].transpose(0, 2, 1, 3)
    if given.get("combined"):
        both = upload(np.concatenate([values["in1"], values["in2"]], 1), graph.inputs["in1"].dtype,
                      queue)  # fmt: skip
        n = values["in1"].shape[1]
        arrays["in1"], arrays["in2"] = both[:, :n], both[:, n:]
    return arrays


def test_every_name_is_used_once():
    names = [name for name, *_ in PATTERNS]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("name", "build", "dtype", "kwargs"), RUNS, ids=[f"{r[0]}-{r[2]}" for r in RUNS]
)
def test_pattern_is_one_partition_and_right(name, build, dtype, kwargs, queue):
    graph = Graph("cpu" if queue.sycl_device.is_cpu else "gpu")
    given = build(graph, dtype, **kwargs) or {}
    values = _values(graph, name, given)
    compiled = graph.compile(queue)
    made = compiled(**_arrays(graph, values, given, queue))
    (step,) = compiled.plans[-1].steps
    assert isinstance(step, PartitionStep)
    (partition,) = [p for p in compiled.partitions if p.is_supported]
    assert len(partition.ops) == len([n for n in graph.nodes if n.operation.name != "end"])
    wanted = evaluate(graph, values, compiled.plans[-1].shapes)
    for value, array in zip(
        graph.outputs, made if isinstance(made, tuple) else (made,), strict=True
    ):
        coarsest = dtype if value.dtype == "f32" else value.dtype
        assert is_close(download(array), wanted[value.id], coarsest, 3.0), value
