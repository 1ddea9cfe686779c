# SPDX-License-Identifier: Apache-2.0
"""Deep learning for dpctl and dpnp: all of oneDNN over SYCL.

``sycl_dnn.onednn`` has oneDNN's own objects under oneDNN's own names. ``default_queue()`` finds
the device. Importing the package registers the CPU driver of the wheels, but lists no device.
"""

from __future__ import annotations

import importlib
from typing import Any

from sycl_dnn import _location

__path__ = _location.package_path(__path__)

from sycl_dnn import _runtime  # noqa: E402

_runtime.prepare()

from sycl_dnn.device import default_queue  # noqa: E402
from sycl_dnn.errors import (  # noqa: E402
    DnnlError,
    InvalidArguments,
    NoDeviceError,
    OneDnnFaultWarning,
    OutOfMemory,
    Unimplemented,
)

#: Names that are loaded, with oneDNN's library (12 MB), on first use.
_LAZY = {
    "Array": "sycl_dnn.dispatch.array",
    "BoundPlan": "sycl_dnn.dispatch.bound",
    "FallbackWarning": "sycl_dnn.dispatch.policy",
    "Frozen": "sycl_dnn.dispatch.frozen",
    "ReferenceWarning": "sycl_dnn.dispatch.policy",
    "Compiled": "sycl_dnn.compiler.compiled",
    "array_function": "sycl_dnn.dispatch.array_function",
    "asarray": "sycl_dnn.functional.convert",
    "autocast": "sycl_dnn.dispatch.autocast",
    "checkpoint": "sycl_dnn.dispatch.checkpoint",
    "compile": "sycl_dnn.compiler.decorator",
    "custom_vjp": "sycl_dnn.dispatch.custom_gradients",
    "fallback": "sycl_dnn.dispatch.policy",
    "freeze": "sycl_dnn.dispatch.frozen",
    "grad": "sycl_dnn.call.value_and_grad",
    "manual_seed": "sycl_dnn.functional.dropout",
    "plan": "sycl_dnn.dispatch.bound",
    "Profile": "sycl_dnn.profiling.profile",
    "profile": "sycl_dnn.profiling.profile",
    "quantize": "sycl_dnn.compiler.quantize",
    "set_fallback": "sycl_dnn.dispatch.policy",
    "stop_gradient": "sycl_dnn.dispatch.custom_gradients",
    "submit": "sycl_dnn.dispatch.bound",
    "synchronize": "sycl_dnn.dispatch.synchronize",
    "value_and_grad": "sycl_dnn.call.value_and_grad",
    "vjp": "sycl_dnn.dispatch.reverse",
}
_SUBMODULES = {"cache": "sycl_dnn.dispatch.cache"} | {
    name: f"sycl_dnn.{name}" for name in ("functional", "graph", "onednn", "tree")
}

__all__ = [
    "DnnlError",
    "InvalidArguments",
    "NoDeviceError",
    "OneDnnFaultWarning",
    "OutOfMemory",
    "Unimplemented",
    "__version__",
    "default_queue",
    *_LAZY,
    *_SUBMODULES,
]


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return importlib.import_module(_SUBMODULES[name])
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    if name == "__version__":
        from importlib.metadata import version

        return version("sycl_dnn")
    raise AttributeError(f"module 'sycl_dnn' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
