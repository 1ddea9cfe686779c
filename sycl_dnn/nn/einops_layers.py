# SPDX-License-Identifier: Apache-2.0
"""The layers of ``einops.layers`` as modules: ``Rearrange``, ``Reduce``, ``EinMix``.

Importing it requires einops.
"""

from __future__ import annotations

import importlib
from typing import Any

from sycl_dnn import functional as F
from sycl_dnn.nn.module import Module
from sycl_dnn.nn.parameter import Parameter

_layers: Any = importlib.import_module("einops.layers")
_einmix: Any = importlib.import_module("einops.layers._einmix")


class Rearrange(_layers.RearrangeMixin, Module):  # type: ignore[misc]
    """``einops.rearrange`` as a module.

    Parameters
    ----------
    pattern : str
    **axes_lengths : int
    """

    def forward(self, input: Any) -> Any:
        """Rearrange (*)."""
        return self._apply_recipe(input)


def _rearrange(pattern: str, lengths: dict[str, int]) -> Any:
    kind: Any = Rearrange
    return kind(pattern, **lengths)


class Reduce(_layers.ReduceMixin, Module):  # type: ignore[misc]
    """``einops.reduce`` as a module.

    Parameters
    ----------
    pattern, reduction : str
    **axes_lengths : int
    """

    def forward(self, input: Any) -> Any:
        """Reduce (*)."""
        return self._apply_recipe(input)


class EinMix(_einmix._EinmixMixin, Module):  # type: ignore[misc]
    """``einops.layers.torch.EinMix``: a linear layer over named axes.

    Parameters
    ----------
    pattern, weight_shape : str
    bias_shape : str, optional
    **axes_lengths : int
    """

    def _create_parameters(
        self, weight_shape: Any, weight_bound: float, bias_shape: Any, bias_bound: float
    ) -> None:
        self.weight = Parameter((F.rand(*weight_shape) * 2 - 1) * weight_bound)
        self.bias = None
        if bias_shape is not None:
            self.bias = Parameter((F.rand(*bias_shape) * 2 - 1) * bias_bound)

    def _create_rearrange_layers(
        self, pre_reshape_pattern: Any, pre_reshape_lengths: Any, post_reshape_pattern: Any,
        post_reshape_lengths: Any,
    ) -> None:  # fmt: skip
        self.pre_rearrange = self.post_rearrange = None
        if pre_reshape_pattern is not None:
            self.pre_rearrange = _rearrange(pre_reshape_pattern, pre_reshape_lengths)
        if post_reshape_pattern is not None:
            self.post_rearrange = _rearrange(post_reshape_pattern, post_reshape_lengths)

    def forward(self, input: Any) -> Any:
        """Mix the axes of (*)."""
        if self.pre_rearrange is not None:
            input = self.pre_rearrange(input)
        result = F.einsum(self.einsum_pattern, input, self.weight)
        if self.bias is not None:
            result = result + self.bias
        return result if self.post_rearrange is None else self.post_rearrange(result)
