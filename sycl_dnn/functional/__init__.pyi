# SPDX-License-Identifier: Apache-2.0
# Written by tests/helpers/stub_writing.py.

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, TypeVar, overload

import dpnp
import numpy as np

from sycl_dnn.functional.quantized.quantize import QuantizedTensor as QuantizedTensor
from sycl_dnn.functional.reduction.extremes import ValuesAndIndices
from sycl_dnn.trace.array import Array
from sycl_dnn.trace.frozen import Frozen, Seed

__all__ = [
    "QuantizedTensor",
    "abs",
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "add",
    "addmm",
    "amax",
    "amin",
    "argmax",
    "argmin",
    "asarray",
    "astype",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "baddbmm",
    "batch_norm",
    "bce_with_logits",
    "bilinear",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "bmm",
    "cat",
    "celu",
    "channel_shuffle",
    "chunk",
    "clamp",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "cross_entropy",
    "dequantize",
    "div",
    "dropout",
    "elu",
    "embedding",
    "eq",
    "exp",
    "flatten",
    "fold",
    "ge",
    "gelu",
    "glu",
    "group_norm",
    "gru",
    "gt",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "huber_loss",
    "instance_norm",
    "interpolate",
    "kl_div",
    "l1_loss",
    "layer_norm",
    "le",
    "leaky_relu",
    "linear",
    "local_response_norm",
    "log",
    "log_softmax",
    "logsigmoid",
    "logsumexp",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "lstm",
    "lt",
    "matmul",
    "max",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
    "maximum",
    "mean",
    "min",
    "minimum",
    "mish",
    "mm",
    "mse_loss",
    "mul",
    "narrow",
    "ne",
    "neg",
    "nll_loss",
    "norm",
    "normalize",
    "one_hot",
    "pad",
    "permute",
    "pixel_shuffle",
    "pixel_unshuffle",
    "pow",
    "prelu",
    "prod",
    "quantize",
    "quantize_dynamic",
    "quantized_conv1d",
    "quantized_conv2d",
    "quantized_conv3d",
    "quantized_linear",
    "quantized_matmul",
    "reciprocal",
    "relu",
    "relu6",
    "reshape",
    "rms_norm",
    "rnn_relu",
    "rnn_tanh",
    "scaled_dot_product_attention",
    "selu",
    "sigmoid",
    "silu",
    "smooth_l1_loss",
    "softmax",
    "softmin",
    "softplus",
    "softshrink",
    "softsign",
    "split",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "std",
    "sub",
    "sum",
    "tanh",
    "tanhshrink",
    "threshold",
    "transpose",
    "unflatten",
    "unfold",
    "unsqueeze",
    "var",
    "where",
]

#: Results are dpnp arrays for dpnp arrays, and ``Array`` for ``Array``.
A = TypeVar("A", bound=dpnp.ndarray | Array)
#: What operands beside the first may be.
Operand: TypeAlias = dpnp.ndarray | Array | Frozen

def abs(input: A, *, out: A | None = None) -> A: ...
def adaptive_avg_pool1d(input: A, output_size: int | None, *, out: A | None = None) -> A: ...
def adaptive_avg_pool2d(
    input: A, output_size: int | None | tuple[int | None, ...], *, out: A | None = None
) -> A: ...
def adaptive_avg_pool3d(
    input: A, output_size: int | None | tuple[int | None, ...], *, out: A | None = None
) -> A: ...
@overload
def adaptive_max_pool1d(
    input: A,
    output_size: int | None,
    return_indices: Literal[False] = False,
    *,
    out: A | None = None,
) -> A: ...
@overload
def adaptive_max_pool1d(
    input: A, output_size: int | None, *, return_indices: Literal[True], out: A | None = None
) -> tuple[A, dpnp.ndarray]: ...
@overload
def adaptive_max_pool1d(
    input: A, output_size: int | None, return_indices: bool = False, *, out: A | None = None
) -> A | tuple[A, dpnp.ndarray]: ...
@overload
def adaptive_max_pool2d(
    input: A,
    output_size: int | None | tuple[int | None, ...],
    return_indices: Literal[False] = False,
    *,
    out: A | None = None,
) -> A: ...
@overload
def adaptive_max_pool2d(
    input: A,
    output_size: int | None | tuple[int | None, ...],
    *,
    return_indices: Literal[True],
    out: A | None = None,
) -> tuple[A, dpnp.ndarray]: ...
@overload
def adaptive_max_pool2d(
    input: A,
    output_size: int | None | tuple[int | None, ...],
    return_indices: bool = False,
    *,
    out: A | None = None,
) -> A | tuple[A, dpnp.ndarray]: ...
@overload
def adaptive_max_pool3d(
    input: A,
    output_size: int | None | tuple[int | None, ...],
    return_indices: Literal[False] = False,
    *,
    out: A | None = None,
) -> A: ...
@overload
def adaptive_max_pool3d(
    input: A,
    output_size: int | None | tuple[int | None, ...],
    *,
    return_indices: Literal[True],
    out: A | None = None,
) -> tuple[A, dpnp.ndarray]: ...
@overload
def adaptive_max_pool3d(
    input: A,
    output_size: int | None | tuple[int | None, ...],
    return_indices: bool = False,
    *,
    out: A | None = None,
) -> A | tuple[A, dpnp.ndarray]: ...
def add(input: A | float, other: A | float, *, alpha: float = 1, out: A | None = None) -> A: ...
def addmm(
    input: A,
    mat1: Operand,
    mat2: Operand,
    *,
    beta: float = 1,
    alpha: float = 1,
    out: A | None = None,
) -> A: ...
def amax(
    input: A, dim: int | Sequence[int] | None = None, keepdim: bool = False, *, out: A | None = None
) -> A: ...
def amin(
    input: A, dim: int | Sequence[int] | None = None, keepdim: bool = False, *, out: A | None = None
) -> A: ...
def argmax(
    input: A, dim: int | None = None, keepdim: bool = False, *, out: A | None = None
) -> dpnp.ndarray: ...
def argmin(
    input: A, dim: int | None = None, keepdim: bool = False, *, out: A | None = None
) -> dpnp.ndarray: ...
def asarray(
    x: Any, dtype: str | np.dtype | type | None = None, **kwargs: Any
) -> dpnp.ndarray | Array: ...
def astype(x: Operand, dtype: str | np.dtype | type) -> dpnp.ndarray | Array | Frozen: ...
def avg_pool1d(
    input: A,
    kernel_size: int | tuple[int],
    stride: int | tuple[int] | None = None,
    padding: int | tuple[int] = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    *,
    out: A | None = None,
) -> A: ...
def avg_pool2d(
    input: A,
    kernel_size: int | tuple[int, int],
    stride: int | tuple[int, int] | None = None,
    padding: int | tuple[int, int] = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    *,
    out: A | None = None,
) -> A: ...
def avg_pool3d(
    input: A,
    kernel_size: int | tuple[int, int, int],
    stride: int | tuple[int, int, int] | None = None,
    padding: int | tuple[int, int, int] = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    *,
    out: A | None = None,
) -> A: ...
def baddbmm(
    input: A,
    batch1: Operand,
    batch2: Operand,
    *,
    beta: float = 1,
    alpha: float = 1,
    out: A | None = None,
) -> A: ...
def batch_norm(
    input: A,
    running_mean: Operand | None,
    running_var: Operand | None,
    weight: Operand | None = None,
    bias: Operand | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-05,
    *,
    out: A | None = None,
) -> A: ...
def bce_with_logits(
    input: A,
    target: Operand,
    weight: Operand | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Operand | None = None,
    *,
    out: A | None = None,
) -> A: ...
def bilinear(
    input1: A,
    input2: Operand,
    weight: Operand,
    bias: Operand | None = None,
    *,
    out: A | None = None,
) -> A: ...
def binary_cross_entropy(
    input: A,
    target: Operand,
    weight: Operand | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    *,
    out: A | None = None,
) -> A: ...
def binary_cross_entropy_with_logits(
    input: A,
    target: Operand,
    weight: Operand | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Operand | None = None,
    *,
    out: A | None = None,
) -> A: ...
def bmm(input: A, mat2: Operand, *, out: A | None = None) -> A: ...
def cat(tensors: Sequence[A], dim: int = 0, *, out: A | None = None) -> A: ...
def celu(input: A, alpha: float = 1.0, inplace: bool = False, *, out: A | None = None) -> A: ...
def channel_shuffle(input: A, groups: int, *, out: A | None = None) -> A: ...
def chunk(input: A, chunks: int, dim: int = 0) -> tuple[A, ...]: ...
def clamp(
    input: A,
    min: Operand | float | None = None,
    max: Operand | float | None = None,
    *,
    out: A | None = None,
) -> A: ...
def conv1d(
    input: A,
    weight: Operand,
    bias: Operand | None = None,
    stride: int | tuple[int] = 1,
    padding: str | int | tuple[Any, ...] = 0,
    dilation: int | tuple[int] = 1,
    groups: int = 1,
    *,
    out: A | None = None,
) -> A: ...
def conv2d(
    input: A,
    weight: Operand,
    bias: Operand | None = None,
    stride: int | tuple[int, int] = 1,
    padding: str | int | tuple[Any, ...] = 0,
    dilation: int | tuple[int, int] = 1,
    groups: int = 1,
    *,
    out: A | None = None,
) -> A: ...
def conv3d(
    input: A,
    weight: Operand,
    bias: Operand | None = None,
    stride: int | tuple[int, int, int] = 1,
    padding: str | int | tuple[Any, ...] = 0,
    dilation: int | tuple[int, int, int] = 1,
    groups: int = 1,
    *,
    out: A | None = None,
) -> A: ...
def conv_transpose1d(
    input: A,
    weight: Operand,
    bias: Operand | None = None,
    stride: int | tuple[int] = 1,
    padding: int | tuple[Any, ...] = 0,
    output_padding: int | tuple[int] = 0,
    groups: int = 1,
    dilation: int | tuple[int] = 1,
    *,
    out: A | None = None,
) -> A: ...
def conv_transpose2d(
    input: A,
    weight: Operand,
    bias: Operand | None = None,
    stride: int | tuple[int, int] = 1,
    padding: int | tuple[Any, ...] = 0,
    output_padding: int | tuple[int, int] = 0,
    groups: int = 1,
    dilation: int | tuple[int, int] = 1,
    *,
    out: A | None = None,
) -> A: ...
def conv_transpose3d(
    input: A,
    weight: Operand,
    bias: Operand | None = None,
    stride: int | tuple[int, int, int] = 1,
    padding: int | tuple[Any, ...] = 0,
    output_padding: int | tuple[int, int, int] = 0,
    groups: int = 1,
    dilation: int | tuple[int, int, int] = 1,
    *,
    out: A | None = None,
) -> A: ...
def cross_entropy(
    input: A,
    target: Operand,
    weight: Operand | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
    *,
    out: A | None = None,
) -> A: ...
def dequantize(
    input: QuantizedTensor, dtype: str = "float32", *, out: dpnp.ndarray | Array | None = None
) -> dpnp.ndarray | Array: ...
def div(
    input: A | float, other: A | float, *, rounding_mode: str | None = None, out: A | None = None
) -> A: ...
def dropout(
    input: A,
    p: float = 0.5,
    training: bool = True,
    inplace: bool = False,
    *,
    seed: int | Seed | None = None,
    out: A | None = None,
) -> A: ...
def elu(input: A, alpha: float = 1.0, inplace: bool = False, *, out: A | None = None) -> A: ...
def embedding(
    input: dpnp.ndarray,
    weight: Operand,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
    *,
    out: dpnp.ndarray | Array | None = None,
) -> dpnp.ndarray | Array: ...
def eq(input: A | float, other: A | float, *, out: A | None = None) -> dpnp.ndarray: ...
def exp(input: A, *, out: A | None = None) -> A: ...
def flatten(input: A, start_dim: int = 0, end_dim: int = -1, *, out: A | None = None) -> A: ...
def fold(
    input: A,
    output_size: int | Sequence[int],
    kernel_size: int | Sequence[int],
    dilation: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    stride: int | Sequence[int] = 1,
    *,
    out: A | None = None,
) -> A: ...
def ge(input: A | float, other: A | float, *, out: A | None = None) -> dpnp.ndarray: ...
def gelu(input: A, *, approximate: str = "none", out: A | None = None) -> A: ...
def glu(input: A, dim: int = -1, *, out: A | None = None) -> A: ...
def group_norm(
    input: A,
    num_groups: int,
    weight: Operand | None = None,
    bias: Operand | None = None,
    eps: float = 1e-05,
    *,
    out: A | None = None,
) -> A: ...
def gru(
    input: A,
    hx: A | None,
    params: Sequence[Operand],
    *,
    num_layers: int = 1,
    bidirectional: bool = False,
    batch_first: bool = False,
    bias: bool = True,
    dropout: float = 0.0,
    training: bool = False,
) -> tuple[A, A]: ...
def gt(input: A | float, other: A | float, *, out: A | None = None) -> dpnp.ndarray: ...
def hardshrink(input: A, lambd: float = 0.5, *, out: A | None = None) -> A: ...
def hardsigmoid(input: A, inplace: bool = False, *, out: A | None = None) -> A: ...
def hardswish(input: A, inplace: bool = False, *, out: A | None = None) -> A: ...
def hardtanh(
    input: A,
    min_val: float = -1.0,
    max_val: float = 1.0,
    inplace: bool = False,
    *,
    out: A | None = None,
) -> A: ...
def huber_loss(
    input: A,
    target: Operand,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Operand | None = None,
    *,
    out: A | None = None,
) -> A: ...
def instance_norm(
    input: A,
    running_mean: Operand | None = None,
    running_var: Operand | None = None,
    weight: Operand | None = None,
    bias: Operand | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-05,
    *,
    out: A | None = None,
) -> A: ...
def interpolate(
    input: A,
    size: int | tuple[int, ...] | None = None,
    scale_factor: float | tuple[float, ...] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
    *,
    out: A | None = None,
) -> A: ...
def kl_div(
    input: A,
    target: Operand,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
    *,
    out: A | None = None,
) -> A: ...
def l1_loss(
    input: A,
    target: Operand,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Operand | None = None,
    *,
    out: A | None = None,
) -> A: ...
def layer_norm(
    input: A,
    normalized_shape: Sequence[int],
    weight: Operand | None = None,
    bias: Operand | None = None,
    eps: float = 1e-05,
    *,
    out: A | None = None,
) -> A: ...
def le(input: A | float, other: A | float, *, out: A | None = None) -> dpnp.ndarray: ...
def leaky_relu(
    input: A, negative_slope: float = 0.01, inplace: bool = False, *, out: A | None = None
) -> A: ...
def linear(
    input: A,
    weight: Operand | QuantizedTensor,
    bias: Operand | None = None,
    *,
    out: A | None = None,
) -> A: ...
def local_response_norm(
    input: A,
    size: int,
    alpha: float = 0.0001,
    beta: float = 0.75,
    k: float = 1.0,
    *,
    out: A | None = None,
) -> A: ...
def log(input: A, *, out: A | None = None) -> A: ...
@overload
def log_softmax(
    input: A, dim: int | None = None, *, dtype: None = None, out: A | None = None
) -> A: ...
@overload
def log_softmax(
    input: A, dim: int | None = None, *, dtype: Any, out: A | None = None
) -> dpnp.ndarray | Array: ...
def logsigmoid(input: A, *, out: A | None = None) -> A: ...
def logsumexp(
    input: A, dim: int | Sequence[int], keepdim: bool = False, *, out: A | None = None
) -> A: ...
def lp_pool1d(
    input: A,
    norm_type: float,
    kernel_size: int | tuple[int],
    stride: int | tuple[int] | None = None,
    ceil_mode: bool = False,
    *,
    out: A | None = None,
) -> A: ...
def lp_pool2d(
    input: A,
    norm_type: float,
    kernel_size: int | tuple[int, int],
    stride: int | tuple[int, int] | None = None,
    ceil_mode: bool = False,
    *,
    out: A | None = None,
) -> A: ...
def lp_pool3d(
    input: A,
    norm_type: float,
    kernel_size: int | tuple[int, int, int],
    stride: int | tuple[int, int, int] | None = None,
    ceil_mode: bool = False,
    *,
    out: A | None = None,
) -> A: ...
def lstm(
    input: A,
    hx: tuple[A, A] | None,
    params: Sequence[Operand],
    *,
    num_layers: int = 1,
    bidirectional: bool = False,
    batch_first: bool = False,
    bias: bool = True,
    dropout: float = 0.0,
    training: bool = False,
) -> tuple[A, tuple[A, A]]: ...
def lt(input: A | float, other: A | float, *, out: A | None = None) -> dpnp.ndarray: ...
def matmul(input: A, other: Operand, *, out: A | None = None) -> A: ...
@overload
def max(input: A, dim: None = None, keepdim: bool = False, *, out: A | None = None) -> A: ...
@overload
def max(input: A, dim: int, keepdim: bool = False, *, out: A | None = None) -> ValuesAndIndices: ...
@overload
def max_pool1d(
    input: A,
    kernel_size: int | tuple[int],
    stride: int | tuple[int] | None = None,
    padding: int | tuple[int] = 0,
    dilation: int | tuple[int] = 1,
    ceil_mode: bool = False,
    return_indices: Literal[False] = False,
    *,
    out: A | None = None,
) -> A: ...
@overload
def max_pool1d(
    input: A,
    kernel_size: int | tuple[int],
    stride: int | tuple[int] | None = None,
    padding: int | tuple[int] = 0,
    dilation: int | tuple[int] = 1,
    ceil_mode: bool = False,
    *,
    return_indices: Literal[True],
    out: A | None = None,
) -> tuple[A, dpnp.ndarray]: ...
@overload
def max_pool1d(
    input: A,
    kernel_size: int | tuple[int],
    stride: int | tuple[int] | None = None,
    padding: int | tuple[int] = 0,
    dilation: int | tuple[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
    *,
    out: A | None = None,
) -> A | tuple[A, dpnp.ndarray]: ...
@overload
def max_pool2d(
    input: A,
    kernel_size: int | tuple[int, int],
    stride: int | tuple[int, int] | None = None,
    padding: int | tuple[int, int] = 0,
    dilation: int | tuple[int, int] = 1,
    ceil_mode: bool = False,
    return_indices: Literal[False] = False,
    *,
    out: A | None = None,
) -> A: ...
@overload
def max_pool2d(
    input: A,
    kernel_size: int | tuple[int, int],
    stride: int | tuple[int, int] | None = None,
    padding: int | tuple[int, int] = 0,
    dilation: int | tuple[int, int] = 1,
    ceil_mode: bool = False,
    *,
    return_indices: Literal[True],
    out: A | None = None,
) -> tuple[A, dpnp.ndarray]: ...
@overload
def max_pool2d(
    input: A,
    kernel_size: int | tuple[int, int],
    stride: int | tuple[int, int] | None = None,
    padding: int | tuple[int, int] = 0,
    dilation: int | tuple[int, int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
    *,
    out: A | None = None,
) -> A | tuple[A, dpnp.ndarray]: ...
@overload
def max_pool3d(
    input: A,
    kernel_size: int | tuple[int, int, int],
    stride: int | tuple[int, int, int] | None = None,
    padding: int | tuple[int, int, int] = 0,
    dilation: int | tuple[int, int, int] = 1,
    ceil_mode: bool = False,
    return_indices: Literal[False] = False,
    *,
    out: A | None = None,
) -> A: ...
@overload
def max_pool3d(
    input: A,
    kernel_size: int | tuple[int, int, int],
    stride: int | tuple[int, int, int] | None = None,
    padding: int | tuple[int, int, int] = 0,
    dilation: int | tuple[int, int, int] = 1,
    ceil_mode: bool = False,
    *,
    return_indices: Literal[True],
    out: A | None = None,
) -> tuple[A, dpnp.ndarray]: ...
@overload
def max_pool3d(
    input: A,
    kernel_size: int | tuple[int, int, int],
    stride: int | tuple[int, int, int] | None = None,
    padding: int | tuple[int, int, int] = 0,
    dilation: int | tuple[int, int, int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
    *,
    out: A | None = None,
) -> A | tuple[A, dpnp.ndarray]: ...
def max_unpool1d(
    input: A,
    indices: dpnp.ndarray,
    kernel_size: int | tuple[int],
    stride: int | tuple[int] | None = None,
    padding: int | tuple[int] = 0,
    output_size: tuple[int, ...] | None = None,
    *,
    out: A | None = None,
) -> A: ...
def max_unpool2d(
    input: A,
    indices: dpnp.ndarray,
    kernel_size: int | tuple[int, int],
    stride: int | tuple[int, int] | None = None,
    padding: int | tuple[int, int] = 0,
    output_size: tuple[int, ...] | None = None,
    *,
    out: A | None = None,
) -> A: ...
def max_unpool3d(
    input: A,
    indices: dpnp.ndarray,
    kernel_size: int | tuple[int, int, int],
    stride: int | tuple[int, int, int] | None = None,
    padding: int | tuple[int, int, int] = 0,
    output_size: tuple[int, ...] | None = None,
    *,
    out: A | None = None,
) -> A: ...
def maximum(input: A | float, other: A | float, *, out: A | None = None) -> A: ...
@overload
def mean(
    input: A,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: None = None,
    out: A | None = None,
) -> A: ...
@overload
def mean(
    input: A,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: Any,
    out: A | None = None,
) -> dpnp.ndarray | Array: ...
@overload
def min(input: A, dim: None = None, keepdim: bool = False, *, out: A | None = None) -> A: ...
@overload
def min(input: A, dim: int, keepdim: bool = False, *, out: A | None = None) -> ValuesAndIndices: ...
def minimum(input: A | float, other: A | float, *, out: A | None = None) -> A: ...
def mish(input: A, inplace: bool = False, *, out: A | None = None) -> A: ...
def mm(input: A, mat2: Operand, *, out: A | None = None) -> A: ...
def mse_loss(
    input: A,
    target: Operand,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Operand | None = None,
    *,
    out: A | None = None,
) -> A: ...
def mul(input: A | float, other: A | float, *, out: A | None = None) -> A: ...
def narrow(input: A, dim: int, start: int, length: int, *, out: A | None = None) -> A: ...
def ne(input: A | float, other: A | float, *, out: A | None = None) -> dpnp.ndarray: ...
def neg(input: A, *, out: A | None = None) -> A: ...
def nll_loss(
    input: A,
    target: dpnp.ndarray,
    weight: Operand | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    *,
    out: A | None = None,
) -> A: ...
def norm(
    input: A,
    p: float | str = "fro",
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    out: A | None = None,
) -> A: ...
def normalize(
    input: A,
    p: float = 2.0,
    dim: int | Sequence[int] | None = 1,
    eps: float = 1e-12,
    *,
    out: A | None = None,
) -> A: ...
def one_hot(input: dpnp.ndarray, num_classes: int = -1) -> dpnp.ndarray: ...
def pad(
    input: A,
    pad: Sequence[int],
    mode: str = "constant",
    value: float | None = None,
    *,
    out: A | None = None,
) -> A: ...
def permute(input: A, dims: Sequence[int], *, out: A | None = None) -> A: ...
def pixel_shuffle(input: A, upscale_factor: int, *, out: A | None = None) -> A: ...
def pixel_unshuffle(input: A, downscale_factor: int, *, out: A | None = None) -> A: ...
def pow(input: A | float, exponent: A | float, *, out: A | None = None) -> A: ...
def prelu(input: A, weight: Operand, *, out: A | None = None) -> A: ...
@overload
def prod(
    input: A,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: None = None,
    out: A | None = None,
) -> A: ...
@overload
def prod(
    input: A,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: Any,
    out: A | None = None,
) -> dpnp.ndarray | Array: ...
def quantize(
    input: A,
    scale: dpnp.ndarray,
    zero_point: dpnp.ndarray | None = None,
    dtype: str = "int8",
    axis: int | None = None,
    group_size: int | None = None,
) -> QuantizedTensor: ...
def quantize_dynamic(
    input: A,
    dtype: str = "int8",
    axis: int | None = None,
    group_size: int | None = None,
    symmetric: bool | None = None,
) -> QuantizedTensor: ...
def quantized_conv1d(
    input: QuantizedTensor,
    weight: QuantizedTensor,
    bias: dpnp.ndarray | None = None,
    stride: int | tuple[int, ...] = 1,
    padding: str | int | tuple[Any, ...] = 0,
    dilation: int | tuple[int, ...] = 1,
    groups: int = 1,
    *,
    out_scale: dpnp.ndarray | None = None,
    out_zero_point: dpnp.ndarray | None = None,
    out_dtype: str | None = None,
) -> dpnp.ndarray | Array | QuantizedTensor: ...
def quantized_conv2d(
    input: QuantizedTensor,
    weight: QuantizedTensor,
    bias: dpnp.ndarray | None = None,
    stride: int | tuple[int, ...] = 1,
    padding: str | int | tuple[Any, ...] = 0,
    dilation: int | tuple[int, ...] = 1,
    groups: int = 1,
    *,
    out_scale: dpnp.ndarray | None = None,
    out_zero_point: dpnp.ndarray | None = None,
    out_dtype: str | None = None,
) -> dpnp.ndarray | Array | QuantizedTensor: ...
def quantized_conv3d(
    input: QuantizedTensor,
    weight: QuantizedTensor,
    bias: dpnp.ndarray | None = None,
    stride: int | tuple[int, ...] = 1,
    padding: str | int | tuple[Any, ...] = 0,
    dilation: int | tuple[int, ...] = 1,
    groups: int = 1,
    *,
    out_scale: dpnp.ndarray | None = None,
    out_zero_point: dpnp.ndarray | None = None,
    out_dtype: str | None = None,
) -> dpnp.ndarray | Array | QuantizedTensor: ...
def quantized_linear(
    input: QuantizedTensor,
    weight: QuantizedTensor,
    bias: dpnp.ndarray | None = None,
    *,
    out_scale: dpnp.ndarray | None = None,
    out_zero_point: dpnp.ndarray | None = None,
    out_dtype: str | None = None,
) -> dpnp.ndarray | Array | QuantizedTensor: ...
def quantized_matmul(
    input: QuantizedTensor,
    other: QuantizedTensor,
    *,
    out_scale: dpnp.ndarray | None = None,
    out_zero_point: dpnp.ndarray | None = None,
    out_dtype: str | None = None,
) -> dpnp.ndarray | Array | QuantizedTensor: ...
def reciprocal(input: A, *, out: A | None = None) -> A: ...
def relu(input: A, inplace: bool = False, *, out: A | None = None) -> A: ...
def relu6(input: A, inplace: bool = False, *, out: A | None = None) -> A: ...
def reshape(input: A, shape: int | Sequence[int], *, out: A | None = None) -> A: ...
def rms_norm(
    input: A,
    normalized_shape: Sequence[int],
    weight: Operand | None = None,
    eps: float | None = None,
    *,
    out: A | None = None,
) -> A: ...
def rnn_relu(
    input: A,
    hx: A | None,
    params: Sequence[Operand],
    *,
    num_layers: int = 1,
    bidirectional: bool = False,
    batch_first: bool = False,
    bias: bool = True,
    dropout: float = 0.0,
    training: bool = False,
) -> tuple[A, A]: ...
def rnn_tanh(
    input: A,
    hx: A | None,
    params: Sequence[Operand],
    *,
    num_layers: int = 1,
    bidirectional: bool = False,
    batch_first: bool = False,
    bias: bool = True,
    dropout: float = 0.0,
    training: bool = False,
) -> tuple[A, A]: ...
def scaled_dot_product_attention(
    query: A,
    key: Operand,
    value: Operand,
    attn_mask: Operand | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
    out: A | None = None,
) -> A: ...
def selu(input: A, inplace: bool = False, *, out: A | None = None) -> A: ...
def sigmoid(input: A, *, out: A | None = None) -> A: ...
def silu(input: A, inplace: bool = False, *, out: A | None = None) -> A: ...
def smooth_l1_loss(
    input: A,
    target: Operand,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
    *,
    out: A | None = None,
) -> A: ...
@overload
def softmax(input: A, dim: int | None = None, *, dtype: None = None, out: A | None = None) -> A: ...
@overload
def softmax(
    input: A, dim: int | None = None, *, dtype: Any, out: A | None = None
) -> dpnp.ndarray | Array: ...
@overload
def softmin(input: A, dim: int | None = None, *, dtype: None = None, out: A | None = None) -> A: ...
@overload
def softmin(
    input: A, dim: int | None = None, *, dtype: Any, out: A | None = None
) -> dpnp.ndarray | Array: ...
def softplus(
    input: A, beta: float = 1.0, threshold: float = 20.0, *, out: A | None = None
) -> A: ...
def softshrink(input: A, lambd: float = 0.5, *, out: A | None = None) -> A: ...
def softsign(input: A, *, out: A | None = None) -> A: ...
def split(
    tensor: A, split_size_or_sections: int | Sequence[int], dim: int = 0
) -> tuple[A, ...]: ...
def sqrt(input: A, *, out: A | None = None) -> A: ...
def square(input: A, *, out: A | None = None) -> A: ...
def squeeze(input: A, dim: int | Sequence[int] | None = None, *, out: A | None = None) -> A: ...
def stack(tensors: Sequence[A], dim: int = 0, *, out: A | None = None) -> A: ...
def std(
    input: A,
    dim: int | Sequence[int] | None = None,
    *,
    correction: float = 1,
    keepdim: bool = False,
    out: A | None = None,
) -> A: ...
def sub(input: A | float, other: A | float, *, alpha: float = 1, out: A | None = None) -> A: ...
@overload
def sum(
    input: A,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: None = None,
    out: A | None = None,
) -> A: ...
@overload
def sum(
    input: A,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: Any,
    out: A | None = None,
) -> dpnp.ndarray | Array: ...
def tanh(input: A, *, out: A | None = None) -> A: ...
def tanhshrink(input: A, *, out: A | None = None) -> A: ...
def threshold(
    input: A, threshold: float, value: float, inplace: bool = False, *, out: A | None = None
) -> A: ...
def transpose(input: A, dim0: int, dim1: int, *, out: A | None = None) -> A: ...
def unflatten(input: A, dim: int, sizes: Sequence[int], *, out: A | None = None) -> A: ...
def unfold(
    input: A,
    kernel_size: int | Sequence[int],
    dilation: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    stride: int | Sequence[int] = 1,
    *,
    out: A | None = None,
) -> A: ...
def unsqueeze(input: A, dim: int, *, out: A | None = None) -> A: ...
def var(
    input: A,
    dim: int | Sequence[int] | None = None,
    *,
    correction: float = 1,
    keepdim: bool = False,
    out: A | None = None,
) -> A: ...
def where(
    condition: dpnp.ndarray,
    input: Operand | float,
    other: Operand | float,
    *,
    out: dpnp.ndarray | Array | None = None,
) -> dpnp.ndarray | Array: ...
