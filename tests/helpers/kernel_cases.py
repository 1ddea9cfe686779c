# SPDX-License-Identifier: Apache-2.0
"""Arrays in both layouts, and PyTorch's results in float64, for tests of kernels."""

import dpnp
import numpy as np

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn.call.operation import operation
from sycl_dnn.functional.arithmetic.operands import by_nodes

#: Largest error allowed, relative to the largest value.
TOLERANCE = {"float32": 2e-6, "bfloat16": 1e-2, "float16": 2e-3}


def placed(values, queue, layout="row_major", dtype="float32"):
    """Return an array with these values in a layout and dtype."""
    moved = np.moveaxis(values, 1, -1) if layout == "channels_last" else values
    array = dpnp.asarray(np.ascontiguousarray(moved, np.float32), sycl_queue=queue)
    array = array if dtype == "float32" else F.astype(array, dtype)
    return F.permute(array, _back(values.ndim)) if layout == "channels_last" else array


def _back(rank):
    return (0, rank - 1, *range(1, rank - 1))


def host(array):
    """Return the values as float64."""
    return dpnp.asnumpy(F.astype(array, "float32")).astype(np.float64)


def both_passes(function, arrays, dy, mode="always"):
    """Return the value of a function and the gradients of all arrays, on the host."""
    with sycl_dnn.kernel_mode(mode):
        value, pullback = sycl_dnn.vjp(function, *arrays)
        return [host(a) for a in (value, *pullback(dy))]


def torch_passes(function, arrays, dy, dtype="float64"):
    """Return the same for a function over torch's tensors."""
    import torch

    dtype = getattr(torch, dtype)
    args = [torch.tensor(a, dtype=dtype, requires_grad=True) for a in arrays]
    value = function(*args)
    value.backward(torch.tensor(dy, dtype=dtype))
    return [t.detach().double().numpy() for t in (value, *(t.grad for t in args))]


def error(actual, expected):
    """Return the largest error relative to the largest value."""
    assert actual.shape == expected.shape
    return np.abs(actual - expected).max() / np.abs(expected).max()


def kernels_of(function, *arrays, mode="always"):
    """Return the names of a call's kernels."""
    with sycl_dnn.kernel_mode(mode), sycl_dnn.profile() as found:
        function(*arrays)
    kinds = ("opencl", "interpreted")
    return [r.name for r in found.records if getattr(r, "implementation", "") in kinds]


def of_nodes(definition, *arrays, **options):
    """Evaluate a function of nodes on arrays."""

    @operation
    def run(*inputs):
        return by_nodes(definition, *inputs, **options)

    return run(*arrays)
