# SPDX-License-Identifier: Apache-2.0
"""Group normalization kernels, forward and gradient."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from sycl_dnn._core import algorithm
from sycl_dnn.kernels import grouped_columns, normalized_rows
from sycl_dnn.kernels.choice import chosen
from sycl_dnn.kernels.launching import Kernels, Tensors, defined, dense, in_layout
from sycl_dnn.trace.reductions import reduce
from sycl_dnn.trace.steps import Composed, Entry, Out
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import reshape

#: Channels per work-group, unless a normalization group has more.
_WIDTH = 64


def group_normalized(
    x: Tensor, groups: int, vectors: Tensors, eps: float, composed: Callable[[Tensors], Tensors]
) -> Tensors | None:
    """Normalize (N, C, *S); return ``dst``, ``mean`` and ``variance`` (N, groups).

    None means to use oneDNN. ``composed`` is called with ``src`` and the vectors, as in
    ``Trace.primitive``.
    """
    way = _way(x, groups)
    vectors = {n: dense(t) for n, t in vectors.items()}
    if way is None or not way.kernels(x, vectors).can_run(f"{way.name}_forward"):
        return None
    made = way.forward(x, vectors, eps)
    given = {"src": x, **vectors}
    rule = partial(_rule, way, made, eps)
    entry = Entry("group_norm", given, {"dst": made["dst"]}, rule=rule)
    entry.composed = Composed(composed, entry)
    x.trace.tape.append(entry)
    return made


class _Way:
    """The kernels for one layout, with their arguments for a tensor."""

    def __init__(self, name: str, source: str, vector: int, numbers: list[int], n: int, sets: int):
        self.name = name
        self._source = source
        self._vector = vector
        self._numbers = numbers
        self._n_groups = n
        self._n_sets = sets

    def kernels(self, x: Tensor, vectors: Tensors) -> Kernels:
        return Kernels(x.trace, self._source, x.dtype, self._vector, defined(vectors))

    def forward(self, x: Tensor, vectors: Tensors, eps: float) -> Tensors:
        outs = {"dst": Out(x.shape, x.dtype, x)}
        sets = (x.shape[0], self._n_sets // x.shape[0])
        outs |= {n: Out(sets, "float32") for n in ("mean", "rest", "variance")}
        given = {"src": x, **vectors}
        numbers = [*self._numbers, float(eps)]
        kernels = self.kernels(x, vectors)
        return kernels.record(f"{self.name}_forward", given, outs, numbers, self._n_groups)

    def backward(self, given: Tensors, eps: float) -> Tensors:
        x = given["src"]
        outs = {"diff_src": Out(x.shape, x.dtype, x)}
        outs |= {n: Out(x.shape[:2], "float32") for n in ("diff_scale", "diff_shift")}
        numbers = [*self._numbers, float(eps)]
        kernels = self.kernels(x, given)
        return kernels.record(f"{self.name}_backward", given, outs, numbers, self._n_groups)


def _way(x: Tensor, groups: int) -> _Way | None:
    wanted = chosen("group_norm", x)
    n, channels = x.shape[:2]
    count, size = math.prod(x.shape[2:]), channels // groups
    if wanted == "row_major":
        numbers = [size, size * count, count, count, groups, size, 1]
        return _Way("rows", normalized_rows.SOURCE, 16, numbers, n * groups, n * groups)
    vector = 16 if channels % 16 == 0 else 8
    width = math.lcm(size, vector)
    if wanted is None or channels % width or width > grouped_columns.MOST_CHANNELS:
        return None
    while width * 2 <= _WIDTH and channels % (width * 2) == 0:
        width *= 2
    numbers = [count, channels, width, size]
    source = grouped_columns.SOURCE
    return _Way("grouped", source, vector, numbers, n * channels // width, n * groups)


def _rule(way: _Way, made: Tensors, eps: float, entry: Entry, grads: Tensors) -> Tensors:
    x, dy = entry.inputs["src"], grads["dst"]
    dy = in_layout(dy, x.desc)
    given = {"src": x, "diff_dst": dy, **{n: made[n] for n in ("mean", "rest", "variance")}}
    if "scale" in entry.inputs:
        given["scale"] = entry.inputs["scale"]
    found = way.backward(given, eps)
    slopes = {"src": found["diff_src"]}
    for name in entry.inputs.keys() - {"src"}:
        sums = reduce(algorithm.reduction_sum, found[f"diff_{name}"], [0])
        slopes[name] = reshape(sums, (x.shape[1],))
    return slopes
