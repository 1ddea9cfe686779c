# SPDX-License-Identifier: Apache-2.0
"""``torch.nn.utils.parametrize``: register, query and remove parametrizations."""

from sycl_dnn.nn.utils.spectral_normalization import register_parametrization
from sycl_dnn.nn.utils.weight_normalization import is_parametrized, remove_parametrizations

__all__ = ["is_parametrized", "register_parametrization", "remove_parametrizations"]
