# SPDX-License-Identifier: Apache-2.0
"""Multi-head attention, as in ``torch.nn``."""

from __future__ import annotations

from typing import Any

from sycl_dnn import functional as F
from sycl_dnn.nn import init
from sycl_dnn.nn.key_value_cache import KVCache
from sycl_dnn.nn.linear_layers import Linear, register_parameters
from sycl_dnn.nn.module import Module


class NonDynamicallyQuantizableLinear(Linear):
    """``Linear`` under the name that torch's ``repr`` shows."""


def _added(mask: Any, dtype: str) -> Any:
    """Return an additive mask: True becomes minus infinity."""
    if mask is None or str(mask.dtype) != "bool":
        return mask
    return F.where(mask, float("-inf"), F.zeros((), dtype=dtype))


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
        if is_causal and attn_mask is None:
            raise ValueError("MultiheadAttention: is_causal must come with attn_mask")
        is_single = query.ndim == 2
        if is_single:
            query, key, value = (F.unsqueeze(t, 0 if self.batch_first else 1)
                                 for t in (query, key, value))  # fmt: skip
            if key_padding_mask is not None:
                key_padding_mask = F.unsqueeze(key_padding_mask, 0)
        if not self.batch_first:
            query, key, value = (F.transpose(t, 0, 1) for t in (query, key, value))
        q, k, v = (self._heads(t) for t in self._projected(query, key, value))
        mask = self._mask(q, k, key_padding_mask, attn_mask)
        k, v, mask = self._lengthened(k, v, mask)
        p = self.dropout if self.training else 0.0
        weights = None
        if need_weights:
            scores = F.mul(F.matmul(q, F.transpose(k, -2, -1)), q.shape[-1] ** -0.5)
            weights = F.softmax(scores if mask is None else F.add(scores, mask), -1)
            weights = F.dropout(weights, p, self.training)
            y = F.matmul(weights, v)
            weights = F.mean(weights, 1) if average_attn_weights else weights
        else:
            y = F.scaled_dot_product_attention(q, k, v, mask, p)
        y = self._joined(y)
        if is_single:
            y = F.squeeze(y, 0 if self.batch_first else 1)
            weights = None if weights is None else F.squeeze(weights, 0)
        return y, weights

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
        q, k, v = (self._heads(t) for t in self._projected(x, x, x))
        cache = cache.append(k, v)
        y = F.scaled_dot_product_attention(q, cache.keys, cache.values, cache.mask(x.shape[1]))
        return self._joined(y), cache

    def _projected(self, query: Any, key: Any, value: Any) -> list[Any]:
        e, bias = self.embed_dim, self.in_proj_bias
        biases = [None] * 3 if bias is None else F.split(bias, e)
        if self.in_proj_weight is not None:
            if query is key and key is value:
                return list(F.split(F.linear(query, self.in_proj_weight, bias), e, -1))
            weights = F.split(self.in_proj_weight, e)
        else:
            weights = (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)
        rows = zip((query, key, value), weights, biases, strict=True)
        return [F.linear(t, w, b) for t, w, b in rows]

    def _heads(self, t: Any) -> Any:
        n, length, width = t.shape
        shape = (n, length, self.num_heads, width // self.num_heads)
        return F.transpose(F.reshape(t, shape), 1, 2)

    def _joined(self, y: Any) -> Any:
        """Return the output for the results of the heads, (N, num_heads, L, width)."""
        n, heads, length, width = y.shape
        y = F.reshape(F.transpose(y, 1, 2), (n, length, heads * width))
        y = F.linear(y, self.out_proj.weight, self.out_proj.bias)
        return y if self.batch_first else F.transpose(y, 0, 1)

    def _lengthened(self, k: Any, v: Any, mask: Any) -> tuple[Any, Any, Any]:
        """Append the keys and values of ``add_bias_kv`` and ``add_zero_attn``; extend the mask."""
        n, heads, _, width = k.shape
        added = []
        if self.bias_k is not None:
            shape = (1, heads, 1, width)
            added.append([F.reshape(b, shape).expand(n, heads, 1, width)
                         for b in (self.bias_k, self.bias_v)])  # fmt: skip
        if self.add_zero_attn:
            added.append([F.zeros_like(t[:, :, :1]) for t in (k, v)])
        if not added:
            return k, v, mask
        k, v = (
            F.cat([t, *rows], 2) for t, rows in zip((k, v), zip(*added, strict=True), strict=True)
        )
        return k, v, None if mask is None else F.pad(mask, (0, len(added)))

    def _mask(self, q: Any, k: Any, padding: Any, mask: Any) -> Any:
        (n, heads, length, _), dtype = q.shape, str(q.dtype)
        mask, padding = _added(mask, dtype), _added(padding, dtype)
        if mask is not None and mask.ndim == 3:
            mask = F.reshape(mask, (n, heads, length, k.shape[2]))
        if padding is None:
            return mask
        padding = F.reshape(padding, (n, 1, 1, k.shape[2]))
        return padding if mask is None else F.add(mask, padding)
