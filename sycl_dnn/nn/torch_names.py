# SPDX-License-Identifier: Apache-2.0
"""Names that model code expects in ``torch``: functions, ``nn``, dtypes, context managers.

For many model files, replacing ``import torch`` with ``from sycl_dnn.nn import torch_names as
torch`` is the only change needed.
"""

from __future__ import annotations

import functools
import math
from importlib import import_module
from typing import Any

import dpnp
import numpy as np

import sycl_dnn
from sycl_dnn import _torch_habits, functional, nn  # noqa: F401 - ``nn`` is one of the names
from sycl_dnn.nn import (
    torch_additions,
    torch_compositions,
    torch_environment,
    torch_grids,
    torch_linalg,
    torch_matrices,
    torch_runs,
    torch_searches,
    torch_signal,
    torch_special,
    torch_windows,
)
from sycl_dnn.nn import torch_autograd as autograd  # noqa: F401
from sycl_dnn.nn import torch_distributions as distributions  # noqa: F401
from sycl_dnn.nn.torch_docstrings import described
from sycl_dnn.nn.torch_func import func
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace.array import Array
from sycl_dnn.trace.module_arrays import set_tensor_methods, with_methods  # noqa: F401

vmap = func.vmap
pi, inf, nan, e = math.pi, math.inf, math.nan, math.e
Size = tuple
#: The version of torch whose meaning the functions have.
__version__ = "2.13.0"
#: Layouts are chosen by the functions, so a request for one changes nothing.
channels_last, contiguous_format, preserve_format = "channels_last", "contiguous", "preserve"
strided = "strided"
special, linalg = torch_additions.special, torch_linalg.linalg
fft, signal = torch_signal.fft, torch_windows.signal
#: torch's dtypes whose names differ.
_DTYPES = {
    "float": "float32", "double": "float64", "half": "float16", "long": "int64", "int": "int32",
    "short": "int16", "cfloat": "complex64", "cdouble": "complex128", **{name: name for name in (
        "float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8",
        "bool", "complex64", "complex128")},
}  # fmt: skip
#: Names of ``sycl_dnn`` that mean the same in torch.
_BLOCKS = (
    "enable_grad", "get_rng_state", "inference_mode", "manual_seed", "no_grad", "optim",
    "set_grad_enabled", "set_rng_state",
)  # fmt: skip


class jit(metaclass=torch_environment._NamesOfClass):  # noqa: N801 - torch's name
    """TorchScript decorators, which return the function unchanged."""

    @staticmethod
    def ignore(fn: Any = None, **options: Any) -> Any:
        """Return the function, or a decorator that does: ``@jit.ignore(drop=True)``."""
        return (lambda fn: fn) if fn is None or isinstance(fn, bool) else fn

    @staticmethod
    def unused(fn: Any, **options: Any) -> Any:
        """Return the function or module unchanged."""
        return fn

    export = script = script_if_tracing = script_method = unused
    ScriptModule = nn.Module

    @staticmethod
    def is_scripting() -> bool:
        """Return False."""
        return False

    is_tracing = is_scripting


class _Arrays(type):
    #: The dtype of new arrays, and of the class's instances unless it is ``Tensor``.
    kind: str

    def __instancecheck__(cls, value: Any) -> bool:
        is_array = isinstance(value, (dpnp.ndarray, Array))
        return is_array and (cls is Tensor or str(value.dtype) == cls.kind)

    def __call__(cls, *sizes: Any) -> Any:
        """Return an array of these sizes, or with the values of a list."""
        if len(sizes) == 1 and not isinstance(sizes[0], int):
            return functional.tensor(sizes[0], dtype=cls.kind)
        return functional.empty(sizes, dtype=cls.kind)


class Tensor(metaclass=_Arrays):
    """The type of arrays and traced values, for annotations and ``isinstance``."""

    kind = "float32"


def _class_of(dtype: str) -> _Arrays:
    """Return the class of arrays of a dtype, such as ``LongTensor``."""
    return _Arrays(dtypes.tensor_name(dtype), (Tensor,), {"kind": dtype})


#: Dtypes and classes of arrays by torch's names.
_TYPES = {**_DTYPES, **{kind.__name__: kind for kind in map(_class_of, dtypes.TENSOR_NAMES)}}


class _Dtypes(type):
    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, np.dtype) or value in _DTYPES.values()


class dtype(metaclass=_Dtypes):  # noqa: N801 - torch's name
    """The type of dtypes, for annotations and ``isinstance``; dtypes are names here."""


class device(str):  # noqa: N801 - torch's name
    """The name of a device: ``device("cpu")``, ``device("xpu", 0)``."""

    def __new__(cls, name: Any, index: int | None = None) -> device:
        """Return a name, followed by a colon and the index of the device if there is one."""
        return super().__new__(cls, f"{name}" if index is None else f"{name}:{index}")

    @property
    def type(self) -> str:
        """The kind of device."""
        return self.partition(":")[0]

    @property
    def index(self) -> int | None:  # type: ignore[override]
        """The number of the device of its kind, if it has one."""
        number = self.partition(":")[2]
        return int(number) if number else None


@described("bool", types="Never.", value="anything")
def is_tensor(value: Any) -> bool:
    """Whether a value is an array."""
    return isinstance(value, Tensor)


@described(
    "numpy.finfo, or of bfloat16 ml_dtypes.finfo", types="``dtype`` is another one.", notes=""
)
def finfo(dtype: Any) -> Any:
    """Return limits of a floating-point dtype; those of bfloat16 need the package ml_dtypes."""
    name = str(dtype)
    return np.finfo(name) if name != "bfloat16" else import_module("ml_dtypes").finfo(name)


@described("numpy.iinfo", types="``dtype`` is another one.", notes="")
def iinfo(dtype: Any) -> Any:
    """Return limits of an integer dtype: ``max`` and ``min``."""
    return np.iinfo(str(dtype))


@described(
    "array (*), or tuple of arrays (k,) of int64", "The shapes do not broadcast.",
    condition="array (*) of bool", values="arrays (*) or numbers",
)  # fmt: skip
def where(condition: Any, *values: Any) -> Any:
    """Return elements of two arrays by a condition; of a condition alone the indices."""
    if values:
        return functional.where(condition, *values)
    return functional.nonzero(condition, as_tuple=True)


#: Functions that create arrays, which have torch's additional methods here.
_FACTORIES = frozenset((
    "arange", "empty", "empty_like", "eye", "from_numpy", "full", "full_like",
    "linspace", "ones", "ones_like", "rand", "rand_like", "randint", "randn", "randn_like",
    "randperm", "tensor", "zeros", "zeros_like",
))  # fmt: skip


@functools.cache
def _factory(function: Any) -> Any:
    @functools.wraps(function)
    def factory(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        result = with_methods(function(*args, **kwargs))
        if out is None:
            return result
        out[...] = result
        return out

    return factory


def __getattr__(name: str) -> Any:
    if name in _TYPES:
        return _TYPES[name]
    if name in _BLOCKS:
        return getattr(sycl_dnn, name)
    if name in _FACTORIES:
        return _factory(getattr(functional, name))
    for module in (
        functional, torch_compositions, torch_searches, torch_additions, torch_environment,
        torch_grids, torch_matrices, torch_runs, torch_signal, torch_special, torch_windows,
    ):  # fmt: skip
        if not name.startswith("_") and hasattr(module, name):
            return getattr(module, name)
    if name.endswith("_") and hasattr(functional, name[:-1]):  # as ``relu_``: writes to its input
        return lambda input, *args, **kwargs: getattr(input, name)(*args, **kwargs)
    raise AttributeError(
        f"torch_names: {name!r} is not a name of torch's that sycl_dnn has; see docs/pytorch.md"
        + _torch_habits.hint("torch", name)
    )
