# SPDX-License-Identifier: Apache-2.0
"""``save`` and ``load``: trees of arrays as safetensors or npz, without pickle."""

from __future__ import annotations

import contextlib
import json
import math
import os
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import dpnp
import numpy as np

import sycl_dnn
from sycl_dnn import tree
from sycl_dnn.nn.module import Module
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace import nested_arguments
from sycl_dnn.trace.array import Array

#: Key of the numbers, texts and dtypes that a file has beside its arrays.
_NOTE = "sycl_dnn"
_SUFFIXES = (".safetensors", ".npz")
#: Dtypes by safetensors' names.
_NAMES = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I64": "int64",
    "I32": "int32", "I16": "int16", "I8": "int8", "U64": "uint64", "U32": "uint32",
    "U16": "uint16", "U8": "uint8", "BOOL": "bool", "F8_E4M3": "float8_e4m3",
    "F8_E5M2": "float8_e5m2",
}  # fmt: skip
#: Bytes of the longest header of safetensors.
_LONGEST = 100_000_000
_PLAIN = (bool, int, float, str)


class _Stored(NamedTuple):
    """An array on the host: its numbers or bits, and what they are."""

    values: np.ndarray
    dtype: str


def save(path: str | os.PathLike[str], value: Any) -> None:
    """Write a tree of arrays to a file.

    The file appears whole or not at all: it is written beside its place and renamed.

    Parameters
    ----------
    path : path
        Ends in ``.safetensors`` or ``.npz``.
    value : tree
        Of arrays, numbers and texts: a module, the state of an optimiser, a dict of both. Of a
        module alone the names are those of its state dict, as torch's files have them.

    Raises
    ------
    ValueError
        The suffix is another one, or two leaves have one name.
    TypeError
        A leaf is neither array, number nor text; the error names it.

    Notes
    -----
    Source: https://github.com/huggingface/safetensors, "Format".

    Examples
    --------
    >>> import sycl_dnn, tempfile, os
    >>> from sycl_dnn import nn
    >>> path = os.path.join(tempfile.mkdtemp(), "net.npz")
    >>> net, other = nn.Linear(2, 3), nn.Linear(2, 3)
    >>> sycl_dnn.save(path, net)
    >>> bool((sycl_dnn.load(path, other).weight == net.weight).all())
    True
    """
    suffix = _suffix("save", path)
    stored, plain = _taken_apart(value)
    write = _write_safetensors if suffix == ".safetensors" else _write_npz
    with _in_place_of(Path(path)) as temporary:
        write(temporary, stored, plain)


def load(path: str | os.PathLike[str], into: Any = None, *, device: Any = None) -> Any:
    """Read what ``save`` wrote, or any file of safetensors.

    Parameters
    ----------
    path : path
    into : tree, optional
        Nested as what was saved. A module alone takes the arrays over (``load_state_dict``) and is
        returned; of other trees a new one is made.
    device : dpctl.SyclQueue, optional
        Where the arrays go; where those of ``into`` are, or ``sycl_dnn.default_queue()``.

    Returns
    -------
    dict of str to array, or a tree as ``into``

    Raises
    ------
    ValueError
        The file is truncated or no such file, has other names, shapes or dtypes than ``into``.
        Nothing is loaded then. Nothing in a file is run.
    FileNotFoundError
        There is none.
    """
    suffix = _suffix("load", path)
    read = _read_safetensors if suffix == ".safetensors" else _read_npz
    try:
        stored, plain = read(Path(path))
    except FileNotFoundError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a hostile file provokes
        raise ValueError(
            f"load: {os.fspath(path)} is damaged or no {suffix} file: {error}"
        ) from None
    if into is None:
        queue = sycl_dnn.default_queue() if device is None else device
        return {name: _on_device(s, queue) for name, s in stored.items()} | plain
    return _filled(os.fspath(path), into, stored, plain, device)


def _suffix(function: str, path: Any) -> str:
    suffix = Path(path).suffix
    if suffix not in _SUFFIXES:
        raise ValueError(
            f"{function}: path must end in .safetensors or .npz, got {os.fspath(path)!r}"
        )
    return suffix


def _taken_apart(value: Any) -> tuple[dict[str, _Stored], dict[str, Any]]:
    stored: dict[str, _Stored] = {}
    plain: dict[str, Any] = {}
    for name, leaf in _leaves(value):
        if name in stored or name in plain:
            raise ValueError(f"save: two leaves have the name {name!r}")
        if nested_arguments.is_array(leaf):
            stored[name] = _on_host(leaf)
        elif isinstance(leaf, _PLAIN):
            plain[name] = leaf
        else:
            kind = type(leaf).__name__
            raise TypeError(
                f"save: {name or 'value'} must be an array, a number or text, got {kind}"
            )
    return stored, plain


def _leaves(value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, Module):
        return list(value.state_dict().items())
    return list(zip(tree.names(value), tree.leaves(value), strict=True))


def _on_host(array: Any) -> _Stored:
    if isinstance(array, Array):
        if array.dtype in dtypes.PACKED:
            raise TypeError(f"save: arrays must not be of 4-bit numbers, got {array.dtype}")
        return _Stored(np.ascontiguousarray(dpnp.asnumpy(array.data)), array.dtype)
    values = dpnp.asnumpy(array)
    return _Stored(np.ascontiguousarray(values).reshape(values.shape), values.dtype.name)


def _on_device(stored: _Stored, queue: Any) -> Any:
    made = dpnp.asarray(stored.values, sycl_queue=queue)
    return Array(made, stored.dtype) if stored.dtype in dtypes.CARRIED else made


@contextlib.contextmanager
def _in_place_of(path: Path) -> Iterator[Path]:
    """Give a file to write; it takes the place of ``path`` if all goes well."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _write_npz(path: Path, stored: Mapping[str, _Stored], plain: dict[str, Any]) -> None:
    carried = {n: s.dtype for n, s in stored.items() if s.dtype in dtypes.CARRIED}
    note = np.frombuffer(json.dumps({"dtypes": carried, "plain": plain}).encode(), "u1")
    given: dict[str, Any] = {f"a.{n}": s.values for n, s in stored.items()}
    given[f"{_NOTE}.note"] = note
    with path.open("wb") as file:
        np.savez(file, **given)


def _read_npz(path: Path) -> tuple[dict[str, _Stored], dict[str, Any]]:
    with np.load(path, allow_pickle=False) as file:
        if not hasattr(file, "files"):
            raise zipfile.BadZipFile("it holds a single array")
        whole = {name: file[name] for name in file.files}
    note = whole.pop(f"{_NOTE}.note", None)
    told = {} if note is None else json.loads(bytes(note))
    carried, plain = told.get("dtypes", {}), told.get("plain", {})
    found = {name.removeprefix("a."): values for name, values in whole.items()}
    stored = {n: _Stored(v, carried.get(n, v.dtype.name)) for n, v in found.items()}
    _check_told(stored, plain)
    return stored, plain


def _write_safetensors(path: Path, stored: Mapping[str, _Stored], plain: dict[str, Any]) -> None:
    codes = {name: code for code, name in _NAMES.items()}
    header: dict[str, Any] = {"__metadata__": {_NOTE: json.dumps(plain)}} if plain else {}
    first = 0
    for name, s in stored.items():
        if s.dtype not in codes or name == "__metadata__":
            raise TypeError(f"save: {name} must be of a dtype of safetensors, got {s.dtype}")
        last = first + s.values.nbytes
        header[name] = {"dtype": codes[s.dtype], "shape": s.values.shape,
                        "data_offsets": (first, last)}  # fmt: skip
        first = last
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for s in stored.values():
            file.write(s.values.tobytes())


def _read_safetensors(path: Path) -> tuple[dict[str, _Stored], dict[str, Any]]:
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    if len(data) < 8 or length > min(_LONGEST, len(data) - 8):
        raise ValueError("its header is longer than the file")
    header = json.loads(data[8 : 8 + length], object_pairs_hook=_unique)
    if not isinstance(header, dict):
        raise ValueError("its header is no object")
    told = header.pop("__metadata__", {})
    stored: dict[str, _Stored] = {}
    content, end = memoryview(data)[8 + length :], 0
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        dtype, shape = _NAMES.get(entry["dtype"]), entry["shape"]
        if dtype is None or not all(type(n) is int and n >= 0 for n in shape):
            raise ValueError(f"{name} has dtype {entry['dtype']} and shape {shape}")
        kind = np.dtype(dtypes.CARRIED.get(dtype, dtype))
        first, last = entry["data_offsets"]
        if first != end or last != first + math.prod(shape) * kind.itemsize:
            raise ValueError(f"{name} does not lie where its shape and its neighbours say")
        end = last
        if end > len(content):
            raise ValueError(f"{name} ends after the file")
        values = np.frombuffer(content[first:last], kind).reshape(shape)
        stored[name] = _Stored(values, dtype)
    if end != len(content):
        raise ValueError("there is something after its arrays")
    plain = json.loads(told.get(_NOTE, "{}"))
    _check_told(stored, plain)
    return stored, plain


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) != len(pairs):
        raise ValueError("its header has a name twice")
    return dict(pairs)


def _check_told(stored: Mapping[str, _Stored], plain: Any) -> None:
    """Refuse what no file of ours says: plain values of other kinds, bits of another size."""
    if not isinstance(plain, dict) or not all(isinstance(v, _PLAIN) for v in plain.values()):
        raise ValueError("its numbers and texts are none")
    for name, (values, dtype) in stored.items():
        wanted = dtypes.CARRIED.get(dtype)
        if values.dtype.hasobject or (wanted is not None and values.dtype != wanted):
            raise ValueError(f"{name} has the dtype {values.dtype}, not that of {dtype}")


def _filled(
    path: str, into: Any, stored: dict[str, _Stored], plain: dict[str, Any], device: Any
) -> Any:
    if isinstance(into, Module):
        queue = device or into._queue() or sycl_dnn.default_queue()
        into.load_state_dict({n: _on_device(s, queue) for n, s in stored.items()})
        return into
    leaves, structure = tree.flatten(into)
    names = tree.names(into)
    found = set(stored) | set(plain)
    missing, unexpected = [n for n in names if n not in found], sorted(found - set(names))
    if missing or unexpected:
        raise ValueError(f"load: {path} lacks {missing} and has {unexpected} beside what is wanted")
    made = []
    for name, leaf in zip(names, leaves, strict=True):
        if not nested_arguments.is_array(leaf):
            if name not in plain:
                raise ValueError(f"load: {name} must be a number or text in {path}, got an array")
            made.append(plain[name])
            continue
        if name not in stored:
            raise ValueError(f"load: {name} must be an array in {path}, got {plain[name]!r}")
        values, dtype = stored[name]
        if values.shape != tuple(leaf.shape) or dtype != str(leaf.dtype):
            raise ValueError(
                f"load: {name} must have shape {tuple(leaf.shape)} and dtype {leaf.dtype}, got "
                f"{values.shape} and {dtype} in {path}"
            )
        made.append(_on_device(stored[name], leaf.sycl_queue if device is None else device))
    return tree.unflatten(structure, made)
