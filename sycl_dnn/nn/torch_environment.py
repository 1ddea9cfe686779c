# SPDX-License-Identifier: Apache-2.0
"""Names of ``torch`` around the arrays: devices, settings of other libraries, data, files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote, unquote

import sycl_dnn
from sycl_dnn.nn import torch_data
from sycl_dnn.trace.module_arrays import plain, with_methods

Generator = torch_data.Generator


class _Devices(SimpleNamespace):
    """What scripts ask a kind of device, and what changes nothing here."""

    def __init__(self, is_available: Any) -> None:
        super().__init__(is_available=is_available, device_count=lambda: int(is_available()))
        self.manual_seed = self.manual_seed_all = lambda seed: sycl_dnn.manual_seed(seed)
        self.synchronize = lambda device=None: sycl_dnn.synchronize(sycl_dnn.default_queue())
        self.empty_cache = lambda: None


def _has_gpu() -> bool:
    return bool(sycl_dnn.default_queue().sycl_device.is_gpu)


#: Kinds of devices: a GPU here is torch's ``xpu``, and arrays are on the device of their queue.
cuda, mps, xpu = _Devices(lambda: False), _Devices(lambda: False), _Devices(_has_gpu)
accelerator = SimpleNamespace(
    is_available=_has_gpu, current_accelerator=lambda: sycl_dnn.nn.torch_names.device("xpu")
)
#: Settings of other libraries, which code sets; they change nothing here.
backends = SimpleNamespace(
    cuda=SimpleNamespace(matmul=SimpleNamespace()), mps=mps,
    cudnn=SimpleNamespace(benchmark=False, deterministic=False, enabled=False),
)  # fmt: skip


def _checkpoint(function: Any, *args: Any, use_reentrant: Any = None, **kwargs: Any) -> Any:
    """Call a function whose intermediate values are recomputed for gradients."""
    return sycl_dnn.checkpoint(function)(*args, **kwargs)


utils = SimpleNamespace(data=torch_data, checkpoint=SimpleNamespace(checkpoint=_checkpoint))


def set_float32_matmul_precision(precision: str) -> None:
    """Do nothing: float32 products are computed in float32."""


def save(obj: Any, f: Any) -> None:
    """Write nested dicts, lists and tuples of arrays, numbers, strings and None to a file.

    The suffix determines the format, as of ``sycl_dnn.save``: ``.npz`` and ``.safetensors`` need no
    torch. A dict of arrays, such as a state dict, is the same file that ``sycl_dnn.save`` writes.

    Raises
    ------
    TypeError
        Something else is inside; save ``net.state_dict()`` and ``opt.state_of(net)``.
    ValueError
        The suffix is unknown.

    Examples
    --------
    >>> import os, tempfile
    >>> from sycl_dnn import nn
    >>> from sycl_dnn.nn import torch_names as torch
    >>> path, net = os.path.join(tempfile.mkdtemp(), "run.npz"), nn.Linear(2, 3)
    >>> torch.save({"epoch": 3, "model": net.state_dict(), "losses": [0.5, None]}, path)
    >>> parts = torch.load(path)
    >>> parts["epoch"], parts["losses"], sorted(parts["model"])
    (3, [0.5, None], ['bias', 'weight'])
    """
    if isinstance(obj, Mapping) and all(hasattr(value, "shape") for value in obj.values()):
        entries = {name: plain(value) for name, value in obj.items()}
    else:
        entries = {_name(path): value for path, value in _leaves(obj, ("saved",))}
    sycl_dnn.save(f, entries)


def _name(path: tuple[Any, ...]) -> str:
    """Return the name of a leaf in files of nests: ``/saved/net/0.weight``, ``/saved/log/#0``."""
    return "".join(f"/{quote(k, safe='')}" if type(k) is str else f"/#{k}" for k in path)


def _path(name: str) -> list[Any]:
    steps = name.split("/")[1:]
    return [int(k[1:]) if k[1:].isdigit() and k[0] == "#" else unquote(k) for k in steps]


def _leaves(value: Any, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    kind = "dict" if isinstance(value, Mapping) else type(value).__name__
    if kind in _EMPTY:
        items = value.items() if kind == "dict" else enumerate(value)
        yield (*path, _Mark(kind)), 0
        for key, item in items:
            yield from _leaves(item, (*path, key))
    elif value is None:
        yield (*path, _Mark("None")), 0
    elif hasattr(value, "shape") or isinstance(value, (bool, int, float, str)):
        yield path, plain(value)
    else:
        raise TypeError(
            "save: leaves must be arrays, numbers, strings or None, got "
            f"{type(value).__name__}; save net.state_dict() and opt.state_of(net)"
        )


class _Mark(str):
    """What a nest is, as a name in it."""


#: Constructors of nests by the marks that files have of them.
_EMPTY: dict[str, Any] = {"dict": dict, "list": list, "tuple": tuple}


def load(f: Any, map_location: Any = None, weights_only: Any = None, **options: Any) -> Any:
    """Return what ``save`` wrote, or the flat dict of any other file that ``sycl_dnn.load`` reads.

    Raises
    ------
    ValueError, FileNotFoundError
        As ``sycl_dnn.load``.
    """
    entries = sycl_dnn.load(f)
    if not all(name.startswith("/") for name in entries):
        return {name: with_methods(value) for name, value in entries.items()}
    top: Any = {}
    for name, value in entries.items():
        *path, key = _path(name)
        place = top
        for step in path:
            place = place.setdefault(step, {})
        place[key] = value
    return _nested(top)["saved"]


def _nested(value: Any) -> Any:
    if not isinstance(value, dict):
        return with_methods(value)
    if "#None" in value:
        return None
    kind = next((k for k in _EMPTY if value.pop(f"#{k}", None) is not None), "dict")
    items = {key: _nested(item) for key, item in value.items()}
    return items if kind == "dict" else _EMPTY[kind](items[i] for i in range(len(items)))
