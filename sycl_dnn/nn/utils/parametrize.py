# SPDX-License-Identifier: Apache-2.0
"""``torch.nn.utils.parametrize``: query and remove parametrizations."""

from sycl_dnn.nn.utils.weight_normalization import is_parametrized, remove_parametrizations

__all__ = ["is_parametrized", "remove_parametrizations"]
