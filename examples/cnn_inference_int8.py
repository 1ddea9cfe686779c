# SPDX-License-Identifier: Apache-2.0
"""AlexNet's third convolution with ReLU in int8: quantize, convolve, dequantize.

Counterpart of oneDNN's cnn_inference_int8.
"""

import numpy as np
from _example import RELU, Example, desc, post_ops, run
from _numpy_layers import convolve

from sycl_dnn import onednn as dnnl

SRC, WEIGHTS, DST = (8, 256, 13, 13), (384, 256, 3, 3), (8, 384, 13, 13)
SCALES = {"src": 0.02, "weights": 0.002, "dst": 0.08}


def make_convolution(example: Example) -> dnnl.PrimitiveDesc:
    """Return the convolution of u8 images with s8 weights and ReLU; results are u8."""
    attr = post_ops(RELU)
    for name in SCALES:
        attr.set_scales_mask(name, 0)
    return dnnl.convolution_forward(
        example.engine,
        prop_kind=dnnl.prop_kind.forward_inference,
        algorithm=dnnl.algorithm.convolution_direct,
        src=desc(SRC, dtype="u8"),
        weights=desc(WEIGHTS, dtype="s8"),
        bias=desc(DST[1:2]),
        dst=desc(DST, dtype="u8"),
        strides=(1, 1),
        padding_l=(1, 1),
        padding_r=(1, 1),
        attr=attr,
    )


def scaled(example: Example, memory, layout, side: str, scale) -> dnnl.Memory:
    """Return ``memory`` in ``layout``, divided (side "dst") or multiplied ("src") by a scale."""
    attr = dnnl.PrimitiveAttr()
    attr.set_scales_mask(side, 0)
    return example.reordered(memory, layout, attr, **{f"attr_scales_{side}": scale})


def main(example: Example) -> None:
    """Compare with the same integers in NumPy, and with the layer in float."""
    src = np.abs(example.normal(*SRC))
    weights = example.normal(*WEIGHTS) * np.float32(0.05)
    bias = example.normal(DST[1])
    scales = {name: example.memory([scale]) for name, scale in SCALES.items()}
    pd = make_convolution(example)
    images = scaled(example, example.memory(src, "nhwc"), pd.src_desc, "dst", scales["src"])
    packed = scaled(example, example.memory(weights), pd.weights_desc, "dst", scales["weights"])
    actual = example.run(
        pd,
        src=images,
        weights=packed,
        bias=example.memory(bias),
        **{f"attr_scales_{name}": scale for name, scale in scales.items()},
    )
    result = scaled(example, actual["dst"], desc(DST, "nhwc"), "src", scales["dst"])

    exact_src = np.rint(src / SCALES["src"]) * SCALES["src"]
    exact_weights = np.rint(weights / SCALES["weights"])[None] * SCALES["weights"]
    expected = np.maximum(convolve(exact_src, exact_weights, bias, 1, 1), 0) / SCALES["dst"]
    example.compare_integers("int8", actual["dst"], np.clip(np.rint(expected), 0, 255))
    in_float = np.maximum(convolve(src, weights[None], bias, 1, 1), 0)
    example.compare("dequantized", result, in_float, 0.05)


if __name__ == "__main__":
    run(main, __doc__)
