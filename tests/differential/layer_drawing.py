# SPDX-License-Identifier: Apache-2.0
"""Generate random stacks of layers, an optimizer and its options; ``torch.nn`` tries each layer."""

from __future__ import annotations

import math
import random
import re
from dataclasses import dataclass
from typing import Any

import torch

#: Layers that the two namespaces lack, as text for both.
WRAPPERS = '''
class Residual(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return x + self.inner(x)


class First(nn.Module):
    """The first of several results."""

    def __init__(self, inner, times=1):
        super().__init__()
        self.inner = inner
        self.times = times

    def forward(self, x):
        return self.inner(*(x,) * self.times)[0]


class Gated(nn.Module):
    def __init__(self, one, two):
        super().__init__()
        self.parts = nn.ModuleList([one, two])

    def forward(self, x):
        return self.parts[0](x) * self.parts[1](x).sigmoid()


class Turned(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x.transpose(1, -1)).transpose(1, -1)


class Scaled(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.scale = nn.Parameter(zeros(size))

    def forward(self, x):
        return x * (1 + self.scale)
'''
ACTIVATIONS = (
    "nn.ReLU()", "nn.GELU()", "nn.GELU('tanh')", "nn.SiLU()", "nn.Tanh()", "nn.Sigmoid()",
    "nn.ELU(0.7)", "nn.LeakyReLU(0.2)", "nn.Mish()", "nn.Hardswish()", "nn.Softplus()",
    "nn.PReLU()", "nn.ReLU6()", "nn.SELU()", "nn.CELU(1.3)", "nn.Softsign()", "nn.Identity()",
    "nn.Dropout(0.0)", "nn.LogSigmoid()", "nn.Tanhshrink()", "nn.Hardsigmoid()", "nn.Softmax(-1)",
    "nn.Hardtanh(-0.8, 0.6)", "nn.Softmin(1)", "nn.LogSoftmax(1)",
)  # fmt: skip
OPTIMIZERS = {
    "SGD": ("", "momentum=0.9", "momentum=0.8, nesterov=True", "momentum=0.9, dampening=0.1",
            "weight_decay=0.05", "momentum=0.5, weight_decay=0.01"),
    "Adam": ("", "betas=(0.8, 0.95)", "weight_decay=0.02", "amsgrad=True", "eps=1e-3"),
    "AdamW": ("", "weight_decay=0.1", "amsgrad=True", "betas=(0.7, 0.9), eps=1e-4"),
    "RMSprop": ("", "momentum=0.9", "centered=True", "alpha=0.8, weight_decay=0.01"),
    "Adagrad": ("", "lr_decay=0.1", "initial_accumulator_value=0.2"),
    "NAdam": ("", "momentum_decay=0.01", "weight_decay=0.01"), "Adamax": ("", "betas=(0.8, 0.9)"),
}  # fmt: skip
LARGEST = 2000


@dataclass(frozen=True)
class Stack:
    """A module as source text, the shape of its input, and how it is trained."""

    seed: int
    layers: tuple[str, ...]
    shape: tuple[int, ...]
    optimizer: str
    options: str
    layout: str = "dense"

    def text(self) -> str:
        return f"nn.Sequential({', '.join(self.layers)})"

    def made(self, nn: Any, zeros: Any) -> Any:
        scope: dict[str, Any] = {"nn": nn, "zeros": zeros, "__name__": "stack"}
        used = WRAPPERS if re.search(r"\b(?<!\.)[A-Z][a-z]+\(", self.text()) else ""
        exec(used, scope)
        return eval(self.text(), scope)

    def standing_alone(self) -> str:
        rows = "".join(f"    {layer},\n" for layer in self.layers)
        return (
            f"# seed {self.seed}, input {self.shape} {self.layout}, "
            f"{self.optimizer}({self.options})\nnet = nn.Sequential(\n{rows})\n"
        )


def _window(r: random.Random, n: int, shape: tuple[int, ...]) -> str:
    channels, out = shape[1], r.randint(1, 6)
    kernel = r.randint(1, 3)
    options = [f"{channels}, {out}, {kernel}"]
    divisors = [g for g in range(1, channels + 1) if channels % g == 0]
    if r.random() < 0.3:
        groups = r.choice(divisors)
        options = [f"{channels}, {groups * r.randint(1, 3)}, {kernel}, groups={groups}"]
    if r.random() < 0.5:
        options.append(f"padding={r.choice((1, 2, repr('same')))}")
    if r.random() < 0.3 and "same" not in options[-1]:
        options.append(f"stride={r.randint(1, 2)}")
    if r.random() < 0.2:
        options.append("dilation=2")
    if r.random() < 0.2:
        options.append("bias=False")
    if r.random() < 0.2:
        options.append(f"padding_mode='{r.choice(('reflect', 'replicate', 'circular'))}'")
    if r.random() < 0.2:
        return f"nn.ConvTranspose{n}d({channels}, {out}, {kernel}, stride={r.randint(1, 2)})"
    return f"nn.Conv{n}d({', '.join(options)})"


def _of_images(r: random.Random, n: int, shape: tuple[int, ...]) -> str:
    channels = shape[1]
    groups = r.choice([g for g in range(1, channels + 1) if channels % g == 0])
    flag = r.choice(("", ", affine=False"))
    instance = r.choice(("", ", affine=True", ", track_running_stats=True"))
    mode = r.choice(("nearest", {1: "linear", 2: "bilinear", 3: "trilinear"}[n]))
    rows = [
        _window(r, n, shape), _window(r, n, shape), _window(r, n, shape),
        f"nn.BatchNorm{n}d({channels}{flag})", f"nn.BatchNorm{n}d({channels}, momentum=None)",
        f"nn.BatchNorm{n}d({channels}, track_running_stats=False)",
        f"nn.InstanceNorm{n}d({channels}{instance})",
        f"nn.GroupNorm({groups}, {channels}{flag})",
        f"nn.MaxPool{n}d({r.randint(2, 3)}, {r.randint(1, 2)})",
        f"nn.AvgPool{n}d(2, {r.randint(1, 2)}, {r.randint(0, 1)})",
        f"nn.AdaptiveAvgPool{n}d({r.randint(1, 4)})",
        f"nn.AdaptiveMaxPool{n}d({r.randint(1, 3)})", "nn.Flatten()", "nn.Flatten(2)",
        f"nn.LocalResponseNorm({r.randint(1, 4)})", f"nn.PReLU({channels})",
        f"nn.LayerNorm({shape[-1]})",
        f"nn.Upsample(scale_factor=2, mode='{mode}')",
        f"nn.LPPool{n}d(2, 2)", f"nn.ConstantPad{n}d(1, 0.5)", f"nn.ReflectionPad{n}d(1)",
        f"nn.MaxPool{n}d(2, padding=1, ceil_mode=True)",
        f"Residual(nn.Conv{n}d({channels}, {channels}, 3, padding=1))",
        f"Gated(nn.Conv{n}d({channels}, 3, 1), nn.Conv{n}d({channels}, 3, 1))",
        f"Scaled({shape[-1]})",
    ]  # fmt: skip
    if n == 2:
        rows += [f"nn.PixelUnshuffle({r.randint(1, 2)})", "nn.PixelShuffle(2)", "nn.Softmax2d()",
                 f"nn.ChannelShuffle({groups})", "nn.Unfold(2)", "nn.ZeroPad2d((1, 0, 2, 1))",
                 f"Turned(nn.Linear({channels}, 4))",
                 f"Turned(nn.LayerNorm({channels}))"]  # fmt: skip
    return r.choice(rows)


def _of_rows(r: random.Random, shape: tuple[int, ...]) -> str:
    size, out = shape[-1], r.randint(1, 8)
    rows = [
        f"nn.Linear({size}, {out})", f"nn.Linear({size}, {out}, bias=False)",
        f"nn.LayerNorm({size})",
        f"nn.RMSNorm({size}, eps=1e-5)", f"nn.LayerNorm({size}, eps=1e-3, bias=False)",
        f"Residual(nn.Sequential(nn.Linear({size}, {out}), nn.GELU(), nn.Linear({out}, {size})))",
        f"Gated(nn.Linear({size}, {out}), nn.Linear({size}, {out}))", f"Scaled({size})",
        f"Residual(nn.LayerNorm({size}))",
    ]  # fmt: skip
    if len(shape) == 2:
        rows += [f"nn.BatchNorm1d({size})", f"nn.Unflatten(1, ({size}, 1))",
                 f"nn.Unflatten(1, (1, {size}))"]  # fmt: skip
    if len(shape) == 3:
        first = f"batch_first={r.choice((True, False))}"
        cell = r.choice(("LSTM", "GRU", "RNN"))
        both = r.choice(("", ", bidirectional=True", ", num_layers=2", ", bias=False"))
        rows += [f"First(nn.{cell}({size}, {r.randint(1, 5)}, {first}{both}))"] * 2
        heads = r.choice([h for h in (1, 2, 4) if size % h == 0])
        rows += [
            f"First(nn.MultiheadAttention({size}, {heads}, {first}), 3)",
            f"nn.TransformerEncoderLayer({size}, {heads}, {r.randint(2, 8)}, 0.0, {first},"
            f" norm_first={r.choice((True, False))}, activation='{r.choice(('relu', 'gelu'))}')",
        ] * 2  # fmt: skip
    return r.choice(rows)


def _layer(r: random.Random, shape: tuple[int, ...]) -> str:
    if r.random() < 0.22:
        return r.choice(ACTIVATIONS)
    if len(shape) in (4, 5) or (len(shape) == 3 and r.random() < 0.4):
        return _of_images(r, len(shape) - 2, shape)
    return _of_rows(r, shape)


def draw_stack(seed: int) -> Stack:
    r = random.Random(seed)
    torch.manual_seed(0)
    ndim = r.choice((2, 3, 3, 4, 4, 5))
    while True:
        shape = (r.randint(1, 4), *(r.choice((1, 2, 3, 4, 5, 6, 8)) for _ in range(ndim - 1)))
        if math.prod(shape) <= 800:
            break
    layers: list[str] = []
    expected, tries = r.randint(1, 5), 0
    sizes = shape
    while len(layers) < expected and tries < 100:
        tries += 1
        layer = _layer(r, sizes)
        try:
            value = Stack(0, (layer,), sizes, "", "").made(torch.nn, torch.zeros)(
                torch.randn(sizes)
            )
        except (RuntimeError, ValueError, TypeError, IndexError, AssertionError):
            continue
        if 0 < value.numel() <= LARGEST:
            layers.append(layer)
            sizes = tuple(value.shape)
            if len(sizes) < 2:
                break
    name = r.choice(list(OPTIMIZERS))
    order = list(range(ndim))
    r.shuffle(order)
    layout = r.choice(("dense", "offset", f"negative {ndim - 1}", f"strided {ndim - 1} 2",
                       "permuted " + " ".join(map(str, order))))  # fmt: skip
    return Stack(seed, tuple(layers), shape, name, r.choice(OPTIMIZERS[name]), layout)
