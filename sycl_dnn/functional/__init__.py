# SPDX-License-Identifier: Apache-2.0
"""``torch.nn.functional`` for dpnp arrays, over oneDNN.

Names, arguments, defaults and semantics are those of ``torch.nn.functional``.
"""

import inspect
import sys

from sycl_dnn.call.operation import show_arrays as _show_arrays
from sycl_dnn.functional import docstring_examples, fft, linalg  # noqa: F401 - F.fft
from sycl_dnn.functional.activation.activations import (
    celu,
    elu,
    gelu,
    glu,
    hardshrink,
    hardsigmoid,
    hardswish,
    hardtanh,
    leaky_relu,
    logsigmoid,
    mish,
    prelu,
    relu,
    relu6,
    selu,
    sigmoid,
    silu,
    softplus,
    softshrink,
    softsign,
    tanh,
    tanhshrink,
    threshold,
)
from sycl_dnn.functional.activation.channel_dropout import (
    alpha_dropout,
    dropout1d,
    dropout2d,
    dropout3d,
    feature_alpha_dropout,
    gumbel_softmax,
)
from sycl_dnn.functional.activation.dropout import dropout
from sycl_dnn.functional.activation.randomized_relu import rrelu
from sycl_dnn.functional.activation.softmax import log_softmax, softmax, softmin
from sycl_dnn.functional.arithmetic.binary import add, div, maximum, minimum, mul, pow, sub
from sycl_dnn.functional.arithmetic.comparison import clamp, eq, ge, gt, le, lt, ne, where
from sycl_dnn.functional.arithmetic.convert import asarray, astype, from_numpy, tensor
from sycl_dnn.functional.arithmetic.elementwise import abs, exp, log, neg, reciprocal, sqrt, square
from sycl_dnn.functional.arithmetic.mathematical import (
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    bitwise_and,
    bitwise_left_shift,
    bitwise_not,
    bitwise_or,
    bitwise_right_shift,
    bitwise_xor,
    ceil,
    cos,
    cosh,
    erf,
    erfc,
    exp2,
    expm1,
    floor,
    floor_divide,
    fmod,
    isfinite,
    isinf,
    isnan,
    log1p,
    log2,
    log10,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    remainder,
    round,
    rsqrt,
    sign,
    sin,
    sinh,
    tan,
    trunc,
)
from sycl_dnn.functional.arithmetic.mixtures import (
    addcdiv,
    addcmul,
    clamp_max,
    clamp_min,
    lerp,
    logaddexp,
    logit,
    masked_fill,
    nan_to_num,
)
from sycl_dnn.functional.arithmetic.special import (
    allclose,
    copysign,
    deg2rad,
    digamma,
    erfinv,
    float_power,
    fmax,
    fmin,
    frac,
    heaviside,
    hypot,
    isclose,
    lgamma,
    logaddexp2,
    rad2deg,
    signbit,
    sinc,
    xlogy,
)
from sycl_dnn.functional.attention import scaled_dot_product_attention
from sycl_dnn.functional.complex_numbers import complex_compositions  # noqa: F401 - its rules
from sycl_dnn.functional.complex_numbers.complex_parts import (
    angle,
    complex,
    conj,
    imag,
    is_complex,
    polar,
    real,
    view_as_complex,
    view_as_real,
)
from sycl_dnn.functional.conv.convolution import conv1d, conv2d, conv3d
from sycl_dnn.functional.conv.fold import fold, unfold
from sycl_dnn.functional.conv.transposed import conv_transpose1d, conv_transpose2d, conv_transpose3d
from sycl_dnn.functional.creation.factories import (
    arange,
    empty,
    empty_like,
    eye,
    full,
    full_like,
    linspace,
    ones,
    ones_like,
    zeros,
    zeros_like,
)
from sycl_dnn.functional.creation.random_numbers import (
    bernoulli,
    multinomial,
    rand,
    rand_like,
    randint,
    randn,
    randn_like,
    randperm,
)
from sycl_dnn.functional.embeddings import embedding, embedding_bag, one_hot
from sycl_dnn.functional.index import keys_with_arrays, selected
from sycl_dnn.functional.index.gathering import (
    gather,
    index_put,
    index_select,
    scatter,
    scatter_add,
    take_along_dim,
)
from sycl_dnn.functional.index.indexed_slices import (
    index_add,
    index_copy,
    index_fill,
    masked_scatter,
    select_scatter,
    slice_scatter,
    take,
)
from sycl_dnn.functional.index.order_statistics import (
    kthvalue,
    median,
    nanmedian,
    nanquantile,
    quantile,
)
from sycl_dnn.functional.index.ordering import argsort, masked_select, nonzero, sort, topk, unique
from sycl_dnn.functional.index.scattered_reductions import scatter_reduce
from sycl_dnn.functional.loss.margins import (
    cosine_embedding_loss,
    hinge_embedding_loss,
    margin_ranking_loss,
    multi_margin_loss,
    multilabel_margin_loss,
    multilabel_soft_margin_loss,
    soft_margin_loss,
    triplet_margin_loss,
    triplet_margin_with_distance_loss,
)
from sycl_dnn.functional.loss.probabilities import (
    bce_with_logits,
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cross_entropy,
    gaussian_nll_loss,
    kl_div,
    nll_loss,
    poisson_nll_loss,
)
from sycl_dnn.functional.loss.regression import huber_loss, l1_loss, mse_loss, smooth_l1_loss
from sycl_dnn.functional.loss.sequences import ctc_loss
from sycl_dnn.functional.multi_head_attention import multi_head_attention_forward
from sycl_dnn.functional.normalization.batch_norm import batch_norm
from sycl_dnn.functional.normalization.group_norm import group_norm, instance_norm
from sycl_dnn.functional.normalization.layer_norm import layer_norm, rms_norm
from sycl_dnn.functional.normalization.local_response import local_response_norm
from sycl_dnn.functional.pool.adaptive import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
)
from sycl_dnn.functional.pool.average import (
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    lp_pool1d,
    lp_pool2d,
    lp_pool3d,
)
from sycl_dnn.functional.pool.maximum import (
    max_pool1d,
    max_pool2d,
    max_pool3d,
    max_unpool1d,
    max_unpool2d,
    max_unpool3d,
)
from sycl_dnn.functional.product.contraction import dot, einsum, mv, outer, tensordot
from sycl_dnn.functional.product.cross_products import cross
from sycl_dnn.functional.product.matmul import addmm, baddbmm, bilinear, bmm, linear, matmul, mm
from sycl_dnn.functional.quantized.quantize import (
    QuantizedTensor,
    dequantize,
    quantize,
    quantize_dynamic,
)
from sycl_dnn.functional.quantized.quantized_convolution import (
    quantized_conv1d,
    quantized_conv2d,
    quantized_conv3d,
)
from sycl_dnn.functional.quantized.quantized_products import quantized_linear, quantized_matmul
from sycl_dnn.functional.recurrent.network import gru, lstm, rnn_relu, rnn_tanh
from sycl_dnn.functional.recurrent.packed import (
    PackedSequence,
    pack_padded_sequence,
    pad_packed_sequence,
)
from sycl_dnn.functional.reduction.counts import bincount, count_nonzero, histc
from sycl_dnn.functional.reduction.covariances import corrcoef, cov
from sycl_dnn.functional.reduction.cumulative import (
    cummax,
    cummin,
    cumprod,
    cumsum,
    diff,
    linear_recurrence,
    logcumsumexp,
)
from sycl_dnn.functional.reduction.distances import cdist, cosine_similarity, pairwise_distance
from sycl_dnn.functional.reduction.extremes import (
    all,
    amax,
    amin,
    aminmax,
    any,
    argmax,
    argmin,
    max,
    min,
)
from sycl_dnn.functional.reduction.nan_sums import nanmean, nansum
from sycl_dnn.functional.reduction.statistics import (
    logsumexp,
    norm,
    normalize,
    std,
    std_mean,
    var,
    var_mean,
)
from sycl_dnn.functional.reduction.sums import mean, prod, sum, trace
from sycl_dnn.functional.shape import arrangement, slice_gradients
from sycl_dnn.functional.shape.arrangement import (
    broadcast_to,
    expand,
    flip,
    meshgrid,
    repeat_interleave,
    roll,
    tile,
    tril,
    triu,
)
from sycl_dnn.functional.shape.axes import (
    diag,
    diagonal,
    hstack,
    movedim,
    rot90,
    select,
    swapaxes,
    unbind,
    vstack,
)
from sycl_dnn.functional.shape.interpolate import interpolate
from sycl_dnn.functional.shape.joining import cat, chunk, narrow, split, stack, tensor_split
from sycl_dnn.functional.shape.padding import pad
from sycl_dnn.functional.shape.reshaping import (
    channel_shuffle,
    flatten,
    permute,
    pixel_shuffle,
    pixel_unshuffle,
    reshape,
    squeeze,
    transpose,
    unflatten,
    unsqueeze,
)
from sycl_dnn.functional.vision.boxes import nms, roi_align
from sycl_dnn.functional.vision.grids import affine_grid, grid_sample
from sycl_dnn.lower import complex_values, dense_copies, kernel_versions
from sycl_dnn.trace import array_function as _array_function
from sycl_dnn.trace import functions, indexing

functions.provide(
    sys.modules[__name__], arrangement, selected, slice_gradients, dense_copies, keys_with_arrays,
    indexing, _array_function, kernel_versions, complex_values,
)  # fmt: skip
docstring_examples.attach(globals())

for _function in filter(inspect.isfunction, list(globals().values())):
    _show_arrays(_function)

#: The functions above, and ``QuantizedTensor``.
__all__ = sorted(n for n, value in globals().items() if callable(value) and n[0] != "_")


def __dir__() -> list[str]:
    return sorted(__all__)
