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
from sycl_dnn.errors import *
from sycl_dnn.errors import __all__ as _errors

#: Names loaded on first use, together with oneDNN's library (12 MB).
_LAZY = {
    name: f"sycl_dnn.{module}"
    for module, names in {
        "call.autocast": "autocast",
        "call.custom_gradients": "checkpoint custom_vjp stop_gradient",
        "call.debugging": "NonFiniteError debug_nans",
        "call.gradient_blocks": "enable_grad inference_mode no_grad set_grad_enabled",
        "call.jacobians": "hessian hvp jacobian jvp",
        "call.vectorization": "vmap",
        "call.plan": "BoundCall BoundPlan plan submit",
        "call.pullback": "Pullback",
        "call.reverse": "grad value_and_grad vjp",
        "compiler.compiled_call": "CompiledCall",
        "compiler.compiled_function": "Compiled",
        "compiler.decorator": "compile",
        "compiler.int8.quantization": "Accuracy quantize",
        "compiler.step_report": "Part Report",
        "functional.activation.dropout": "get_rng_state manual_seed set_rng_state",
        "functional.arithmetic.convert": "asarray from_numpy",
        "io.checkpoints": "load_checkpoint save_checkpoint",
        "io.tree_files": "load save",
        "program.numpy_copies": "asnumpy",
        "program.place": "synchronize",
        "tools.profile.recorder": "Profile profile",
        "tools.profile.records": "Record Summary TensorFacts",
        "torch_modules.conversion": "from_torch",
        "trace.array": "Array",
        "trace.array_function": "array_function",
        "trace.frozen": "Frozen Seed freeze",
        "trace.policy": "FallbackWarning fallback kernel_mode nan_mode "
        "set_fallback set_kernels set_nan",
    }.items()
    for name in names.split()
}
_FOLDERS = ("distributed", "functional", "graph", "llm", "nn", "onednn", "onnx", "optim", "tree")
_SUBMODULES = {"cache": "sycl_dnn.call.cache"} | {name: f"sycl_dnn.{name}" for name in _FOLDERS}

__all__ = [
    *_errors,
    "__version__",
    "default_queue",
    *_LAZY,
    *_SUBMODULES,
]


def __getattr__(name: str) -> Any:
    value = _found(name)
    if name != "__version__":
        globals()[name] = value  # later accesses bypass this function
    return value


def _found(name: str) -> Any:
    if name in _SUBMODULES:
        return importlib.import_module(_SUBMODULES[name])
    if name in _LAZY:
        if not _LAZY[name].startswith("sycl_dnn.tools"):
            # Operators of traced values need its functions, and gradients the passes.
            importlib.import_module("sycl_dnn.functional")
            importlib.import_module("sycl_dnn.compiler.gradient_passes")
        return getattr(importlib.import_module(_LAZY[name]), name)
    if name == "__version__":
        from importlib.metadata import version

        return version("sycl_dnn")
    # Not by attribute, which would call this function again.
    habits = importlib.import_module("sycl_dnn._torch_habits")
    raise habits.missing("sycl_dnn", "module 'sycl_dnn'", name)


def __dir__() -> list[str]:
    return sorted(__all__)
