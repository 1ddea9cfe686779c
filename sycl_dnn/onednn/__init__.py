# SPDX-License-Identifier: Apache-2.0
"""oneDNN's C++ API under its own names.

Every ``struct X : public primitive`` of ``dnnl.hpp`` is a function ``X(engine, *, ...)`` that
returns a ``PrimitiveDesc``; ``Primitive(pd).execute(stream, args)`` runs it. Parameters are named
as in the C++ constructors without ``_desc``, execution arguments as DNNL_ARG_* in lower case. C++
getters are properties. oneDNN's developer guide applies.
"""

from __future__ import annotations

import enum
from typing import Any

from sycl_dnn import _core, _location

_location.require_fit(_core)

from sycl_dnn._core import *  # noqa: F403
from sycl_dnn._core import (
    ARGUMENTS,
    ROWS,
    RUNTIME_DIM_VAL,
    RUNTIME_F32_VAL,
    RUNTIME_S32_VAL,
    RUNTIME_SIZE_VAL,
    Engine,
    MemoryDesc,
    PostOps,
    Primitive,
    PrimitiveAttr,
    PrimitiveDesc,
    Stream,
)
from sycl_dnn.onednn import faults  # noqa: F401  (watches new descriptors)
from sycl_dnn.onednn.allocator import Allocator, make_allocator, make_engine_with_allocator
from sycl_dnn.onednn.blas import gemm_s8s8s32, gemm_u8s8s32, sgemm
from sycl_dnn.onednn.memory import (
    Memory,  # type: ignore[assignment]
    desc_of_array,
)

#: Execution arguments: ``arg.src`` is DNNL_ARG_SRC.
arg = enum.IntEnum("arg", ARGUMENTS, module=__name__)  # type: ignore[misc]

#: All primitives, by their names in dnnl.hpp.
PRIMITIVES: tuple[str, ...] = tuple(ROWS)

#: All format tags, including aliases; built on first use (see ``__getattr__``).
format_tag: type[enum.IntEnum]

__all__ = [
    "ARGUMENTS",
    "Allocator",
    "PRIMITIVES",
    "RUNTIME_DIM_VAL",
    "RUNTIME_F32_VAL",
    "RUNTIME_S32_VAL",
    "RUNTIME_SIZE_VAL",
    "Engine",
    "Memory",
    "MemoryDesc",
    "PostOps",
    "Primitive",
    "PrimitiveAttr",
    "PrimitiveDesc",
    "Stream",
    "arg",
    "desc_of_array",
    "format_tag",
    "gemm_s8s8s32",
    "gemm_u8s8s32",
    "make_allocator",
    "make_engine_with_allocator",
    "sgemm",
    *(n for n in dir(_core) if n[0].islower()),
]


def __getattr__(name: str) -> Any:
    # Building 1,674 members takes 10 ms, so it is deferred; tags may also be passed as strings.
    if name == "format_tag":
        tags = enum.IntEnum("format_tag", _core.format_tags(), module=__name__)  # type: ignore[misc]
        globals()[name] = tags
        return tags
    raise AttributeError(f"module 'sycl_dnn.onednn' has no attribute {name!r}")
