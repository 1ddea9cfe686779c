# SPDX-License-Identifier: Apache-2.0
"""Matrices that stay in the blocks of a GGUF file: products with them, and their rows."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from sycl_dnn import functional as F
from sycl_dnn.call.operation import operation
from sycl_dnn.functional.product.product import product, recorded
from sycl_dnn.kernels import packed_blocks, tiled_blocks
from sycl_dnn.kernels.tiled_blocks import TILE, TILED
from sycl_dnn.llm.composed_decoding import composed_rows
from sycl_dnn.llm.layer_norms import activated
from sycl_dnn.trace.capabilities import has_fast_bfloat16
from sycl_dnn.trace.steps import Entry, Out
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import untaped


class PackedMatrix(NamedTuple):
    """Rows of blocks.

    ``data``: array (n, bytes) of uint8; ``kind``: of ``BLOCKS`` or ``TILED``.
    """

    data: Any
    kind: str

    def for_cpu(self) -> PackedMatrix:
        """Return the matrix in tiles if that is faster on CPUs; ``data`` is a NumPy array."""
        kind = f"{self.kind} in tiles"
        if kind not in TILED or self.data.shape[0] % TILE:
            return self
        return PackedMatrix(tiled_blocks.in_tiles(self.data, self.kind), kind)


def packed_linears(
    x: Any, matrices: Sequence[Any], kind: str, added: Any = None, norm: Any = None,
    eps: float = 0.0, gate: str = "",
) -> list[Any]:  # fmt: skip
    """Return ``x @ weights.T`` in the dtype of ``x``, for each matrix.

    ``x``: array (*, k). ``matrices``: sequence of array (n, bytes) of uint8. ``added``: array (*,
    n), added to the product with a single matrix. ``norm``: array (k,), ``x`` is ``F.rms_norm``
    with these weights and ``eps`` first. ``gate``: name of the activation of the first product,
    which multiplies the second; or "".

    Up to eight rows of ``x`` are multiplied by one kernel that decodes the blocks as it reads them,
    in float32; on CPUs it also normalizes and activates, unless gradients are needed. For more rows
    each matrix is decoded first. CPUs with instructions for it (``avx512_core_bf16``, AMX) then
    multiply in bfloat16, whose rounding errors are below those of the blocks, and accumulate in
    float32. The gradient of ``x`` is a product in its dtype; matrices have none.
    """
    rows = None if added is None else F.reshape(added, (-1, added.shape[-1]))
    flat = F.reshape(x, (-1, x.shape[-1]))
    outputs = _linears(flat, tuple(matrices), kind, rows, norm, eps, gate)
    return [F.reshape(y, (*x.shape[:-1], y.shape[1])) for y in outputs]


@operation
def _linears(x: Any, matrices: Any, kind: str, added: Any, norm: Any, eps: float, gate: str) -> Any:
    around = packed_blocks.Around(added, norm, eps, gate)
    if norm is not None or gate:
        is_inference = x.trace.is_compiled and not x.trace.training
        if is_inference and x.dtype == "float32" and around.fits(x):
            outputs = _by_kernel(x, matrices, kind, around)
            if outputs is not None:
                return tuple(outputs)
        x = x if norm is None else F.rms_norm(x, norm.shape, norm, eps)
    outputs = _products(x, matrices, kind, added)
    return (F.mul(activated(outputs[0], gate), outputs[1]),) if gate else outputs


def _products(x: Tensor, matrices: Sequence[Tensor], kind: str, added: Tensor | None) -> Any:
    with untaped(x.trace):
        is_float = x.dtype == "float32"
        around = packed_blocks.Around(added if is_float else None)
        outputs = _by_kernel(x, matrices, kind, around)
        if outputs is None:
            outputs = [_of_decoded(x, data, kind) for data in matrices]
            is_float = False
        outputs = [x.trace.convert(y, x.dtype) for y in outputs]
        if added is not None and not is_float:
            outputs = [F.add(outputs[0], added)]

    def rule(entry: Entry, grads: dict[str, Tensor]) -> dict[str, Tensor]:
        parts = [product(g, _decoded(matrices[int(i)], kind, x.dtype)) for i, g in grads.items()]
        result = {"x": functools.reduce(F.add, parts)}
        return result if added is None else result | {"added": grads["0"]}

    inputs = {"x": x} if added is None else {"x": x, "added": added}
    results = {str(i): y for i, y in enumerate(outputs)}
    x.trace.tape.append(Entry("packed_linears", inputs, results, rule=rule))
    return tuple(outputs)


def _by_kernel(x: Tensor, matrices: Sequence[Tensor], kind: str, around: Any) -> Any:
    if kind in TILED:
        return tiled_blocks.tiled_products(x, matrices, kind, around)
    return packed_blocks.packed_products(x, matrices, kind, around)


def _of_decoded(x: Tensor, data: Tensor, kind: str) -> Tensor:
    dtype = dtype_of_many_rows(x, kind)
    weights = _columns(data, kind, dtype)
    operands = {"src": x.trace.convert(x, dtype), "weights": weights}
    return recorded(operands, Out((x.shape[0], data.shape[0]), "float32"))


def dtype_of_many_rows(x: Tensor, kind: str) -> str:
    """Return the dtype in which more than ``MOST_ROWS`` rows are multiplied.

    ``x``: tensor (*, k). ``kind``: of the matrix; "" if it is not packed.
    """
    if kind in ("", "F16") or math.prod(x.shape[:-1]) <= packed_blocks.MOST_ROWS:
        return str(x.dtype)  # bfloat16 has fewer digits than float16
    return "bfloat16" if has_fast_bfloat16(x.trace.engine) else str(x.dtype)


@operation
def decoded(data: Any, kind: str, dtype: str = "float32") -> Any:
    """Return the weights (n, k) of rows of blocks (n, bytes)."""
    return _decoded(data, kind, dtype)


def _columns(data: Tensor, kind: str, dtype: str) -> Tensor:
    """Return the transposed weights (k, n)."""
    columns = tiled_blocks.tiled_columns(data, kind, dtype) if kind in TILED else None
    return F.transpose(_decoded(data, kind, dtype), 0, 1) if columns is None else columns


def _decoded(data: Tensor, kind: str, dtype: str) -> Tensor:
    if kind in TILED:
        ids = np.arange(data.shape[0], dtype=np.int32)
        return _decoded(rows_of_tiles(data, F.tensor(ids)), TILED[kind], dtype)
    weights = packed_blocks.packed_rows(data, kind, dtype)
    return composed_rows(data, kind, dtype) if weights is None else weights


def looked_up(data: Any, ids: Any, kind: str) -> Any:
    """Return rows (*, k) of a packed matrix, in float32.

    ``data``: array (n, bytes) of uint8; ``ids``: array (*).
    """
    flat = F.reshape(ids, (-1,))
    rows = rows_of_tiles(data, flat) if kind in TILED else F.embedding(flat, data)
    weights = decoded(rows, TILED.get(kind, kind))
    return F.reshape(weights, (*ids.shape, -1))


def rows_of_tiles(data: Any, ids: Any) -> Any:
    """Return rows (m, bytes) of blocks of a matrix in tiles (n, bytes)."""
    n_bytes = data.shape[1]
    tiles = F.embedding(F.floor_divide(ids, TILE), F.reshape(data, (-1, TILE * n_bytes)))
    tiles = F.reshape(tiles, (-1, n_bytes // 2, TILE, 2))
    row_in_tile = F.reshape(F.remainder(ids, TILE), (-1, 1, 1, 1))
    return F.reshape(F.take_along_dim(tiles, row_in_tile, 2), (-1, n_bytes))
