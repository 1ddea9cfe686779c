# SPDX-License-Identifier: Apache-2.0
"""Build the graph of a case, run it, and compare."""

import dpnp
import numpy as np
from arithmetic import lacks

import sycl_dnn
from sycl_dnn.graph import Graph
from sycl_dnn.onednn import dtypes

from .reference import evaluate

#: Relative to the largest value of a result: a few rounding errors of the type.
TOLERANCE = {"f32": 2e-5, "bf16": 2e-2, "f16": 3e-3}


def upload(values, dtype, queue):
    """Values as an array of the data type on a queue."""
    name = dtypes.LONG[dtype]
    if dtype in ("bf16", "s4", "u4", "f8_e4m3", "f8_e5m2"):
        return sycl_dnn.asarray(np.asarray(values, np.float32), name, sycl_queue=queue)
    return dpnp.asarray(np.asarray(values).astype(name), sycl_queue=queue)


def download(array):
    """An array as NumPy's float64."""
    host = array.asnumpy() if isinstance(array, sycl_dnn.Array) else dpnp.asnumpy(array)
    return np.asarray(host, np.float64)


def input_of(graph, tensor, data, dtype, label):
    """Return an input of a graph, and its array."""
    return graph.input(tensor.shape, tensor.dtype or dtype, name=label), data


def build(case, dtype, engine="cpu", operand=input_of):
    """Return the graph of a case and its arrays by name of the input; see `input_of`."""
    graph, arrays, provided = Graph(engine), {}, {}
    values = case.arrays(dtype)
    for name, tensor in case.tensors.items():
        several = tensor if isinstance(tensor, list) else [tensor]
        datas = values[name] if isinstance(tensor, list) else [values[name]]
        results = []
        for number, (one, data) in enumerate(zip(several, datas, strict=True)):
            label = f"{name}{number}" if isinstance(tensor, list) else name
            value, arrays[label] = operand(graph, one, data, dtype, label)
            results.append(value)
        provided[name] = results if isinstance(tensor, list) else results[0]
    if case.op == "end":
        provided["src"] = graph.relu(provided["src"])
        graph.abs(provided["src"])
    getattr(graph, case.op)(**provided, **case.attrs)
    return graph, arrays


def execute(graph, arrays, queue, **kwargs):
    """Return the compiled graph and its results as NumPy arrays."""
    compiled = graph.compile(queue, **kwargs)
    provided = {n: upload(arrays[n], v.dtype, queue) for n, v in graph.inputs.items()}
    result = compiled(**provided)
    return compiled, [download(a) for a in (result if isinstance(result, tuple) else (result,))]


def as_it_runs(compiled):
    """Return a compiled graph, or its f32 fallback if the device lacks its types."""
    (step, *others) = compiled.plans[-1].steps
    if step.inner is None:
        return compiled
    assert not others
    met = {v.dtype for node in step.nodes for v in (*node.values, *node.outputs)}
    assert any(lacks(compiled.queue, dtype) for dtype in met & {"bf16", "f16"})
    return step.inner


def expected(graph, arrays, compiled):
    """Return the results in float64."""
    values = evaluate(graph, arrays, compiled.plans[-1].shapes)
    return [values[v.id] for v in graph.outputs]


def is_close(actual, target, dtype, factor=1.0):
    """Whether a result is right within the rounding of its data type."""
    assert actual.shape == target.shape, f"shape {actual.shape}, wanted {target.shape}"
    if dtype in ("s8", "u8", "s32", "boolean"):
        # A quotient of exactly one half may be rounded in either direction.
        limit = 0 if dtype in ("s32", "boolean") else 1
        return np.abs(actual - target).max(initial=0) <= limit
    same = np.isfinite(target)
    assert np.array_equal(actual[~same], target[~same], equal_nan=True)
    scale = max(np.abs(target[same]).max(initial=0), 1e-3)
    return np.abs(actual[same] - target[same]).max(initial=0) <= factor * TOLERANCE[dtype] * scale


def assert_close(graph, results, targets, dtype, factor=1.0):
    """Compare the results of a call, each by the coarsest data type on the way to it."""
    several = results if isinstance(results, (tuple, list)) else [results]
    for value, result, target in zip(graph.outputs, several, targets, strict=True):
        coarsest = dtype if dtype in ("bf16", "f16") and value.dtype == "f32" else value.dtype
        actual = result if isinstance(result, np.ndarray) else download(result)
        assert is_close(actual, target, coarsest, factor), value
