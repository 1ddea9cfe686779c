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

__all__ = [
    "DnnlError",
    "InvalidArguments",
    "NoDeviceError",
    "OneDnnFaultWarning",
    "OutOfMemory",
    "Unimplemented",
    "__version__",
    "default_queue",
    "onednn",
]


def __getattr__(name: str) -> Any:
    # oneDNN's library (12 MB) is loaded by the first use of the submodule.
    if name == "onednn":
        return importlib.import_module("sycl_dnn.onednn")
    if name == "__version__":
        from importlib.metadata import version

        return version("sycl_dnn")
    raise AttributeError(f"module 'sycl_dnn' has no attribute {name!r}")
