# SPDX-License-Identifier: Apache-2.0
"""Write small models as GGUF files, as llama.cpp's convert_hf_to_gguf.py does.

Names are those of the library ``gguf``, which the converter reads them from.
"""

import math

import gguf
import numpy as np
from small_language_models import CONFIG, MERGES, SPECIAL, TEMPLATE, arrays, vocabulary

#: ``model_type`` of a config -> name of the file's architecture.
KINDS = {"mistral": "llama", "gemma3_text": "gemma3"}
_PERMUTED = ("llama", "smollm3")


def write_gguf(
    path, kind=gguf.GGMLQuantizationType.F32, fields=(), without=(), config=None, tokens=True
):
    """Write the model of a config, with matrices of a type; fields are further strings."""
    config = CONFIG if config is None else config
    arch = KINDS.get(config["model_type"], config["model_type"])
    writer = gguf.GGUFWriter(path, arch)
    _sizes(writer, config)
    if "rope_parameters" in config:
        _rotation(writer, config, config["rope_parameters"])
    if tokens:
        _tokens(writer, config["vocab_size"])
    for key, value in fields:
        writer.add_string(key, value)
    number = next(k for k, v in gguf.MODEL_ARCH_NAMES.items() if v == arch)
    names = gguf.get_tensor_name_map(number, config.get("num_hidden_layers") or config["n_layer"])
    for name, values in arrays(config).items():
        stored = names.get_name(name, try_suffixes=(".weight", ".bias"))
        if stored not in without:
            _tensor(writer, stored, _converted(arch, config, name, values), kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _sizes(writer, config):
    hidden = config.get("hidden_size") or config["n_embd"]
    heads = config.get("num_attention_heads") or config["n_head"]
    writer.add_context_length(config.get("max_position_embeddings") or config["n_positions"])
    writer.add_embedding_length(hidden)
    writer.add_block_count(config.get("num_hidden_layers") or config["n_layer"])
    inner = config.get("intermediate_size") if "n_inner" not in config else config["n_inner"]
    writer.add_feed_forward_length(inner or 4 * hidden)
    writer.add_head_count(heads)
    if "n_embd" in config:
        writer.add_layer_norm_eps(config["layer_norm_epsilon"])
        return
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    if config.get("head_dim"):
        writer.add_key_length(config["head_dim"])
        writer.add_value_length(config["head_dim"])
    if config["model_type"].startswith(("gemma2", "gemma3", "phi3")) and config["sliding_window"]:
        writer.add_sliding_window(config["sliding_window"])
    if config.get("attn_logit_softcapping"):
        writer.add_attn_logit_softcapping(config["attn_logit_softcapping"])
    if config.get("final_logit_softcapping"):
        writer.add_final_logit_softcapping(config["final_logit_softcapping"])


def _rotation(writer, config, provided):
    rotation = provided.get("full_attention", provided)
    head_dim = config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]
    theta, kind = rotation["rope_theta"], rotation.get("rope_type", "default")
    writer.add_rope_freq_base(theta)
    if config["model_type"] in ("llama", "mistral", "phi3"):
        writer.add_rope_dimension_count(int(rotation.get("partial_rotary_factor", 1.0) * head_dim))
    if kind in ("linear", "yarn"):
        writer.add_rope_scaling_type(gguf.RopeScalingType(kind))
        writer.add_rope_scaling_factor(rotation["factor"])
    if kind == "yarn":
        writer.add_rope_scaling_orig_ctx_len(rotation["original_max_position_embeddings"])
    if kind == "llama3":
        writer.add_tensor("rope_freqs.weight", _divisors(rotation, head_dim))
    if kind == "longrope":
        longest, original = (config[f"{n}max_position_embeddings"] for n in ("", "original_"))
        factor = math.sqrt(1 + math.log(longest / original) / math.log(original))
        writer.add_rope_scaling_orig_ctx_len(original)
        writer.add_rope_scaling_attn_factors(factor if longest > original else 1.0)
        for length in ("short", "long"):
            values = np.array(rotation[f"{length}_factor"], np.float32)
            writer.add_tensor(f"rope_factors_{length}.weight", values)


def _divisors(rotation, head_dim):
    """Return the divisors of the frequencies, as the converter computes them."""
    low, high = rotation["low_freq_factor"], rotation["high_freq_factor"]
    original, matches = rotation["original_max_position_embeddings"], []
    for i in range(0, head_dim, 2):
        length = 2 * math.pi * rotation["rope_theta"] ** (i / head_dim)
        if length < original / high:
            matches.append(1.0)
        elif length > original / low:
            matches.append(rotation["factor"])
        else:
            smooth = (original / length - low) / (high - low)
            matches.append(1 / ((1 - smooth) / rotation["factor"] + smooth))
    return np.array(matches, np.float32)


def _tokens(writer, n):
    tokens = vocabulary(n)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types([3 if t in SPECIAL else 1 for t in tokens])
    writer.add_token_merges(MERGES)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_add_bos_token(False)
    writer.add_chat_template(TEMPLATE)


def _converted(arch, config, name, values):
    """Return a parameter of Hugging Face's as llama.cpp has it."""
    if arch.startswith("gemma") and name.endswith("norm.weight"):
        return values + 1
    if arch == "gpt2" and values.ndim == 2 and ".c_" in name:
        return values.T
    n_heads = 0
    if arch in _PERMUTED and ".q_proj." in name:
        n_heads = config["num_attention_heads"]
    elif arch in _PERMUTED and ".k_proj." in name:
        n_heads = config["num_key_value_heads"]
    if not n_heads:
        return values
    # Pairs of neighbors turn together.
    return values.reshape(n_heads, 2, -1, *values.shape[1:]).swapaxes(1, 2).reshape(values.shape)


def _tensor(writer, stored, values, kind):
    values = np.ascontiguousarray(values)
    if values.ndim < 2:
        writer.add_tensor(stored, values)
    else:
        writer.add_tensor(stored, gguf.quantize(values, kind), raw_dtype=kind)
