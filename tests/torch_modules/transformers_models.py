# SPDX-License-Identifier: Apache-2.0
"""Small models of Hugging Face's transformers, converted and compared with torch: a table.

    python tests/torch_modules/transformers_models.py               # all, six minutes on two cores
    python tests/torch_modules/transformers_models.py Bert T5

Weights are random, dropout is off. Errors are relative to the largest absolute value: of all
floating outputs, called and compiled; of the gradients of all parameters, by a random cotangent.
A model passes if each is at most 1e-3.
"""

import sys
import warnings

import dpnp
import numpy as np
import torch
import transformers

import sycl_dnn

SMALL = {
    "hidden_size": 32, "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 64,
    "vocab_size": 100, "max_position_embeddings": 64, "pad_token_id": 0,
}  # fmt: skip
PATCHES = SMALL | {"image_size": 32, "patch_size": 8}
SHARED = SMALL | {"num_key_value_heads": 2, "use_cache": False}
PAIR = {
    "vocab_size": 100, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2,
    "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64, "use_cache": False, "pad_token_id": 1,
}  # fmt: skip
SPEECH = SMALL | {
    "conv_dim": (16, 16, 16), "conv_kernel": (10, 3, 2), "conv_stride": (5, 2, 2),
    "num_feat_extract_layers": 3, "num_conv_pos_embeddings": 8,
    "num_conv_pos_embedding_groups": 4,
}  # fmt: skip


def words(length=12):
    return torch.randint(5, 90, (2, length))


def text():
    return {"input_ids": words(), "attention_mask": torch.tensor([[1] * 12, [1] * 8 + [0] * 4])}


def ids():
    return {"input_ids": words()}


def both():
    return ids() | {"decoder_input_ids": words(6)}


def images(*size):
    return lambda: {"pixel_values": torch.randn(2, *size)}


def speech():
    return {"input_values": torch.randn(2, 800)}


#: Of a model without its configuration's prefix: the model's suffix, settings, inputs.
MODELS = {
    "Bert": ("ForSequenceClassification", SMALL, text),
    "Roberta": ("ForTokenClassification", SMALL, text),
    "XLMRoberta": ("Model", SMALL, text),
    "Electra": ("Model", SMALL | {"embedding_size": 16}, text),
    "Albert": ("Model", SMALL | {"embedding_size": 16}, text),
    "DebertaV2": (
        "Model",
        SMALL | {"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_buckets": 8},
        text,
    ),
    "MPNet": ("Model", SMALL, text),
    "ModernBert": (
        "Model",
        SMALL | {f"{name}_token_id": 1 for name in ("cls", "sep", "bos", "eos")},
        text,
    ),
    "SqueezeBert": ("Model", SMALL | {"embedding_size": 32}, text),
    "DistilBert": (
        "Model",
        {"vocab_size": 100, "dim": 32, "hidden_dim": 64, "n_layers": 2, "n_heads": 4},
        text,
    ),
    "FNet": ("Model", SMALL, ids),
    "GPT2": (
        "LMHeadModel",
        {"vocab_size": 100, "n_embd": 32, "n_layer": 2, "n_head": 4, "use_cache": False},
        ids,
    ),
    "Llama": ("ForCausalLM", SHARED, ids),
    "Qwen2": ("ForCausalLM", SHARED, ids),
    "Gemma2": ("ForCausalLM", SHARED | {"head_dim": 8}, ids),
    "GPTNeoX": ("ForCausalLM", SHARED, ids),
    "OPT": ("ForCausalLM", SHARED | {"ffn_dim": 64, "word_embed_proj_dim": 32}, ids),
    "Bloom": ("ForCausalLM", SHARED | {"n_layer": 2, "n_head": 4}, ids),
    "Phi": ("ForCausalLM", SHARED, ids),
    "Mixtral": ("ForCausalLM", SHARED | {"num_local_experts": 4}, ids),
    "Mamba": ("ForCausalLM", SHARED | {"state_size": 8}, ids),
    "T5": (
        "ForConditionalGeneration",
        {"vocab_size": 100, "d_model": 32, "d_kv": 8, "d_ff": 64, "num_heads": 4, "num_layers": 2,
         "use_cache": False},
        both,
    ),
    "Bart": ("Model", PAIR | {"max_position_embeddings": 64}, both),
    "Whisper": (
        "Model",
        PAIR | {"num_mel_bins": 16, "max_source_positions": 50, "max_target_positions": 32}
        | dict.fromkeys(("bos_token_id", "eos_token_id", "decoder_start_token_id"), 2),
        lambda: {"input_features": torch.randn(2, 16, 100), "decoder_input_ids": words(6)},
    ),
    "Wav2Vec2": ("ForCTC", SPEECH, speech),
    "Hubert": ("Model", SPEECH, speech),
    "ViT": ("ForImageClassification", PATCHES, images(3, 32, 32)),
    "DeiT": ("Model", PATCHES, images(3, 32, 32)),
    "Beit": ("Model", PATCHES | {"use_relative_position_bias": True}, images(3, 32, 32)),
    "Dinov2": ("Model", PATCHES, images(3, 32, 32)),
    "DPT": (
        "ForDepthEstimation",
        PATCHES | {"backbone_out_indices": [0, 1, 2, 3], "neck_hidden_sizes": [8, 8, 16, 16],
                   "fusion_hidden_size": 16},
        images(3, 32, 32),
    ),
    "Yolos": (
        "ForObjectDetection",
        PATCHES | {"image_size": [32, 48], "num_detection_tokens": 5},
        images(3, 32, 48),
    ),
    "VideoMAE": (
        "Model",
        PATCHES | {"image_size": 16, "num_frames": 4, "tubelet_size": 2},
        images(4, 3, 16, 16),
    ),
    "Swin": (
        "Model",
        {"image_size": 32, "patch_size": 2, "embed_dim": 16, "depths": [2, 2], "num_heads": [2, 4],
         "window_size": 4},
        images(3, 32, 32),
    ),
    "ConvNext": (
        "Model",
        {"hidden_sizes": [8, 16, 24, 32], "depths": [1, 1, 2, 1]},
        images(3, 64, 64),
    ),
    "Segformer": (
        "ForSemanticSegmentation",
        {"hidden_sizes": [8, 16, 24, 32], "depths": [1, 1, 1, 1], "decoder_hidden_size": 16,
         "num_attention_heads": [1, 2, 2, 4]},
        images(3, 64, 64),
    ),
    "MobileViT": (
        "Model",
        {"hidden_sizes": [16, 24, 32], "neck_hidden_sizes": [8, 8, 16, 16, 24, 24, 32]},
        images(3, 64, 64),
    ),
    "ResNet": (
        "Model",
        {"embedding_size": 8, "hidden_sizes": [8, 16], "depths": [1, 2], "layer_type": "basic"},
        images(3, 32, 32),
    ),
    "CLIP": (
        "Model",
        {"text_config": SMALL | {"eos_token_id": 2}, "vision_config": PATCHES},
        lambda: ids() | images(3, 32, 32)(),
    ),
    "PatchTST": (
        "ForPrediction",
        {"num_input_channels": 3, "context_length": 32, "patch_length": 8, "stride": 4,
         "d_model": 32, "num_attention_heads": 4, "ffn_dim": 64, "positional_dropout": 0.0},
        lambda: {"past_values": torch.randn(2, 32, 3)},
    ),
}  # fmt: skip


def leaves(result):
    """Return the floating arrays of nested outputs."""
    if hasattr(result, "to_tuple"):
        result = result.to_tuple()
    if isinstance(result, dict):
        result = tuple(result.values())
    if isinstance(result, (list, tuple)):
        return [leaf for part in result for leaf in leaves(part)]
    return [result] if "float" in str(getattr(result, "dtype", None)) else []


def array(x):
    return dpnp.asarray(x.detach().numpy())


def error(found, expected):
    expected = expected.detach().numpy()
    difference = np.abs(dpnp.asnumpy(found) - expected).max(initial=0)
    return float(difference / max(np.abs(expected).max(initial=0), 1e-30))


def compared(name):
    """Return the largest errors of outputs, compiled outputs and gradients."""
    suffix, settings, inputs = MODELS[name]
    torch.manual_seed(0)
    model = getattr(transformers, f"{name}Config")(**settings)
    model = getattr(transformers, f"{name}{suffix}")(model).eval()
    given = inputs()
    net = sycl_dnn.from_torch(model, kwargs=given)
    arrays = {key: array(x) for key, x in given.items()}
    expected = leaves(model(**given))
    direction = [torch.randn_like(x) for x in expected]
    sum((x * r).sum() for x, r in zip(expected, direction, strict=True)).backward()
    cotangents = [array(r) for r in direction]

    def pairing(net):
        found = leaves(net(**arrays))
        return sum((x * r).sum() for x, r in zip(found, cotangents, strict=True))

    gradients = dict(sycl_dnn.grad(pairing)(net).named_parameters())
    largest = max(float(p.grad.abs().max()) for p in model.parameters() if p.grad is not None)
    return (
        max(map(error, leaves(net(**arrays)), expected)),
        max(map(error, leaves(sycl_dnn.compile(net)(**arrays)), expected)),
        max(
            float(np.abs(dpnp.asnumpy(gradients[key]) - p.grad.numpy()).max()) / largest
            for key, p in model.named_parameters()
            if p.grad is not None
        ),
    )


def main():
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    failed = []
    print("| model | forward | compiled | gradients |\n|---|---|---|---|")
    for name in sys.argv[1:] or MODELS:
        try:
            errors = compared(name)
        except Exception as problem:
            print(f"| {name} **{type(problem).__name__}: {str(problem)[:300]}** |", flush=True)
            failed.append(name)
            continue
        if max(errors) > 1e-3:
            failed.append(name)
        print(f"| {name}{MODELS[name][0]} |", *(f"{e:.0e} |" for e in errors), flush=True)
        sycl_dnn.cache.clear()
    raise SystemExit(f"failed: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
