# SPDX-License-Identifier: Apache-2.0
"""A small Llama learns Python's documentation, then the Zen of Python by LoRA.

``--model PATH`` takes a GGUF file or a Hugging Face folder in place of the small model, and trains
only LoRA's matrices.
"""

from __future__ import annotations

import codecs
import contextlib
import io
from pydoc_data.topics import topics
from typing import Any

import dpnp
import numpy as np
from _training import begin, check, finish, train

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import llm, nn, optim

LENGTH, BATCH = 64, 8
SMALL = {
    "model_type": "llama", "hidden_size": 128, "intermediate_size": 352, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 256,
}  # fmt: skip


def zen() -> str:
    """Return the Zen of Python."""
    with contextlib.redirect_stdout(io.StringIO()):
        import this
    return codecs.decode(this.s, "rot13")


def loss(net: Any, ids: Any) -> Any:
    """Return the mean cross-entropy of the next tokens."""
    logits = net(ids[:, :-1])
    return F.cross_entropy(F.reshape(logits, (-1, logits.shape[-1])), F.reshape(ids[:, 1:], (-1,)))


def windows(tokens: Any, rng: Any, queue: Any) -> Any:
    """Yield endless batches of windows of a text."""
    while True:
        starts = rng.integers(0, len(tokens) - LENGTH, BATCH)
        rows = np.stack([tokens[s : s + LENGTH + 1] for s in starts])
        yield (dpnp.asarray(rows, dtype="i4", sycl_queue=queue),)


def pretrained(options: Any, text: str, alphabet: str, rng: Any, queue: Any) -> Any:
    """Return a small character-level model trained from scratch, and its losses."""
    config = llm.Config.of({**SMALL, "vocab_size": len(alphabet)})
    net = llm.Decoder(config).to(queue)
    opt = optim.AdamW(optim.schedules.one_cycle(options.rate, options.steps), max_norm=1.0)
    tokens = np.array([alphabet.index(letter) for letter in text])
    net, _, losses = train(net, opt, loss, windows(tokens, rng, queue), options)
    return llm.LanguageModel(net, device=queue), losses


def main() -> None:
    """Train and generate text; fail if a loss does not decrease enough."""
    options, queue = begin(__doc__, steps=200, rate=4e-3, more=lambda parser: parser.add_argument(
        "--model", help="a GGUF file or a folder; a small model by default"))  # fmt: skip
    rng, losses = np.random.default_rng(options.seed), [0.0]
    text, poem = "\n".join(topics[name] for name in sorted(topics)), zen()
    alphabet = "".join(sorted(set(text + poem)))
    if options.model:
        lm = llm.load(options.model, device=queue)
        assert lm.tokenizer is not None, "the model must have a tokenizer"
        tokens = np.array(lm.tokenizer.encode(poem))
    else:
        lm, losses = pretrained(options, text, alphabet, rng, queue)
        tokens = np.array([alphabet.index(letter) for letter in poem])
        print(f"whole model: loss of a letter {losses[0]:.3f} to {np.mean(losses[-10:]):.3f}")
        check(options, "the loss of the whole model must come down by a quarter",
              np.mean(losses[-10:]) < 0.75 * losses[0])  # fmt: skip

    before = float(loss(lm.module, next(windows(tokens, rng, queue))[0]))
    net = nn.utils.lora(lm.module.train(), rank=8, targets=["q_proj", "v_proj", "down_proj"])
    n = sum(p.size for _, p in net.named_parameters(trainable=True))
    opt = optim.AdamW(optim.schedules.one_cycle(options.rate, options.steps), max_norm=1.0)
    net, _, more = train(net, opt, loss, windows(tokens, rng, queue), options)
    last = float(np.mean(more[-10:]))
    print(f"LoRA, {n:,} numbers: loss of a token {before:.3f} to {last:.3f}")
    check(options, "LoRA must bring the loss down by a tenth", last < 0.9 * before)

    lm.module = nn.utils.merge_lora(net.eval())
    if options.model:
        print(lm.generate("Beautiful is better than", max_tokens=24))
    else:
        start = [alphabet.index(letter) for letter in "Beautiful is"]
        print("Beautiful is" + "".join(alphabet[i] for i in lm.generate(start, max_tokens=40)))
    sycl_dnn.synchronize(queue)
    finish(options, "finetune_language_model", losses + more)


if __name__ == "__main__":
    main()
