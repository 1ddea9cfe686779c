# SPDX-License-Identifier: Apache-2.0
"""Multi-head attention, as in ``torch.nn``."""

from __future__ import annotations

from typing import Any

from sycl_dnn import functional as F
from sycl_dnn.functional.multi_head_attention import heads, joined, projected
from sycl_dnn.nn import init
from sycl_dnn.nn.key_value_cache import KVCache
from sycl_dnn.nn.linear_layers import Linear, register_parameters
from sycl_dnn.nn.module import Module


class NonDynamicallyQuantizableLinear(Linear):
    """``Linear`` under the name that torch's ``repr`` shows."""


class MultiheadAttention(Module):
    """Multi-head attention, as ``torch.nn.MultiheadAttention``.

    Parameters
    ----------
    embed_dim, num_heads : int
    dropout : float
    bias : bool
    add_bias_kv, add_zero_attn : bool
        Whether to append a learned key and value, or a key and value of zeros, to the sequence; the
        weights have one more column for each.
    kdim, vdim : int, optional
        Widths of keys and values.
    batch_first : bool
    device, dtype
        As ``Linear``.

    Raises
    ------
    ValueError
        ``embed_dim`` is not a multiple of ``num_heads``.

    Examples
    --------
    >>> from sycl_dnn import functional as F, nn
    >>> x = F.randn(2, 5, 8)
    >>> y, weights = nn.MultiheadAttention(8, 2, batch_first=True)(x, x, x)
    >>> y.shape, weights.shape
    ((2, 5, 8), (2, 5, 5))
    """

    def __init__(
        self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True,
        add_bias_kv: bool = False, add_zero_attn: bool = False, kdim: int | None = None,
        vdim: int | None = None, batch_first: bool = False, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        if embed_dim <= 0 or num_heads <= 0 or embed_dim % num_heads:
            raise ValueError(
                f"MultiheadAttention: embed_dim must be divisible by num_heads={num_heads}, got "
                f"{embed_dim}"
            )
        self.embed_dim, self.num_heads, self.dropout = embed_dim, num_heads, dropout
        self.kdim, self.vdim = kdim or embed_dim, vdim or embed_dim
        self.batch_first, self.add_zero_attn = batch_first, add_zero_attn
        is_same = self.kdim == self.vdim == embed_dim
        shapes = {
            "in_proj_weight": (3 * embed_dim, embed_dim) if is_same else None,
            "q_proj_weight": None if is_same else (embed_dim, embed_dim),
            "k_proj_weight": None if is_same else (embed_dim, self.kdim),
            "v_proj_weight": None if is_same else (embed_dim, self.vdim),
            "in_proj_bias": (3 * embed_dim,) if bias else None,
            "bias_k": (1, 1, embed_dim) if add_bias_kv else None,
            "bias_v": (1, 1, embed_dim) if add_bias_kv else None,
        }
        register_parameters(self, shapes, dtype, device)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias, device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialize the weights with Glorot's rule and the biases to zero."""
        for name, value in self._parameters.items():
            if value is not None and name.endswith("weight"):
                init.xavier_uniform_(value)
            elif value is not None and name != "in_proj_bias":
                init.xavier_normal_(value)
        if self.in_proj_bias is not None:
            init.zeros_(self.in_proj_bias)
            init.zeros_(self.out_proj.bias)

    def forward(
        self, query: Any, key: Any, value: Any, key_padding_mask: Any = None,
        need_weights: bool = True, attn_mask: Any = None, average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Any, Any]:  # fmt: skip
        """Attend from (L, N, E) to (S, N, kdim) and (S, N, vdim); with ``batch_first`` N is first.

        Parameters
        ----------
        key_padding_mask : array (N, S), optional
            bool, True for keys to ignore, or numbers added to the scores.
        attn_mask : array (L, S) or (N * num_heads, L, S), optional
            The same for each query.
        need_weights, average_attn_weights, is_causal : bool
            ``is_causal`` requires ``attn_mask``, as in torch.

        Returns
        -------
        output : array (L, N, E)
        weights : array (N, L, S) or (N, num_heads, L, S), or None
            S includes the keys that ``add_bias_kv`` and ``add_zero_attn`` add.
        """
        is_swapped = self.batch_first and query.ndim == 3
        if is_swapped:
            is_same = query is key and key is value
            query, key, value = (F.transpose(t, 0, 1) for t in (query, key, value))
            key, value = (query, query) if is_same else (key, value)
        y, weights = F.multi_head_attention_forward(
            query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight,
            self.in_proj_bias, self.bias_k, self.bias_v, self.add_zero_attn, self.dropout,
            self.out_proj.weight, self.out_proj.bias, self.training, key_padding_mask, need_weights,
            attn_mask, self.in_proj_weight is None, self.q_proj_weight, self.k_proj_weight,
            self.v_proj_weight, None, None, average_attn_weights, is_causal,
        )  # fmt: skip
        return F.transpose(y, 0, 1) if is_swapped else y, weights

    def new_cache(self, batch_size: int, capacity: int) -> KVCache:
        """Return a cache for ``step``, with the dtype and the queue of the parameters."""
        weight: Any = self.out_proj.weight
        width = self.embed_dim // self.num_heads
        return KVCache.empty(
            batch_size, self.num_heads, capacity, width, dtype=str(weight.dtype),
            device=weight.sycl_queue,
        )  # fmt: skip

    def step(self, x: Any, cache: KVCache) -> tuple[Any, KVCache]:
        """Attend from new positions to themselves and all earlier ones, as with a causal mask.

        Parameters
        ----------
        x : array (L, N, E), or (N, L, E) with ``batch_first``
            The next positions: one, or all of a prompt.
        cache : KVCache
            From ``new_cache`` or the previous step.

        Returns
        -------
        output : array as ``x``
        cache : KVCache
            Includes the new positions.

        Raises
        ------
        ValueError
            ``x`` has no batch axis, keys have a different width, or the cache has no room for that
            many positions.

        Examples
        --------
        >>> from sycl_dnn import functional as F, nn
        >>> attention = nn.MultiheadAttention(8, 2, batch_first=True)
        >>> y, cache = attention.step(F.randn(1, 5, 8), attention.new_cache(1, 16))
        >>> y.shape, int(cache.length)
        ((1, 5, 8), 5)
        """
        if x.ndim != 3 or self.in_proj_weight is None:
            raise ValueError(
                "MultiheadAttention.step: x must be (N, L, E) or (L, N, E) of self-attention, got "
                f"shape {tuple(x.shape)}, kdim={self.kdim} and vdim={self.vdim}"
            )
        if self.bias_k is not None or self.add_zero_attn:
            raise ValueError(
                "MultiheadAttention.step: add_bias_kv and add_zero_attn must be False, got "
                f"{self.bias_k is not None} and {self.add_zero_attn}"
            )
        x = x if self.batch_first else F.transpose(x, 0, 1)
        operands = projected([x] * 3, self.in_proj_weight, self.in_proj_bias)
        q, k, v = (heads(t, self.num_heads) for t in operands)
        cache = cache.append(k, v)
        y = F.scaled_dot_product_attention(q, cache.keys, cache.values, cache.mask(x.shape[1]))
        y = F.linear(joined(y), self.out_proj.weight, self.out_proj.bias)
        return y if self.batch_first else F.transpose(y, 0, 1), cache
