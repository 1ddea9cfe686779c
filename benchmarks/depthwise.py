# SPDX-License-Identifier: Apache-2.0
"""A 1x1 convolution with the following depthwise one as a post-op, against two primitives.

Both variants are bound programs over channels-last images. Blocks of calls alternate in one
process, and the shortest time of a block counts. Post-ops and packed weights are those of
``compile``.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

import sycl_dnn
from sycl_dnn import onednn as dnnl
from sycl_dnn.errors import DnnlError

#: Channels in and in between, side of the image, stride: blocks of MobileNetV3, EfficientNet-B0.
SHAPES = (
    (16, 64, 112, 2), (16, 96, 112, 2), (24, 144, 56, 1), (40, 240, 28, 2), (80, 480, 14, 1),
    (112, 672, 14, 1), (64, 64, 112, 1),
)  # fmt: skip
TYPES = {"f32": dnnl.data_type.f32, "bf16": dnnl.data_type.bf16}


class Chain:
    """A sequence of primitives over their own memories."""

    def __init__(self, queue: Any) -> None:
        self.engine = dnnl.Engine(queue)
        self.stream = dnnl.Stream(self.engine, queue)
        self.calls: list[tuple[Any, dict[str, Any]]] = []
        self.names: list[str] = []

    def add(self, pd: Any, src: Any, rng: np.random.Generator) -> Any:
        """Append a primitive, fill its other arguments with numbers, and return its result."""
        primitive = dnnl.Primitive(pd)
        result = {"src": src, "dst": dnnl.Memory(pd.dst_desc, self.engine)}
        for name, slot in primitive.arguments.items():
            if name not in (*result, "scratchpad"):
                result[name] = self.filled(slot["desc"], rng)
        self.calls.append((primitive, result))
        self.names.append(pd.impl_info)
        return result["dst"]

    def filled(self, wanted: Any, rng: np.random.Generator) -> Any:
        """Return a memory of small random numbers."""
        plain = dnnl.MemoryDesc(wanted.dims, dnnl.data_type.f32, "abcde"[: wanted.ndims])
        values = rng.standard_normal(wanted.dims).astype("f4") / 4
        given = dnnl.Memory.from_array(_on(self.engine, values), self.engine)
        result = dnnl.Memory(wanted, self.engine)
        pd = dnnl.reorder(self.engine, src=plain, dst=wanted)
        dnnl.Primitive(pd).execute(self.stream, {"src": given, "dst": result}).wait()
        return result

    def __call__(self, n: int) -> float:
        """Return the seconds of one run, averaged over ``n`` consecutive ones."""
        start = time.perf_counter()
        for _ in range(n):
            for primitive, args in self.calls:
                primitive.execute(self.stream, args)
        self.stream.wait()
        return (time.perf_counter() - start) / n


def _on(engine: Any, values: np.ndarray) -> Any:
    import dpnp

    return dpnp.asarray(values, sycl_queue=engine.sycl_queue)


def _attr(*steps: tuple[Any, ...]) -> Any:
    post_ops = dnnl.PostOps()
    for name, *args in steps:
        getattr(post_ops, name)(*args)
    attr = dnnl.PrimitiveAttr()
    attr.set_post_ops(post_ops)
    return attr


def _conv(engine: Any, src: Any, weights: Any, dst: Any, attr: Any, pad: int, stride: int) -> Any:
    return dnnl.convolution_forward(
        engine, prop_kind=dnnl.prop_kind.forward_inference,
        algorithm=dnnl.algorithm.convolution_direct, src=src, weights=weights,
        bias=dnnl.MemoryDesc((dst.dims[1],), dnnl.data_type.f32, "a"), dst=dst,
        strides=(stride, stride), padding_l=(pad, pad), padding_r=(pad, pad), attr=attr,
    )  # fmt: skip


def chains(queue: Any, batch: int, shape: tuple[int, ...], dtype: str) -> tuple[Chain, Chain]:
    """Return the block as two primitives and as one."""
    inputs, inner, size, stride = shape
    relu = ("append_eltwise", dnnl.algorithm.eltwise_relu, 0.0, 0.0)
    kind = TYPES[dtype]

    def image(channels: int, side: int) -> Any:
        return dnnl.MemoryDesc((batch, channels, side, side), kind, "nhwc")

    after = (size + 2 - 3) // stride + 1
    src, middle, dst = image(inputs, size), image(inner, size), image(inner, after)
    point = dnnl.MemoryDesc((inner, inputs, 1, 1), kind, "any")
    depth = dnnl.MemoryDesc((inner, 1, 1, 3, 3), kind, "any")
    two, one = Chain(queue), Chain(queue)
    rng = np.random.default_rng(0)
    given = two.filled(src, rng)
    value = two.add(_conv(two.engine, src, point, middle, _attr(relu), 0, 1), given, rng)
    two.add(_conv(two.engine, middle, depth, dst, _attr(relu), 1, stride), value, rng)
    fused = ("append_dw", kind, dnnl.data_type.f32, kind, 3, stride, 1)
    attr = _attr(relu, fused, relu)
    pd = _conv(one.engine, src, point, middle, attr, 0, 1)
    one.add(pd, given, np.random.default_rng(0))
    return two, one


def main() -> None:
    """Measure and print a row for each shape."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 16])
    options = parser.parse_args()
    queue = sycl_dnn.default_queue("cpu")
    print("| block | two, ms | one, ms | one / two | runs as |\n|---|---|---|---|---|")
    for batch in options.batch:
        for dtype in TYPES:
            for shape in SHAPES:
                inputs, inner, size, stride = shape
                text = f"{dtype} {batch}x{inputs}x{size}x{size} to {inner}, stride {stride}"
                try:
                    two, one = chains(queue, batch, shape, dtype)
                except DnnlError as refusal:
                    print(f"| {text} | | | refused | {str(refusal).splitlines()[0]} |")
                    continue
                n = max(1, int(2e-2 / max(two(3), 1e-5)))
                best = [1e9, 1e9]
                for _ in range(options.rounds):
                    best = [min(b, chain(n)) for b, chain in zip(best, (two, one), strict=True)]
                a, b = (1e3 * t for t in best)
                names = f"{' + '.join(two.names)} / {one.names[0]}"
                print(f"| {text} | {a:.3f} | {b:.3f} | {b / a:.2f} | {names} |", flush=True)


if __name__ == "__main__":
    main()
