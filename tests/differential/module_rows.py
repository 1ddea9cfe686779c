# SPDX-License-Identifier: Apache-2.0
"""Inputs of modules that torch's ``module_db`` lacks: options of its classes, and other classes."""

from __future__ import annotations

from typing import Any

import torch
from torch.testing._internal.common_modules import (
    FunctionInput,
    ModuleInfo,
    ModuleInput,
    module_db,
)

S1, S2, S3 = (2, 4, 9), (2, 4, 6, 6), (2, 4, 5, 5, 5)
IDS, BAGS, WORDS, WORD = "ids", "bags", "words", "word"
#: Shapes of integers, and their bounds.
INTEGERS = {IDS: ((3,), 3), BAGS: ((2, 3), 3), WORDS: ((8,), 20), WORD: ((), 20)}
#: Class, arguments, shapes of the inputs (names of ``INTEGERS``), options by name.
ROWS = [
    ("Identity", (3,), [(2, 3)]), ("Linear", (4, 5, False), [(2, 3, 4)]),
    ("Embedding", (7, 4, 2), [IDS]), ("EmbeddingBag", (7, 4), [BAGS]),
    ("EmbeddingBag", (7, 4), [BAGS], {"mode": "max", "padding_idx": 2}),
    ("Conv2d", (4, 6, 3, 2, 1), [S2]),
    ("Conv2d", (4, 8, (3, 1)), [S2], {"groups": 2, "padding": "same", "dilation": 2}),
    ("Conv2d", (4, 6, 3), [S2], {"padding": 1, "padding_mode": "reflect", "bias": False}),
    ("Conv2d", (4, 6, 3), [S2], {"padding": 1, "padding_mode": "circular"}),
    ("ConvTranspose1d", (4, 6, 3, 2), [S1]),
    ("ConvTranspose2d", (4, 6, 3), [S2], {"stride": 2, "output_padding": 1, "groups": 2}),
    ("BatchNorm1d", (4,), [S1]), ("BatchNorm1d", (4,), [(5, 4)]),
    ("BatchNorm2d", (4,), [S2], {"momentum": None, "affine": False}),
    ("BatchNorm2d", (4,), [S2], {"track_running_stats": False}), ("BatchNorm3d", (4,), [S3]),
    ("InstanceNorm2d", (4,), [S2], {"affine": True, "track_running_stats": True}),
    ("InstanceNorm2d", (4,), [S2[1:]]), ("LayerNorm", ((6, 6),), [S2]),
    ("LayerNorm", (6, 1e-3), [S2], {"bias": False}),
    ("RMSNorm", ((6, 6), 1e-3), [S2], {"elementwise_affine": False}),
    ("GroupNorm", (4, 4), [S1], {"affine": False}), ("GELU", ("tanh",), [(3, 4)]),
    ("Hardsigmoid", (), [(3, 4)]), ("RReLU", (0.25, 0.25), [S2]), ("PReLU", (4, 0.1), [S2]),
    ("MaxPool2d", (3, 2, 1), [S2]), ("AvgPool2d", (3, 2, 1), [S2]), ("LPPool3d", (2, 2), [S3]),
    ("AdaptiveAvgPool2d", ((3, None),), [S2]), ("Flatten", (), [S2]), ("Flatten", (0, 1), [S2]),
    ("Unflatten", (1, (2, 2)), [S2]), ("PixelShuffle", (2,), [S2]),
    ("PixelUnshuffle", (2,), [S2]), ("ChannelShuffle", (2,), [S2]),
    ("Fold", ((4, 4), 3), [(2, 9, 4)]), ("Unfold", (3,), [S2]),
    ("Upsample", (), [S2], {"scale_factor": 2}),
    ("Upsample", (), [S2], {"size": (9, 9), "mode": "bilinear", "align_corners": False}),
    ("UpsamplingNearest2d", (), [S2], {"scale_factor": 2}),
    ("UpsamplingBilinear2d", ((9, 9),), [S2]), ("Dropout", (0.0,), [S2]),
    ("Dropout2d", (0.0,), [S2]), ("CosineSimilarity", (), [(3, 4), (3, 4)]),
    ("PairwiseDistance", (), [(3, 4), (3, 4)]), ("RNN", (4, 3, 2, "relu"), [(5, 2, 4)]),
    ("LSTM", (4, 3, 2), [(2, 5, 4)], {"bidirectional": True, "batch_first": True}),
    ("LSTM", (4, 3), [(5, 2, 4)], {"proj_size": 2}),
    ("GRU", (4, 3, 2), [(5, 4)], {"bidirectional": True}),
    ("RNNCell", (4, 3, False, "relu"), [(4,)]), ("LSTMCell", (4, 3), [(2, 4)]),
    ("GRUCell", (4, 3), [(4,)]),
    ("MultiheadAttention", (8, 2), [(2, 5, 8), (2, 4, 3), (2, 4, 6)],
     {"batch_first": True, "kdim": 3, "vdim": 6, "bias": False}),
    ("MultiheadAttention", (8, 2), [(5, 2, 8), (4, 2, 8), (4, 2, 8)],
     {"add_bias_kv": True, "add_zero_attn": True}),
    ("TransformerEncoderLayer", (8, 2, 16, 0.0, "gelu"), [(2, 5, 8)],
     {"batch_first": True, "norm_first": True}),
    ("Transformer", (8, 2, 2, 1, 16, 0.0), [(5, 2, 8), (4, 2, 8)]),
    ("MSELoss", (), [(3, 4), (3, 4)], {"reduction": "sum"}),
    ("KLDivLoss", (), [(3, 4), (3, 4)], {"reduction": "batchmean", "log_target": True}),
    ("CrossEntropyLoss", (), [(3, 4), IDS], {"label_smoothing": 0.1}),
    ("AdaptiveLogSoftmaxWithLoss", (16, 20, [3, 9], 2.0), [(8, 16), WORDS]),
    ("AdaptiveLogSoftmaxWithLoss", (16, 20, [3, 9], 2.0), [(16,), WORD]),
]  # fmt: skip


def inputs_of(name: str) -> list[Any]:
    """Return the inputs of the class's rows, in the form of ``module_db``."""
    with torch.random.fork_rng():  # torch's own inputs get the weights that they had
        torch.manual_seed(1)
        return [_input(*row[1:]) for row in ROWS if row[0] == name]


def _input(args: Any, shapes: Any, options: Any = None) -> Any:
    def drawn(shape: Any) -> Any:
        if shape in INTEGERS:
            size, high = INTEGERS[shape]
            return torch.randint(high, size)
        return torch.randn(shape).requires_grad_()

    constructor = FunctionInput(*args, **(options or {}))
    return ModuleInput(constructor, FunctionInput(*map(drawn, shapes)))


def infos() -> list[Any]:
    """Return the modules of ``module_db``, then the other classes of ``ROWS``."""
    known = {info.module_cls.__name__ for info in module_db}
    others = [name for name in dict.fromkeys(row[0] for row in ROWS) if name not in known]
    return [*module_db, *(_info(name) for name in others)]


def _info(name: str) -> Any:
    return ModuleInfo(getattr(torch.nn, name), module_inputs_func=lambda *args, **options: [])
