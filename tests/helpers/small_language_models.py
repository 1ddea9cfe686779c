# SPDX-License-Identifier: Apache-2.0
"""Language models small enough for a test, as folders of Hugging Face."""

import json

import dpnp
import numpy as np
import tokenizers
from safetensors.numpy import save_file
from tokenizers import decoders, models, pre_tokenizers
from transformers_answers import weight

from sycl_dnn import llm

CONFIG = {
    "model_type": "llama", "vocab_size": 96, "hidden_size": 64, "intermediate_size": 96,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
    "max_position_embeddings": 64, "rms_norm_eps": 1e-5, "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip
TEMPLATE = (
    "{% for m in messages %}<|{{ m['role'] }}|>{{ m['content'] }}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
#: Special tokens first, then the byte symbols, then pieces.
SPECIAL = ["<unk>", "<s>", "</s>", "<|user|>", "<|assistant|>"]
PIECES = ["th", "Ġth", "Ġthe", "in", "an", "er", "Ġa"]
MERGES = ["t h", "Ġ th", "Ġth e", "i n", "a n", "e r", "Ġ a"]


def vocabulary(n=96):
    """Return the tokens of a tokenizer of bytes; signs that it lacks are unknown."""
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,!?'-:Ċ<>|/"
    tokens = [*SPECIAL, "Ġ", *letters, *PIECES]
    return tokens[: n - len(PIECES)] + PIECES if len(tokens) > n else tokens + [
        f"<extra{i}>" for i in range(n - len(tokens))
    ]  # fmt: skip


def decoder(config=None):
    """Return a decoder with the weights that its names have, on the CPU."""
    result = llm.Config.of(CONFIG if config is None else config)
    return llm.Decoder(result, lambda name, shape: dpnp.asarray(weight(name, shape))).eval()


def arrays(config=None):
    """Return the parameters of that decoder by name."""
    return {n: dpnp.asnumpy(p) for n, p in decoder(config).state_dict().items()}


def write_folder(path, config=None, more=None, dtype=np.float32):
    """Write a model as ``save_pretrained`` does; ``more`` replaces tensors, None drops one."""
    config = CONFIG if config is None else config
    path.mkdir(exist_ok=True)
    (path / "config.json").write_text(json.dumps(config))
    found = {**arrays(config), **(more or {})}
    kept = {n: np.ascontiguousarray(v, dtype) for n, v in found.items() if v is not None}
    save_file(kept, path / "model.safetensors")
    tokens = vocabulary(config["vocab_size"])
    inner = tokenizers.Tokenizer(models.BPE(
        {t: i for i, t in enumerate(tokens)}, [tuple(m.split()) for m in MERGES],
        unk_token="<unk>",
    ))  # fmt: skip
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    inner.add_special_tokens(SPECIAL)
    inner.save(str(path / "tokenizer.json"))
    settings = {"bos_token": "<s>", "eos_token": "</s>", "chat_template": TEMPLATE}
    (path / "tokenizer_config.json").write_text(json.dumps(settings))
    return path
