# SPDX-License-Identifier: Apache-2.0
"""Compare models of every architecture with transformers; write its answers for the tests.

    PYTHONPATH=<folder with torch and transformers> python tests/helpers/transformers_answers.py

Models are small and their weights a function of their names, so the answers are a few numbers.
"""

from __future__ import annotations

import json
import sys
import tempfile
import zlib
from pathlib import Path

import numpy as np

ANSWERS = Path(__file__).parents[1] / "llm" / "transformers_answers.json"
LOSSES = ANSWERS.with_name("transformers_losses.json")
#: Two rows of tokens, longer than the windows and the original contexts of the models.
IDS = np.random.default_rng(0).integers(0, 96, (2, 24)).astype(np.int32)
#: Without the token of padding, whose embedding transformers does not train.
TRAINED = IDS.clip(1)
#: Stored part of the logits (2, 24, 96).
STORED = (slice(None), [2, 11, 23], slice(0, None, 12))

_SIZES = {
    "vocab_size": 96, "hidden_size": 64, "intermediate_size": 80, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 64,
    "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "initializer_range": 0.1,
}  # fmt: skip
_LLAMA3 = {"rope_type": "llama3", "rope_theta": 1e4, "factor": 4.0, "low_freq_factor": 1.0,
           "high_freq_factor": 4.0, "original_max_position_embeddings": 16}  # fmt: skip
_LONG = {"rope_type": "longrope", "rope_theta": 1e4,
         "short_factor": [1.0, 1.1, 1.3, 1.5, 1.7, 2.0, 2.5, 3.0],
         "long_factor": [1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]}  # fmt: skip
#: Name of a case -> architecture, and what differs from its class's defaults.
CASES: dict[str, tuple[str, dict]] = {
    "llama": ("llama", {}),
    "llama_one_key_head": ("llama", {"num_key_value_heads": 1, "tie_word_embeddings": True}),
    "llama_biases": ("llama", {"attention_bias": True, "mlp_bias": True, "head_dim": 8}),
    "llama_linear": ("llama", {"rope_parameters": {
        "rope_type": "linear", "rope_theta": 1e4, "factor": 2.0}}),
    "llama_dynamic": ("llama", {"max_position_embeddings": 16, "rope_parameters": {
        "rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.0}}),
    "llama_yarn": ("llama", {"rope_parameters": {
        "rope_type": "yarn", "rope_theta": 1e4, "factor": 4.0,
        "original_max_position_embeddings": 16}}),
    "llama_llama3": ("llama", {"rope_parameters": _LLAMA3}),
    "mistral": ("mistral", {"sliding_window": None}),
    "mistral_window": ("mistral", {"sliding_window": 8, "head_dim": 24}),
    "qwen2": ("qwen2", {}),
    "qwen2_windows": ("qwen2", {
        "use_sliding_window": True, "sliding_window": 8, "max_window_layers": 1}),
    "qwen3": ("qwen3", {"head_dim": 32}),
    "smollm3": ("smollm3", {"num_hidden_layers": 4}),
    "gemma": ("gemma", {"head_dim": 16}),
    "gemma2": ("gemma2", {"head_dim": 32, "sliding_window": 8, "query_pre_attn_scalar": 24,
                          "attn_logit_softcapping": 2.0, "final_logit_softcapping": 3.0}),
    "gemma3": ("gemma3_text", {"head_dim": 16, "sliding_window": 8, "num_hidden_layers": 6,
                               "query_pre_attn_scalar": 16}),
    "gemma3_linear": ("gemma3_text", {
        "head_dim": 16, "sliding_window": 8,
        "layer_types": ["full_attention", "sliding_attention"],
        "rope_parameters": {"full_attention": {
            "rope_type": "linear", "rope_theta": 1e6, "factor": 8.0},
            "sliding_attention": {"rope_type": "default", "rope_theta": 1e4}}}),
    "phi3": ("phi3", {"sliding_window": 8}),
    "phi3_partial": ("phi3", {"rope_parameters": {
        "rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.5}}),
    "phi3_longrope_short": ("phi3", {
        "original_max_position_embeddings": 32, "rope_parameters": _LONG}),
    "phi3_longrope_long": ("phi3", {
        "original_max_position_embeddings": 16, "rope_parameters": _LONG}),
    "gpt2": ("gpt2", {}),
}  # fmt: skip


def weight(name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Return the weights that a name and a shape have in every model."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    result = rng.standard_normal(shape).astype(np.float32)
    if len(shape) > 1:
        return result * np.float32(1.5 / np.sqrt(min(shape)))
    is_scale = "norm" in name or ".ln_" in name
    return result * np.float32(0.1) + np.float32(is_scale and name.endswith("weight"))


def losses() -> list[float]:
    """Return the losses of 50 steps of AdamW in torch, of the case ``llama`` on ``TRAINED``."""
    import torch
    import transformers

    config = transformers.AutoConfig.for_model("llama", **_SIZES)
    net = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager")
    with torch.no_grad():
        for name, p in net.named_parameters():
            p.copy_(torch.from_numpy(weight(name, tuple(p.shape))))
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3, weight_decay=0.01)
    ids, results = torch.from_numpy(TRAINED).long(), []
    for _ in range(50):
        loss = net(ids, labels=ids).loss
        opt.zero_grad()
        loss.backward()
        opt.step()
        results.append(loss.item())
    return results


def main() -> int:
    """Compare, print and write."""
    import dpnp
    import torch
    import transformers

    from sycl_dnn import llm

    found, wrong = {}, []
    for case, (kind, more) in CASES.items():
        config = transformers.AutoConfig.for_model(kind, **{**_SIZES, **more})
        net = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager")
        net = net.eval().float()
        with torch.no_grad():
            for name, p in net.named_parameters():
                p.copy_(torch.from_numpy(weight(name, tuple(p.shape))))
            expected = net(torch.from_numpy(IDS).long()).logits.numpy()
        with tempfile.TemporaryDirectory() as folder:
            net.save_pretrained(folder)
            lm = llm.load(folder, device="cpu")
            provided = json.loads((Path(folder) / "config.json").read_text())
            actual = dpnp.asnumpy(lm.module(dpnp.asarray(IDS)))
        error = float(np.abs(actual - expected).max())
        print(f"{case}: error {error:.1e}, largest {np.abs(expected).max():.2f}", flush=True)
        wrong += [case] if not error < 1e-4 else []
        for key in ("transformers_version", "dtype", "architectures"):
            provided.pop(key, None)
        found[case] = {"config": provided, "logits": expected[STORED].round(6).tolist()}
    ANSWERS.write_text("\n".join(json.dumps({k: v}) for k, v in found.items()) + "\n")
    LOSSES.write_text(json.dumps([round(loss, 6) for loss in losses()]) + "\n")
    print(f"{len(found)} models, wrong: {wrong}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
