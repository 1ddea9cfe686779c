# SPDX-License-Identifier: Apache-2.0
"""Matrix products with their gradients: the basis of linear, matmul and bmm."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import dpnp

from sycl_dnn import _core
from sycl_dnn._core import PrimitiveAttr
from sycl_dnn.functional.arithmetic.elementwise import check_same_dtype
from sycl_dnn.ir.node import Node
from sycl_dnn.lower.node_lowering import computed
from sycl_dnn.onednn import dtypes
from sycl_dnn.ops.arithmetic import LOGICAL_AND, cast
from sycl_dnn.ops.reduction import ANY
from sycl_dnn.ops.shape import SUM
from sycl_dnn.trace import layout
from sycl_dnn.trace.capabilities import has_avx512
from sycl_dnn.trace.gradients import Grads, independent, rule_for
from sycl_dnn.trace.pointwise import add, broadcast_to, zeros
from sycl_dnn.trace.recording import Trace
from sycl_dnn.trace.reductions import sum_to
from sycl_dnn.trace.steps import Entry, Out
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import broadcast_shape, expand_rank, reshape, row_major, transpose


def _multipliable(x: Tensor) -> Tensor:
    """Return ``x`` with unit stride in one of its last two axes, as compiled kernels require."""
    if x.strides is None or not x.size:
        return x
    (m, n), (row, column) = x.shape[-2:], x.strides[-2:]
    by_rows = (column == 1 or n == 1) and (row >= n or m == 1)
    by_columns = (row == 1 or m == 1) and (column >= m or n == 1)
    # oneDNN misreads interleaved matrices.
    span = (m - 1) * row + (n - 1) * column + 1
    disjoint = all(s >= span or k == 1 for s, k in zip(x.strides[:-2], x.shape[:-2], strict=True))
    if not (by_rows or by_columns) or not disjoint:
        return x.trace.reorder(x, layout.row_major(x.shape, x.dtype))
    return x


#: Multiplications of float64 up to which a generated kernel is faster than oneMKL, in any layout.
_MAX_IN_KERNEL = 1 << 21


def _empty_product(a: Tensor, b: Tensor, shape: tuple[int, ...], dtype: str) -> Tensor:
    result = zeros(a.trace, shape, dtype)
    independent([a, b], {"dst": result})
    return result


def product(a: Tensor, b: Tensor, bias: Tensor | None = None, dtype: str | None = None) -> Tensor:
    """Multiply (..., M, K) by (..., K, N) and add a bias (N,); batch axes broadcast.

    ``dtype`` is that of the result, by default that of ``a``.
    """
    batch = broadcast_shape(a.shape[:-2], b.shape[:-2])
    shape = (*batch, a.shape[-2], b.shape[-1])
    dtype = dtype or a.dtype
    is_empty = not (a.size and b.size)
    if is_empty or a.dtype == "float64":
        result = _empty_product(a, b, shape, dtype) if is_empty else _float64_product(a, b, shape)
        return result if bias is None else add(result, bias)
    inputs = {"src": expand_rank(a, len(shape)), "weights": expand_rank(b, len(shape))}
    if bias is not None:
        inputs["bias"] = reshape(bias, (1,) * (len(shape) - 1) + bias.shape)
    return recorded(inputs, Out(shape, dtype))


def sum_of_products(a: Tensor, b: Tensor) -> Tensor:
    """Multiply in one generated kernel: integers modulo their width, bools by "and" and "or".

    Narrow floats are added in float32.
    """
    row_shape, column_shape = (*a.shape, 1), (*b.shape[:-2], 1, *b.shape[-2:])
    axis = max(len(row_shape), len(column_shape)) - 2

    def definition(x: Node, y: Node) -> Node:
        if x.dtype == "bool":
            return ANY(LOGICAL_AND(x, y), axes=(axis,))
        if not x.is_float:
            return SUM(x * y, axes=(axis,))
        wide = dtypes.wide(x.dtype)
        return cast(SUM(cast(x, wide) * cast(y, wide), axes=(axis,)), x.dtype)

    result = computed(definition, reshape(a, row_shape), reshape(b, column_shape))
    return reshape(result, (*result.shape[:-2], result.shape[-1]))


def _float64_product(a: Tensor, b: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Multiply float64, which oneDNN's CPU engine lacks: small matrices in a generated kernel.

    The others by dpnp, which calls oneMKL after the work before it: 0.3 ms each.
    """
    if math.prod(shape) * a.shape[-1] <= _MAX_IN_KERNEL:
        return sum_of_products(a, b)

    def rule(dy: Tensor) -> dict[str, Tensor]:
        return {
            "a": sum_to(product(dy, swapped(b)), a.shape),
            "b": sum_to(product(swapped(a), dy), b.shape),
        }

    def record() -> Tensor:
        # Broadcast views are misread: see ``sycl_dnn/_dpnp.py``.
        dense = [row_major(a), row_major(b)]
        return a.trace.array_call(dpnp.matmul, dense, [Out(shape, "float64")])[0]

    return a.trace.closed({"a": a, "b": b}, record, rule)


def recorded(inputs: dict[str, Tensor], out: Out, attr: PrimitiveAttr | None = None) -> Tensor:
    """Record oneDNN's matmul of operands that all have the rank of the result."""
    trace, weights = inputs["src"].trace, inputs["weights"]
    operands = inputs | {n: _readable(inputs[n]) for n in ("src", "weights")}
    # Packing the weights pays only if they are constant; see docs/architecture.md.
    ask = {}
    if inputs.get("attr_zero_points_weights") is not None and not has_avx512(trace.engine):
        # Unit stride along K: oneDNN's kernels for other layouts require AVX-512.
        *batch, k, n = range(weights.ndim)
        operands["weights"] = _in_order(operands["weights"], (*batch, n, k))
    elif weights.storage.constant and weights.dtype in dtypes.PACKED:
        operands["weights"] = _by_rows(operands["weights"])
    elif weights.storage.constant:
        ask = {"weights": "any"}
    prefer = None if ask or not _is_for_few_rows(operands, out) else _FOR_FEW_ROWS
    if not (ask or prefer) and _is_slow_on_avx2(trace, operands, out):
        operands["weights"], prefer = _arranged_for_avx2(operands["src"], operands["weights"])
    result = trace.primitive("matmul", operands, {"dst": out}, ask=ask, attr=attr, prefer=prefer)
    return result["dst"]


# --- Few rows in float32 on CPUs: oneDNN's choice reads large weights at half of their speed

#: The implementation that reads them faster.
_FOR_FEW_ROWS = "gemm:jit"
#: Rows up to which it does so with AVX-512 if the weights are transposed, as those of ``linear``.
_FEW_ROWS = 4
#: Elements up to which the submission takes most of the time.
_SMALL_WEIGHTS = 1 << 14


def _is_for_few_rows(operands: dict[str, Tensor], out: Out) -> bool:
    """Whether two matrices are few rows and large weights."""
    weights, engine = operands["weights"], operands["weights"].trace.engine
    same = {operands["src"].dtype, weights.dtype, out.dtype} == {"float32"}
    is_large = len(out.shape) == 2 and weights.size >= _SMALL_WEIGHTS
    if not same or not is_large or engine.kind is not _core.engine_kind.cpu:
        return False
    is_turned = weights.strides is not None and weights.strides[0] == 1 < weights.strides[1]
    return out.shape[0] == 1 or (out.shape[0] <= _FEW_ROWS and is_turned and has_avx512(engine))


# --- float32 on CPUs without AVX-512: benchmarks/products.py measures the alternatives

#: Minimum axis length for which ``gemm:jit`` uses more than one core.
_MIN_PARALLEL = 512
#: Minimum number of rows that amortizes copying the weights.
_ROWS_TO_COPY = 256
#: Number of columns from which rows are far apart in memory.
_FAR = 384


def _packing(engine: _core.Engine, *sizes: int) -> str | None:
    """Return the preferred implementation for axes of these sizes; None for oneDNN's choice.

    ``gemm:jit`` packs both operands; ``brg_matmul`` packs neither in these cases.
    """
    return "gemm:jit" if min(sizes) >= _MIN_PARALLEL and not has_avx512(engine) else None


def _is_slow_on_avx2(trace: Trace, operands: dict[str, Tensor], out: Out) -> bool:
    """Whether oneDNN's choice for two matrices may be much slower than an alternative."""
    same = {operands["src"].dtype, operands["weights"].dtype, out.dtype} == {"float32"}
    return same and len(out.shape) == 2 and not has_avx512(trace.engine)


def _arranged_for_avx2(a: Tensor, b: Tensor) -> tuple[Tensor, str | None]:
    """Return the second operand, possibly copied, and the preferred implementation.

    ``brg_matmul`` reads rows of weights in place unless their length is a power of two. If rows are
    far apart, it runs at a quarter to half of its speed.
    """
    (m, k), n = a.shape, b.shape[1]
    if a.strides is None or b.strides is None:
        return b, None
    if a.strides[1] > 1:  # A weight gradient: its second operand has many rows.
        return b, _packing(b.trace.engine, m, n)
    packing = _packing(b.trace.engine, m, k, n)
    is_far = n >= _FAR and n.bit_count() > 1 and m >= _ROWS_TO_COPY
    if b.strides[1] == 1 and (is_far or packing):
        copied = _in_order(b, (1, 0))
        b.trace.view(b, copied, lambda grad: grad)
        b = copied
    return b, packing if b.strides[0] == 1 else None


def _by_rows(weights: Tensor) -> Tensor:
    """Return 4-bit weights (K, N) in the order that CPU kernels prefer: 1.5 times as fast."""
    is_cpu = weights.trace.is_on_cpu
    if not is_cpu or weights.ndim != 2 or weights.shape[1] % 2 or weights.strides[1] == 1:
        return weights
    return _in_order(weights, (0, 1))


def _in_order(weights: Tensor, order: Sequence[int]) -> Tensor:
    """Return dense weights with their axes in ``order``, outermost first."""
    strides = layout.permuted_strides(weights.shape, order)
    desc = layout.strided(weights.shape, weights.dtype, strides)
    if weights.desc == desc:
        return weights
    # oneDNN cannot reorder from 4-bit to 4-bit.
    is_packed = weights.dtype in dtypes.PACKED
    source = weights.trace.convert(weights, "float32") if is_packed else weights
    return weights.trace.reorder(source, desc)


def _readable(x: Tensor) -> Tensor:
    result = _multipliable(x)
    if result is not x:
        x.trace.view(x, result, lambda grad: grad)
    return result


def swapped(x: Tensor) -> Tensor:
    """Return a view with the last two axes exchanged."""
    axes = list(range(x.ndim))
    axes[-2:] = axes[-1], axes[-2]
    return transpose(x, axes)


def _weight_gradient(a: Tensor, b: Tensor, dy: Tensor) -> Tensor:
    """Return the gradient of the second operand, in its axis order."""
    is_transposed = b.strides is not None and b.strides[-1] > b.strides[-2]
    if is_transposed and b.ndim == 2:
        return swapped(product(swapped(dy), a, dtype=b.dtype))
    return product(swapped(a), dy, dtype=b.dtype)


def _is_linear(entry: Entry, dy: Tensor) -> bool:
    """Whether the product is rows times transposed weights, as in ``linear``."""
    a, b, bias = (entry.inputs[n] for n in ("src", "weights", "bias"))
    is_transposed = b.strides is not None and b.strides == (1, b.shape[0])
    same = a.dtype == b.dtype == bias.dtype == dy.dtype == "float32"
    return is_transposed and same and a.ndim == 2 and bias.shape == (1, b.shape[1])


def _weight_and_bias_gradients(trace: Trace, entry: Entry, dy: Tensor) -> Grads:
    """Compute both gradients by one primitive: for few rows, submission dominates the cost."""
    a, b = entry.inputs["src"], entry.inputs["weights"]
    (m, k), n = a.shape, b.shape[1]
    descs: dict[str, Any] = {
        "src": layout.row_major((m, k), a.dtype),
        "weights": layout.row_major((n, k), a.dtype),
        "bias": layout.row_major((n,), a.dtype),
        "dst": layout.row_major((m, n), a.dtype),
    }
    parameters = {"prop_kind": _core.prop_kind.forward_training, **descs}
    hint = trace.descriptor("inner_product_forward", parameters, None)
    outs = {"diff_weights": Out((n, k), a.dtype), "diff_bias": Out((n,), a.dtype)}
    ask = {"src": descs["src"], "diff_dst": descs["dst"]}
    result = trace.primitive(
        "inner_product_backward_weights",
        {"src": a, "diff_dst": dy},
        outs,
        ask=ask,
        prefer=_packing(trace.engine, k, n),
        hint_fwd_pd=hint,
    )
    bias = reshape(result["diff_bias"], (1, n))
    return {"weights": swapped(result["diff_weights"]), "bias": bias}


@rule_for("inner_product_backward_weights")
def _inner_product_backward(trace: Trace, entry: Entry, grads: Grads, needed: set[str]) -> Grads:
    a, dy = entry.inputs["src"], entry.inputs["diff_dst"]
    slopes: Grads = {}
    if "diff_weights" in grads:
        weights = grads["diff_weights"]
        slopes = {"src": product(dy, weights), "diff_dst": product(a, swapped(weights))}
    if "diff_bias" in grads:
        bias = broadcast_to(grads["diff_bias"], dy.shape)
        slopes["diff_dst"] = add(slopes["diff_dst"], bias) if slopes else bias
    return slopes


@rule_for("matmul")
def _matmul(trace: Trace, entry: Entry, grads: Grads, needed: set[str]) -> Grads:
    a, b = entry.inputs["src"], entry.inputs["weights"]
    dy = trace.convert(grads["dst"], a.dtype)
    result = {}
    if "src" in needed:
        result["src"] = sum_to(product(dy, swapped(b), dtype=a.dtype), a.shape)
    if {"weights", "bias"} <= needed and _is_linear(entry, dy):
        return result | _weight_and_bias_gradients(trace, entry, dy)
    if "weights" in needed:
        result["weights"] = sum_to(_weight_gradient(a, b, dy), b.shape)
    if "bias" in needed:
        bias = entry.inputs["bias"]
        result["bias"] = trace.convert(sum_to(dy, bias.shape), bias.dtype)
    return result


def check_ranks(name: str, rank: int, **operands: Tensor) -> None:
    """Raise unless two operands of a product have ``rank`` axes, matching sizes and one dtype."""
    for argument, tensor in operands.items():
        if tensor.ndim != rank:
            raise ValueError(f"{name}: {argument} must have {rank} axes, got shape {tensor.shape}")
    (first, a), (second, b) = operands.items()
    if a.shape[:-2] != b.shape[:-2] or a.shape[-1] != b.shape[-2]:
        raise ValueError(
            f"{name}: {second} must have shape {(*a.shape[:-2], a.shape[-1])} but for its last "
            f"axis, got {b.shape}"
        )
    check_same_dtype(name, first, second, a, b)
    if a.dtype == "bool":
        raise TypeError(f"{name}: {first} must not be bool")
