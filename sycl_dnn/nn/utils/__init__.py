# SPDX-License-Identifier: Apache-2.0
"""``torch.nn.utils``: gradient clipping, weight normalization, LoRA, packed sequences."""

from sycl_dnn.nn.hooks import RemovableHandle
from sycl_dnn.nn.utils import parametrizations, parametrize, rnn
from sycl_dnn.nn.utils.gradient_clipping import (
    clip_grad_norm_,
    clip_grad_value_,
    get_total_norm,
    parameters_to_vector,
    vector_to_parameters,
)
from sycl_dnn.nn.utils.low_rank import lora, merge_lora
from sycl_dnn.nn.utils.spectral_normalization import remove_spectral_norm, spectral_norm
from sycl_dnn.nn.utils.weight_normalization import remove_weight_norm, weight_norm

__all__ = [
    "RemovableHandle",
    "clip_grad_norm_",
    "clip_grad_value_",
    "get_total_norm",
    "lora",
    "merge_lora",
    "parameters_to_vector",
    "parametrizations",
    "parametrize",
    "remove_spectral_norm",
    "remove_weight_norm",
    "rnn",
    "spectral_norm",
    "vector_to_parameters",
    "weight_norm",
]
