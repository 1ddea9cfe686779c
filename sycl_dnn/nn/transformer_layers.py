# SPDX-License-Identifier: Apache-2.0
"""Transformer encoder and decoder layers, and stacks of them, as in ``torch.nn``."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

from sycl_dnn import functional as F
from sycl_dnn.nn import init
from sycl_dnn.nn.attention_layers import MultiheadAttention
from sycl_dnn.nn.containers import ModuleList
from sycl_dnn.nn.dropout_layers import Dropout
from sycl_dnn.nn.key_value_cache import KVCache
from sycl_dnn.nn.linear_layers import Linear
from sycl_dnn.nn.module import Module
from sycl_dnn.nn.normalization_layers import LayerNorm

_ACTIVATIONS = {"relu": F.relu, "gelu": F.gelu}


class _Transformer(Module):
    """The common base of encoder and decoder layers."""

    _attentions: tuple[str, ...]
    _n_norms: int

    def __init__(
        self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1,
        activation: Any = F.relu, layer_norm_eps: float = 1e-5, batch_first: bool = False,
        norm_first: bool = False, bias: bool = True, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        factory_kwargs = {"device": device, "dtype": dtype}
        for name in self._attentions:
            attention = MultiheadAttention(
                d_model, nhead, dropout, bias, batch_first=batch_first, **factory_kwargs
            )
            self.register_module(name, attention)
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **factory_kwargs)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **factory_kwargs)
        self.norm_first = norm_first
        for i in range(1, self._n_norms + 1):
            self.register_module(
                f"norm{i}", LayerNorm(d_model, layer_norm_eps, bias=bias, **factory_kwargs)
            )
        for i in range(1, self._n_norms + 1):
            self.register_module(f"dropout{i}", Dropout(dropout))
        if isinstance(activation, str):
            if activation not in _ACTIVATIONS:
                kind = type(self).__name__
                raise ValueError(f"{kind}: activation must be 'relu' or 'gelu', got {activation!r}")
            activation = _ACTIVATIONS[activation]
        self.activation = activation

    def _residual(self, x: Any, number: int, part: Callable[[Any], Any]) -> Any:
        norm = getattr(self, f"norm{number}")
        if self.norm_first:
            return F.add(x, part(norm(x)))
        return norm(F.add(x, part(x)))

    # Subclasses may override the methods whose names end in "block", as in torch.

    def _sa_block(
        self, x: Any, attn_mask: Any, key_padding_mask: Any, is_causal: bool = False
    ) -> Any:
        result = self.self_attn(x, x, x, key_padding_mask, False, attn_mask, is_causal=is_causal)
        return self.dropout1(result[0])

    def _ff_block(self, x: Any) -> Any:
        result = self.linear2(self.dropout(self.activation(self.linear1(x))))
        return getattr(self, f"dropout{self._n_norms}")(result)


class TransformerEncoderLayer(_Transformer):
    """Self-attention and a feed-forward network, as ``torch.nn.TransformerEncoderLayer``.

    Parameters
    ----------
    d_model, nhead, dim_feedforward : int
    dropout : float
    activation : {"relu", "gelu"} or callable
    layer_norm_eps : float
    batch_first, norm_first, bias : bool
    device, dtype
        As ``Linear``.

    Examples
    --------
    >>> from sycl_dnn import functional as F, nn
    >>> nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)(F.randn(2, 5, 8)).shape
    (2, 5, 8)
    """

    _attentions = ("self_attn",)
    _n_norms = 2

    def forward(
        self, src: Any, src_mask: Any = None, src_key_padding_mask: Any = None,
        is_causal: bool = False,
    ) -> Any:  # fmt: skip
        """Map (L, N, E), or (N, L, E) with ``batch_first``; masks as in ``MultiheadAttention``.

        Raises
        ------
        ValueError
            ``is_causal`` is passed without ``src_mask``: it only describes that mask.
        """
        x = self._residual(
            src, 1, lambda x: self._sa_block(x, src_mask, src_key_padding_mask, is_causal=is_causal)
        )
        return self._residual(x, 2, self._ff_block)

    def new_cache(self, batch_size: int, capacity: int) -> KVCache:
        """Return a cache for ``step``."""
        return self.self_attn.new_cache(batch_size, capacity)

    def step(self, src: Any, cache: KVCache) -> tuple[Any, KVCache]:
        """Map new positions; each attends to itself and all earlier ones (causal mask).

        Raises
        ------
        NotImplementedError
            A subclass overrides ``_sa_block``, which does not use the cache.

        Examples
        --------
        >>> from sycl_dnn import functional as F, nn
        >>> layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
        >>> y, cache = layer.step(F.randn(1, 3, 8), layer.new_cache(1, 16))
        >>> y.shape, int(cache.length)
        ((1, 3, 8), 3)
        """
        if type(self)._sa_block is not _Transformer._sa_block:
            raise NotImplementedError(
                f"{type(self).__name__}.step: _sa_block is overridden; override step, too"
            )
        outputs = []

        def attended(x: Any) -> Any:
            outputs.append(self.self_attn.step(x, cache))
            return self.dropout1(outputs[0][0])

        x = self._residual(src, 1, attended)
        return self._residual(x, 2, self._ff_block), outputs[0][1]


class TransformerDecoderLayer(_Transformer):
    """Self-attention, cross-attention and a feed-forward network: ``nn.TransformerDecoderLayer``.

    Parameters
    ----------
    d_model, nhead, dim_feedforward : int
    dropout : float
    activation : {"relu", "gelu"} or callable
    layer_norm_eps : float
    batch_first, norm_first, bias : bool
    device, dtype
        As ``Linear``.
    """

    _attentions = ("self_attn", "multihead_attn")
    _n_norms = 3

    def forward(
        self, tgt: Any, memory: Any, tgt_mask: Any = None, memory_mask: Any = None,
        tgt_key_padding_mask: Any = None, memory_key_padding_mask: Any = None,
        tgt_is_causal: bool = False, memory_is_causal: bool = False,
    ) -> Any:  # fmt: skip
        """Map (L, N, E) with a memory (S, N, E); masks as in ``MultiheadAttention``."""
        x = self._residual(
            tgt, 1, lambda x: self._sa_block(x, tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        )
        x = self._residual(
            x, 2, lambda x: self._mha_block(
                x, memory, memory_mask, memory_key_padding_mask, memory_is_causal)
        )  # fmt: skip
        return self._residual(x, 3, self._ff_block)

    def _mha_block(
        self, x: Any, mem: Any, attn_mask: Any, key_padding_mask: Any, is_causal: bool = False
    ) -> Any:
        result = self.multihead_attn(
            x, mem, mem, key_padding_mask, False, attn_mask, is_causal=is_causal
        )
        return self.dropout2(result[0])


class _Stack(Module):
    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = ModuleList([copy.deepcopy(decoder_layer) for _ in range(num_layers)])
        self.num_layers = num_layers
        self.norm = norm


class TransformerEncoder(_Stack):
    """A stack of copies of an encoder layer, as ``torch.nn.TransformerEncoder``.

    Parameters
    ----------
    encoder_layer : Module
    num_layers : int
    norm : Module, optional
    enable_nested_tensor, mask_check : bool
        Accepted and ignored: there are no nested tensors.
    """

    def __init__(
        self, encoder_layer: Module, num_layers: int, norm: Module | None = None,
        enable_nested_tensor: bool = True, mask_check: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(encoder_layer, num_layers, norm)

    def forward(
        self, src: Any, mask: Any = None, src_key_padding_mask: Any = None,
        is_causal: bool | None = None,
    ) -> Any:  # fmt: skip
        """Apply the layers in order."""
        for layer in self.layers:
            src = layer(src, mask, src_key_padding_mask, bool(is_causal))
        return src if self.norm is None else self.norm(src)

    def new_caches(self, batch_size: int, capacity: int) -> list[KVCache]:
        """Return one cache per layer, for ``step``."""
        return [layer.new_cache(batch_size, capacity) for layer in self.layers]

    def step(self, src: Any, caches: list[KVCache]) -> tuple[Any, list[KVCache]]:
        """Map new positions; each attends to itself and all earlier ones (causal mask).

        Examples
        --------
        >>> from sycl_dnn import functional as F, nn
        >>> layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        >>> net = nn.TransformerEncoder(layer, 2).eval()
        >>> y, caches = net.step(F.randn(1, 3, 8), net.new_caches(1, 16))
        >>> y.shape, [int(cache.length) for cache in caches]
        ((1, 3, 8), [3, 3])
        """
        new_caches = []
        for layer, cache in zip(self.layers, caches, strict=True):
            src, cache = layer.step(src, cache)
            new_caches.append(cache)
        return (src if self.norm is None else self.norm(src)), new_caches


class TransformerDecoder(_Stack):
    """A stack of copies of a decoder layer, as ``torch.nn.TransformerDecoder``.

    Parameters
    ----------
    decoder_layer : Module
    num_layers : int
    norm : Module, optional
    """

    def forward(self, tgt: Any, memory: Any, *masks: Any, **named: Any) -> Any:
        """Apply the layers in order; masks as in ``TransformerDecoderLayer``."""
        for layer in self.layers:
            tgt = layer(tgt, memory, *masks, **named)
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """An encoder and a decoder, as ``torch.nn.Transformer``.

    Parameters
    ----------
    d_model, nhead, num_encoder_layers, num_decoder_layers, dim_feedforward : int
    dropout : float
    activation : {"relu", "gelu"} or callable
    custom_encoder, custom_decoder : Module, optional
        Used in place of the stacks of layers.
    layer_norm_eps : float
    batch_first, norm_first, bias : bool
    device, dtype
        As ``Linear``.

    Attributes
    ----------
    encoder, decoder : Module
        ``TransformerEncoder`` and ``TransformerDecoder``, each with a final ``LayerNorm``. Matrices
        are drawn from Xavier's uniform distribution.
    """

    def __init__(
        self, d_model: int = 512, nhead: int = 8, num_encoder_layers: int = 6,
        num_decoder_layers: int = 6, dim_feedforward: int = 2048, dropout: float = 0.1,
        activation: Any = F.relu, custom_encoder: Module | None = None,
        custom_decoder: Module | None = None, layer_norm_eps: float = 1e-5,
        batch_first: bool = False, norm_first: bool = False, bias: bool = True, device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        options: Any = (
            d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first,
            norm_first, bias, device, dtype,
        )  # fmt: skip

        def norm() -> LayerNorm:
            return LayerNorm(d_model, layer_norm_eps, bias=bias, device=device, dtype=dtype)

        self.encoder = custom_encoder or TransformerEncoder(
            TransformerEncoderLayer(*options), num_encoder_layers, norm()
        )
        self.decoder = custom_decoder or TransformerDecoder(
            TransformerDecoderLayer(*options), num_decoder_layers, norm()
        )
        for parameter in self.parameters():
            if parameter.ndim > 1:
                init.xavier_uniform_(parameter)
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def forward(
        self, src: Any, tgt: Any, src_mask: Any = None, tgt_mask: Any = None,
        memory_mask: Any = None, src_key_padding_mask: Any = None,
        tgt_key_padding_mask: Any = None, memory_key_padding_mask: Any = None,
        src_is_causal: bool | None = None, tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Any:  # fmt: skip
        """Map (S, N, E) and (T, N, E) to (T, N, E); masks as in the layers."""
        memory = self.encoder(src, src_mask, src_key_padding_mask, src_is_causal)
        return self.decoder(
            tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask,
            bool(tgt_is_causal), memory_is_causal,
        )  # fmt: skip

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Any:
        """Return a mask (sz, sz): minus infinity above the diagonal, else 0."""
        return F.triu(F.full((sz, sz), -math.inf, device=device, dtype=dtype or "float32"), 1)
