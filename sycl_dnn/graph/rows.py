# SPDX-License-Identifier: Apache-2.0
"""The 88 operations of oneDNN 3.13, one row each. Source: its developer guide, Graph API.

Tensors are written ``name:types``, with ``?`` if optional and ``*`` for a sequence. An output has
the type of an input; choices for the caller follow ``~``. ``name?flag`` exists if the attribute,
flag or input ``flag`` is set. Attributes are written ``name!`` if required, else ``name=default``.
"""

from __future__ import annotations

from typing import Any

from sycl_dnn.graph import shapes
from sycl_dnn.graph.table import Operation, operation

_BROADCAST = "auto_broadcast=numpy"
_FORMAT = "data_format=NXC"
_PADDED = "strides! pads_begin! pads_end! "
_CONV = _PADDED + "dilations! auto_pad=None groups=1 data_format=NXC "
_OIX = _CONV + "weights_format{XIO/OIX}=XIO"
_IOX = _CONV + "weights_format{XOI/IOX}=XOI"
_WINDOW = _PADDED + "kernel! "
_MODE = "mode{nearest/linear/bilinear/trilinear}! coordinate_transformation_mode=half_pixel "
_ONE, _TWO = "src:F -> dst:src", "src_0:F src_1:F -> dst:src_0"
_MIXED = "src_0:F src_1:F -> dst:src_0~F"
_COUNTS = "src_0:A src_1:A -> dst:src_0~A"
_BACK = "src:F diff_dst:F -> diff_src:src"
#: The first tensor is the forward result if ``use_dst``, else the source.
_BACK_DST = "src_or_dst:F diff_dst:F -> diff_src:src_or_dst"
_REDUCED = "src:F axes?:s32 -> dst:src"
_NORM = "src:F gamma?:P beta?:P -> dst:src mean?keep_stats:gamma variance?keep_stats:gamma"

same, back = shapes.same, shapes.like("src_or_dst")

_ROWS: list[tuple[Any, ...]] = [
    # Elementwise, one tensor
    ("Abs", "abs", _ONE, "", same, "Absolute values."),
    ("AbsBackward", "abs_backward", _BACK, "", same, "Gradient of ``abs``."),
    ("Clamp", "clamp", _ONE, "min! max!", same, "Values limited to ``[min, max]``."),
    ("ClampBackward", "clamp_backward", _BACK_DST, "min! max! use_dst=True", back,
     "Gradient of ``clamp``."),
    ("Elu", "elu", _ONE, "alpha!", same, "``x`` where positive, else ``alpha * (exp(x) - 1)``."),
    ("EluBackward", "elu_backward", _BACK_DST, "alpha! use_dst=True", back, "Gradient of ``elu``."),
    ("Exp", "exp", _ONE, "", same, "Exponential."),
    ("GELU", "gelu", _ONE, "mode{gelu_erf/gelu_tanh}=gelu_erf", same,
     "``x`` times the normal distribution function, exact or by tanh."),
    ("GELUBackward", "gelu_backward", _BACK, "mode{gelu_erf/gelu_tanh}=gelu_erf", same,
     "Gradient of ``gelu``."),
    ("HardSigmoid", "hard_sigmoid", _ONE, "alpha! beta!", same,
     "``alpha * x + beta`` limited to ``[0, 1]``."),
    ("HardSigmoidBackward", "hard_sigmoid_backward", _BACK, "alpha! beta!", same,
     "Gradient of ``hard_sigmoid``."),
    ("HardSwish", "hard_swish", _ONE, "", same, "``x * clamp(x + 3, 0, 6) / 6``."),
    ("HardSwishBackward", "hard_swish_backward", _BACK, "", same, "Gradient of ``hard_swish``."),
    ("LeakyReLU", "leaky_relu", _ONE, "alpha!", same, "``x`` where positive, else ``alpha * x``."),
    ("Log", "log", _ONE, "", same, "Natural logarithm."),
    ("Mish", "mish", _ONE, "", same, "``x * tanh(log(1 + exp(x)))``."),
    ("MishBackward", "mish_backward", _BACK, "", same, "Gradient of ``mish``."),
    ("Pow", "pow", _ONE, "beta!", same, "``x ** beta``."),
    ("Reciprocal", "reciprocal", _ONE, "", same, "``1 / x``."),
    ("ReLU", "relu", _ONE, "", same, "``max(x, 0)``."),
    ("ReLUBackward", "relu_backward", _BACK_DST, "use_dst=True", back, "Gradient of ``relu``."),
    ("Round", "round", _ONE, "", same, "Nearest integers, halves to even ones."),
    ("Sigmoid", "sigmoid", _ONE, "", same, "``1 / (1 + exp(-x))``."),
    ("SigmoidBackward", "sigmoid_backward", _BACK_DST, "use_dst=True", back,
     "Gradient of ``sigmoid``."),
    ("SoftPlus", "softplus", _ONE, "beta=1", same, "``log(1 + exp(beta * x)) / beta``."),
    ("SoftPlusBackward", "softplus_backward", _BACK, "beta=1", same, "Gradient of ``softplus``."),
    ("Sqrt", "sqrt", _ONE, "", same, "Square roots."),
    ("SqrtBackward", "sqrt_backward", _BACK_DST, "use_dst=True", back, "Gradient of ``sqrt``."),
    ("Square", "square", _ONE, "", same, "Squares."),
    ("Tanh", "tanh", _ONE, "", same, "Hyperbolic tangent."),
    ("TanhBackward", "tanh_backward", _BACK_DST, "use_dst=True", back, "Gradient of ``tanh``."),
    # Elementwise, several tensors
    ("Add", "add", _COUNTS, _BROADCAST, shapes.broadcast, "Sum."),
    ("Subtract", "subtract", _COUNTS, _BROADCAST, shapes.broadcast, "Difference."),
    ("Multiply", "multiply", _MIXED, _BROADCAST, shapes.broadcast, "Product."),
    ("Divide", "divide", _MIXED, _BROADCAST, shapes.broadcast, "Quotient."),
    ("Maximum", "maximum", _TWO, _BROADCAST, shapes.broadcast, "The larger of two."),
    ("Minimum", "minimum", _TWO, _BROADCAST, shapes.broadcast, "The smaller of two."),
    ("SquaredDifference", "squared_difference", _TWO, _BROADCAST, shapes.broadcast,
     "``(src_0 - src_1) ** 2``."),
    ("GreaterEqual", "greater_equal", "src_0:A src_1:A -> dst:boolean", _BROADCAST,
     shapes.broadcast, "Whether ``src_0 >= src_1``."),
    ("Select", "select", "cond:boolean src_0:F src_1:F -> dst:src_0", _BROADCAST,
     shapes.broadcast, "``src_0`` where the condition holds, else ``src_1``."),
    ("BiasAdd", "bias_add", "src:F bias:F -> dst:src", _FORMAT, shapes.bias_add,
     "A bias for each channel added."),
    ("BiasAddBackward", "bias_add_backward", "diff_dst:F -> diff_bias:diff_dst", _FORMAT,
     shapes.bias_add_backward, "Sum of ``diff_dst`` over all axes but the channels."),
    ("PReLU", "prelu", "src:F slope:F -> dst:src", _FORMAT + " per_channel_broadcast=True", same,
     "``x`` where positive, else ``slope * x``."),
    ("PReLUBackward", "prelu_backward",
     "src:F slope:F diff_dst:F -> diff_src:src diff_slope:slope", _FORMAT,
     shapes.like("src", "slope"), "Gradients of ``prelu``."),
    ("Dropout", "dropout",
     "src:F seed:s64 offset:s64 probability:f32 -> dst:src mask?with_mask:u8", "with_mask=False",
     shapes.like("src", "src"), "Each element 0 with the probability, else scaled up."),
    # Matrices and convolutions
    ("MatMul", "matmul", "src:F weights:F bias?:F -> dst:src~F",
     "transpose_a=False transpose_b=False accumulation_mode=strict", shapes.matmul,
     "Product of matrices, batched as NumPy does, plus a bias."),
    ("Convolution", "convolution", "src:F weights:F bias?:F -> dst:src", _OIX, shapes.conv,
     "Convolution; dilation 1 is dense."),
    ("ConvolutionBackwardData", "convolution_backward_data",
     "diff_dst:F weights:F dst_shape?:s32 -> diff_src:diff_dst",
     "output_padding dst_shape " + _OIX, shapes.conv_backward(shapes.conv, "dst_shape"),
     "Gradient of ``convolution`` by its source, whose shape is ``dst_shape``."),
    ("ConvolutionBackwardWeights", "convolution_backward_weights",
     "src:F diff_dst:F weights_shape?:s32 -> diff_weights:src", "weights_shape " + _OIX,
     shapes.conv_backward(shapes.conv, "weights_shape"),
     "Gradient of ``convolution`` by its weights."),
    ("ConvTranspose", "conv_transpose", "src:F weights:F bias?:F -> dst:src",
     "output_padding " + _IOX, shapes.conv_transpose, "Transposed convolution."),
    ("ConvTransposeBackwardData", "conv_transpose_backward_data",
     "diff_dst:F weights:F -> diff_src:diff_dst", _IOX, shapes.conv_transpose_backward_data,
     "Gradient of ``conv_transpose`` by its source."),
    ("ConvTransposeBackwardWeights", "conv_transpose_backward_weights",
     "src:F diff_dst:F weights_shape?:s32 -> diff_weights:src", "weights_shape " + _IOX,
     shapes.conv_backward(shapes.conv_transpose, "weights_shape"),
     "Gradient of ``conv_transpose`` by its weights."),
    # Pooling and interpolation
    ("AvgPool", "avg_pool", _ONE,
     _WINDOW + "exclude_pad! data_format=NXC rounding_type=floor auto_pad=None", shapes.pool,
     "Mean of each window, with or without its padding."),
    ("AvgPoolBackward", "avg_pool_backward", "diff_dst:F src_shape?:s32 -> diff_src:diff_dst",
     "src_shape " + _WINDOW + "exclude_pad! data_format=NXC auto_pad=None",
     shapes.pool_backward("src_shape"), "Gradient of ``avg_pool``."),
    ("MaxPool", "max_pool", _ONE,
     _WINDOW + "dilations data_format=NXC rounding_type=floor auto_pad=None", shapes.pool,
     "Largest element of each window."),
    ("MaxPoolBackward", "max_pool_backward", _BACK,
     _WINDOW + "dilations data_format=NXC auto_pad=None", shapes.pool_backward("src"),
     "Gradient of ``max_pool``."),
    ("Interpolate", "interpolate", "src:F sizes?:s32 -> dst:src", "sizes scales " + _MODE + _FORMAT,
     shapes.interpolate, "Spatial axes resized."),
    ("InterpolateBackward", "interpolate_backward",
     "src:F diff_dst:F sizes?:s32 -> diff_src:src", "sizes scales " + _MODE + _FORMAT,
     shapes.interpolate_backward, "Gradient of ``interpolate``."),
    # Norms and softmax
    ("BatchNormInference", "batch_norm_inference",
     "src:F gamma:P beta:P mean:P variance:P -> dst:src", "epsilon! data_format=NXC",
     shapes.batch_norm, "Normalized by given statistics, scaled and shifted by channel."),
    ("BatchNormForwardTraining", "batch_norm_forward_training",
     "src:F mean:P variance:P gamma?:P beta?:P -> dst:src running_mean:mean "
     "running_variance:mean batch_mean:mean batch_variance:mean",
     "epsilon! momentum data_format=NXC", shapes.batch_norm,
     "Normalized by the batch's statistics, which also move the running ones."),
    ("BatchNormTrainingBackward", "batch_norm_backward",
     "src:F diff_dst:F mean:P variance:P gamma?:P -> diff_src:src diff_gamma?gamma:gamma "
     "diff_beta?gamma:gamma", "epsilon! data_format=NXC", shapes.batch_norm_backward,
     "Gradients of ``batch_norm_forward_training``."),
    ("GroupNorm", "group_norm", _NORM,
     "groups! keep_stats=True use_affine=True epsilon=1e-5 data_format=NXC", shapes.group_norm,
     "Normalized over groups of channels of each sample."),
    ("LayerNorm", "layer_norm", _NORM,
     "keep_stats=True begin_norm_axis=-1 use_affine=True epsilon=1e-5", shapes.layer_norm,
     "Normalized over the last axes."),
    ("LayerNormBackward", "layer_norm_backward",
     "src:F diff_dst:F mean:P variance:P gamma?:P beta?:P -> diff_src:src "
     "diff_gamma?use_affine:gamma diff_beta?use_affine:gamma",
     "begin_norm_axis=-1 use_affine=True epsilon=1e-5", shapes.layer_norm_backward,
     "Gradients of ``layer_norm``."),
    ("RMSNorm", "rms_norm", "src:F gamma?:F -> dst:src", "begin_norm_axis=-1 epsilon=1e-5",
     shapes.layer_norm, "Divided by the root mean square over the last axes."),
    ("SoftMax", "softmax", "src:F -> dst:src~F stats?with_stats:f32",
     "axis=1 mode{none/inf_as_zero}=none with_stats=False", shapes.softmax,
     "Exponentials that sum to 1 along the axis; ``stats`` are the logarithms of their sums."),
    ("SoftMaxBackward", "softmax_backward", "diff_dst:F dst:F -> diff_src:dst~F", "axis=1",
     shapes.like("dst"), "Gradient of ``softmax``."),
    ("LogSoftmax", "log_softmax", _ONE, "axis=-1", same, "Logarithm of ``softmax``."),
    ("LogSoftmaxBackward", "log_softmax_backward", "diff_dst:F dst:F -> diff_src:dst", "axis=-1",
     shapes.like("dst"), "Gradient of ``log_softmax``."),
    # Reduction
    *((f"Reduce{kind}", f"reduce_{kind.lower()}", _REDUCED, "axes keep_dims=False", shapes.reduce,
       summary)
      for kind, summary in (
          ("L1", "Sum of absolute values over axes."), ("L2", "Root of the sum of squares."),
          ("Max", "Largest over axes."), ("Mean", "Mean over axes."),
          ("Min", "Smallest over axes."), ("Prod", "Product over axes."),
          ("Sum", "Sum over axes."))),
    # Shape, layout and data type
    ("Concat", "concat", "src*:F -> dst:src", "axis!", shapes.concat, "Joined along an axis."),
    ("Reorder", "reorder", _ONE, "", same, "The same in another layout."),
    ("StaticReshape", "static_reshape", _ONE, "shape! special_zero!", shapes.reshape,
     "The same elements in another shape."),
    ("StaticTranspose", "static_transpose", _ONE, "order!", shapes.transpose, "Axes permuted."),
    ("TypeCast", "type_cast", "src:F -> dst:~F", "", same, "Values in another data type."),
    ("GenIndex", "gen_index", "src:F -> dst:s32", "axis!", shapes.gen_index,
     "Index of each element along the axis."),
    # Quantization
    ("Quantize", "quantize", "src:f32 -> dst:~Q",
     "qtype{per_tensor/per_channel}=per_tensor axis=1 scales! zps", same,
     "``round(x / scale + zero point)``."),
    ("Dequantize", "dequantize", "src:Q -> dst:f32",
     "qtype{per_tensor/per_channel}=per_tensor axis=1 scales! zps", same,
     "``(x - zero point) * scale``."),
    ("DynamicQuantize", "dynamic_quantize", "src:f32 scales:f32 zps?:Z -> dst:~u8/s8",
     "qtype{per_tensor/per_channel}=per_tensor axis=1", same,
     "``quantize`` with scales and zero points in tensors."),
    ("DynamicDequantize", "dynamic_dequantize", "src:L scales:F zps?:W -> dst:scales",
     "qtype=per_tensor axis=1 group_shape", same,
     "``dequantize`` with scales and zero points in tensors."),
    # Markers
    ("End", "end", "src:F/s8/u8/s32 ->", "", lambda s, a: [],
     "Marks a tensor as a result of the graph though operations read it."),
    ("Wildcard", "wildcard", "", "", None, "Your own function, which oneDNN leaves alone."),
]  # fmt: skip

#: By builder name.
OPERATIONS: dict[str, Operation] = {row[1]: operation(*row) for row in _ROWS}
