# SPDX-License-Identifier: Apache-2.0
"""Architectures of language models, one row each, and ``Config``, which describes a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sycl_dnn.llm.rotary_frequencies import Rotation

#: Names of parameters and modules by role. Roles that do not apply are absent.
_LLAMA = {
    "base": "model", "embedding": "embed_tokens", "layers": "layers", "last_norm": "norm",
    "attention": "self_attn", "mlp": "mlp", "before_attention": "input_layernorm",
    "before_mlp": "post_attention_layernorm", "query": "q_proj", "key": "k_proj",
    "value": "v_proj", "out": "o_proj", "gate": "gate_proj", "up": "up_proj", "down": "down_proj",
}  # fmt: skip
_HEAD_NORMS = {"query_norm": "q_norm", "key_norm": "k_norm"}
_GEMMA2 = {
    **_LLAMA, "after_attention": "post_attention_layernorm",
    "before_mlp": "pre_feedforward_layernorm", "after_mlp": "post_feedforward_layernorm",
}  # fmt: skip
_PHI3 = {**_LLAMA, "joined_qkv": "qkv_proj", "joined_gate_up": "gate_up_proj"}
_GPT2 = {
    "base": "transformer", "embedding": "wte", "positions": "wpe", "layers": "h",
    "last_norm": "ln_f", "attention": "attn", "mlp": "mlp", "before_attention": "ln_1",
    "before_mlp": "ln_2", "joined_qkv": "c_attn", "out": "c_proj", "up": "c_fc", "down": "c_proj",
}  # fmt: skip


@dataclass(frozen=True)
class Architecture:
    """Differences of an architecture from Llama."""

    names: Mapping[str, str] = field(default_factory=lambda: _LLAMA)
    #: "rms", "rms_of_one" (1 is added to the weights) or "layer".
    norm: str = "rms"
    #: Whether there are biases: of queries, keys and values; of attention's output; of the MLP.
    #: None: use the config's ``attention_bias`` and ``mlp_bias``.
    qkv_bias: bool | None = None
    out_bias: bool | None = None
    mlp_bias: bool | None = None
    #: Whether matrices are (in, out).
    is_transposed: bool = False
    #: Whether embeddings are scaled by the square root of their width.
    is_embedding_scaled: bool = False
    #: Config keys with different names.
    keys: Mapping[str, str] = field(default_factory=dict)
    #: Defaults for keys that configs omit.
    defaults: Mapping[str, Any] = field(default_factory=dict)
    #: Every nth layer has full attention, the others a sliding window; 0: a window applies to all.
    full_every: int = 0
    #: Whether GGUF files permute rows for interleaved rotary embeddings, which must be undone.
    is_permuted_in_gguf: bool = False


_GEMMA = {
    "head_dim": 256, "hidden_activation": "gelu_pytorch_tanh", "tie_word_embeddings": True,
    "vocab_size": 256000, "max_position_embeddings": 8192,
}  # fmt: skip

ARCHITECTURES: dict[str, Architecture] = {
    "llama": Architecture(is_permuted_in_gguf=True),
    "mistral": Architecture(
        qkv_bias=False, out_bias=False, mlp_bias=False, is_permuted_in_gguf=True,
        defaults={"num_key_value_heads": 8, "sliding_window": 4096,
                  "max_position_embeddings": 131072},
    ),
    "qwen2": Architecture(
        qkv_bias=True, out_bias=False, mlp_bias=False,
        defaults={"max_position_embeddings": 32768, "use_sliding_window": False},
    ),
    "qwen3": Architecture(
        names={**_LLAMA, **_HEAD_NORMS}, mlp_bias=False,
        defaults={"head_dim": 128, "max_position_embeddings": 32768, "use_sliding_window": False},
    ),
    "smollm3": Architecture(
        is_permuted_in_gguf=True,
        defaults={"rope_theta": 2e6, "no_rope_layer_interval": 4, "tie_word_embeddings": True,
                  "num_key_value_heads": 4, "max_position_embeddings": 32768,
                  "use_sliding_window": False},
    ),
    "gemma": Architecture(
        norm="rms_of_one", mlp_bias=False, is_embedding_scaled=True, defaults=_GEMMA
    ),
    "gemma2": Architecture(
        names=_GEMMA2, norm="rms_of_one", mlp_bias=False, is_embedding_scaled=True, full_every=2,
        defaults={**_GEMMA, "num_key_value_heads": 4, "query_pre_attn_scalar": 256,
                  "sliding_window": 4096, "final_logit_softcapping": 30.0,
                  "attn_logit_softcapping": 50.0},
    ),
    "gemma3_text": Architecture(
        names={**_GEMMA2, **_HEAD_NORMS}, norm="rms_of_one", mlp_bias=False,
        is_embedding_scaled=True, full_every=6,
        defaults={**_GEMMA, "num_key_value_heads": 4, "query_pre_attn_scalar": 256,
                  "sliding_window": 4096, "rope_theta": 1e6, "rope_local_base_freq": 1e4,
                  "max_position_embeddings": 131072},
    ),
    "phi3": Architecture(
        names=_PHI3, qkv_bias=False, out_bias=False, mlp_bias=False,
        defaults={"rms_norm_eps": 1e-5, "max_position_embeddings": 4096,
                  "original_max_position_embeddings": 4096},
    ),
    "gpt2": Architecture(
        names=_GPT2, norm="layer", qkv_bias=True, out_bias=True, mlp_bias=True,
        is_transposed=True,
        keys={"hidden_size": "n_embd", "intermediate_size": "n_inner",
              "num_hidden_layers": "n_layer", "num_attention_heads": "n_head",
              "max_position_embeddings": "n_positions", "rms_norm_eps": "layer_norm_epsilon",
              "hidden_act": "activation_function", "num_key_value_heads": "n_head"},
        defaults={"activation_function": "gelu_new", "layer_norm_epsilon": 1e-5,
                  "tie_word_embeddings": True, "n_positions": 1024},
    ),
}  # fmt: skip

#: Functions by their names in configs.
ACTIVATIONS = {
    "silu": "silu", "swish": "silu", "gelu": "gelu", "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh", "gelu_fast": "gelu_tanh", "relu": "relu",
}  # fmt: skip


class Layer(NamedTuple):
    """Differences between the layers of a model."""

    #: Size of the attention window, including the position itself; None for no limit.
    window: int | None
    #: Index into ``Config.rotations``; None for no rotary embedding.
    rotation: int | None


class Config(NamedTuple):
    """Sizes and constants of a model; ``Config.of`` reads Hugging Face's format."""

    architecture: str
    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_heads: int
    num_key_value_heads: int
    head_dim: int
    max_positions: int
    layers: tuple[Layer, ...]
    rotations: tuple[Rotation, ...]
    norm_eps: float
    activation: str
    is_tied: bool
    qkv_bias: bool
    out_bias: bool
    mlp_bias: bool
    attention_scale: float
    attention_softcap: float | None
    final_softcap: float | None

    @property
    def row(self) -> Architecture:
        """The architecture's row."""
        return ARCHITECTURES[self.architecture]

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Config:
        """Read the contents of Hugging Face's ``config.json``.

        Raises
        ------
        ValueError
            The architecture or a required feature is unsupported, or a key is missing.
        """
        kind = settings.get("model_type")
        if kind not in ARCHITECTURES:
            supported = ", ".join(sorted(ARCHITECTURES))
            raise ValueError(f"llm: the architecture must be one of {supported}, got {kind!r}")
        row = ARCHITECTURES[kind]
        read = _Keys(settings, row)
        hidden, heads = read.size("hidden_size"), read.size("num_attention_heads")
        head_dim, key_heads = read("head_dim") or hidden // heads, read("num_key_value_heads")
        if head_dim < 1 or not 0 < (key_heads or heads) <= heads or heads % (key_heads or heads):
            raise ValueError(
                f"llm: {heads} heads must be of at least one feature and a multiple of "
                f"{key_heads} heads of keys"
            )
        types = _layer_types(read, row)
        rotations = _rotations(read, head_dim, types) if "positions" not in row.names else {}
        layers = tuple(
            Layer(_window(read, t), _rotation_index(read, i, list(rotations), t))
            for i, t in enumerate(types)
        )
        has_bias = bool(read("attention_bias", False))
        scalar = read("query_pre_attn_scalar")
        return cls(
            kind, read.size("vocab_size"), hidden, read("intermediate_size") or 4 * hidden, heads,
            key_heads or heads, head_dim, read("max_position_embeddings", 2048),
            layers, tuple(rotations.values()), float(read("rms_norm_eps", 1e-6)),
            _activation(kind, read), bool(read("tie_word_embeddings", False)),
            has_bias if row.qkv_bias is None else row.qkv_bias,
            has_bias if row.out_bias is None else row.out_bias,
            bool(read("mlp_bias", False)) if row.mlp_bias is None else row.mlp_bias,
            float(scalar or head_dim) ** -0.5, read.number("attn_logit_softcapping"),
            read.number("final_logit_softcapping"),
        )  # fmt: skip


class _Keys:
    """The keys of a config, with an architecture's names and defaults."""

    def __init__(self, config: Mapping[str, Any], row: Architecture) -> None:
        self._config, self._row = {**row.defaults, **config}, row

    def __call__(self, key: str, default: Any = None) -> Any:
        value = self._config.get(self._row.keys.get(key, key))
        return default if value is None else value

    def size(self, key: str) -> int:
        """Return a size; ValueError if it is missing."""
        size = self(key)
        if not isinstance(size, int) or size < 1:
            name = self._row.keys.get(key, key)
            raise ValueError(f"llm: {name} of the config must be a positive integer, got {size!r}")
        return size

    def number(self, key: str) -> float | None:
        """Return a number, or None."""
        value = self(key)
        return None if value is None else float(value)


#: More layers indicate a damaged file.
_MAX_LAYERS = 4096
_FULL, _SLIDING = "full_attention", "sliding_attention"


def _layer_types(read: _Keys, row: Architecture) -> list[str]:
    n = read.size("num_hidden_layers")
    if n > _MAX_LAYERS:
        raise ValueError(f"llm: num_hidden_layers must be at most {_MAX_LAYERS}, got {n}")
    types = read("layer_types")
    if types is not None:
        unknown = set(types) - {_FULL, _SLIDING}
        if unknown or len(types) != n:
            raise ValueError(
                f"llm: layer_types must name {n} layers, {_FULL} or {_SLIDING}, got {types}"
            )
        return list(types)
    if row.full_every:
        every = read("sliding_window_pattern") or row.full_every
        return [_SLIDING if (i + 1) % every else _FULL for i in range(n)]
    first = read("max_window_layers", 28) if read("use_sliding_window") is True else 0
    return [_SLIDING if i >= first else _FULL for i in range(n)]


def _window(read: _Keys, layer_type: str) -> int | None:
    is_off = read("use_sliding_window") is False or layer_type == _FULL
    return None if is_off else read("sliding_window")


def _rotation_index(read: _Keys, i: int, rotations: list[str], layer_type: str) -> int | None:
    """Return the rotation index of layer ``i``."""
    if not rotations:
        return None
    every = read("no_rope_layer_interval")
    if every:
        uses_rotation = read("no_rope_layers")
        if not (uses_rotation[i] if uses_rotation else (i + 1) % every):
            return None
    return rotations.index(layer_type if layer_type in rotations else _FULL)


def _rotations(read: _Keys, head_dim: int, types: list[str]) -> dict[str, Rotation]:
    """Return the rotations by layer type; a single one is that of full attention."""
    parameters = read("rope_parameters") or read("rope_scaling") or {}
    theta, partial = read("rope_theta", 1e4), read("partial_rotary_factor", 1.0)
    if _FULL in parameters or _SLIDING in parameters:
        per_type = {k: v for k, v in parameters.items() if v and k in types}
    else:
        per_type = {_FULL: parameters}
        local = read("rope_local_base_freq")
        if local and _SLIDING in types:
            per_type[_SLIDING] = {"rope_theta": local}
    longest = read("max_position_embeddings", 2048)
    original = read("original_max_position_embeddings")
    return {
        k: Rotation.of(
            {"rope_theta": theta, "partial_rotary_factor": partial, **v}, head_dim, longest,
            original,
        )
        for k, v in per_type.items()
    }  # fmt: skip


def _activation(kind: str, read: _Keys) -> str:
    name = read("hidden_activation") or read("hidden_act", "silu")
    if kind.startswith("gemma") and name == "gelu":
        name = "gelu_pytorch_tanh"  # the meaning in early files
    if name not in ACTIVATIONS:
        supported = ", ".join(ACTIVATIONS)
        raise ValueError(f"llm: the activation must be one of {supported}, got {name!r}")
    return ACTIVATIONS[name]
