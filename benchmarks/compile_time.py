# SPDX-License-Identifier: Apache-2.0
"""How long ``sycl_dnn.compile`` takes, and how that grows with the number of layers.

    python benchmarks/compile_time.py                   # every workload, at two sizes each
    python benchmarks/compile_time.py gpt --sizes 6 12 --profile

Each measurement is a separate process, since oneDNN caches what it compiled. It prints the
CPU time of the first call of a compiled function, that of the first call with another shape, and
the cost of each step of the program.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import pstats
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dpnp
import numpy as np

import sycl_dnn
from sycl_dnn import functional as F

sys.path.append(str(Path(__file__).resolve().parents[1] / "examples"))

import _resnet50  # noqa: E402
from models import bert, mobilenet  # noqa: E402

Workload = tuple[Callable[..., Any], Callable[[int], tuple[Any, ...]]]


def array(*shape: int) -> dpnp.ndarray:
    """Return small random numbers in float32."""
    values = np.random.default_rng(len(shape)).standard_normal(shape, np.float32)
    return dpnp.asarray(values * 0.05, sycl_queue=sycl_dnn.default_queue())


def adamw(p: Any, g: Any, m: Any, v: Any, rate: Any, decay: float = 0.01) -> tuple[Any, Any, Any]:
    """Return a parameter and its moments after one step."""
    m = m * 0.9 + g * 0.1
    v = v * 0.999 + g * g * 0.001
    return p * (1.0 - 1e-3 * decay) - rate * m / (F.sqrt(v) + 1e-8), m, v


def updated(parameters: Any, grads: Any, moments: Any, rate: Any) -> list[Any]:
    """Return all parameters and moments after a step of AdamW."""
    return [
        adamw(p, g, m, v, rate) for p, g, (m, v) in zip(parameters, grads, moments, strict=True)
    ]


# --- a decoder -----------------------------------------------------------------------------------

WIDTH, HEADS, VOCABULARY = 64, 4, 96


def decoder_shapes(layers: int) -> list[tuple[int, ...]]:
    """Return the shapes of a decoder's parameters: each layer's, a norm, the logits."""
    w = WIDTH
    dense = [(3 * w, w), (3 * w,), (w, w), (w,), (4 * w, w), (4 * w,), (w, 4 * w), (w,)]
    return [*(4 * [(w,)] + dense) * layers, (w,), (w,), (VOCABULARY, w)]


def decoder_loss(parameters: list[Any], x: Any, labels: Any) -> Any:
    """Return the cross-entropy of a GPT-like decoder with a norm before each part."""
    batch, length, width = x.shape
    p = iter(parameters)
    for _ in range((len(parameters) - 3) // 12):
        g1, b1, g2, b2, wa, ba, wp, bp, wf, bf, wm, bm = (next(p) for _ in range(12))
        parts = F.split(F.linear(F.layer_norm(x, (width,), g1, b1), wa, ba), width, 2)
        shape = (batch, length, HEADS, width // HEADS)
        q, k, v = (F.transpose(F.reshape(t, shape), 1, 2) for t in parts)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + F.linear(F.reshape(F.transpose(y, 1, 2), x.shape), wp, bp)
        y = F.gelu(F.linear(F.layer_norm(x, (width,), g2, b2), wf, bf), approximate="tanh")
        x = x + F.linear(y, wm, bm)
    x = F.layer_norm(x, (width,), next(p), next(p))
    return F.cross_entropy(F.reshape(F.linear(x, next(p)), (batch * length, VOCABULARY)), labels)


def decoder_step(parameters: Any, moments: Any, x: Any, labels: Any, one: Any, rate: Any) -> Any:
    """Return the loss, and parameters and moments after one step."""
    value, pullback = sycl_dnn.vjp(decoder_loss, parameters, x, labels)
    return value, updated(parameters, pullback(one)[0], moments, rate)


def decoder_arguments(layers: int, batch: int = 2) -> tuple[Any, ...]:
    """Return the arguments of ``decoder_step``."""
    queue, length = sycl_dnn.default_queue(), 16
    parameters = [array(*s) for s in decoder_shapes(layers)]
    moments = [(p * 0, p * 0) for p in parameters]
    labels = dpnp.asarray(np.arange(batch * length) % VOCABULARY, sycl_queue=queue)
    one = dpnp.ones((), dtype="f4", sycl_queue=queue)
    return parameters, moments, array(batch, length, WIDTH), labels, one, one * 1e-3


# --- others --------------------------------------------------------------------------------------


def dense_loss(weights: list[Any], x: Any) -> Any:
    """Return the mean square of a chain of products."""
    for w in weights:
        x = F.relu(F.linear(x, w))
    return F.mean(F.square(x))


def dense_step(weights: Any, moments: Any, x: Any, one: Any, rate: Any) -> Any:
    """Return the loss, and weights and moments after one step."""
    value, pullback = sycl_dnn.vjp(dense_loss, weights, x)
    return value, updated(weights, pullback(one)[0], moments, rate)


def dense_arguments(layers: int, batch: int = 8) -> tuple[Any, ...]:
    """Return the arguments of ``dense_step``."""
    weights = [array(16, 16) for _ in range(layers)]
    one = dpnp.ones((), dtype="f4", sycl_queue=weights[0].sycl_queue)
    return weights, [(w * 0, w * 0) for w in weights], array(batch, 16), one, one * 1e-3


def adam_arguments(layers: int, batch: int = 8) -> tuple[Any, ...]:
    """Return parameters, gradients, moments and a rate."""
    weights = [array(16, batch) for _ in range(layers)]
    one = dpnp.ones((), dtype="f4", sycl_queue=weights[0].sycl_queue)
    return weights, [w * 2 for w in weights], [(w * 0, w * 0) for w in weights], one * 1e-3


def images(layers: list[Any], x: Any) -> Any:
    """Return the result of residual blocks of convolution, batch norm and ReLU."""
    for w, v, (scale, shift, mean, variance) in layers:
        y = F.conv2d(x, w, padding=1)
        y = F.relu(F.batch_norm(y, mean, variance, scale, shift))
        x = F.relu(x + F.conv2d(F.hardswish(y), v, padding=1))
    return F.mean(x, (2, 3))


def image_arguments(layers: int, batch: int = 2) -> tuple[Any, ...]:
    """Return the arguments of ``images``: (16, 16, 3, 3) weights, images (N, 16, 14, 14)."""
    n = 16
    result = [
        (array(n, n, 3, 3), array(n, n, 3, 3), (array(n), array(n), array(n), dpnp.abs(array(n))))
        for _ in range(layers)
    ]
    return result, array(batch, n, 14, 14)


def on_device(parameters: dict[str, np.ndarray]) -> dict[str, Any]:
    """Return copies of parameters."""
    queue = sycl_dnn.default_queue()
    return {name: dpnp.asarray(v, sycl_queue=queue) for name, v in parameters.items()}


def residual_network(parameters: dict[str, Any], x: Any) -> Any:
    """Return the logits of ResNet-50."""
    network = object.__new__(_resnet50.ResNet50)
    network.parameters = parameters
    return network(x)


def residual_arguments(layers: int, batch: int = 2) -> tuple[Any, ...]:
    """Return the parameters of ResNet-50, and images (N, 3, 64, 64); ``layers`` is 50."""
    return on_device(_resnet50.random_parameters(0)), array(batch, 3, 64, 64)


def encoder(parameters: dict[str, Any], x: Any) -> Any:
    """Return the result of BERT's layers for (N, L, 64)."""
    config = bert.Config(layers=len(parameters) // 16, width=64, heads=4, inner=128)
    return bert.forward(parameters, config, x)


def encoder_arguments(layers: int, batch: int = 2) -> tuple[Any, ...]:
    """Return the parameters of an encoder, and sequences of length ``8 * batch``."""
    config = bert.Config(layers=layers, width=64, heads=4, inner=128)
    return on_device(bert.random_parameters(config)), array(1, 8 * batch, 64)


def reader_blocks(layers: int) -> tuple[mobilenet.Block, ...]:
    """Return inverted residuals of five widths; half of them have gates."""
    widths = (16, 24, 40, 80, 112)
    return tuple(
        mobilenet.Block(3 if i % 2 else 5, 4 * w + 8 * i, w, i % 2 == 0, "hardswish", 1 + (i == 0))
        for w in widths
        for i in range(layers // 5)
    )


def reader(parameters: dict[str, Any], x: Any) -> Any:
    """Return the probabilities of characters along a line of text: (N, columns, 1000)."""
    n = sum(name.endswith("project.weight") for name in parameters)
    x = F.hardswish(mobilenet._normed(parameters, "first", x, stride=2, padding=1))
    for i, block in enumerate(reader_blocks(n)):
        x = mobilenet.residual(parameters, f"{i}.", x, block)
    x = F.hardswish(mobilenet._normed(parameters, "last", x))
    x = F.transpose(F.mean(x, 2), 1, 2)
    y = F.linear(x, parameters["hidden.weight"], parameters["hidden.bias"])
    return F.softmax(F.linear(y, parameters["classes.weight"], parameters["classes.bias"]), -1)


def reader_arguments(layers: int, batch: int = 2) -> tuple[Any, ...]:
    """Return the parameters of a reader, and a line of text ``160 * batch`` pixels wide."""
    parameters = on_device(mobilenet.random_parameters(0, reader_blocks(layers)))
    return parameters, array(1, 3, 64, 160 * batch)


#: By name: the function, its arguments by number of layers, constants, sizes to measure.
WORKLOADS: dict[str, tuple[Any, Any, tuple[str, ...], tuple[int, ...]]] = {
    "gpt": (decoder_step, decoder_arguments, (), (6, 12)),
    "dense": (dense_step, dense_arguments, (), (64, 128)),
    "adam": (updated, adam_arguments, (), (64, 128)),
    "images": (images, image_arguments, ("layers",), (16, 32)),
    "resnet": (residual_network, residual_arguments, ("parameters",), (50,)),
    "bert": (encoder, encoder_arguments, ("parameters",), (6, 12)),
    "reader": (reader, reader_arguments, ("parameters",), (20, 40)),
}


def compiled(name: str) -> Any:
    """Return the compiled function of a workload."""
    function, _, constants, _ = WORKLOADS[name]
    return sycl_dnn.compile(function, constants=constants)


def measured(name: str, layers: int, with_profile: bool) -> dict[str, float]:
    """Compile a workload, then for another shape; return seconds of CPU time and the steps."""
    arguments = WORKLOADS[name][1]
    function = compiled(name)
    # The cost of imports and of the first call of any function is excluded.
    sycl_dnn.compile(F.relu)(array(4, 4))
    found: dict[str, float] = {}
    profile, args = cProfile.Profile(), ()
    for what, batch in (("first", 2), ("shape", 3)):
        # The constants are those of the first call, so the function is known.
        kept = args[: len(WORKLOADS[name][2])]
        args = (*kept, *arguments(layers, batch)[len(kept) :])
        sycl_dnn.synchronize()
        start, clock = time.process_time(), time.perf_counter()
        if with_profile and what == "first":
            profile.enable()
        plan = function._program(args, {})
        profile.disable()
        found[what] = time.process_time() - start
        found[f"{what} wall"] = time.perf_counter() - clock
    found["steps"] = len(plan.graph.nodes)
    if with_profile:
        for order in ("cumulative", "tottime"):
            pstats.Stats(profile).strip_dirs().sort_stats(order).print_stats(45)
    return found


def main() -> None:
    """Measure each workload at its sizes in separate processes, and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("workloads", nargs="*", default=list(WORKLOADS))
    parser.add_argument("--sizes", nargs="*", type=int)
    parser.add_argument("--profile", action="store_true", help="print where the time goes")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one or options.profile:
        for name in options.workloads:
            for layers in options.sizes or WORKLOADS[name][3][:1]:
                print(json.dumps(measured(name, layers, options.profile)))
        return
    print(
        "workload  layers  steps  first CPU s (wall)  new shape CPU s  ratio  per step ms  growth"
    )
    for name in options.workloads:
        before = 0.0
        for layers in options.sizes or WORKLOADS[name][3]:
            command = [sys.executable, __file__, name, "--one", "--sizes", str(layers)]
            text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            found = json.loads(text.splitlines()[-1])
            growth = f"{found['first'] / before:.2f}" if before else ""
            before = found["first"]
            print(
                f"{name:9} {layers:6} {found['steps']:6} {found['first']:12.2f} "
                f"({found['first wall']:5.2f}) {found['shape']:14.2f} "
                f"{found['shape'] / found['first']:8.2f} "
                f"{1e3 * found['first'] / found['steps']:11.2f}  {growth:>6}",
                flush=True,
            )


if __name__ == "__main__":
    main()
