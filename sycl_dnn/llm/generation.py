# SPDX-License-Identifier: Apache-2.0
"""Token generation: compiled steps over a cache that is updated in place."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import dpnp
import numpy as np

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn.llm.decoder import Decoder
from sycl_dnn.llm.key_value_slots import Slots
from sycl_dnn.llm.sampling import Sampling
from sycl_dnn.llm.token_choice import Choice, choice_of, chosen, marked
from sycl_dnn.program.numpy_copies import asnumpy

#: Minimum cache capacity and chunk length; both are powers of two, chunks up to ``CHUNK``.
_LEAST_CAPACITY, _MIN_CHUNK = 256, 8
CHUNK = 512


def power_of_two(n: int, least: int) -> int:
    """Return the smallest power of two that is at least ``n`` and ``least``."""
    return max(least, 1 << max(n - 1, 0).bit_length())


class Padded(NamedTuple):
    """Prompts padded on the left to equal lengths, split into chunks."""

    #: (N, T), one row per prompt.
    ids: Any
    #: Slot of the first token of each row.
    starts: Any
    #: Lengths of the chunks.
    chunks: tuple[int, ...]


def padded(prompts: Sequence[Sequence[int]]) -> Padded:
    """Pad prompts to a length that is the sum of few chunk lengths.

    Chunks of ``CHUNK`` are the fastest; one half of it avoids up to as much padding.
    """
    longest, half = max(len(p) for p in prompts), CHUNK // 2
    n_halves, remainder = divmod(longest, half)
    chunks = [power_of_two(remainder, _MIN_CHUNK)] if remainder or not longest else []
    if chunks == [half]:
        chunks, n_halves = [], n_halves + 1
    chunks += [half] * (n_halves % 2) + [CHUNK] * (n_halves // 2)
    total = sum(chunks)
    ids = np.zeros((len(prompts), total), np.int32)
    for row, prompt in zip(ids, prompts, strict=True):
        row[total - len(prompt) :] = prompt
    starts = np.array([total - len(p) for p in prompts], np.int32)
    return Padded(ids, starts, tuple(chunks))


class Generator:
    """Compiled generation steps of a module.

    Parameters
    ----------
    module : Decoder
    queue : dpctl.SyclQueue
    cache_dtype : str
        dtype of keys and values.
    """

    def __init__(self, module: Decoder, queue: Any, cache_dtype: str) -> None:
        self._module, self._queue, self._dtype = module, queue, cache_dtype
        self._step = sycl_dnn.compile(_step, constants="module", donate=("cache", "seen"))
        self._losses = sycl_dnn.compile(_losses, constants="module", donate="cache")

    def _array(self, values: Any) -> Any:
        return sycl_dnn.asarray(np.ascontiguousarray(values), sycl_queue=self._queue)

    def new_cache(self, n: int, capacity: int) -> list[tuple[Any, Any]]:
        """Return an empty cache for ``n`` rows."""
        config = self._module.config
        shape = (n, config.num_key_value_heads, capacity, config.head_dim)

        def zeros() -> Any:
            return F.zeros(shape, dtype=self._dtype, device=self._queue)

        return [(zeros(), zeros()) for _ in config.layers]

    def tokens(
        self, prompts: Sequence[Sequence[int]], max_tokens: int, sampling: Sampling
    ) -> Iterator[list[int]]:
        """Yield the next token of every row, ``max_tokens`` times."""
        prompt = padded(prompts)
        n, first = prompt.ids.shape
        # The last token is not processed.
        cache = self.new_cache(n, power_of_two(first + max_tokens - 1, _LEAST_CAPACITY))
        choice, seen = choice_of(sampling, self._array), None
        if choice.penalty is not None:
            shape = (n, self._module.config.vocab_size)
            seen = F.zeros(shape, dtype="int8", device=self._queue)
        result = self.prefilled(prompt, cache, seen, choice)
        starts = self._array(prompt.starts)
        for count in range(max_tokens):
            tokens, cache, seen = result
            yield asnumpy(tokens).ravel().tolist()
            if count + 1 < max_tokens:
                slots = Slots(self._array(np.int32(first + count)), starts)
                result = self._step(self._module, tokens, cache, seen, slots, choice)

    def prefilled(self, prompt: Padded, cache: Any, seen: Any = None, choice: Any = None) -> Any:
        """Process prompts; return the next tokens, the cache, and which tokens occurred."""
        starts, first, tokens = self._array(prompt.starts), 0, None
        for size in prompt.chunks:
            ids = self._array(prompt.ids[:, first : first + size])
            slots = Slots(self._array(np.int32(first)), starts)
            first += size
            tokens, cache, seen = self._step(
                self._module, ids, cache, seen, slots, choice or Choice(), _slots_read(first, cache)
            )
        return tokens, cache, seen

    def losses(self, ids: Sequence[int]) -> Any:
        """Return the negative log-probability of each token after the first."""
        prompt = padded([ids[:-1]])
        start, length = int(prompt.starts[0]), prompt.ids.shape[1]
        targets = np.full(length, -100, np.int64)
        targets[start:] = ids[1:]
        cache = self.new_cache(1, power_of_two(length, _LEAST_CAPACITY))
        starts, first, losses = self._array(prompt.starts), 0, []
        for size in prompt.chunks:
            part = slice(first, first + size)
            chunk_losses, cache = self._losses(
                self._module, self._array(prompt.ids[:, part]), self._array(targets[part]), cache,
                Slots(self._array(np.int32(first)), starts), _slots_read(first + size, cache),
            )  # fmt: skip
            losses.append(dpnp.asnumpy(chunk_losses))
            first += size
        return np.concatenate(losses)[start:]


def _slots_read(n: int, cache: Any) -> int:
    """Return the number of cache slots that a program for ``n`` slots reads."""
    return min(power_of_two(n, _LEAST_CAPACITY), cache[0][0].shape[2])


def _step(
    module: Any, ids: Any, cache: Any, seen: Any, slots: Any, choice: Choice,
    n_read: int | None = None,
) -> Any:  # fmt: skip
    """Return the next tokens (N, 1), the updated cache, and which tokens occurred."""
    n = ids.shape[1]
    if seen is not None:
        slot_ids = F.add(F.unsqueeze(F.arange(n, dtype="int32"), 0), slots.first)
        seen = marked(seen, ids, F.ge(slot_ids, F.unsqueeze(slots.starts, 1)))
    logits, cache = module(ids, cache, slots, True, n_read)
    text_positions = F.unsqueeze(F.sub(F.add(slots.first, n), slots.starts), 1)
    return chosen(logits, seen, text_positions, choice), cache, seen


def _losses(
    module: Any, ids: Any, targets: Any, cache: Any, slots: Any, n_read: int
) -> Any:  # fmt: skip
    logits, cache = module(ids, cache, slots, n_read=n_read)
    logits = F.reshape(logits, (-1, logits.shape[-1]))
    return F.cross_entropy(logits, targets, reduction="none"), cache


def perplexity(losses: Any) -> float:
    """Return the exponential of the mean loss."""
    return math.exp(float(np.mean(losses))) if len(losses) else math.nan
