# SPDX-License-Identifier: Apache-2.0
# Written by tests/stub_writing.py.

from sycl_dnn import functional as functional
from sycl_dnn import graph as graph
from sycl_dnn import onednn as onednn
from sycl_dnn import tree as tree
from sycl_dnn.call.value_and_grad import grad as grad
from sycl_dnn.call.value_and_grad import value_and_grad as value_and_grad
from sycl_dnn.compiler.compiled import Compiled as Compiled
from sycl_dnn.compiler.decorator import compile as compile
from sycl_dnn.compiler.quantize import quantize as quantize
from sycl_dnn.device import default_queue as default_queue
from sycl_dnn.dispatch import cache as cache
from sycl_dnn.dispatch.array import Array as Array
from sycl_dnn.dispatch.array_function import array_function as array_function
from sycl_dnn.dispatch.autocast import autocast as autocast
from sycl_dnn.dispatch.bound import BoundPlan as BoundPlan
from sycl_dnn.dispatch.bound import plan as plan
from sycl_dnn.dispatch.bound import submit as submit
from sycl_dnn.dispatch.checkpoint import checkpoint as checkpoint
from sycl_dnn.dispatch.custom_gradients import custom_vjp as custom_vjp
from sycl_dnn.dispatch.custom_gradients import stop_gradient as stop_gradient
from sycl_dnn.dispatch.frozen import Frozen as Frozen
from sycl_dnn.dispatch.frozen import freeze as freeze
from sycl_dnn.dispatch.policy import FallbackWarning as FallbackWarning
from sycl_dnn.dispatch.policy import ReferenceWarning as ReferenceWarning
from sycl_dnn.dispatch.policy import fallback as fallback
from sycl_dnn.dispatch.policy import set_fallback as set_fallback
from sycl_dnn.dispatch.reverse import vjp as vjp
from sycl_dnn.dispatch.synchronize import synchronize as synchronize
from sycl_dnn.errors import DnnlError as DnnlError
from sycl_dnn.errors import InvalidArguments as InvalidArguments
from sycl_dnn.errors import NoDeviceError as NoDeviceError
from sycl_dnn.errors import OneDnnFaultWarning as OneDnnFaultWarning
from sycl_dnn.errors import OutOfMemory as OutOfMemory
from sycl_dnn.errors import Unimplemented as Unimplemented
from sycl_dnn.functional.convert import asarray as asarray
from sycl_dnn.functional.dropout import manual_seed as manual_seed
from sycl_dnn.profiling.profile import Profile as Profile
from sycl_dnn.profiling.profile import profile as profile

__version__: str
__all__ = [
    "Array",
    "BoundPlan",
    "Compiled",
    "DnnlError",
    "FallbackWarning",
    "Frozen",
    "InvalidArguments",
    "NoDeviceError",
    "OneDnnFaultWarning",
    "OutOfMemory",
    "Profile",
    "ReferenceWarning",
    "Unimplemented",
    "__version__",
    "array_function",
    "asarray",
    "autocast",
    "cache",
    "checkpoint",
    "compile",
    "custom_vjp",
    "default_queue",
    "fallback",
    "freeze",
    "functional",
    "grad",
    "graph",
    "manual_seed",
    "onednn",
    "plan",
    "profile",
    "quantize",
    "set_fallback",
    "stop_gradient",
    "submit",
    "synchronize",
    "tree",
    "value_and_grad",
    "vjp",
]
