# SPDX-License-Identifier: Apache-2.0
"""Names of ``torch`` around the arrays: devices, settings of other libraries, data, files."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from types import SimpleNamespace
from typing import Any

import sycl_dnn
from sycl_dnn import _torch_habits
from sycl_dnn.nn import torch_data, torch_packages
from sycl_dnn.trace.module_arrays import plain, with_methods

Generator = torch_data.Generator


class _Refusing:
    """Refuses unknown names with what to write instead."""

    def __getattr__(self, name: str) -> Any:
        raise _torch_habits.missing("torch", "torch_names", name)


class _Names(_Refusing, SimpleNamespace):
    """Names of a package of torch's."""


class _NamesOfClass(_Refusing, type):
    """The class of classes that are such packages."""


def _nothing(*args: Any, **kwargs: Any) -> None:
    """Do nothing."""


def _custom(function: Any = None, **options: Any) -> Any:
    """Return a method of an ``autograd.Function``, or a decorator that does."""
    return function if function is not None else lambda function: function


def autocast(
    device_type: str, dtype: Any = "bfloat16", enabled: bool = True, cache_enabled: bool = True
) -> AbstractContextManager[None]:
    """Return ``sycl_dnn.autocast`` of a dtype."""
    return sycl_dnn.autocast(str(dtype), enabled)


def compile(
    model: Any = None, *, fullgraph: bool = False, dynamic: bool | None = None,
    backend: Any = "inductor", mode: str | None = None, disable: bool = False, **options: Any,
) -> Any:  # fmt: skip
    """Return ``sycl_dnn.compile`` of a function, with its options; torch's change nothing here."""
    compiled = (lambda function: function) if disable else sycl_dnn.compile(**options)
    return compiled if model is None else compiled(model)


class amp(metaclass=_NamesOfClass):  # noqa: N801 - torch's name
    """``torch.amp``."""

    autocast = staticmethod(autocast)


def _autocast_of(name: str) -> SimpleNamespace:
    """Return ``torch.cuda.amp`` for a kind of device."""

    def of_device(enabled: bool = True, dtype: Any = "float16", cache_enabled: bool = True) -> Any:
        return autocast(name, dtype, enabled, cache_enabled)

    return _Names(autocast=of_device, custom_fwd=_custom, custom_bwd=_custom)


class _Devices(_Names):
    """Queries of scripts about a kind of device, and settings without effect here."""

    def __init__(self, name: str, is_available: Any) -> None:
        super().__init__(is_available=is_available, device_count=lambda: int(is_available()))
        self.manual_seed = self.manual_seed_all = lambda seed: sycl_dnn.manual_seed(seed)
        self.synchronize = lambda device=None: sycl_dnn.synchronize(sycl_dnn.default_queue())
        self.set_device = _nothing
        self.empty_cache, self.current_device = lambda: None, lambda: 0
        self.amp = _autocast_of(name)

    def __getattr__(self, name: str) -> Any:
        if name.endswith("Tensor") and not name.startswith("_"):  # as in ``cuda.FloatTensor``
            return getattr(sycl_dnn.nn.torch_names, name)
        return super().__getattr__(name)


def _has_gpu() -> bool:
    return bool(sycl_dnn.default_queue().sycl_device.is_gpu)


#: Kinds of devices: a GPU here is torch's ``xpu``, and arrays are on the device of their queue.
cuda, mps = _Devices("cuda", lambda: False), _Devices("mps", lambda: False)
xpu = _Devices("xpu", _has_gpu)
accelerator = _Names(
    is_available=_has_gpu,
    current_accelerator=lambda check_available=False: (
        sycl_dnn.nn.torch_names.device("xpu") if _has_gpu() else None
    ),
)


def _any_kernel(**options: bool) -> Any:
    """Return the block that chooses no way of computing attention."""
    return torch_packages.sdpa_kernel()


#: Settings of other libraries, which code sets; they change nothing here.
backends = SimpleNamespace(
    cuda=SimpleNamespace(
        matmul=SimpleNamespace(allow_tf32=False), sdp_kernel=_any_kernel,
        **dict.fromkeys(
            ("enable_cudnn_sdp", "enable_flash_sdp", "enable_math_sdp", "enable_mem_efficient_sdp"),
            _nothing,
        ),
    ),
    cudnn=SimpleNamespace(allow_tf32=False, benchmark=False, deterministic=False, enabled=False),
    mps=mps,
)  # fmt: skip


def _checkpoint(function: Any, *args: Any, use_reentrant: Any = None, **kwargs: Any) -> Any:
    """Call a function whose intermediate values are recomputed for gradients."""
    return sycl_dnn.checkpoint(function)(*args, **kwargs)


@contextlib.contextmanager
def _forked(devices: Any = None, enabled: bool = True, **options: Any) -> Iterator[None]:
    """Restore the state of random numbers at the end of a block."""
    state = sycl_dnn.get_rng_state()
    try:
        yield
    finally:
        if enabled:
            sycl_dnn.set_rng_state(state)


random = SimpleNamespace(
    fork_rng=_forked, get_rng_state=lambda: sycl_dnn.get_rng_state(),
    manual_seed=lambda seed: sycl_dnn.manual_seed(seed),
    set_rng_state=lambda state: sycl_dnn.set_rng_state(state),
)  # fmt: skip


def _is_leaf(value: Any) -> bool:
    """Whether torch's trees end at a value: at all but dicts, lists and tuples."""
    return not isinstance(value, (dict, list, tuple))


_pytree = SimpleNamespace(
    tree_flatten=lambda tree: sycl_dnn.tree.flatten(tree, _is_leaf),
    tree_leaves=lambda tree: sycl_dnn.tree.leaves(tree, _is_leaf),
    tree_map=lambda function, *trees: sycl_dnn.tree.map(function, *trees, is_leaf=_is_leaf),
    tree_unflatten=lambda leaves, treespec: sycl_dnn.tree.unflatten(treespec, leaves),
)
#: All devices share one random-number state.
utils = _Names(
    _pytree=_pytree, data=torch_data,
    checkpoint=SimpleNamespace(
        checkpoint=_checkpoint, get_device_states=lambda *args: ([], []),
        set_device_states=_nothing,
    ),
)  # fmt: skip


def set_float32_matmul_precision(precision: str) -> None:
    """Do nothing: float32 is multiplied in float32, which no setting makes less precise."""


def get_default_dtype() -> str:
    """Return float32, the dtype of arrays made from Python's numbers."""
    return "float32"


def set_default_dtype(d: Any) -> None:
    """Do nothing for float32, the dtype of arrays made from Python's numbers.

    Raises
    ------
    TypeError
        ``d`` is another dtype.
    """
    if str(d) != "float32":
        raise TypeError(
            f"set_default_dtype: d must be float32, got {d}; give dtype={str(d)!r} to what makes "
            "arrays, and convert modules: net.double()"
        )


def set_printoptions(**options: Any) -> None:
    """Do nothing: arrays are printed as NumPy's, by ``numpy.set_printoptions``."""


class _Distributed(type):
    def __getattr__(cls, name: str) -> Any:
        if name == "nn":  # its functions, too, are called in groups only
            return cls
        hint = _torch_habits.hint("torch", "distributed")
        raise AttributeError(f"torch_names.distributed has no {name!r}{hint}")


class distributed(metaclass=_Distributed):  # noqa: N801 - torch's name
    """``torch.distributed`` for code that checks it; ``sycl_dnn.distributed`` trains in groups."""

    @staticmethod
    def is_available() -> bool:
        """Return False."""
        return False

    is_initialized = is_available
    #: The words of ``sycl_dnn.distributed``, for default arguments.
    ReduceOp = SimpleNamespace(SUM="sum", AVG="mean", MAX="max", MIN="min", PRODUCT="prod")


def save(obj: Any, f: Any) -> None:
    """Write nested dicts, lists and tuples of arrays, numbers, strings and None to a file.

    The suffix determines the format, as of ``sycl_dnn.save``: ``.npz`` and ``.safetensors`` need no
    torch. A dict of arrays, such as a state dict, is the same file that ``sycl_dnn.save`` writes.

    Raises
    ------
    TypeError
        Something else is inside, such as a module: save ``net.state_dict()`` and
        ``opt.state_of(net)``. Or a key is not a string, a number or None.
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
    entries: dict[str, Any] = {}
    if _is_flat(obj):
        entries = {name: plain(value) for name, value in obj.items()}
    else:
        entries[_NEST] = json.dumps(_described(obj, "saved", entries))
    sycl_dnn.save(f, entries)


#: The entry of files that describes a nest as JSON.
_NEST = "/nest"


def _is_flat(obj: Any) -> bool:
    """Whether a nest is a dict of arrays by name, which is a file of ``sycl_dnn.save``."""
    if not isinstance(obj, Mapping) or not obj:
        return False
    return all(isinstance(name, str) and hasattr(value, "shape") for name, value in obj.items())


def _described(value: Any, path: str, arrays: dict[str, Any]) -> Any:
    """Return a nest for JSON, with names instead of the arrays, which are added to a dict."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Mapping):
        for key in value:
            if not (key is None or isinstance(key, (bool, int, float, str))):
                raise TypeError(
                    f"save: keys of {path} must be strings, numbers or None, got "
                    f"{type(key).__name__}"
                )
        items = [[key, _described(item, f"{path}/{key}", arrays)] for key, item in value.items()]
        return {"dict": items}
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        items = [_described(item, f"{path}/{i}", arrays) for i, item in enumerate(value)]
        return items if isinstance(value, list) else {"tuple": items}
    if not hasattr(value, "shape"):
        raise TypeError(
            f"save: {path} must be an array, a number, a string or None, got "
            f"{type(value).__name__}; save net.state_dict() and opt.state_of(net)"
        )
    name = f"{len(arrays)}/{path}"
    arrays[name] = plain(value)
    return {"array": name}


def _rebuilt(value: Any, arrays: dict[str, Any]) -> Any:
    if isinstance(value, list):
        return [_rebuilt(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "array":
        return with_methods(arrays[content])
    if kind == "tuple":
        return tuple(_rebuilt(content, arrays))
    if kind == "dict":
        return {key: _rebuilt(item, arrays) for key, item in content}
    raise ValueError(f"{kind!r} is no kind of nest")


def load(f: Any, map_location: Any = None, weights_only: Any = None, **options: Any) -> Any:
    """Return the saved object, or the flat dict of any other file that ``sycl_dnn.load`` reads.

    No code in a file is run, whatever ``weights_only`` says.

    Raises
    ------
    ValueError, FileNotFoundError
        As ``sycl_dnn.load``.
    """
    entries = sycl_dnn.load(f)
    if not isinstance(entries.get(_NEST), str):
        return {name: with_methods(value) for name, value in entries.items()}
    try:
        return _rebuilt(json.loads(entries[_NEST]), entries)
    except Exception as error:  # noqa: BLE001 - whatever a hostile file provokes
        raise ValueError(f"load: {os.fspath(f)} has a damaged nest: {error}") from None
