# SPDX-License-Identifier: Apache-2.0
# Written by: python tests/graph/test_rows.py
import inspect
from collections.abc import Sequence
from typing import Literal, overload

from sycl_dnn.graph.table import Operation
from sycl_dnn.graph.nodes import Value

def signature_of(row: Operation) -> inspect.Signature: ...
def shared_names(row: Operation) -> set[str]: ...
def docstring_of(row: Operation) -> str: ...
def stub() -> str: ...

class Operations:
    def abs(self, src: Value | float, *, name: str = '') -> Value: ...
    def abs_backward(
        self, src: Value | float, diff_dst: Value | float, *, name: str = ''
    ) -> Value: ...
    def clamp(self, src: Value | float, *, min: float, max: float, name: str = '') -> Value: ...
    def clamp_backward(
        self, src_or_dst: Value | float, diff_dst: Value | float, *, min: float, max: float,
        use_dst: bool = True, name: str = ''
    ) -> Value: ...
    def elu(self, src: Value | float, *, alpha: float, name: str = '') -> Value: ...
    def elu_backward(
        self, src_or_dst: Value | float, diff_dst: Value | float, *, alpha: float,
        use_dst: bool = True, name: str = ''
    ) -> Value: ...
    def exp(self, src: Value | float, *, name: str = '') -> Value: ...
    def gelu(self, src: Value | float, *, mode: str = 'gelu_erf', name: str = '') -> Value: ...
    def gelu_backward(
        self, src: Value | float, diff_dst: Value | float, *, mode: str = 'gelu_erf', name: str = ''
    ) -> Value: ...
    def hard_sigmoid(
        self, src: Value | float, *, alpha: float, beta: float, name: str = ''
    ) -> Value: ...
    def hard_sigmoid_backward(
        self, src: Value | float, diff_dst: Value | float, *, alpha: float, beta: float,
        name: str = ''
    ) -> Value: ...
    def hard_swish(self, src: Value | float, *, name: str = '') -> Value: ...
    def hard_swish_backward(
        self, src: Value | float, diff_dst: Value | float, *, name: str = ''
    ) -> Value: ...
    def leaky_relu(self, src: Value | float, *, alpha: float, name: str = '') -> Value: ...
    def log(self, src: Value | float, *, name: str = '') -> Value: ...
    def mish(self, src: Value | float, *, name: str = '') -> Value: ...
    def mish_backward(
        self, src: Value | float, diff_dst: Value | float, *, name: str = ''
    ) -> Value: ...
    def pow(self, src: Value | float, *, beta: float, name: str = '') -> Value: ...
    def reciprocal(self, src: Value | float, *, name: str = '') -> Value: ...
    def relu(self, src: Value | float, *, name: str = '') -> Value: ...
    def relu_backward(
        self, src_or_dst: Value | float, diff_dst: Value | float, *, use_dst: bool = True,
        name: str = ''
    ) -> Value: ...
    def round(self, src: Value | float, *, name: str = '') -> Value: ...
    def sigmoid(self, src: Value | float, *, name: str = '') -> Value: ...
    def sigmoid_backward(
        self, src_or_dst: Value | float, diff_dst: Value | float, *, use_dst: bool = True,
        name: str = ''
    ) -> Value: ...
    def softplus(self, src: Value | float, *, beta: float = 1.0, name: str = '') -> Value: ...
    def softplus_backward(
        self, src: Value | float, diff_dst: Value | float, *, beta: float = 1.0, name: str = ''
    ) -> Value: ...
    def sqrt(self, src: Value | float, *, name: str = '') -> Value: ...
    def sqrt_backward(
        self, src_or_dst: Value | float, diff_dst: Value | float, *, use_dst: bool = True,
        name: str = ''
    ) -> Value: ...
    def square(self, src: Value | float, *, name: str = '') -> Value: ...
    def tanh(self, src: Value | float, *, name: str = '') -> Value: ...
    def tanh_backward(
        self, src_or_dst: Value | float, diff_dst: Value | float, *, use_dst: bool = True,
        name: str = ''
    ) -> Value: ...
    def add(
        self, src_0: Value | float, src_1: Value | float, *, auto_broadcast: str = 'numpy',
        dtype: str | None = None, name: str = ''
    ) -> Value: ...
    def subtract(
        self, src_0: Value | float, src_1: Value | float, *, auto_broadcast: str = 'numpy',
        dtype: str | None = None, name: str = ''
    ) -> Value: ...
    def multiply(
        self, src_0: Value | float, src_1: Value | float, *, auto_broadcast: str = 'numpy',
        dtype: str | None = None, name: str = ''
    ) -> Value: ...
    def divide(
        self, src_0: Value | float, src_1: Value | float, *, auto_broadcast: str = 'numpy',
        dtype: str | None = None, name: str = ''
    ) -> Value: ...
    def maximum(
        self, src_0: Value | float, src_1: Value | float, *, auto_broadcast: str = 'numpy',
        name: str = ''
    ) -> Value: ...
    def minimum(
        self, src_0: Value | float, src_1: Value | float, *, auto_broadcast: str = 'numpy',
        name: str = ''
    ) -> Value: ...
    def squared_difference(
        self, src_0: Value | float, src_1: Value | float, *, auto_broadcast: str = 'numpy',
        name: str = ''
    ) -> Value: ...
    def greater_equal(
        self, src_0: Value | float, src_1: Value | float, *, auto_broadcast: str = 'numpy',
        name: str = ''
    ) -> Value: ...
    def select(
        self, cond: Value | float, src_0: Value | float, src_1: Value | float, *,
        auto_broadcast: str = 'numpy', name: str = ''
    ) -> Value: ...
    def bias_add(
        self, src: Value | float, bias: Value | float, *, data_format: str | None = None,
        name: str = ''
    ) -> Value: ...
    def bias_add_backward(
        self, diff_dst: Value | float, *, data_format: str | None = None, name: str = ''
    ) -> Value: ...
    def prelu(
        self, src: Value | float, slope: Value | float, *, data_format: str | None = None,
        per_channel_broadcast: bool = True, name: str = ''
    ) -> Value: ...
    def prelu_backward(
        self, src: Value | float, slope: Value | float, diff_dst: Value | float, *,
        data_format: str | None = None, name: str = ''
    ) -> tuple[Value, ...]: ...
    @overload
    def dropout(
        self, src: Value | float, seed: Value | float, offset: Value | float,
        probability: Value | float, *, with_mask: Literal[False] = False, name: str = ''
    ) -> Value: ...
    @overload
    def dropout(
        self, src: Value | float, seed: Value | float, offset: Value | float,
        probability: Value | float, *, with_mask: Literal[True], name: str = ''
    ) -> tuple[Value, Value]: ...
    @overload
    def dropout(
        self, src: Value | float, seed: Value | float, offset: Value | float,
        probability: Value | float, *, with_mask: bool = False, name: str = ''
    ) -> Value | tuple[Value, Value]: ...
    def matmul(
        self, src: Value | float, weights: Value | float, bias: Value | float | None = None, *,
        transpose_a: bool = False, transpose_b: bool = False, accumulation_mode: str = 'strict',
        dtype: str | None = None, name: str = ''
    ) -> Value: ...
    def convolution(
        self, src: Value | float, weights: Value | float, bias: Value | float | None = None, *,
        strides: Sequence[int], pads_begin: Sequence[int], pads_end: Sequence[int],
        dilations: Sequence[int], auto_pad: str = 'None', groups: int = 1,
        data_format: str | None = None, weights_format: str | None = None, name: str = ''
    ) -> Value: ...
    def convolution_backward_data(
        self, diff_dst: Value | float, weights: Value | float, *,
        output_padding: Sequence[int] | None = None, dst_shape: Sequence[int] | Value | None = None,
        strides: Sequence[int], pads_begin: Sequence[int], pads_end: Sequence[int],
        dilations: Sequence[int], auto_pad: str = 'None', groups: int = 1,
        data_format: str | None = None, weights_format: str | None = None, name: str = ''
    ) -> Value: ...
    def convolution_backward_weights(
        self, src: Value | float, diff_dst: Value | float, *,
        weights_shape: Sequence[int] | Value | None = None, strides: Sequence[int],
        pads_begin: Sequence[int], pads_end: Sequence[int], dilations: Sequence[int],
        auto_pad: str = 'None', groups: int = 1, data_format: str | None = None,
        weights_format: str | None = None, name: str = ''
    ) -> Value: ...
    def conv_transpose(
        self, src: Value | float, weights: Value | float, bias: Value | float | None = None, *,
        output_padding: Sequence[int] | None = None, strides: Sequence[int],
        pads_begin: Sequence[int], pads_end: Sequence[int], dilations: Sequence[int],
        auto_pad: str = 'None', groups: int = 1, data_format: str | None = None,
        weights_format: str | None = None, name: str = ''
    ) -> Value: ...
    def conv_transpose_backward_data(
        self, diff_dst: Value | float, weights: Value | float, *, strides: Sequence[int],
        pads_begin: Sequence[int], pads_end: Sequence[int], dilations: Sequence[int],
        auto_pad: str = 'None', groups: int = 1, data_format: str | None = None,
        weights_format: str | None = None, name: str = ''
    ) -> Value: ...
    def conv_transpose_backward_weights(
        self, src: Value | float, diff_dst: Value | float, *,
        weights_shape: Sequence[int] | Value | None = None, strides: Sequence[int],
        pads_begin: Sequence[int], pads_end: Sequence[int], dilations: Sequence[int],
        auto_pad: str = 'None', groups: int = 1, data_format: str | None = None,
        weights_format: str | None = None, name: str = ''
    ) -> Value: ...
    def avg_pool(
        self, src: Value | float, *, strides: Sequence[int], pads_begin: Sequence[int],
        pads_end: Sequence[int], kernel: Sequence[int], exclude_pad: bool,
        data_format: str | None = None, rounding_type: str = 'floor', auto_pad: str = 'None',
        name: str = ''
    ) -> Value: ...
    def avg_pool_backward(
        self, diff_dst: Value | float, *, src_shape: Sequence[int] | Value | None = None,
        strides: Sequence[int], pads_begin: Sequence[int], pads_end: Sequence[int],
        kernel: Sequence[int], exclude_pad: bool, data_format: str | None = None,
        auto_pad: str = 'None', name: str = ''
    ) -> Value: ...
    def max_pool(
        self, src: Value | float, *, strides: Sequence[int], pads_begin: Sequence[int],
        pads_end: Sequence[int], kernel: Sequence[int], dilations: Sequence[int] | None = None,
        data_format: str | None = None, rounding_type: str = 'floor', auto_pad: str = 'None',
        name: str = ''
    ) -> Value: ...
    def max_pool_backward(
        self, src: Value | float, diff_dst: Value | float, *, strides: Sequence[int],
        pads_begin: Sequence[int], pads_end: Sequence[int], kernel: Sequence[int],
        dilations: Sequence[int] | None = None, data_format: str | None = None,
        auto_pad: str = 'None', name: str = ''
    ) -> Value: ...
    def interpolate(
        self, src: Value | float, *, sizes: Sequence[int] | Value | None = None,
        scales: Sequence[float] | None = None, mode: str,
        coordinate_transformation_mode: str = 'half_pixel', data_format: str | None = None,
        name: str = ''
    ) -> Value: ...
    def interpolate_backward(
        self, src: Value | float, diff_dst: Value | float, *,
        sizes: Sequence[int] | Value | None = None, scales: Sequence[float] | None = None,
        mode: str, coordinate_transformation_mode: str = 'half_pixel',
        data_format: str | None = None, name: str = ''
    ) -> Value: ...
    def batch_norm_inference(
        self, src: Value | float, gamma: Value | float, beta: Value | float, mean: Value | float,
        variance: Value | float, *, epsilon: float, data_format: str | None = None, name: str = ''
    ) -> Value: ...
    def batch_norm_forward_training(
        self, src: Value | float, mean: Value | float, variance: Value | float,
        gamma: Value | float | None = None, beta: Value | float | None = None, *, epsilon: float,
        momentum: float | None = None, data_format: str | None = None, name: str = ''
    ) -> tuple[Value, ...]: ...
    def batch_norm_backward(
        self, src: Value | float, diff_dst: Value | float, mean: Value | float,
        variance: Value | float, gamma: Value | float | None = None, *, epsilon: float,
        data_format: str | None = None, name: str = ''
    ) -> Value | tuple[Value, ...]: ...
    @overload
    def group_norm(
        self, src: Value | float, gamma: Value | float | None = None,
        beta: Value | float | None = None, *, groups: int, keep_stats: Literal[True] = True,
        use_affine: bool = True, epsilon: float = 1e-05, data_format: str | None = None,
        name: str = ''
    ) -> tuple[Value, Value, Value]: ...
    @overload
    def group_norm(
        self, src: Value | float, gamma: Value | float | None = None,
        beta: Value | float | None = None, *, groups: int, keep_stats: Literal[False],
        use_affine: bool = True, epsilon: float = 1e-05, data_format: str | None = None,
        name: str = ''
    ) -> Value: ...
    @overload
    def group_norm(
        self, src: Value | float, gamma: Value | float | None = None,
        beta: Value | float | None = None, *, groups: int, keep_stats: bool = True,
        use_affine: bool = True, epsilon: float = 1e-05, data_format: str | None = None,
        name: str = ''
    ) -> Value | tuple[Value, Value, Value]: ...
    @overload
    def layer_norm(
        self, src: Value | float, gamma: Value | float | None = None,
        beta: Value | float | None = None, *, keep_stats: Literal[True] = True,
        begin_norm_axis: int = -1, use_affine: bool = True, epsilon: float = 1e-05, name: str = ''
    ) -> tuple[Value, Value, Value]: ...
    @overload
    def layer_norm(
        self, src: Value | float, gamma: Value | float | None = None,
        beta: Value | float | None = None, *, keep_stats: Literal[False], begin_norm_axis: int = -1,
        use_affine: bool = True, epsilon: float = 1e-05, name: str = ''
    ) -> Value: ...
    @overload
    def layer_norm(
        self, src: Value | float, gamma: Value | float | None = None,
        beta: Value | float | None = None, *, keep_stats: bool = True, begin_norm_axis: int = -1,
        use_affine: bool = True, epsilon: float = 1e-05, name: str = ''
    ) -> Value | tuple[Value, Value, Value]: ...
    @overload
    def layer_norm_backward(
        self, src: Value | float, diff_dst: Value | float, mean: Value | float,
        variance: Value | float, gamma: Value | float | None = None,
        beta: Value | float | None = None, *, begin_norm_axis: int = -1,
        use_affine: Literal[True] = True, epsilon: float = 1e-05, name: str = ''
    ) -> tuple[Value, Value, Value]: ...
    @overload
    def layer_norm_backward(
        self, src: Value | float, diff_dst: Value | float, mean: Value | float,
        variance: Value | float, gamma: Value | float | None = None,
        beta: Value | float | None = None, *, begin_norm_axis: int = -1, use_affine: Literal[False],
        epsilon: float = 1e-05, name: str = ''
    ) -> Value: ...
    @overload
    def layer_norm_backward(
        self, src: Value | float, diff_dst: Value | float, mean: Value | float,
        variance: Value | float, gamma: Value | float | None = None,
        beta: Value | float | None = None, *, begin_norm_axis: int = -1, use_affine: bool = True,
        epsilon: float = 1e-05, name: str = ''
    ) -> Value | tuple[Value, Value, Value]: ...
    def rms_norm(
        self, src: Value | float, gamma: Value | float | None = None, *, begin_norm_axis: int = -1,
        epsilon: float = 1e-05, name: str = ''
    ) -> Value: ...
    @overload
    def softmax(
        self, src: Value | float, *, axis: int = 1, mode: str = 'none',
        with_stats: Literal[False] = False, dtype: str | None = None, name: str = ''
    ) -> Value: ...
    @overload
    def softmax(
        self, src: Value | float, *, axis: int = 1, mode: str = 'none', with_stats: Literal[True],
        dtype: str | None = None, name: str = ''
    ) -> tuple[Value, Value]: ...
    @overload
    def softmax(
        self, src: Value | float, *, axis: int = 1, mode: str = 'none', with_stats: bool = False,
        dtype: str | None = None, name: str = ''
    ) -> Value | tuple[Value, Value]: ...
    def softmax_backward(
        self, diff_dst: Value | float, dst: Value | float, *, axis: int = 1,
        dtype: str | None = None, name: str = ''
    ) -> Value: ...
    def log_softmax(self, src: Value | float, *, axis: int = -1, name: str = '') -> Value: ...
    def log_softmax_backward(
        self, diff_dst: Value | float, dst: Value | float, *, axis: int = -1, name: str = ''
    ) -> Value: ...
    def reduce_l1(
        self, src: Value | float, *, axes: Sequence[int] | Value | None = None,
        keep_dims: bool = False, name: str = ''
    ) -> Value: ...
    def reduce_l2(
        self, src: Value | float, *, axes: Sequence[int] | Value | None = None,
        keep_dims: bool = False, name: str = ''
    ) -> Value: ...
    def reduce_max(
        self, src: Value | float, *, axes: Sequence[int] | Value | None = None,
        keep_dims: bool = False, name: str = ''
    ) -> Value: ...
    def reduce_mean(
        self, src: Value | float, *, axes: Sequence[int] | Value | None = None,
        keep_dims: bool = False, name: str = ''
    ) -> Value: ...
    def reduce_min(
        self, src: Value | float, *, axes: Sequence[int] | Value | None = None,
        keep_dims: bool = False, name: str = ''
    ) -> Value: ...
    def reduce_prod(
        self, src: Value | float, *, axes: Sequence[int] | Value | None = None,
        keep_dims: bool = False, name: str = ''
    ) -> Value: ...
    def reduce_sum(
        self, src: Value | float, *, axes: Sequence[int] | Value | None = None,
        keep_dims: bool = False, name: str = ''
    ) -> Value: ...
    def concat(self, src: Sequence[Value], *, axis: int, name: str = '') -> Value: ...
    def reorder(self, src: Value | float, *, name: str = '') -> Value: ...
    def static_reshape(
        self, src: Value | float, *, shape: Sequence[int], special_zero: bool, name: str = ''
    ) -> Value: ...
    def static_transpose(
        self, src: Value | float, *, order: Sequence[int], name: str = ''
    ) -> Value: ...
    def type_cast(self, src: Value | float, *, dtype: str, name: str = '') -> Value: ...
    def gen_index(self, src: Value | float, *, axis: int, name: str = '') -> Value: ...
    def quantize(
        self, src: Value | float, *, qtype: str = 'per_tensor', axis: int = 1,
        scales: Sequence[float], zps: Sequence[int] | None = None, dtype: str, name: str = ''
    ) -> Value: ...
    def dequantize(
        self, src: Value | float, *, qtype: str = 'per_tensor', axis: int = 1,
        scales: Sequence[float], zps: Sequence[int] | None = None, name: str = ''
    ) -> Value: ...
    def dynamic_quantize(
        self, src: Value | float, scales: Value | float, zps: Value | float | None = None, *,
        qtype: str = 'per_tensor', axis: int = 1, dtype: str, name: str = ''
    ) -> Value: ...
    def dynamic_dequantize(
        self, src: Value | float, scales: Value | float, zps: Value | float | None = None, *,
        qtype: str = 'per_tensor', axis: int = 1, group_shape: Sequence[int] | None = None,
        name: str = ''
    ) -> Value: ...
    def end(self, src: Value | float, *, name: str = '') -> None: ...
