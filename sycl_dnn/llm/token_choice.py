# SPDX-License-Identifier: Apache-2.0
"""Selection of the next token inside a step's program: limits, and Philox random numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sycl_dnn import functional as F
from sycl_dnn.call.operation import operation
from sycl_dnn.functional.activation.dropout import next_seed
from sycl_dnn.functional.index.ordering import sort_key
from sycl_dnn.functional.index.selected import written
from sycl_dnn.ir.node import Node, number
from sycl_dnn.llm.sampling import Sampling
from sycl_dnn.lower.node_lowering import computed
from sycl_dnn.ops.arithmetic import EXP, GE, GT, LOG, LOG1P, cast, where
from sycl_dnn.ops.creation import iota
from sycl_dnn.ops.random_bits import philox, unit_interval
from sycl_dnn.ops.reduction import MAX
from sycl_dnn.ops.selection import narrow
from sycl_dnn.ops.shape import SUM

#: Bits of a threshold that one pass over the candidates finds.
_BITS = 4


class Choice(NamedTuple):
    """Arrays of the sampling parameters of a step; None for unused ones.

    ``temperature``, ``top_k``, ``top_p``, ``min_p``, ``penalty``: array (1, 1) of float32, without
    a temperature, the largest logit is chosen; ``seed``: array (1, 2) of int32, two words.
    """

    temperature: Any = None
    top_k: Any = None
    top_p: Any = None
    min_p: Any = None
    penalty: Any = None
    seed: Any = None


def choice_of(sampling: Sampling, array: Callable[[Any], Any]) -> Choice:
    """Return the arrays of sampling parameters; ``array`` puts NumPy's on the device."""

    def limit(value: float, is_used: bool) -> Any:
        return array(np.full((1, 1), value, np.float32)) if is_used else None

    is_random = sampling.temperature >= np.finfo(np.float32).tiny
    seed = next_seed() if sampling.seed is None else sampling.seed
    seed_words = np.array([[seed & 0xFFFFFFFF, seed >> 32]], np.uint32).view(np.int32)
    return Choice(
        limit(sampling.temperature, is_random),
        limit(sampling.top_k, is_random and sampling.top_k > 0),
        limit(sampling.top_p, is_random and sampling.top_p < 1),
        limit(sampling.min_p, is_random and sampling.min_p > 0),
        limit(sampling.repetition_penalty, sampling.repetition_penalty != 1),
        array(seed_words) if is_random else None,
    )


def marked(seen: Any, ids: Any, is_text: Any) -> Any:
    """Return which tokens occurred (N, vocabulary), int8, with those of a step.

    ``seen``: array (N, vocabulary) of int8, if donated to the program, its memory is updated in
    place; ``ids``: array (N, T) of int32; ``is_text``: array (N, T) of bool, False at the padding.
    """
    return _marked(seen, F.where(is_text, ids, -1))


@operation
def _marked(seen: Any, ids: Any) -> Any:
    ones = computed(lambda i: cast(GE(i, i), "int8"), ids)
    return written(seen, ones, ids, 1)


def chosen(logits: Any, seen: Any, places: Any, choice: Choice) -> Any:
    """Return the next tokens (N, 1), int32.

    ``logits``: array (N, vocabulary) of float32; ``seen``: array (N, vocabulary) of int8, from
    ``marked``, for the penalty; ``places``: array (N, 1) of int32, the numbers of the next tokens
    in their texts.

    The order is penalty, temperature, top-k, top-p, min-p, as in ``transformers``. A threshold of
    the logits is found by its bits, ``_BITS`` in a pass, so nothing is sorted. Of the remaining
    tokens the one with the largest sum of logit and Gumbel noise is a sample of the distribution.
    """
    x, limits = logits, choice
    if limits.penalty is not None:
        x = _penalized(x, seen, limits.penalty)
    if limits.temperature is None:
        return _largest(x)
    x = _scaled(x, limits.temperature)
    if limits.top_k is not None:
        x = _above(x, _threshold(x, None, limits.top_k))
    if limits.top_p is not None:
        x = _above(x, _threshold(x, _weights(x), limits.top_p))
    if limits.min_p is not None:
        x = _probable(x, limits.min_p)
    return _largest(_noisy(x, places, limits.seed))


@operation
def _penalized(x: Any, seen: Any, penalty: Any) -> Any:
    def body(x: Node, seen: Node, penalty: Node) -> Node:
        worse = where(GT(x, number(0, x.dtype)), x / penalty, x * penalty)
        return where(GT(seen, number(0, "int8")), worse, x)

    return computed(body, x, seen, penalty)


@operation
def _scaled(x: Any, temperature: Any) -> Any:
    """Divide logits, after subtracting the largest, so that no temperature overflows."""
    return computed(lambda x, t: (x - MAX(x, axes=(1,))) / t, x, temperature)


@operation
def _weights(x: Any) -> Any:
    """Return probabilities, over the sum of all."""

    def body(x: Node) -> Node:
        powers = EXP(x - MAX(x, axes=(1,)))
        return powers / SUM(powers, axes=(1,))

    return computed(body, x)


@operation
def _threshold(x: Any, weights: Any, least: Any) -> Any:
    """Return the largest key (N, 1) of ``sort_key`` that elements of enough weight reach."""
    keys = computed(lambda x: sort_key(x, descending=True), x)

    def body(threshold: Node, keys: Node, least: Node, step: Node, *weights: Node) -> Node:
        weight = weights[0] if weights else number(1, "float32")
        n_reached = number(0, "int32")
        for digit in range(1, 1 << _BITS):
            is_above = GE(keys, threshold + step * digit)
            reached = SUM(where(is_above, weight, number(0, "float32")), axes=(1,))
            n_reached = n_reached + cast(GE(reached, least), "int32")
        return threshold + n_reached * step

    inputs = () if weights is None else (weights,)
    threshold = computed(lambda x: narrow(cast(x * 0, "int32"), 1, 0, 1) - (1 << 31), keys)
    for shift in range(32 - _BITS, -1, -_BITS):
        threshold = computed(body, threshold, keys, least, 1 << shift, *inputs, dtype="int32")
    return threshold


@operation
def _above(x: Any, threshold: Any) -> Any:
    """Return the logits whose keys reach a threshold, and minus infinity for others."""

    def body(x: Node, threshold: Node) -> Node:
        is_above = GE(sort_key(x, descending=True), threshold)
        return where(is_above, x, number(float("-inf"), x.dtype))

    return computed(body, x, threshold)


@operation
def _probable(x: Any, least: Any) -> Any:
    """Return the logits of at least a fraction of the largest probability."""

    def body(x: Node, least: Node) -> Node:
        is_kept = GE(EXP(x - MAX(x, axes=(1,))), least)
        return where(is_kept, x, number(float("-inf"), x.dtype))

    return computed(body, x, least)


@operation
def _noisy(x: Any, places: Any, seed: Any) -> Any:
    """Add Gumbel noise; not fused with the argmax, whose kernel has narrower vectors."""
    rows, n = x.shape

    def body(x: Node, places: Node, seed: Node) -> Node:
        seed_words = [narrow(seed, 1, i, 1) for i in range(2)]
        bits = philox([iota(n, 1, 2), iota(rows, 0, 2), places], seed_words)
        return x - LOG(-LOG1P(-unit_interval(bits)))

    return computed(body, x, places, seed)


def _largest(x: Any) -> Any:
    return F.astype(F.argmax(x, -1, keepdim=True), "int32")
