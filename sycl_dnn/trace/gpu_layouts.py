# SPDX-License-Identifier: Apache-2.0
"""Layouts that oneDNN 3.13 accepts on GPUs but reads wrongly; others are requested."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sycl_dnn._core import Engine, MemoryDesc, engine_kind
from sycl_dnn.trace import layout
from sycl_dnn.trace.steps import Layout, Out, describe
from sycl_dnn.trace.values import Tensor


def is_right(row: str, engine: Engine, src: MemoryDesc, dst: MemoryDesc) -> bool:
    """Whether a primitive reads and writes these layouts correctly."""
    return row != "softmax_forward" or engine.kind is engine_kind.cpu or _is_safe(src, dst)


def _is_safe(desc: MemoryDesc, like: MemoryDesc) -> bool:
    """Whether a GPU's softmax reads and writes both layouts correctly.

    ``ocl:xe`` computes row-major offsets for any plain layout but channels-last ones, and
    ``ocl:simple`` reads with the strides of dst.
    """
    if not (desc.is_plain and layout.is_dense(desc) and like.is_plain and layout.is_dense(like)):
        return False
    if desc.dims != like.dims or desc.strides != like.strides:
        return False
    row_major = layout.row_major_strides(desc.dims)
    free = [n == 1 for n in desc.dims]
    is_row_major = all(f or s == r for f, s, r in zip(free, desc.strides, row_major, strict=True))
    return is_row_major or layout.is_channels_last(desc)


def safe_softmax(
    engine: Engine,
    inputs: Mapping[str, Tensor],
    outputs: Mapping[str, Out],
    ask: Mapping[str, Layout],
) -> tuple[Mapping[str, Out], Mapping[str, Layout]]:
    """Return the layouts to request from a softmax on this engine."""
    src, out = inputs["src"], outputs["dst"]
    read = describe(src.shape, src.dtype, ask["src"]) if "src" in ask else src.desc
    if is_right("softmax_forward", engine, read, out.desc()):
        return outputs, ask
    return (
        {**outputs, "dst": replace(out, layout="row_major")},
        {**ask, "src": "row_major"},
    )
