# SPDX-License-Identifier: Apache-2.0
"""Matrices that stay in the blocks of a GGUF file: products with them, and their rows."""

from __future__ import annotations

from typing import Any, NamedTuple

from sycl_dnn import _core
from sycl_dnn import functional as F
from sycl_dnn.call.operation import operation
from sycl_dnn.functional.product.product import product, recorded
from sycl_dnn.kernels import packed_blocks
from sycl_dnn.llm.composed_decoding import composed_rows
from sycl_dnn.trace.steps import Entry, Out
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import untaped


class PackedMatrix(NamedTuple):
    """Rows of blocks.

    Attributes
    ----------
    data : array (n, bytes) of uint8
    kind : str
        Of ``BLOCKS``.
    """

    data: Any
    kind: str


def packed_linear(x: Any, data: Any, kind: str) -> Any:
    """Return ``x @ weights.T`` in the dtype of ``x``.

    Parameters
    ----------
    x : array (*, k)
    data : array (n, bytes) of uint8
    kind : str

    Notes
    -----
    Up to eight rows of ``x`` are multiplied by a kernel that decodes the blocks as it reads them,
    in float32. For more rows the matrix is decoded first. CPUs with AMX then multiply in bfloat16,
    whose rounding is less than that of the blocks, and add up in float32. The gradient of ``x`` is
    a product in its dtype; the matrix has none.
    """
    made = _linear(F.reshape(x, (-1, x.shape[-1])), data, kind)
    return F.reshape(made, (*x.shape[:-1], data.shape[0]))


@operation
def _linear(x: Any, data: Any, kind: str) -> Any:
    with untaped(x.trace):
        made = packed_blocks.packed_product(x, data, kind)
        if made is None:
            dtype = _of_many_rows(x, kind)
            weights = F.transpose(_decoded(data, kind, dtype), 0, 1)
            given = {"src": x.trace.convert(x, dtype), "weights": weights}
            made = recorded(given, Out((x.shape[0], data.shape[0]), "float32"))
        made = x.trace.convert(made, x.dtype)

    def rule(entry: Entry, grads: dict[str, Tensor]) -> dict[str, Tensor]:
        return {"0": product(grads["dst"], _decoded(data, kind, x.dtype))}

    x.trace.tape.append(Entry("packed_linear", {"0": x}, {"dst": made}, rule=rule))
    return made


def _of_many_rows(x: Tensor, kind: str) -> str:
    """Return the dtype in which many rows are multiplied."""
    if kind == "F16":
        return str(x.dtype)  # bfloat16 has fewer digits
    bits = _core.cpu_isa.avx512_core_amx.value
    has_tiles = _core.get_effective_cpu_isa().value & bits == bits
    is_cpu = x.trace.engine.kind is _core.engine_kind.cpu
    return "bfloat16" if is_cpu and has_tiles else str(x.dtype)


@operation
def decoded(data: Any, kind: str, dtype: str = "float32") -> Any:
    """Return the weights (n, k) of rows of blocks (n, bytes)."""
    return _decoded(data, kind, dtype)


def _decoded(data: Tensor, kind: str, dtype: str) -> Tensor:
    made = packed_blocks.packed_rows(data, kind, dtype)
    return composed_rows(data, kind, dtype) if made is None else made
