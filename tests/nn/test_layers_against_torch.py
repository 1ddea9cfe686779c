# SPDX-License-Identifier: Apache-2.0
"""Each layer against ``torch.nn``: names and shapes, forward, gradients, modes, text."""

import dpnp
import numpy as np
import pytest
from compared_with_torch import torch

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn

S1, S2, S3 = (2, 4, 9), (2, 4, 6, 6), (2, 4, 5, 5, 5)
IDS, BAGS = "ids", "bags"
INTEGERS = {IDS: (3,), BAGS: (2, 3)}

#: Class, arguments, shapes of the inputs (names of ``INTEGERS``), options by name.
ROWS = [
    ("Identity", (3,), [(2, 3)]), ("Linear", (4, 5), [(3, 4)]),
    ("Linear", (4, 5, False), [(2, 3, 4)]), ("Bilinear", (3, 4, 5), [(2, 3), (2, 4)]),
    ("Embedding", (7, 4), [IDS]), ("Embedding", (7, 4, 2), [IDS]),
    ("Conv1d", (4, 6, 3), [S1]), ("Conv2d", (4, 6, 3, 2, 1), [S2]),
    ("Conv2d", (4, 8, (3, 1)), [S2], {"groups": 2, "padding": "same", "dilation": 2}),
    ("Conv2d", (4, 6, 3), [S2], {"padding": 1, "padding_mode": "reflect", "bias": False}),
    ("Conv2d", (4, 6, 3), [S2], {"padding": 1, "padding_mode": "circular"}),
    ("Conv3d", (4, 2, 3), [S3]), ("ConvTranspose1d", (4, 6, 3, 2), [S1]),
    ("ConvTranspose2d", (4, 6, 3), [S2], {"stride": 2, "output_padding": 1, "groups": 2}),
    ("ConvTranspose3d", (4, 2, 2), [S3]),
    ("BatchNorm1d", (4,), [S1]), ("BatchNorm1d", (4,), [(5, 4)]), ("BatchNorm2d", (4,), [S2]),
    ("BatchNorm2d", (4,), [S2], {"momentum": None, "affine": False}),
    ("BatchNorm2d", (4,), [S2], {"track_running_stats": False}), ("BatchNorm3d", (4,), [S3]),
    ("InstanceNorm1d", (4,), [S1]), ("InstanceNorm3d", (4,), [S3]),
    ("InstanceNorm2d", (4,), [S2], {"affine": True, "track_running_stats": True}),
    ("InstanceNorm2d", (4,), [S2[1:]]), ("LayerNorm", (6,), [S2]), ("LayerNorm", ((6, 6),), [S2]),
    ("LayerNorm", (6, 1e-3), [S2], {"bias": False}), ("RMSNorm", (6,), [S2]),
    ("RMSNorm", ((6, 6), 1e-3), [S2], {"elementwise_affine": False}),
    ("GroupNorm", (2, 4), [S2]), ("GroupNorm", (4, 4), [S1], {"affine": False}),
    *((name, (), [(3, 4)]) for name in (
        "ReLU", "ReLU6", "SELU", "ELU", "CELU", "LeakyReLU", "Hardtanh", "Hardsigmoid", "Hardswish",
        "Sigmoid", "Tanh", "SiLU", "Mish", "Softsign", "Tanhshrink", "LogSigmoid", "GELU",
        "Softplus", "Softshrink", "Hardshrink", "GLU")),
    ("GELU", ("tanh",), [(3, 4)]), ("Threshold", (0.1, 2.0), [(3, 4)]),
    ("Softmax", (1,), [(3, 4)]), ("LogSoftmax", (-1,), [(3, 4)]), ("Softmin", (0,), [(3, 4)]),
    ("MaxPool1d", (2,), [S1]), ("MaxPool2d", (3, 2, 1), [S2]), ("MaxPool3d", (2,), [S3]),
    ("AvgPool1d", (2,), [S1]), ("AvgPool2d", (3, 2, 1), [S2]), ("AvgPool3d", (2,), [S3]),
    ("LPPool1d", (2, 3), [S1]), ("LPPool2d", (2, 2), [S2]), ("LPPool3d", (2, 2), [S3]),
    ("AdaptiveAvgPool1d", (3,), [S1]), ("AdaptiveAvgPool2d", ((3, None),), [S2]),
    ("AdaptiveAvgPool3d", (1,), [S3]), ("AdaptiveMaxPool1d", (3,), [S1]),
    ("AdaptiveMaxPool2d", (2,), [S2]), ("AdaptiveMaxPool3d", (2,), [S3]),
    ("Flatten", (), [S2]), ("Flatten", (0, 1), [S2]), ("Unflatten", (1, (2, 2)), [S2]),
    ("PixelShuffle", (2,), [S2]), ("PixelUnshuffle", (2,), [S2]), ("ChannelShuffle", (2,), [S2]),
    ("Fold", ((4, 4), 3), [(2, 9, 4)]), ("Unfold", (3,), [S2]),
    ("Upsample", (), [S2], {"scale_factor": 2}),
    ("Upsample", (), [S2], {"size": (9, 9), "mode": "bilinear", "align_corners": False}),
    ("LocalResponseNorm", (3,), [S2]),
    ("PReLU", (), [(3, 4)]), ("PReLU", (4, 0.1), [S2]), ("Softmax2d", (), [S2]),
    ("CosineSimilarity", (), [(3, 4), (3, 4)]), ("PairwiseDistance", (), [(3, 4), (3, 4)]),
    ("UpsamplingNearest2d", (), [S2], {"scale_factor": 2}),
    ("UpsamplingBilinear2d", ((9, 9),), [S2]),
    ("ZeroPad2d", (1,), [S2]), ("ConstantPad1d", ((1, 2), 3.0), [S1]),
    ("ReflectionPad2d", ((1, 2, 2, 1),), [S2]), ("ReplicationPad3d", (1,), [S3]),
    ("CircularPad1d", (2,), [S1]), ("Dropout", (0.0,), [S2]),
    ("RReLU", (0.25, 0.25), [S2]), ("Dropout2d", (0.0,), [S2]),
    ("RNN", (4, 3), [(5, 2, 4)]), ("RNN", (4, 3, 2, "relu"), [(5, 2, 4)], {"bias": False}),
    ("LSTM", (4, 3, 2), [(2, 5, 4)], {"bidirectional": True, "batch_first": True}),
    ("LSTM", (4, 3), [(5, 2, 4)], {"proj_size": 2}), ("GRU", (4, 3), [(5, 2, 4)]),
    ("GRU", (4, 3, 2), [(5, 4)], {"bidirectional": True}),
    ("EmbeddingBag", (7, 4), [BAGS]),
    ("EmbeddingBag", (7, 4), [BAGS], {"mode": "max", "padding_idx": 2}),
    ("RNNCell", (4, 3), [(2, 4)]), ("RNNCell", (4, 3, False, "relu"), [(4,)]),
    ("LSTMCell", (4, 3), [(2, 4)]), ("GRUCell", (4, 3), [(2, 4)]), ("GRUCell", (4, 3), [(4,)]),
    ("MultiheadAttention", (8, 2), [(5, 2, 8), (4, 2, 8), (4, 2, 8)]),
    ("MultiheadAttention", (8, 2), [(2, 5, 8), (2, 4, 3), (2, 4, 6)],
     {"batch_first": True, "kdim": 3, "vdim": 6, "bias": False}),
    ("MultiheadAttention", (8, 2), [(5, 2, 8), (4, 2, 8), (4, 2, 8)],
     {"add_bias_kv": True, "add_zero_attn": True}),
    ("MultiheadAttention", (8, 2, 0.0, True, False, True), [(5, 8), (4, 8), (4, 8)]),
    ("TransformerEncoderLayer", (8, 2, 16, 0.0), [(5, 2, 8)]),
    ("TransformerEncoderLayer", (8, 2, 16, 0.0, "gelu"), [(2, 5, 8)],
     {"batch_first": True, "norm_first": True}),
    ("TransformerDecoderLayer", (8, 2, 16, 0.0), [(5, 2, 8), (4, 2, 8)]),
    ("Transformer", (8, 2, 2, 1, 16, 0.0), [(5, 2, 8), (4, 2, 8)]),
    *((name, (), [(3, 4), (3, 4)]) for name in ("L1Loss", "MSELoss", "SmoothL1Loss", "HuberLoss")),
    ("MSELoss", (), [(3, 4), (3, 4)], {"reduction": "sum"}),
    ("BCEWithLogitsLoss", (), [(3, 4), (3, 4)]), ("KLDivLoss", (), [(3, 4), (3, 4)],
                                                 {"reduction": "batchmean", "log_target": True}),
    ("CrossEntropyLoss", (), [(3, 4), IDS], {"label_smoothing": 0.1}),
]  # fmt: skip


def name_of(row):
    return "-".join(
        [row[0], *map(str, row[1]), *map(str, (row[3] if len(row) > 3 else {}).items())]
    )


def inputs_of(shapes, rng):
    return [
        rng.integers(0, 3, INTEGERS[s]) if s in INTEGERS else rng.standard_normal(s).astype("f4")
        for s in shapes
    ]


def ours(values, dtype=None):
    results = [dpnp.asarray(v, sycl_queue=sycl_dnn.default_queue()) for v in values]
    return [F.astype(v, dtype) if dtype and v.dtype == np.float32 else v for v in results]


def as_numpy(value):
    if hasattr(value, "detach"):
        return value.detach().float().numpy()
    return F.astype(value, "float32").asnumpy() if hasattr(value, "asnumpy") else np.asarray(value)


def close(a, b, name, tolerance=3e-5):
    a, b = as_numpy(a), as_numpy(b)
    assert a.shape == b.shape, name
    assert np.abs(a - b).max(initial=0) <= tolerance * max(1, np.abs(b).max(initial=0)), name


def pair(row):
    """The layer and torch's, with the same parameters."""
    name, args, _, *more = row
    options = more[0] if more else {}
    sycl_dnn.manual_seed(5)
    own, other = getattr(nn, name)(*args, **options), getattr(torch.nn, name)(*args, **options)
    assert repr(own) == repr(other)
    expected = {
        k: (tuple(v.shape), str(v.dtype).split(".")[1]) for k, v in other.state_dict().items()
    }
    assert {k: (v.shape, str(v.dtype)) for k, v in own.state_dict().items()} == expected
    assert list(own.state_dict()) == list(other.state_dict())
    own.load_state_dict(other.state_dict())
    return own, other


def first(outputs):
    """Return the first result: recurrent layers and attention have others."""
    return outputs[0] if isinstance(outputs, tuple) else outputs


def total(module, xs, weights):
    return F.sum(F.mul(first(module(*xs)), weights))


@pytest.mark.parametrize("row", ROWS, ids=name_of)
def test_layer_matches_torch(row):
    own, other = pair(row)
    rng = np.random.default_rng(0)
    values = inputs_of(row[2], rng)
    args = [torch.tensor(v, requires_grad=v.dtype == np.float32) for v in values]
    expected = first(other(*args))
    xs = ours(values)
    # Eager; the following step counts a second batch.
    close(first(own(*xs)), expected, "forward")
    if expected.ndim == 0:
        weights = np.float32(1.0)
    else:
        weights = rng.standard_normal(tuple(expected.shape)).astype("f4")
    expected = first(other(*args))
    (expected * torch.tensor(weights)).sum().backward()

    @sycl_dnn.compile
    def gradients(module, xs, weights):
        floats = [i for i, x in enumerate(xs) if x.dtype == "float32"]

        def inner(module, chosen):
            whole = list(xs)
            for place, x in zip(floats, chosen, strict=True):
                whole[place] = x
            return total(module, whole, weights)

        return sycl_dnn.grad(inner, argnums=(0, 1))(module, [xs[i] for i in floats])

    of_module, of_inputs = gradients(own, xs, *ours([np.asarray(weights)]))
    theirs = dict(other.named_parameters())
    for name, gradient in of_module.named_parameters():
        close(gradient, theirs[name].grad, f"gradient of {name}", 1e-4)
    for gradient, x in zip(of_inputs, [x for x in args if x.requires_grad], strict=True):
        close(gradient, x.grad, "gradient of the input", 1e-4)
    for name, value in own.state_dict().items():
        close(value, other.state_dict()[name], name)
    own.eval(), other.eval()
    close(first(own(*xs)), first(other(*args)), "eval")
    theirs = getattr(torch.nn, row[0])(*row[1], **(row[3] if len(row) > 3 else {}))
    theirs.load_state_dict({n: torch.tensor(as_numpy(v)) for n, v in own.state_dict().items()})


def narrowed(row):
    """The layer in bfloat16, and torch's in float32 with the same rounded parameters."""
    own, other = pair(row)
    own.bfloat16()
    other.bfloat16()
    return own, other.float()


@pytest.mark.parametrize("row", ROWS, ids=name_of)
def test_layer_in_bfloat16(row):
    torch.manual_seed(0)  # of the weights: a value near 0 may be rounded across it
    own, other = narrowed(row)
    rng = np.random.default_rng(0)
    values = [torch.tensor(v) for v in inputs_of(row[2], rng)]
    args = [v.bfloat16().float().requires_grad_() if v.is_floating_point() else v for v in values]
    expected = first(other(*args))
    xs = ours([v.detach().numpy() for v in args], "bfloat16")
    found = first(own(*xs))
    assert str(found.dtype) == "bfloat16"
    close(found, expected, "forward", 0.03)
    weights = torch.tensor(rng.standard_normal(tuple(expected.shape)).astype("f4"))
    (expected * weights).sum().backward()
    floats = [i for i, x in enumerate(args) if x.is_floating_point()]

    def loss(module, chosen):
        whole = [*xs]
        for place, x in zip(floats, chosen, strict=True):
            whole[place] = x
        actual = F.astype(first(module(*whole)), "float32")
        return F.sum(F.mul(actual, *ours([weights.numpy()])))

    of_module, of_inputs = sycl_dnn.grad(loss, argnums=(0, 1))(own, [xs[i] for i in floats])
    theirs = dict(other.named_parameters())
    for name, gradient in of_module.named_parameters():
        close(gradient, theirs[name].grad, f"gradient of {name}", 0.03)
    for gradient, i in zip(of_inputs, floats, strict=True):
        close(gradient, args[i].grad, f"gradient of input {i}", 0.03)


def test_every_row_is_tested():
    from sycl_dnn.nn.function_layers import ROWS as LAYERS

    left = {"MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d", "NLLLoss", "BCELoss", "CTCLoss"}
    # tests/functional/loss/test_margin_losses.py has these, function and module.
    left |= {
        "CosineEmbeddingLoss", "GaussianNLLLoss", "HingeEmbeddingLoss", "MarginRankingLoss",
        "MultiLabelMarginLoss", "MultiLabelSoftMarginLoss", "MultiMarginLoss", "PoissonNLLLoss",
        "SoftMarginLoss", "TripletMarginLoss", "TripletMarginWithDistanceLoss",
    }  # fmt: skip
    assert set(LAYERS) - {row[0] for row in ROWS} == left
