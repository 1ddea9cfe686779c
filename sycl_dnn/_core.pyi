"""
oneDNN over SYCL: engines, memory, attributes, primitives. Public face: sycl_dnn.onednn.
"""
from __future__ import annotations
import collections.abc
import enum
import sycl_dnn.onednn
import typing
__all__: list[str] = ['ARGUMENTS', 'BoundProgram', 'CallPlan', 'CallTable', 'CompiledPartition', 'Engine', 'GraphTensor', 'LogicalTensor', 'Memory', 'MemoryDesc', 'Op', 'OpGraph', 'Partition', 'PostOps', 'Primitive', 'PrimitiveAttr', 'PrimitiveDesc', 'Program', 'ROWS', 'RUNTIME_DIM_VAL', 'RUNTIME_F32_VAL', 'RUNTIME_S32_VAL', 'RUNTIME_SIZE_VAL', 'Recorder', 'ResultPool', 'Stream', 'accumulation_mode', 'algorithm', 'argument_id', 'augru_backward', 'augru_forward', 'batch_normalization_backward', 'batch_normalization_forward', 'binary', 'clear_graph_pool', 'clear_scratchpads', 'concat', 'convolution_backward_data', 'convolution_backward_weights', 'convolution_forward', 'cpu_isa', 'cpu_isa_hints', 'data_type', 'deconvolution_backward_data', 'deconvolution_backward_weights', 'deconvolution_forward', 'eltwise_backward', 'eltwise_forward', 'engine_kind', 'format_kind', 'format_tags', 'fpmath_mode', 'get_compiled_partition_cache_capacity', 'get_constant_tensor_cache_capacity', 'get_cpu_isa_hints', 'get_default_fpmath_mode', 'get_effective_cpu_isa', 'get_primitive_cache_capacity', 'graph_dump_mode', 'graph_pool_info', 'graph_status', 'group_normalization_backward', 'group_normalization_forward', 'gru_backward', 'gru_forward', 'host_lane', 'inner_product_backward_data', 'inner_product_backward_weights', 'inner_product_forward', 'is_recording', 'is_recording_waits', 'layer_normalization_backward', 'layer_normalization_forward', 'layout_type', 'lbr_augru_backward', 'lbr_augru_forward', 'lbr_gru_backward', 'lbr_gru_forward', 'logical_data_type', 'lrn_backward', 'lrn_forward', 'lstm_backward', 'lstm_forward', 'matmul', 'normalization_flags', 'note', 'op_attr', 'op_kind', 'partition_policy', 'pooling_backward', 'pooling_forward', 'prelu_backward', 'prelu_forward', 'primitive_kind', 'prop_kind', 'property_type', 'quantization_mode', 'query', 'reduction', 'reorder', 'resampling_backward', 'resampling_forward', 'rnn_direction', 'rnn_flags', 'rounding_mode', 'scratchpad_info', 'scratchpad_mode', 'set_compiled_partition_cache_capacity', 'set_constant_tensor_cache_capacity', 'set_cpu_isa_hints', 'set_default_fpmath_mode', 'set_graph_dump_mode', 'set_jit_dump', 'set_jit_profiling_flags', 'set_jit_profiling_jitdumpdir', 'set_max_cpu_isa', 'set_primitive_cache_capacity', 'set_verbose', 'shuffle_backward', 'shuffle_forward', 'softmax_backward', 'softmax_forward', 'sparse_encoding', 'status', 'submit_all', 'sum', 'use_huge_pages', 'vanilla_rnn_backward', 'vanilla_rnn_forward', 'version']
class status(enum.Enum):
    invalid_arguments: typing.ClassVar[status]
    last_impl_reached: typing.ClassVar[status]
    not_required: typing.ClassVar[status]
    out_of_memory: typing.ClassVar[status]
    runtime_error: typing.ClassVar[status]
    success: typing.ClassVar[status]
    unimplemented: typing.ClassVar[status]
    @classmethod
    def __new__(cls, value):
        ...
class engine_kind(enum.Enum):
    any: typing.ClassVar[engine_kind]
    cpu: typing.ClassVar[engine_kind]
    gpu: typing.ClassVar[engine_kind]
    @classmethod
    def __new__(cls, value):
        ...
class primitive_kind(enum.Enum):
    batch_normalization: typing.ClassVar[primitive_kind]
    binary: typing.ClassVar[primitive_kind]
    concat: typing.ClassVar[primitive_kind]
    convolution: typing.ClassVar[primitive_kind]
    deconvolution: typing.ClassVar[primitive_kind]
    eltwise: typing.ClassVar[primitive_kind]
    group_normalization: typing.ClassVar[primitive_kind]
    inner_product: typing.ClassVar[primitive_kind]
    layer_normalization: typing.ClassVar[primitive_kind]
    lrn: typing.ClassVar[primitive_kind]
    matmul: typing.ClassVar[primitive_kind]
    pooling: typing.ClassVar[primitive_kind]
    prelu: typing.ClassVar[primitive_kind]
    reduction: typing.ClassVar[primitive_kind]
    reorder: typing.ClassVar[primitive_kind]
    resampling: typing.ClassVar[primitive_kind]
    rnn: typing.ClassVar[primitive_kind]
    shuffle: typing.ClassVar[primitive_kind]
    softmax: typing.ClassVar[primitive_kind]
    sum: typing.ClassVar[primitive_kind]
    undef: typing.ClassVar[primitive_kind]
    @classmethod
    def __new__(cls, value):
        ...
class prop_kind(enum.Enum):
    backward: typing.ClassVar[prop_kind]
    backward_bias: typing.ClassVar[prop_kind]
    backward_data: typing.ClassVar[prop_kind]
    backward_weights: typing.ClassVar[prop_kind]
    forward: typing.ClassVar[prop_kind]
    forward_inference: typing.ClassVar[prop_kind]
    forward_training: typing.ClassVar[prop_kind]
    undef: typing.ClassVar[prop_kind]
    @classmethod
    def __new__(cls, value):
        ...
class algorithm(enum.Enum):
    binary_add: typing.ClassVar[algorithm]
    binary_div: typing.ClassVar[algorithm]
    binary_eq: typing.ClassVar[algorithm]
    binary_ge: typing.ClassVar[algorithm]
    binary_gt: typing.ClassVar[algorithm]
    binary_le: typing.ClassVar[algorithm]
    binary_lt: typing.ClassVar[algorithm]
    binary_max: typing.ClassVar[algorithm]
    binary_min: typing.ClassVar[algorithm]
    binary_mul: typing.ClassVar[algorithm]
    binary_ne: typing.ClassVar[algorithm]
    binary_select: typing.ClassVar[algorithm]
    binary_sub: typing.ClassVar[algorithm]
    convolution_auto: typing.ClassVar[algorithm]
    convolution_direct: typing.ClassVar[algorithm]
    convolution_winograd: typing.ClassVar[algorithm]
    deconvolution_direct: typing.ClassVar[algorithm]
    deconvolution_winograd: typing.ClassVar[algorithm]
    eltwise_abs: typing.ClassVar[algorithm]
    eltwise_clip: typing.ClassVar[algorithm]
    eltwise_clip_v2: typing.ClassVar[algorithm]
    eltwise_clip_v2_use_dst_for_bwd: typing.ClassVar[algorithm]
    eltwise_elu: typing.ClassVar[algorithm]
    eltwise_elu_use_dst_for_bwd: typing.ClassVar[algorithm]
    eltwise_exp: typing.ClassVar[algorithm]
    eltwise_exp_use_dst_for_bwd: typing.ClassVar[algorithm]
    eltwise_gelu_erf: typing.ClassVar[algorithm]
    eltwise_gelu_tanh: typing.ClassVar[algorithm]
    eltwise_hardsigmoid: typing.ClassVar[algorithm]
    eltwise_hardswish: typing.ClassVar[algorithm]
    eltwise_linear: typing.ClassVar[algorithm]
    eltwise_log: typing.ClassVar[algorithm]
    eltwise_logistic: typing.ClassVar[algorithm]
    eltwise_logistic_use_dst_for_bwd: typing.ClassVar[algorithm]
    eltwise_mish: typing.ClassVar[algorithm]
    eltwise_pow: typing.ClassVar[algorithm]
    eltwise_relu: typing.ClassVar[algorithm]
    eltwise_relu_use_dst_for_bwd: typing.ClassVar[algorithm]
    eltwise_round: typing.ClassVar[algorithm]
    eltwise_soft_relu: typing.ClassVar[algorithm]
    eltwise_sqrt: typing.ClassVar[algorithm]
    eltwise_sqrt_use_dst_for_bwd: typing.ClassVar[algorithm]
    eltwise_square: typing.ClassVar[algorithm]
    eltwise_swish: typing.ClassVar[algorithm]
    eltwise_tanh: typing.ClassVar[algorithm]
    eltwise_tanh_use_dst_for_bwd: typing.ClassVar[algorithm]
    lbr_augru: typing.ClassVar[algorithm]
    lbr_gru: typing.ClassVar[algorithm]
    lrn_across_channels: typing.ClassVar[algorithm]
    lrn_within_channel: typing.ClassVar[algorithm]
    pooling_avg_exclude_padding: typing.ClassVar[algorithm]
    pooling_avg_include_padding: typing.ClassVar[algorithm]
    pooling_max: typing.ClassVar[algorithm]
    reduction_max: typing.ClassVar[algorithm]
    reduction_mean: typing.ClassVar[algorithm]
    reduction_min: typing.ClassVar[algorithm]
    reduction_mul: typing.ClassVar[algorithm]
    reduction_norm_lp_max: typing.ClassVar[algorithm]
    reduction_norm_lp_power_p_max: typing.ClassVar[algorithm]
    reduction_norm_lp_power_p_sum: typing.ClassVar[algorithm]
    reduction_norm_lp_sum: typing.ClassVar[algorithm]
    reduction_sum: typing.ClassVar[algorithm]
    resampling_linear: typing.ClassVar[algorithm]
    resampling_nearest: typing.ClassVar[algorithm]
    softmax_accurate: typing.ClassVar[algorithm]
    softmax_log: typing.ClassVar[algorithm]
    undef: typing.ClassVar[algorithm]
    vanilla_augru: typing.ClassVar[algorithm]
    vanilla_gru: typing.ClassVar[algorithm]
    vanilla_lstm: typing.ClassVar[algorithm]
    vanilla_rnn: typing.ClassVar[algorithm]
    @classmethod
    def __new__(cls, value):
        ...
class normalization_flags(enum.IntFlag):
    fuse_norm_add_relu: typing.ClassVar[normalization_flags]
    fuse_norm_relu: typing.ClassVar[normalization_flags]
    none: typing.ClassVar[normalization_flags]
    rms_norm: typing.ClassVar[normalization_flags]
    use_global_stats: typing.ClassVar[normalization_flags]
    use_scale: typing.ClassVar[normalization_flags]
    use_shift: typing.ClassVar[normalization_flags]
    @classmethod
    def __new__(cls, value):
        ...
    def __and__(self, other):
        ...
    def __format__(self, format_spec):
        ...
    def __invert__(self):
        ...
    def __or__(self, other):
        ...
    def __rand__(self, other):
        ...
    def __ror__(self, other):
        ...
    def __rxor__(self, other):
        ...
    def __xor__(self, other):
        ...
class rnn_flags(enum.IntFlag):
    diff_weights_overwrite: typing.ClassVar[rnn_flags]
    undef: typing.ClassVar[rnn_flags]
    @classmethod
    def __new__(cls, value):
        ...
    def __and__(self, other):
        ...
    def __format__(self, format_spec):
        ...
    def __invert__(self):
        ...
    def __or__(self, other):
        ...
    def __rand__(self, other):
        ...
    def __ror__(self, other):
        ...
    def __rxor__(self, other):
        ...
    def __xor__(self, other):
        ...
class rnn_direction(enum.Enum):
    bidirectional_concat: typing.ClassVar[rnn_direction]
    bidirectional_sum: typing.ClassVar[rnn_direction]
    undef: typing.ClassVar[rnn_direction]
    unidirectional_left2right: typing.ClassVar[rnn_direction]
    unidirectional_right2left: typing.ClassVar[rnn_direction]
    @classmethod
    def __new__(cls, value):
        ...
class query(enum.Enum):
    activation_kind: typing.ClassVar[query]
    alg_kind: typing.ClassVar[query]
    alpha_f32: typing.ClassVar[query]
    axis_s32: typing.ClassVar[query]
    beta_f32: typing.ClassVar[query]
    cache_blob_id: typing.ClassVar[query]
    cache_blob_id_size_s64: typing.ClassVar[query]
    cell_kind: typing.ClassVar[query]
    data_type: typing.ClassVar[query]
    diff_dst_md: typing.ClassVar[query]
    diff_src_md: typing.ClassVar[query]
    diff_weights_md: typing.ClassVar[query]
    dilations: typing.ClassVar[query]
    dims: typing.ClassVar[query]
    direction: typing.ClassVar[query]
    dst_md: typing.ClassVar[query]
    engine: typing.ClassVar[query]
    epsilon_f32: typing.ClassVar[query]
    exec_arg_md: typing.ClassVar[query]
    factors: typing.ClassVar[query]
    flags: typing.ClassVar[query]
    format_kind: typing.ClassVar[query]
    group_size_s64: typing.ClassVar[query]
    impl_info_str: typing.ClassVar[query]
    inner_blks: typing.ClassVar[query]
    inner_idxs: typing.ClassVar[query]
    inner_nblks_s32: typing.ClassVar[query]
    k_f32: typing.ClassVar[query]
    kernel: typing.ClassVar[query]
    local_size_s64: typing.ClassVar[query]
    memory_consumption_s64: typing.ClassVar[query]
    ndims_s32: typing.ClassVar[query]
    nnz_s64: typing.ClassVar[query]
    num_handles_s32: typing.ClassVar[query]
    num_of_inputs_s32: typing.ClassVar[query]
    num_of_outputs_s32: typing.ClassVar[query]
    p_f32: typing.ClassVar[query]
    padded_dims: typing.ClassVar[query]
    padded_offsets: typing.ClassVar[query]
    padding_l: typing.ClassVar[query]
    padding_r: typing.ClassVar[query]
    primitive_kind: typing.ClassVar[query]
    prop_kind: typing.ClassVar[query]
    reorder_dst_engine: typing.ClassVar[query]
    reorder_src_engine: typing.ClassVar[query]
    scratchpad_engine: typing.ClassVar[query]
    scratchpad_md: typing.ClassVar[query]
    sparse_encoding: typing.ClassVar[query]
    src_md: typing.ClassVar[query]
    strides: typing.ClassVar[query]
    submemory_offset_s64: typing.ClassVar[query]
    time_estimate_f64: typing.ClassVar[query]
    undef: typing.ClassVar[query]
    weights_md: typing.ClassVar[query]
    workspace_md: typing.ClassVar[query]
    @classmethod
    def __new__(cls, value):
        ...
class data_type(enum.Enum):
    bf16: typing.ClassVar[data_type]
    e8m0: typing.ClassVar[data_type]
    f16: typing.ClassVar[data_type]
    f32: typing.ClassVar[data_type]
    f4_e2m1: typing.ClassVar[data_type]
    f4_e3m0: typing.ClassVar[data_type]
    f64: typing.ClassVar[data_type]
    f8_e4m3: typing.ClassVar[data_type]
    f8_e5m2: typing.ClassVar[data_type]
    s32: typing.ClassVar[data_type]
    s4: typing.ClassVar[data_type]
    s64: typing.ClassVar[data_type]
    s8: typing.ClassVar[data_type]
    u4: typing.ClassVar[data_type]
    u8: typing.ClassVar[data_type]
    undef: typing.ClassVar[data_type]
    @classmethod
    def __new__(cls, value):
        ...
class format_kind(enum.Enum):
    any: typing.ClassVar[format_kind]
    blocked: typing.ClassVar[format_kind]
    host_scalar: typing.ClassVar[format_kind]
    opaque: typing.ClassVar[format_kind]
    sparse: typing.ClassVar[format_kind]
    undef: typing.ClassVar[format_kind]
    @classmethod
    def __new__(cls, value):
        ...
class sparse_encoding(enum.Enum):
    coo: typing.ClassVar[sparse_encoding]
    csr: typing.ClassVar[sparse_encoding]
    packed: typing.ClassVar[sparse_encoding]
    undef: typing.ClassVar[sparse_encoding]
    @classmethod
    def __new__(cls, value):
        ...
class scratchpad_mode(enum.Enum):
    library: typing.ClassVar[scratchpad_mode]
    user: typing.ClassVar[scratchpad_mode]
    @classmethod
    def __new__(cls, value):
        ...
class rounding_mode(enum.Enum):
    environment: typing.ClassVar[rounding_mode]
    stochastic: typing.ClassVar[rounding_mode]
    @classmethod
    def __new__(cls, value):
        ...
class quantization_mode(enum.Enum):
    dynamic_fp: typing.ClassVar[quantization_mode]
    dynamic_mx: typing.ClassVar[quantization_mode]
    static_sazp: typing.ClassVar[quantization_mode]
    undef: typing.ClassVar[quantization_mode]
    @classmethod
    def __new__(cls, value):
        ...
class fpmath_mode(enum.Enum):
    any: typing.ClassVar[fpmath_mode]
    bf16: typing.ClassVar[fpmath_mode]
    f16: typing.ClassVar[fpmath_mode]
    strict: typing.ClassVar[fpmath_mode]
    tf32: typing.ClassVar[fpmath_mode]
    @classmethod
    def __new__(cls, value):
        ...
class accumulation_mode(enum.Enum):
    any: typing.ClassVar[accumulation_mode]
    f16: typing.ClassVar[accumulation_mode]
    f32: typing.ClassVar[accumulation_mode]
    relaxed: typing.ClassVar[accumulation_mode]
    s32: typing.ClassVar[accumulation_mode]
    strict: typing.ClassVar[accumulation_mode]
    @classmethod
    def __new__(cls, value):
        ...
class cpu_isa(enum.Enum):
    avx: typing.ClassVar[cpu_isa]
    avx10_1_512: typing.ClassVar[cpu_isa]
    avx10_1_512_amx: typing.ClassVar[cpu_isa]
    avx10_1_512_amx_fp16: typing.ClassVar[cpu_isa]
    avx10_2: typing.ClassVar[cpu_isa]
    avx10_2_512: typing.ClassVar[cpu_isa]
    avx10_2_512_amx_2: typing.ClassVar[cpu_isa]
    avx10_2_amx_2: typing.ClassVar[cpu_isa]
    avx2: typing.ClassVar[cpu_isa]
    avx2_vnni: typing.ClassVar[cpu_isa]
    avx2_vnni_2: typing.ClassVar[cpu_isa]
    avx512_core: typing.ClassVar[cpu_isa]
    avx512_core_amx: typing.ClassVar[cpu_isa]
    avx512_core_amx_fp16: typing.ClassVar[cpu_isa]
    avx512_core_bf16: typing.ClassVar[cpu_isa]
    avx512_core_fp16: typing.ClassVar[cpu_isa]
    avx512_core_vnni: typing.ClassVar[cpu_isa]
    isa_default: typing.ClassVar[cpu_isa]
    sse41: typing.ClassVar[cpu_isa]
    @classmethod
    def __new__(cls, value):
        ...
class cpu_isa_hints(enum.Enum):
    no_hints: typing.ClassVar[cpu_isa_hints]
    prefer_ymm: typing.ClassVar[cpu_isa_hints]
    @classmethod
    def __new__(cls, value):
        ...
class graph_status(enum.Enum):
    invalid_arguments: typing.ClassVar[graph_status]
    invalid_data_type: typing.ClassVar[graph_status]
    invalid_graph: typing.ClassVar[graph_status]
    invalid_graph_op: typing.ClassVar[graph_status]
    invalid_shape: typing.ClassVar[graph_status]
    last_impl_reached: typing.ClassVar[graph_status]
    not_required: typing.ClassVar[graph_status]
    out_of_memory: typing.ClassVar[graph_status]
    runtime_error: typing.ClassVar[graph_status]
    success: typing.ClassVar[graph_status]
    unimplemented: typing.ClassVar[graph_status]
    @classmethod
    def __new__(cls, value):
        ...
class op_kind(enum.Enum):
    Abs: typing.ClassVar[op_kind]
    AbsBackward: typing.ClassVar[op_kind]
    Add: typing.ClassVar[op_kind]
    AvgPool: typing.ClassVar[op_kind]
    AvgPoolBackward: typing.ClassVar[op_kind]
    BatchNormForwardTraining: typing.ClassVar[op_kind]
    BatchNormInference: typing.ClassVar[op_kind]
    BatchNormTrainingBackward: typing.ClassVar[op_kind]
    BiasAdd: typing.ClassVar[op_kind]
    BiasAddBackward: typing.ClassVar[op_kind]
    Clamp: typing.ClassVar[op_kind]
    ClampBackward: typing.ClassVar[op_kind]
    Concat: typing.ClassVar[op_kind]
    ConvTranspose: typing.ClassVar[op_kind]
    ConvTransposeBackwardData: typing.ClassVar[op_kind]
    ConvTransposeBackwardWeights: typing.ClassVar[op_kind]
    Convolution: typing.ClassVar[op_kind]
    ConvolutionBackwardData: typing.ClassVar[op_kind]
    ConvolutionBackwardWeights: typing.ClassVar[op_kind]
    Dequantize: typing.ClassVar[op_kind]
    Divide: typing.ClassVar[op_kind]
    Dropout: typing.ClassVar[op_kind]
    DynamicDequantize: typing.ClassVar[op_kind]
    DynamicQuantize: typing.ClassVar[op_kind]
    Elu: typing.ClassVar[op_kind]
    EluBackward: typing.ClassVar[op_kind]
    End: typing.ClassVar[op_kind]
    Exp: typing.ClassVar[op_kind]
    GELU: typing.ClassVar[op_kind]
    GELUBackward: typing.ClassVar[op_kind]
    GenIndex: typing.ClassVar[op_kind]
    GreaterEqual: typing.ClassVar[op_kind]
    GroupNorm: typing.ClassVar[op_kind]
    HardSigmoid: typing.ClassVar[op_kind]
    HardSigmoidBackward: typing.ClassVar[op_kind]
    HardSwish: typing.ClassVar[op_kind]
    HardSwishBackward: typing.ClassVar[op_kind]
    Interpolate: typing.ClassVar[op_kind]
    InterpolateBackward: typing.ClassVar[op_kind]
    LayerNorm: typing.ClassVar[op_kind]
    LayerNormBackward: typing.ClassVar[op_kind]
    LeakyReLU: typing.ClassVar[op_kind]
    Log: typing.ClassVar[op_kind]
    LogSoftmax: typing.ClassVar[op_kind]
    LogSoftmaxBackward: typing.ClassVar[op_kind]
    MatMul: typing.ClassVar[op_kind]
    MaxPool: typing.ClassVar[op_kind]
    MaxPoolBackward: typing.ClassVar[op_kind]
    Maximum: typing.ClassVar[op_kind]
    Minimum: typing.ClassVar[op_kind]
    Mish: typing.ClassVar[op_kind]
    MishBackward: typing.ClassVar[op_kind]
    Multiply: typing.ClassVar[op_kind]
    PReLU: typing.ClassVar[op_kind]
    PReLUBackward: typing.ClassVar[op_kind]
    Pow: typing.ClassVar[op_kind]
    Quantize: typing.ClassVar[op_kind]
    RMSNorm: typing.ClassVar[op_kind]
    ReLU: typing.ClassVar[op_kind]
    ReLUBackward: typing.ClassVar[op_kind]
    Reciprocal: typing.ClassVar[op_kind]
    ReduceL1: typing.ClassVar[op_kind]
    ReduceL2: typing.ClassVar[op_kind]
    ReduceMax: typing.ClassVar[op_kind]
    ReduceMean: typing.ClassVar[op_kind]
    ReduceMin: typing.ClassVar[op_kind]
    ReduceProd: typing.ClassVar[op_kind]
    ReduceSum: typing.ClassVar[op_kind]
    Reorder: typing.ClassVar[op_kind]
    Round: typing.ClassVar[op_kind]
    Select: typing.ClassVar[op_kind]
    Sigmoid: typing.ClassVar[op_kind]
    SigmoidBackward: typing.ClassVar[op_kind]
    SoftMax: typing.ClassVar[op_kind]
    SoftMaxBackward: typing.ClassVar[op_kind]
    SoftPlus: typing.ClassVar[op_kind]
    SoftPlusBackward: typing.ClassVar[op_kind]
    Sqrt: typing.ClassVar[op_kind]
    SqrtBackward: typing.ClassVar[op_kind]
    Square: typing.ClassVar[op_kind]
    SquaredDifference: typing.ClassVar[op_kind]
    StaticReshape: typing.ClassVar[op_kind]
    StaticTranspose: typing.ClassVar[op_kind]
    Subtract: typing.ClassVar[op_kind]
    Tanh: typing.ClassVar[op_kind]
    TanhBackward: typing.ClassVar[op_kind]
    TypeCast: typing.ClassVar[op_kind]
    Wildcard: typing.ClassVar[op_kind]
    @classmethod
    def __new__(cls, value):
        ...
class op_attr(enum.Enum):
    accumulation_mode: typing.ClassVar[op_attr]
    alpha: typing.ClassVar[op_attr]
    auto_broadcast: typing.ClassVar[op_attr]
    auto_pad: typing.ClassVar[op_attr]
    axes: typing.ClassVar[op_attr]
    axis: typing.ClassVar[op_attr]
    begin_norm_axis: typing.ClassVar[op_attr]
    beta: typing.ClassVar[op_attr]
    coordinate_transformation_mode: typing.ClassVar[op_attr]
    data_format: typing.ClassVar[op_attr]
    dilations: typing.ClassVar[op_attr]
    dst_shape: typing.ClassVar[op_attr]
    epsilon: typing.ClassVar[op_attr]
    exclude_pad: typing.ClassVar[op_attr]
    group_shape: typing.ClassVar[op_attr]
    groups: typing.ClassVar[op_attr]
    keep_dims: typing.ClassVar[op_attr]
    keep_stats: typing.ClassVar[op_attr]
    kernel: typing.ClassVar[op_attr]
    max: typing.ClassVar[op_attr]
    min: typing.ClassVar[op_attr]
    mode: typing.ClassVar[op_attr]
    momentum: typing.ClassVar[op_attr]
    order: typing.ClassVar[op_attr]
    output_padding: typing.ClassVar[op_attr]
    pads_begin: typing.ClassVar[op_attr]
    pads_end: typing.ClassVar[op_attr]
    per_channel_broadcast: typing.ClassVar[op_attr]
    qtype: typing.ClassVar[op_attr]
    rounding_type: typing.ClassVar[op_attr]
    scales: typing.ClassVar[op_attr]
    shape: typing.ClassVar[op_attr]
    sizes: typing.ClassVar[op_attr]
    special_zero: typing.ClassVar[op_attr]
    src_shape: typing.ClassVar[op_attr]
    strides: typing.ClassVar[op_attr]
    transpose_a: typing.ClassVar[op_attr]
    transpose_b: typing.ClassVar[op_attr]
    undef: typing.ClassVar[op_attr]
    use_affine: typing.ClassVar[op_attr]
    use_dst: typing.ClassVar[op_attr]
    weights_format: typing.ClassVar[op_attr]
    weights_shape: typing.ClassVar[op_attr]
    zps: typing.ClassVar[op_attr]
    @classmethod
    def __new__(cls, value):
        ...
class logical_data_type(enum.Enum):
    bf16: typing.ClassVar[logical_data_type]
    boolean: typing.ClassVar[logical_data_type]
    f16: typing.ClassVar[logical_data_type]
    f32: typing.ClassVar[logical_data_type]
    f8_e4m3: typing.ClassVar[logical_data_type]
    f8_e5m2: typing.ClassVar[logical_data_type]
    s32: typing.ClassVar[logical_data_type]
    s4: typing.ClassVar[logical_data_type]
    s64: typing.ClassVar[logical_data_type]
    s8: typing.ClassVar[logical_data_type]
    u4: typing.ClassVar[logical_data_type]
    u8: typing.ClassVar[logical_data_type]
    undef: typing.ClassVar[logical_data_type]
    @classmethod
    def __new__(cls, value):
        ...
class layout_type(enum.Enum):
    any: typing.ClassVar[layout_type]
    opaque: typing.ClassVar[layout_type]
    strided: typing.ClassVar[layout_type]
    undef: typing.ClassVar[layout_type]
    @classmethod
    def __new__(cls, value):
        ...
class property_type(enum.Enum):
    constant: typing.ClassVar[property_type]
    host_scalar: typing.ClassVar[property_type]
    undef: typing.ClassVar[property_type]
    variable: typing.ClassVar[property_type]
    @classmethod
    def __new__(cls, value):
        ...
class partition_policy(enum.Enum):
    debug: typing.ClassVar[partition_policy]
    fusion: typing.ClassVar[partition_policy]
    @classmethod
    def __new__(cls, value):
        ...
class graph_dump_mode(enum.IntFlag):
    graph: typing.ClassVar[graph_dump_mode]
    none: typing.ClassVar[graph_dump_mode]
    subgraph: typing.ClassVar[graph_dump_mode]
    @classmethod
    def __new__(cls, value):
        ...
    def __and__(self, other):
        ...
    def __format__(self, format_spec):
        ...
    def __invert__(self):
        ...
    def __or__(self, other):
        ...
    def __rand__(self, other):
        ...
    def __ror__(self, other):
        ...
    def __rxor__(self, other):
        ...
    def __xor__(self, other):
        ...
class Engine:
    """
    A device and its context, where oneDNN creates and runs primitives.
    """
    def __eq__(self, arg0: typing.Any) -> typing.Any:
        ...
    def __hash__(self) -> int:
        ...
    def __init__(self, queue: typing.Any) -> None:
        """
        From a dpctl.SyclQueue, a dpctl.SyclDevice or a filter string such as 'gpu'.
        """
    def __repr__(self) -> str:
        ...
    @property
    def kind(self) -> engine_kind:
        ...
    @property
    def sycl_context(self) -> ...:
        ...
    @property
    def sycl_device(self) -> ...:
        ...
    @property
    def sycl_queue(self) -> typing.Any:
        """
        The queue that allocations are bound to.
        """
class Stream:
    """
    A queue on which primitives of one engine are executed.
    """
    def __init__(self, engine: Engine, queue: typing.Any = None, *, ordered: bool = False) -> None:
        """
        ``queue`` defaults to the engine's. ``ordered=True`` puts executions into one sequence with dpnp's own work on the queue.
        """
    def let_go(self) -> None:
        """
        Let go of what finished executions used, without waiting; on a CPU only.
        """
    def wait(self, depends: typing.Any = ()) -> None:
        """
        Wait until the events ``depends`` and everything on the queue are done; other threads run meanwhile, and Ctrl-C raises KeyboardInterrupt.
        """
    @property
    def engine(self) -> Engine:
        ...
    @property
    def ordered(self) -> bool:
        ...
    @property
    def pending(self) -> int:
        """
        Executions whose memories are still held.
        """
    @property
    def sycl_queue(self) -> typing.Any:
        ...
class MemoryDesc:
    """
    Shape, data type and layout of a tensor (dnnl::memory::desc), immutable.
    """
    @staticmethod
    def coo(dims: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], data_type: data_type, nnz: typing.SupportsInt | typing.SupportsIndex, index_dt: data_type) -> MemoryDesc:
        """
        Coordinates: values, then one index array per dimension.
        """
    @staticmethod
    def csr(dims: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], data_type: data_type, nnz: typing.SupportsInt | typing.SupportsIndex, index_dt: data_type, pointer_dt: data_type) -> MemoryDesc:
        """
        Compressed sparse rows: values, indices, pointers.
        """
    @staticmethod
    def from_blob(blob: bytes) -> MemoryDesc:
        """
        The descriptor that ``blob`` came from; refuses damaged bytes, and all that the other constructors could not make (layouts that only a primitive knows, too).
        """
    @staticmethod
    def host_scalar(data_type: data_type) -> MemoryDesc:
        """
        A scalar that lives on the host and is given by value.
        """
    @staticmethod
    def packed(dims: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], data_type: data_type, nnz: typing.SupportsInt | typing.SupportsIndex) -> MemoryDesc:
        """
        Sparse weights in the library's own packing; only as a primitive's input.
        """
    def __bool__(self) -> bool:
        ...
    def __eq__(self, arg0: typing.Any) -> typing.Any:
        ...
    def __getstate__(self) -> bytes:
        ...
    def __hash__(self) -> int:
        ...
    @typing.overload
    def __init__(self) -> None:
        """
        The zero descriptor: an absent tensor.
        """
    @typing.overload
    def __init__(self, dims: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], data_type: data_type) -> None:
        """
        Row-major layout of shape ``dims``.
        """
    @typing.overload
    def __init__(self, dims: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], data_type: data_type, format_tag: sycl_dnn.onednn.format_tag | str) -> None:
        """
        Layout by tag: a member of ``format_tag`` or its name; ``any`` lets oneDNN choose.
        """
    @typing.overload
    def __init__(self, dims: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], data_type: data_type, *, strides: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex]) -> None:
        """
        Plain layout by strides, in elements; 0 broadcasts.
        """
    def __repr__(self) -> str:
        ...
    def __setstate__(self, arg0: bytes) -> None:
        ...
    def __str__(self) -> str:
        ...
    def get_data_type(self, index: typing.SupportsInt | typing.SupportsIndex = 0) -> data_type:
        """
        Data type of buffer ``index`` (sparse descriptors have several).
        """
    def get_size(self, index: typing.SupportsInt | typing.SupportsIndex = 0) -> int:
        """
        Bytes of buffer ``index``.
        """
    def permute_axes(self, permutation: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex]) -> MemoryDesc:
        """
        New dims[permutation[d]] = dims[d]: the inverse of ``numpy.transpose``.
        """
    def reshape(self, dims: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex]) -> MemoryDesc:
        """
        The same elements under another shape; merges only dense dimensions.
        """
    def submemory_desc(self, dims: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], offsets: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex]) -> MemoryDesc:
        """
        A view of shape ``dims`` that starts at ``offsets``.
        """
    @property
    def blob(self) -> bytes:
        """
        Bytes for MemoryDesc.from_blob in the same oneDNN version.
        """
    @property
    def data_type(self) -> data_type:
        ...
    @property
    def dims(self) -> tuple:
        """
        Logical shape; RUNTIME_DIM_VAL where it is given at execution.
        """
    @property
    def extent(self) -> int:
        """
        Bytes that a buffer must have: first to last element of a view.
        """
    @property
    def format_kind(self) -> format_kind:
        ...
    @property
    def inner_blks(self) -> tuple:
        ...
    @property
    def inner_idxs(self) -> tuple:
        ...
    @property
    def inner_nblks(self) -> int:
        ...
    @property
    def is_plain(self) -> bool:
        """
        Whether an array can have this layout.
        """
    @property
    def is_zero(self) -> bool:
        ...
    @property
    def ndims(self) -> int:
        ...
    @property
    def nnz(self) -> int:
        ...
    @property
    def num_handles(self) -> int:
        ...
    @property
    def padded_dims(self) -> tuple:
        ...
    @property
    def padded_offsets(self) -> tuple:
        ...
    @property
    def size(self) -> int:
        """
        Bytes, padding included.
        """
    @property
    def sparse_encoding(self) -> sparse_encoding:
        ...
    @property
    def strides(self) -> tuple:
        """
        Elements between neighbours (between outer blocks if blocked).
        """
    @property
    def submemory_offset(self) -> int:
        """
        In elements.
        """
class Memory:
    """
    A tensor in USM: descriptor, engine and buffers. Immutable.
    """
    @typing.overload
    def __init__(self, desc: MemoryDesc, engine: Engine, buffers: collections.abc.Sequence[tuple[typing.Any, typing.SupportsInt | typing.SupportsIndex]], owner: typing.Any, writable: bool, allocated: bool) -> None:
        ...
    @typing.overload
    def __init__(self, desc: MemoryDesc, value: bytes) -> None:
        ...
    @typing.overload
    def __init__(self, whole: Memory, dims: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], offsets: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex]) -> None:
        ...
    def zero(self, stream: Stream, depends: typing.Any = ()) -> typing.Any:
        ...
    @property
    def desc(self) -> MemoryDesc:
        ...
    @property
    def engine(self) -> typing.Any:
        """
        The engine; None for a host scalar.
        """
    @property
    def owner(self) -> typing.Any:
        """
        What holds the data: the array given, or dpctl.memory objects.
        """
    @property
    def pointer(self) -> int:
        """
        USM address of the first buffer; 0 for a host scalar.
        """
    @property
    def writable(self) -> bool:
        ...
class PostOps:
    """
    Operations on a primitive's result, applied in the order of appending.
    """
    def __eq__(self, arg0: typing.Any) -> typing.Any:
        ...
    def __getitem__(self, index: typing.SupportsInt | typing.SupportsIndex) -> tuple:
        """
        (method, arguments) with which post-op ``index`` was appended.
        """
    def __hash__(self) -> int:
        ...
    def __init__(self) -> None:
        ...
    def __len__(self) -> int:
        ...
    def __reduce__(self) -> tuple[..., tuple[type, ...]]:
        ...
    def __repr__(self) -> str:
        ...
    def append_binary(self, algorithm: algorithm, src1_desc: MemoryDesc, src2_desc: MemoryDesc | None = None) -> None:
        """
        result = op(result, src1); argument attr_post_op_<i>_src_1, shape broadcast by 1.
        """
    def append_dw(self, weights_data_type: data_type, bias_data_type: data_type, dst_data_type: data_type, kernel_size: typing.SupportsInt | typing.SupportsIndex, stride_size: typing.SupportsInt | typing.SupportsIndex, padding_l_size: typing.SupportsInt | typing.SupportsIndex) -> None:
        """
        Depthwise convolution after a 1x1 one (CPU); argument attr_post_op_dw_weights.
        """
    def append_eltwise(self, algorithm: algorithm, alpha: typing.SupportsFloat | typing.SupportsIndex = 0.0, beta: typing.SupportsFloat | typing.SupportsIndex = 0.0) -> None:
        """
        result = f(result; alpha, beta).
        """
    def append_prelu(self, mask: typing.SupportsInt | typing.SupportsIndex) -> None:
        """
        Negative results times weights; argument attr_post_op_<i>_weights.
        """
    def append_sum(self, scale: typing.SupportsFloat | typing.SupportsIndex = 1.0, zero_point: typing.SupportsInt | typing.SupportsIndex = 0, data_type: data_type = ...) -> None:
        """
        dst = result + scale * (old dst - zero_point); dst must hold valid data.
        """
    def copy(self) -> PostOps:
        """
        An independent copy.
        """
    def kind(self, index: typing.SupportsInt | typing.SupportsIndex) -> primitive_kind:
        """
        primitive_kind of post-op ``index``.
        """
    @property
    def calls(self) -> tuple:
        """
        The settings so far: (method, arguments) in order.
        """
class PrimitiveAttr:
    """
    Settings of a primitive; all default at first.
    """
    def __eq__(self, arg0: typing.Any) -> typing.Any:
        ...
    def __hash__(self) -> int:
        ...
    def __init__(self) -> None:
        ...
    def __reduce__(self) -> tuple[..., tuple[type, ...]]:
        ...
    def __repr__(self) -> str:
        ...
    def copy(self) -> PrimitiveAttr:
        """
        An independent copy.
        """
    def get(self, setter: str) -> list:
        """
        The argument tuples of all calls of ``setter``, in order.
        """
    def get_rounding_mode(self, arg: str | int) -> rounding_mode:
        ...
    def set_accumulation_mode(self, mode: accumulation_mode) -> None:
        ...
    def set_deterministic(self, value: bool) -> None:
        """
        Same bits from every run on the same machine.
        """
    def set_dropout(self, mask_desc: MemoryDesc | None = None, seed_dt: data_type = ..., use_offset: bool = False, use_host_scalars: bool = False) -> None:
        """
        Zero results at random before the post-ops; arguments attr_dropout_*.
        """
    def set_fpmath_mode(self, mode: fpmath_mode, apply_to_int: bool = False) -> None:
        """
        Allow f32 inputs to be computed in a smaller type; apply_to_int also decompresses integer weights.
        """
    def set_host_scale(self, arg: str | int, data_type: data_type = ...) -> None:
        ...
    def set_host_zero_point(self, arg: str | int, data_type: data_type = ...) -> None:
        ...
    def set_post_ops(self, post_ops: PostOps) -> None:
        """
        Operations on the result; a copy is taken.
        """
    def set_precomputed_reductions(self, arg: str | int, mask: typing.SupportsInt | typing.SupportsIndex, groups: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex] = [], data_type: data_type = ...) -> None:
        ...
    def set_rnn_data_qparams(self, scale: typing.SupportsFloat | typing.SupportsIndex, shift: typing.SupportsFloat | typing.SupportsIndex) -> None:
        ...
    def set_rnn_weights_projection_qparams(self, mask: typing.SupportsInt | typing.SupportsIndex, scales: collections.abc.Sequence[typing.SupportsFloat | typing.SupportsIndex]) -> None:
        ...
    def set_rnn_weights_qparams(self, mask: typing.SupportsInt | typing.SupportsIndex, scales: collections.abc.Sequence[typing.SupportsFloat | typing.SupportsIndex]) -> None:
        ...
    def set_rounding_mode(self, arg: str | int, mode: rounding_mode) -> None:
        """
        Rounding of an output; stochastic needs attr_rounding_seed at execution.
        """
    def set_scales(self, arg: str | int, mask: typing.SupportsInt | typing.SupportsIndex, groups: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex] = [], data_type: data_type = ..., is_on_host: bool = False, qmode: quantization_mode = ...) -> None:
        """
        Scales with groups in the last two dimensions and other data types.
        """
    def set_scales_mask(self, arg: str | int, mask: typing.SupportsInt | typing.SupportsIndex) -> None:
        """
        f32 scales of an argument, one per index of the dimensions in ``mask``.
        """
    def set_scratchpad_mode(self, mode: scratchpad_mode) -> None:
        """
        user: execute takes a scratchpad argument, from a pool if there is none. library: always from the pool.
        """
    def set_zero_points(self, arg: str | int, mask: typing.SupportsInt | typing.SupportsIndex, groups: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex] = [], data_type: data_type = ..., is_on_host: bool = False) -> None:
        ...
    def set_zero_points_mask(self, arg: str | int, mask: typing.SupportsInt | typing.SupportsIndex) -> None:
        ...
    @property
    def accumulation_mode(self) -> accumulation_mode:
        ...
    @property
    def calls(self) -> tuple:
        """
        The settings so far: (method, arguments) in order.
        """
    @property
    def deterministic(self) -> bool:
        ...
    @property
    def fpmath_mode(self) -> tuple[fpmath_mode, bool]:
        """
        (mode, apply_to_int)
        """
    @property
    def scratchpad_mode(self) -> scratchpad_mode:
        ...
class PrimitiveDesc:
    """
    An operation with its parameters, layouts and implementation; from one of the functions such as convolution_forward.
    """
    def __repr__(self) -> str:
        ...
    def desc_of(self, argument: str | int) -> MemoryDesc:
        """
        Layout of an execution argument; zero descriptor if unused.
        """
    def next_impl(self) -> bool:
        """
        Go on to the next implementation, usually a slower one; False if there is none.
        """
    def query_md(self, what: query, index: typing.SupportsInt | typing.SupportsIndex = 0) -> MemoryDesc:
        ...
    def query_s64(self, what: query) -> int:
        ...
    @property
    def activation_kind(self) -> algorithm:
        ...
    @property
    def algorithm(self) -> algorithm:
        ...
    @property
    def alpha(self) -> float:
        ...
    @property
    def augru_attention_desc(self) -> MemoryDesc:
        ...
    @property
    def axis(self) -> int:
        ...
    @property
    def beta(self) -> float:
        ...
    @property
    def bias_desc(self) -> MemoryDesc:
        ...
    @property
    def cache_blob_id(self) -> bytes:
        """
        Empty on SYCL, where oneDNN keeps no cache blobs.
        """
    @property
    def cell_kind(self) -> algorithm:
        ...
    @property
    def diff_augru_attention_desc(self) -> MemoryDesc:
        ...
    @property
    def diff_bias_desc(self) -> MemoryDesc:
        ...
    @property
    def diff_dst_0_desc(self) -> MemoryDesc:
        ...
    @property
    def diff_dst_1_desc(self) -> MemoryDesc:
        ...
    @property
    def diff_dst_2_desc(self) -> MemoryDesc:
        ...
    @property
    def diff_dst_desc(self) -> MemoryDesc:
        ...
    @property
    def diff_dst_iter_c_desc(self) -> MemoryDesc:
        ...
    @property
    def diff_dst_iter_desc(self) -> MemoryDesc:
        ...
    @property
    def diff_dst_layer_desc(self) -> MemoryDesc:
        ...
    @property
    def diff_scale_desc(self) -> MemoryDesc:
        ...
    @property
    def diff_shift_desc(self) -> MemoryDesc:
        ...
    @property
    def diff_src_0_desc(self) -> MemoryDesc:
        ...
    @property
    def diff_src_1_desc(self) -> MemoryDesc:
        ...
    @property
    def diff_src_2_desc(self) -> MemoryDesc:
        ...
    @property
    def diff_src_3_desc(self) -> MemoryDesc:
        ...
    @property
    def diff_src_desc(self) -> MemoryDesc:
        ...
    @property
    def diff_src_iter_c_desc(self) -> MemoryDesc:
        ...
    @property
    def diff_src_iter_desc(self) -> MemoryDesc:
        ...
    @property
    def diff_src_layer_desc(self) -> MemoryDesc:
        ...
    @property
    def diff_weights_0_desc(self) -> MemoryDesc:
        ...
    @property
    def diff_weights_1_desc(self) -> MemoryDesc:
        ...
    @property
    def diff_weights_2_desc(self) -> MemoryDesc:
        ...
    @property
    def diff_weights_3_desc(self) -> MemoryDesc:
        ...
    @property
    def diff_weights_desc(self) -> MemoryDesc:
        ...
    @property
    def diff_weights_iter_desc(self) -> MemoryDesc:
        ...
    @property
    def diff_weights_layer_desc(self) -> MemoryDesc:
        ...
    @property
    def diff_weights_peephole_desc(self) -> MemoryDesc:
        ...
    @property
    def diff_weights_projection_desc(self) -> MemoryDesc:
        ...
    @property
    def dilations(self) -> tuple:
        ...
    @property
    def direction(self) -> rnn_direction:
        ...
    @property
    def dst_0_desc(self) -> MemoryDesc:
        ...
    @property
    def dst_1_desc(self) -> MemoryDesc:
        ...
    @property
    def dst_2_desc(self) -> MemoryDesc:
        ...
    @property
    def dst_desc(self) -> MemoryDesc:
        ...
    @property
    def dst_engine(self) -> Engine:
        """
        Differs from ``engine`` only for a reorder between engines.
        """
    @property
    def dst_iter_c_desc(self) -> MemoryDesc:
        ...
    @property
    def dst_iter_desc(self) -> MemoryDesc:
        ...
    @property
    def dst_layer_desc(self) -> MemoryDesc:
        ...
    @property
    def engine(self) -> Engine:
        ...
    @property
    def epsilon(self) -> float:
        ...
    @property
    def factors(self) -> tuple:
        ...
    @property
    def flags(self) -> typing.Any:
        """
        normalization_flags, or rnn_flags of a cell.
        """
    @property
    def group_size(self) -> int:
        ...
    @property
    def impl_info(self) -> str:
        ...
    @property
    def impl_info_str(self) -> str:
        ...
    @property
    def k(self) -> float:
        ...
    @property
    def kernel(self) -> tuple:
        ...
    @property
    def kind(self) -> primitive_kind:
        ...
    @property
    def local_size(self) -> int:
        ...
    @property
    def mean_desc(self) -> MemoryDesc:
        ...
    @property
    def memory_consumption(self) -> int:
        """
        Bytes that executions need beside the arguments.
        """
    @property
    def name(self) -> str:
        """
        Name of oneDNN's C++ class: 'convolution_forward'.
        """
    @property
    def num_of_inputs(self) -> int:
        ...
    @property
    def num_of_outputs(self) -> int:
        ...
    @property
    def p(self) -> float:
        ...
    @property
    def padding_l(self) -> tuple:
        ...
    @property
    def padding_r(self) -> tuple:
        ...
    @property
    def parameters(self) -> typing.Any:
        """
        The keyword arguments that it was made with.
        """
    @property
    def primitive_attr(self) -> PrimitiveAttr:
        """
        A copy of the attributes.
        """
    @property
    def prop_kind(self) -> prop_kind:
        ...
    @property
    def scale_desc(self) -> MemoryDesc:
        ...
    @property
    def scratchpad_desc(self) -> MemoryDesc:
        ...
    @property
    def shift_desc(self) -> MemoryDesc:
        ...
    @property
    def src_0_desc(self) -> MemoryDesc:
        ...
    @property
    def src_1_desc(self) -> MemoryDesc:
        ...
    @property
    def src_2_desc(self) -> MemoryDesc:
        ...
    @property
    def src_3_desc(self) -> MemoryDesc:
        ...
    @property
    def src_desc(self) -> MemoryDesc:
        ...
    @property
    def src_iter_c_desc(self) -> MemoryDesc:
        ...
    @property
    def src_iter_desc(self) -> MemoryDesc:
        ...
    @property
    def src_layer_desc(self) -> MemoryDesc:
        ...
    @property
    def strides(self) -> tuple:
        ...
    @property
    def time_estimate(self) -> float:
        """
        The library's own guess, without unit.
        """
    @property
    def variance_desc(self) -> MemoryDesc:
        ...
    @property
    def weights_0_desc(self) -> MemoryDesc:
        ...
    @property
    def weights_1_desc(self) -> MemoryDesc:
        ...
    @property
    def weights_2_desc(self) -> MemoryDesc:
        ...
    @property
    def weights_3_desc(self) -> MemoryDesc:
        ...
    @property
    def weights_desc(self) -> MemoryDesc:
        ...
    @property
    def weights_iter_desc(self) -> MemoryDesc:
        ...
    @property
    def weights_layer_desc(self) -> MemoryDesc:
        ...
    @property
    def weights_peephole_desc(self) -> MemoryDesc:
        ...
    @property
    def weights_projection_desc(self) -> MemoryDesc:
        ...
    @property
    def workspace_desc(self) -> MemoryDesc:
        ...
class Primitive:
    """
    An operation ready to run; may be executed from several threads.
    """
    def __init__(self, primitive_desc: PrimitiveDesc, inserted: bool = False) -> None:
        """
        ``inserted`` marks a reorder that nobody asked for, in sycl_dnn.profile.
        """
    def __repr__(self) -> str:
        ...
    def execute(self, stream: Stream, args: dict, depends: typing.Any = ()) -> typing.Any:
        """
        Submit with ``args`` (name: Memory) after the events ``depends``; return the event of completion. Everything is checked by name first; nothing is submitted if it fails.
        """
    def get_cache_blob(self) -> bytes:
        """
        Compiled code for reuse; oneDNN has none on SYCL and raises Unimplemented.
        """
    @property
    def arguments(self) -> dict:
        """
        What execute takes: name, and for each id, desc, output, required.
        """
    @property
    def kind(self) -> primitive_kind:
        ...
    @property
    def name(self) -> str:
        ...
    @property
    def primitive_desc(self) -> PrimitiveDesc:
        ...
class Program:
    """
    A fixed sequence of primitives, submitted by one call.
    """
    def __init__(self, engine: Engine, values: list, steps: list, n_arguments: typing.SupportsInt | typing.SupportsIndex, arena_bytes: typing.SupportsInt | typing.SupportsIndex) -> None:
        ...
    def run(self, stream: Stream, arrays: list, depends: typing.Any = ()) -> typing.Any:
        """
        Submit with the arrays (objects that have ``_pointer``) and the bytes of the host scalars, by number; return the event of completion. Layouts are taken on trust.
        """
    @property
    def arena_bytes(self) -> int:
        ...
    @property
    def n_steps(self) -> int:
        ...
class BoundProgram:
    """
    A program with its arrays: calling it submits it.
    """
    def __call__(self) -> typing.Any:
        """
        Submit; return the result that was bound.
        """
    def __init__(self, program: typing.Any, stream: typing.Any, arrays: list, arena: typing.Any, result: typing.Any) -> None:
        ...
    @property
    def result(self) -> typing.Any:
        ...
class ResultPool:
    """
    Memory of a queue's results that were dropped, used again.
    """
    @staticmethod
    def rounded(nbytes: typing.SupportsInt | typing.SupportsIndex) -> int:
        """
        Return the size of the block for so many bytes.
        """
    def __init__(self, queue: typing.Any, most: typing.SupportsInt | typing.SupportsIndex) -> None:
        ...
    def drop_unused(self) -> None:
        """
        Give back the blocks that nothing uses.
        """
    def take(self, kind: typing.Any, nbytes: typing.SupportsInt | typing.SupportsIndex) -> typing.Any:
        """
        Return a dpctl.memory object of the class ``kind`` of at least so many bytes.
        """
    @property
    def nbytes(self) -> int:
        ...
class CallPlan:
    """
    A program, and what a call of it allocates and returns.
    """
    def __init__(self, program: typing.Any, reads: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], n_arrays: typing.SupportsInt | typing.SupportsIndex, blanks: list, constants: list, result: typing.SupportsInt | typing.SupportsIndex, carried_dtype: typing.Any = None) -> None:
        ...
class CallTable:
    """
    Repeats calls that it was told of; knows dpnp only by what it is given.
    """
    def __init__(self, ndarray: typing.Any, carried: typing.Any, frozen: typing.Any, memory: collections.abc.Sequence[typing.Any], usm_ndarray: typing.Any, wrap: typing.Any, move_to_end: typing.Any) -> None:
        ...
    def call(self, operation: typing.Any, policy: typing.Any, args: tuple, kwargs: dict, out: typing.Any) -> typing.Any:
        """
        Return the result, or NotImplemented where the call is not known.
        """
    def clear(self) -> None:
        """
        Forget everything.
        """
    def remember(self, operation: typing.Any, policy: typing.Any, args: tuple, kwargs: dict, out: typing.Any, key: typing.Any, plan: CallPlan, stream: typing.Any, pool: ResultPool) -> None:
        """
        Let calls like this one run ``plan`` as long as the cache has ``key``.
        """
    @property
    def capacity(self) -> int:
        ...
    @capacity.setter
    def capacity(self, arg0: typing.SupportsInt | typing.SupportsIndex) -> None:
        ...
    @property
    def hits(self) -> int:
        ...
class Recorder:
    """
    Records what the process runs, between start and stop.
    """
    def __init__(self, most: typing.SupportsInt | typing.SupportsIndex, waits: bool) -> None:
        """
        Keep up to ``most`` records, count the others; ``waits``: run each to its end.
        """
    def queues(self) -> list:
        """
        The queues that the records name by number.
        """
    def records(self, first: typing.SupportsInt | typing.SupportsIndex = 0) -> list:
        """
        (subject, begin, end, thread, queue, clock, submitted, started, finished), times in ns of time.perf_counter_ns; the last three in those of ``clock``.
        """
    def settle(self) -> None:
        """
        Wait until the times of all executions are known.
        """
    def start(self) -> None:
        ...
    def stop(self) -> None:
        ...
    def subjects(self, first: typing.SupportsInt | typing.SupportsIndex = 0) -> list:
        """
        What ran: kind, name, implementation, tensors, ...
        """
    @property
    def dropped(self) -> int:
        ...
class LogicalTensor:
    """
    What a tensor of a graph is: number, data type, shape, layout. Immutable.
    """
    def __init__(self, id: typing.SupportsInt | typing.SupportsIndex, data_type: typing.Any, dims: typing.Any = None, *, strides: typing.Any = None, layout_type: typing.Any = None, layout_id: typing.Any = None, property_type: typing.Any = 'undef') -> None:
        """
        ``dims`` is None for an unknown rank and holds None for unknown sizes. Without ``strides`` or another ``layout_type`` the tensor is row-major.
        """
    def __repr__(self) -> str:
        ...
    def is_equal(self, other: LogicalTensor) -> bool:
        """
        Whether number, type, shape and layout are equal.
        """
    @property
    def data_type(self) -> logical_data_type:
        ...
    @property
    def dims(self) -> typing.Any:
        """
        The shape; None if the rank is unknown, None for each unknown size.
        """
    @property
    def has_known_shape(self) -> bool:
        ...
    @property
    def id(self) -> int:
        ...
    @property
    def layout_id(self) -> typing.Any:
        """
        oneDNN's number of an opaque layout; None for others.
        """
    @property
    def layout_type(self) -> layout_type:
        ...
    @property
    def mem_size(self) -> int:
        """
        Bytes that memory in this layout takes.
        """
    @property
    def property_type(self) -> property_type:
        ...
    @property
    def strides(self) -> typing.Any:
        """
        In elements; None unless the layout is strided.
        """
class Op:
    """
    An operation of a graph: kind, tensors and attributes.
    """
    def __init__(self, id: typing.SupportsInt | typing.SupportsIndex, kind: typing.Any, inputs: collections.abc.Sequence[LogicalTensor] = [], outputs: collections.abc.Sequence[LogicalTensor] = [], attrs: dict = {}, name: str = '') -> None:
        """
        Tensors are positional, in the order of oneDNN's operation table.
        """
    def __repr__(self) -> str:
        ...
    def add_input(self, tensor: LogicalTensor) -> None:
        ...
    def add_output(self, tensor: LogicalTensor) -> None:
        ...
    def set_attr(self, attr: typing.Any, value: typing.Any) -> None:
        """
        Set an attribute; the value must have exactly the kind that oneDNN wants for it.
        """
    @property
    def attributes(self) -> typing.Any:
        ...
    @property
    def id(self) -> int:
        ...
    @property
    def inputs(self) -> list[LogicalTensor]:
        ...
    @property
    def kind(self) -> op_kind:
        ...
    @property
    def name(self) -> str:
        ...
    @property
    def outputs(self) -> list[LogicalTensor]:
        ...
class GraphTensor:
    """
    Data of a logical tensor in USM. Immutable.
    """
    @typing.overload
    def __init__(self, logical_tensor: LogicalTensor, engine: Engine, memory: typing.Any, offset: typing.SupportsInt | typing.SupportsIndex, owner: typing.Any, writable: bool) -> None:
        ...
    @typing.overload
    def __init__(self, logical_tensor: LogicalTensor, value: bytes) -> None:
        ...
    def __repr__(self) -> str:
        ...
    @property
    def engine(self) -> typing.Any:
        """
        The engine; None for a host scalar.
        """
    @property
    def id(self) -> int:
        ...
    @property
    def logical_tensor(self) -> LogicalTensor:
        ...
    @property
    def owner(self) -> typing.Any:
        """
        What holds the data: the array given, or a dpctl.memory object.
        """
    @property
    def pointer(self) -> int:
        """
        USM address of the first element; 0 for a host scalar.
        """
    @property
    def writable(self) -> bool:
        ...
class CompiledPartition:
    """
    A partition ready to run; several threads may execute it.
    """
    def execute(self, stream: Stream, inputs: collections.abc.Sequence, outputs: collections.abc.Sequence, scratchpad: typing.Any = None, depends: typing.Any = ()) -> typing.Any:
        """
        Submit after the events ``depends``; return the event of completion. Tensors are matched by their numbers, in any order. On the CPU device the call returns when the work is done.
        """
    def query_logical_tensor(self, id: typing.SupportsInt | typing.SupportsIndex) -> LogicalTensor:
        """
        The input or output as compiled: outputs have their shape and layout now.
        """
    @property
    def engine(self) -> Engine:
        ...
    @property
    def inplace_ports(self) -> list[tuple[int, int]]:
        """
        Pairs of input and output that may share memory.
        """
    @property
    def inputs(self) -> list[LogicalTensor]:
        ...
    @property
    def label(self) -> str:
        """
        What sycl_dnn.profile calls it.
        """
    @label.setter
    def label(self, arg0: str) -> None:
        ...
    @property
    def outputs(self) -> list[LogicalTensor]:
        ...
    @property
    def partition(self) -> typing.Any:
        ...
    @property
    def scratchpad_logical_tensor(self) -> LogicalTensor:
        ...
class Partition:
    """
    Operations of a graph that run as one.
    """
    def __init__(self, op: Op, engine_kind: typing.Any) -> None:
        """
        One operation, without a graph.
        """
    def __repr__(self) -> str:
        ...
    def compile(self, inputs: collections.abc.Sequence[LogicalTensor], outputs: collections.abc.Sequence[LogicalTensor], engine: Engine) -> CompiledPartition:
        """
        Compile for these logical tensors, which are matched with the ports by their numbers. Output sizes may be unknown, their layout ``any``.
        """
    @property
    def engine_kind(self) -> engine_kind:
        ...
    @property
    def id(self) -> int:
        ...
    @property
    def input_ports(self) -> list[LogicalTensor]:
        ...
    @property
    def is_supported(self) -> bool:
        """
        Whether oneDNN can compile it.
        """
    @property
    def ops(self) -> list[int]:
        """
        Numbers of the operations.
        """
    @property
    def output_ports(self) -> list[LogicalTensor]:
        ...
class OpGraph:
    """
    oneDNN's graph: operations, then partitions.
    """
    def __init__(self, engine_kind: typing.Any, fpmath_mode: typing.Any = None) -> None:
        ...
    def add_op(self, op: Op, allow_exception: bool = True) -> graph_status:
        """
        Add an operation; its status is returned, or raised if it is not success.
        """
    def finalize(self) -> None:
        """
        End building: no operation can be added any more.
        """
    def get_fpmath_mode(self) -> tuple:
        """
        The mode, and whether it holds for integers too.
        """
    def get_partitions(self, policy: typing.Any = 'fusion') -> list[Partition]:
        """
        The partitions in an order in which they can run.
        """
    def set_fpmath_mode(self, mode: typing.Any, apply_to_int: bool = False) -> None:
        ...
    @property
    def engine_kind(self) -> engine_kind:
        ...
    @property
    def is_finalized(self) -> bool:
        ...
def _replayed(arg0: typing.Any, arg1: collections.abc.Iterable) -> typing.Any:
    ...
def _watch(arg0: collections.abc.Set[str], arg1: typing.Any) -> None:
    ...
def argument_id(name: str) -> int:
    """
    The DNNL_ARG_* number of an execution argument's name, composed names included.
    """
def augru_backward(engine: Engine, *, prop_kind: prop_kind, direction: rnn_direction, src_layer: MemoryDesc, src_iter: MemoryDesc | None = None, attention: MemoryDesc, weights_layer: MemoryDesc, weights_iter: MemoryDesc, bias: MemoryDesc | None = None, dst_layer: MemoryDesc, dst_iter: MemoryDesc | None = None, diff_src_layer: MemoryDesc, diff_src_iter: MemoryDesc | None = None, diff_attention: MemoryDesc, diff_weights_layer: MemoryDesc, diff_weights_iter: MemoryDesc, diff_bias: MemoryDesc | None = None, diff_dst_layer: MemoryDesc, diff_dst_iter: MemoryDesc | None = None, flags: rnn_flags = ..., hint_fwd_pd: PrimitiveDesc, attr: PrimitiveAttr = None, allow_empty: bool = False) -> typing.Any:
    """
    Primitive descriptor of augru_backward; executes src_layer src_iter augru_attention weights_layer weights_iter bias dst_layer dst_iter diff_dst_layer diff_dst_iter workspace -> diff_src_layer diff_src_iter diff_augru_attention diff_weights_layer diff_weights_iter diff_bias
    """
def augru_forward(engine: Engine, *, prop_kind: prop_kind, direction: rnn_direction, src_layer: MemoryDesc, src_iter: MemoryDesc | None = None, attention: MemoryDesc, weights_layer: MemoryDesc, weights_iter: MemoryDesc, bias: MemoryDesc | None = None, dst_layer: MemoryDesc, dst_iter: MemoryDesc | None = None, attr: PrimitiveAttr = None, allow_empty: bool = False) -> typing.Any:
    """
    Primitive descriptor of augru_forward; executes src_layer src_iter augru_attention weights_layer weights_iter bias -> dst_layer dst_iter workspace
    """
def batch_normalization_backward(engine: Engine, *, prop_kind: prop_kind, diff_src: MemoryDesc, diff_dst: MemoryDesc, src: MemoryDesc, epsilon: typing.SupportsFloat | typing.SupportsIndex, flags: normalization_flags = ..., hint_fwd_pd: PrimitiveDesc, attr: PrimitiveAttr = None, allow_empty: bool = False) -> typing.Any:
    """
    Primitive descriptor of batch_normalization_backward; executes src diff_dst mean variance scale workspace -> diff_src diff_src_1 diff_scale diff_shift
    """
def batch_normalization_forward(engine: Engine, *, prop_kind: prop_kind, src: MemoryDesc, dst: MemoryDesc, epsilon: typing.SupportsFloat | typing.SupportsIndex, flags: normalization_flags = ..., attr: PrimitiveAttr = None, allow_empty: bool = False) -> typing.Any:
    """
    Primitive descriptor of batch_normalization_forward; executes src src_1 mean variance scale shift -> dst mean variance workspace
    """
def binary(engine: Engine, *, algorithm: algorithm, src0: MemoryDesc, src1: MemoryDesc, src2: MemoryDesc | None = None, dst: MemoryDesc, attr: PrimitiveAttr = None, allow_empty: bool = False) -> typing.Any:
    """
    Primitive descriptor of binary; executes src_0 src_1 src_2 -> dst
    """
def clear_graph_pool() -> None:
    """
    Free the buffers of graphs that nothing uses.
    """
def clear_scratchpads() -> None:
    """
    Free the scratchpad buffers that nothing uses.
    """
def concat(engine: Engine, *, dst: MemoryDesc | None = None, concat_dimension: typing.SupportsInt | typing.SupportsIndex, srcs: collections.abc.Sequence[MemoryDesc], attr: PrimitiveAttr = None, allow_empty: bool = False) -> typing.Any:
    """
    Primitive descriptor of concat; executes multiple_src -> dst
    """
def convolution_backward_data(engine: Engine, *, algorithm: algorithm, diff_src: MemoryDesc, weights: MemoryDesc, diff_dst: MemoryDesc, strides: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], dilates: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex] | None = None, padding_l: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], padding_r: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], hint_fwd_pd: PrimitiveDesc, attr: PrimitiveAttr = None, allow_empty: bool = False) -> typing.Any:
    """
    Primitive descriptor of convolution_backward_data; executes weights diff_dst -> diff_src
    """
def convolution_backward_weights(engine: Engine, *, algorithm: algorithm, src: MemoryDesc, diff_weights: MemoryDesc, diff_bias: MemoryDesc | None = None, diff_dst: MemoryDesc, strides: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], dilates: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex] | None = None, padding_l: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], padding_r: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], hint_fwd_pd: PrimitiveDesc, attr: PrimitiveAttr = None, allow_empty: bool = False) -> typing.Any:
    """
    Primitive descriptor of convolution_backward_weights; executes src diff_dst -> diff_weights diff_bias
    """
def convolution_forward(engine: Engine, *, prop_kind: prop_kind, algorithm: algorithm, src: MemoryDesc, weights: MemoryDesc, bias: MemoryDesc | None = None, dst: MemoryDesc, strides: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], dilates: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex] | None = None, padding_l: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], padding_r: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], attr: PrimitiveAttr = None, allow_empty: bool = False) -> typing.Any:
    """
    Primitive descriptor of convolution_forward; executes src weights bias -> dst
    """
def deconvolution_backward_data(engine: Engine, *, algorithm: algorithm, diff_src: MemoryDesc, weights: MemoryDesc, diff_dst: MemoryDesc, strides: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], dilates: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex] | None = None, padding_l: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], padding_r: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], hint_fwd_pd: PrimitiveDesc, attr: PrimitiveAttr = None, allow_empty: bool = False) -> typing.Any:
    """
    Primitive descriptor of deconvolution_backward_data; executes weights diff_dst -> diff_src
    """
def deconvolution_backward_weights(engine: Engine, *, algorithm: algorithm, src: MemoryDesc, diff_weights: MemoryDesc, diff_bias: MemoryDesc | None = None, diff_dst: MemoryDesc, strides: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], dilates: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex] | None = None, padding_l: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], padding_r: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], hint_fwd_pd: PrimitiveDesc, attr: PrimitiveAttr = None, allow_empty: bool = False) -> typing.Any:
    """
    Primitive descriptor of deconvolution_backward_weights; executes src diff_dst -> diff_weights diff_bias
    """
def deconvolution_forward(engine: Engine, *, prop_kind: prop_kind, algorithm: algorithm, src: MemoryDesc, weights: MemoryDesc, bias: MemoryDesc | None = None, dst: MemoryDesc, strides: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], dilates: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex] | None = None, padding_l: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], padding_r: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], attr: PrimitiveAttr = None, allow_empty: bool = False) -> typing.Any:
    """
    Primitive descriptor of deconvolution_forward; executes src weights bias -> dst
    """
def eltwise_backward(engine: Engine, *, algorithm: algorithm, diff_src: MemoryDesc, diff_dst: MemoryDesc, data: MemoryDesc, alpha: typing.SupportsFloat | typing.SupportsIndex = 0.0, beta: typing.SupportsFloat | typing.SupportsIndex = 0.0, hint_fwd_pd: PrimitiveDesc, attr: PrimitiveAttr = None, allow_empty: bool = False) -> typing.Any:
    """
    Primitive descriptor of eltwise_backward; executes src dst diff_dst -> diff_src
    """
def eltwise_forward(engine: Engine, *, prop_kind: prop_kind, algorithm: algorithm, src: MemoryDesc, dst: MemoryDesc, alpha: typing.SupportsFloat | typing.SupportsIndex = 0.0, beta: typing.SupportsFloat | typing.SupportsIndex = 0.0, attr: PrimitiveAttr = None, allow_empty: bool = False) -> typing.Any:
    """
    Primitive descriptor of eltwise_forward; executes src -> dst
    """
def format_tags() -> list[tuple[str, int]]:
    """
    The names and values of all format tags, in the header's order; aliases included.
    """
def get_compiled_partition_cache_capacity() -> int:
    ...
def get_constant_tensor_cache_capacity(engine_kind: typing.Any) -> int:
    ...
def get_cpu_isa_hints() -> cpu_isa_hints:
    ...
def get_default_fpmath_mode() -> fpmath_mode:
    ...
def get_effective_cpu_isa() -> cpu_isa:
    """
    The best instruction set that oneDNN uses on this CPU.
    """
def get_primitive_cache_capacity() -> int:
    ...
def graph_pool_info() -> dict:
    """
    Number, bytes and busy ones of the buffers that oneDNN's graphs have taken.
    """
def group_normalization_backward(engine: Engine, *, prop_kind: prop_kind, diff_src: MemoryDesc, diff_dst: MemoryDesc, src: MemoryDesc, groups: typing.SupportsInt | typing.SupportsIndex, epsilon: typing.SupportsFloat | typing.SupportsIndex, flags: normalization_flags = ..., hint_fwd_pd: PrimitiveDesc, attr: PrimitiveAttr = None, allow_empty: bool = False) -> typing.Any:
    """
    Primitive descriptor of group_normalization_backward; executes src diff_dst mean variance scale -> diff_src diff_scale diff_shift
    """
def group_normalization_forward(engine: Engine, *, prop_kind: prop_kind, src: MemoryDesc, dst: MemoryDesc, groups: typing.SupportsInt | typing.SupportsIndex, epsilon: typing.SupportsFloat | typing.SupportsIndex, flags: normalization_flags = ..., attr: PrimitiveAttr = None, allow_empty: bool = False) -> typing.Any:
    """
    Primitive descriptor of group_normalization_forward; executes src mean variance scale shift -> dst mean variance
    """
def gru_backward(engine: Engine, *, prop_kind: prop_kind, direction: rnn_direction, src_layer: MemoryDesc, src_iter: MemoryDesc | None = None, weights_layer: MemoryDesc, weights_iter: MemoryDesc, bias: MemoryDesc | None = None, dst_layer: MemoryDesc, dst_iter: MemoryDesc | None = None, diff_src_layer: MemoryDesc, diff_src_iter: MemoryDesc | None = None, diff_weights_layer: MemoryDesc, diff_weights_iter: MemoryDesc, diff_bias: MemoryDesc | None = None, diff_dst_layer: MemoryDesc, diff_dst_iter: MemoryDesc | None = None, flags: rnn_flags = ..., hint_fwd_pd: PrimitiveDesc, attr: PrimitiveAttr = None, allow_empty: bool = False) -> typing.Any:
    """
    Primitive descriptor of gru_backward; executes src_layer src_iter weights_layer weights_iter bias dst_layer dst_iter diff_dst_layer diff_dst_iter workspace -> diff_src_layer diff_src_iter diff_weights_layer diff_weights_iter diff_bias
    """
def gru_forward(engine: Engine, *, prop_kind: prop_kind, direction: rnn_direction, src_layer: MemoryDesc, src_iter: MemoryDesc | None = None, weights_layer: MemoryDesc, weights_iter: MemoryDesc, bias: MemoryDesc | None = None, dst_layer: MemoryDesc, dst_iter: MemoryDesc | None = None, attr: PrimitiveAttr = None, allow_empty: bool = False) -> typing.Any:
    """
    Primitive descriptor of gru_forward; executes src_layer src_iter weights_layer weights_iter bias -> dst_layer dst_iter workspace
    """
def host_lane() -> tuple[int, bool]:
    """
    How often a program took SYCL's other host threads out of use, and whether one does.
    """
def inner_product_backward_data(engine: Engine, *, diff_src: MemoryDesc, weights: MemoryDesc, diff_dst: MemoryDesc, hint_fwd_pd: PrimitiveDesc, attr: PrimitiveAttr = None, allow_empty: bool = False) -> typing.Any:
    """
    Primitive descriptor of inner_product_backward_data; executes weights diff_dst -> diff_src
    """
def inner_product_backward_weights(engine: Engine, *, src: MemoryDesc, diff_weights: MemoryDesc, diff_bias: MemoryDesc | None = None, diff_dst: MemoryDesc, hint_fwd_pd: PrimitiveDesc, attr: PrimitiveAttr = None, allow_empty: bool = False) -> typing.Any:
    """
    Primitive descriptor of inner_product_backward_weights; executes src diff_dst -> diff_weights diff_bias
    """
def inner_product_forward(engine: Engine, *, prop_kind: prop_kind, src: MemoryDesc, weights: MemoryDesc, bias: MemoryDesc | None = None, dst: MemoryDesc, attr: PrimitiveAttr = None, allow_empty: bool = False) -> typing.Any:
    """
    Primitive descriptor of inner_product_forward; executes src weights bias -> dst
    """
def is_recording() -> bool:
    """
    Whether a Recorder is on.
    """
def is_recording_waits() -> bool:
    """
    Whether one is on that waits for each execution.
    """
def layer_normalization_backward(engine: Engine, *, prop_kind: prop_kind, diff_src: MemoryDesc, diff_dst: MemoryDesc, src: MemoryDesc, stat: MemoryDesc | None = None, diff_scale_shift_data_type: data_type = ..., scale_shift_data_type: data_type = ..., epsilon: typing.SupportsFloat | typing.SupportsIndex, flags: normalization_flags = ..., hint_fwd_pd: PrimitiveDesc, attr: PrimitiveAttr = None, allow_empty: bool = False) -> typing.Any:
    """
    Primitive descriptor of layer_normalization_backward; executes src diff_dst mean variance scale -> diff_src diff_scale diff_shift
    """
def layer_normalization_forward(engine: Engine, *, prop_kind: prop_kind, src: MemoryDesc, dst: MemoryDesc, stat: MemoryDesc | None = None, scale_shift_data_type: data_type = ..., epsilon: typing.SupportsFloat | typing.SupportsIndex, flags: normalization_flags = ..., attr: PrimitiveAttr = None, allow_empty: bool = False) -> typing.Any:
    """
    Primitive descriptor of layer_normalization_forward; executes src mean variance scale shift -> dst mean variance
    """
def lbr_augru_backward(engine: Engine, *, prop_kind: prop_kind, direction: rnn_direction, src_layer: MemoryDesc, src_iter: MemoryDesc | None = None, attention: MemoryDesc, weights_layer: MemoryDesc, weights_iter: MemoryDesc, bias: MemoryDesc | None = None, dst_layer: MemoryDesc, dst_iter: MemoryDesc | None = None, diff_src_layer: MemoryDesc, diff_src_iter: MemoryDesc | None = None, diff_attention: MemoryDesc, diff_weights_layer: MemoryDesc, diff_weights_iter: MemoryDesc, diff_bias: MemoryDesc | None = None, diff_dst_layer: MemoryDesc, diff_dst_iter: MemoryDesc | None = None, flags: rnn_flags = ..., hint_fwd_pd: PrimitiveDesc, attr: PrimitiveAttr = None, allow_empty: bool = False) -> typing.Any:
    """
    Primitive descriptor of lbr_augru_backward; executes src_layer src_iter augru_attention weights_layer weights_iter bias dst_layer dst_iter diff_dst_layer diff_dst_iter workspace -> diff_src_layer diff_src_iter diff_augru_attention diff_weights_layer diff_weights_iter diff_bias
    """
def lbr_augru_forward(engine: Engine, *, prop_kind: prop_kind, direction: rnn_direction, src_layer: MemoryDesc, src_iter: MemoryDesc | None = None, attention: MemoryDesc, weights_layer: MemoryDesc, weights_iter: MemoryDesc, bias: MemoryDesc | None = None, dst_layer: MemoryDesc, dst_iter: MemoryDesc | None = None, attr: PrimitiveAttr = None, allow_empty: bool = False) -> typing.Any:
    """
    Primitive descriptor of lbr_augru_forward; executes src_layer src_iter augru_attention weights_layer weights_iter bias -> dst_layer dst_iter workspace
    """
def lbr_gru_backward(engine: Engine, *, prop_kind: prop_kind, direction: rnn_direction, src_layer: MemoryDesc, src_iter: MemoryDesc | None = None, weights_layer: MemoryDesc, weights_iter: MemoryDesc, bias: MemoryDesc | None = None, dst_layer: MemoryDesc, dst_iter: MemoryDesc | None = None, diff_src_layer: MemoryDesc, diff_src_iter: MemoryDesc | None = None, diff_weights_layer: MemoryDesc, diff_weights_iter: MemoryDesc, diff_bias: MemoryDesc | None = None, diff_dst_layer: MemoryDesc, diff_dst_iter: MemoryDesc | None = None, flags: rnn_flags = ..., hint_fwd_pd: PrimitiveDesc, attr: PrimitiveAttr = None, allow_empty: bool = False) -> typing.Any:
    """
    Primitive descriptor of lbr_gru_backward; executes src_layer src_iter weights_layer weights_iter bias dst_layer dst_iter diff_dst_layer diff_dst_iter workspace -> diff_src_layer diff_src_iter diff_weights_layer diff_weights_iter diff_bias
    """
def lbr_gru_forward(engine: Engine, *, prop_kind: prop_kind, direction: rnn_direction, src_layer: MemoryDesc, src_iter: MemoryDesc | None = None, weights_layer: MemoryDesc, weights_iter: MemoryDesc, bias: MemoryDesc | None = None, dst_layer: MemoryDesc, dst_iter: MemoryDesc | None = None, attr: PrimitiveAttr = None, allow_empty: bool = False) -> typing.Any:
    """
    Primitive descriptor of lbr_gru_forward; executes src_layer src_iter weights_layer weights_iter bias -> dst_layer dst_iter workspace
    """
def lrn_backward(engine: Engine, *, algorithm: algorithm, diff_src: MemoryDesc, diff_dst: MemoryDesc, src: MemoryDesc, local_size: typing.SupportsInt | typing.SupportsIndex, alpha: typing.SupportsFloat | typing.SupportsIndex, beta: typing.SupportsFloat | typing.SupportsIndex, k: typing.SupportsFloat | typing.SupportsIndex, hint_fwd_pd: PrimitiveDesc, attr: PrimitiveAttr = None, allow_empty: bool = False) -> typing.Any:
    """
    Primitive descriptor of lrn_backward; executes src diff_dst workspace -> diff_src
    """
def lrn_forward(engine: Engine, *, prop_kind: prop_kind, algorithm: algorithm, src: MemoryDesc, dst: MemoryDesc, local_size: typing.SupportsInt | typing.SupportsIndex, alpha: typing.SupportsFloat | typing.SupportsIndex, beta: typing.SupportsFloat | typing.SupportsIndex, k: typing.SupportsFloat | typing.SupportsIndex, attr: PrimitiveAttr = None, allow_empty: bool = False) -> typing.Any:
    """
    Primitive descriptor of lrn_forward; executes src -> dst workspace
    """
def lstm_backward(engine: Engine, *, prop_kind: prop_kind, direction: rnn_direction, src_layer: MemoryDesc, src_iter: MemoryDesc | None = None, src_iter_c: MemoryDesc | None = None, weights_layer: MemoryDesc, weights_iter: MemoryDesc, weights_peephole: MemoryDesc | None = None, weights_projection: MemoryDesc | None = None, bias: MemoryDesc | None = None, dst_layer: MemoryDesc, dst_iter: MemoryDesc | None = None, dst_iter_c: MemoryDesc | None = None, diff_src_layer: MemoryDesc, diff_src_iter: MemoryDesc | None = None, diff_src_iter_c: MemoryDesc | None = None, diff_weights_layer: MemoryDesc, diff_weights_iter: MemoryDesc, diff_weights_peephole: MemoryDesc | None = None, diff_weights_projection: MemoryDesc | None = None, diff_bias: MemoryDesc | None = None, diff_dst_layer: MemoryDesc, diff_dst_iter: MemoryDesc | None = None, diff_dst_iter_c: MemoryDesc | None = None, flags: rnn_flags = ..., hint_fwd_pd: PrimitiveDesc, attr: PrimitiveAttr = None, allow_empty: bool = False) -> typing.Any:
    """
    Primitive descriptor of lstm_backward; executes src_layer src_iter src_iter_c weights_layer weights_iter weights_peephole weights_projection bias dst_layer dst_iter dst_iter_c diff_dst_layer diff_dst_iter diff_dst_iter_c workspace -> diff_src_layer diff_src_iter diff_src_iter_c diff_weights_layer diff_weights_iter diff_weights_peephole diff_weights_projection diff_bias
    """
def lstm_forward(engine: Engine, *, prop_kind: prop_kind, direction: rnn_direction, src_layer: MemoryDesc, src_iter: MemoryDesc | None = None, src_iter_c: MemoryDesc | None = None, weights_layer: MemoryDesc, weights_iter: MemoryDesc, weights_peephole: MemoryDesc | None = None, weights_projection: MemoryDesc | None = None, bias: MemoryDesc | None = None, dst_layer: MemoryDesc, dst_iter: MemoryDesc | None = None, dst_iter_c: MemoryDesc | None = None, attr: PrimitiveAttr = None, allow_empty: bool = False) -> typing.Any:
    """
    Primitive descriptor of lstm_forward; executes src_layer src_iter src_iter_c weights_layer weights_iter weights_peephole weights_projection bias -> dst_layer dst_iter dst_iter_c workspace
    """
def matmul(engine: Engine, *, src: MemoryDesc, weights: MemoryDesc, bias: MemoryDesc | None = None, dst: MemoryDesc, attr: PrimitiveAttr = None, allow_empty: bool = False) -> typing.Any:
    """
    Primitive descriptor of matmul; executes src weights bias -> dst
    """
def note(kind: str, name: str, begin: typing.SupportsInt | typing.SupportsIndex, end: typing.SupportsInt | typing.SupportsIndex, tensors: list = [], is_done: bool = False) -> None:
    """
    Tell the recorders of something that Python did from ``begin`` to ``end``.
    """
def pooling_backward(engine: Engine, *, algorithm: algorithm, diff_src: MemoryDesc, diff_dst: MemoryDesc, strides: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], kernel: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], dilation: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex] | None = None, padding_l: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], padding_r: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], hint_fwd_pd: PrimitiveDesc, attr: PrimitiveAttr = None, allow_empty: bool = False) -> typing.Any:
    """
    Primitive descriptor of pooling_backward; executes diff_dst workspace -> diff_src
    """
def pooling_forward(engine: Engine, *, prop_kind: prop_kind, algorithm: algorithm, src: MemoryDesc, dst: MemoryDesc, strides: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], kernel: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], dilation: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex] | None = None, padding_l: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], padding_r: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], attr: PrimitiveAttr = None, allow_empty: bool = False) -> typing.Any:
    """
    Primitive descriptor of pooling_forward; executes src -> dst workspace
    """
def prelu_backward(engine: Engine, *, src: MemoryDesc, weights: MemoryDesc, diff_src: MemoryDesc, diff_weights: MemoryDesc, diff_dst: MemoryDesc, hint_fwd_pd: PrimitiveDesc, attr: PrimitiveAttr = None, allow_empty: bool = False) -> typing.Any:
    """
    Primitive descriptor of prelu_backward; executes src weights diff_dst -> diff_src diff_weights
    """
def prelu_forward(engine: Engine, *, prop_kind: prop_kind, src: MemoryDesc, weights: MemoryDesc, dst: MemoryDesc, attr: PrimitiveAttr = None, allow_empty: bool = False) -> typing.Any:
    """
    Primitive descriptor of prelu_forward; executes src weights -> dst
    """
def reduction(engine: Engine, *, algorithm: algorithm, src: MemoryDesc, dst: MemoryDesc, p: typing.SupportsFloat | typing.SupportsIndex = 0.0, eps: typing.SupportsFloat | typing.SupportsIndex = 0.0, attr: PrimitiveAttr = None, allow_empty: bool = False) -> typing.Any:
    """
    Primitive descriptor of reduction; executes src -> dst
    """
def reorder(engine: Engine, *, src: MemoryDesc, dst: MemoryDesc, dst_engine: Engine | None = None, attr: PrimitiveAttr = None, allow_empty: bool = False) -> typing.Any:
    """
    Primitive descriptor of reorder; executes src -> dst. ``dst_engine`` may be another one: the reorder then copies between devices.
    """
def resampling_backward(engine: Engine, *, algorithm: algorithm, factors: collections.abc.Sequence[typing.SupportsFloat | typing.SupportsIndex] = [], diff_src: MemoryDesc, diff_dst: MemoryDesc, hint_fwd_pd: PrimitiveDesc, attr: PrimitiveAttr = None, allow_empty: bool = False) -> typing.Any:
    """
    Primitive descriptor of resampling_backward; executes diff_dst -> diff_src
    """
def resampling_forward(engine: Engine, *, prop_kind: prop_kind, algorithm: algorithm, factors: collections.abc.Sequence[typing.SupportsFloat | typing.SupportsIndex] = [], src: MemoryDesc, dst: MemoryDesc | None = None, attr: PrimitiveAttr = None, allow_empty: bool = False) -> typing.Any:
    """
    Primitive descriptor of resampling_forward; executes src -> dst
    """
def scratchpad_info() -> dict:
    """
    Number, bytes and busy ones of the scratchpad buffers that the process holds.
    """
def set_compiled_partition_cache_capacity(capacity: typing.SupportsInt | typing.SupportsIndex) -> None:
    """
    Number of compiled partitions that oneDNN keeps; 0 keeps none.
    """
def set_constant_tensor_cache_capacity(engine_kind: typing.Any, megabytes: typing.SupportsInt | typing.SupportsIndex) -> None:
    """
    Memory for what oneDNN derives from constant tensors; 0 turns the cache off. It goes by the addresses of the constants, so their memory must not be written or freed meanwhile.
    """
def set_cpu_isa_hints(isa_hints: cpu_isa_hints) -> None:
    """
    Hint such as prefer_ymm; only before oneDNN's first use.
    """
def set_default_fpmath_mode(mode: fpmath_mode) -> None:
    """
    Math mode of PrimitiveAttr objects made from now on.
    """
def set_graph_dump_mode(modes: typing.SupportsInt | typing.SupportsIndex) -> None:
    """
    Write graphs or partitions as JSON into the current folder.
    """
def set_jit_dump(enable: bool) -> None:
    """
    Write generated code to dnnl_dump_*.bin in the current folder.
    """
def set_jit_profiling_flags(flags: typing.SupportsInt | typing.SupportsIndex) -> None:
    ...
def set_jit_profiling_jitdumpdir(dir: str) -> None:
    ...
def set_max_cpu_isa(isa: cpu_isa) -> None:
    """
    Limit the instruction set; only before oneDNN's first use.
    """
def set_primitive_cache_capacity(capacity: typing.SupportsInt | typing.SupportsIndex) -> None:
    """
    Number of primitives that oneDNN keeps; 0 turns the cache off.
    """
def set_verbose(level: typing.SupportsInt | typing.SupportsIndex) -> None:
    """
    0 quiet, 1 executions, 2 creations too; printed on the process's standard output.
    """
def shuffle_backward(engine: Engine, *, diff_src: MemoryDesc, diff_dst: MemoryDesc, axis: typing.SupportsInt | typing.SupportsIndex, group_size: typing.SupportsInt | typing.SupportsIndex, hint_fwd_pd: PrimitiveDesc, attr: PrimitiveAttr = None, allow_empty: bool = False) -> typing.Any:
    """
    Primitive descriptor of shuffle_backward; executes diff_dst -> diff_src
    """
def shuffle_forward(engine: Engine, *, prop_kind: prop_kind, src: MemoryDesc, dst: MemoryDesc, axis: typing.SupportsInt | typing.SupportsIndex, group_size: typing.SupportsInt | typing.SupportsIndex, attr: PrimitiveAttr = None, allow_empty: bool = False) -> typing.Any:
    """
    Primitive descriptor of shuffle_forward; executes src -> dst
    """
def softmax_backward(engine: Engine, *, algorithm: algorithm, diff_src: MemoryDesc, diff_dst: MemoryDesc, dst: MemoryDesc, axis: typing.SupportsInt | typing.SupportsIndex, hint_fwd_pd: PrimitiveDesc, attr: PrimitiveAttr = None, allow_empty: bool = False) -> typing.Any:
    """
    Primitive descriptor of softmax_backward; executes dst diff_dst -> diff_src
    """
def softmax_forward(engine: Engine, *, prop_kind: prop_kind, algorithm: algorithm, src: MemoryDesc, dst: MemoryDesc, axis: typing.SupportsInt | typing.SupportsIndex, attr: PrimitiveAttr = None, allow_empty: bool = False) -> typing.Any:
    """
    Primitive descriptor of softmax_forward; executes src -> dst
    """
def submit_all(bound: collections.abc.Sequence) -> typing.Any:
    """
    Submit programs that were bound on one stream, in order, as one call.
    """
def sum(engine: Engine, *, dst: MemoryDesc | None = None, scales: collections.abc.Sequence[typing.SupportsFloat | typing.SupportsIndex], srcs: collections.abc.Sequence[MemoryDesc], attr: PrimitiveAttr = None, allow_empty: bool = False) -> typing.Any:
    """
    Primitive descriptor of sum; executes multiple_src -> dst
    """
def use_huge_pages(queue: typing.Any, memory: typing.Any, is_fresh: bool) -> None:
    """
    Ask for huge pages behind a dpctl.memory object of a CPU; moves what is not fresh.
    """
def vanilla_rnn_backward(engine: Engine, *, prop_kind: prop_kind, activation: algorithm, direction: rnn_direction, src_layer: MemoryDesc, src_iter: MemoryDesc | None = None, weights_layer: MemoryDesc, weights_iter: MemoryDesc, bias: MemoryDesc | None = None, dst_layer: MemoryDesc, dst_iter: MemoryDesc | None = None, diff_src_layer: MemoryDesc, diff_src_iter: MemoryDesc | None = None, diff_weights_layer: MemoryDesc, diff_weights_iter: MemoryDesc, diff_bias: MemoryDesc | None = None, diff_dst_layer: MemoryDesc, diff_dst_iter: MemoryDesc | None = None, flags: rnn_flags = ..., alpha: typing.SupportsFloat | typing.SupportsIndex = 0.0, beta: typing.SupportsFloat | typing.SupportsIndex = 0.0, hint_fwd_pd: PrimitiveDesc, attr: PrimitiveAttr = None, allow_empty: bool = False) -> typing.Any:
    """
    Primitive descriptor of vanilla_rnn_backward; executes src_layer src_iter weights_layer weights_iter bias dst_layer dst_iter diff_dst_layer diff_dst_iter workspace -> diff_src_layer diff_src_iter diff_weights_layer diff_weights_iter diff_bias
    """
def vanilla_rnn_forward(engine: Engine, *, prop_kind: prop_kind, activation: algorithm, direction: rnn_direction, src_layer: MemoryDesc, src_iter: MemoryDesc | None = None, weights_layer: MemoryDesc, weights_iter: MemoryDesc, bias: MemoryDesc | None = None, dst_layer: MemoryDesc, dst_iter: MemoryDesc | None = None, alpha: typing.SupportsFloat | typing.SupportsIndex = 0.0, attr: PrimitiveAttr = None, allow_empty: bool = False) -> typing.Any:
    """
    Primitive descriptor of vanilla_rnn_forward; executes src_layer src_iter weights_layer weights_iter bias -> dst_layer dst_iter workspace
    """
def version() -> dict:
    """
    Version, commit and runtimes of the oneDNN library in use.
    """
ARGUMENTS: dict = {'attr_dropout_mask': 509, 'attr_dropout_offset': 507, 'attr_dropout_probability': 510, 'attr_dropout_seed': 511, 'attr_rounding_seed': 508, 'augru_attention': 4, 'bias': 41, 'diff_augru_attention': 132, 'diff_bias': 169, 'diff_dst': 145, 'diff_dst_0': 145, 'diff_dst_1': 146, 'diff_dst_2': 147, 'diff_dst_iter': 146, 'diff_dst_iter_c': 147, 'diff_dst_layer': 145, 'diff_scale': 255, 'diff_shift': 256, 'diff_src': 129, 'diff_src_0': 129, 'diff_src_1': 130, 'diff_src_2': 131, 'diff_src_3': 132, 'diff_src_iter': 130, 'diff_src_iter_c': 131, 'diff_src_layer': 129, 'diff_weights': 161, 'diff_weights_0': 161, 'diff_weights_1': 162, 'diff_weights_2': 163, 'diff_weights_3': 164, 'diff_weights_iter': 162, 'diff_weights_layer': 161, 'diff_weights_peephole': 163, 'diff_weights_projection': 164, 'dst': 17, 'dst_0': 17, 'dst_1': 18, 'dst_2': 19, 'dst_iter': 18, 'dst_iter_c': 19, 'dst_layer': 17, 'from': 1, 'mean': 49, 'scale': 51, 'scratchpad': 80, 'shift': 52, 'src': 1, 'src_0': 1, 'src_1': 2, 'src_2': 3, 'src_3': 4, 'src_iter': 2, 'src_iter_c': 3, 'src_layer': 1, 'to': 17, 'variance': 50, 'weights': 33, 'weights_0': 33, 'weights_1': 34, 'weights_2': 35, 'weights_3': 36, 'weights_iter': 34, 'weights_layer': 33, 'weights_peephole': 35, 'weights_projection': 36, 'workspace': 64}
ROWS: dict = {'reorder': ('src dst dst_engine', 'src -> dst'), 'concat': ('dst concat_dimension srcs', 'multiple_src -> dst'), 'sum': ('dst scales srcs', 'multiple_src -> dst'), 'convolution_forward': ('prop_kind algorithm src weights bias dst strides dilates padding_l padding_r', 'src weights bias -> dst'), 'convolution_backward_data': ('algorithm diff_src weights diff_dst strides dilates padding_l padding_r hint_fwd_pd', 'weights diff_dst -> diff_src'), 'convolution_backward_weights': ('algorithm src diff_weights diff_bias diff_dst strides dilates padding_l padding_r hint_fwd_pd', 'src diff_dst -> diff_weights diff_bias'), 'deconvolution_forward': ('prop_kind algorithm src weights bias dst strides dilates padding_l padding_r', 'src weights bias -> dst'), 'deconvolution_backward_data': ('algorithm diff_src weights diff_dst strides dilates padding_l padding_r hint_fwd_pd', 'weights diff_dst -> diff_src'), 'deconvolution_backward_weights': ('algorithm src diff_weights diff_bias diff_dst strides dilates padding_l padding_r hint_fwd_pd', 'src diff_dst -> diff_weights diff_bias'), 'inner_product_forward': ('prop_kind src weights bias dst', 'src weights bias -> dst'), 'inner_product_backward_data': ('diff_src weights diff_dst hint_fwd_pd', 'weights diff_dst -> diff_src'), 'inner_product_backward_weights': ('src diff_weights diff_bias diff_dst hint_fwd_pd', 'src diff_dst -> diff_weights diff_bias'), 'matmul': ('src weights bias dst', 'src weights bias -> dst'), 'eltwise_forward': ('prop_kind algorithm src dst alpha beta', 'src -> dst'), 'eltwise_backward': ('algorithm diff_src diff_dst data alpha beta hint_fwd_pd', 'src dst diff_dst -> diff_src'), 'prelu_forward': ('prop_kind src weights dst', 'src weights -> dst'), 'prelu_backward': ('src weights diff_src diff_weights diff_dst hint_fwd_pd', 'src weights diff_dst -> diff_src diff_weights'), 'softmax_forward': ('prop_kind algorithm src dst axis', 'src -> dst'), 'softmax_backward': ('algorithm diff_src diff_dst dst axis hint_fwd_pd', 'dst diff_dst -> diff_src'), 'binary': ('algorithm src0 src1 src2 dst', 'src_0 src_1 src_2 -> dst'), 'reduction': ('algorithm src dst p eps', 'src -> dst'), 'batch_normalization_forward': ('prop_kind src dst epsilon flags', 'src src_1 mean variance scale shift -> dst mean variance workspace'), 'batch_normalization_backward': ('prop_kind diff_src diff_dst src epsilon flags hint_fwd_pd', 'src diff_dst mean variance scale workspace -> diff_src diff_src_1 diff_scale diff_shift'), 'group_normalization_forward': ('prop_kind src dst groups epsilon flags', 'src mean variance scale shift -> dst mean variance'), 'group_normalization_backward': ('prop_kind diff_src diff_dst src groups epsilon flags hint_fwd_pd', 'src diff_dst mean variance scale -> diff_src diff_scale diff_shift'), 'layer_normalization_forward': ('prop_kind src dst stat scale_shift_data_type epsilon flags', 'src mean variance scale shift -> dst mean variance'), 'layer_normalization_backward': ('prop_kind diff_src diff_dst src stat diff_scale_shift_data_type scale_shift_data_type epsilon flags hint_fwd_pd', 'src diff_dst mean variance scale -> diff_src diff_scale diff_shift'), 'lrn_forward': ('prop_kind algorithm src dst local_size alpha beta k', 'src -> dst workspace'), 'lrn_backward': ('algorithm diff_src diff_dst src local_size alpha beta k hint_fwd_pd', 'src diff_dst workspace -> diff_src'), 'pooling_forward': ('prop_kind algorithm src dst strides kernel dilation padding_l padding_r', 'src -> dst workspace'), 'pooling_backward': ('algorithm diff_src diff_dst strides kernel dilation padding_l padding_r hint_fwd_pd', 'diff_dst workspace -> diff_src'), 'resampling_forward': ('prop_kind algorithm factors src dst', 'src -> dst'), 'resampling_backward': ('algorithm factors diff_src diff_dst hint_fwd_pd', 'diff_dst -> diff_src'), 'shuffle_forward': ('prop_kind src dst axis group_size', 'src -> dst'), 'shuffle_backward': ('diff_src diff_dst axis group_size hint_fwd_pd', 'diff_dst -> diff_src'), 'vanilla_rnn_forward': ('prop_kind activation direction src_layer src_iter weights_layer weights_iter bias dst_layer dst_iter alpha', 'src_layer src_iter weights_layer weights_iter bias -> dst_layer dst_iter workspace'), 'vanilla_rnn_backward': ('prop_kind activation direction src_layer src_iter weights_layer weights_iter bias dst_layer dst_iter diff_src_layer diff_src_iter diff_weights_layer diff_weights_iter diff_bias diff_dst_layer diff_dst_iter flags alpha beta hint_fwd_pd', 'src_layer src_iter weights_layer weights_iter bias dst_layer dst_iter diff_dst_layer diff_dst_iter workspace -> diff_src_layer diff_src_iter diff_weights_layer diff_weights_iter diff_bias'), 'lstm_forward': ('prop_kind direction src_layer src_iter src_iter_c weights_layer weights_iter weights_peephole weights_projection bias dst_layer dst_iter dst_iter_c ', 'src_layer src_iter src_iter_c weights_layer weights_iter weights_peephole weights_projection bias -> dst_layer dst_iter dst_iter_c workspace'), 'lstm_backward': ('prop_kind direction src_layer src_iter src_iter_c weights_layer weights_iter weights_peephole weights_projection bias dst_layer dst_iter dst_iter_c diff_src_layer diff_src_iter diff_src_iter_c diff_weights_layer diff_weights_iter diff_weights_peephole diff_weights_projection diff_bias diff_dst_layer diff_dst_iter diff_dst_iter_c flags  hint_fwd_pd', 'src_layer src_iter src_iter_c weights_layer weights_iter weights_peephole weights_projection bias dst_layer dst_iter dst_iter_c diff_dst_layer diff_dst_iter diff_dst_iter_c workspace -> diff_src_layer diff_src_iter diff_src_iter_c diff_weights_layer diff_weights_iter diff_weights_peephole diff_weights_projection diff_bias'), 'gru_forward': ('prop_kind direction src_layer src_iter weights_layer weights_iter bias dst_layer dst_iter ', 'src_layer src_iter weights_layer weights_iter bias -> dst_layer dst_iter workspace'), 'gru_backward': ('prop_kind direction src_layer src_iter weights_layer weights_iter bias dst_layer dst_iter diff_src_layer diff_src_iter diff_weights_layer diff_weights_iter diff_bias diff_dst_layer diff_dst_iter flags  hint_fwd_pd', 'src_layer src_iter weights_layer weights_iter bias dst_layer dst_iter diff_dst_layer diff_dst_iter workspace -> diff_src_layer diff_src_iter diff_weights_layer diff_weights_iter diff_bias'), 'lbr_gru_forward': ('prop_kind direction src_layer src_iter weights_layer weights_iter bias dst_layer dst_iter ', 'src_layer src_iter weights_layer weights_iter bias -> dst_layer dst_iter workspace'), 'lbr_gru_backward': ('prop_kind direction src_layer src_iter weights_layer weights_iter bias dst_layer dst_iter diff_src_layer diff_src_iter diff_weights_layer diff_weights_iter diff_bias diff_dst_layer diff_dst_iter flags  hint_fwd_pd', 'src_layer src_iter weights_layer weights_iter bias dst_layer dst_iter diff_dst_layer diff_dst_iter workspace -> diff_src_layer diff_src_iter diff_weights_layer diff_weights_iter diff_bias'), 'augru_forward': ('prop_kind direction src_layer src_iter attention weights_layer weights_iter bias dst_layer dst_iter ', 'src_layer src_iter augru_attention weights_layer weights_iter bias -> dst_layer dst_iter workspace'), 'augru_backward': ('prop_kind direction src_layer src_iter attention weights_layer weights_iter bias dst_layer dst_iter diff_src_layer diff_src_iter diff_attention diff_weights_layer diff_weights_iter diff_bias diff_dst_layer diff_dst_iter flags  hint_fwd_pd', 'src_layer src_iter augru_attention weights_layer weights_iter bias dst_layer dst_iter diff_dst_layer diff_dst_iter workspace -> diff_src_layer diff_src_iter diff_augru_attention diff_weights_layer diff_weights_iter diff_bias'), 'lbr_augru_forward': ('prop_kind direction src_layer src_iter attention weights_layer weights_iter bias dst_layer dst_iter ', 'src_layer src_iter augru_attention weights_layer weights_iter bias -> dst_layer dst_iter workspace'), 'lbr_augru_backward': ('prop_kind direction src_layer src_iter attention weights_layer weights_iter bias dst_layer dst_iter diff_src_layer diff_src_iter diff_attention diff_weights_layer diff_weights_iter diff_bias diff_dst_layer diff_dst_iter flags  hint_fwd_pd', 'src_layer src_iter augru_attention weights_layer weights_iter bias dst_layer dst_iter diff_dst_layer diff_dst_iter workspace -> diff_src_layer diff_src_iter diff_augru_attention diff_weights_layer diff_weights_iter diff_bias')}
RUNTIME_DIM_VAL: int = -9223372036854775808
RUNTIME_F32_VAL: float
RUNTIME_S32_VAL: int = -2147483648
RUNTIME_SIZE_VAL: int = 9223372036854775808
_interface: int = 9
