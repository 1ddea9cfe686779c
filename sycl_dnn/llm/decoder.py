# SPDX-License-Identifier: Apache-2.0
"""``Decoder``: one module for all architectures, with Hugging Face's parameter names."""

from __future__ import annotations

import math
from typing import Any

from sycl_dnn import functional as F
from sycl_dnn.kernels.attention_to_slots import Scores
from sycl_dnn.llm.architectures import Config, Layer
from sycl_dnn.llm.cached_attention import attended, cached_attention
from sycl_dnn.llm.key_value_slots import Places, Slots, check_slots, positions_from
from sycl_dnn.llm.layer_norms import Weights, activated, norm
from sycl_dnn.llm.projections import Projection, Table, gated_product, product_added, products
from sycl_dnn.llm.turned_heads import Turn, turn_of
from sycl_dnn.nn.containers import ModuleList
from sycl_dnn.nn.key_value_cache import slots_from
from sycl_dnn.nn.module import Module

#: Added to masked scores; finite, since rows of padding are fully masked.
_UNSEEN = -1e30


class Attention(Module):
    """Grouped-query self-attention, with or without a cache."""

    def __init__(self, config: Config, weights: Weights, name: str, layer: Layer) -> None:
        super().__init__()
        self.config, self.layer = config, layer
        names, dim, hidden = config.row.names, config.head_dim, config.hidden_size
        n = config.num_key_value_heads * dim
        self.widths = (config.num_heads * dim, n, n)
        is_joined = "joined_qkv" in names
        roles = ("joined_qkv",) if is_joined else ("query", "key", "value")
        #: Names of the projections, and of query and key normalization.
        self.inputs = tuple(names[role] for role in roles)
        self.norms = tuple(names[r] for r in ("query_norm", "key_norm") if r in names)
        self.out = names["out"]
        sizes = [(hidden, w) for w in ((sum(self.widths),) if is_joined else self.widths)]
        for part, size in zip(self.inputs, sizes, strict=True):
            self.register_module(part, Projection(
                weights, f"{name}.{part}", *size, config.qkv_bias, config.row.is_transposed
            ))  # fmt: skip
        self.register_module(self.out, Projection(
            weights, f"{name}.{self.out}", self.widths[0], hidden, config.out_bias,
            config.row.is_transposed,
        ))  # fmt: skip
        for part in self.norms:
            self.register_module(part, norm(config, weights, f"{name}.{part}", dim))

    def heads(self, x: Any, input_norm: Module) -> list[Any]:
        """Return queries, keys and values (N, T, H, D) before their rotary embedding."""
        parts = self._modules
        heads = products([parts[name] for name in self.inputs], x, input_norm)
        if len(heads) == 1:
            heads = list(F.split(heads[0], self.widths, -1))
        heads = [F.reshape(t, (*t.shape[:2], -1, self.config.head_dim)) for t in heads]
        for i, name in enumerate(self.norms):
            heads[i] = parts[name](heads[i])
        return heads

    def forward(
        self, x: Any, input_norm: Module, turns: list[Turn], mask: Any,
        places: Places | None = None, cache: Any = None, residual: Any = None,
    ) -> Any:  # fmt: skip
        """Map (N, T, hidden) to the same shape, and return the updated cache.

        ``x``: array (N, T, hidden). ``input_norm``: normalizes ``x``. ``mask``: added to the scores
        (N, key heads, T * group, S); None means causal. ``cache``: pair of arrays (N, heads, S, D).
        ``residual``: array (N, T, hidden), added to the result.
        """
        heads, rotation = self.heads(x, input_norm), self.layer.rotation
        turn = None if rotation is None else turns[rotation]
        if cache is None:
            attention = self._uncached(heads, turn, mask)
        else:
            assert places is not None
            kind = getattr(self._modules[self.out], "packed_kind", "")
            attention, cache = cached_attention(
                heads, turn, cache, places, mask, self._scores, kind
            )
        attention = F.reshape(attention, (*x.shape[:2], -1))
        return product_added(self._modules[self.out], attention, residual), cache

    @property
    def _scores(self) -> Scores:
        config = self.config
        return Scores(config.attention_scale, config.attention_softcap, self.layer.window)

    def _uncached(self, heads: list[Any], turn: Turn | None, mask: Any) -> Any:
        """Return attention (N, T, H, D) of the positions to each other."""
        config = self.config
        heads = [F.permute(t, (0, 2, 1, 3)) for t in heads]
        if turn is not None:
            heads[:2] = [turn(t) for t in heads[:2]]
        if mask is None:
            attention = F.scaled_dot_product_attention(
                heads[0], heads[1], heads[2], is_causal=True, scale=config.attention_scale,
                enable_gqa=config.num_heads != config.num_key_value_heads,
            )  # fmt: skip
        else:
            query, key, value = heads
            return attended(query, key, value, mask, self._scores, str(query.dtype))
        return F.permute(attention, (0, 2, 1, 3))


class MLP(Module):
    """Feed-forward network of two or three projections with an activation."""

    def __init__(self, config: Config, weights: Weights, name: str) -> None:
        super().__init__()
        names, hidden, intermediate = config.row.names, config.hidden_size, config.intermediate_size
        is_joined = "joined_gate_up" in names
        roles = ("joined_gate_up",) if is_joined else ("gate", "up")
        self.inputs = tuple(names[r] for r in roles if r in names)
        self.down, self.activation = names["down"], config.activation
        self.is_gated = is_joined or len(self.inputs) == 2
        sizes = dict.fromkeys(self.inputs, (hidden, intermediate * (2 if is_joined else 1)))
        for part, size in {**sizes, self.down: (intermediate, hidden)}.items():
            self.register_module(part, Projection(
                weights, f"{name}.{part}", *size, config.mlp_bias, config.row.is_transposed
            ))  # fmt: skip

    def forward(self, x: Any, input_norm: Module, residual: Any = None) -> Any:
        """Map ``input_norm(x)`` (N, T, hidden) to the same shape, added to ``residual``."""
        parts = self._modules
        inputs = [parts[name] for name in self.inputs]
        if len(inputs) == 2:
            hidden = gated_product(inputs, x, input_norm, self.activation)
        else:
            gate, *up = F.chunk(inputs[0](input_norm(x)), 2 if self.is_gated else 1, -1)
            hidden = activated(gate, self.activation)
            hidden = F.mul(hidden, up[0]) if up else hidden
        return product_added(parts[self.down], hidden, residual)


class Block(Module):
    """A layer: attention and MLP, each with a residual connection."""

    def __init__(self, config: Config, weights: Weights, name: str, layer: Layer) -> None:
        super().__init__()
        names = config.row.names
        #: Normalization before, module, normalization after (or "").
        self.halves = tuple(
            (names[f"before_{half}"], names[half], names.get(f"after_{half}", ""))
            for half in ("attention", "mlp")
        )
        for norm_before, part, norm_after in self.halves:
            path = f"{name}.{part}"
            module = (
                Attention(config, weights, path, layer)
                if part == names["attention"]
                else MLP(config, weights, path)
            )
            self.register_module(part, module)
            for norm_name in filter(None, (norm_before, norm_after)):
                norm_layer = norm(config, weights, f"{name}.{norm_name}", config.hidden_size)
                self.register_module(norm_name, norm_layer)

    def forward(
        self, x: Any, turns: Any, mask: Any, places: Places | None = None, cache: Any = None
    ) -> Any:
        """Map (N, T, hidden) to the same shape, and return the updated cache."""
        parts = self._modules
        for i, (norm_before, part, norm_after) in enumerate(self.halves):
            residual = None if norm_after else x
            if i == 0:
                update, cache = parts[part](
                    x, parts[norm_before], turns, mask, places, cache, residual
                )
            else:
                update = parts[part](x, parts[norm_before], residual)
            x = F.add(x, parts[norm_after](update)) if norm_after else update
        return x, cache


class Base(Module):
    """Embeddings, layers and the final normalization."""

    def __init__(self, config: Config, weights: Weights, name: str) -> None:
        super().__init__()
        names, hidden = config.row.names, config.hidden_size
        self.embedding_name, self.layers_name = names["embedding"], names["layers"]
        self.positions_name, self.last_norm_name = names.get("positions", ""), names["last_norm"]
        self.factor = math.sqrt(hidden) if config.row.is_embedding_scaled else 1.0
        table = Table(weights, f"{name}.{self.embedding_name}", config.vocab_size, hidden)
        self.register_module(self.embedding_name, table)
        if self.positions_name:
            table = Table(weights, f"{name}.{self.positions_name}", config.max_positions, hidden)
            self.register_module(self.positions_name, table)
        self.register_module(self.layers_name, ModuleList([
            Block(config, weights, f"{name}.{self.layers_name}.{i}", layer)
            for i, layer in enumerate(config.layers)
        ]))  # fmt: skip
        last = norm(config, weights, f"{name}.{self.last_norm_name}", hidden)
        self.register_module(self.last_norm_name, last)

    def embedded(self, ids: Any, positions: Any) -> Any:
        """Return the input of the first layer, (N, T, hidden)."""
        x = self._modules[self.embedding_name](ids)
        if self.factor != 1:
            x = F.mul(x, self.factor)
        if self.positions_name:
            rows = F.astype(F.nan_to_num(positions), "int32")
            x = F.add(x, self._modules[self.positions_name](rows))
            x = F.add(x, F.unsqueeze(F.mul(positions, 0.0), 2))  # NaN if there is no room
        return x


class Decoder(Module):
    """A causal language model with Hugging Face's parameter names.

    Parameters
    ----------
    config : Config
    weights : callable, optional
        ``weights(name, shape)`` returns the array of a parameter; random by default.

    Examples
    --------
    >>> import dpnp
    >>> from sycl_dnn import llm
    >>> config = llm.Config.of({"model_type": "llama", "vocab_size": 64, "hidden_size": 16,
    ...                         "num_hidden_layers": 1, "num_attention_heads": 2})
    >>> net = llm.Decoder(config)
    >>> net(dpnp.zeros((2, 5), dtype="i4")).shape
    (2, 5, 64)
    """

    def __init__(self, config: Config, weights: Weights | None = None) -> None:
        super().__init__()
        weights = _random if weights is None else weights
        self.config = config
        self.base = config.row.names["base"]
        self.register_module(self.base, Base(config, weights, self.base))
        if not config.is_tied:
            head = Projection(weights, "lm_head", config.hidden_size, config.vocab_size, False)
            self.register_module("lm_head", head)

    def forward(
        self, ids: Any, cache: Any = None, slots: Slots | None = None, last_only: bool = False,
        n_read: int | None = None,
    ) -> Any:  # fmt: skip
        """Map token ids (N, T) to logits (N, T, vocabulary) of the next tokens.

        Parameters
        ----------
        ids : array (N, T) of int32 or int64
        cache : list of pairs of arrays (N, heads, S, D), optional
            Keys and values of each layer. If passed, logits and the updated cache are returned.
        slots : Slots, optional
            Positions of the ids in the cache. All logits are NaN if some are not among the slots
            that are read: the host does not know ``slots.first``, so it cannot raise an error.
        last_only : bool
            Whether to return only the logits of the last position, (N, vocabulary).
        n_read : int, optional
            Slots of the cache beyond this number are not read.

        Raises
        ------
        ValueError
            There are more ids than slots that are read, or a shape does not fit.
        """
        config, base = self.config, self._modules[self.base]
        if cache is not None or slots is not None or n_read is not None:
            n_read = check_slots(ids.shape, cache, slots, n_read, len(config.layers))
        positions, masks = self._places(ids.shape[1], slots, n_read)
        x = base.embedded(ids, positions)
        turns = [turn_of(r, positions) for r in config.rotations]
        places = None if slots is None else Places(*slots, slots_from(slots.first, ids.shape[1]))
        new_cache = []
        for i, block in enumerate(base._modules[base.layers_name]):
            mask = masks[config.layers[i].window]
            x, layer_cache = block(x, turns, mask, places, None if cache is None else cache[i])
            new_cache.append(layer_cache)
        logits = self._logits(x[:, -1] if last_only else x)
        return logits if cache is None else (logits, new_cache)

    def _logits(self, x: Any) -> Any:
        base = self._modules[self.base]
        last_norm = base._modules[base.last_norm_name]
        is_tied = self.config.is_tied
        head = base._modules[base.embedding_name] if is_tied else self._modules["lm_head"]
        logits = F.astype(products([head], x, last_norm)[0], "float32")
        cap = self.config.final_softcap
        return logits if cap is None else F.mul(F.tanh(F.mul(logits, 1.0 / cap)), cap)

    def _places(self, n: int, slots: Slots | None, n_read: int | None) -> Any:
        """Return positions (N, T), and the mask for each window size."""
        windows = {layer.window for layer in self.config.layers}
        if slots is None:
            keys = F.arange(float(n))
            queries, positions = F.unsqueeze(keys, 1), F.unsqueeze(keys, 0)
            is_needed = self.config.attention_softcap is not None
            seen = F.le(keys, queries)
            starts = None
        else:
            queries = F.unsqueeze(F.add(F.arange(float(n)), F.astype(slots.first, "float32")), 1)
            starts = F.reshape(F.astype(slots.starts, "float32"), (-1, 1))
            assert n_read is not None
            positions = positions_from(*slots, n, n_read)
            keys = F.arange(float(n_read))
            is_needed = True
            seen = F.logical_and(F.le(keys, queries), F.ge(keys, F.reshape(starts, (-1, 1, 1, 1))))
        masks: dict[int | None, Any] = {}
        for window in windows:
            is_wide = window is None or (slots is None and window >= n)
            if is_wide and not is_needed:
                masks[window] = None
                continue
            near = None if is_wide else F.lt(F.sub(queries, keys), float(window or 0))
            masks[window] = self._summand(seen if near is None else F.logical_and(seen, near))
        return positions, masks

    def _summand(self, seen: Any) -> Any:
        """Return an additive mask for scores, each row for a group of heads."""
        groups = self.config.num_heads // self.config.num_key_value_heads
        mask = F.where(seen, 0.0, _UNSEEN)
        mask = F.reshape(mask, (-1, 1, mask.shape[-2], 1, mask.shape[-1]))
        mask = F.expand(mask, (-1, -1, -1, groups, -1))
        return F.reshape(mask, (mask.shape[0], 1, -1, mask.shape[4]))


def _random(name: str, shape: tuple[int, ...]) -> Any:
    """Initialize for training: ones for normalizations, zeros for biases, small random numbers."""
    if len(shape) > 1:
        return F.mul(F.randn(shape), 0.02)
    return F.ones(shape) if name.endswith("weight") else F.zeros(shape)
