# SPDX-License-Identifier: Apache-2.0
"""Random layers of many kinds, written once for both libraries: 0.2 to 12 MB of float32."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from layer_cases import Layer

_SMALLEST, _LARGEST = 1 << 16, 3 << 20
_WIDTHS = (10, 33, 64, 100, 128, 250, 384, 513, 768, 1000, 2048)
Shape = tuple[int, ...]
Random = np.random.Generator
#: Function of a namespace and arrays, shapes, bounds of the arguments that are integers (0: bools).
Written = tuple[Callable[..., Any], tuple[Shape, ...], dict[int, int]]


def _size(rng: Random) -> float:
    return float(np.exp(rng.uniform(np.log(_SMALLEST), np.log(_LARGEST))))


def _of(rng: Random, choices: tuple[Any, ...]) -> Any:
    return choices[int(rng.integers(len(choices)))]


def _rows(rng: Random, widths: tuple[int, ...] = _WIDTHS) -> Shape:
    """Return the shape of a matrix."""
    width = _of(rng, widths)
    return max(round(_size(rng) / width), 2), width


def _sequence(rng: Random) -> Shape:
    """Return the shape (batch, length, width) of a sequence."""
    n, width = _rows(rng)
    length = _of(rng, (16, 50, 128, 196))
    return max(n // length, 1), length, width


def _image(rng: Random, channels: tuple[int, ...] = (3, 16, 24, 64, 100, 128, 256)) -> Shape:
    c, side = _of(rng, channels), _of(rng, (7, 14, 16, 28, 30, 56, 64, 112))
    return max(round(_size(rng) / (c * side * side)), 1), c, side, side


def _convolution(
    rng: Random, n_axes: int, kernel: int, groups: int = 1, *, dilation: int = 1
) -> Written:
    """Return a convolution of about 0.3 GFLOP."""
    channels = _of(rng, (16, 32, 64, 96) if groups == 1 else (32, 64, 128, 256))
    groups = channels if groups < 0 else groups
    side = {1: (128, 500, 1024), 2: (14, 28, 40, 56), 3: (8, 12, 16)}[n_axes]
    sides = (_of(rng, side),) * n_axes
    work = 2 * channels * channels // groups * kernel**n_axes * int(np.prod(sides))
    n = min(max(int(3e8 / work), 1), 32)
    name, padding = f"conv{n_axes}d", dilation * (kernel // 2)
    w = (channels, channels // groups, *(kernel,) * n_axes)
    shapes = ((n, channels, *sides), w, (channels,))
    return (
        lambda F, x, w, b: getattr(F, name)(
            x, w, b, padding=padding, groups=groups, dilation=dilation
        ),
        shapes, {},
    )  # fmt: skip


def _loss(name: str, classes: int) -> Callable[[Random], Written]:
    def make(rng: Random) -> Written:
        n = max(round(_size(rng) / classes), 4)
        return (lambda F, x, t: getattr(F, name)(x, t)), ((n, classes), (n,)), {1: classes}

    return make


def _of_two(name: str, **kwargs: Any) -> Callable[[Random], Written]:
    """Return a function of two arrays of one shape."""

    def make(rng: Random) -> Written:
        x = _sequence(rng)
        return (lambda F, x, y: getattr(F, name)(x, y, **kwargs)), (x, x), {}

    return make


def _of_rows(name: str, *args: Any, **kwargs: Any) -> Callable[[Random], Written]:
    """Return a function of a matrix."""
    return lambda rng: ((lambda F, x: getattr(F, name)(x, *args, **kwargs)), (_rows(rng),), {})


def _of_images(name: str, *args: Any, **kwargs: Any) -> Callable[[Random], Written]:
    """Return a function of images."""
    return lambda rng: ((lambda F, x: getattr(F, name)(x, *args, **kwargs)), (_image(rng),), {})


def _norm(name: str, n_vectors: int) -> Callable[[Random], Written]:
    """Return a norm of the last axis."""

    def make(rng: Random) -> Written:
        x = _sequence(rng)
        shapes = (x, *((x[-1:],) * n_vectors))
        return (lambda F, x, *w: getattr(F, name)(x, w[0].shape, *w)), shapes, {}

    return make


def _indexed(rng: Random) -> tuple[Shape, int]:
    """Return the shape of a matrix and a number of its rows."""
    x = _rows(rng, (33, 64, 128, 250, 768))
    return x, max(x[0] // 2, 1)


def _scatter(name: str) -> Callable[[Random], Written]:
    def make(rng: Random) -> Written:
        x, n = _indexed(rng)
        return (
            (lambda F, x, i, y: getattr(F, name)(x, 0, i, y)), (x, (n,), (n, x[1])), {1: x[0]},
        )  # fmt: skip

    return make


def _by_elements(name: str) -> Callable[[Random], Written]:
    def make(rng: Random) -> Written:
        x, n = _indexed(rng)
        if name == "gather":
            return (lambda F, x, i: F.gather(x, 0, i)), (x, (n, x[1])), {1: x[0]}
        return (
            (lambda F, x, i, y: getattr(F, name)(x, 0, i, y)), (x, (n, x[1]), (n, x[1])), {1: x[0]},
        )  # fmt: skip

    return make


def _selected(rng: Random) -> Written:
    x, n = _indexed(rng)
    return (lambda F, x, i: F.index_select(x, 0, i)), (x, (n,)), {1: x[0]}


def _embedding(rng: Random) -> Written:
    table = (_of(rng, (1000, 30000)), _of(rng, (64, 100, 256)))
    return (lambda F, i, w: F.embedding(i, w)), ((32, 128), table), {0: 1000}


def _bce(rng: Random) -> Written:
    x = _rows(rng)
    return (
        (lambda F, x, y: F.binary_cross_entropy_with_logits(x, F.sigmoid(y))), (x, x), {},
    )  # fmt: skip


def _masked(rng: Random) -> Written:
    x = _sequence(rng)
    return (lambda F, x, m: F.masked_fill(x, m, -1e9)), (x, x), {1: 0}


def _where(rng: Random) -> Written:
    x = _sequence(rng)
    return (lambda F, m, x, y: F.where(m, x, y)), (x, x, x[1:]), {0: 0}


def _copies(rng: Random) -> Written:
    n, length, width = _sequence(rng)
    heads = _of(rng, (4, 8, 12))
    x = (n, length, heads, max(width // heads, 1))
    return (lambda F, x: F.reshape(F.transpose(x, 1, 2), (n * heads, length, -1))), (x,), {}


def _turned(rng: Random) -> Written:
    x = _rows(rng)
    return (lambda F, x: F.mul(F.transpose(x, 0, 1), 1.5)), (x,), {}


def _concatenated(axis: int) -> Callable[[Random], Written]:
    def make(rng: Random) -> Written:
        x = _image(rng)
        other = (x[0], x[1] // 2 + 1, *x[2:]) if axis == 1 else x
        return (lambda F, x, y: F.cat((x, y), axis)), (x, other), {}

    return make


def _product(m: tuple[int, ...], batches: tuple[int, ...]) -> Callable[[Random], Written]:
    def make(rng: Random) -> Written:
        b, n, k, p = _of(rng, batches), _of(rng, m), _of(rng, m), _of(rng, m)
        name = "bmm" if b else "matmul"
        lead = (b,) if b else ()
        return (lambda F, x, y: getattr(F, name)(x, y)), ((*lead, n, k), (*lead, k, p)), {}

    return make


def _linear(rng: Random) -> Written:
    n, k, m = (_of(rng, c) for c in ((1, 8, 32, 200), (64, 100, 512, 768), (10, 64, 512, 1000)))
    return (lambda F, x, w, b: F.linear(x, w, b)), ((n, k), (m, k), (m,)), {}


def _einsum(rng: Random) -> Written:
    b, h, t, d = _of(rng, (1, 4)), _of(rng, (4, 8)), _of(rng, (64, 100, 196)), _of(rng, (32, 64))
    return (
        (lambda F, q, k: F.einsum("bthd,bshd->bhts", q, k)), ((b, t, h, d),) * 2, {},
    )  # fmt: skip


def _attention(**kwargs: Any) -> Callable[[Random], Written]:
    def make(rng: Random) -> Written:
        x = (_of(rng, (1, 4, 8)), _of(rng, (4, 8, 12)), _of(rng, (64, 128, 197, 400)), 64)
        return (lambda F, q, k, v: F.scaled_dot_product_attention(q, k, v, **kwargs)), (x,) * 3, {}

    return make


def _instance_norm(rng: Random) -> Written:
    x = _image(rng)
    return (lambda F, x, w, b: F.instance_norm(x, weight=w, bias=b)), (x, x[1:2], x[1:2]), {}


def _prelu(rng: Random) -> Written:
    x = _image(rng)
    return (lambda F, x, w: F.prelu(x, w)), (x, x[1:2]), {}


def _shuffled(rng: Random) -> Written:
    return (lambda F, x: F.pixel_shuffle(x, 2)), (_image(rng, (16, 64, 256)),), {}


def _volume(name: str) -> Callable[[Random], Written]:
    def make(rng: Random) -> Written:
        c, side = _of(rng, (8, 16, 32)), _of(rng, (8, 16, 24))
        n = max(round(_size(rng) / (c * side**3)), 1)
        return (lambda F, x: getattr(F, name)(x, 2)), ((n, c, side, side, side),), {}

    return make


def _one_hot(rng: Random) -> Written:
    n = _of(rng, (1000, 20000))
    return (lambda F, i, x: F.mul(F.one_hot(i, 50), x)), ((n,), (n, 50)), {0: 50}


def _transposed(rng: Random) -> Written:
    c, side = _of(rng, (16, 32, 64)), _of(rng, (7, 14, 28))
    x = (8, c, side, side)
    return (
        (lambda F, x, w, b: F.conv_transpose2d(x, w, b, stride=2)), (x, (c, 32, 2, 2), (32,)), {},
    )  # fmt: skip


#: What each draws.
KINDS: dict[str, Callable[[Random], Written]] = {
    "layer norm": _norm("layer_norm", 2),
    "RMS norm": _norm("rms_norm", 1),
    "instance norm": _instance_norm,
    "LRN": _of_images("local_response_norm", 5),
    "PReLU": _prelu,
    "GELU": _of_rows("gelu"),
    "GELU by tanh": _of_rows("gelu", approximate="tanh"),
    "tanh": _of_rows("tanh"),
    "sigmoid": _of_rows("sigmoid"),
    "softplus": _of_rows("softplus"),
    "ELU": _of_rows("elu"),
    "hard swish": _of_images("hardswish"),
    "clamp": _of_rows("clamp", -0.5, 0.5),
    "GLU": lambda rng: ((lambda F, x: F.glu(x, -1)), (_rows(rng, (64, 128, 250, 768)),), {}),
    "log softmax": _of_rows("log_softmax", -1),
    "softmax of rows": _of_rows("softmax", -1),
    "Huber loss": _of_two("huber_loss"),
    "mean square error": _of_two("mse_loss"),
    "BCE with logits": _bce,
    "cross-entropy of 10": _loss("cross_entropy", 10),
    "cross-entropy of 1000": _loss("cross_entropy", 1000),
    "cross-entropy of 30000": _loss("cross_entropy", 30000),
    "sum": lambda rng: ((lambda F, x: F.sum(x)), (_rows(rng),), {}),
    "mean of rows": lambda rng: ((lambda F, x: F.mean(x, -1)), (_rows(rng),), {}),
    "sum of columns": lambda rng: ((lambda F, x: F.sum(x, 0)), (_rows(rng),), {}),
    "variance": lambda rng: ((lambda F, x: F.var(x, -1)), (_rows(rng),), {}),
    "maximum of rows": lambda rng: ((lambda F, x: F.amax(x, -1)), (_rows(rng),), {}),
    "norm of columns": lambda rng: ((lambda F, x: F.norm(x, 2, 0)), (_rows(rng),), {}),
    "argmax": lambda rng: ((lambda F, x: F.argmax(x, -1)), (_rows(rng),), {}),
    "top 5": lambda rng: ((lambda F, x: F.topk(x, 5, -1)[0]), (_rows(rng),), {}),
    "sort": lambda rng: ((lambda F, x: F.sort(x, -1)[0]), (_rows(rng, (33, 128, 1000)),), {}),
    "cumsum": _of_rows("cumsum", 1),
    "add": _of_two("add"),
    "mul of rows": lambda rng: ((lambda F, x, y: F.mul(x, y)), ((s := _sequence(rng)), s[1:]), {}),
    "masked fill": _masked,
    "where": _where,
    "one-hot": _one_hot,
    "pad": _of_images("pad", (1, 1, 1, 1)),
    "reflected pad": _of_images("pad", (2, 2, 2, 2), mode="reflect"),
    "roll": lambda rng: ((lambda F, x: F.roll(x, (3, 3), (2, 3))), (_image(rng),), {}),
    "flip": lambda rng: ((lambda F, x: F.flip(x, (3,))), (_image(rng),), {}),
    "pixel shuffle": _shuffled,
    "copy of heads": _copies,
    "turned": _turned,
    "concatenated channels": _concatenated(1),
    "concatenated batch": _concatenated(0),
    "unfold": lambda rng: ((lambda F, x: F.unfold(x, 3, padding=1)), (_image(rng, (3, 8)),), {}),
    "nearest": _of_images("interpolate", scale_factor=2, mode="nearest"),
    "bilinear": _of_images("interpolate", size=(20, 24), mode="bilinear"),
    "bicubic": _of_images("interpolate", size=(32, 32), mode="bicubic"),
    "area": _of_images("interpolate", size=(5, 5), mode="area"),
    "adaptive average": _of_images("adaptive_avg_pool2d", (3, 3)),
    "adaptive maximum": _of_images("adaptive_max_pool2d", (2, 2)),
    "average pool": _of_images("avg_pool2d", 2),
    "max pool of volumes": _volume("max_pool3d"),
    "average pool of volumes": _volume("avg_pool3d"),
    "gather": _by_elements("gather"),
    "scatter": _by_elements("scatter"),
    "scatter add": _by_elements("scatter_add"),
    "index add": _scatter("index_add"),
    "index select": _selected,
    "embedding": _embedding,
    "1-D convolution": lambda rng: _convolution(rng, 1, _of(rng, (3, 7))),
    "3-D convolution": lambda rng: _convolution(rng, 3, 3),
    "depthwise convolution": lambda rng: _convolution(rng, 2, _of(rng, (3, 5, 7)), -1),
    "grouped convolution": lambda rng: _convolution(rng, 2, 3, 4),
    "dilated convolution": lambda rng: _convolution(rng, 2, 3, dilation=2),
    "transposed convolution": _transposed,
    "small product": _product((16, 32, 50, 64, 100), (0,)),
    "product": _product((128, 200, 256, 384), (0,)),
    "products": _product((16, 32, 50, 64), (8, 32, 96)),
    "linear": _linear,
    "einsum": _einsum,
    "attention": _attention(),
    "causal attention": _attention(is_causal=True),
}
#: Those whose gradients, if any, are views in torch.
_FORWARD = (
    "argmax", "sum", "mean of rows", "sum of columns", "add", "copy of heads",
    "concatenated channels", "concatenated batch",
)  # fmt: skip


def layer_of(
    kind: str, number: int, seed: int, dtypes: tuple[str, ...] = ("float32", "bfloat16")
) -> tuple[Layer, Written]:
    """Return a layer of a kind and its function."""
    rng = np.random.default_rng((seed, list(KINDS).index(kind), number))
    written = KINDS[kind](rng)
    shapes = " ".join("x".join(map(str, s)) for s in written[1])
    passes = ("forward",) if kind in _FORWARD else ("forward", "backward")
    kwargs = {"kind": kind, "number": number, "seed": seed}
    layer = Layer(f"{kind} {shapes}", "written", written[1], kwargs, dtypes=dtypes, passes=passes)
    return layer, written


def others(count: int, seed: int) -> Iterator[Layer]:
    """Yield ``count`` layers of each kind, in both dtypes."""
    for kind in KINDS:
        for number in range(count):
            yield layer_of(kind, number, seed)[0]
