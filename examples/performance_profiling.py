# SPDX-License-Identifier: Apache-2.0
"""Three ways to compute a convolution with ReLU: plain layouts, oneDNN's layouts, and fused.

Counterpart of oneDNN's performance_profiling. With ONEDNN_VERBOSE=profile_exec in the
environment oneDNN prints each primitive with its time.
"""

import time

import numpy as np
from _example import RELU, Example, desc, post_ops, run
from _numpy_layers import convolve

from sycl_dnn import onednn as dnnl

WEIGHTS, STRIDE = (96, 3, 11, 11), 4


def convolution(example: Example, tag: str, attr=None) -> dnnl.PrimitiveDesc:
    """Return the convolution with all tensors in the layout ``tag``."""
    batch, size = example.options.batch, example.options.size
    n_out = (size - WEIGHTS[-1]) // STRIDE + 1
    return dnnl.convolution_forward(
        example.engine,
        prop_kind=dnnl.prop_kind.forward_inference,
        algorithm=dnnl.algorithm.convolution_direct,
        src=desc((batch, WEIGHTS[1], size, size), tag),
        weights=desc(WEIGHTS, tag),
        dst=desc((batch, WEIGHTS[0], n_out, n_out), tag),
        strides=(STRIDE, STRIDE),
        padding_l=(0, 0),
        padding_r=(0, 0),
        attr=attr,
    )


def rectify(example: Example, memory: dnnl.Memory) -> dnnl.Memory:
    """Run ReLU in place, in the layout of the tensor."""
    pd = dnnl.eltwise_forward(
        example.engine,
        prop_kind=dnnl.prop_kind.forward_inference,
        algorithm=dnnl.algorithm.eltwise_relu,
        src=memory.desc,
        dst=memory.desc,
    )
    return example.run(pd, src=memory, dst=memory)["dst"]


def naive(example: Example, **tensors: dnnl.Memory) -> dnnl.Memory:
    """Convolve in the user's layouts, which rules out the fast implementations."""
    return rectify(example, example.run(convolution(example, "abcd"), **tensors)["dst"])


def blocked(example: Example, **tensors: dnnl.Memory) -> dnnl.Memory:
    """Let oneDNN choose the layouts; `Example.run` reorders tensors in other layouts."""
    return rectify(example, example.run(convolution(example, "any"), **tensors)["dst"])


def fused(example: Example, **tensors: dnnl.Memory) -> dnnl.Memory:
    """Let the convolution apply ReLU to its results in registers."""
    pd = convolution(example, "any", post_ops(RELU))
    return example.run(pd, **tensors)["dst"]


def main(example: Example) -> None:
    """Time the three; the first run of each, which creates the primitives, does not count."""
    batch, size = example.options.batch, example.options.size
    src, weights = example.normal(batch, WEIGHTS[1], size, size), example.normal(*WEIGHTS)
    tensors = {"src": example.memory(src), "weights": example.memory(weights)}
    expected = np.maximum(convolve(src, weights[None], np.zeros(len(weights)), STRIDE, 0), 0)
    for way in (naive, blocked, fused):
        print(f"- {way.__name__}")
        example.compare(way.__name__, way(example, **tensors), expected)
        example.queue.wait()
        started = time.perf_counter()
        way(example, **tensors)
        example.queue.wait()
        print(f"{way.__name__}: {1e3 * (time.perf_counter() - started):.1f} ms")


if __name__ == "__main__":
    run(main, __doc__, batch=(1, "images"), size=(67, "rows and columns of an image"))
