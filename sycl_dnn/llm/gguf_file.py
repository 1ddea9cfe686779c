# SPDX-License-Identifier: Apache-2.0
"""``GgufFile``: a model in a GGUF file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sycl_dnn.kernels.packed_blocks import BLOCKS
from sycl_dnn.llm.architectures import ARCHITECTURES, Architecture, Config
from sycl_dnn.llm.gguf_format import GgufReader
from sycl_dnn.llm.packed_matrices import PackedMatrix
from sycl_dnn.llm.tokenization import Tokenizer

#: Hugging Face's architecture names by GGUF's.
_KINDS = {
    "llama": "llama", "qwen2": "qwen2", "qwen3": "qwen3", "gemma": "gemma", "gemma2": "gemma2",
    "gemma3": "gemma3_text", "phi3": "phi3", "gpt2": "gpt2", "smollm3": "smollm3",
}  # fmt: skip
#: Hugging Face's config keys by GGUF keys without the architecture prefix.
_KEYS = {
    "context_length": "max_position_embeddings", "embedding_length": "hidden_size",
    "block_count": "num_hidden_layers", "feed_forward_length": "intermediate_size",
    "attention.head_count": "num_attention_heads",
    "attention.head_count_kv": "num_key_value_heads", "attention.key_length": "head_dim",
    "attention.layer_norm_rms_epsilon": "rms_norm_eps",
    "attention.layer_norm_epsilon": "rms_norm_eps",
    "attention.sliding_window": "sliding_window", "rope.freq_base": "rope_theta",
    "rope.freq_base_swa": "rope_local_base_freq",
    "attn_logit_softcapping": "attn_logit_softcapping",
    "final_logit_softcapping": "final_logit_softcapping",
    "rope.scaling.original_context_length": "original_max_position_embeddings",
}  # fmt: skip
#: GGUF tensor names by role; those of layers follow ``blk.<i>.``.
_WHOLE = {"embedding": "token_embd", "positions": "position_embd", "last_norm": "output_norm"}
_IN_ATTENTION = {
    "query": "attn_q", "key": "attn_k", "value": "attn_v", "joined_qkv": "attn_qkv",
    "out": "attn_output", "query_norm": "attn_q_norm", "key_norm": "attn_k_norm",
}  # fmt: skip
_IN_MLP = {
    "gate": "ffn_gate", "up": "ffn_up", "down": "ffn_down", "joined_gate_up": "ffn_up",
}  # fmt: skip
_IN_LAYER = {
    "before_attention": "attn_norm", "after_attention": "post_attention_norm",
    "before_mlp": "ffn_norm", "after_mlp": "post_ffw_norm",
}  # fmt: skip
#: Depths of models whose scores are scaled by hidden / heads instead of the head width.
_OTHER_SCALE = {"gemma2": 46, "gemma3_text": 62}


class GgufFile:
    """A model in a llama.cpp file.

    Raises ValueError if the file is damaged, or its architecture is unsupported.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._reader = path, GgufReader(path)
        self._fields, self._tensors = self._reader.fields, self._reader.tensors
        self.config = Config.of(self._config())
        self._names = dict(_names(self.config.row, len(self.config.layers)))

    def _config(self) -> dict[str, Any]:
        kind = self._fields.get("general.architecture")
        if kind not in _KINDS:
            supported = ", ".join(_KINDS)
            raise ValueError(f"llm: the architecture must be one of {supported}, got {kind!r}")
        row = ARCHITECTURES[_KINDS[kind]]
        config: dict[str, Any] = {"model_type": _KINDS[kind]}
        for key, name in _KEYS.items():
            if f"{kind}.{key}" in self._fields:
                config[row.keys.get(name, name)] = self._fields[f"{kind}.{key}"]
        tokens = self._fields.get("tokenizer.ggml.tokens", ())
        config["vocab_size"] = self._fields.get(f"{kind}.vocab_size") or len(tokens)
        config["tie_word_embeddings"] = "output.weight" not in self._tensors
        config["attention_bias"] = "blk.0.attn_q.bias" in self._tensors
        config["mlp_bias"] = "blk.0.ffn_up.bias" in self._tensors
        if "positions" not in row.names:
            config.update(self._rotation(kind, config))
        if config.get("num_hidden_layers", 0) == _OTHER_SCALE.get(_KINDS[kind]):
            config["query_pre_attn_scalar"] = config["hidden_size"] / config["num_attention_heads"]
        elif row.is_embedding_scaled:
            config["query_pre_attn_scalar"] = config.get("head_dim", 256)
        return config

    def _rotation(self, kind: str, config: dict[str, Any]) -> dict[str, Any]:
        """Return a file's rotary parameters as keys of Hugging Face's config."""
        fields, parameters = self._fields, dict[str, Any]()
        heads = config.get("num_attention_heads") or 1
        head_dim = config.get("head_dim") or config.get("hidden_size", 0) // heads
        rotary_dim = fields.get(f"{kind}.rope.dimension_count")
        if rotary_dim and head_dim:
            parameters["partial_rotary_factor"] = rotary_dim / head_dim
        scaling = fields.get(f"{kind}.rope.scaling.type", "none")
        short_factors, long_factors = (
            self._values(f"rope_factors_{n}.weight") for n in ("short", "long")
        )
        divisors = self._values("rope_freqs.weight")
        if short_factors is not None and long_factors is not None:
            parameters["rope_scaling"] = {
                "rope_type": "longrope", "short_factor": short_factors, "long_factor": long_factors,
                "attention_factor": fields.get(f"{kind}.rope.scaling.attn_factor"),
            }  # fmt: skip
        elif divisors is not None:
            parameters["rope_scaling"] = {"rope_type": "divided", "divisors": divisors}
        elif scaling != "none":
            factor = fields.get(f"{kind}.rope.scaling.factor", 1.0)
            parameters["rope_scaling"] = {"rope_type": scaling, "factor": factor}
        return parameters

    def _values(self, name: str) -> Any:
        return self._reader.read(name).ravel() if name in self._tensors else None

    def array(self, name: str, shape: tuple[int, ...]) -> Any:
        """Return a parameter by Hugging Face's name as a NumPy float32 array.

        Raises ValueError if it is missing, or has an unexpected shape or unknown type.
        """
        stored, role = self._stored(name, shape)
        row, values = self.config.row, self._reader.read(stored)
        if row.norm == "rms_of_one" and "norm" in stored:
            return values - 1.0
        values = self._in_order(values, role)
        return values.T if self._is_turned(role) and values.ndim == 2 else values

    def packed(self, name: str, shape: tuple[int, ...]) -> PackedMatrix | None:
        """Return a matrix in the blocks of the file, (outputs, bytes); None for other types.

        Raises ValueError if it is missing, or of another shape.
        """
        stored, role = self._stored(name, shape)
        raw, kind = self._reader.blocks(stored)
        if kind.name not in BLOCKS or self._tensors[stored].shape[1] % BLOCKS[kind.name].n_elements:
            return None
        rows = raw.reshape(self._tensors[stored].shape[0], -1)
        return PackedMatrix(self._in_order(rows, role), kind.name)

    def _stored(self, name: str, shape: tuple[int, ...]) -> tuple[str, str]:
        """Return the file's name of a parameter, and its role; ValueError if it does not fit."""
        path, _, part = name.rpartition(".")
        role, inner = self._names.get(path, ("", path))
        stored = f"{inner}.{part}"
        if stored not in self._tensors:
            raise ValueError(f"llm: {self._path} has no tensor {stored} ({name})")
        stored_shape = self._tensors[stored].shape
        stored_shape = stored_shape[::-1] if self._is_turned(role) else stored_shape
        if stored_shape != shape:
            raise ValueError(f"llm: {stored} must have shape {shape}, got {stored_shape}")
        return stored, role

    def _is_turned(self, role: str) -> bool:
        """Whether matrices of a role are (outputs, inputs) in the file alone."""
        return self.config.row.is_transposed and role in (*_IN_ATTENTION, *_IN_MLP)

    def _in_order(self, rows: Any, role: str) -> Any:
        """Return the rows of queries and keys as Hugging Face has them."""
        if not self.config.row.is_permuted_in_gguf or role not in ("query", "key"):
            return rows
        n = self.config.num_heads if role == "query" else self.config.num_key_value_heads
        return rows.reshape(n, -1, 2, *rows.shape[1:]).swapaxes(1, 2).reshape(rows.shape)

    def tokenizer(self) -> Tokenizer | None:
        """Return the tokenizer; None if the file has none."""
        if "tokenizer.ggml.tokens" not in self._fields:
            return None
        return Tokenizer.of_gguf(self._fields)


def _names(row: Architecture, n_layers: int) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield Hugging Face's paths with their roles and paths in the file."""
    names = row.names
    base = names["base"]
    yield "lm_head", ("head", "output")
    for role, inner in _WHOLE.items():
        if role in names:
            yield f"{base}.{names[role]}", (role, inner)
    groups = ((f"{names['attention']}.", _IN_ATTENTION), (f"{names['mlp']}.", _IN_MLP),
              ("", _IN_LAYER))  # fmt: skip
    for i in range(n_layers):
        for prefix, group in groups:
            for role, inner in group.items():
                if role in names:
                    path = f"{base}.{names['layers']}.{i}.{prefix}{names[role]}"
                    yield path, (role, f"blk.{i}.{inner}")
