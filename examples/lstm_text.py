# SPDX-License-Identifier: Apache-2.0
"""A character model of Apache's license: embedding, two LSTM layers, linear; then a sample.

The text is in the repository. The loss must decrease to 45 % of its initial value.
Several ranks share every batch: ``python -m sycl_dnn launch -n 2 examples/lstm_text.py
--distributed``.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import dpnp
import numpy as np
from _common import make_parser
from _training import add_ranks, averaged, finish, open_ranks, own_rows, progress

import sycl_dnn
from sycl_dnn import functional as F

WIDTH, LAYERS, LENGTH, BATCH = 128, 2, 48, 32
TEXT = Path(__file__).parents[1] / "LICENSE"


def initial_parameters(n_letters, queue, seed):
    """Return embedding, LSTM weights as torch orders them, and the last layer."""
    rng = np.random.default_rng(seed)
    lstm = [(4 * WIDTH, WIDTH), (4 * WIDTH, WIDTH), (4 * WIDTH,), (4 * WIDTH,)] * LAYERS
    shapes = [(n_letters, WIDTH), *lstm, (n_letters, WIDTH), (n_letters,)]
    made = [rng.uniform(-1, 1, s).astype("f4") / np.float32(WIDTH**0.5) for s in shapes]
    return [dpnp.asarray(m, sycl_queue=queue) for m in made]


def predict(letters, state, parameters):
    """Return the logits (T, N, letters) of each next letter, and the state after the last one."""
    embedding, *lstm, weight, bias = parameters
    x = F.embedding(letters, embedding)
    y, state = F.lstm(x, state, lstm, num_layers=LAYERS)
    return F.linear(y, weight, bias), state


def loss(parameters, letters, following) -> Any:
    """Return the mean cross-entropy of the next letters."""
    logits, _ = predict(letters, None, parameters)
    return F.cross_entropy(F.reshape(logits, (-1, logits.shape[-1])), F.reshape(following, (-1,)))


def train(parameters, text, options, queue):
    """Train with Adam; return the loss of each step."""
    rng = np.random.default_rng(options.seed)
    moments = [(dpnp.zeros_like(p), dpnp.zeros_like(p)) for p in parameters]
    one = dpnp.ones((), dtype="f4", sycl_queue=queue)
    losses = []
    for step in (bar := progress(range(1, options.steps + 1), options)):
        starts = own_rows(rng.integers(0, len(text) - LENGTH - 1, BATCH))
        windows = np.stack([text[s : s + LENGTH + 1] for s in starts], axis=1)
        letters = dpnp.asarray(windows, sycl_queue=queue)
        value, pullback = sycl_dnn.vjp(loss, parameters, letters[:-1], letters[1:])
        value, grads = averaged(value, pullback(one)[0])
        scale = options.rate * np.sqrt(1 - 0.99**step) / (1 - 0.9**step)
        for p, (mean, square), grad in zip(parameters, moments, grads, strict=True):
            mean += 0.1 * (grad - mean)
            square += 0.01 * (grad * grad - square)
            p -= scale * mean / (dpnp.sqrt(square) + 1e-8)
        losses.append(float(value))
        bar.set_postfix(loss=f"{losses[-1]:.3f}", refresh=False)
    return losses


def sample(parameters, alphabet, n, queue, seed):
    """Return ``n`` letters that the model writes one after the other."""
    rng = np.random.default_rng(seed)
    letter, state, said = alphabet.index("T"), None, []
    for _ in range(n):
        given = dpnp.asarray([[letter]], sycl_queue=queue)
        logits, state = predict(given, state, parameters)
        p = dpnp.asnumpy(F.softmax(logits[0, 0] / 0.5, dim=0)).astype(float)
        letter = int(rng.choice(len(alphabet), p=p / p.sum()))
        said.append(alphabet[letter])
    return "T" + "".join(said)


def main() -> None:
    """Train, write a sample, fail if nothing was learned."""
    parser = make_parser(__doc__)
    parser.add_argument("--steps", type=int, default=250, help="steps of the descent")
    parser.add_argument("--rate", type=float, default=4e-3, help="learning rate")
    parser.add_argument("--seed", type=int, default=0, help="of weights, windows and the sample")
    add_ranks(parser)
    options = parser.parse_args()
    queue = open_ranks(options)
    text = TEXT.read_text(encoding="utf-8")
    alphabet = sorted(set(text))
    numbers = np.array([alphabet.index(letter) for letter in text])
    parameters = initial_parameters(len(alphabet), queue, options.seed)
    start = time.perf_counter()
    losses = train(parameters, numbers, options, queue)
    took = time.perf_counter() - start
    print(f"{len(losses)} steps in {took:.1f} s, loss {losses[0]:.3f} to {losses[-1]:.3f}")
    if not options.no_check:
        print("sample:", sample(parameters, alphabet, 200, queue, options.seed))
        if len(losses) >= 200 and not losses[-1] < 0.45 * losses[0]:
            raise SystemExit("failed: the loss must come down to 45 %")
    finish(options, "lstm_text", losses)


if __name__ == "__main__":
    main()
