# SPDX-License-Identifier: Apache-2.0
"""``torch.nn.utils.parametrizations``: weights as functions of other parameters."""

from sycl_dnn.nn.utils.spectral_normalization import parametrized_spectral_norm as spectral_norm
from sycl_dnn.nn.utils.weight_normalization import parametrized_weight_norm as weight_norm

__all__ = ["spectral_norm", "weight_norm"]
