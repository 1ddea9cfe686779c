# SPDX-License-Identifier: Apache-2.0
"""Values and shapes that functions refuse: the message names function, argument and rule."""

import pytest
from functional.refusals import assert_refused

REFUSED = """
conv2d(f(3, 5), f(4, 3, 3, 3)) -> input must have 4 or 3 axes
conv2d(f(1, 3, 0, 5), f(4, 3, 3, 3)) -> no empty axis
conv2d(f(1, 4, 5, 5), f(4, 3, 3, 3)) -> 4 input channels (4 / groups=1)
conv2d(f(1, 4, 5, 5), f(4, 4, 3)) -> weight must have 4 axes
conv2d(f(1, 4, 5, 5), f(3, 2, 3, 3), groups=2) -> groups=2 divides
conv2d(f(1, 4, 5, 5), f(3, 4, 3, 3), groups=3) -> groups must be
conv2d(f(1, 4, 5, 5), f(3, 4, 3, 3), f(4)) -> bias must have shape (3,)
conv2d(f(1, 4, 5, 5), f(3, 4, 3, 3), stride=0) -> stride must be
conv2d(f(1, 4, 5, 5), f(3, 4, 3, 3), padding=-1) -> padding must be
conv2d(f(1, 4, 5, 5), f(3, 4, 3, 3), padding=(1, 1, 1)) -> padding must be
conv2d(f(1, 4, 5, 5), f(3, 4, 3, 3), padding="full") -> 'valid', 'same'
conv2d(f(1, 4, 5, 5), f(3, 4, 3, 3), padding="same", stride=2) -> 'same'
conv2d(f(1, 4, 5, 5), f(3, 4, 3, 3), dilation=3) -> must fit into
conv_transpose2d(f(3, 5), f(3, 4, 3, 3)) -> input must have 4 or 3 axes
conv_transpose2d(f(1, 4, 5, 5), f(3, 4, 3, 3)) -> 4 input channels first
conv_transpose2d(f(1, 4, 5, 5), f(4, 4, 3)) -> weight must have 4 axes
conv_transpose2d(f(1, 4, 5, 5), f(4, 2, 3, 3), groups=3) -> groups must be
conv_transpose2d(f(1, 4, 5, 5), f(4, 2, 3, 3), f(2), groups=2) -> bias must have shape (4,)
conv_transpose2d(f(1, 4, 5, 5), f(4, 2, 3, 3), output_padding=1) -> output_padding must be less
conv_transpose2d(f(1, 4, 1, 1), f(4, 2, 3, 3), padding=2) -> padding must leave
unfold(f(2, 3, 4), 5) -> kernel_size must fit into the image
unfold(f(3, 4), 2) -> input must be of floats with 4 or 3 axes
fold(f(2, 3, 4), 4, 2) -> input must have a multiple of 4 rows and 9 columns
max_pool2d(f(2, 3, 6, 6), 0) -> kernel_size must be
max_pool2d(f(2, 3, 6, 6), 7) -> kernel must fit into
max_pool2d(f(2, 3, 6, 6), 2, 2, 2) -> padding must be at most half
max_pool2d(f(2, 3, 6, 6), (2, 2, 2)) -> kernel_size must be
max_pool1d(f(2, 3, 6, 6), 2) -> input must have 3 or 2 axes
max_pool2d(f(2, 3, 6, 6), 2, stride=0) -> stride must be
avg_pool2d(f(2, 3, 6, 6), 2, divisor_override=0) -> divisor_override must be
avg_pool2d(f(2, 3, 6, 6), 3, 1, 2) -> padding must be at most half
adaptive_avg_pool2d(f(2, 3, 6, 6), 0) -> output_size must be
adaptive_max_pool2d(f(2, 3, 6, 6), (2**32 + 1, 1)) -> output_size must need at most 4096 kinds
adaptive_avg_pool2d(f(2, 3, 6, 6), (2, 2, 2)) -> output_size must be
lp_pool2d(f(2, 3, 6, 6), 0, 2) -> norm_type must be
max_unpool2d(f(1, 1, 2, 2), z(1, 1, 2, 3), 2) -> indices must have the shape of input
max_unpool2d(f(1, 1, 2, 2), z(1, 1, 2, 2), 2, output_size=(6, 4)) -> output_size must differ from
max_unpool2d(f(1, 1, 2, 2), z(1, 1, 2, 2), 2, output_size=(4,)) -> output_size must be 2 sizes
max_unpool2d(f(1, 1, 2, 2), z(1, 1, 2, 2), 0) -> kernel_size must be an int or 2 of them
max_unpool2d(f(1, 1, 2, 2), z(1, 1, 2, 2), 2, padding=3) -> output_size must be positive
max_unpool2d(f(2, 2), z(1, 1, 2, 2), 2) -> input must have shape
batch_norm(f(5), f(5), f(5)) -> input must have shape (N, C, *S)
batch_norm(f(2, 5, 3), None, f(5)) -> running_mean and running_var must both be
batch_norm(f(2, 5, 3), None, None) -> running_mean must be an array
batch_norm(f(2, 5, 3), f(4), f(5)) -> running_mean must have shape (5,), got (4,)
batch_norm(f(2, 5, 3), f(5), f(5), f(4)) -> weight must have shape (5,)
batch_norm(f(2, 5, 3), f(5), f(5), bias=f(1, 5)) -> bias must have shape (5,)
batch_norm(f(1, 5, 1), f(5), f(5), training=True) -> input must have more than 1 value
batch_norm(f(2, 5, 3), f(5), f(5), eps=-1e-5) -> eps must not be negative
group_norm(f(4, 6, 5), 4) -> num_groups must divide the 6 channels, got 4
group_norm(f(4, 6, 5), 0) -> num_groups must divide
group_norm(f(4), 1) -> input must have shape (N, C, *S)
group_norm(f(1, 6, 1), 6) -> input must have more than 1 value per group
group_norm(f(4, 6, 5), 2, f(5)) -> weight must have shape (6,), got (5,)
group_norm(f(4, 6, 5), 2, f(6), f(6), -1.0) -> eps must not be negative
instance_norm(f(4, 6, 1)) -> input must have more than 1 position
instance_norm(f(4)) -> input must have shape (N, C, *S)
instance_norm(f(4, 6, 5), f(6)) -> running_mean and running_var must both
instance_norm(f(4, 6, 5), use_input_stats=False) -> running_mean must be an array
instance_norm(f(4, 6, 5), weight=f(5)) -> weight must have shape (6,)
layer_norm(f(4, 3), ()) -> normalized_shape must be the last axes of (4, 3), got ()
layer_norm(f(4, 3), (4,)) -> normalized_shape must be the last axes
rms_norm(f(4, 3), (2, 4, 3)) -> normalized_shape must be the last axes
layer_norm(f(4, 3), (3,), f(4)) -> weight must have shape (3,), got (4,)
rms_norm(f(4, 3), (3,), f(4)) -> weight must have shape (3,), got (4,)
layer_norm(f(4, 3), (3,), eps=-1.0) -> eps must not be negative, got -1.0
rms_norm(f(4, 3), (3,), eps=-1.0) -> eps must not be negative, got -1.0
local_response_norm(f(3, 5), 3) -> input must have shape (N, C, *S), got (3, 5)
local_response_norm(f(3, 5, 2), 0) -> size must be at least 1, got 0
normalize(f(2, 3), eps=-1.0) -> eps must not be negative
scaled_dot_product_attention(f(8), f(7, 8), f(7, 8)) -> query must have two axes or more
scaled_dot_product_attention(f(6, 5, 8), f(6, 7, 9), f(6, 7, 8)) -> key must have 8 features
scaled_dot_product_attention(f(6, 5, 8), f(6, 7, 8), f(6, 8, 8)) -> value must have 7 rows
scaled_dot_product_attention(f(5, 8), f(7, 8), f(7, 8), f(5, 6)) -> must broadcast to (5, 7)
scaled_dot_product_attention(f(5, 8), f(7, 8), f(7, 8), f(7)) -> attn_mask must broadcast
scaled_dot_product_attention(f(5, 8), f(7, 8), f(7, 8), f(1, 5, 7)) -> attn_mask must broadcast
scaled_dot_product_attention(f(5, 8), f(7, 8), f(7, 8), dropout_p=-0.1) -> must be in [0, 1]
scaled_dot_product_attention(f(6, 5, 8), *[f(4, 7, 8)] * 2, enable_gqa=True) -> that divides 6
scaled_dot_product_attention(f(5, 8), *[f(7, 8)] * 2, enable_gqa=True) -> query must have heads
embedding(i(2), f(3, 2), 3) -> padding_idx must be in [-3, 3), got 3
embedding(i(2), f(3, 2), max_norm=1.0) -> max_norm must be omitted here
embedding(i(2), f(3, 2), sparse=True) -> sparse must be omitted here
embedding(i(2), f(2)) -> weight must have shape (V, D)
embedding(i(2), f(0, 2)) -> weight must have a row, got shape (0, 2)
one_hot(i(2), 0) -> num_classes must be at least 1, got 0
one_hot(i(0)) -> num_classes must be given for an empty array
embedding_bag(i(2, 3), f(4, 2), mode="min") -> mode must be 'sum', 'mean' or 'max', got 'min'
embedding_bag(i(2, 3), f(4, 2), z(1)) -> offsets must be None for an input of 2 axes
embedding_bag(i(2, 3), f(4, 2), per_sample_weights=f(2, 3)) -> mode must be 'sum' for per_sample
embedding_bag(i(2), f(4, 2), z(1), mode="sum", per_sample_weights=f(1)) -> must have the shape of
embedding_bag(i(2, 3), f(4, 2), max_norm=1.0) -> max_norm must be omitted here, got 1.0
embedding_bag(i(2, 3), f(4, 2), scale_grad_by_freq=True) -> scale_grad_by_freq must be omitted
embedding_bag(i(2, 3), f(4, 2), padding_idx=4) -> padding_idx must be in [-4, 4), got 4
embedding_bag(i(2, 3), f(4, 2), include_last_offset=True) -> include_last_offset must be False
embedding_bag(i(2, 0), f(4, 2), mode="max") -> input must have an index for each maximum
embedding_bag(i(3), f(4, 2)) -> offsets must be an array for an input of 1 axis, got None
embedding_bag(i(3), f(4, 2), z(1, 1)) -> offsets must have 1 axis, got shape (1, 1)
embedding_bag(i(3), f(4, 2), z(0), include_last_offset=True) -> offsets must have 1 axis and an
embedding_bag(i(2, 3, 1), f(4, 2)) -> input must have 1 or 2 axes, got shape (2, 3, 1)
multi_head_attention_forward(*mha(16)) -> query must have shape
multi_head_attention_forward(*mha(8, 3)) -> divisible by num_heads=3
multi_head_attention_forward(*mha(8, 2), is_causal=True) -> is_causal must come with attn_mask
multi_head_attention_forward(*mha(8, 2, f(1, 1, 8))) -> bias_k and bias_v must both
linear(f(2, 4), f(2, 3)) -> weight must have shape
linear(f(2, 4), f(2, 4), f(4)) -> bias must have shape (2,)
matmul(f(2, 4), f(2, 4)) -> other must have 4 rows
matmul(f(2, 4), f()) -> input and other must have an axis
mm(f(2, 4), f(4)) -> mat2 must have 2 axes
bmm(f(2, 4), f(2, 4)) -> input must have 3 axes
addmm(f(2, 4), f(2, 4), f(4, 2)) -> input must broadcast to (2, 2)
bilinear(f(2, 4), f(2, 4), f(2, 4)) -> weight must have shape
dot(f(2, 3), f(2, 3)) -> input must have 1 axes, got shape
mv(f(2, 3), f(1)) -> vec must have 3 elements, got 1
tensordot(f(2, 3), f(2, 3), 1) -> must have one size
tensordot(f(2, 3), f(2, 3), 3) -> dims must be at most 2, got 3
einsum("ij,jk->ik", f(2, 3)) -> a term for each of 1 operands
einsum("ij,jk->ik", f(2, 3), f(2, 3)) -> axes 'j' must be equally long
einsum("ijk->i", f(2, 3)) -> 'ijk' must name the 2 axes
einsum("ij->ik", f(2, 3)) -> the result must name axes of operands once
einsum("i1->i", f(2, 3)) -> equation must be letters
einsum("ii->i", f(2, 3)) -> axes 'i' must be equally long
cross(f(4, 5), f(4, 5)) -> input must have an axis of 3 elements
cross(f(4, 5), f(4, 5), 1) -> input must have 3 elements along axis 1
gelu(f(3), approximate="sigmoid") -> approximate must be 'none' or 'tanh'
hardtanh(f(3), 1.0, -1.0) -> min_val must be at most max_val=-1.0
rrelu(f(3), 1.0, 0.5) -> lower must be at most upper=0.5, got 1.0
softshrink(f(3), -0.1) -> lambd must not be negative, got -0.1
celu(f(3), 0.0) -> alpha must not be 0
softplus(f(3), 0.0) -> beta must not be 0
glu(f(2, 3)) -> input must have an even size along 1
glu(f(2, 3), 2) -> dim must be in [-2, 1], got 2
glu(f()) -> input must have an axis
prelu(f(2, 3), f(2)) -> weight must have shape (1,) or (3,)
softmax(f(2, 3), 2) -> dim must be in [-2, 1], got 2
dropout(f(3), -0.1) -> p must be in [0, 1], got
dropout(f(3), 1.1) -> p must be in [0, 1], got
dropout(f(3), float("nan")) -> p must be in [0, 1], got
dropout2d(f(2, 3), -1) -> p must be in [0, 1], got -1
dropout2d(f(2, 3)) -> input must have 3 or 4 axes
feature_alpha_dropout(f(3), training=True) -> at least 2 axes
gumbel_softmax(f(2, 3), 0) -> tau must be positive
gumbel_softmax(f(2, 3), dim=2) -> dim must be in
add(f(2, 4), f(2, 3)) -> other must broadcast with input
mul(u(2), 1000) -> numbers must fit the dtype
sub(u(2), 1000) -> numbers must fit the dtype
pow(u(2), -1) -> exponent must not be negative for integers, got -1
pow(300, u(2)) -> numbers must fit the dtype
div(u(2), 300, rounding_mode="trunc") -> numbers must fit the dtype
div(f(3), f(3), rounding_mode="ceil") -> rounding_mode must be None, 'trunc' or 'floor'
clamp(f(2, 4)) -> min or max must be given
clamp(f(2, 4), f(2, 3)) -> min must broadcast with input
isclose(f(2), f(2), rtol=-1) -> rtol must not be negative, got -1
masked_fill(f(2, 4), m(4), f(2, 4)) -> value must have no axes
sum(f(2, 4), 2) -> dim must be in
sum(f(2, 4), (0, -2)) -> dim must name each axis once
amax(f(0, 4), 0) -> input must not be empty
argmax(f(0, 4)) -> input must not be empty
norm(f(2, 4), "nuc") -> p must be a number or 'fro'
cumsum(f(2, 3), 2) -> dim must be in
cumprod(f(2, 3), 2) -> dim must be in
bincount(z(2) - 1) -> input must not be negative, got -1
bincount(i(1, 2)) -> input must have one axis
bincount(i(2), i(1)) -> weights must have shape (2,)
histc(f(2), 0) -> bins must be at least 1, got 0
histc(f(2), 2, 2, 1) -> max must be finite and at least
trace(f(5)) -> input must have 2 axes
cov(f(1, 4, 5)) -> input must have at most 2 axes
cov(f(4, 5), aweights=f(4, 5)) -> aweights must have shape (5,)
diff(f(4, 5), -1) -> n must be at least 0, got -1
topk(f(7), 8) -> k must be at most 7, got 8
kthvalue(f(2, 3), 4) -> k must be at most 3, got 4
kthvalue(f(2, 3), 0) -> k must be at least 1, got 0
median(f(2, 3), 2) -> dim must be in [-2, 1], got 2
median(f(2, 0), 1) -> input must not be empty along dim
median(n(0, 3)) -> input must not be
quantile(f(2, 3), 1.5) -> q must be in [0, 1], got 1.5
quantile(f(2, 3), f(2, 3)) -> q must be a number or float32 with at most one
quantile(f(0, 3), 0.5) -> input must not be empty
quantile(f(2, 3), 0.5, interpolation="odd") -> interpolation must be one
gather(f(2, 3), 1, z(3)) -> index must have 2 axes
gather(f(2, 3), 2, z(2, 3)) -> dim must be in
scatter(f(2, 3), 0, z(2, 3), f(1, 3)) -> src must be as long as index
index_select(f(2, 3), 0, z(2, 3)) -> index must have at most one
index_put(f(2, 3), (z(3),), f(2, 3)) -> values must broadcast
index_put(f(2, 2), (m(2, 2),), f(2, 2)) -> a mask must have
index_add(f(4, 5), 0, z(2), f(1, 5)) -> source must have shape
index_copy(f(4, 5), 1, z(1, 2), f(4, 5)) -> index must have at most one
index_copy(f(4, 5), 1, z(2), f(4, 5)) -> source must have shape (4, 2)
index_fill(f(4, 5), 1, z(2), f(4, 5)) -> value must have no axes
take(f(0, 5), z(2)) -> input must have elements
slice_scatter(f(4, 5), f(4, 5), 1, 1) -> src must have shape (4, 4)
slice_scatter(f(4, 5), f(4, 5), step=0) -> step must be at least 1
select_scatter(f(4, 5), f(5), 0, 4) -> index must be in [-4, 3]
masked_scatter(f(4, 5), m(4, 2), f(4, 5)) -> mask must broadcast
scatter_reduce(f(3), 0, z(3), f(3), "max") -> reduce must
triplet_margin_loss(f(4, 5), f(4, 5), f(4, 5), margin=0.0) -> margin must be positive, got 0
triplet_margin_loss(f(4, 5), f(4, 5), f(5)) -> one number of axes
gaussian_nll_loss(f(4, 5), f(4, 5), f(3, 5)) -> var must have the shape of input
gaussian_nll_loss(f(4, 5), f(4, 5), -1.0) -> var must not be negative
multi_margin_loss(f(4, 5), i(1)) -> target must have shape
cosine_embedding_loss(f(4, 5), f(4, 5), f(4, 5)) -> inputs must be
margin_ranking_loss(f(4, 5), f(5), f(4, 5)) -> one number of axes
soft_margin_loss(f(4, 5), f(4, 5), reduction="all") -> reduction must be one of
nll_loss(f(7, 5), i(6)) -> target must have shape (7,), got (6,)
nll_loss(f(7, 5), i(7), f(4)) -> weight must have shape (5,)
nll_loss(f(), i()) -> input must have an axis of classes
nll_loss(f(7, 0), i(7)) -> input must have a class, got shape (7, 0)
cross_entropy(f(7, 5), i(7, 1)) -> target must have shape (7,)
cross_entropy(f(7, 5), f(6, 5)) -> target must have shape (7, 5)
cross_entropy(f(7, 5), i(7), label_smoothing=1.5) -> label_smoothing must be in [0, 1], got 1.5
cross_entropy(f(7, 5), i(7), reduction="batchmean") -> reduction must be one of
mse_loss(f(2, 3), f(2, 3), reduction="average") -> reduction must be one of
smooth_l1_loss(f(2, 3), f(2, 3), beta=-1.0) -> beta must not be negative
huber_loss(f(2, 3), f(2, 3), delta=0.0) -> delta must be positive, got 0.0
mse_loss(f(2, 3), f(2, 2)) -> target must broadcast with input, (2, 3)
mse_loss(f(2, 3), f(2, 3), weight=f(3)) -> weight must have the shape of input
binary_cross_entropy(f(2, 3), f(3)) -> target must have the shape
binary_cross_entropy_with_logits(f(2, 3), f(3)) -> target must have the shape of input
binary_cross_entropy_with_logits(f(2, 3), f(2, 3), f(2, 2)) -> weight must broadcast to
binary_cross_entropy_with_logits(f(3), f(3), pos_weight=f(2, 3)) -> pos_weight must broadcast to
binary_cross_entropy_with_logits(f(3), f(3), reduction="batchmean") -> sum', got 'batchmean'
kl_div(f(2, 3), f(2, 2)) -> target must broadcast with input
kl_div(f(2, 3), f(2, 3), reduction="batch") -> reduction must be one of
ctc_loss(f(5, 2, 4), i(2, 3), (5, 5), (3, 3), blank=4) -> blank must be in
ctc_loss(f(5, 2, 4), i(2, 3), (5,), (3, 3)) -> input_lengths must be 2 numbers
ctc_loss(f(5, 2, 4), i(2, 3), (5, 5), (3, 4)) -> target_lengths must be at most 3
ctc_loss(f(5, 2, 4), i(1, 3), (5, 5), (3, 3)) -> targets must have shape
ctc_loss(f(5, 2, 4), i(2, 3), (5, 6), (3, 3)) -> input_lengths must be at most 5, got 6
ctc_loss(f(5, 2, 4), i(3), (5, 5), (1, 1)) -> target_lengths must have the sum 3
flip(f(1, 2), (0, 0)) -> dims must name each axis once
roll(f(1, 2), (1, 2), 0) -> shifts must be one for each
expand(f(1, 2), (1, 3)) -> size must broadcast
tril(f(2)) -> input must have at least 2 axes
rot90(f(2, 3), 1, (0, 0)) -> dims must be two different axes
unbind(f()) -> input must have an axis
select(f(2, 3), 0, 2) -> index must be less than 2, got 2
movedim(f(2, 3), (0, 0), (0, 1)) -> must name as many axes, each once
diagonal(f(2, 3), 0, 1, 1) -> dim1 and dim2 must differ
diag(f(1, 2, 3)) -> input must have 1 or 2 axes
cat(f(2, 3)) -> tensors must be a list
cat([f(2, 3), f(2, 1)]) -> tensors must have equal shapes but for axis 0
stack([f(2, 3), f(1, 3)]) -> tensors must have one shape
split(f(2, 3), [1, 1], 1) -> split_size_or_sections must add up to 3
split(f(2, 3), 0) -> split_size_or_sections must be positive
chunk(f(2, 3), 0) -> chunks must be at least 1, got 0
pad(f(2, 3, 4), (1,)) -> pad must have two numbers
pad(f(2, 3, 4), (1,) * 8) -> pad must have two numbers
pad(f(2, 3, 4), (-3, -2)) -> pad must leave at least 0 of 4 elements
pad(f(2, 3, 4), (1, 1), "mirror") -> mode must be one of 'constant', 'reflect'
pad(f(2, 3, 4), (4, 0), "reflect") -> pad must be at most 3 along an axis of 4
pad(f(2, 3, 4), (0, 5), "circular") -> pad must be at most 4 along an axis of 4
pad(f(2, 3, 4), (1, 1, 1, 1, 1, 1), "reflect") -> one or two axes more
pad(f(2, 3, 4), (1, 1), "reflect", 2.0) -> value must be None for mode 'reflect'
channel_shuffle(f(2, 3, 4), 2) -> groups must divide the 3 channels, got 2
pixel_shuffle(f(2, 3, 4), 2) -> channels in multiples of 4, got 2
pixel_unshuffle(f(2, 3, 4), 2) -> downscale_factor must divide height and width
reshape(f(2, 3, 4), (5, 5)) -> shape must have 24 elements, got (5, 5)
reshape(f(2, 3, 4), (-1, -1)) -> shape must have at most one -1
reshape(f(2, 3, 4), (-1, 5)) -> shape must have 24 elements
flatten(f(2, 3, 4), 2, 1) -> start_dim must not come after end_dim
permute(f(2, 3, 4), (0, 1)) -> dims must name 3 axes
permute(f(2, 3, 4), (0, 1, 1)) -> dims must name 3 axes
transpose(f(2, 3, 4), 0, 3) -> dim1 must be in [-3, 2], got 3
unsqueeze(f(2, 3, 4), 4) -> dim must be in [-4, 3], got 4
narrow(f(2, 3, 4), 0, 1, 2) -> start + length must be at most 2, got 3
interpolate(f(2, 3, 6, 6)) -> size or scale_factor must be given
interpolate(f(2, 3, 6, 6), 3, 2.0) -> size or scale_factor must be given
interpolate(f(2, 3, 6, 6), (3, 3, 3)) -> size must be
interpolate(f(2, 3, 6, 6), 0) -> size must be
interpolate(f(2, 3, 6, 6), scale_factor=0.1) -> scale_factor must leave
interpolate(f(2, 3, 6, 6), scale_factor=-1.0) -> scale_factor must be
interpolate(f(2, 3, 6, 6), 3, mode="cubic") -> mode must be one of
interpolate(f(2, 3, 6, 6), 3, mode="linear") -> for 4 axes
interpolate(f(2, 3, 6, 6), 3, align_corners=True) -> align_corners must be None
interpolate(f(2, 3, 6, 6), 3, antialias=True) -> antialias must go with
interpolate(f(2, 3, 6, 6), 3, recompute_scale_factor=True) -> recompute_scale_factor must go with
grid_sample(f(1, 2, 3, 3), f(1, 2, 2, 1)) -> grid must have shape
grid_sample(f(1, 2, 3, 3), f(1, 2, 2, 2), "cubic") -> mode must be one of
grid_sample(f(1, 2, 3, 3), f(1, 2, 2, 2), padding_mode="wrap") -> padding_mode must be one of
affine_grid(f(2, 2, 2), (1, 2, 3, 3)) -> theta must have shape
roi_align(f(2, 3, 6, 5), f(3, 4), 2, 1.0, 2) -> input must have shape
nms(f(5, 4), f(2), 0.5) -> boxes must have shape
fft.fft(f(3, 4), n=0) -> n must be at least 1, got 0
fft.irfft(f(3, 1)) -> n must be at least 1, got 0
fft.fft(f(3, 4), dim=2) -> dim must be in
fft.fft(f(3, 4), norm="both") -> norm must be one of backward
fft.fft(f()) -> input must have an axis
fft.fftn(f(3, 4), dim=(0, 0)) -> dim must name axes of shape
fft.fftn(f(3, 4), s=(1, 2, 3)) -> s must have at most 2 sizes
fft.fft2(f(3, 4), s=(1,)) -> s must have a size for each of dim
fft.rfftn(f()) -> dim must name at least one axis
fft.fftfreq(0) -> n must be at least 1
fft.fftfreq(3, 0) -> d must not be 0
linalg.inv(f(3, 2, 3)) -> A must be square, got shape (3, 2, 3)
linalg.inv(f(3)) -> A must have at least 2 axes
linalg.solve(f(3, 3, 3), f(3, 2, 3)) -> B must have 3 rows for A
linalg.solve(f(3, 3, 3), f(2, 3, 3)) -> batches must broadcast
linalg.solve(f(3, 3, 3), f(3), left=False) -> left must be True for vectors
linalg.eigh(f(3, 3, 3), "Q") -> UPLO must be 'L' or 'U', got 'Q'
linalg.qr(f(3, 3, 3), "R") -> mode must be 'reduced'
linalg.matrix_norm(f(3, 3, 3), 3) -> ord must be one of
linalg.matrix_norm(f(3, 3, 3), 2, (1, 1)) -> dim must be two different axes
linalg.norm(f(3, 3, 3), 2) -> dim must name one or two axes
linalg.norm(f(3, 3, 3), "fro", 1) -> ord must be a number for vectors
linalg.cond(f(3, 2, 3), 1) -> A must be square
linalg.multi_dot([f(3, 3)]) -> tensors must be at least 2
linalg.multi_dot([f(3, 3, 3), f(3, 3, 3)]) -> tensors[0] must have 2 axes
linalg.multi_dot([f(3, 3), f(2, 3)]) -> must have matching shapes
linalg.lstsq(f(4, 3), f(3, 2)) -> b must have 4 rows for A
linalg.lstsq(f(4, 3), f(4, 3), driver="qr") -> driver must be one of LAPACK's four, got 'qr'
quantize(f(4, 8), f(1), axis=0) -> scale must have shape (4,)
quantize(f(4, 8), f(), dtype="int2") -> dtype must be one of int8
quantize(f(4, 8), f(), group_size=2) -> axis must be given
quantize(f(4, 8), f(), axis=1, group_size=3) -> group_size must divide
quantize(f(4, 7), f(), dtype="int4") -> the last axis must be even
quantize_dynamic(f(0, 8)) -> input must not be
quantized_linear(q(4, 8), q(4, 8)._replace(axis=1)) -> scale of weight must have shape
quantized_linear(q(4, 8), q(4, 8), out_dtype="int8") -> out_scale must be given with out_dtype int8
quantized_linear(q(4, 8), q(4, 8), f(8)) -> bias must have shape (4,)
quantized_matmul(q(4, 8), q(4, 8)) -> other must have shape
quantized_conv2d(q(4, 8), q(4, 8)) -> input must have 4 or 3 axes
linear(f(4, 8), q(4, 8)._replace(axis=1, group_size=4)) -> scale of weight must have shape
lstm(f(3, 2, 4, 1), *cell()) -> input must have 3 axes
lstm(f(0, 2, 4), *cell()) -> at least one step
lstm(f(3, 2, 6), *cell()) -> params must have weight_ih of shape (20, 6)
lstm(f(3, 3, 4), *cell()) -> hx must have shape (1, 3, 5)
lstm(f(3, 2, 4), *cell(), num_layers=2) -> params must be 4 arrays for each of 2 layers
lstm(f(3, 2, 4), *cell(), num_layers=0) -> num_layers must be at least 1
lstm(f(3, 2, 4), *cell(), bias=False) -> params must be 2 arrays
lstm(f(3, 2, 4), *cell(), dropout=1.5) -> dropout must be in [0, 1], got 1.5
pack_padded_sequence(f(3, 2, 2), (1, 3)) -> lengths must fall
pack_padded_sequence(f(3, 2, 2), (4, 3)) -> lengths must be 2 numbers
pad_packed_sequence(pack_padded_sequence(f(3, 2, 2), (3, 1)), total_length=2) -> at least 3
view_as_complex(f(2, 3)) -> input must have shape
complex(f(2, 3), f(2, 2)) -> imag must broadcast with real
"""


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_wrong_arguments_are_named(queue):
    assert_refused(REFUSED, ValueError, queue)
