# SPDX-License-Identifier: Apache-2.0
"""NumPy's npz archives, with a note of the dtypes that NumPy lacks."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sycl_dnn.io.host_arrays import Content, Stored, check_content
from sycl_dnn.onednn import dtypes

_NOTE = "sycl_dnn.note"


def write(path: Path, stored: Mapping[str, Stored], plain: dict[str, Any]) -> None:
    """Write arrays and plain values."""
    carried = {n: s.dtype for n, s in stored.items() if s.dtype in dtypes.CARRIED}
    note = np.frombuffer(json.dumps({"dtypes": carried, "plain": plain}).encode(), "u1")
    entries: dict[str, Any] = {f"a.{n}": s.values for n, s in stored.items()}
    entries[_NOTE] = note
    with path.open("wb") as file:
        np.savez(file, **entries)


def read(path: Path) -> Content:
    """Read an archive written by ``write``, or any archive of arrays."""
    with np.load(path, allow_pickle=False) as file:
        if not hasattr(file, "files"):
            raise zipfile.BadZipFile("it holds a single array")
        entries = {name: file[name] for name in file.files}
    note = entries.pop(_NOTE, None)
    metadata = {} if note is None else json.loads(bytes(note))
    carried, plain = metadata.get("dtypes", {}), metadata.get("plain", {})
    arrays = {name.removeprefix("a."): values for name, values in entries.items()}
    stored = {n: Stored(v, carried.get(n, v.dtype.name)) for n, v in arrays.items()}
    check_content(stored, plain)
    return stored, plain
