# SPDX-License-Identifier: Apache-2.0
"""The passes over kernels of gradients outside of compiled functions."""

from sycl_dnn.compiler.passes.joined_launches import join_launches
from sycl_dnn.compiler.passes.kernel_fusion import fuse_kernels
from sycl_dnn.lower import kernel_passes

kernel_passes.provide(fuse_kernels, join_launches)
