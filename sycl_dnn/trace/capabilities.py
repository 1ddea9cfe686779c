# SPDX-License-Identifier: Apache-2.0
"""Capabilities of a device: arithmetic by dtype, 8-bit sums, cache sizes."""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import Any

from sycl_dnn import _core
from sycl_dnn.errors import Unimplemented
from sycl_dnn.onednn.fault import cpu_has_avx512, cpu_saturates
from sycl_dnn.trace import layout


@functools.lru_cache(64)
def multiplies(engine: Any, dtype: str) -> bool:
    """Return whether an engine multiplies matrices of a dtype.

    A CPU without AVX-512 mostly has no bfloat16, and few have float16.

    ``dtype``: a floating-point dtype.
    """
    desc = layout.row_major((16, 16), dtype)
    try:
        _core.matmul(engine, src=desc, weights=desc, dst=desc)
    except Unimplemented:
        return False
    return True


@functools.lru_cache(64)
def joins(engine: Any, dtype: str) -> bool:
    """Return whether an engine has a concat for a dtype that is faster than a copy of each part.

    A CPU without instructions for 16-bit floats copies them by oneDNN's slow reference.

    ``dtype``: of a tensor that oneDNN can describe.
    """
    if engine.kind is not _core.engine_kind.cpu:
        return True
    desc = layout.row_major((16, 16), dtype)
    try:
        pd = _core.concat(engine, srcs=[desc, desc], concat_dimension=1)
    except Unimplemented:
        return False
    return not pd.impl_info.startswith("ref")


# --- How much a device's caches hold

_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_UNITS = {"K": 10, "M": 20, "G": 30}


def cache_bytes(device: Any, folder: Path = _CACHES) -> int:
    """Return the size of the device's largest cache in bytes."""
    sizes = [device.global_mem_cache_size]
    # Without a pattern, whose compilation takes longer than most passes.
    for index in os.listdir(folder) if device.is_cpu and folder.is_dir() else ():
        if not (file := folder / index / "size").is_file():
            continue
        text = file.read_text().strip()
        sizes.append(int(text[:-1]) << _UNITS[text[-1]] if text[-1] in _UNITS else int(text))
    return max(sizes)


# --- Whether an engine sums products of 8-bit integers exactly


def saturates(engine: _core.Engine) -> bool:
    """Whether oneDNN's products of int8 and uint8 are wrong for large values."""
    return engine.kind is _core.engine_kind.cpu and cpu_saturates()


def has_fast_bfloat16(engine: _core.Engine) -> bool:
    """Whether the engine is a CPU with instructions for products of bfloat16: AVX-512 or AMX."""
    bits = _core.cpu_isa.avx512_core_bf16.value
    is_cpu = engine.kind is _core.engine_kind.cpu
    return is_cpu and _core.get_effective_cpu_isa().value & bits == bits


def has_avx512(engine: _core.Engine) -> bool:
    """Whether oneDNN writes code with AVX-512 for the engine; true for everything but CPUs."""
    return engine.kind is not _core.engine_kind.cpu or cpu_has_avx512()
