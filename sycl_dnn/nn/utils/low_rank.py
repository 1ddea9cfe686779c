# SPDX-License-Identifier: Apache-2.0
"""LoRA: training of low-rank updates to frozen weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeVar

from sycl_dnn import functional as F
from sycl_dnn.nn.linear_layers import Linear
from sycl_dnn.nn.module import Module
from sycl_dnn.nn.parameter import Parameter

M = TypeVar("M", bound=Module)


class LowRank(Module):
    """A layer with weight ``weight + scale * lora_B @ lora_A``, computed as two thin products.

    Parameters
    ----------
    base_layer : Module
        Linear, with a floating-point ``weight`` (out, in), or (in, out) if its ``is_transposed`` is
        true.
    rank : int
    scale : float

    Attributes
    ----------
    lora_A : array (rank, in)
        Initialized like the weights of ``nn.Linear``.
    lora_B : array (out, rank)
        Initially zero, so that training starts from the base layer.
    """

    def __init__(self, base_layer: Module, rank: int, scale: float) -> None:
        super().__init__()
        self.base_layer, self.scale = base_layer, scale
        weight = base_layer.weight
        n_out, n_in = weight.shape[::-1] if self.is_turned else weight.shape
        uniform = F.rand((rank, n_in), device=weight.sycl_queue)
        a = F.mul(F.sub(uniform, 0.5), 2.0 / math.sqrt(n_in))
        b = F.zeros((n_out, rank), device=weight.sycl_queue)
        self.lora_A, self.lora_B = (Parameter(F.astype(t, str(weight.dtype))) for t in (a, b))

    @property
    def is_turned(self) -> bool:
        """Whether the weight of the base layer is (in, out)."""
        return bool(getattr(self.base_layer, "is_transposed", False))

    @property
    def weight(self) -> Any:
        """The sum, for modules that read weights of their layers, such as attention."""
        update = F.mul(F.matmul(self.lora_B, self.lora_A), self.scale)
        update = F.transpose(update, 0, 1) if self.is_turned else update
        return F.add(self.base_layer.weight, update)

    @property
    def bias(self) -> Any:
        """The bias of the base layer."""
        return self.base_layer.bias

    def forward(self, x: Any) -> Any:
        """Map (*, in) to (*, out)."""
        update = F.linear(F.linear(x, self.lora_A), self.lora_B)
        return F.add(self.base_layer(x), F.mul(update, self.scale))

    def merged(self) -> Module:
        """Return the base layer with the low-rank product added to its weight."""
        self.base_layer.weight = self.weight
        return self.base_layer


def lora(
    module: M, rank: int = 8, alpha: float = 16.0,
    targets: Sequence[str] = ("q_proj", "v_proj"),
) -> M:  # fmt: skip
    """Freeze a module and add low-rank trainable updates to the layers with given names.

    Parameters
    ----------
    module : Module
        Changed in place.
    rank : int
        Rank of the updates.
    alpha : float
        Updates are scaled by ``alpha / rank``.
    targets : sequence of str
        Last components of the names of the layers to adapt.

    Returns
    -------
    Module
        ``module``. Each adapted layer is now a ``LowRank`` with ``base_layer``, ``lora_A`` and
        ``lora_B``, under all names that the layer has.

    Raises
    ------
    ValueError
        ``rank`` is less than 1, no layer has one of the names, or a layer with one of them is not
        linear: a ``Linear`` or a module with ``is_transposed``, whose ``weight`` is a
        floating-point matrix.

    Notes
    -----
    Source: Hu et al., arXiv:2106.09685; names as in ``peft``.

    Examples
    --------
    >>> from sycl_dnn import nn
    >>> net = nn.TransformerEncoderLayer(16, 2, 32)
    >>> net = nn.utils.lora(net, rank=2, targets=["linear1"])
    >>> [name for name, _ in net.named_parameters(trainable=True)]
    ['linear1.lora_A', 'linear1.lora_B']
    """
    if rank < 1:
        raise ValueError(f"lora: rank must be at least 1, got {rank}")
    owned = [(o, name, part) for o in module.modules() for name, part in o._modules.items()]
    chosen = {id(part): (name, part) for _, name, part in owned if part and name in targets}
    if not chosen:
        raise ValueError(f"lora: targets must be names of layers, got {tuple(targets)}")
    for name, part in chosen.values():
        _check_linear(name, part)
    module.freeze()
    adapted = {key: LowRank(part, rank, alpha / rank) for key, (_, part) in chosen.items()}
    for owner, name, part in owned:
        if id(part) in adapted:
            owner.register_module(name, adapted[id(part)])
    return module


def _check_linear(name: str, layer: Module) -> None:
    """Raise ValueError if a low-rank matrix cannot be added to the weight of a layer."""
    kind, weight = type(layer), layer._parameters.get("weight")
    if weight is None or weight.ndim != 2 or "float" not in str(weight.dtype):
        raise ValueError(f"lora: {name} must have a weight of two axes in floating point")
    is_plain = isinstance(layer, Linear) and kind.forward is Linear.forward
    if not is_plain and not hasattr(layer, "is_transposed"):
        raise ValueError(
            f"lora: {name} must be a Linear, or have is_transposed to say that it multiplies by a "
            f"weight (in, out) or (out, in), got {kind.__name__}"
        )


def merge_lora(module: M) -> M:
    """Merge the updates of ``lora`` into the weights and remove its matrices.

    Parameters
    ----------
    module : Module
        Changed in place. Weights that ``lora`` froze remain frozen.

    Returns
    -------
    Module
        ``module``.

    Examples
    --------
    >>> from sycl_dnn import nn
    >>> net = nn.utils.lora(nn.Sequential(nn.Linear(4, 4)), rank=1, targets=["0"])
    >>> list(nn.utils.merge_lora(net).state_dict())
    ['0.weight', '0.bias']
    """
    merged: dict[int, Module] = {}
    for owner in reversed(list(module.modules())):  # those inside others first
        for name, part in list(owner._modules.items()):
            if isinstance(part, LowRank):
                if id(part) not in merged:
                    merged[id(part)] = part.merged()
                owner.register_module(name, merged[id(part)])
    return module
