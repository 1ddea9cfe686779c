# SPDX-License-Identifier: Apache-2.0
"""``save`` and ``load``: trees of arrays as safetensors, npz or torch files."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import sycl_dnn
from sycl_dnn import tree
from sycl_dnn.io import npz_format, safetensors_format, torch_format
from sycl_dnn.io.host_arrays import PLAIN, Stored, on_device, on_host
from sycl_dnn.nn.module import Module
from sycl_dnn.nn.module_form import Form
from sycl_dnn.trace import nested_arguments

#: The module that handles each suffix.
_FORMATS: dict[str, Any] = {
    ".safetensors": safetensors_format, ".npz": npz_format, ".pt": torch_format,
    ".pth": torch_format,
}  # fmt: skip


def save(path: str | os.PathLike[str], value: Any) -> None:
    """Write a tree of arrays to a file.

    The file is written atomically: under a temporary name, then renamed.

    Parameters
    ----------
    path : path
        Ends in ``.safetensors`` (requires ``sycl_dnn[io]``), ``.npz``, or ``.pt`` or ``.pth``
        (require torch).
    value : tree
        A module, the state of an optimizer, or any tree of arrays, numbers and strings. For a
        module by itself, names are those of its state dict, as in torch's files.

    Raises
    ------
    ValueError
        The suffix is unknown, or two leaves have the same name.
    TypeError
        A leaf is not an array, number or string; the message names it.
    ImportError
        The library for the format is not installed.

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
    kind = _FORMATS[_suffix("save", path)]
    stored, plain = _taken_apart(value)
    with _in_place_of(Path(path)) as temporary:
        kind.write(temporary, stored, plain)


def load(path: str | os.PathLike[str], into: Any = None, *, device: Any = None) -> Any:
    """Read a file of ``save``, any safetensors file, or a torch state dict.

    Parameters
    ----------
    path : path
    into : tree, optional
        A tree with the structure of what was saved. A module by itself is loaded in place
        (``load_state_dict``) and returned; otherwise a new tree is returned.
    device : dpctl.SyclQueue, optional
        Destination of the arrays; by default the queues of ``into``, or
        ``sycl_dnn.default_queue()``.

    Returns
    -------
    dict of str to array, or a tree as ``into``

    Raises
    ------
    ValueError
        The file is truncated or of another format, or its names, shapes or dtypes differ from those
        of ``into``. Nothing is loaded then. No code in a file is ever run.
    FileNotFoundError
        The file does not exist.
    ImportError
        The library for the format is not installed.

    Examples
    --------
    >>> import sycl_dnn, tempfile, os
    >>> from sycl_dnn import functional as F
    >>> path = os.path.join(tempfile.mkdtemp(), "tree.npz")
    >>> sycl_dnn.save(path, {"weights": [F.ones(2), F.zeros(3)], "step": 7})
    >>> sorted(sycl_dnn.load(path))
    ['step', 'weights.0', 'weights.1']
    >>> into = {"weights": [F.zeros(2), F.zeros(3)], "step": 0}
    >>> sycl_dnn.load(path, into)["weights"][0].tolist()
    [1.0, 1.0]
    """
    suffix = _suffix("load", path)
    try:
        stored, plain = _FORMATS[suffix].read(Path(path))
    except (FileNotFoundError, ImportError):
        raise
    except Exception as error:  # noqa: BLE001 - whatever a hostile file provokes
        raise ValueError(
            f"load: {os.fspath(path)} is damaged or no {suffix} file: {error}"
        ) from None
    if into is None:
        queue = sycl_dnn.default_queue() if device is None else device
        return {name: on_device(s, queue) for name, s in stored.items()} | plain
    return _filled(os.fspath(path), into, stored, plain, device)


def _suffix(function: str, path: Any) -> str:
    suffix = Path(path).suffix
    if suffix not in _FORMATS:
        names = ", ".join(_FORMATS)
        raise ValueError(f"{function}: path must end in one of {names}, got {os.fspath(path)!r}")
    return suffix


def _taken_apart(value: Any) -> tuple[dict[str, Stored], dict[str, Any]]:
    stored: dict[str, Stored] = {}
    plain: dict[str, Any] = {}
    for name, leaf in _leaves(value):
        if name in stored or name in plain:
            raise ValueError(f"save: two leaves have the name {name!r}")
        if nested_arguments.is_array(leaf):
            stored[name] = on_host(leaf)
        elif isinstance(leaf, PLAIN):
            plain[name] = leaf
        else:
            kind = type(leaf).__name__
            raise TypeError(
                f"save: {name or 'value'} must be an array, a number or string, got {kind}"
            )
    return stored, plain


def _leaves(value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, Module):
        return list(value.state_dict().items())
    leaves, structure = tree.flatten(value)
    rows = zip(tree.names(value), leaves, _are_saved(structure), strict=True)
    return [(name, leaf) for name, leaf, is_saved in rows if is_saved]


def _are_saved(structure: tree.Structure) -> list[bool]:
    """Return for each leaf whether it is in files: state dicts lack some arrays of modules."""
    if isinstance(structure.aux, Form):
        return [n not in structure.aux.unsaved for n in range(len(structure.aux.names))]
    if structure.is_leaf:
        return [True]
    return [flag for child in structure.children for flag in _are_saved(child)]


@contextlib.contextmanager
def _in_place_of(path: Path) -> Iterator[Path]:
    """Yield a temporary file, which replaces ``path`` on success."""
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


def _filled(
    path: str, into: Any, stored: dict[str, Stored], plain: dict[str, Any], device: Any
) -> Any:
    if isinstance(into, Module):
        queue = device or into._queue() or sycl_dnn.default_queue()
        into.load_state_dict({n: on_device(s, queue) for n, s in stored.items()})
        return into
    leaves, structure = tree.flatten(into)
    names, saved = tree.names(into), _are_saved(structure)
    stored_names = set(stored) | set(plain)
    expected = [name for name, is_saved in zip(names, saved, strict=True) if is_saved]
    missing, unexpected = (
        [n for n in expected if n not in stored_names],
        sorted(stored_names - set(expected)),
    )
    if missing or unexpected:
        raise ValueError(f"load: {path} lacks {missing} and has {unexpected} in addition")
    filled = []
    for name, leaf, is_saved in zip(names, leaves, saved, strict=True):
        if not is_saved:
            filled.append(leaf)
            continue
        if not nested_arguments.is_array(leaf):
            if name not in plain:
                raise ValueError(f"load: {name} must be a number or string in {path}, got an array")
            filled.append(plain[name])
            continue
        if name not in stored:
            raise ValueError(f"load: {name} must be an array in {path}, got {plain[name]!r}")
        values, dtype = stored[name]
        if values.shape != tuple(leaf.shape) or dtype != str(leaf.dtype):
            raise ValueError(
                f"load: {name} must have shape {tuple(leaf.shape)} and dtype {leaf.dtype}, got "
                f"{values.shape} and {dtype} in {path}"
            )
        filled.append(on_device(stored[name], leaf.sycl_queue if device is None else device))
    return tree.unflatten(structure, filled)
