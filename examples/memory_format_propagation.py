# SPDX-License-Identifier: Apache-2.0
"""Let oneDNN choose the layouts: convolution with ``any``, then ReLU and pooling in that layout.

Shows the layouts and implementations of a chain of primitives, with reorders only between the
user's plain layout and the chosen one.
"""

from __future__ import annotations

import dpnp
import numpy as np
from _common import finish, make_parser, start

from sycl_dnn import onednn as dnnl

INFERENCE = dnnl.prop_kind.forward_inference


def tensor(dims, tag="any"):
    """Describe a tensor; with ``any`` the primitive chooses its layout."""
    return dnnl.MemoryDesc(dims, dnnl.data_type.f32, tag)


def describe_chain(engine):
    """Return the descriptors of convolution, ReLU and 2x2 average pooling on (8, 16, 32, 32)."""
    convolution = dnnl.convolution_forward(
        engine,
        prop_kind=INFERENCE,
        algorithm=dnnl.algorithm.convolution_direct,
        src=tensor((8, 16, 32, 32)),
        weights=tensor((64, 16, 3, 3)),
        dst=tensor((8, 64, 32, 32)),
        strides=(1, 1),
        padding_l=(1, 1),
        padding_r=(1, 1),
    )
    chosen = convolution.dst_desc
    relu_kind = dnnl.algorithm.eltwise_relu
    relu = dnnl.eltwise_forward(
        engine, prop_kind=INFERENCE, algorithm=relu_kind, src=chosen, dst=chosen
    )
    pooling = dnnl.pooling_forward(
        engine,
        prop_kind=INFERENCE,
        algorithm=dnnl.algorithm.pooling_avg_include_padding,
        src=chosen,
        dst=tensor((8, 64, 16, 16)),
        strides=(2, 2),
        kernel=(2, 2),
        padding_l=(0, 0),
        padding_r=(0, 0),
    )
    return convolution, relu, pooling


def reordered(stream, name, memory, desc):
    """Return ``memory`` in the layout of ``desc``: itself if it has that, else a reordered copy."""
    if memory.desc == desc:
        print(f"{name:<8} {desc}: no reorder")
        return memory
    print(f"{name:<8} {memory.desc} -> {desc}")
    copy = dnnl.Memory(desc, stream.engine)
    pd = dnnl.reorder(stream.engine, src=memory.desc, dst=desc)
    dnnl.Primitive(pd).execute(stream, {"src": memory, "dst": copy})
    return copy


def run_chain(stream, src, weights, plain_dst):
    """Submit the chain between the user's plain tensors; return the plain result."""
    convolution, relu, pooling = describe_chain(stream.engine)
    for pd in (convolution, relu, pooling):
        print(f"{pd.name:<20} {pd.impl_info:<24} {pd.src_desc} -> {pd.dst_desc}")
    src = reordered(stream, "src", src, convolution.src_desc)
    weights = reordered(stream, "weights", weights, convolution.weights_desc)
    between = dnnl.Memory(convolution.dst_desc, stream.engine)
    pooled = dnnl.Memory(pooling.dst_desc, stream.engine)
    steps = [
        (convolution, {"src": src, "weights": weights, "dst": between}),
        (relu, {"src": between, "dst": between}),
        (pooling, {"src": between, "dst": pooled}),
    ]
    for pd, arguments in steps:
        dnnl.Primitive(pd).execute(stream, arguments)
    return reordered(stream, "dst", pooled, plain_dst)


def expect(src, weights):
    """Compute the chain in float64 with NumPy."""
    padded = np.pad(src.astype("f8"), ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    activations = np.maximum(np.einsum("nchwij,ocij->nohw", windows, weights, optimize=True), 0)
    return activations.reshape(8, 64, 16, 2, 16, 2).mean(axis=(3, 5))


def main() -> None:
    """Run the chain on row-major NCHW tensors and compare with NumPy."""
    options, queue = start(make_parser(__doc__))
    engine = dnnl.Engine(queue)
    random = np.random.default_rng(0)
    values = [random.normal(size=s).astype("f4") for s in ((8, 16, 32, 32), (64, 16, 3, 3))]
    plain = [dnnl.Memory.from_array(dpnp.asarray(v, sycl_queue=queue), engine) for v in values]
    stream = dnnl.Stream(engine, queue, ordered=True)
    src, weights = plain
    result = run_chain(stream, src, weights, plain_dst=tensor((8, 64, 16, 16), "nchw")).to_array()
    if not options.no_check:
        np.testing.assert_allclose(result.asnumpy(), expect(*values), rtol=1e-4, atol=1e-4)
    finish(options, "memory_format_propagation")


if __name__ == "__main__":
    main()
