# SPDX-License-Identifier: Apache-2.0
"""Deep learning for dpctl and dpnp: all of oneDNN over SYCL.

``sycl_dnn.onednn`` has oneDNN's own objects under their own names. ``default_queue()`` selects the
device. Importing the package registers the CPU driver of the wheels but lists no devices.
"""

from __future__ import annotations

import importlib
from typing import Any

from sycl_dnn import _location

__path__ = _location.package_path(__path__)

from sycl_dnn import _runtime

_runtime.prepare()

from sycl_dnn.device import default_queue
from sycl_dnn.errors import (
    DnnlError,
    InvalidArguments,
    NoDeviceError,
    OneDnnFaultWarning,
    OutOfMemory,
    ReferenceWarning,
    Unimplemented,
    UnsupportedOperator,
)

#: Names loaded on first use, together with oneDNN's library (12 MB).
_LAZY = {
    "Accuracy": "sycl_dnn.compiler.int8.quantization",
    "Array": "sycl_dnn.trace.array",
    "BoundCall": "sycl_dnn.call.plan",
    "BoundPlan": "sycl_dnn.call.plan",
    "CompiledCall": "sycl_dnn.compiler.compiled_call",
    "FallbackWarning": "sycl_dnn.trace.policy",
    "Frozen": "sycl_dnn.trace.frozen",
    "Compiled": "sycl_dnn.compiler.compiled_function",
    "array_function": "sycl_dnn.trace.array_function",
    "asarray": "sycl_dnn.functional.arithmetic.convert",
    "autocast": "sycl_dnn.call.autocast",
    "checkpoint": "sycl_dnn.call.custom_gradients",
    "compile": "sycl_dnn.compiler.decorator",
    "custom_vjp": "sycl_dnn.call.custom_gradients",
    "enable_grad": "sycl_dnn.call.gradient_blocks",
    "fallback": "sycl_dnn.trace.policy",
    "freeze": "sycl_dnn.trace.frozen",
    "from_numpy": "sycl_dnn.functional.arithmetic.convert",
    "from_torch": "sycl_dnn.torch_modules.conversion",
    "get_rng_state": "sycl_dnn.functional.activation.dropout",
    "grad": "sycl_dnn.call.reverse",
    "hessian": "sycl_dnn.call.jacobians",
    "hvp": "sycl_dnn.call.jacobians",
    "jacobian": "sycl_dnn.call.jacobians",
    "jvp": "sycl_dnn.call.jacobians",
    "load": "sycl_dnn.io.tree_files",
    "load_checkpoint": "sycl_dnn.io.checkpoints",
    "manual_seed": "sycl_dnn.functional.activation.dropout",
    "plan": "sycl_dnn.call.plan",
    "Part": "sycl_dnn.compiler.step_report",
    "Profile": "sycl_dnn.tools.profile.recorder",
    "Pullback": "sycl_dnn.call.pullback",
    "Record": "sycl_dnn.tools.profile.records",
    "Report": "sycl_dnn.compiler.step_report",
    "Seed": "sycl_dnn.trace.frozen",
    "Summary": "sycl_dnn.tools.profile.records",
    "TensorFacts": "sycl_dnn.tools.profile.records",
    "profile": "sycl_dnn.tools.profile.recorder",
    "quantize": "sycl_dnn.compiler.int8.quantization",
    "NonFiniteError": "sycl_dnn.call.debugging",
    "debug_nans": "sycl_dnn.call.debugging",
    "inference_mode": "sycl_dnn.call.gradient_blocks",
    "kernel_mode": "sycl_dnn.trace.policy",
    "no_grad": "sycl_dnn.call.gradient_blocks",
    "nan_mode": "sycl_dnn.trace.policy",
    "save": "sycl_dnn.io.tree_files",
    "save_checkpoint": "sycl_dnn.io.checkpoints",
    "set_fallback": "sycl_dnn.trace.policy",
    "set_grad_enabled": "sycl_dnn.call.gradient_blocks",
    "set_kernels": "sycl_dnn.trace.policy",
    "set_nan": "sycl_dnn.trace.policy",
    "set_rng_state": "sycl_dnn.functional.activation.dropout",
    "stop_gradient": "sycl_dnn.call.custom_gradients",
    "submit": "sycl_dnn.call.plan",
    "synchronize": "sycl_dnn.program.place",
    "value_and_grad": "sycl_dnn.call.reverse",
    "vjp": "sycl_dnn.call.reverse",
}
_SUBMODULES = {"cache": "sycl_dnn.call.cache"} | {
    name: f"sycl_dnn.{name}"
    for name in (
        "distributed",
        "functional",
        "graph",
        "llm",
        "nn",
        "onednn",
        "onnx",
        "optim",
        "tree",
    )
}

__all__ = [
    "DnnlError",
    "InvalidArguments",
    "NoDeviceError",
    "OneDnnFaultWarning",
    "OutOfMemory",
    "ReferenceWarning",
    "Unimplemented",
    "UnsupportedOperator",
    "__version__",
    "default_queue",
    *_LAZY,
    *_SUBMODULES,
]


def __getattr__(name: str) -> Any:
    found = _found(name)
    if name != "__version__":
        globals()[name] = found  # later accesses bypass this function
    return found


def _found(name: str) -> Any:
    if name in _SUBMODULES:
        return importlib.import_module(_SUBMODULES[name])
    if name in _LAZY:
        if not _LAZY[name].startswith("sycl_dnn.tools"):
            # Operators of traced values need its functions.
            importlib.import_module("sycl_dnn.functional")
        return getattr(importlib.import_module(_LAZY[name]), name)
    if name == "__version__":
        from importlib.metadata import version

        return version("sycl_dnn")
    # Not by attribute, which would call this function again.
    habits = importlib.import_module("sycl_dnn._torch_habits")
    raise habits.missing("sycl_dnn", "module 'sycl_dnn'", name)


def __dir__() -> list[str]:
    return sorted(__all__)
