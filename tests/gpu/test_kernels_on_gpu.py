# SPDX-License-Identifier: Apache-2.0
"""Kernels compiled at run time: the GPU's own compiler takes each, and work is submitted."""

import re

import dpctl
import dpnp
import pytest

import sycl_dnn
from sycl_dnn import functional as F

#: The name of a kernel in SPIR-V ends with the key of what it computes.
GENERATED = re.compile(r"\w+_[0-9a-f]{12}")
LAYOUTS = ["row_major", "channels_last"]
CALLS = {
    "batch_norm": lambda x, w: F.batch_norm(x, None, None, w, w, training=True),
    "given": lambda x, w: F.batch_norm(x, w, w, w, w),
    "group_norm": lambda x, w: F.group_norm(x, 4, w, w),
    "softmax": lambda x, w: F.mul(F.softmax(x, 0), F.astype(w[:, None, None], x.dtype)),
    "average": lambda x, w: F.mul(F.adaptive_avg_pool2d(x, 1), F.astype(w[:, None, None], x.dtype)),
}


def _names(call):
    with sycl_dnn.profile() as found:
        call()
    return [r.name for r in found.records if r.implementation in ("opencl", "host")]


def _image(queue, layout, dtype):
    if layout == "row_major":
        return F.astype(dpnp.ones((2, 24, 9, 7), dtype="float32", sycl_queue=queue), dtype)
    x = dpnp.ones((2, 9, 7, 24), dtype="float32", sycl_queue=queue)
    return F.permute(F.astype(x, dtype), (0, 3, 1, 2))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", CALLS)
def test_compiled_and_submitted(queue, name, layout, dtype):
    x = _image(queue, layout, dtype)
    w = dpnp.ones(24, dtype="float32", sycl_queue=queue)
    is_opencl = queue.backend == dpctl.backend_type.opencl

    def both():
        with sycl_dnn.kernel_mode("always"):
            y, pullback = sycl_dnn.vjp(CALLS[name], x, w)
            pullback(y)
        queue.wait()

    if is_opencl:
        assert len(_names(both)) >= 2
    else:  # Level Zero takes no OpenCL C: oneDNN's primitives run, and kernels in SPIR-V
        assert all(GENERATED.fullmatch(name) for name in _names(both))


def test_onednn_chooses_by_default(queue):
    x = _image(queue, "channels_last", "float32")
    names = _names(lambda: F.interpolate(x, (18, 14), mode="bilinear"))
    assert queue.sycl_device.is_cpu or not names
