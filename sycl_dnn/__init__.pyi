# SPDX-License-Identifier: Apache-2.0
# Written by tests/helpers/stub_writing.py.

from sycl_dnn import distributed as distributed
from sycl_dnn import functional as functional
from sycl_dnn import graph as graph
from sycl_dnn import nn as nn
from sycl_dnn import onednn as onednn
from sycl_dnn import optim as optim
from sycl_dnn import tree as tree
from sycl_dnn.call import cache as cache
from sycl_dnn.call.autocast import autocast as autocast
from sycl_dnn.call.custom_gradients import checkpoint as checkpoint
from sycl_dnn.call.custom_gradients import custom_vjp as custom_vjp
from sycl_dnn.call.custom_gradients import stop_gradient as stop_gradient
from sycl_dnn.call.debugging import NonFiniteError as NonFiniteError
from sycl_dnn.call.debugging import debug_nans as debug_nans
from sycl_dnn.call.plan import BoundPlan as BoundPlan
from sycl_dnn.call.plan import plan as plan
from sycl_dnn.call.plan import submit as submit
from sycl_dnn.call.reverse import grad as grad
from sycl_dnn.call.reverse import value_and_grad as value_and_grad
from sycl_dnn.call.reverse import vjp as vjp
from sycl_dnn.compiler.compiled_function import Compiled as Compiled
from sycl_dnn.compiler.decorator import compile as compile
from sycl_dnn.compiler.int8.quantization import quantize as quantize
from sycl_dnn.device import default_queue as default_queue
from sycl_dnn.errors import DnnlError as DnnlError
from sycl_dnn.errors import InvalidArguments as InvalidArguments
from sycl_dnn.errors import NoDeviceError as NoDeviceError
from sycl_dnn.errors import OneDnnFaultWarning as OneDnnFaultWarning
from sycl_dnn.errors import OutOfMemory as OutOfMemory
from sycl_dnn.errors import Unimplemented as Unimplemented
from sycl_dnn.functional.activation.dropout import get_rng_state as get_rng_state
from sycl_dnn.functional.activation.dropout import manual_seed as manual_seed
from sycl_dnn.functional.activation.dropout import set_rng_state as set_rng_state
from sycl_dnn.functional.arithmetic.convert import asarray as asarray
from sycl_dnn.io.checkpoints import load_checkpoint as load_checkpoint
from sycl_dnn.io.checkpoints import save_checkpoint as save_checkpoint
from sycl_dnn.io.tree_files import load as load
from sycl_dnn.io.tree_files import save as save
from sycl_dnn.program.place import synchronize as synchronize
from sycl_dnn.tools.profile.recorder import Profile as Profile
from sycl_dnn.tools.profile.recorder import profile as profile
from sycl_dnn.trace.array import Array as Array
from sycl_dnn.trace.array_function import array_function as array_function
from sycl_dnn.trace.frozen import Frozen as Frozen
from sycl_dnn.trace.frozen import freeze as freeze
from sycl_dnn.trace.policy import FallbackWarning as FallbackWarning
from sycl_dnn.trace.policy import ReferenceWarning as ReferenceWarning
from sycl_dnn.trace.policy import fallback as fallback
from sycl_dnn.trace.policy import kernel_mode as kernel_mode
from sycl_dnn.trace.policy import nan_mode as nan_mode
from sycl_dnn.trace.policy import set_fallback as set_fallback
from sycl_dnn.trace.policy import set_kernels as set_kernels
from sycl_dnn.trace.policy import set_nan as set_nan

__version__: str
