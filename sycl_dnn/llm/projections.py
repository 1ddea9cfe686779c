# SPDX-License-Identifier: Apache-2.0
"""Projections and embedding tables, in floating point or int8."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from sycl_dnn import functional as F
from sycl_dnn.call.operation import operation
from sycl_dnn.llm.layer_norms import RMSNorm, Weights, activated
from sycl_dnn.llm.packed_matrices import PackedMatrix, looked_up, packed_linears
from sycl_dnn.llm.temporaries import temporary
from sycl_dnn.nn.module import Module
from sycl_dnn.trace.values import Tensor

#: Maximum number of rows for which projections are joined: beyond, splitting costs more.
_FEW_ROWS = 16
#: Rows of a matrix that are quantized at a time: temporaries stay small.
_ROWS_AT_ONCE = 1024
#: Steps of the low part of a row per step of the high part.
_STEPS = 254


@operation
def _split(x: Any) -> Any:
    """Quantize rows (m, k) to two int8 parts, (2 * m, k), with scales (m,).

    A row is ``scale * (high + low / 254)``, where ``low`` is the rounding error of ``high``. Both
    are rows of one integer product, so the other matrix is read once.
    """
    rows = F.astype(x, "float32")
    scale = F.mul(F.amax(F.abs(rows), -1), 1.0 / 127.0)
    steps = F.div(rows, F.unsqueeze(F.maximum(scale, 2.0**-120), 1))
    high = F.round(steps)
    low = F.round(F.mul(F.sub(steps, high), float(_STEPS)))
    return F.astype(F.cat([high, low], 0), "int8"), scale


@operation
def _added(products: Any, scale: Any, bias: Any = None) -> Any:
    """Return ``scale * (high + low / 254) + bias`` for the products of both parts."""
    high, low = F.chunk(products, 2, 0)
    sums = F.mul(F.add(high, F.mul(low, 1.0 / _STEPS)), F.unsqueeze(scale, 1))
    return sums if bias is None else F.add(sums, bias)


def integer_product(x: Any, weight: Any, scale: Any, bias: Any) -> Any:
    """Return ``x @ weight.T + bias`` for int8 weights (n, k), with ``x`` quantized to 16 bits.

    ``x``: array (*, k); ``weight``: array (n, k) of int8; ``scale``: array (n,); ``bias``: array
    (n,).
    """
    return _multiplied(_rows(x), x, weight, scale, bias)


def _rows(x: Any) -> Any:
    return _split(F.reshape(x, (-1, x.shape[-1])))


def _multiplied(rows: Any, x: Any, weight: Any, scale: Any, bias: Any) -> Any:
    parts, row_scale = rows
    # In a trace it is a constant of the program.
    unit_scale = F.ones((), device=None if isinstance(parts, Tensor) else parts.sycl_queue)
    result = F.quantized_linear(
        F.QuantizedTensor(parts, unit_scale), F.QuantizedTensor(weight, scale, None, 0)
    )
    result = F.astype(_added(result, row_scale, bias), str(x.dtype))
    return F.reshape(result, (*x.shape[:-1], weight.shape[0]))


def products(parts: Sequence[Any], x: Any, input_norm: Any) -> list[Any]:
    """Apply several projections, tables or replacement modules to one normalized input."""
    if _share_packed_kind(parts):
        outputs = _packed(parts, x, input_norm)
        return [
            y if p.bias is None else F.add(y, p.bias) for y, p in zip(outputs, parts, strict=True)
        ]
    x = input_norm(x)
    is_whole = all(getattr(p, "weight_scale", None) is not None for p in parts)
    if len(parts) == 1 or not is_whole:
        return [p.product(x) if isinstance(p, Table) else p(x) for p in parts]
    rows = _rows(x)
    if math.prod(x.shape[:-1]) > _FEW_ROWS:
        return [_multiplied(rows, x, p.weight, p.weight_scale, p.bias) for p in parts]
    # One product; the joined weights are constants of the program.
    weight, scale = F.cat([p.weight for p in parts], 0), F.cat([p.weight_scale for p in parts], 0)
    biases = [p.bias for p in parts if p.bias is not None]
    outputs = _multiplied(rows, x, weight, scale, F.cat(biases, 0) if biases else None)
    return list(F.split(outputs, [p.weight.shape[0] for p in parts], -1))


def _share_packed_kind(parts: Sequence[Any]) -> bool:
    """Whether all matrices are packed in blocks of one kind."""
    kinds = {getattr(p, "packed_kind", "") for p in parts}
    return len(kinds) == 1 and all(kinds)


def _packed(parts: Sequence[Any], x: Any, input_norm: Any, gate: str = "") -> list[Any]:
    """Return the products of packed matrices without their biases."""
    matrices = [p.weight for p in parts], parts[0].packed_kind
    if isinstance(input_norm, RMSNorm):
        return packed_linears(
            x, *matrices, norm=input_norm.factors(), eps=input_norm.eps, gate=gate
        )
    return packed_linears(input_norm(x), *matrices, gate=gate)


def gated_product(parts: Sequence[Any], x: Any, input_norm: Any, activation: str) -> Any:
    """Apply two projections to one normalized input; multiply the activated first by the second."""
    if _share_packed_kind(parts) and all(p.bias is None for p in parts):
        return _packed(parts, x, input_norm, activation)[0]
    gate, up = products(parts, x, input_norm)
    return F.mul(activated(gate, activation), up)


def product_added(part: Any, x: Any, residual: Any) -> Any:
    """Apply a projection, and add ``residual`` unless it is None."""
    if residual is None:
        return part(x)
    if isinstance(part, Projection) and part.packed_kind and part.bias is None:
        return packed_linears(x, [part.weight], part.packed_kind, residual)[0]
    return F.add(residual, part(x))


class Projection(Module):
    """``x @ weight.T + bias``; with ``is_transposed``, ``x @ weight + bias``.

    Weights of int8 have a ``weight_scale`` for each output, packed ones a ``packed_kind``.
    """

    def __init__(
        self, weights: Weights, name: str, n_in: int, n_out: int, bias: bool,
        is_transposed: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        self.is_transposed = is_transposed
        shape = (n_in, n_out) if is_transposed else (n_out, n_in)
        _add_matrix(self, weights(f"{name}.weight", shape))
        self.is_transposed = is_transposed and "float" in str(self.weight.dtype)
        self.register_parameter("bias", weights(f"{name}.bias", (n_out,)) if bias else None)

    def forward(self, x: Any) -> Any:
        """Map (*, in) to (*, out)."""
        if self.weight_scale is not None:
            return integer_product(x, self.weight, self.weight_scale, self.bias)
        if self.packed_kind:
            output = packed_linears(x, [self.weight], self.packed_kind)[0]
        elif self.is_transposed:
            output = F.matmul(x, self.weight)
        else:
            return F.linear(x, self.weight, self.bias)
        return output if self.bias is None else F.add(output, self.bias)

    product = forward


class Table(Module):
    """Table lookup, as ``nn.Embedding``, and the product with all rows."""

    def __init__(self, weights: Weights, name: str, n: int, width: int) -> None:
        super().__init__()
        self.bias = None
        _add_matrix(self, weights(f"{name}.weight", (n, width)))

    def forward(self, ids: Any) -> Any:
        """Look up rows; returns (*, width)."""
        if self.packed_kind:
            return looked_up(self.weight, ids, self.packed_kind)
        rows = F.embedding(ids, self.weight)
        if self.weight_scale is None:
            return rows
        scale = F.embedding(ids, F.unsqueeze(self.weight_scale, 1))
        return F.mul(F.astype(rows, "float32"), scale)

    def product(self, x: Any) -> Any:
        """Multiply (*, width) by every row."""
        if self.weight_scale is not None:
            return integer_product(x, self.weight, self.weight_scale, None)
        if self.packed_kind:
            return packed_linears(x, [self.weight], self.packed_kind)[0]
        return F.linear(x, self.weight)


def _add_matrix(module: Module, weight: Any) -> None:
    """Register a weight: a parameter, integers with their scales, or blocks."""
    module.packed_kind = weight.kind if isinstance(weight, PackedMatrix) else ""
    if isinstance(weight, (F.QuantizedTensor, PackedMatrix)):
        module.register_buffer("weight", weight.data)
    else:
        module.register_parameter("weight", weight)
    scale = weight.scale if isinstance(weight, F.QuantizedTensor) else None
    module.register_buffer("weight_scale", scale)


def to_int8(values: Any, device: Any) -> Any:
    """Quantize a NumPy matrix to int8 with one scale per row."""
    data, scale = temporary(values.shape, np.int8), np.empty(len(values), np.float32)
    for first in range(0, len(values), _ROWS_AT_ONCE):
        part = slice(first, first + _ROWS_AT_ONCE)
        rows = np.asarray(values[part], np.float32)
        scale[part] = np.maximum(np.abs(rows).max(1) / 127, np.float32(2.0**-120))
        data[part] = np.rint(rows / scale[part, None])
    return F.QuantizedTensor(
        F.asarray(data, sycl_queue=device), F.asarray(scale, sycl_queue=device), None, 0
    )
