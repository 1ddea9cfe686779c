# SPDX-License-Identifier: Apache-2.0
"""torch's ``.pt`` and ``.pth`` state dicts, if torch is installed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sycl_dnn.io.host_arrays import PLAIN, Content, Stored, check_content
from sycl_dnn.onednn import dtypes

#: torch's names for dtypes that NumPy stores as raw bits.
_LONG = {"float8_e4m3": "float8_e4m3fn"}
_SHORT = {long: short for short, long in _LONG.items()}


def library(what: str = ".pt files", remedy: str = "save as .safetensors or .npz") -> Any:
    """Import and return ``torch``; the error says what needs it.

    Raises ImportError if it is not installed.
    """
    try:
        import torch
    except ImportError as error:
        raise ImportError(
            f"{what} need{'' if what.endswith('s') else 's'} torch, which is not installed "
            f"({error}); {remedy}"
        ) from None
    return torch


def write(path: Path, stored: Mapping[str, Stored], plain: dict[str, Any]) -> None:
    """Write a dict of tensors and plain values."""
    torch = library()
    torch.save(plain | {name: tensor_of(torch, s) for name, s in stored.items()}, path)


def tensor_of(torch: Any, stored: Stored) -> Any:
    """Copy an array to a tensor on the CPU."""
    tensor = torch.from_numpy(stored.values.copy())
    if stored.dtype not in dtypes.CARRIED:
        return tensor
    return tensor.view(getattr(torch, _LONG.get(stored.dtype, stored.dtype)))


def read(path: Path) -> Content:
    """Read nested dicts of tensors; no code in the file is run (``weights_only``)."""
    torch = library()
    content = torch.load(path, map_location="cpu", weights_only=True)
    if not isinstance(content, Mapping):
        raise ValueError(f"it holds no dict but {type(content).__name__}")
    stored: dict[str, Stored] = {}
    plain: dict[str, Any] = {}
    for name, value in _flat(content, ""):
        if name in stored or name in plain:
            raise ValueError(f"two entries have the name {name!r}")
        if isinstance(value, torch.Tensor):
            stored[name] = _stored(torch, name, value)
        elif isinstance(value, PLAIN):
            plain[name] = value
        elif value is not None:
            raise ValueError(f"{name} is a {type(value).__name__}")
    check_content(stored, plain)
    return stored, plain


def _flat(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        pairs: Any = value.items()
    elif isinstance(value, (list, tuple)):
        pairs = enumerate(value)
    else:
        yield path, value
        return
    for key, inner in pairs:
        yield from _flat(inner, f"{path}.{key}" if path else str(key))


def _stored(torch: Any, name: str, tensor: Any) -> Stored:
    if tensor.layout != torch.strided or tensor.is_quantized:
        raise ValueError(f"{name} is a tensor of {tensor.dtype} and {tensor.layout}")
    tensor = tensor.detach().resolve_conj().resolve_neg().contiguous()
    dtype = str(tensor.dtype).removeprefix("torch.")
    dtype = _SHORT.get(dtype, dtype)
    carrier = dtypes.CARRIED.get(dtype)
    if carrier is not None:
        bits = torch.uint8 if np.dtype(carrier).itemsize == 1 else torch.int16
        return Stored(tensor.view(bits).numpy().view(carrier), dtype)
    return Stored(tensor.numpy(), dtype)
