# SPDX-License-Identifier: Apache-2.0
"""Every single operation of the Graph API as data: tensors, attributes, values."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

NORMAL, POSITIVE, UNIT, AWAY, BYTES, SIGNED, NIBBLES, TRUTH = (
    "normal", "positive", "unit", "away", "bytes", "signed", "nibbles", "truth"
)  # fmt: skip
_FILL = {
    NORMAL: lambda rng, shape: rng.standard_normal(shape),
    POSITIVE: lambda rng, shape: rng.uniform(0.5, 2.0, shape),
    UNIT: lambda rng, shape: rng.uniform(0.1, 0.9, shape),
    # No values near 0, where slopes jump.
    AWAY: lambda rng, shape: rng.uniform(0.2, 1.5, shape) * rng.choice([-1, 1], shape),
    BYTES: lambda rng, shape: rng.integers(0, 256, shape),
    SIGNED: lambda rng, shape: rng.integers(-128, 128, shape),
    NIBBLES: lambda rng, shape: rng.integers(-8, 8, shape),
    TRUTH: lambda rng, shape: rng.integers(0, 2, shape),
}
_OF_TYPE = {"u8": BYTES, "s8": SIGNED, "s4": NIBBLES, "boolean": TRUTH, "s32": SIGNED}


@dataclass(frozen=True)
class T:
    """A tensor: shape, kind of values, and data type if it is not the case's.

    ``fill`` may also be a function of the previous arrays.
    """

    shape: tuple
    fill: Any = NORMAL
    dtype: str | None = None

    def values(self, rng, before):
        if callable(self.fill):
            return np.asarray(self.fill(before))
        kind = _OF_TYPE.get(self.dtype, NORMAL) if self.fill == NORMAL else self.fill
        return _FILL[kind](rng, self.shape)


@dataclass(frozen=True)
class Case:
    """One operation. ``dtypes`` are all values of "the case's type"."""

    op: str
    tensors: dict
    attrs: dict = field(default_factory=dict)
    dtypes: tuple = ("f32", "bf16", "f16")
    note: str = ""
    #: Runs as something other than a partition.
    instead: bool = False
    #: oneDNN refuses it on the simulated GPU.
    refused_on_gpu: bool = False
    tolerance: float = 1.0

    def __str__(self):
        return f"{self.op}{'-' + self.note if self.note else ''}"

    def arrays(self, dtype):
        """The values of the tensors, in float64 but representable in their types."""
        rng = np.random.default_rng(abs(hash_of(str(self))))
        result = {}
        for name, tensor in self.tensors.items():
            several = tensor if isinstance(tensor, list) else [tensor]
            kinds = [t.dtype or dtype for t in several]
            values = [
                rounded(t.values(rng, result), kind) for t, kind in zip(several, kinds, strict=True)
            ]
            result[name] = values if isinstance(tensor, list) else values[0]
        return result


def hash_of(text):
    """A hash that is the same in each process."""
    return sum((i + 1) * ord(c) for i, c in enumerate(text))


def rounded(values, dtype):
    """Values rounded to the data type, in float64."""
    x = np.asarray(values)
    if dtype == "bf16":
        bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
        bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
        return bits.astype(np.uint32).view(np.float32).astype(np.float64).reshape(x.shape)
    if dtype in ("f16", "f32"):
        return x.astype({"f16": np.float16, "f32": np.float32}[dtype]).astype(np.float64)
    return x.astype(np.float64)


X = (2, 3, 4, 5)
S1 = {"strides": (1, 1), "pads_begin": (0, 0), "pads_end": (0, 0)}
S2 = {"strides": (2, 1), "pads_begin": (1, 0), "pads_end": (1, 2)}
DENSE, WIDE = {"dilations": (1, 1)}, {"dilations": (2, 1)}
OIX = {"data_format": "NCX", "weights_format": "OIX"}
IOX = {"data_format": "NCX", "weights_format": "IOX"}
NCX = {"data_format": "NCX"}


def _unary(op, fill=NORMAL, note="", **attrs):
    return Case(op, {"src": T(X, fill)}, attrs, note=note)


def _back(op, fill=AWAY, note="", **attrs):
    return Case(op, {"src": T(X, fill), "diff_dst": T(X)}, attrs, note=note)


def _back_dst(op, fill=UNIT, **attrs):
    tensors = {"src_or_dst": T(X, fill), "diff_dst": T(X)}
    return [
        Case(op, tensors, {**attrs, "use_dst": True}, note="dst"),
        Case(op, {**tensors, "src_or_dst": T(X, AWAY if op != "sqrt_backward" else POSITIVE)},
             {**attrs, "use_dst": False}, note="src"),
    ]  # fmt: skip


def _two(op, fill=NORMAL):
    return [
        Case(op, {"src_0": T(X), "src_1": T(X, fill)}),
        Case(op, {"src_0": T(X), "src_1": T((3, 1, 5), fill)}, note="broadcast"),
    ]


ELTWISE = [
    _unary("abs"), _unary("exp"), _unary("hard_swish"), _unary("log", POSITIVE), _unary("mish"),
    _unary("relu"), Case("round", {"src": T(X)}, dtypes=("f32",)), _unary("sigmoid"),
    _unary("sqrt", POSITIVE), _unary("square"), _unary("tanh"), _unary("reorder"),
    _unary("clamp", min=-0.5, max=0.8), _unary("elu", alpha=0.7), _unary("leaky_relu", alpha=0.1),
    _unary("gelu", mode="gelu_erf"), _unary("gelu", note="tanh", mode="gelu_tanh"),
    _unary("hard_sigmoid", alpha=0.3, beta=0.4), _unary("softplus", beta=2.0),
    Case("pow", {"src": T(X, POSITIVE)}, {"beta": -1.5}, instead=True),
    Case("reciprocal", {"src": T(X, POSITIVE)}, instead=True),
    _back("abs_backward"), _back("hard_swish_backward"), _back("mish_backward"),
    _back("gelu_backward", mode="gelu_erf"), _back("gelu_backward", note="tanh", mode="gelu_tanh"),
    _back("hard_sigmoid_backward", alpha=0.3, beta=0.4), _back("softplus_backward", beta=2.0),
    *_back_dst("relu_backward"), *_back_dst("sigmoid_backward"), *_back_dst("sqrt_backward"),
    *_back_dst("tanh_backward"), *_back_dst("elu_backward", alpha=0.7),
    *_back_dst("clamp_backward", min=-0.5, max=0.8),
]  # fmt: skip
BINARY = [
    *_two("add"), *_two("subtract"), *_two("multiply"), *_two("divide", POSITIVE),
    *_two("maximum"), *_two("minimum"), *_two("squared_difference"),
    *_two("greater_equal"),
    Case("select", {"cond": T(X, TRUTH, "boolean"), "src_0": T(X), "src_1": T(X)}),
    Case("select", {"cond": T((2, 1, 4, 1), TRUTH, "boolean"), "src_0": T(X), "src_1": T((1,))},
         note="broadcast"),
    Case("bias_add", {"src": T(X), "bias": T((5,))}),
    Case("bias_add", {"src": T(X), "bias": T((3,))}, NCX, note="ncx"),
    Case("bias_add_backward", {"diff_dst": T(X)}, NCX, note="ncx", instead=True),
    Case("bias_add_backward", {"diff_dst": T(X)}, instead=True),
    Case("prelu", {"src": T(X), "slope": T((3,))}, NCX),
    Case("prelu", {"src": T(X), "slope": T((1,))}, {**NCX, "per_channel_broadcast": False},
         note="one"),
    Case("prelu_backward", {"src": T(X, AWAY), "slope": T((3,)), "diff_dst": T(X)}, NCX),
]  # fmt: skip
MATMUL = [
    Case("matmul", {"src": T((4, 6)), "weights": T((6, 5))}),
    Case("matmul", {"src": T((4, 6)), "weights": T((5, 6)), "bias": T((5,))},
         {"transpose_b": True}, note="bias"),
    Case("matmul", {"src": T((2, 3, 6, 4)), "weights": T((3, 6, 5))}, {"transpose_a": True},
         note="batched"),
    Case("matmul", {"src": T((6,)), "weights": T((6, 5))}, note="vector"),
    Case("matmul", {"src": T((4, 6)), "weights": T((6, 5))}, {"dtype": "f32"}, ("bf16",),
         note="wide"),
]  # fmt: skip
CONV = [
    Case("convolution", {"src": T((2, 8, 7, 4)), "weights": T((3, 3, 4, 6))}, {**S1, **DENSE}),
    Case("convolution", {"src": T((2, 4, 8, 7)), "weights": T((6, 2, 3, 3)), "bias": T((6,))},
         {**S2, **WIDE, **OIX, "groups": 2}, note="groups"),
    Case("convolution", {"src": T((2, 4, 8, 7)), "weights": T((6, 4, 3, 3))},
         {**S2, **DENSE, **OIX, "auto_pad": "SAME_UPPER"}, note="same"),
    Case("convolution", {"src": T((2, 4, 9)), "weights": T((6, 4, 3))},
         {"strides": (2,), "pads_begin": (1,), "pads_end": (1,), "dilations": (1,), **OIX},
         note="1d"),
    Case("convolution_backward_data", {"diff_dst": T((2, 6, 6, 5)), "weights": T((6, 4, 3, 3))},
         {**S1, **DENSE, **OIX, "dst_shape": (2, 4, 8, 7)}),
    Case("convolution_backward_weights", {"src": T((2, 4, 8, 7)), "diff_dst": T((2, 6, 6, 5))},
         {**S1, **DENSE, **OIX, "weights_shape": (6, 4, 3, 3)}),
    Case("conv_transpose", {"src": T((2, 4, 5, 6)), "weights": T((4, 3, 3, 3))},
         {**S1, **DENSE, **IOX}),
    Case("conv_transpose", {"src": T((2, 5, 6, 4)), "weights": T((3, 3, 3, 4)), "bias": T((3,))},
         {"strides": (2, 2), "pads_begin": (1, 1), "pads_end": (0, 1), **DENSE}, note="nxc"),
    Case("conv_transpose_backward_data",
         {"diff_dst": T((2, 3, 7, 8)), "weights": T((4, 3, 3, 3))}, {**S1, **DENSE, **IOX}),
    Case("conv_transpose_backward_weights",
         {"src": T((2, 4, 5, 6)), "diff_dst": T((2, 3, 7, 8))},
         {**S1, **DENSE, **IOX, "weights_shape": (4, 3, 3, 3)}),
]  # fmt: skip
_POOL = {"strides": (2, 2), "pads_begin": (1, 0), "pads_end": (1, 1), "kernel": (3, 2)}
POOL = [
    Case("avg_pool", {"src": T((2, 8, 7, 3))}, {**_POOL, "exclude_pad": True}),
    Case("avg_pool", {"src": T((2, 3, 8, 7))}, {**_POOL, "exclude_pad": False, **NCX},
         note="include"),
    Case("max_pool", {"src": T((2, 3, 8, 7))}, {**_POOL, **NCX}),
    Case("max_pool", {"src": T((2, 3, 8, 7))},
         {**_POOL, **NCX, "rounding_type": "ceil", "dilations": (1, 1)}, note="ceil"),
    Case("avg_pool_backward", {"diff_dst": T((2, 3, 4, 4))},
         {**_POOL, **NCX, "exclude_pad": True, "src_shape": (2, 3, 8, 7)}),
    Case("max_pool_backward", {"src": T((2, 3, 8, 7)), "diff_dst": T((2, 3, 4, 4))},
         {**_POOL, **NCX}, dtypes=("f32",)),
    Case("interpolate", {"src": T((2, 3, 4, 5))}, {"mode": "linear", "sizes": (8, 7), **NCX}),
    Case("interpolate", {"src": T((2, 4, 5, 3))}, {"mode": "nearest", "scales": (2.0, 2.0)},
         note="nearest"),
    Case("interpolate", {"src": T((2, 3, 4, 5))},
         {"mode": "bilinear", "sizes": (8, 7), **NCX,
          "coordinate_transformation_mode": "align_corners"}, ("f32",), "corners", instead=True),
    Case("interpolate_backward", {"src": T((2, 3, 4, 5)), "diff_dst": T((2, 3, 8, 10))},
         {"mode": "linear", "sizes": (8, 10), **NCX}),
]  # fmt: skip


def _channels(a):
    return a["src"].mean((0, 2, 3)), a["src"].var((0, 2, 3))


_STATS = {"mean": T((3,), lambda a: _channels(a)[0], "f32"),
          "variance": T((3,), lambda a: _channels(a)[1], "f32")}  # fmt: skip
_AFFINE = {"gamma": T((3,), POSITIVE, "f32"), "beta": T((3,), NORMAL, "f32")}
_ROWS = {"mean": T((2, 3), lambda a: a["src"].mean(-1), "f32"),
         "variance": T((2, 3), lambda a: a["src"].var(-1), "f32")}  # fmt: skip
NORM = [
    Case("batch_norm_inference", {"src": T(X), **_AFFINE, "mean": T((3,), NORMAL, "f32"),
                                  "variance": T((3,), POSITIVE, "f32")},
         {"epsilon": 1e-3, **NCX}),
    Case("batch_norm_forward_training",
         {"src": T(X), "mean": T((3,), NORMAL, "f32"), "variance": T((3,), POSITIVE, "f32"),
          **_AFFINE}, {"epsilon": 1e-3, "momentum": 0.8, **NCX}),
    Case("batch_norm_backward",
         {"src": T(X), "diff_dst": T(X), **_STATS, "gamma": T((3,), POSITIVE, "f32")},
         {"epsilon": 1e-3, **NCX}),
    Case("group_norm", {"src": T((2, 6, 4, 5)), "gamma": T((6,), POSITIVE, "f32"),
                        "beta": T((6,), NORMAL, "f32")}, {"groups": 2, **NCX}),
    Case("layer_norm", {"src": T((2, 3, 8)), "gamma": T((8,), POSITIVE, "f32"),
                        "beta": T((8,), NORMAL, "f32")}),
    Case("layer_norm", {"src": T((2, 3, 8))}, {"keep_stats": False}, note="plain"),
    Case("layer_norm_backward",
         {"src": T((2, 3, 8)), "diff_dst": T((2, 3, 8)), **_ROWS,
          "gamma": T((8,), POSITIVE, "f32"), "beta": T((8,), NORMAL, "f32")}),
    Case("rms_norm", {"src": T((2, 3, 8)), "gamma": T((8,), POSITIVE, "f32")}),
    Case("softmax", {"src": T(X)}, {"axis": -1}),
    Case("softmax", {"src": T(X)}, {"axis": -1, "with_stats": True}, note="stats"),
    Case("softmax", {"src": T(X)}, {"axis": 1, "mode": "inf_as_zero"}, note="zero"),
    Case("softmax_backward", {"diff_dst": T(X), "dst": T(X, UNIT)}, {"axis": -1}),
    Case("log_softmax", {"src": T(X)}, {"axis": 1}),
    Case("log_softmax_backward",
         {"diff_dst": T(X), "dst": T(X, lambda a: np.log(np.full(X, 0.2)))}, {"axis": -1}),
]  # fmt: skip
REDUCE = [
    Case(
        f"reduce_{kind}",
        {"src": T(X, POSITIVE)},
        {"axes": axes, "keep_dims": keep},
        note="" if keep else "one",
    )
    for kind in ("l1", "l2", "max", "mean", "min", "prod", "sum")
    for axes, keep in (((1, -1), True), ((2,), False))
]
SHAPE = [
    Case("concat", {"src": [T((2, 3, 4)), T((2, 1, 4)), T((2, 5, 4))]}, {"axis": 1}),
    Case("static_reshape", {"src": T((2, 3, 4))}, {"shape": (0, -1), "special_zero": True}),
    Case("static_transpose", {"src": T((2, 3, 4))}, {"order": (2, 0, 1)}),
    Case("type_cast", {"src": T(X)}, {"dtype": "bf16"}, ("f32",)),
    Case("type_cast", {"src": T(X)}, {"dtype": "f32"}, ("bf16",), "bf16"),
    Case("gen_index", {"src": T((2, 3, 4, 5))}, {"axis": -1}),
    Case("add", {"src_0": T(X, dtype="s32"), "src_1": T(X, dtype="s32")}, {}, ("s32",), "s32"),
    Case("end", {"src": T(X)}),
]
_PER_CHANNEL = {"qtype": "per_channel", "axis": 1, "scales": (0.1, 0.05, 0.2)}
QUANT = [
    Case("quantize", {"src": T(X)}, {"dtype": "s8", "scales": (0.02,)}, ("f32",)),
    Case("quantize", {"src": T(X)}, {"dtype": "u8", **_PER_CHANNEL, "zps": (128, 128, 128)},
         ("f32",), "channels", instead=True),
    Case("quantize", {"src": T(X)}, {"dtype": "u8", **_PER_CHANNEL}, ("f32",), "symmetric"),
    Case("dequantize", {"src": T(X, dtype="s8")}, {"scales": (0.02,), "zps": (3,)}, ("f32",)),
    Case("dequantize", {"src": T(X, dtype="u8")}, {**_PER_CHANNEL}, ("f32",), "channels"),
    Case("dynamic_quantize",
         {"src": T(X), "scales": T((1,), lambda a: [0.02]),
          "zps": T((1,), lambda a: [5], "s32")}, {"dtype": "u8"}, ("f32",)),
    Case("dynamic_dequantize",
         {"src": T(X, dtype="s8"), "scales": T((1,), POSITIVE),
          "zps": T((1,), lambda a: [5], "s8")}, dtypes=("f32",)),
    Case("dynamic_dequantize",
         {"src": T((8, 6), dtype="s4"), "scales": T((2, 6), POSITIVE)},
         {"qtype": "per_group", "group_shape": (4, 1)}, ("f32",), "groups"),
]  # fmt: skip
CASES = [*ELTWISE, *BINARY, *MATMUL, *CONV, *POOL, *NORM, *REDUCE, *SHAPE, *QUANT]
