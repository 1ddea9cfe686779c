# SPDX-License-Identifier: Apache-2.0
"""Random functions over a few arrays, for comparisons of compiled with eager calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dpnp
import numpy as np
from hypothesis import strategies as st

from sycl_dnn import functional as F

UNARY = {
    "relu": F.relu,
    "leaky_relu": F.leaky_relu,
    "elu": F.elu,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
    "sigmoid": F.sigmoid,
    "tanh": F.tanh,
    "hardswish": F.hardswish,
    "hardsigmoid": F.hardsigmoid,
    "mish": F.mish,
    "relu6": F.relu6,
    "abs": F.abs,
    "neg": F.neg,
    "scale": lambda x: x * 0.5,
    "shift": lambda x: x + 1.5,
    "flip": lambda x: 2.0 - x,
    "clamp": lambda x: F.clamp(x, -1.0, 1.5),
    "square": lambda x: F.square(F.tanh(x)),
    "gate": lambda x: x * F.sigmoid(x),
    "hard_gate": lambda x: x * F.relu6(x + 3.0) / 6.0,
    "softmax": lambda x: F.softmax(x, -1),
    "softmax_1": lambda x: F.softmax(x, 1),
    "turned": lambda x: F.transpose(F.relu(F.transpose(x, 1, -1)), 1, -1),
    "bfloat16": lambda x: F.astype(F.astype(x, "bfloat16"), "float32"),
}
BINARY = {
    "add": F.add,
    "sub": F.sub,
    "mul": F.mul,
    "maximum": F.maximum,
    "minimum": F.minimum,
    "add_r": lambda a, b: F.add(b, a),
    "sub_r": lambda a, b: F.sub(b, a),
    "div": lambda a, b: F.div(a, F.abs(b) + 1.0),
}
SHAPES = ((2, 16, 5, 5), (3, 32, 4, 4), (1, 7, 3, 6), (2, 3, 1, 1), (4, 16, 1, 2), (1, 1, 4, 8))


def _random(rng: Any, shape: tuple[int, ...], queue: Any, scale: float = 1.0) -> Any:
    values = (scale * rng.standard_normal(shape)).astype(np.float32)
    return dpnp.asarray(values, sycl_queue=queue)


class Drawn:
    """A function composed of drawn steps, which its text lists for hypothesis' report."""

    def __init__(self, shape: tuple[int, ...], steps: list[tuple[Any, ...]], is_last: bool) -> None:
        self.shape = shape
        self.steps = steps
        self.is_channels_last = is_last

    def __repr__(self) -> str:
        return f"Drawn({self.shape}, {self.steps}, {self.is_channels_last})"

    def input(self, queue: Any) -> Any:
        x = _random(np.random.default_rng(0), self.shape, queue)
        if not self.is_channels_last:
            return x
        return dpnp.moveaxis(dpnp.ascontiguousarray(dpnp.moveaxis(x, 1, -1)), -1, 1)

    def function(self, queue: Any) -> Callable[[Any], Any]:
        """Return the function over one array; its weights are on the queue's device."""
        rng = np.random.default_rng(1)
        calls, channels = [], [self.shape[1]]
        for step in self.steps:
            calls.append(_MAKERS[step[0]](rng, queue, self.shape, channels, *step[1:]))

        def run(x: Any) -> Any:
            values = [x]
            for call in calls:
                values.append(call(values))
            return values[-1]

        return run


def _conv(rng, queue, shape, channels, kernel, groups, has_bias):
    c = shape[1]
    groups = c if groups == "depthwise" else 1
    w = _random(rng, (c, c // groups, kernel, kernel), queue, (c // groups * kernel**2) ** -0.5)
    b = _random(rng, (c,), queue) if has_bias else None
    return lambda v: F.conv2d(v[-1], w, b, padding=kernel // 2, groups=groups)


def _linear(rng, queue, shape, channels, has_bias):
    n = shape[-1]
    w = _random(rng, (n, n), queue, n**-0.5)
    b = _random(rng, (n,), queue) if has_bias else None
    return lambda v: F.linear(v[-1], w, b)


def _norm(rng, queue, shape, channels, kind):
    c, n = shape[1], shape[-1]
    if kind == "batch":
        mean, weight, bias = (_random(rng, (c,), queue) for _ in range(3))
        var = dpnp.abs(_random(rng, (c,), queue)) + 0.5
        return lambda v: F.batch_norm(v[-1], mean, var, weight, bias)
    weight, bias = _random(rng, (n,), queue), _random(rng, (n,), queue)
    return lambda v: F.layer_norm(v[-1], (n,), weight, bias, 0.1)


def _unary(rng, queue, shape, channels, name):
    return lambda v: UNARY[name](v[-1])


def _with_earlier(rng, queue, shape, channels, name, back):
    return lambda v: BINARY[name](v[-1], v[max(len(v) - 1 - back, 0)])


def _with_constant(rng, queue, shape, channels, name, kept):
    dims = tuple(n if keep else 1 for n, keep in zip(shape, kept, strict=True))
    other = _random(rng, dims, queue)
    return lambda v: BINARY[name](v[-1], other)


def _pool(rng, queue, shape, channels, kind):
    return lambda v: getattr(F, kind)(v[-1], 3, stride=1, padding=1)


_MAKERS = {
    "conv": _conv,
    "linear": _linear,
    "norm": _norm,
    "unary": _unary,
    "earlier": _with_earlier,
    "constant": _with_constant,
    "pool": _pool,
}
_STEP = st.one_of(
    st.tuples(st.just("unary"), st.sampled_from(sorted(UNARY))),
    st.tuples(st.just("earlier"), st.sampled_from(sorted(BINARY)), st.integers(0, 3)),
    st.tuples(
        st.just("constant"), st.sampled_from(sorted(BINARY)), st.tuples(*[st.booleans()] * 4)
    ),
    st.tuples(
        st.just("conv"),
        st.sampled_from((1, 3)),
        st.sampled_from(("one", "depthwise")),
        st.booleans(),
    ),  # fmt: skip
    st.tuples(st.just("linear"), st.booleans()),
    st.tuples(st.just("norm"), st.sampled_from(("batch", "layer"))),
    st.tuples(st.just("pool"), st.sampled_from(("max_pool2d", "avg_pool2d"))),
)
#: Functions of up to eight steps.
drawn = st.builds(
    Drawn, st.sampled_from(SHAPES), st.lists(_STEP, min_size=1, max_size=8), st.booleans()
)
