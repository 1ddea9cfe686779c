# SPDX-License-Identifier: Apache-2.0
"""safetensors files, by the library of that name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sycl_dnn.io.host_arrays import Content, Stored, check_content
from sycl_dnn.onednn import dtypes

#: Metadata key of the plain values.
_NOTE = "sycl_dnn"
#: Names of the dtypes in files.
_NAMES = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I64": "int64",
    "I32": "int32", "I16": "int16", "I8": "int8", "U64": "uint64", "U32": "uint32",
    "U16": "uint16", "U8": "uint8", "BOOL": "bool", "F8_E4M3": "float8_e4m3",
    "F8_E5M2": "float8_e5m2",
}  # fmt: skip
#: Dtype names that differ in the library.
_LONG = {"float8_e4m3": "float8_e4m3fn"}


def library() -> Any:
    """Import and return ``safetensors``.

    Raises ImportError if it is not installed, or too old to accept buffers.
    """
    try:
        import safetensors
    except ImportError as error:
        raise ImportError(f"{_LACK} ({error})") from None
    if not hasattr(safetensors, "TensorSpec"):
        raise ImportError(f"{_LACK} (found {safetensors.__version__})")
    return safetensors


_LACK = (
    "files of safetensors need the library safetensors, 0.8 or newer: "
    "pip install 'sycl_dnn[io]', or save as .npz"
)


def write(path: Path, stored: Mapping[str, Stored], plain: dict[str, Any]) -> None:
    """Write arrays and plain values."""
    safetensors = library()
    specs = {}
    for name, s in stored.items():
        if s.dtype not in _NAMES.values() or name == "__metadata__":
            raise TypeError(f"save: {name} must be of a dtype of safetensors, got {s.dtype}")
        specs[name] = safetensors.TensorSpec(
            dtype=_LONG.get(s.dtype, s.dtype), shape=s.values.shape,
            data_ptr=s.values.ctypes.data, data_len=s.values.nbytes,
        )  # fmt: skip
    note = {_NOTE: json.dumps(plain)} if plain else None
    safetensors.serialize_file(specs, path, metadata=note)


def read(path: Path) -> Content:
    """Read any safetensors file."""
    safetensors = library()
    stored = {}
    for name, entry in safetensors.deserialize(path.read_bytes()):
        dtype = _NAMES.get(entry["dtype"])
        if dtype is None:
            raise ValueError(f"{name} has dtype {entry['dtype']}")
        kind = np.dtype(dtypes.CARRIED.get(dtype, dtype))
        values = np.frombuffer(entry["data"], kind).reshape(entry["shape"])
        stored[name] = Stored(values, dtype)
    with safetensors.safe_open(path, "numpy") as file:
        metadata = file.metadata() or {}
    plain = json.loads(metadata.get(_NOTE, "{}"))
    check_content(stored, plain)
    return stored, plain
