# SPDX-License-Identifier: Apache-2.0
"""Local response normalization across channels.

Counterpart of oneDNN's primitives/lrn.
"""

from _primitive_example import Example, desc, normalize_response, run

from sycl_dnn import onednn as dnnl

SHAPE, SIZE, ALPHA, BETA, K = (3, 3, 227, 227), 5, 1e-4, 0.75, 1.0


def main(example: Example) -> None:
    """Divide by a power of the mean square of the channels next to each."""
    src = example.normal(*SHAPE)
    pd = dnnl.lrn_forward(
        example.engine,
        prop_kind=dnnl.prop_kind.forward_training,
        algorithm=dnnl.algorithm.lrn_across_channels,
        src=desc(SHAPE, "nhwc"),
        dst=desc(SHAPE, "nhwc"),
        local_size=SIZE,
        alpha=ALPHA,
        beta=BETA,
        k=K,
    )
    actual = example.run(pd, src=example.memory(src, "nhwc"))
    example.compare("dst", actual["dst"], normalize_response(src, SIZE, ALPHA, BETA, K))


if __name__ == "__main__":
    run(main, __doc__)
