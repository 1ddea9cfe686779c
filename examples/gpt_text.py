# SPDX-License-Identifier: Apache-2.0
"""A character-level GPT learns Python's documentation, then generates text with a key-value cache.

The text is the output of ``help()`` for keywords and operators. One compiled program generates all
letters.
"""

from __future__ import annotations

from pydoc_data.topics import topics
from typing import Any

import dpnp
import numpy as np
from _training import begin, check, finish, own_rows, train
from tqdm import tqdm

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn, optim

LENGTH, BATCH, WIDTH, LAYERS, HEADS = 64, 20, 128, 2, 4


class GPT(nn.Module):
    """Maps letters (N, T) to logits (N, T, letters)."""

    def __init__(self, letters):
        super().__init__()
        self.letters, self.places = nn.Embedding(letters, WIDTH), nn.Embedding(LENGTH, WIDTH)
        layer = nn.TransformerEncoderLayer(
            WIDTH, HEADS, 4 * WIDTH, 0.0, "gelu", batch_first=True, norm_first=True
        )
        self.blocks = nn.TransformerEncoder(layer, LAYERS, nn.LayerNorm(WIDTH))
        self.head = nn.Linear(WIDTH, letters)

    def forward(self, letters, mask):
        """Return the logits of each next letter."""
        x = self.letters(letters) + self.places.weight[: letters.shape[1]]
        return self.head(self.blocks(x, mask, is_causal=True))

    def step(self, letter, place, caches):
        """Return the logits after one more letter, and the caches that include it."""
        x, caches = self.blocks.step(self.letters(letter) + self.places(place), caches)
        return self.head(x[:, -1]), caches


def loss(net, letters, following, mask):
    """Return the mean cross-entropy of the next letters."""
    logits = net(letters, mask)
    return F.cross_entropy(F.reshape(logits, (-1, logits.shape[-1])), F.reshape(following, (-1,)))


def write(net, start, n, queue, rng):
    """Return the start followed by ``n`` generated letters."""

    def one(net, letter, place, caches) -> Any:
        return net.step(letter, place, caches)

    step = sycl_dnn.compile(one)
    caches, said = net.blocks.new_caches(1, len(start) + n), list(start)
    for i in tqdm(range(len(start) + n - 1), desc="writing", unit="letter"):
        given = [dpnp.asarray([[v]], sycl_queue=queue) for v in (said[i], i)]
        logits, caches = step(net, given[0], given[1], caches)
        if i + 1 == len(said):
            p = np.exp(dpnp.asnumpy(logits)[0].astype(float) / 0.6)
            said.append(int(rng.choice(len(p), p=p / p.sum())))
    return said


def main() -> None:
    """Train and generate text; fail if the loss does not decrease enough."""
    options, queue = begin(__doc__, steps=300, rate=4e-3, more=lambda parser: parser.add_argument(
        "--letters", type=int, default=50, help="how many to write, 50 at most"))  # fmt: skip
    raw = "\n".join(topics[name] for name in sorted(topics))
    alphabet = sorted(set(raw))
    text = np.searchsorted(alphabet, list(raw))
    rng = np.random.default_rng(options.seed)
    mask = dpnp.triu(dpnp.full((LENGTH, LENGTH), -dpnp.inf, dtype="f4", sycl_queue=queue), k=1)

    def batches():
        while True:
            starts = rng.integers(0, len(text) - LENGTH - 1, BATCH)
            windows = np.stack([text[s : s + LENGTH + 1] for s in starts])
            given = dpnp.asarray(own_rows(windows), sycl_queue=queue)
            yield given[:, :-1], given[:, 1:], mask

    net = GPT(len(alphabet)).to(queue)
    opt = optim.AdamW(optim.schedules.one_cycle(options.rate, options.steps), max_norm=1.0)
    net, _, losses = train(net, opt, loss, batches(), options)
    start = [alphabet.index(letter) for letter in "The statement "]
    said = write(net.eval(), start, min(options.letters, options.steps), queue, rng)
    print("".join(alphabet[i] for i in said))
    last = float(np.mean(losses[-10:]))
    print(f"loss of a letter {losses[0]:.3f} to {last:.3f}, of {len(raw):,} letters")
    goal = 2.2 if options.steps >= 300 else 0.9 * losses[0]
    check(options, f"the loss must come down to {goal:.2f}", last < goal)
    finish(options, "gpt_text", losses)


if __name__ == "__main__":
    main()
