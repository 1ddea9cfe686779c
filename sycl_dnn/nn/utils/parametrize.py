# SPDX-License-Identifier: Apache-2.0
"""``torch.nn.utils.parametrize``: what takes parametrizations away."""

from sycl_dnn.nn.utils.weight_normalization import is_parametrized, remove_parametrizations

__all__ = ["is_parametrized", "remove_parametrizations"]
