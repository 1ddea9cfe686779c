# SPDX-License-Identifier: Apache-2.0
"""Losses that users of PyTorch write, with their gradients: values, and times of both.

    python benchmarks/user_programs.py [--path TORCH] [NAME...]

Each program is one function over either library's arrays and names. The table has the largest
relative errors of the gradients, called and compiled, and the median times of a call of
``value_and_grad``, beside PyTorch's eager mode with two threads. TORCH is a folder with PyTorch, if
it is not installed. No program is there because it is fast.
"""

from __future__ import annotations

import argparse
import functools
import pickle
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

#: Functions and shapes of their parameters by name.
PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]] = {}


def program(*shapes: tuple[int, ...]) -> Callable[..., Any]:
    """Add a program, a function of names, a maker of arrays and parameters of these shapes."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        PROGRAMS[function.__name__] = function, shapes
        return function

    return add


def normal(*shape: int, seed: int = 1) -> np.ndarray:
    """Return random numbers."""
    return np.random.default_rng(seed).normal(size=shape).astype("f4")


def integers(n: int, *shape: int, low: int = 0) -> np.ndarray:
    """Return random integers below ``n``."""
    return np.random.default_rng(len(shape)).integers(low, n, shape)


@program((128, 3), (128, 3))
def bodies(L: Any, array: Any, x: Any, v: Any) -> Any:
    """Return the energy of 128 bodies after five steps of gravity."""
    for _ in range(5):
        d = x[None] - x[:, None]
        distance = (d**2).sum(-1) + 0.01
        v = v + 0.01 * (d / distance[..., None] ** 1.5).mean(1)
        x = x + 0.01 * v
    return (v**2).sum() + L.logsumexp(x.reshape(-1), 0)


@program((64,), (1,))
def posterior(L: Any, array: Any, w: Any, scale: Any) -> Any:
    """Return the posterior of a logistic regression, as a logarithm."""
    logits = array(normal(500, 64)) @ w * L.exp(scale)
    labels = array((normal(500) > 0).astype("f4"))
    loss = L.binary_cross_entropy_with_logits(logits, labels, reduction="sum")
    return loss + 0.5 * (w**2).sum() + 0.5 * (scale**2).sum()


@program((2, 3), (1, 1, 16, 16))
def registration(L: Any, array: Any, affine: Any, field: Any) -> Any:
    """Return the correlation of an image with its moved and deformed copy."""
    image, unit = array(normal(1, 1, 64, 64)), array(np.eye(2, 3, dtype="f4"))
    grid = L.affine_grid((unit + 0.1 * affine)[None], (1, 1, 64, 64), align_corners=False)
    moved = L.grid_sample(image, grid, padding_mode="border", align_corners=False)
    moved = moved + 0.1 * L.interpolate(field, size=(64, 64), mode="bicubic", align_corners=False)
    a, b = moved - moved.mean(), image - image.mean()
    return 1 - (a * b).sum() / L.sqrt((a * a).sum() * (b * b).sum() + 1e-6)


@program((16, 16, 12, 12, 2), (1, 16), (16, 1))
def fourier_layer(L: Any, array: Any, w: Any, lift: Any, project: Any) -> Any:
    """Apply a layer of a Fourier neural operator."""
    h = (array(normal(4, 32, 32, 1)) @ lift).permute(0, 3, 1, 2)
    waves = L.fft.rfft2(h)
    weights = L.complex(w[..., 0], w[..., 1])
    low = L.einsum("bixy,ioxy->boxy", waves[:, :, :12, :12], weights)
    low = L.pad(low, (0, waves.shape[-1] - 12, 0, waves.shape[-2] - 12))
    h = L.gelu(L.fft.irfft2(low, s=(32, 32)) + h)
    return (h.permute(0, 2, 3, 1) @ project).square().mean()


@program((32, 16), (16, 16), (16,))
def graph_attention(L: Any, array: Any, w: Any, u: Any, a: Any) -> Any:
    """Attend over the edges of a graph of 200 nodes."""
    source, target = array(integers(200, 1000)), array(integers(200, 1, 1000)[0])
    h = array(normal(200, 32)) @ w
    scores = L.leaky_relu((h[source] + h[target]) @ a, 0.2)
    weights = L.exp(scores - scores.max())
    total = L.zeros_like(h[:, 0]).index_add(0, target, weights)
    weights = weights / (total[target] + 1e-9)
    mixed = L.zeros_like(h).index_add(0, target, weights[:, None] * h[source])
    return L.log_softmax(L.elu(mixed @ u), -1)[:, 0].mean()


@program((50, 50))
def transport(L: Any, array: Any, cost: Any) -> Any:
    """Return the cost of a transport plan after 20 steps of Sinkhorn's algorithm."""
    cost = L.softplus(cost)
    kernel = -cost / 0.1
    weight = array(np.full(50, -np.log(50), "f4"))
    f = g = L.zeros_like(weight)
    for _ in range(20):
        f = 0.1 * (weight - L.logsumexp(kernel + g[None] / 0.1, 1))
        g = 0.1 * (weight - L.logsumexp(kernel + f[:, None] / 0.1, 0))
    return (L.exp(kernel + f[:, None] / 0.1 + g[None] / 0.1) * cost).sum()


@program((32, 64), (64,), (64, 32))
def contrastive(L: Any, array: Any, w: Any, b: Any, v: Any) -> Any:
    """Return the loss of SimCLR."""
    x = array(normal(64, 32))
    y = x + 0.1 * array(normal(64, 32, seed=4))
    z = L.normalize(L.cat([L.relu(x @ w + b) @ v, L.relu(y @ w + b) @ v], 0), dim=-1)
    scores = L.masked_fill(z @ z.T / 0.5, array(np.eye(128, dtype=bool)), -1e9)
    return L.cross_entropy(scores, array(np.r_[64:128, :64]))


@program((1000, 32), (1000, 32))
def skip_gram(L: Any, array: Any, u: Any, v: Any) -> Any:
    """Return the loss of word vectors with negative samples."""
    center = L.embedding(array(integers(1000, 256)), u)
    context = L.embedding(array(integers(1000, 1, 256)[0]), v)
    noise = L.embedding(array(integers(1000, 256, 5)), v)
    positive = L.logsigmoid((center * context).sum(-1))
    return -(positive + L.logsigmoid(-L.bmm(noise, center[:, :, None])[..., 0]).sum(-1)).mean()


@program((64, 64), (64, 16), (64, 16), (64, 64), (64, 128), (64, 64), (64,), (64,))
def decoder_layer(L: Any, array: Any, wq: Any, wk: Any, wv: Any, wo: Any, *rest: Any) -> Any:
    """Apply a layer of a language model: turned heads that share keys, gated units."""
    w1, w2, g1, g2 = rest
    x, pairs = array(normal(2, 40, 64)), np.arange(0, 16, 2) / 16
    angles = (np.arange(40)[:, None] / 10000**pairs).astype("f4")
    cos, sin = array(np.cos(angles)), array(np.sin(angles))

    def scaled(z: Any, gain: Any) -> Any:
        return z * L.rsqrt(z.square().mean(-1, keepdim=True) + 1e-6) * gain

    def turned(z: Any) -> Any:
        a, b = z[..., ::2], z[..., 1::2]
        return L.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2)

    def heads(z: Any, n: int) -> Any:
        return z.reshape(2, 40, n, 16).permute(0, 2, 1, 3)

    h = scaled(x, g1)
    q, k, v = turned(heads(h @ wq, 4)), turned(heads(h @ wk, 1)), heads(h @ wv, 1)
    k, v = (L.repeat_interleave(t, 4, 1) for t in (k, v))
    mixed = L.scaled_dot_product_attention(q, k, v, is_causal=True)
    x = x + mixed.permute(0, 2, 1, 3).reshape(2, 40, 64) @ wo
    gates = scaled(x, g2) @ w1
    return (x + L.silu(gates[..., :64]) * gates[..., 64:] @ w2).square().mean()


@program((40, 20, 11))
def alignment(L: Any, array: Any, scores: Any) -> Any:
    """Return the loss of a speech recognizer."""
    labels, lengths = array(integers(11, 20, 8, low=1)), array(integers(9, 20, low=3))
    return L.ctc_loss(L.log_softmax(scores, -1), labels, array(np.full(20, 40)), lengths)


@program((16, 2, 3), (16,), (32, 16, 3), (32,), (16, 16, 1))
def dilated_waves(L: Any, array: Any, w: Any, b: Any, w2: Any, b2: Any, r: Any) -> Any:
    """Apply gated dilated convolutions."""
    h = L.conv1d(array(normal(4, 2, 256)), w, b, padding=1)
    for dilation in (1, 2, 4, 8):
        padded = L.pad(h, (2 * dilation, 0))
        a, g = L.chunk(L.conv1d(padded, w2, b2, dilation=dilation), 2, 1)
        h = h + L.conv1d(L.tanh(a) * L.sigmoid(g), r)
    return h.square().mean()


@program((10,), (10, 10))
def kalman_filter(L: Any, array: Any, noise: Any, dynamics: Any) -> Any:
    """Return the likelihood of 15 observations of a linear system."""
    unit = array(np.eye(10, dtype="f4"))
    step, sight, seen = unit + 0.1 * dynamics, array(normal(3, 10)), array(normal(15, 3))
    drift, error = L.diag(L.exp(noise)), array(np.eye(3, dtype="f4"))
    x, p, loss = array(np.zeros(10, "f4")), unit, 0.0
    for t in range(15):
        x, p = step @ x, step @ p @ step.T + drift
        spread, rest = sight @ p @ sight.T + error, seen[t] - sight @ x
        gain = L.linalg.solve(spread, sight @ p).T
        x, p = x + gain @ rest, p - gain @ sight @ p
        loss = loss + (rest * L.linalg.solve(spread, rest[:, None])[:, 0]).sum()
        loss = loss + L.linalg.slogdet(spread)[1]
    return loss / 30


@program((64, 32), (32,), (500, 32))
def nearest(L: Any, array: Any, w: Any, b: Any, queries: Any) -> Any:
    """Compare with the five nearest neighbors."""
    distances = L.cdist(queries, L.tanh(array(normal(400, 64)) @ w + b))
    return L.exp(-L.topk(distances, 5, dim=1, largest=False)[0]).sum() / 500


@program((4, 8), (8, 16), (16, 8))
def differential_equation(L: Any, array: Any, start: Any, w: Any, v: Any) -> Any:
    """Take ten steps of Runge and Kutta through a network."""
    y, h = array(normal(32, 4)) @ start, 0.1

    def slope(y: Any) -> Any:
        return L.tanh(y @ w) @ v

    for _ in range(10):
        a = slope(y)
        b = slope(y + h / 2 * a)
        c = slope(y + h / 2 * b)
        y = y + h / 6 * (a + 2 * b + 2 * c + slope(y + h * c))
    return y.square().mean()


@program((16, 3, 3, 3), (16,), (16,), (32, 16, 3, 3), (16, 48, 3, 3))
def segmentation(L: Any, array: Any, a: Any, gain: Any, bias: Any, b: Any, c: Any) -> Any:
    """Return the Dice loss of a network that halves and doubles an image."""
    image, target = array(normal(2, 3, 48, 48)), array((normal(2, 16, 48, 48) > 0).astype("f4"))
    h = L.conv2d(image, a, padding=1)
    h = L.relu(L.batch_norm(h, None, None, gain, bias, training=True))
    low = L.relu(L.conv2d(L.avg_pool2d(h, 2), b, padding=1))
    low = L.interpolate(low, scale_factor=2, mode="bilinear", align_corners=False)
    y = L.sigmoid(L.conv2d(L.cat([low, h], 1), c, padding=1))
    both, each = (y * target).sum((2, 3)), y.sum((2, 3)) + target.sum((2, 3))
    return (1 - (2 * both + 1) / (each + 1)).mean()


@program((24, 96), (24, 96), (96,), (24, 20))
def lstm_by_hand(L: Any, array: Any, wi: Any, wh: Any, b: Any, wo: Any) -> Any:
    """Take twelve steps of an LSTM, written out."""
    x, ys = array(normal(12, 16, 24)), []
    h = c = array(np.zeros((16, 24), "f4"))
    for t in range(12):
        i, f, g, o = L.chunk(x[t] @ wi + h @ wh + b, 4, 1)
        c = L.sigmoid(f) * c + L.sigmoid(i) * L.tanh(g)
        h = L.sigmoid(o) * L.tanh(c)
        ys.append(h)
    return L.cross_entropy((L.stack(ys) @ wo).reshape(-1, 20), array(integers(20, 192)))


@program((60, 60))
def gaussian_process(L: Any, array: Any, factor: Any) -> Any:
    """Return the likelihood of a Gaussian process."""
    x, y = array(normal(60, 3)), array(normal(60))
    kernel = L.exp(-0.5 * L.cdist(x, x) ** 2) + 0.01 * (factor @ factor.T)
    kernel = kernel + 0.1 * array(np.eye(60, dtype="f4"))
    root = L.linalg.cholesky(kernel)
    return 0.5 * (y * L.linalg.solve(kernel, y)).sum() + L.log(L.diagonal(root)).sum()


@program((100, 16), (80, 16), (100,), (80,))
def ratings(L: Any, array: Any, u: Any, v: Any, a: Any, b: Any) -> Any:
    """Return the error of a factorized matrix of ratings."""
    i, j = array(integers(100, 2000)), array(integers(80, 1, 2000)[0])
    error = (u[i] * v[j]).sum(1) + a[i] + b[j] - array(normal(2000))
    return error.square().mean() + 1e-3 * (u.square().sum() + v.square().sum())


@program((16, 8, 3, 3))
def quantiles(L: Any, array: Any, w: Any) -> Any:
    """Shuffle normalized features to pixels; return a quantile of them."""
    y = L.pixel_shuffle(L.instance_norm(L.conv2d(array(normal(2, 8, 20, 20)), w, padding=1)), 2)
    return L.softmax(y.flatten(2), -1).square().sum() + L.quantile(y.flatten(1), 0.3, dim=1).sum()


@program((32, 32), (32,))
def coupling(L: Any, array: Any, w: Any, b: Any) -> Any:
    """Return the likelihood of four coupling layers of a flow."""
    x, volume = array(normal(64, 32)), 0.0
    for _ in range(4):
        a, c = x[:, :16], x[:, 16:]
        h = L.tanh(a @ w[:16] + b)
        x = L.cat([c * L.exp(h[:, :16]) + h[:, 16:], a], 1)
        volume = volume + h[:, :16].sum(1)
    return (0.5 * x.square().sum(1) - volume).mean()


# --- Both sides


class Names:
    """The names of several modules."""

    def __init__(self, *modules: Any) -> None:
        self._modules = modules

    def __getattr__(self, name: str) -> Any:
        return next(getattr(m, name) for m in self._modules if hasattr(m, name))


def median(call: Callable[[], Any]) -> float:
    """Return the median time of a call, in microseconds."""
    for _ in range(3):
        call()
    start = time.perf_counter()
    call()
    n = min(100, max(5, int(0.3 / (time.perf_counter() - start))))
    time.sleep(0.2)  # kernels of compiled functions are built in the background
    times = []
    for _ in range(n):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return float(np.median(times) * 1e6)


def parameters(shapes: tuple[tuple[int, ...], ...]) -> list[np.ndarray]:
    """Return the values of the parameters."""
    return [normal(*shape, seed=10 + i) * np.float32(0.3) for i, shape in enumerate(shapes)]


def _arrays(convert: Callable[[np.ndarray], Any]) -> Callable[[np.ndarray], Any]:
    """Return a maker of arrays that keeps them, as a module's buffers."""
    kept: dict[tuple[Any, ...], Any] = {}

    def array(values: np.ndarray) -> Any:
        key = (values.shape, values.dtype.str, values.tobytes())
        if key not in kept:
            kept[key] = convert(values)
        return kept[key]

    return array


def ours(names: list[str]) -> dict[str, Any]:
    """Return gradients and times of this package, called and compiled, by program."""
    import dpnp

    import sycl_dnn
    from sycl_dnn import functional, nn
    from sycl_dnn.nn import torch_names

    kept, library = _arrays(dpnp.asarray), Names(functional, torch_names)

    class Program(nn.Module):
        def __init__(self, function: Callable[..., Any], values: list[np.ndarray]) -> None:
            super().__init__()
            self.function = function
            self.values = nn.ParameterList([nn.Parameter(dpnp.asarray(v)) for v in values])

        def forward(self) -> Any:
            return self.function(library, lambda v: torch_names.as_tensor(kept(v)), *self.values)

    results = {}
    for name in names:
        function, shapes = PROGRAMS[name]
        net = Program(function, parameters(shapes))
        step = sycl_dnn.value_and_grad(lambda net: net())
        ways = []
        for call in (step, sycl_dnn.compile(step)):
            grads = [dpnp.asnumpy(g) for g in call(net)[1].parameters()]
            ways.append((grads, median(lambda call=call, net=net: float(call(net)[0]))))
        results[name] = ways
    return results


def torchs(names: list[str]) -> dict[str, Any]:
    """Return gradients and times of PyTorch's eager mode."""
    import torch

    torch.set_num_threads(2)
    library = Names(torch.nn.functional, torch)
    results = {}
    for name in names:
        function, shapes = PROGRAMS[name]
        values = [torch.from_numpy(v).requires_grad_() for v in parameters(shapes)]
        loss = functools.partial(function, library, _arrays(torch.from_numpy))

        def call(loss: Any = loss, values: Any = values) -> Any:
            value = loss(*values)
            grads = torch.autograd.grad(value, values)
            value.item()
            return grads

        results[name] = [([g.numpy() for g in call()], median(call))]
    return results


def _in_process(side: str, names: list[str], path: str | None) -> dict[str, Any]:
    """Return the results of one side, from a separate process."""
    folders = [str(Path(__file__).parent), *([path] if path else [])]
    code = (
        f"import pickle, sys; sys.path[:0] = {folders}\n"
        f"import user_programs as u; sys.stdout.buffer.write(pickle.dumps(u.{side}({names})))"
    )
    return pickle.loads(subprocess.run([sys.executable, "-c", code], check=True, stdout=-1).stdout)


def _error(results: list[np.ndarray], expected: list[np.ndarray]) -> float:
    pairs = zip(results, expected, strict=True)
    return max(float(np.abs(a - b).max() / np.abs(b).max()) for a, b in pairs)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--path", help="a folder with PyTorch")
    parser.add_argument("names", nargs="*", metavar="NAME", help="programs; all by default")
    options = parser.parse_args()
    names = options.names or list(PROGRAMS)
    mine, theirs = _in_process("ours", names, None), _in_process("torchs", names, options.path)
    print(
        "| | errors | us | compiled | PyTorch | ratio | compiled |\n|---|---|---|---|---|---|---|"
    )
    ratios = []
    for name in names:
        (expected, rival), ways = theirs[name][0], mine[name]
        errors = ", ".join(f"{_error(grads, expected):.0e}" for grads, _ in ways)
        times = [us for _, us in ways]
        ratios.append([us / rival for us in times])
        row = [*times, rival]
        print(f"| {name.replace('_', ' ')} | {errors} |", *(f"{us:.0f} |" for us in row),
              *(f"{r:.2f} |" for r in ratios[-1]))  # fmt: skip
    means = np.exp(np.mean(np.log(ratios), axis=0))
    print(f"| geometric mean | | | | | {means[0]:.2f} | {means[1]:.2f} |")


if __name__ == "__main__":
    main()
