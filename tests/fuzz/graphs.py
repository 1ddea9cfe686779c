# SPDX-License-Identifier: Apache-2.0
"""The Graph API: operations with other shapes and attributes, compiled and run."""

from dataclasses import replace

import numpy as np
from graph_ops import CASES, rounded, upload
from graph_ops.cases import _FILL, _OF_TYPE, NORMAL
from hypothesis import strategies as st

import sycl_dnn
from fuzz.values import chance, mutated, note, renamed_sizes, small
from sycl_dnn.graph import Graph

DTYPES = st.sampled_from(("f32", "bf16", "f16", "s8", "u8", "s32"))
UNARY = st.sampled_from(("relu", "abs", "sigmoid", "tanh", "exp", "square", "clamp"))
ALL = [c for c in CASES if c.op != "end"]
#: Elements of an array at most.
MOST = 50_000


def tensors_of(draw, case):
    """The tensors of a case with other sizes."""
    flat = {}
    for name, tensor in case.tensors.items():
        for i, one in enumerate(tensor if isinstance(tensor, list) else [tensor]):
            flat[f"{name}.{i}"] = one
    shapes = renamed_sizes(draw, {k: t.shape for k, t in flat.items()})
    return {k: replace(t, shape=shapes[k]) for k, t in flat.items()}


def values(tensor, dtype, rng):
    """Values for a tensor of any mutated shape."""
    if min(tensor.shape, default=0) < 0 or np.prod(tensor.shape, dtype=float) > MOST:
        raise ValueError("more than a test shall allocate")
    kind = tensor.dtype or dtype
    fill = tensor.fill if isinstance(tensor.fill, str) and tensor.fill != NORMAL else None
    return rounded(_FILL[fill or _OF_TYPE.get(kind, NORMAL)](rng, tensor.shape), kind)


def built(draw, case, graph, dtype, tensors):
    """The operation, occasionally with a changed option, followed by others."""
    actual = {k: graph.input(t.shape, t.dtype or dtype, name=k) for k, t in tensors.items()}
    given = {}
    for name, tensor in case.tensors.items():
        mine = [actual[k] for k in actual if k.rpartition(".")[0] == name]
        given[name] = mine if isinstance(tensor, list) else mine[0]
    attrs = dict(case.attrs)
    for name in [n for n in attrs if chance(draw, 15)]:
        attrs[name] = mutated(draw, attrs[name])
    note(case.op, given, attrs)
    result = getattr(graph, case.op)(**given, **attrs)
    result = result[0] if isinstance(result, tuple) else result
    for name in draw(st.lists(UNARY, max_size=2)):
        result = graph.clamp(result, -1.0, 1.0) if name == "clamp" else getattr(graph, name)(result)


def run(draw, stream):
    """One graph, built, compiled and called, with arrays that may be of the wrong size."""
    case = draw(st.sampled_from(ALL))
    dtype = draw(DTYPES) if chance(draw, 15) else draw(st.sampled_from(case.dtypes))
    queue, graph = stream.sycl_queue, Graph("cpu")
    tensors = tensors_of(draw, case)
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    arrays = {k: values(t, dtype, rng) for k, t in tensors.items()}
    built(draw, case, graph, dtype, tensors)
    compiled = graph.compile(queue)
    given = {k: upload(arrays[k], v.dtype, queue) for k, v in graph.inputs.items()}
    if chance(draw, 10) and given:
        name = draw(st.sampled_from(sorted(given)))
        given[name] = upload(np.zeros((draw(small) % 5, 3)), "f32", queue)
    compiled(**given)
    sycl_dnn.synchronize(queue)
    return case.op
