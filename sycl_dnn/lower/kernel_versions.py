# SPDX-License-Identifier: Apache-2.0
"""Generated kernels in place of oneDNN's element-wise primitives, conversions and reductions.

In float64, which oneDNN lacks on CPUs and computes in float32 on GPUs; outside compiled functions,
which have nothing to append a primitive to; and conversions of all dtypes that oneDNN lacks.
Gradients of element-wise primitives are always kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from sycl_dnn._core import algorithm as A
from sycl_dnn.ir.node import Node, leaf
from sycl_dnn.kernels.expression import REGISTERS
from sycl_dnn.lower.algorithms import FUNCTIONS, PAIRS, REDUCTIONS
from sycl_dnn.lower.node_lowering import computed, gradient
from sycl_dnn.onednn import dtypes
from sycl_dnn.ops.arithmetic import cast
from sycl_dnn.trace.gradients import Grads, rule_for
from sycl_dnn.trace.recording import Trace
from sycl_dnn.trace.steps import Entry
from sycl_dnn.trace.values import Tensor


def _cast(function: Callable[..., Node], wide: str, dtype: str, *operands: Node) -> Node:
    """Return a function of nodes that is computed in one dtype, its result in another."""
    return cast(function(*[cast(x, wide) for x in operands]), dtype)


def pair_kernel(kind: A, a: Tensor, b: Tensor, dtype: str) -> Tensor:
    """Compute a binary algorithm."""
    wide = dtypes.wide(dtypes.promote(dtypes.promote(a.dtype, b.dtype), dtype))
    return computed(partial(_cast, PAIRS[kind], wide, dtype), a, b)


def eltwise_kernel(x: Tensor, kind: A, alpha: float, beta: float) -> Tensor:
    """Compute an element-wise algorithm."""

    def function(node: Node) -> Node:
        return FUNCTIONS[kind](node, alpha, beta)

    return computed(partial(_cast, function, dtypes.wide(x.dtype), x.dtype), x)


@rule_for("binary")
@rule_for("eltwise_forward")
def _gradients(trace: Trace, entry: Entry, grads: Grads, needed: set[str]) -> Grads:
    params, names, result = entry.params, list(entry.inputs), entry.outputs["dst"]
    kind, dtype = params["algorithm"], str(result.dtype)

    def function(*operands: Node) -> Node:
        if entry.row == "binary":
            return PAIRS[kind](*operands)
        return FUNCTIONS[kind](operands[0], params["alpha"], params["beta"])

    inputs = {str(i): t for i, t in enumerate(entry.inputs.values())}
    leaves = [leaf(("operand", i), t.shape, str(t.dtype)) for i, t in enumerate(inputs.values())]
    node = _cast(function, dtypes.wide(dtype), dtype, *leaves)
    of_nodes = Entry("nodes", inputs, {"0": result}, {"results": (node,), "leaves": tuple(leaves)})
    numbers = {str(names.index(name)) for name in needed}
    parts = gradient(trace, of_nodes, {"0": grads["dst"]}, numbers)
    return {names[int(number)]: part for number, part in parts.items()}


def conversion_kernel(x: Tensor, dtype: str) -> Tensor:
    """Convert to another dtype."""
    return computed(lambda node: cast(node, dtype), x)


def reduction_kernel(kind: A, x: Tensor, axes: tuple[int, ...], dtype: str) -> Tensor:
    """Reduce by an algorithm over axes, which remain with size 1."""
    operand = x if str(x.dtype) in REGISTERS else x.trace.convert(x, "float32")
    result_dtype = dtype if dtype in REGISTERS else "float32"
    floats = [name for name in (str(operand.dtype), result_dtype) if dtypes.is_float(name)]
    wide = "float64" if "float64" in floats else "float32" if floats else result_dtype
    function = partial(REDUCTIONS[kind], axes=axes)
    return x.trace.convert(computed(partial(_cast, function, wide, result_dtype), operand), dtype)
