# SPDX-License-Identifier: Apache-2.0
"""The networks of `models/training_nets.py` as functions of parameters by their names in torch.

``ops`` has the operations that differ between JAX and MLX (`jax_side.py`, `mlx_side.py`). Images
are channels-last, which is fastest in both libraries. Running statistics are put into
``ops.updates``.
"""

from __future__ import annotations

import re
from typing import Any

#: Kernel, stride, whether the channels are squeezed, and hard activation of each block of
#: MobileNetV3-Large; widths are those of the weights. Source: arXiv:1905.02244, table 1.
MOBILE = (
    (3, 1, 0, 0), (3, 2, 0, 0), (3, 1, 0, 0), (5, 2, 1, 0), (5, 1, 1, 0), (5, 1, 1, 0),
    (3, 2, 0, 1), (3, 1, 0, 1), (3, 1, 0, 1), (3, 1, 0, 1), (3, 1, 1, 1), (3, 1, 1, 1),
    (5, 2, 1, 1), (5, 1, 1, 1), (5, 1, 1, 1),
)  # fmt: skip


class Network:
    """Parameters, and the layers that use them by name."""

    def __init__(self, ops: Any, parameters: dict[str, Any]) -> None:
        self.ops, self.p = ops, parameters

    def linear(self, name: str, x: Any) -> Any:
        """Return ``x W^T + b``."""
        y = x @ self.p[f"{name}.weight"].T
        bias = self.p.get(f"{name}.bias")
        return y if bias is None else y + bias.astype(y.dtype)

    def layer_norm(self, name: str, x: Any) -> Any:
        """Normalize the last axis."""
        return self.ops.layer_norm(x, self.p[f"{name}.weight"], self.p[f"{name}.bias"])

    def conv(self, name: str, x: Any, stride: int = 1, padding: int = 0, groups: int = 1) -> Any:
        """Convolve images (N, H, W, C)."""
        y = self.ops.conv(x, self.p[f"{name}.weight"], stride, padding, groups)
        bias = self.p.get(f"{name}.bias")
        return y if bias is None else y + bias.astype(y.dtype)

    def batch_norm(self, name: str, x: Any) -> Any:
        """Normalize by the statistics of the batch, and update the running ones."""
        xp, y = self.ops.xp, x.astype(self.ops.xp.float32)
        mean, var = y.mean((0, 1, 2)), xp.var(y, (0, 1, 2))
        count = x.size // x.shape[-1]
        for key, now in (("mean", mean), ("var", var * (count / (count - 1)))):
            old = self.ops.statistics[f"{name}.running_{key}"]
            self.ops.updates[f"{name}.running_{key}"] = 0.9 * old + 0.1 * now
        scale = self.p[f"{name}.weight"] * (var + 1e-5) ** -0.5
        return ((y - mean) * scale + self.p[f"{name}.bias"]).astype(x.dtype)

    def group_norm(self, name: str, x: Any) -> Any:
        """Normalize eight groups of channels."""
        xp, (n, *_, c) = self.ops.xp, x.shape
        y = x.astype(xp.float32).reshape(n, -1, 8, c // 8)
        y = y - y.mean((1, 3), keepdims=True)
        y = y * ((y * y).mean((1, 3), keepdims=True) + 1e-5) ** -0.5
        return (y.reshape(x.shape) * self.p[f"{name}.weight"] + self.p[f"{name}.bias"]).astype(
            x.dtype
        )

    def attention(self, name: str, x: Any, heads: int, causal: bool) -> Any:
        """Return self-attention of (N, T, C)."""
        n, t, c = x.shape
        parts = self.linear(f"{name}.qkv", x).reshape(n, t, 3, heads, c // heads)
        y = self.ops.attention(parts[:, :, 0], parts[:, :, 1], parts[:, :, 2], causal)
        return self.linear(f"{name}.out", y.reshape(n, t, c))

    def perceptron(self, name: str, x: Any) -> Any:
        """Two layers with GELU between."""
        return self.linear(f"{name}.down", self.ops.gelu(self.linear(f"{name}.up", x)))

    def count(self, prefix: str, suffix: str = ".") -> int:
        """Return how many numbered modules there are, with ``suffix`` after the number."""
        found = (re.match(rf"{re.escape(prefix)}(\d+){re.escape(suffix)}", name) for name in self.p)
        return len({match[1] for match in found if match})


def gpt(net: Network, letters: Any, heads: int) -> Any:
    """Map (N, T) to logits (N, T, letters)."""
    x = net.p["tokens.weight"][letters] + net.p["places"]
    for i in range(net.count("blocks.")):
        at = f"blocks.{i}"
        x = x + net.attention(f"{at}.1", net.layer_norm(f"{at}.0", x), heads, True)
        x = x + net.perceptron(f"{at}.3", net.layer_norm(f"{at}.2", x))
    return net.linear("head", net.layer_norm("norm", x))


def bert(net: Network, letters: Any, heads: int) -> Any:
    """Map (N, T) to logits (N, 2)."""
    x = net.layer_norm("norm", net.p["tokens.weight"][letters] + net.p["places"])
    for i in range(net.count("blocks.")):
        at = f"blocks.{i}"
        x = net.layer_norm(f"{at}.1", x + net.attention(f"{at}.0", x, heads, False))
        x = net.layer_norm(f"{at}.3", x + net.perceptron(f"{at}.2", x))
    return net.linear("head", net.ops.xp.tanh(net.linear("pooler", x[:, 0])))


def classifier(net: Network, letters: Any) -> Any:
    """Map sentences (N, T) to logits by an LSTM in both directions."""
    x = net.p["tokens.weight"][letters]
    ways = []
    for end in ("", "_reverse"):
        names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
        w_ih, w_hh, b_ih, b_hh = (net.p[f"lstm.{name}{end}"] for name in names)
        gates = x @ w_ih.T
        ways.append(net.ops.lstm(gates + (b_ih + b_hh).astype(gates.dtype), w_hh, bool(end)))
    return net.linear("head", net.ops.xp.concatenate(ways, -1).mean(1))


def resnet18(net: Network, x: Any) -> Any:
    """Map images (N, H, W, 3) to logits."""
    relu = net.ops.relu
    x = net.ops.max_pool(relu(net.batch_norm("bn1", net.conv("conv1", x, 2, 3))))
    for stage in range(4):
        for block in range(2):
            at, stride = f"stages.{stage}.{block}", 2 if stage and not block else 1
            y = relu(net.batch_norm(f"{at}.bn1", net.conv(f"{at}.conv1", x, stride, 1)))
            y = net.batch_norm(f"{at}.bn2", net.conv(f"{at}.conv2", y, 1, 1))
            if f"{at}.downsample.0.weight" in net.p:
                x = net.conv(f"{at}.downsample.0", x, stride)
                x = net.batch_norm(f"{at}.downsample.1", x)
            x = relu(x + y)
    return net.linear("fc", x.mean((1, 2)))


def mobilenetv3(net: Network, x: Any) -> Any:
    """Map images (N, H, W, 3) to logits."""
    ops = net.ops
    x = ops.hardswish(net.batch_norm("features.1", net.conv("features.0", x, 2, 1)))
    blocks = net.count("features.", ".block")
    for i, row in enumerate(MOBILE[:blocks]):
        x = _inverted(net, f"features.{3 + i}", x, *row)
    at = 3 + blocks
    x = ops.hardswish(net.batch_norm(f"features.{at + 1}", net.conv(f"features.{at}", x)))
    x = ops.hardswish(net.linear("classifier.0", x.mean((1, 2))))
    return net.linear("classifier.2", x)


def _inverted(
    net: Network, at: str, x: Any, kernel: int, stride: int, squeezes: int, hard: int
) -> Any:
    act = net.ops.hardswish if hard else net.ops.relu
    y, i, at = x, 0, f"{at}.block"
    # The first convolution is depthwise if it would not widen.
    if net.p[f"{at}.0.weight"].size != kernel**2 * x.shape[-1]:
        y, i = act(net.batch_norm(f"{at}.1", net.conv(f"{at}.0", y))), 3
    y = net.conv(f"{at}.{i}", y, stride, kernel // 2, y.shape[-1])
    y, i = act(net.batch_norm(f"{at}.{i + 1}", y)), i + 3
    if squeezes:
        scale = net.conv(f"{at}.{i}.fc1", y.mean((1, 2), keepdims=True))
        y = y * net.ops.hardsigmoid(net.conv(f"{at}.{i}.fc2", net.ops.relu(scale)))
        i += 1
    y = net.batch_norm(f"{at}.{i + 1}", net.conv(f"{at}.{i}", y))
    return x + y if x.shape == y.shape else y


def unet(net: Network, x: Any, steps: Any) -> Any:
    """Map images and the numbers of their steps to noise."""
    silu, xp = net.ops.silu, net.ops.xp
    t, kept = silu(net.p["steps.weight"][steps]), []
    x = net.conv("stem", x, 1, 1)
    depth = net.count("down.")
    for i in range(depth):
        x = _timed(net, f"down.{i}", x, t)
        kept.append(x)
        if i < depth - 1:
            x = net.conv(f"halve.{i}", x, 2, 1)
    n, h, w, c = x.shape
    y = net.attention("attention", net.group_norm("norm", x).reshape(n, h * w, c), 4, False)
    x = _timed(net, "middle", x + y.reshape(x.shape), t)
    for i in range(depth):
        x = _timed(net, f"up.{i}", xp.concatenate([x, kept.pop()], -1), t)
        if i < depth - 1:
            x = net.conv(f"widen.{i}", xp.repeat(xp.repeat(x, 2, 1), 2, 2), 1, 1)
    return net.conv("out", silu(net.group_norm("last", x)), 1, 1)


def _timed(net: Network, at: str, x: Any, t: Any) -> Any:
    silu = net.ops.silu
    y = net.conv(f"{at}.conv1", silu(net.group_norm(f"{at}.norm1", x)), 1, 1)
    y = y + net.linear(f"{at}.time", t)[:, None, None]
    y = net.conv(f"{at}.conv2", silu(net.group_norm(f"{at}.norm2", y)), 1, 1)
    return y + (net.conv(f"{at}.skip", x) if f"{at}.skip.weight" in net.p else x)
