# SPDX-License-Identifier: Apache-2.0
"""Types and dtypes that functions refuse: the message names function, argument and rule."""

from functional.refusals import assert_refused

#: Functions of bits refuse floats.
BITS = "".join(
    f"bitwise_{name}(*[f(3)] * {n}) -> operands must be integers or bool, got float32\n"
    for name, n in (
        ("not", 1), ("and", 2), ("or", 2), ("xor", 2), ("left_shift", 2), ("right_shift", 2)
    )
)  # fmt: skip
REFUSED = """
conv2d(f(1, 4, 5, 5), f(3, 4, 3, 3), stride=1.5) -> stride must be an int
conv2d(f(1, 3, 5, 5), bf(4, 3, 3, 3)) -> weight must have the dtype of input, float32, got bfl
conv2d(n(1, 3, 5, 5), n(4, 3, 3, 3)) -> input must have a floating-point dtype
conv2d((1, 2), f(4, 3, 3, 3)) -> input must be a dpnp.ndarray or Array, got
conv2d(f(1, 3, 5, 5), [1]) -> weight must be a dpnp.ndarray or Array, got
conv2d(f(1, 3, 5, 5), f(4, 3, 3, 3), "no") -> bias must be a dpnp.ndarray or Array, got
max_pool2d(i(2, 3, 6, 6), 2) -> input must have a floating-point dtype or in
avg_pool2d(i(2, 3, 6, 6), 2) -> input must have a floating-point dtype, got
max_unpool2d(f(1, 1, 2, 2), n(1, 1, 2, 2), 2) -> indices must have dtype int64, got
batch_norm(f(2, 5, 3), f(5), f(5), momentum=None) -> momentum must be a number
batch_norm(n(2, 5, 3), f(5), f(5)) -> input must have a float
group_norm(n(4, 6, 5), 2) -> input must have a float
instance_norm(n(4, 6, 5)) -> input must have a float
instance_norm(f(4, 6, 5), momentum=None) -> momentum must be a number
layer_norm(f(4, 3), 3) -> normalized_shape must be a sequence
rms_norm(f(4, 3), 3) -> normalized_shape must be a sequence
layer_norm(n(4, 3), (3,)) -> input must have a float
layer_norm(f(4, 3), (3,), n(3)) -> weight must have a float
local_response_norm(f(3, 5, 2), 2.0) -> size must be an integer, got 2.0
local_response_norm(n(3, 5, 2), 3) -> input must have a float
normalize(n(2, 3)) -> input must have a float
scaled_dot_product_attention(f(5, 8), bf(7, 8), f(7, 8)) -> key must have dtype float32, got bf
scaled_dot_product_attention(f(5, 8), f(7, 8), f(7, 8), n(5, 7)) -> attn_mask must have dtype
scaled_dot_product_attention(n(5, 8), f(7, 8), f(7, 8)) -> query must have a float
embedding(i(2), f(3, 2), 0.5) -> padding_idx must be an int, got 0.5
embedding(f(3, 2), f(3, 2)) -> input must be int32 or int64, got float32
embedding(d(2, 3), d(2, 3)) -> input must be int32 or int64, got float64
embedding(i(2), int4(3, 2)) -> weight must not be of 4-bit numbers, got int4
one_hot(f(3, 2), 3) -> input must be int32 or int64, got float32
one_hot(d(2, 3), 3) -> input must be int32 or int64, got float64
embedding_bag(f(2, 3), f(4, 2)) -> input must be int32 or int64, got float32
embedding_bag(i(3), f(4, 2), f(1)) -> offsets must be int32 or int64
embedding_bag(i(2, 3), i(4, 2)) -> weight must have a floating-point dtype, got int64
embedding_bag(i(2, 3), h(4, 2), mode="sum", per_sample_weights=f(2, 3)) -> must have the dtype of
multi_head_attention_forward(*mha(8, 2), use_separate_proj_weight=True) -> q_proj_weight
linear(f(2, 4), h(2, 4)) -> weight must have the dty
softmax(n(2, 3), 1) -> input must have a floating-point dtype, got int
log_softmax(f(2, 3), 0.5) -> dim must be an int, got 0.5
softmin(f(2, 3), 1, dtype="int32") -> dtype must be a floating-point dtype, got int32
prelu(f(2, 3), bf(3)) -> weight must have the dtype of input
dropout(f(3), seed=1.5) -> seed must be an int64, got
dropout(f(3), seed="a") -> seed must be an int64, got
dropout(f(3), seed=2**70) -> seed must be an int64, got
dropout(n(3)) -> input must have a floating-point dtype
dropout1d(f(2, 3), seed=0.5) -> seed must be an int64
alpha_dropout(n(2, 3), training=True) -> floating-point
mul(f(2, 4), "2") -> other must be an array or a number, got str
where(f(2, 4), f(2, 4), f(2, 4)) -> condition must have dtype bool
where(d(2, 3), d(2, 3), d(2, 3)) -> condition must have dtype bool, got float64
exp("x") -> input must be
clamp(f(2, 4), f(2, 4), 1.0) -> min and max must both be numbers or
clamp(f(2, 4), "0") -> min must be an array or a number, got str
heaviside(f(2), i(2)) -> values must have dtype float32, got int64
hypot(i(2), 1) -> input and other must not both be integers
logaddexp2(i(2), 1) -> input and other must not both be integers
frac(i(2)) -> input must
masked_fill(f(2, 4), f(2, 4), 0.0) -> mask must have dtype bool, got float32
masked_fill(i(2, 4), m(4), 0.5) -> must fit dtype int64
addcmul(f(2), f(2), 2.0) -> tensor2 must be an array, got float
addcmul(i(2), i(2), i(2), value=0.5) -> value must be an integer for int64, got 0.5
nan_to_num(c(3)) -> input must not be complex, got complex64
mean(n(2, 4)) -> input must have a floating
var(n(2, 4)) -> input must have a floating
nanmean(i(3)) -> input must
max(f(2), f(2), keepdim=True) -> keepdim must be False for two arr
min(f(2), f(2), keepdim=True) -> keepdim must be False for two arr
bincount(f(2)) -> input must be of integers
histc(i(2)) -> input must have a floating-point dtype
cov(m(4, 5)) -> input must not be bool
nanquantile(n(2, 3), 0.5) -> must be float32 or
gather(f(2, 3), 0, f(2, 3)) -> index must be int32 or int64
scatter(f(2, 3), 0, z(2, 3), z(2, 3)) -> src must have dtype float32
index_put(f(2, 3), (z(3),), i(2, 3)) -> values must have dtype
index_add(f(4, 5), 0, f(4, 5), f(4, 5)) -> index must
index_add(f(4, 5), 0, z(2), 1.0) -> source must be an array
index_add(f(2, 5), 0, z(2), i(2, 5)) -> must have dtype
take(f(4, 5), f(4, 5)) -> index must be int32 or int64, got float32
masked_scatter(f(4, 5), f(4, 5), f(4, 5)) -> mask must have dtype bool
masked_scatter(f(4, 5), m(4, 5), i(2)) -> source must have dtype float32
scatter_reduce(f(3), 0, z(3), 1.0, "sum") -> src must be an array
scatter_reduce(f(3), 0, z(3), i(3), "sum") -> src must have dtype
scatter_reduce(m(3), 0, z(3), m(3), "amax") -> must not be bool
nll_loss(f(7, 5), f(7)) -> target must have an integer dtype, got float32
cross_entropy(i(7), i()) -> input must have a floating-point dtype, got int64
huber_loss(f(2, 3), bf(2, 3)) -> target must have the dtype of input, float32
l1_loss(n(2, 3), f(2, 3)) -> input must have a floating-point dtype
binary_cross_entropy(f(2, 3), bf(2, 3)) -> target must have the dtype of input
hstack([]) -> tensors must
interpolate(n(2, 3, 6, 6), 3, mode="bilinear") -> input must have a floating-point dtype, got
roi_align("nchw", f(3, 5), 2) -> input must be an array, got str
fft.rfft(c(3, 4)) -> input must be real, got complex64
fft.ihfft(c(3, 4)) -> input must be real
fft.fft(h(3, 4)) -> input must be float32, float64 or complex
fft.fftshift(3) -> must be
linalg.inv(n(3, 3, 3)) -> A must be float32, float64, complex64 or complex128, got
linalg.solve(f(3, 3, 3), n(3, 3, 3)) -> B must have dtype float32
linalg.vector_norm(f(3, 3, 3), "fro") -> ord must be a number
linalg.lstsq(f(4, 3), d(4, 2)) -> b must have dtype float32
quantize(f(4, 8), n()) -> scale must have dtype float32
dequantize(f(4, 8)) -> input must be a QuantizedTensor
gru(f(3, 2, 4), None, cell("f2", 15)[1]) -> params must have the dtype of input, float32
gru(f(3, 2, 4), h(1, 2, 5), cell(n=15)[1]) -> hx must have the dtype of input
gru(n(3, 2, 4), None, cell(n=15)[1]) -> input must be float32, bfloat16, float16, got int
gru(f(3, 2, 4), *cell(n=15)) -> hx must be an array or None, got a tuple
lstm(f(3, 2, 4), f(1, 2, 5), cell()[1]) -> hx must be a pair of arrays or None
imag(f(2, 3)) -> input must be complex, got float32
view_as_real(f(2, 3)) -> input must be complex
view_as_complex(h(2, 3)) -> input must be float32
complex(f(2, 3), h(2, 3)) -> imag must be float32 or float64
full_like(f(2, 3), 1j) -> fill_value must be real
masked_fill(f(2, 3), m(2, 3), 1j) -> value must be real
div(c(2, 3), 2, rounding_mode="floor") -> rounding_mode must be None
sum(c(2, 3), dtype="float32") -> dtype must be complex
prod(c(2, 3), dtype="float32") -> dtype must be complex
matmul(c(2, 3), f(3, 2)) -> other must have the dtype
where(f(2, 3), c(2, 3), c(2, 3)) -> condition must have dtype bool
"""


def test_wrong_arguments_are_named(queue):
    assert_refused(BITS + REFUSED, TypeError, queue)
