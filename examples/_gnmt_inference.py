# SPDX-License-Identifier: Apache-2.0
"""A translator like GNMT: encoder, attention, decoder with LSTM layers; the same in NumPy."""

from __future__ import annotations

from typing import Any

import dpnp
import numpy as np
from _example import Example, desc
from _numpy_layers import lstm_step

from sycl_dnn import onednn as dnnl

SENTENCES, WORDS, FEATURES, GATES = 16, 10, 128, 4
# Layers, directions, channels of the layer below and of the previous state (with the context).
STACKS = {
    "both_ways": (1, 2, FEATURES, FEATURES),
    "joining": (1, 1, 2 * FEATURES, FEATURES),
    "upper": (2, 1, FEATURES, FEATURES),
    "decoder": (4, 1, FEATURES, 2 * FEATURES),
}
# int8: u8 = 63 * value + 64 represents the outputs of LSTM layers, which are in [-1, 1].
DATA_SCALE, DATA_SHIFT = 63.0, 64.0
GATE_AND_CHANNEL = (1 << 3) + (1 << 4)


def random_weights(example: Example) -> dict[str, dict[str, np.ndarray]]:
    """Return the weights of the stacks and of the attention."""
    small = np.float32(1 / np.sqrt(FEATURES))
    stacks = {}
    for name, (layers, directions, below, before) in STACKS.items():
        stacks[name] = {
            "weights_layer": example.normal(layers, directions, below, GATES, FEATURES) * small,
            "weights_iter": example.normal(layers, directions, before, GATES, FEATURES) * small,
            "bias": example.normal(layers, directions, GATES, FEATURES) * small,
        }
    attention = {
        "words": example.normal(FEATURES, FEATURES) * small,
        "state": example.normal(FEATURES, FEATURES) * small,
        "alignment": example.normal(FEATURES),
    }
    return stacks | {"attention": attention}


class Stack:
    """LSTM layers as one primitive over ``n_words`` words; weights are packed once."""

    def __init__(
        self, example: Example, name: str, weights: dict, n_words: int, dtypes: tuple[str, str]
    ) -> None:
        self.example, self.attr = example, None
        kind = "f32"
        if "u8" in dtypes:
            kind, self.attr = "s8", quantization(weights)
        layers, directions, below, before = STACKS[name]
        direction = dnnl.rnn_direction
        state = states(layers, directions, before)
        if name != "decoder":
            # Zeros must be passed: on GPUs oneDNN 3.13 would start from uninitialized memory.
            state = {given: state[given] for given in ("src_iter", "src_iter_c")}
        self.pd = dnnl.lstm_forward(
            example.engine,
            prop_kind=dnnl.prop_kind.forward_inference,
            direction=(direction.unidirectional_left2right, direction.bidirectional_concat)[
                directions - 1
            ],
            src_layer=desc((n_words, SENTENCES, below), "tnc", dtypes[0]),
            weights_layer=desc(weights["weights_layer"].shape, dtype=kind),
            weights_iter=desc(weights["weights_iter"].shape, dtype=kind),
            bias=desc(weights["bias"].shape, "ldgo"),
            dst_layer=desc((n_words, SENTENCES, directions * FEATURES), "tnc", dtypes[1]),
            attr=self.attr,
            src_iter=state["src_iter"],
            src_iter_c=state["src_iter_c"],
            dst_iter=state.get("dst_iter"),
            dst_iter_c=state.get("dst_iter_c"),
        )
        self.constants = {"bias": example.memory(weights["bias"])}
        if name != "decoder":
            for given, layout in state.items():
                self.constants[given] = example.memory(np.zeros(layout.dims, "f4"))
        for matrix in ("weights_layer", "weights_iter"):
            plain = example.memory(weights[matrix])
            self.constants[matrix] = example.reordered(plain, self.pd.desc_of(matrix), self.attr)

    def __call__(self, words: dnnl.Memory, **before: dnnl.Memory) -> dict[str, dnnl.Memory]:
        """Run the layers; float32 words are quantized first for int8 layers."""
        reference = self.pd.desc_of("src_layer")
        if reference.data_type != words.desc.data_type:
            words = self.example.reordered(words, reference, self.attr)
        return self.example.run(self.pd, src_layer=words, **before, **self.constants)


def quantization(weights: dict[str, np.ndarray]) -> dnnl.PrimitiveAttr:
    """Return the scales of data and weights: one for each gate and channel, for both matrices."""
    matrices = np.concatenate([weights["weights_layer"], weights["weights_iter"]], axis=2)
    attr = dnnl.PrimitiveAttr()
    attr.set_rnn_data_qparams(DATA_SCALE, DATA_SHIFT)
    scales = 127 / np.abs(matrices).max((0, 1, 2))
    attr.set_rnn_weights_qparams(GATE_AND_CHANNEL, scales.ravel().tolist())
    return attr


def states(layers: int, directions: int, before: int) -> dict[str, dnnl.MemoryDesc]:
    """Return the states that a stack called word by word reads and writes."""
    plain = desc((layers, directions, SENTENCES, FEATURES), "ldnc")
    with_context = desc((layers, directions, SENTENCES, before), "ldnc")
    return {
        "src_iter": with_context,
        "src_iter_c": plain,
        "dst_iter": plain,
        "dst_iter_c": plain,
    }


def context(xp: Any, weights: dict, annotations: Any, projected: Any, state: Any) -> Any:
    """Return the context of the decoder, (N, F); ``xp`` is numpy or dpnp.

    annotations (T, N, F), ``projected``: the same times weights, state (N, F).
    """
    energies = xp.tanh(projected + state @ weights["state"]) @ weights["alignment"]
    shares = xp.exp(energies - energies.max(axis=0))
    shares = shares / shares.sum(axis=0)
    return (shares[..., None] * annotations).sum(axis=0)


def translate(example: Example, weights: dict, source: np.ndarray, integers: bool) -> np.ndarray:
    """Return the decoder's outputs (T, N, F) for sentences (T, N, F)."""
    inner = "u8" if integers else "f32"
    stacks = {
        name: Stack(
            example,
            name,
            weights[name],
            1 if name == "decoder" else WORDS,
            (inner, "f32" if name == "upper" else inner),
        )
        for name in STACKS
    }
    words = example.memory(source)
    for name in ("both_ways", "joining", "upper"):
        words = stacks[name](words)["dst_layer"]
    return decode(example, weights["attention"], stacks["decoder"], words.to_array())


def decode(example: Example, attention: dict, decoder: Stack, annotations: Any) -> np.ndarray:
    """Write word by word; dpnp computes the attention, on the memory of the primitives."""
    queue = example.queue
    attention = {name: dpnp.asarray(x, sycl_queue=queue) for name, x in attention.items()}
    projected = annotations @ attention["words"]
    zeros = np.zeros((STACKS["decoder"][0], 1, SENTENCES, FEATURES), "f4")
    word = example.memory(zeros[0])
    actual = {"dst_iter": example.memory(zeros), "dst_iter_c": example.memory(zeros)}
    outputs = []
    for _ in range(WORDS):
        before = actual["dst_iter"].to_array()
        seen = context(dpnp, attention, annotations, projected, before[-1, 0])
        seen = dpnp.broadcast_to(seen, before.shape)
        state = dpnp.concatenate([before, seen], axis=-1)
        actual = decoder(
            word,
            src_iter=dnnl.Memory.from_array(state, example.engine),
            src_iter_c=actual["dst_iter_c"],
        )
        word = actual["dst_layer"]
        outputs.append(example.values(word)[0])
    result = np.stack(outputs)
    return (
        result if word.desc.data_type == dnnl.data_type.f32 else (result - DATA_SHIFT) / DATA_SCALE
    )


def read(words: np.ndarray, weights: dict, direction: int = 0) -> np.ndarray:
    """Return the outputs of a stack that reads all words, in NumPy."""
    for w, u, b in zip(*(x[:, direction] for x in weights.values()), strict=True):
        states, outputs = (np.zeros(words.shape[1:2] + (FEATURES,)),) * 2, []
        for word in words:
            states = lstm_step(word, w, u, b, *states)
            outputs.append(states[0])
        words = np.stack(outputs)
    return words


def expected(weights: dict, source: np.ndarray) -> np.ndarray:
    """Return the result of `translate`, computed by NumPy in float64."""
    weights = {k: {n: x.astype("f8") for n, x in v.items()} for k, v in weights.items()}
    there, back = (weights["both_ways"],) * 2
    words = np.concatenate([read(source, there), read(source[::-1], back, 1)[::-1]], axis=-1)
    for name in ("joining", "upper"):
        words = read(words, weights[name])
    attention, decoder = weights["attention"], weights["decoder"]
    projected, layers = words @ attention["words"], len(decoder["bias"])
    x, h, c = np.zeros((SENTENCES, FEATURES)), *np.zeros((2, layers, SENTENCES, FEATURES))
    outputs = []
    for _ in range(WORDS):
        seen = context(np, attention, words, projected, h[-1])
        for layer in range(layers):
            w, u, b = (decoder[n][layer, 0] for n in ("weights_layer", "weights_iter", "bias"))
            h[layer], c[layer] = lstm_step(x, w, u, b, np.hstack([h[layer], seen]), c[layer])
            x = h[layer]
        outputs.append(x.copy())
    return np.stack(outputs)
