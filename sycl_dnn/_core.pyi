"""
oneDNN over SYCL: engines, memory, attributes, primitives. Public face: sycl_dnn.onednn.
"""
from __future__ import annotations
import collections.abc
import dpctl
from sycl_dnn import _core
import enum
import sycl_dnn.onednn
import typing
__all__: list[str] = ['ARGUMENTS', 'ArrayTypes', 'BoundProgram', 'CallPlan', 'CallTable', 'Communicator', 'CompiledPartition', 'ControlLink', 'Engine', 'GraphTensor', 'Kernel', 'LogicalTensor', 'Memory', 'MemoryDesc', 'Op', 'OpGraph', 'Partition', 'PartitionSequence', 'PostOps', 'Primitive', 'PrimitiveAttr', 'PrimitiveDesc', 'Program', 'ROWS', 'RUNTIME_DIM_VAL', 'RUNTIME_F32_VAL', 'RUNTIME_S32_VAL', 'RUNTIME_SIZE_VAL', 'Recorder', 'ResultPool', 'ReverseCall', 'StartedCollective', 'Stream', 'accumulation_mode', 'algorithm', 'argument_id', 'augru_backward', 'augru_forward', 'batch_normalization_backward', 'batch_normalization_forward', 'binary', 'canonical_strides', 'clear_graph_pool', 'clear_scratchpads', 'concat', 'convolution_backward_data', 'convolution_backward_weights', 'convolution_forward', 'cpu_isa', 'cpu_isa_hints', 'data_type', 'data_type_size', 'deconvolution_backward_data', 'deconvolution_backward_weights', 'deconvolution_forward', 'eltwise_backward', 'eltwise_forward', 'engine_kind', 'format_kind', 'format_tags', 'fpmath_mode', 'get_compiled_partition_cache_capacity', 'get_constant_tensor_cache_capacity', 'get_cpu_isa_hints', 'get_default_fpmath_mode', 'get_effective_cpu_isa', 'get_primitive_cache_capacity', 'graph_dump_mode', 'graph_pool_info', 'graph_status', 'group_normalization_backward', 'group_normalization_forward', 'gru_backward', 'gru_forward', 'host_lane', 'inner_product_backward_data', 'inner_product_backward_weights', 'inner_product_forward', 'is_recording', 'is_recording_waits', 'layer_normalization_backward', 'layer_normalization_forward', 'layout_type', 'lbr_augru_backward', 'lbr_augru_forward', 'lbr_gru_backward', 'lbr_gru_forward', 'logical_data_type', 'lrn_backward', 'lrn_forward', 'lstm_backward', 'lstm_forward', 'matmul', 'normalization_flags', 'note', 'op_attr', 'op_kind', 'partition_policy', 'pooling_backward', 'pooling_forward', 'prelu_backward', 'prelu_forward', 'primitive_kind', 'prop_kind', 'property_type', 'quantization_mode', 'query', 'reduction', 'reorder', 'resampling_backward', 'resampling_forward', 'rnn_direction', 'rnn_flags', 'rounding_mode', 'scratchpad_info', 'scratchpad_mode', 'set_compiled_partition_cache_capacity', 'set_constant_tensor_cache_capacity', 'set_cpu_isa_hints', 'set_default_fpmath_mode', 'set_graph_dump_mode', 'set_jit_dump', 'set_jit_profiling_flags', 'set_jit_profiling_jitdumpdir', 'set_max_cpu_isa', 'set_primitive_cache_capacity', 'set_verbose', 'shuffle_backward', 'shuffle_forward', 'softmax_backward', 'softmax_forward', 'sparse_encoding', 'status', 'stream_flags', 'submit_all', 'sum', 'use_huge_pages', 'vanilla_rnn_backward', 'vanilla_rnn_forward', 'version']

class status(enum.Enum):
    invalid_arguments = ...
    last_impl_reached = ...
    not_required = ...
    out_of_memory = ...
    runtime_error = ...
    success = ...
    unimplemented = ...

class engine_kind(enum.Enum):
    any = ...
    cpu = ...
    gpu = ...

class stream_flags(enum.IntFlag):
    default_flags = ...
    in_order = ...
    out_of_order = ...

    def __and__(self, other):
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

class primitive_kind(enum.Enum):
    batch_normalization = ...
    binary = ...
    concat = ...
    convolution = ...
    deconvolution = ...
    eltwise = ...
    group_normalization = ...
    inner_product = ...
    layer_normalization = ...
    lrn = ...
    matmul = ...
    pooling = ...
    prelu = ...
    reduction = ...
    reorder = ...
    resampling = ...
    rnn = ...
    shuffle = ...
    softmax = ...
    sum = ...
    undef = ...

class prop_kind(enum.Enum):
    backward = ...
    backward_bias = ...
    backward_data = ...
    backward_weights = ...
    forward = ...
    forward_inference = ...
    forward_training = ...
    undef = ...

class algorithm(enum.Enum):
    binary_add = ...
    binary_div = ...
    binary_eq = ...
    binary_ge = ...
    binary_gt = ...
    binary_le = ...
    binary_lt = ...
    binary_max = ...
    binary_min = ...
    binary_mul = ...
    binary_ne = ...
    binary_select = ...
    binary_sub = ...
    convolution_auto = ...
    convolution_direct = ...
    convolution_winograd = ...
    deconvolution_direct = ...
    deconvolution_winograd = ...
    eltwise_abs = ...
    eltwise_clip = ...
    eltwise_clip_v2 = ...
    eltwise_clip_v2_use_dst_for_bwd = ...
    eltwise_elu = ...
    eltwise_elu_use_dst_for_bwd = ...
    eltwise_exp = ...
    eltwise_exp_use_dst_for_bwd = ...
    eltwise_gelu_erf = ...
    eltwise_gelu_tanh = ...
    eltwise_hardsigmoid = ...
    eltwise_hardswish = ...
    eltwise_linear = ...
    eltwise_log = ...
    eltwise_logistic = ...
    eltwise_logistic_use_dst_for_bwd = ...
    eltwise_mish = ...
    eltwise_pow = ...
    eltwise_relu = ...
    eltwise_relu_use_dst_for_bwd = ...
    eltwise_round = ...
    eltwise_soft_relu = ...
    eltwise_sqrt = ...
    eltwise_sqrt_use_dst_for_bwd = ...
    eltwise_square = ...
    eltwise_swish = ...
    eltwise_tanh = ...
    eltwise_tanh_use_dst_for_bwd = ...
    lbr_augru = ...
    lbr_gru = ...
    lrn_across_channels = ...
    lrn_within_channel = ...
    pooling_avg_exclude_padding = ...
    pooling_avg_include_padding = ...
    pooling_max = ...
    reduction_max = ...
    reduction_mean = ...
    reduction_min = ...
    reduction_mul = ...
    reduction_norm_lp_max = ...
    reduction_norm_lp_power_p_max = ...
    reduction_norm_lp_power_p_sum = ...
    reduction_norm_lp_sum = ...
    reduction_sum = ...
    resampling_linear = ...
    resampling_nearest = ...
    softmax_accurate = ...
    softmax_log = ...
    undef = ...
    vanilla_augru = ...
    vanilla_gru = ...
    vanilla_lstm = ...
    vanilla_rnn = ...

class normalization_flags(enum.IntFlag):
    fuse_norm_add_relu = ...
    fuse_norm_relu = ...
    none = ...
    rms_norm = ...
    use_global_stats = ...
    use_scale = ...
    use_shift = ...

    def __and__(self, other):
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
    diff_weights_overwrite = ...
    undef = ...

    def __and__(self, other):
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
    bidirectional_concat = ...
    bidirectional_sum = ...
    undef = ...
    unidirectional_left2right = ...
    unidirectional_right2left = ...

class query(enum.Enum):
    activation_kind = ...
    alg_kind = ...
    alpha_f32 = ...
    axis_s32 = ...
    beta_f32 = ...
    cache_blob_id = ...
    cache_blob_id_size_s64 = ...
    cell_kind = ...
    data_type = ...
    diff_dst_md = ...
    diff_src_md = ...
    diff_weights_md = ...
    dilations = ...
    dims = ...
    direction = ...
    dst_md = ...
    engine = ...
    epsilon_f32 = ...
    exec_arg_md = ...
    factors = ...
    flags = ...
    format_kind = ...
    group_size_s64 = ...
    impl_info_str = ...
    inner_blks = ...
    inner_idxs = ...
    inner_nblks_s32 = ...
    k_f32 = ...
    kernel = ...
    local_size_s64 = ...
    memory_consumption_s64 = ...
    ndims_s32 = ...
    nnz_s64 = ...
    num_handles_s32 = ...
    num_of_inputs_s32 = ...
    num_of_outputs_s32 = ...
    p_f32 = ...
    padded_dims = ...
    padded_offsets = ...
    padding_l = ...
    padding_r = ...
    primitive_kind = ...
    prop_kind = ...
    reorder_dst_engine = ...
    reorder_src_engine = ...
    scratchpad_engine = ...
    scratchpad_md = ...
    sparse_encoding = ...
    src_md = ...
    strides = ...
    submemory_offset_s64 = ...
    time_estimate_f64 = ...
    undef = ...
    weights_md = ...
    workspace_md = ...

class data_type(enum.Enum):
    bf16 = ...
    e8m0 = ...
    f16 = ...
    f32 = ...
    f4_e2m1 = ...
    f4_e3m0 = ...
    f64 = ...
    f8_e4m3 = ...
    f8_e5m2 = ...
    s32 = ...
    s4 = ...
    s64 = ...
    s8 = ...
    u4 = ...
    u8 = ...
    undef = ...

class format_kind(enum.Enum):
    any = ...
    blocked = ...
    host_scalar = ...
    opaque = ...
    sparse = ...
    undef = ...

class sparse_encoding(enum.Enum):
    coo = ...
    csr = ...
    packed = ...
    undef = ...

class scratchpad_mode(enum.Enum):
    library = ...
    user = ...

class rounding_mode(enum.Enum):
    environment = ...
    stochastic = ...

class quantization_mode(enum.Enum):
    dynamic_fp = ...
    dynamic_mx = ...
    static_sazp = ...
    undef = ...

class fpmath_mode(enum.Enum):
    any = ...
    bf16 = ...
    f16 = ...
    strict = ...
    tf32 = ...

class accumulation_mode(enum.Enum):
    any = ...
    f16 = ...
    f32 = ...
    relaxed = ...
    s32 = ...
    strict = ...

class cpu_isa(enum.Enum):
    avx = ...
    avx10_1_512 = ...
    avx10_1_512_amx = ...
    avx10_1_512_amx_fp16 = ...
    avx10_2 = ...
    avx10_2_512 = ...
    avx10_2_512_amx_2 = ...
    avx10_2_amx_2 = ...
    avx2 = ...
    avx2_vnni = ...
    avx2_vnni_2 = ...
    avx512_core = ...
    avx512_core_amx = ...
    avx512_core_amx_fp16 = ...
    avx512_core_bf16 = ...
    avx512_core_fp16 = ...
    avx512_core_vnni = ...
    isa_default = ...
    sse41 = ...

class cpu_isa_hints(enum.Enum):
    no_hints = ...
    prefer_ymm = ...

class graph_status(enum.Enum):
    invalid_arguments = ...
    invalid_data_type = ...
    invalid_graph = ...
    invalid_graph_op = ...
    invalid_shape = ...
    last_impl_reached = ...
    not_required = ...
    out_of_memory = ...
    runtime_error = ...
    success = ...
    unimplemented = ...

class op_kind(enum.Enum):
    Abs = ...
    AbsBackward = ...
    Add = ...
    AvgPool = ...
    AvgPoolBackward = ...
    BatchNormForwardTraining = ...
    BatchNormInference = ...
    BatchNormTrainingBackward = ...
    BiasAdd = ...
    BiasAddBackward = ...
    Clamp = ...
    ClampBackward = ...
    Concat = ...
    ConvTranspose = ...
    ConvTransposeBackwardData = ...
    ConvTransposeBackwardWeights = ...
    Convolution = ...
    ConvolutionBackwardData = ...
    ConvolutionBackwardWeights = ...
    Dequantize = ...
    Divide = ...
    Dropout = ...
    DynamicDequantize = ...
    DynamicQuantize = ...
    Elu = ...
    EluBackward = ...
    End = ...
    Exp = ...
    GELU = ...
    GELUBackward = ...
    GenIndex = ...
    GreaterEqual = ...
    GroupNorm = ...
    HardSigmoid = ...
    HardSigmoidBackward = ...
    HardSwish = ...
    HardSwishBackward = ...
    Interpolate = ...
    InterpolateBackward = ...
    LayerNorm = ...
    LayerNormBackward = ...
    LeakyReLU = ...
    Log = ...
    LogSoftmax = ...
    LogSoftmaxBackward = ...
    MatMul = ...
    MaxPool = ...
    MaxPoolBackward = ...
    Maximum = ...
    Minimum = ...
    Mish = ...
    MishBackward = ...
    Multiply = ...
    PReLU = ...
    PReLUBackward = ...
    Pow = ...
    Quantize = ...
    RMSNorm = ...
    ReLU = ...
    ReLUBackward = ...
    Reciprocal = ...
    ReduceL1 = ...
    ReduceL2 = ...
    ReduceMax = ...
    ReduceMean = ...
    ReduceMin = ...
    ReduceProd = ...
    ReduceSum = ...
    Reorder = ...
    Round = ...
    Select = ...
    Sigmoid = ...
    SigmoidBackward = ...
    SoftMax = ...
    SoftMaxBackward = ...
    SoftPlus = ...
    SoftPlusBackward = ...
    Sqrt = ...
    SqrtBackward = ...
    Square = ...
    SquaredDifference = ...
    StaticReshape = ...
    StaticTranspose = ...
    Subtract = ...
    Tanh = ...
    TanhBackward = ...
    TypeCast = ...
    Wildcard = ...

class op_attr(enum.Enum):
    accumulation_mode = ...
    alpha = ...
    auto_broadcast = ...
    auto_pad = ...
    axes = ...
    axis = ...
    begin_norm_axis = ...
    beta = ...
    coordinate_transformation_mode = ...
    data_format = ...
    dilations = ...
    dst_shape = ...
    epsilon = ...
    exclude_pad = ...
    group_shape = ...
    groups = ...
    keep_dims = ...
    keep_stats = ...
    kernel = ...
    max = ...
    min = ...
    mode = ...
    momentum = ...
    order = ...
    output_padding = ...
    pads_begin = ...
    pads_end = ...
    per_channel_broadcast = ...
    qtype = ...
    rounding_type = ...
    scales = ...
    shape = ...
    sizes = ...
    special_zero = ...
    src_shape = ...
    strides = ...
    transpose_a = ...
    transpose_b = ...
    undef = ...
    use_affine = ...
    use_dst = ...
    weights_format = ...
    weights_shape = ...
    zps = ...

class logical_data_type(enum.Enum):
    bf16 = ...
    boolean = ...
    f16 = ...
    f32 = ...
    f8_e4m3 = ...
    f8_e5m2 = ...
    s32 = ...
    s4 = ...
    s64 = ...
    s8 = ...
    u4 = ...
    u8 = ...
    undef = ...

class layout_type(enum.Enum):
    any = ...
    opaque = ...
    strided = ...
    undef = ...

class property_type(enum.Enum):
    constant = ...
    host_scalar = ...
    undef = ...
    variable = ...

class partition_policy(enum.Enum):
    debug = ...
    fusion = ...

class graph_dump_mode(enum.IntFlag):
    graph = ...
    none = ...
    subgraph = ...

    def __and__(self, other):
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

    @staticmethod
    def count(kind: engine_kind | str) -> int:
        """
        The same as get_count.
        """

    @staticmethod
    def get_count(kind: engine_kind | str) -> int:
        """
        The number of devices of a kind that oneDNN finds.
        """

    def __eq__(self, arg0: object) -> bool:
        ...

    def __hash__(self) -> int:
        ...

    @typing.overload
    def __init__(self, queue: dpctl.SyclQueue | dpctl.SyclDevice | engine_kind | str) -> None:
        """
        From a dpctl.SyclQueue, a dpctl.SyclDevice, a filter string such as 'gpu', or an ``engine_kind``.
        """

    @typing.overload
    def __init__(self, kind: engine_kind | str, index: int=0) -> None:
        """
        From the device of that index among those of a kind, as oneDNN counts them.
        """

    def __repr__(self) -> str:
        ...

    @property
    def kind(self) -> engine_kind:
        ...

    @property
    def sycl_context(self) -> dpctl.SyclContext:
        ...

    @property
    def sycl_device(self) -> dpctl.SyclDevice:
        ...

    @property
    def sycl_queue(self) -> dpctl.SyclQueue:
        """
        The queue that allocations are bound to.
        """

class Stream:
    """
    A queue on which primitives of one engine are executed.
    """

    def __init__(self, engine: Engine, queue: dpctl.SyclQueue | None=None, *, ordered: bool | None=None) -> None:
        """
        ``queue`` defaults to the engine's. ``ordered=True``, the default without a queue, puts executions into one sequence with what dpnp submits to the queue; ``ordered=False``, the default with one, orders them only by the events of each call.
        """

    def let_go(self) -> None:
        """
        Release what finished executions used, without waiting; on a CPU only.
        """

    def wait(self, depends: collections.abc.Sequence[dpctl.SyclEvent]=()) -> None:
        """
        Wait until the events ``depends`` and all work on the queue are complete; other threads run meanwhile, and Ctrl-C raises KeyboardInterrupt.
        """

    @property
    def engine(self) -> Engine:
        ...

    @property
    def flags(self) -> stream_flags:
        """
        in_order or out_of_order.
        """

    @property
    def ordered(self) -> bool:
        ...

    @property
    def pending(self) -> int:
        """
        The number of executions whose memories are still held.
        """

    @property
    def sycl_queue(self) -> dpctl.SyclQueue:
        ...

class MemoryDesc:
    """
    Shape, data type and layout of a tensor (dnnl::memory::desc), immutable.
    """

    @staticmethod
    def coo(dims: collections.abc.Sequence[int], data_type: _core.data_type | str, nnz: int, index_dt: _core.data_type | str) -> MemoryDesc:
        """
        Coordinates: values, then one index array per dimension.
        """

    @staticmethod
    def csr(dims: collections.abc.Sequence[int], data_type: _core.data_type | str, nnz: int, index_dt: _core.data_type | str, pointer_dt: _core.data_type | str) -> MemoryDesc:
        """
        Compressed sparse rows: values, indices, pointers.
        """

    @staticmethod
    def from_blob(blob: bytes) -> MemoryDesc:
        """
        The descriptor that ``blob`` came from; refuses damaged bytes, and layouts that the other constructors cannot make, such as those that only a primitive knows.
        """

    @staticmethod
    def host_scalar(data_type: _core.data_type | str) -> MemoryDesc:
        """
        A scalar that lives on the host and is given by value.
        """

    @staticmethod
    def packed(dims: collections.abc.Sequence[int], data_type: _core.data_type | str, nnz: int) -> MemoryDesc:
        """
        Sparse weights in the library's own packing; only as a primitive's input.
        """

    def __bool__(self) -> bool:
        ...

    def __eq__(self, arg0: object) -> bool:
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
    def __init__(self, dims: collections.abc.Sequence[int], data_type: _core.data_type | str) -> None:
        """
        Row-major layout of shape ``dims``.
        """

    @typing.overload
    def __init__(self, dims: collections.abc.Sequence[int], data_type: _core.data_type | str, format_tag: sycl_dnn.onednn.format_tag | str) -> None:
        """
        Layout by tag: a member of ``format_tag`` or its name; ``any`` lets oneDNN choose.
        """

    @typing.overload
    def __init__(self, dims: collections.abc.Sequence[int], data_type: _core.data_type | str, strides: collections.abc.Sequence[int]) -> None:
        """
        Plain layout by strides, in elements; 0 broadcasts. Those of axes of length 1, and of shapes without elements, become what they are in a dense array.
        """

    def __repr__(self) -> str:
        ...

    def __setstate__(self, arg0: bytes) -> None:
        ...

    def __str__(self) -> str:
        ...

    def get_data_type(self, index: int=0) -> _core.data_type:
        """
        Data type of buffer ``index`` (sparse descriptors have several).
        """

    def get_size(self, index: int=0) -> int:
        """
        Bytes of buffer ``index``.
        """

    def permute_axes(self, permutation: collections.abc.Sequence[int]) -> MemoryDesc:
        """
        New dims[permutation[d]] = dims[d]: the inverse of ``numpy.transpose``.
        """

    def reshape(self, dims: collections.abc.Sequence[int]) -> MemoryDesc:
        """
        The same elements under another shape; merges only dense dimensions.
        """

    def submemory_desc(self, dims: collections.abc.Sequence[int], offsets: collections.abc.Sequence[int]) -> MemoryDesc:
        """
        A view of shape ``dims`` that starts at ``offsets``.
        """

    @property
    def blob(self) -> bytes:
        """
        Bytes for MemoryDesc.from_blob in the same oneDNN version.
        """

    @property
    def data_type(self) -> _core.data_type:
        ...

    @property
    def dims(self) -> tuple[typing.Any, ...]:
        """
        Logical shape; RUNTIME_DIM_VAL for sizes given at execution.
        """

    @property
    def extent(self) -> int:
        """
        Bytes that a buffer must have: from the first to the last element of a view.
        """

    @property
    def format_kind(self) -> _core.format_kind:
        ...

    @property
    def inner_blks(self) -> tuple[typing.Any, ...]:
        ...

    @property
    def inner_idxs(self) -> tuple[typing.Any, ...]:
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
    def padded_dims(self) -> tuple[typing.Any, ...]:
        ...

    @property
    def padded_offsets(self) -> tuple[typing.Any, ...]:
        ...

    @property
    def size(self) -> int:
        """
        Bytes, padding included.
        """

    @property
    def sparse_encoding(self) -> _core.sparse_encoding:
        ...

    @property
    def strides(self) -> tuple[typing.Any, ...]:
        """
        In elements; those of the outer blocks if the layout is blocked.
        """

    @property
    def submemory_offset(self) -> int:
        """
        In elements.
        """

class Memory:
    """
    A tensor in USM: descriptor, engine and buffers.
    """

    @typing.overload
    def __init__(self, desc: MemoryDesc, engine: Engine, buffers: collections.abc.Sequence[tuple[typing.Any, int]], owner: typing.Any, writable: bool, allocated: bool) -> None:
        ...

    @typing.overload
    def __init__(self, desc: MemoryDesc, value: bytes) -> None:
        ...

    @typing.overload
    def __init__(self, desc: MemoryDesc, engine: Engine) -> None:
        ...

    @typing.overload
    def __init__(self, whole: Memory, dims: collections.abc.Sequence[int], offsets: collections.abc.Sequence[int]) -> None:
        ...

    def _set_data_handle(self, buffers: collections.abc.Sequence[tuple[typing.Any, int]], owner: typing.Any, writable: bool) -> None:
        ...

    def _set_host_scalar(self, value: bytes) -> None:
        ...

    def get_data_handle(self, index: int=0) -> int:
        """
        USM address of buffer ``index``.
        """

    def zero(self, stream: Stream, depends: collections.abc.Sequence[dpctl.SyclEvent]=()) -> dpctl.SyclEvent:
        ...

    @property
    def desc(self) -> MemoryDesc:
        ...

    @property
    def engine(self) -> Engine:
        """
        The engine; None for a host scalar.
        """

    @property
    def owner(self) -> typing.Any:
        """
        The owner of the data: the given array, or dpctl.memory objects.
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
    Operations on a primitive's result, applied in the order in which they were appended.
    """

    def __eq__(self, arg0: object) -> bool:
        ...

    def __getitem__(self, index: int) -> tuple[typing.Any, ...]:
        """
        (method, arguments) with which post-op ``index`` was appended.
        """

    def __hash__(self) -> int:
        ...

    def __init__(self) -> None:
        ...

    def __len__(self) -> int:
        ...

    def __reduce__(self) -> tuple:
        ...

    def __repr__(self) -> str:
        ...

    def append_binary(self, algorithm: algorithm | str, src1_desc: MemoryDesc, src2_desc: MemoryDesc | None=None) -> None:
        """
        result = op(result, src1); argument attr_post_op_<i>_src_1, shape broadcast by 1.
        """

    def append_dw(self, weights_data_type: data_type | str, bias_data_type: data_type | str, dst_data_type: data_type | str, kernel_size: int, stride_size: int, padding_l_size: int) -> None:
        """
        Depthwise convolution after a 1x1 one (CPU); argument attr_post_op_dw_weights.
        """

    def append_eltwise(self, algorithm: algorithm | str, alpha: float=0.0, beta: float=0.0) -> None:
        """
        result = f(result; alpha, beta).
        """

    def append_prelu(self, mask: int) -> None:
        """
        Multiply negative results by weights; argument attr_post_op_<i>_weights, f32, dense with the channels innermost.
        """

    def append_sum(self, scale: float=1.0, zero_point: int=0, data_type: data_type | str=...) -> None:
        """
        dst = result + scale * (old dst - zero_point); dst must hold valid data.
        """

    def copy(self) -> PostOps:
        """
        An independent copy.
        """

    def kind(self, index: int) -> primitive_kind:
        """
        primitive_kind of post-op ``index``.
        """

    @property
    def calls(self) -> tuple[typing.Any, ...]:
        """
        The settings so far: (method, arguments) in order.
        """

class PrimitiveAttr:
    """
    Settings of a primitive; all default at first.
    """

    def __eq__(self, arg0: object) -> bool:
        ...

    def __hash__(self) -> int:
        ...

    def __init__(self) -> None:
        ...

    def __reduce__(self) -> tuple:
        ...

    def __repr__(self) -> str:
        ...

    def copy(self) -> PrimitiveAttr:
        """
        An independent copy.
        """

    def get(self, setter: str) -> list[typing.Any]:
        """
        The argument tuples of all calls of ``setter``, in order.
        """

    def get_rounding_mode(self, arg: str | int) -> rounding_mode:
        ...

    def set_accumulation_mode(self, mode: _core.accumulation_mode | str) -> None:
        ...

    def set_deterministic(self, value: bool) -> None:
        """
        Every run on the same machine gives the same bits.
        """

    def set_dropout(self, mask_desc: MemoryDesc | None=None, seed_dt: data_type | str=..., use_offset: bool=False, use_host_scalars: bool=False) -> None:
        """
        Zero results at random before the post-ops; arguments attr_dropout_*.
        """

    def set_fpmath_mode(self, mode: _core.fpmath_mode | str, apply_to_int: bool=False) -> None:
        """
        Allow f32 inputs to be computed in a smaller type; apply_to_int also decompresses integer weights.
        """

    def set_host_scale(self, arg: str | int, data_type: data_type | str=...) -> None:
        ...

    def set_host_zero_point(self, arg: str | int, data_type: data_type | str=...) -> None:
        ...

    def set_post_ops(self, post_ops: PostOps) -> None:
        """
        Operations on the result; a copy is taken.
        """

    def set_precomputed_reductions(self, arg: str | int, mask: int, groups: collections.abc.Sequence[int]=[], data_type: data_type | str=...) -> None:
        """
        Sums over the groups, laid out as ``set_scales`` says.
        """

    def set_rnn_data_qparams(self, scale: float, shift: float) -> None:
        ...

    def set_rnn_weights_projection_qparams(self, mask: int, scales: collections.abc.Sequence[float]) -> None:
        ...

    def set_rnn_weights_qparams(self, mask: int, scales: collections.abc.Sequence[float]) -> None:
        ...

    def set_rounding_mode(self, arg: str | int, mode: rounding_mode | str) -> None:
        """
        Rounding of an output; stochastic needs attr_rounding_seed at execution.
        """

    def set_scales(self, arg: str | int, mask: int, groups: collections.abc.Sequence[int]=[], data_type: data_type | str=..., is_on_host: bool=False, qmode: quantization_mode | str=...) -> None:
        """
        Scales with groups in the last two dimensions and other data types. Those of an execution must be row-major: for ``mask`` 3 and groups (G, 1) of weights (K, N), one after the other as in an array (K / G, N). A transposed view is refused: copy it.
        """

    def set_scales_mask(self, arg: str | int, mask: int) -> None:
        """
        f32 scales of an argument, one for each index of the dimensions in ``mask``: an execution reads them in row-major order of these dimensions.
        """

    def set_scratchpad_mode(self, mode: _core.scratchpad_mode | str) -> None:
        """
        user: execute accepts a scratchpad argument, and uses a pool without one. library: always from the pool.
        """

    def set_zero_points(self, arg: str | int, mask: int, groups: collections.abc.Sequence[int]=[], data_type: data_type | str=..., is_on_host: bool=False) -> None:
        """
        Zero points with groups, laid out as ``set_scales`` says.
        """

    def set_zero_points_mask(self, arg: str | int, mask: int) -> None:
        """
        s32 zero points, laid out as ``set_scales_mask`` says.
        """

    @property
    def accumulation_mode(self) -> _core.accumulation_mode:
        ...

    @property
    def calls(self) -> tuple[typing.Any, ...]:
        """
        The settings so far: (method, arguments) in order.
        """

    @property
    def deterministic(self) -> bool:
        ...

    @property
    def fpmath_mode(self) -> tuple[_core.fpmath_mode, bool]:
        """
        (mode, apply_to_int)
        """

    @property
    def scratchpad_mode(self) -> _core.scratchpad_mode:
        ...

class PrimitiveDesc:
    """
    An operation with its parameters, layouts and implementation, made by one of the functions such as convolution_forward.
    """

    def __repr__(self) -> str:
        ...

    def desc_of(self, argument: str | int) -> MemoryDesc:
        """
        Layout of an execution argument; zero descriptor if unused.
        """

    def next_impl(self) -> bool:
        """
        Switch to the next implementation, usually a slower one; False if there is none. Those that are known to fail or to be wrong for these arguments are passed over.
        """

    def query_md(self, what: query | str, index: int=0) -> MemoryDesc:
        ...

    def query_s64(self, what: query | str) -> int:
        ...

    @property
    def activation_kind(self) -> _core.algorithm:
        ...

    @property
    def algorithm(self) -> _core.algorithm:
        ...

    @property
    def alpha(self) -> float:
        ...

    @property
    def attention_desc(self) -> MemoryDesc:
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
    def cell_kind(self) -> _core.algorithm:
        ...

    @property
    def diff_attention_desc(self) -> MemoryDesc:
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
    def dilations(self) -> tuple[typing.Any, ...]:
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
    def factors(self) -> tuple[typing.Any, ...]:
        ...

    @property
    def flags(self) -> normalization_flags | rnn_flags:
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
    def kernel(self) -> tuple[typing.Any, ...]:
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
        Bytes that executions need in addition to the arguments.
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
    def padding_l(self) -> tuple[typing.Any, ...]:
        ...

    @property
    def padding_r(self) -> tuple[typing.Any, ...]:
        ...

    @property
    def parameters(self) -> dict[str, typing.Any]:
        """
        The keyword arguments that it was made with.
        """

    @property
    def primitive_attr(self) -> PrimitiveAttr:
        """
        A copy of the attributes.
        """

    @property
    def prop_kind(self) -> _core.prop_kind:
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
    def src0_desc(self) -> MemoryDesc:
        ...

    @property
    def src1_desc(self) -> MemoryDesc:
        ...

    @property
    def src2_desc(self) -> MemoryDesc:
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
    def strides(self) -> tuple[typing.Any, ...]:
        ...

    @property
    def time_estimate(self) -> float:
        """
        The library's own estimate, without a unit.
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
    An operation that is ready to run; several threads may execute it.
    """

    def __init__(self, primitive_desc: PrimitiveDesc, inserted: bool=False) -> None:
        """
        ``inserted`` marks a reorder that sycl_dnn added, for sycl_dnn.profile.
        """

    def __repr__(self) -> str:
        ...

    def execute(self, stream: Stream, args: collections.abc.Mapping[typing.Any, Memory], depends: collections.abc.Sequence[dpctl.SyclEvent]=()) -> dpctl.SyclEvent:
        """
        Submit with ``args`` (name: Memory) after the events ``depends``; return the event of completion. All arguments are checked first; if one is wrong, nothing is submitted.
        """

    def get_cache_blob(self) -> bytes:
        """
        Compiled code for reuse; oneDNN has none on SYCL and raises Unimplemented.
        """

    @property
    def arguments(self) -> dict[str, dict[str, typing.Any]]:
        """
        The arguments of execute by name: id, desc, output, required.
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
    A fixed sequence of primitives and kernels, submitted by one call.
    """

    def __init__(self, engine: Engine, values: list[typing.Any], steps: list[typing.Any], n_arguments: int, arena_bytes: int) -> None:
        ...

    def run(self, stream: Stream, arrays: list[typing.Any], depends: typing.Any=()) -> typing.Any:
        """
        Submit with the arrays (objects that have ``_pointer``) and the bytes of the host scalars, by number; return the event of completion. Layouts are not checked.
        """

    @property
    def arena_bytes(self) -> int:
        ...

    @property
    def n_steps(self) -> int:
        ...

class Kernel:
    """
    A kernel compiled at run time, as a step of a Program.
    """

    @staticmethod
    def can_copy(from_type: str, to_type: str) -> bool:
        """
        Whether this processor converts between the two types.
        """

    @staticmethod
    def copy(from_type: str, to_type: str, axes: collections.abc.Sequence[typing.Annotated[collections.abc.Sequence[int], 'FixedSize(3)']]) -> Kernel:
        """
        A copy between plain layouts of float32, bfloat16 and float16 by the host: sizes, strides of the source and of the destination, outermost axis first.
        """

    @staticmethod
    def program_binary(program: typing.Any, queue: dpctl.SyclQueue) -> bytes:
        """
        What the driver made of a dpctl.program.SyclProgram for a queue's device; empty where it does not tell.
        """

    @staticmethod
    def program_of_binary(queue: dpctl.SyclQueue, binary: bytes) -> typing.Any:
        """
        The dpctl.program.SyclProgram of such bytes; None where the driver does not take them. They are executed: only bytes that nobody else can have written.
        """

    def __init__(self, kernel: typing.Any, name: str, numbers: collections.abc.Sequence, global_size: int, local_size: int) -> None:
        """
        ``kernel`` is a dpctl.program.SyclKernel. Its parameters are the addresses of the step's values in their order, then ``numbers``: int32 for int, float for float.
        """

    def __repr__(self) -> str:
        ...

    @property
    def global_size(self) -> int:
        ...

    @property
    def local_size(self) -> int:
        ...

    @property
    def name(self) -> str:
        ...

class BoundProgram:
    """
    A program with its arrays: calling it submits it.
    """

    def __call__(self) -> typing.Any:
        """
        Submit; return the bound result.
        """

    def __init__(self, program: typing.Any, stream: typing.Any, arrays: list[typing.Any], arena: typing.Any, result: typing.Any) -> None:
        ...

    @property
    def result(self) -> typing.Any:
        ...

class ResultPool:
    """
    Reuses the memory of a queue's dropped results.
    """

    @staticmethod
    def rounded(nbytes: int) -> int:
        """
        Return the size of the block for that many bytes.
        """

    def __init__(self, queue: typing.Any, most: int) -> None:
        ...

    def drop_unused(self) -> None:
        """
        Free the unused blocks.
        """

    def take(self, kind: typing.Any, nbytes: int) -> typing.Any:
        """
        Return a dpctl.memory object of class ``kind`` with at least that many bytes.
        """

    @property
    def nbytes(self) -> int:
        ...

class ArrayTypes:
    """
    The Python classes that calls are made of.
    """

    def __init__(self, ndarray: typing.Any, usm_ndarray: typing.Any, carried: typing.Any, frozen: typing.Any, memory: collections.abc.Sequence[typing.Any]) -> None:
        ...

    def kinds(self, arrays: tuple[typing.Any, ...]) -> typing.Any:
        """
        Return classes, shapes, strides and data types as bytes; None where an array is neither ``ndarray`` nor ``carried``.
        """

class PartitionSequence:
    """
    Compiled partitions that run in sequence.
    """

    def __init__(self, partitions: list[typing.Any]) -> None:
        """
        Make it of pairs: a CompiledPartition, and the array number of each of its tensors.
        """

class CallPlan:
    """
    A program or sequence, and what a call of it allocates and returns.
    """

    def __init__(self, program: typing.Any, reads: collections.abc.Sequence[int], n_arrays: int, blanks: list[typing.Any], constants: list[typing.Any], captured: list[typing.Any], form: tuple[typing.Any, ...], tail: collections.abc.Sequence[int]=(), kept: collections.abc.Sequence[int]=()) -> None:
        ...

class ReverseCall:
    """
    Repeats the reverse pass of a plan.
    """

    def __init__(self, types: ArrayTypes, plan: CallPlan) -> None:
        ...

    def call(self, kept: typing.Any, dy: typing.Any) -> typing.Any:
        """
        Return the gradients, or NotImplemented if the layout of ``dy`` is unknown. ``kept``: stream, pool, class of memory, arrays, frozen arrays by number or None.
        """

    def remember(self, dy: typing.Any, arrays: list[typing.Any]) -> None:
        """
        Repeat calls with gradients like these, if ``arrays`` are those found in them.
        """

class CallTable:
    """
    Repeats the calls that were added to it; knows dpnp only by what it is given.
    """

    def __init__(self, types: ArrayTypes, key_of: typing.Any=None) -> None:
        """
        ``key_of(function)`` distinguishes plain functions with attributes, and other callables. Without it, all functions are considered equal.
        """

    def call(self, function: typing.Any, subject: tuple[typing.Any, ...], args: tuple[typing.Any, ...], kwargs: dict[str, typing.Any], out: typing.Any) -> typing.Any:
        """
        Return the result, or NotImplemented if the call is unknown. Calls are distinguished by the function and by the identity of the items of ``subject``, of lists in it, and of the values of context variables.
        """

    def clear(self) -> None:
        """
        Remove everything.
        """

    def forget_dropped(self) -> None:
        """
        Remove the calls whose owners no longer exist.
        """

    def remember(self, function: typing.Any, subject: typing.Any, args: tuple[typing.Any, ...], kwargs: dict[str, typing.Any], out: typing.Any, arrays: list[typing.Any], key: typing.Any, owner: typing.Any, plan: CallPlan, stream: typing.Any, pool: typing.Any, guard: typing.Any=None, reverse: typing.Any=None) -> None:
        """
        Let calls like this one run ``plan``, if ``arrays`` are those found in it, as long as the referent of the weak reference ``owner`` exists, and the function that ``guard`` weakly refers to, called with the function and (), returns the arrays that it holds. With ``reverse``, a class, they return the result and an instance with the attributes ``_plan``, the owner, and ``_kept``, the argument of ``ReverseCall.call``.
        """

    def sibling(self, constants: typing.Any=()) -> CallTable:
        """
        Return a table for functions to which frozen arrays and the arguments with these numbers and names are constants.
        """

    def used(self) -> list[typing.Any]:
        """
        Return the keys of the plans used since the last call, in order.
        """

    @property
    def capacity(self) -> int:
        ...

    @capacity.setter
    def capacity(self, arg0: int) -> None:
        ...

    @property
    def hits(self) -> int:
        ...

class ControlLink:
    """
    A rank's connection to the hub of rank 0, for data other than arrays.
    """

    @staticmethod
    def start_hub(port: int, size: int) -> None:
        """
        Start the thread of rank 0 that all ranks connect to.
        """

    def __init__(self, host: str, port: int, rank: int, size: int, timeout: float) -> None:
        ...

    def first_gone(self, members: collections.abc.Sequence[int]) -> str:
        """
        Which of the members has gone, and how; empty if all are there.
        """

    def gather(self, key: str, members: collections.abc.Sequence[int], text: str, timeout: float, about: str) -> list[bytes]:
        """
        What all members send under a key, in their order; RuntimeError names missing ones.
        """

    def leave(self) -> None:
        """
        Announce that this rank ends normally.
        """

    @property
    def rank(self) -> int:
        ...

    @property
    def size(self) -> int:
        ...

class StartedCollective:
    """
    A collective that later work overlaps with.
    """

    def join(self, stream: Stream) -> None:
        """
        Make later submissions in the stream's order wait for it.
        """

class Communicator:
    """
    The ranks of one group, for oneCCL.
    """

    @staticmethod
    def open_oneccl(path: str) -> None:
        """
        Open oneCCL's library.
        """

    @staticmethod
    def raise_failure() -> None:
        """
        Raise the error of a collective that has failed since the last check.
        """

    @staticmethod
    def set_latency(seconds: float) -> None:
        """
        Make each collective on a CPU sleep first: for measurements and tests.
        """

    @staticmethod
    def unique_id() -> bytes:
        """
        A new id for a group of oneCCL.
        """

    def __init__(self, name: str, members: collections.abc.Sequence[int], rank: int, id: str) -> None:
        """
        Waits for all members; ``id`` is that of the first one.
        """

    def close(self) -> None:
        """
        Wait for what was submitted, and free oneCCL's memory.
        """

    def start(self, stream: Stream, kind: str, src: tuple[typing.Any, int], dst: tuple[typing.Any, int], count: int, dtype: int, op: int, root: int, dst_bytes: int, words: str) -> StartedCollective:
        """
        Like ``submit``, but nothing waits for it until the result's ``join``.
        """

    def submit(self, stream: Stream, kind: str, src: tuple[typing.Any, int], dst: tuple[typing.Any, int], count: int, dtype: int, op: int, root: int, dst_bytes: int, words: str) -> typing.Any:
        """
        Submit in the stream's order and after every other collective of this process; ``src`` and ``dst`` are objects that have ``_pointer``, with offsets in bytes.
        """

    @property
    def members(self) -> list[int]:
        ...

    @property
    def name(self) -> str:
        ...

    @property
    def rank(self) -> int:
        ...

class Recorder:
    """
    Records what the process runs, between start and stop.
    """

    def __init__(self, most: int, waits: bool) -> None:
        """
        Keep up to ``most`` records, count the others; ``waits``: run each to its end.
        """

    def queues(self) -> list[typing.Any]:
        """
        The queues, to which records refer by number.
        """

    def records(self, first: int=0) -> list[typing.Any]:
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

    def subjects(self, first: int=0) -> list[typing.Any]:
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

    def __init__(self, id: int, data_type: typing.Any, dims: typing.Any=None, *, strides: typing.Any=None, layout_type: typing.Any=None, layout_id: typing.Any=None, property_type: typing.Any='undef') -> None:
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
    def dims(self) -> tuple[int, ...]:
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
    def layout_type(self) -> _core.layout_type:
        ...

    @property
    def mem_size(self) -> int:
        """
        Bytes that memory in this layout takes.
        """

    @property
    def property_type(self) -> _core.property_type:
        ...

    @property
    def strides(self) -> tuple[int, ...]:
        """
        In elements; None unless the layout is strided.
        """

class Op:
    """
    An operation of a graph: kind, tensors and attributes.
    """

    def __init__(self, id: int, kind: typing.Any, inputs: collections.abc.Sequence[LogicalTensor]=[], outputs: collections.abc.Sequence[LogicalTensor]=[], attrs: dict[str, typing.Any]={}, name: str='') -> None:
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
        Set an attribute; the value must have exactly the kind that oneDNN requires.
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
    Data of a logical tensor in USM.
    """

    @typing.overload
    def __init__(self, logical_tensor: LogicalTensor, engine: Engine, memory: typing.Any, offset: int, owner: typing.Any, writable: bool) -> None:
        ...

    @typing.overload
    def __init__(self, logical_tensor: LogicalTensor, value: bytes) -> None:
        ...

    def __repr__(self) -> str:
        ...

    def _set_data_handle(self, memory: typing.Any, offset: int, owner: typing.Any, writable: bool) -> None:
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
        The owner of the data: the given array, or a dpctl.memory object.
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

    def execute(self, stream: Stream, inputs: collections.abc.Sequence, outputs: collections.abc.Sequence, scratchpad: typing.Any=None, depends: collections.abc.Sequence[dpctl.SyclEvent]=()) -> dpctl.SyclEvent:
        """
        Submit after the events ``depends``; return the event of completion. Tensors are matched by their numbers, in any order. On the CPU device the call returns when the work is done.
        """

    def query_logical_tensor(self, id: int) -> LogicalTensor:
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
        Its name in sycl_dnn.profile.
        """

    @label.setter
    def label(self, arg0: str) -> None:
        ...

    @property
    def outputs(self) -> list[LogicalTensor]:
        ...

    @property
    def partition(self) -> Partition:
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
        Compile for these logical tensors, which are matched to the ports by their numbers. Output sizes may be unknown, their layout ``any``.
        """

    @property
    def engine_kind(self) -> _core.engine_kind:
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

    def __init__(self, engine_kind: typing.Any, fpmath_mode: typing.Any=None) -> None:
        ...

    def add_op(self, op: Op, allow_exception: bool=True) -> graph_status:
        """
        Add an operation; return its status, or raise an error if it is not success.
        """

    def finalize(self) -> None:
        """
        End building: no more operations can be added.
        """

    def get_fpmath_mode(self) -> tuple[typing.Any, ...]:
        """
        The mode, and whether it applies to integers too.
        """

    def get_partitions(self, policy: typing.Any='fusion') -> list[Partition]:
        """
        The partitions, in an order in which they can run.
        """

    def set_fpmath_mode(self, mode: typing.Any, apply_to_int: bool=False) -> None:
        ...

    @property
    def engine_kind(self) -> _core.engine_kind:
        ...

    @property
    def is_finalized(self) -> bool:
        ...

def _engine_with_functions(queue: typing.Any, allocate: int, deallocate: int) -> Engine:
    ...

def _event_at(address: int) -> typing.Any:
    """
    A copy of the sycl::event at that address.
    """

def _gemm_s8s8s32(arg0: str, arg1: str, arg2: str, arg3: int, arg4: int, arg5: int, arg6: float, arg7: int, arg8: int, arg9: int, arg10: int, arg11: int, arg12: int, arg13: float, arg14: int, arg15: int, arg16: int) -> None:
    ...

def _gemm_u8s8s32(arg0: str, arg1: str, arg2: str, arg3: int, arg4: int, arg5: int, arg6: float, arg7: int, arg8: int, arg9: int, arg10: int, arg11: int, arg12: int, arg13: float, arg14: int, arg15: int, arg16: int) -> None:
    ...

def _replayed(arg0: typing.Any, arg1: collections.abc.Iterable) -> typing.Any:
    ...

def _sgemm(arg0: str, arg1: str, arg2: int, arg3: int, arg4: int, arg5: float, arg6: int, arg7: int, arg8: int, arg9: int, arg10: float, arg11: int, arg12: int) -> None:
    ...

def _watch(rows: collections.abc.Set[str], check: typing.Any, is_avoided: typing.Any=None) -> None:
    ...

def argument_id(name: str) -> int:
    """
    The DNNL_ARG_* number of an execution argument's name, composed names included.
    """

@typing.overload
def augru_backward(engine: Engine, *, prop_kind: prop_kind | str, direction: rnn_direction | str, src_layer: MemoryDesc, src_iter: MemoryDesc | None=None, attention: MemoryDesc, weights_layer: MemoryDesc, weights_iter: MemoryDesc, bias: MemoryDesc | None=None, dst_layer: MemoryDesc, dst_iter: MemoryDesc | None=None, diff_src_layer: MemoryDesc, diff_src_iter: MemoryDesc | None=None, diff_attention: MemoryDesc, diff_weights_layer: MemoryDesc, diff_weights_iter: MemoryDesc, diff_bias: MemoryDesc | None=None, diff_dst_layer: MemoryDesc, diff_dst_iter: MemoryDesc | None=None, flags: rnn_flags | str=..., hint_fwd_pd: PrimitiveDesc, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[False]=False) -> PrimitiveDesc:
    """
    Primitive descriptor of augru_backward; executes src_layer src_iter augru_attention weights_layer weights_iter bias dst_layer dst_iter diff_dst_layer diff_dst_iter workspace -> diff_src_layer diff_src_iter diff_augru_attention diff_weights_layer diff_weights_iter diff_bias
    """

@typing.overload
def augru_backward(engine: Engine, *, prop_kind: prop_kind | str, direction: rnn_direction | str, src_layer: MemoryDesc, src_iter: MemoryDesc | None=None, attention: MemoryDesc, weights_layer: MemoryDesc, weights_iter: MemoryDesc, bias: MemoryDesc | None=None, dst_layer: MemoryDesc, dst_iter: MemoryDesc | None=None, diff_src_layer: MemoryDesc, diff_src_iter: MemoryDesc | None=None, diff_attention: MemoryDesc, diff_weights_layer: MemoryDesc, diff_weights_iter: MemoryDesc, diff_bias: MemoryDesc | None=None, diff_dst_layer: MemoryDesc, diff_dst_iter: MemoryDesc | None=None, flags: rnn_flags | str=..., hint_fwd_pd: PrimitiveDesc, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[True]) -> PrimitiveDesc | None:
    """
    Primitive descriptor of augru_backward; executes src_layer src_iter augru_attention weights_layer weights_iter bias dst_layer dst_iter diff_dst_layer diff_dst_iter workspace -> diff_src_layer diff_src_iter diff_augru_attention diff_weights_layer diff_weights_iter diff_bias
    """

@typing.overload
def augru_forward(engine: Engine, *, prop_kind: prop_kind | str, direction: rnn_direction | str, src_layer: MemoryDesc, src_iter: MemoryDesc | None=None, attention: MemoryDesc, weights_layer: MemoryDesc, weights_iter: MemoryDesc, bias: MemoryDesc | None=None, dst_layer: MemoryDesc, dst_iter: MemoryDesc | None=None, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[False]=False) -> PrimitiveDesc:
    """
    Primitive descriptor of augru_forward; executes src_layer src_iter augru_attention weights_layer weights_iter bias -> dst_layer dst_iter workspace
    """

@typing.overload
def augru_forward(engine: Engine, *, prop_kind: prop_kind | str, direction: rnn_direction | str, src_layer: MemoryDesc, src_iter: MemoryDesc | None=None, attention: MemoryDesc, weights_layer: MemoryDesc, weights_iter: MemoryDesc, bias: MemoryDesc | None=None, dst_layer: MemoryDesc, dst_iter: MemoryDesc | None=None, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[True]) -> PrimitiveDesc | None:
    """
    Primitive descriptor of augru_forward; executes src_layer src_iter augru_attention weights_layer weights_iter bias -> dst_layer dst_iter workspace
    """

@typing.overload
def batch_normalization_backward(engine: Engine, *, prop_kind: prop_kind | str, diff_src: MemoryDesc, diff_dst: MemoryDesc, src: MemoryDesc, epsilon: float, flags: normalization_flags | str=..., hint_fwd_pd: PrimitiveDesc, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[False]=False) -> PrimitiveDesc:
    """
    Primitive descriptor of batch_normalization_backward; executes src diff_dst mean variance scale workspace -> diff_src diff_src_1 diff_scale diff_shift
    """

@typing.overload
def batch_normalization_backward(engine: Engine, *, prop_kind: prop_kind | str, diff_src: MemoryDesc, diff_dst: MemoryDesc, src: MemoryDesc, epsilon: float, flags: normalization_flags | str=..., hint_fwd_pd: PrimitiveDesc, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[True]) -> PrimitiveDesc | None:
    """
    Primitive descriptor of batch_normalization_backward; executes src diff_dst mean variance scale workspace -> diff_src diff_src_1 diff_scale diff_shift
    """

@typing.overload
def batch_normalization_forward(engine: Engine, *, prop_kind: prop_kind | str, src: MemoryDesc, dst: MemoryDesc, epsilon: float, flags: normalization_flags | str=..., attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[False]=False) -> PrimitiveDesc:
    """
    Primitive descriptor of batch_normalization_forward; executes src src_1 mean variance scale shift -> dst mean variance workspace
    """

@typing.overload
def batch_normalization_forward(engine: Engine, *, prop_kind: prop_kind | str, src: MemoryDesc, dst: MemoryDesc, epsilon: float, flags: normalization_flags | str=..., attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[True]) -> PrimitiveDesc | None:
    """
    Primitive descriptor of batch_normalization_forward; executes src src_1 mean variance scale shift -> dst mean variance workspace
    """

@typing.overload
def binary(engine: Engine, *, algorithm: algorithm | str, src0: MemoryDesc, src1: MemoryDesc, src2: MemoryDesc | None=None, dst: MemoryDesc, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[False]=False) -> PrimitiveDesc:
    """
    Primitive descriptor of binary; executes src_0 src_1 src_2 -> dst
    """

@typing.overload
def binary(engine: Engine, *, algorithm: algorithm | str, src0: MemoryDesc, src1: MemoryDesc, src2: MemoryDesc | None=None, dst: MemoryDesc, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[True]) -> PrimitiveDesc | None:
    """
    Primitive descriptor of binary; executes src_0 src_1 src_2 -> dst
    """

def canonical_strides(dims: collections.abc.Sequence[int], strides: collections.abc.Sequence[int]) -> list[int]:
    """
    The strides that a descriptor gets: those that lead nowhere are as in a dense array.
    """

def clear_graph_pool() -> None:
    """
    Free the unused buffers of graphs.
    """

def clear_scratchpads() -> None:
    """
    Free the unused scratchpad buffers.
    """

@typing.overload
def concat(engine: Engine, *, dst: MemoryDesc | None=None, concat_dimension: int, srcs: collections.abc.Sequence[MemoryDesc], attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[False]=False) -> PrimitiveDesc:
    """
    Primitive descriptor of concat; executes multiple_src -> dst
    """

@typing.overload
def concat(engine: Engine, *, dst: MemoryDesc | None=None, concat_dimension: int, srcs: collections.abc.Sequence[MemoryDesc], attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[True]) -> PrimitiveDesc | None:
    """
    Primitive descriptor of concat; executes multiple_src -> dst
    """

@typing.overload
def convolution_backward_data(engine: Engine, *, algorithm: algorithm | str, diff_src: MemoryDesc, weights: MemoryDesc, diff_dst: MemoryDesc, strides: collections.abc.Sequence[int], dilates: collections.abc.Sequence[int] | None=None, padding_l: collections.abc.Sequence[int], padding_r: collections.abc.Sequence[int], hint_fwd_pd: PrimitiveDesc, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[False]=False) -> PrimitiveDesc:
    """
    Primitive descriptor of convolution_backward_data; executes weights diff_dst -> diff_src
    """

@typing.overload
def convolution_backward_data(engine: Engine, *, algorithm: algorithm | str, diff_src: MemoryDesc, weights: MemoryDesc, diff_dst: MemoryDesc, strides: collections.abc.Sequence[int], dilates: collections.abc.Sequence[int] | None=None, padding_l: collections.abc.Sequence[int], padding_r: collections.abc.Sequence[int], hint_fwd_pd: PrimitiveDesc, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[True]) -> PrimitiveDesc | None:
    """
    Primitive descriptor of convolution_backward_data; executes weights diff_dst -> diff_src
    """

@typing.overload
def convolution_backward_weights(engine: Engine, *, algorithm: algorithm | str, src: MemoryDesc, diff_weights: MemoryDesc, diff_bias: MemoryDesc | None=None, diff_dst: MemoryDesc, strides: collections.abc.Sequence[int], dilates: collections.abc.Sequence[int] | None=None, padding_l: collections.abc.Sequence[int], padding_r: collections.abc.Sequence[int], hint_fwd_pd: PrimitiveDesc, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[False]=False) -> PrimitiveDesc:
    """
    Primitive descriptor of convolution_backward_weights; executes src diff_dst -> diff_weights diff_bias
    """

@typing.overload
def convolution_backward_weights(engine: Engine, *, algorithm: algorithm | str, src: MemoryDesc, diff_weights: MemoryDesc, diff_bias: MemoryDesc | None=None, diff_dst: MemoryDesc, strides: collections.abc.Sequence[int], dilates: collections.abc.Sequence[int] | None=None, padding_l: collections.abc.Sequence[int], padding_r: collections.abc.Sequence[int], hint_fwd_pd: PrimitiveDesc, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[True]) -> PrimitiveDesc | None:
    """
    Primitive descriptor of convolution_backward_weights; executes src diff_dst -> diff_weights diff_bias
    """

@typing.overload
def convolution_forward(engine: Engine, *, prop_kind: prop_kind | str, algorithm: algorithm | str, src: MemoryDesc, weights: MemoryDesc, bias: MemoryDesc | None=None, dst: MemoryDesc, strides: collections.abc.Sequence[int], dilates: collections.abc.Sequence[int] | None=None, padding_l: collections.abc.Sequence[int], padding_r: collections.abc.Sequence[int], attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[False]=False) -> PrimitiveDesc:
    """
    Primitive descriptor of convolution_forward; executes src weights bias -> dst
    """

@typing.overload
def convolution_forward(engine: Engine, *, prop_kind: prop_kind | str, algorithm: algorithm | str, src: MemoryDesc, weights: MemoryDesc, bias: MemoryDesc | None=None, dst: MemoryDesc, strides: collections.abc.Sequence[int], dilates: collections.abc.Sequence[int] | None=None, padding_l: collections.abc.Sequence[int], padding_r: collections.abc.Sequence[int], attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[True]) -> PrimitiveDesc | None:
    """
    Primitive descriptor of convolution_forward; executes src weights bias -> dst
    """

def data_type_size(data_type: data_type | str) -> int:
    """
    Bytes of a value; 1 for 4-bit types.
    """

@typing.overload
def deconvolution_backward_data(engine: Engine, *, algorithm: algorithm | str, diff_src: MemoryDesc, weights: MemoryDesc, diff_dst: MemoryDesc, strides: collections.abc.Sequence[int], dilates: collections.abc.Sequence[int] | None=None, padding_l: collections.abc.Sequence[int], padding_r: collections.abc.Sequence[int], hint_fwd_pd: PrimitiveDesc, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[False]=False) -> PrimitiveDesc:
    """
    Primitive descriptor of deconvolution_backward_data; executes weights diff_dst -> diff_src
    """

@typing.overload
def deconvolution_backward_data(engine: Engine, *, algorithm: algorithm | str, diff_src: MemoryDesc, weights: MemoryDesc, diff_dst: MemoryDesc, strides: collections.abc.Sequence[int], dilates: collections.abc.Sequence[int] | None=None, padding_l: collections.abc.Sequence[int], padding_r: collections.abc.Sequence[int], hint_fwd_pd: PrimitiveDesc, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[True]) -> PrimitiveDesc | None:
    """
    Primitive descriptor of deconvolution_backward_data; executes weights diff_dst -> diff_src
    """

@typing.overload
def deconvolution_backward_weights(engine: Engine, *, algorithm: algorithm | str, src: MemoryDesc, diff_weights: MemoryDesc, diff_bias: MemoryDesc | None=None, diff_dst: MemoryDesc, strides: collections.abc.Sequence[int], dilates: collections.abc.Sequence[int] | None=None, padding_l: collections.abc.Sequence[int], padding_r: collections.abc.Sequence[int], hint_fwd_pd: PrimitiveDesc, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[False]=False) -> PrimitiveDesc:
    """
    Primitive descriptor of deconvolution_backward_weights; executes src diff_dst -> diff_weights diff_bias
    """

@typing.overload
def deconvolution_backward_weights(engine: Engine, *, algorithm: algorithm | str, src: MemoryDesc, diff_weights: MemoryDesc, diff_bias: MemoryDesc | None=None, diff_dst: MemoryDesc, strides: collections.abc.Sequence[int], dilates: collections.abc.Sequence[int] | None=None, padding_l: collections.abc.Sequence[int], padding_r: collections.abc.Sequence[int], hint_fwd_pd: PrimitiveDesc, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[True]) -> PrimitiveDesc | None:
    """
    Primitive descriptor of deconvolution_backward_weights; executes src diff_dst -> diff_weights diff_bias
    """

@typing.overload
def deconvolution_forward(engine: Engine, *, prop_kind: prop_kind | str, algorithm: algorithm | str, src: MemoryDesc, weights: MemoryDesc, bias: MemoryDesc | None=None, dst: MemoryDesc, strides: collections.abc.Sequence[int], dilates: collections.abc.Sequence[int] | None=None, padding_l: collections.abc.Sequence[int], padding_r: collections.abc.Sequence[int], attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[False]=False) -> PrimitiveDesc:
    """
    Primitive descriptor of deconvolution_forward; executes src weights bias -> dst
    """

@typing.overload
def deconvolution_forward(engine: Engine, *, prop_kind: prop_kind | str, algorithm: algorithm | str, src: MemoryDesc, weights: MemoryDesc, bias: MemoryDesc | None=None, dst: MemoryDesc, strides: collections.abc.Sequence[int], dilates: collections.abc.Sequence[int] | None=None, padding_l: collections.abc.Sequence[int], padding_r: collections.abc.Sequence[int], attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[True]) -> PrimitiveDesc | None:
    """
    Primitive descriptor of deconvolution_forward; executes src weights bias -> dst
    """

@typing.overload
def eltwise_backward(engine: Engine, *, algorithm: algorithm | str, diff_src: MemoryDesc, diff_dst: MemoryDesc, data: MemoryDesc, alpha: float=0.0, beta: float=0.0, hint_fwd_pd: PrimitiveDesc, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[False]=False) -> PrimitiveDesc:
    """
    Primitive descriptor of eltwise_backward; executes src dst diff_dst -> diff_src
    """

@typing.overload
def eltwise_backward(engine: Engine, *, algorithm: algorithm | str, diff_src: MemoryDesc, diff_dst: MemoryDesc, data: MemoryDesc, alpha: float=0.0, beta: float=0.0, hint_fwd_pd: PrimitiveDesc, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[True]) -> PrimitiveDesc | None:
    """
    Primitive descriptor of eltwise_backward; executes src dst diff_dst -> diff_src
    """

@typing.overload
def eltwise_forward(engine: Engine, *, prop_kind: prop_kind | str, algorithm: algorithm | str, src: MemoryDesc, dst: MemoryDesc, alpha: float=0.0, beta: float=0.0, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[False]=False) -> PrimitiveDesc:
    """
    Primitive descriptor of eltwise_forward; executes src -> dst
    """

@typing.overload
def eltwise_forward(engine: Engine, *, prop_kind: prop_kind | str, algorithm: algorithm | str, src: MemoryDesc, dst: MemoryDesc, alpha: float=0.0, beta: float=0.0, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[True]) -> PrimitiveDesc | None:
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
    The most capable instruction set that oneDNN uses on this CPU.
    """

def get_primitive_cache_capacity() -> int:
    ...

def graph_pool_info() -> dict[str, typing.Any]:
    """
    The buffers of oneDNN's graphs: their number, their bytes, and how many are in use.
    """

@typing.overload
def group_normalization_backward(engine: Engine, *, prop_kind: prop_kind | str, diff_src: MemoryDesc, diff_dst: MemoryDesc, src: MemoryDesc, groups: int, epsilon: float, flags: normalization_flags | str=..., hint_fwd_pd: PrimitiveDesc, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[False]=False) -> PrimitiveDesc:
    """
    Primitive descriptor of group_normalization_backward; executes src diff_dst mean variance scale -> diff_src diff_scale diff_shift
    """

@typing.overload
def group_normalization_backward(engine: Engine, *, prop_kind: prop_kind | str, diff_src: MemoryDesc, diff_dst: MemoryDesc, src: MemoryDesc, groups: int, epsilon: float, flags: normalization_flags | str=..., hint_fwd_pd: PrimitiveDesc, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[True]) -> PrimitiveDesc | None:
    """
    Primitive descriptor of group_normalization_backward; executes src diff_dst mean variance scale -> diff_src diff_scale diff_shift
    """

@typing.overload
def group_normalization_forward(engine: Engine, *, prop_kind: prop_kind | str, src: MemoryDesc, dst: MemoryDesc, groups: int, epsilon: float, flags: normalization_flags | str=..., attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[False]=False) -> PrimitiveDesc:
    """
    Primitive descriptor of group_normalization_forward; executes src mean variance scale shift -> dst mean variance
    """

@typing.overload
def group_normalization_forward(engine: Engine, *, prop_kind: prop_kind | str, src: MemoryDesc, dst: MemoryDesc, groups: int, epsilon: float, flags: normalization_flags | str=..., attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[True]) -> PrimitiveDesc | None:
    """
    Primitive descriptor of group_normalization_forward; executes src mean variance scale shift -> dst mean variance
    """

@typing.overload
def gru_backward(engine: Engine, *, prop_kind: prop_kind | str, direction: rnn_direction | str, src_layer: MemoryDesc, src_iter: MemoryDesc | None=None, weights_layer: MemoryDesc, weights_iter: MemoryDesc, bias: MemoryDesc | None=None, dst_layer: MemoryDesc, dst_iter: MemoryDesc | None=None, diff_src_layer: MemoryDesc, diff_src_iter: MemoryDesc | None=None, diff_weights_layer: MemoryDesc, diff_weights_iter: MemoryDesc, diff_bias: MemoryDesc | None=None, diff_dst_layer: MemoryDesc, diff_dst_iter: MemoryDesc | None=None, flags: rnn_flags | str=..., hint_fwd_pd: PrimitiveDesc, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[False]=False) -> PrimitiveDesc:
    """
    Primitive descriptor of gru_backward; executes src_layer src_iter weights_layer weights_iter bias dst_layer dst_iter diff_dst_layer diff_dst_iter workspace -> diff_src_layer diff_src_iter diff_weights_layer diff_weights_iter diff_bias
    """

@typing.overload
def gru_backward(engine: Engine, *, prop_kind: prop_kind | str, direction: rnn_direction | str, src_layer: MemoryDesc, src_iter: MemoryDesc | None=None, weights_layer: MemoryDesc, weights_iter: MemoryDesc, bias: MemoryDesc | None=None, dst_layer: MemoryDesc, dst_iter: MemoryDesc | None=None, diff_src_layer: MemoryDesc, diff_src_iter: MemoryDesc | None=None, diff_weights_layer: MemoryDesc, diff_weights_iter: MemoryDesc, diff_bias: MemoryDesc | None=None, diff_dst_layer: MemoryDesc, diff_dst_iter: MemoryDesc | None=None, flags: rnn_flags | str=..., hint_fwd_pd: PrimitiveDesc, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[True]) -> PrimitiveDesc | None:
    """
    Primitive descriptor of gru_backward; executes src_layer src_iter weights_layer weights_iter bias dst_layer dst_iter diff_dst_layer diff_dst_iter workspace -> diff_src_layer diff_src_iter diff_weights_layer diff_weights_iter diff_bias
    """

@typing.overload
def gru_forward(engine: Engine, *, prop_kind: prop_kind | str, direction: rnn_direction | str, src_layer: MemoryDesc, src_iter: MemoryDesc | None=None, weights_layer: MemoryDesc, weights_iter: MemoryDesc, bias: MemoryDesc | None=None, dst_layer: MemoryDesc, dst_iter: MemoryDesc | None=None, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[False]=False) -> PrimitiveDesc:
    """
    Primitive descriptor of gru_forward; executes src_layer src_iter weights_layer weights_iter bias -> dst_layer dst_iter workspace
    """

@typing.overload
def gru_forward(engine: Engine, *, prop_kind: prop_kind | str, direction: rnn_direction | str, src_layer: MemoryDesc, src_iter: MemoryDesc | None=None, weights_layer: MemoryDesc, weights_iter: MemoryDesc, bias: MemoryDesc | None=None, dst_layer: MemoryDesc, dst_iter: MemoryDesc | None=None, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[True]) -> PrimitiveDesc | None:
    """
    Primitive descriptor of gru_forward; executes src_layer src_iter weights_layer weights_iter bias -> dst_layer dst_iter workspace
    """

def host_lane() -> tuple[int, bool]:
    """
    How often a program has idled SYCL's other host threads, and whether one does now.
    """

@typing.overload
def inner_product_backward_data(engine: Engine, *, diff_src: MemoryDesc, weights: MemoryDesc, diff_dst: MemoryDesc, hint_fwd_pd: PrimitiveDesc, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[False]=False) -> PrimitiveDesc:
    """
    Primitive descriptor of inner_product_backward_data; executes weights diff_dst -> diff_src
    """

@typing.overload
def inner_product_backward_data(engine: Engine, *, diff_src: MemoryDesc, weights: MemoryDesc, diff_dst: MemoryDesc, hint_fwd_pd: PrimitiveDesc, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[True]) -> PrimitiveDesc | None:
    """
    Primitive descriptor of inner_product_backward_data; executes weights diff_dst -> diff_src
    """

@typing.overload
def inner_product_backward_weights(engine: Engine, *, src: MemoryDesc, diff_weights: MemoryDesc, diff_bias: MemoryDesc | None=None, diff_dst: MemoryDesc, hint_fwd_pd: PrimitiveDesc, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[False]=False) -> PrimitiveDesc:
    """
    Primitive descriptor of inner_product_backward_weights; executes src diff_dst -> diff_weights diff_bias
    """

@typing.overload
def inner_product_backward_weights(engine: Engine, *, src: MemoryDesc, diff_weights: MemoryDesc, diff_bias: MemoryDesc | None=None, diff_dst: MemoryDesc, hint_fwd_pd: PrimitiveDesc, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[True]) -> PrimitiveDesc | None:
    """
    Primitive descriptor of inner_product_backward_weights; executes src diff_dst -> diff_weights diff_bias
    """

@typing.overload
def inner_product_forward(engine: Engine, *, prop_kind: prop_kind | str, src: MemoryDesc, weights: MemoryDesc, bias: MemoryDesc | None=None, dst: MemoryDesc, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[False]=False) -> PrimitiveDesc:
    """
    Primitive descriptor of inner_product_forward; executes src weights bias -> dst
    """

@typing.overload
def inner_product_forward(engine: Engine, *, prop_kind: prop_kind | str, src: MemoryDesc, weights: MemoryDesc, bias: MemoryDesc | None=None, dst: MemoryDesc, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[True]) -> PrimitiveDesc | None:
    """
    Primitive descriptor of inner_product_forward; executes src weights bias -> dst
    """

def is_recording() -> bool:
    """
    Whether a Recorder is on.
    """

def is_recording_waits() -> bool:
    """
    Whether a Recorder is on that waits for each execution.
    """

@typing.overload
def layer_normalization_backward(engine: Engine, *, prop_kind: prop_kind | str, diff_src: MemoryDesc, diff_dst: MemoryDesc, src: MemoryDesc, stat: MemoryDesc | None=None, diff_scale_shift_data_type: data_type | str=..., scale_shift_data_type: data_type | str=..., epsilon: float, flags: normalization_flags | str=..., hint_fwd_pd: PrimitiveDesc, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[False]=False) -> PrimitiveDesc:
    """
    Primitive descriptor of layer_normalization_backward; executes src diff_dst mean variance scale -> diff_src diff_scale diff_shift
    """

@typing.overload
def layer_normalization_backward(engine: Engine, *, prop_kind: prop_kind | str, diff_src: MemoryDesc, diff_dst: MemoryDesc, src: MemoryDesc, stat: MemoryDesc | None=None, diff_scale_shift_data_type: data_type | str=..., scale_shift_data_type: data_type | str=..., epsilon: float, flags: normalization_flags | str=..., hint_fwd_pd: PrimitiveDesc, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[True]) -> PrimitiveDesc | None:
    """
    Primitive descriptor of layer_normalization_backward; executes src diff_dst mean variance scale -> diff_src diff_scale diff_shift
    """

@typing.overload
def layer_normalization_forward(engine: Engine, *, prop_kind: prop_kind | str, src: MemoryDesc, dst: MemoryDesc, stat: MemoryDesc | None=None, scale_shift_data_type: data_type | str=..., epsilon: float, flags: normalization_flags | str=..., attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[False]=False) -> PrimitiveDesc:
    """
    Primitive descriptor of layer_normalization_forward; executes src mean variance scale shift -> dst mean variance
    """

@typing.overload
def layer_normalization_forward(engine: Engine, *, prop_kind: prop_kind | str, src: MemoryDesc, dst: MemoryDesc, stat: MemoryDesc | None=None, scale_shift_data_type: data_type | str=..., epsilon: float, flags: normalization_flags | str=..., attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[True]) -> PrimitiveDesc | None:
    """
    Primitive descriptor of layer_normalization_forward; executes src mean variance scale shift -> dst mean variance
    """

@typing.overload
def lbr_augru_backward(engine: Engine, *, prop_kind: prop_kind | str, direction: rnn_direction | str, src_layer: MemoryDesc, src_iter: MemoryDesc | None=None, attention: MemoryDesc, weights_layer: MemoryDesc, weights_iter: MemoryDesc, bias: MemoryDesc | None=None, dst_layer: MemoryDesc, dst_iter: MemoryDesc | None=None, diff_src_layer: MemoryDesc, diff_src_iter: MemoryDesc | None=None, diff_attention: MemoryDesc, diff_weights_layer: MemoryDesc, diff_weights_iter: MemoryDesc, diff_bias: MemoryDesc | None=None, diff_dst_layer: MemoryDesc, diff_dst_iter: MemoryDesc | None=None, flags: rnn_flags | str=..., hint_fwd_pd: PrimitiveDesc, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[False]=False) -> PrimitiveDesc:
    """
    Primitive descriptor of lbr_augru_backward; executes src_layer src_iter augru_attention weights_layer weights_iter bias dst_layer dst_iter diff_dst_layer diff_dst_iter workspace -> diff_src_layer diff_src_iter diff_augru_attention diff_weights_layer diff_weights_iter diff_bias
    """

@typing.overload
def lbr_augru_backward(engine: Engine, *, prop_kind: prop_kind | str, direction: rnn_direction | str, src_layer: MemoryDesc, src_iter: MemoryDesc | None=None, attention: MemoryDesc, weights_layer: MemoryDesc, weights_iter: MemoryDesc, bias: MemoryDesc | None=None, dst_layer: MemoryDesc, dst_iter: MemoryDesc | None=None, diff_src_layer: MemoryDesc, diff_src_iter: MemoryDesc | None=None, diff_attention: MemoryDesc, diff_weights_layer: MemoryDesc, diff_weights_iter: MemoryDesc, diff_bias: MemoryDesc | None=None, diff_dst_layer: MemoryDesc, diff_dst_iter: MemoryDesc | None=None, flags: rnn_flags | str=..., hint_fwd_pd: PrimitiveDesc, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[True]) -> PrimitiveDesc | None:
    """
    Primitive descriptor of lbr_augru_backward; executes src_layer src_iter augru_attention weights_layer weights_iter bias dst_layer dst_iter diff_dst_layer diff_dst_iter workspace -> diff_src_layer diff_src_iter diff_augru_attention diff_weights_layer diff_weights_iter diff_bias
    """

@typing.overload
def lbr_augru_forward(engine: Engine, *, prop_kind: prop_kind | str, direction: rnn_direction | str, src_layer: MemoryDesc, src_iter: MemoryDesc | None=None, attention: MemoryDesc, weights_layer: MemoryDesc, weights_iter: MemoryDesc, bias: MemoryDesc | None=None, dst_layer: MemoryDesc, dst_iter: MemoryDesc | None=None, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[False]=False) -> PrimitiveDesc:
    """
    Primitive descriptor of lbr_augru_forward; executes src_layer src_iter augru_attention weights_layer weights_iter bias -> dst_layer dst_iter workspace
    """

@typing.overload
def lbr_augru_forward(engine: Engine, *, prop_kind: prop_kind | str, direction: rnn_direction | str, src_layer: MemoryDesc, src_iter: MemoryDesc | None=None, attention: MemoryDesc, weights_layer: MemoryDesc, weights_iter: MemoryDesc, bias: MemoryDesc | None=None, dst_layer: MemoryDesc, dst_iter: MemoryDesc | None=None, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[True]) -> PrimitiveDesc | None:
    """
    Primitive descriptor of lbr_augru_forward; executes src_layer src_iter augru_attention weights_layer weights_iter bias -> dst_layer dst_iter workspace
    """

@typing.overload
def lbr_gru_backward(engine: Engine, *, prop_kind: prop_kind | str, direction: rnn_direction | str, src_layer: MemoryDesc, src_iter: MemoryDesc | None=None, weights_layer: MemoryDesc, weights_iter: MemoryDesc, bias: MemoryDesc | None=None, dst_layer: MemoryDesc, dst_iter: MemoryDesc | None=None, diff_src_layer: MemoryDesc, diff_src_iter: MemoryDesc | None=None, diff_weights_layer: MemoryDesc, diff_weights_iter: MemoryDesc, diff_bias: MemoryDesc | None=None, diff_dst_layer: MemoryDesc, diff_dst_iter: MemoryDesc | None=None, flags: rnn_flags | str=..., hint_fwd_pd: PrimitiveDesc, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[False]=False) -> PrimitiveDesc:
    """
    Primitive descriptor of lbr_gru_backward; executes src_layer src_iter weights_layer weights_iter bias dst_layer dst_iter diff_dst_layer diff_dst_iter workspace -> diff_src_layer diff_src_iter diff_weights_layer diff_weights_iter diff_bias
    """

@typing.overload
def lbr_gru_backward(engine: Engine, *, prop_kind: prop_kind | str, direction: rnn_direction | str, src_layer: MemoryDesc, src_iter: MemoryDesc | None=None, weights_layer: MemoryDesc, weights_iter: MemoryDesc, bias: MemoryDesc | None=None, dst_layer: MemoryDesc, dst_iter: MemoryDesc | None=None, diff_src_layer: MemoryDesc, diff_src_iter: MemoryDesc | None=None, diff_weights_layer: MemoryDesc, diff_weights_iter: MemoryDesc, diff_bias: MemoryDesc | None=None, diff_dst_layer: MemoryDesc, diff_dst_iter: MemoryDesc | None=None, flags: rnn_flags | str=..., hint_fwd_pd: PrimitiveDesc, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[True]) -> PrimitiveDesc | None:
    """
    Primitive descriptor of lbr_gru_backward; executes src_layer src_iter weights_layer weights_iter bias dst_layer dst_iter diff_dst_layer diff_dst_iter workspace -> diff_src_layer diff_src_iter diff_weights_layer diff_weights_iter diff_bias
    """

@typing.overload
def lbr_gru_forward(engine: Engine, *, prop_kind: prop_kind | str, direction: rnn_direction | str, src_layer: MemoryDesc, src_iter: MemoryDesc | None=None, weights_layer: MemoryDesc, weights_iter: MemoryDesc, bias: MemoryDesc | None=None, dst_layer: MemoryDesc, dst_iter: MemoryDesc | None=None, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[False]=False) -> PrimitiveDesc:
    """
    Primitive descriptor of lbr_gru_forward; executes src_layer src_iter weights_layer weights_iter bias -> dst_layer dst_iter workspace
    """

@typing.overload
def lbr_gru_forward(engine: Engine, *, prop_kind: prop_kind | str, direction: rnn_direction | str, src_layer: MemoryDesc, src_iter: MemoryDesc | None=None, weights_layer: MemoryDesc, weights_iter: MemoryDesc, bias: MemoryDesc | None=None, dst_layer: MemoryDesc, dst_iter: MemoryDesc | None=None, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[True]) -> PrimitiveDesc | None:
    """
    Primitive descriptor of lbr_gru_forward; executes src_layer src_iter weights_layer weights_iter bias -> dst_layer dst_iter workspace
    """

@typing.overload
def lrn_backward(engine: Engine, *, algorithm: algorithm | str, diff_src: MemoryDesc, diff_dst: MemoryDesc, src: MemoryDesc, local_size: int, alpha: float, beta: float, k: float, hint_fwd_pd: PrimitiveDesc, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[False]=False) -> PrimitiveDesc:
    """
    Primitive descriptor of lrn_backward; executes src diff_dst workspace -> diff_src
    """

@typing.overload
def lrn_backward(engine: Engine, *, algorithm: algorithm | str, diff_src: MemoryDesc, diff_dst: MemoryDesc, src: MemoryDesc, local_size: int, alpha: float, beta: float, k: float, hint_fwd_pd: PrimitiveDesc, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[True]) -> PrimitiveDesc | None:
    """
    Primitive descriptor of lrn_backward; executes src diff_dst workspace -> diff_src
    """

@typing.overload
def lrn_forward(engine: Engine, *, prop_kind: prop_kind | str, algorithm: algorithm | str, src: MemoryDesc, dst: MemoryDesc, local_size: int, alpha: float, beta: float, k: float, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[False]=False) -> PrimitiveDesc:
    """
    Primitive descriptor of lrn_forward; executes src -> dst workspace
    """

@typing.overload
def lrn_forward(engine: Engine, *, prop_kind: prop_kind | str, algorithm: algorithm | str, src: MemoryDesc, dst: MemoryDesc, local_size: int, alpha: float, beta: float, k: float, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[True]) -> PrimitiveDesc | None:
    """
    Primitive descriptor of lrn_forward; executes src -> dst workspace
    """

@typing.overload
def lstm_backward(engine: Engine, *, prop_kind: prop_kind | str, direction: rnn_direction | str, src_layer: MemoryDesc, src_iter: MemoryDesc | None=None, src_iter_c: MemoryDesc | None=None, weights_layer: MemoryDesc, weights_iter: MemoryDesc, weights_peephole: MemoryDesc | None=None, weights_projection: MemoryDesc | None=None, bias: MemoryDesc | None=None, dst_layer: MemoryDesc, dst_iter: MemoryDesc | None=None, dst_iter_c: MemoryDesc | None=None, diff_src_layer: MemoryDesc, diff_src_iter: MemoryDesc | None=None, diff_src_iter_c: MemoryDesc | None=None, diff_weights_layer: MemoryDesc, diff_weights_iter: MemoryDesc, diff_weights_peephole: MemoryDesc | None=None, diff_weights_projection: MemoryDesc | None=None, diff_bias: MemoryDesc | None=None, diff_dst_layer: MemoryDesc, diff_dst_iter: MemoryDesc | None=None, diff_dst_iter_c: MemoryDesc | None=None, flags: rnn_flags | str=..., hint_fwd_pd: PrimitiveDesc, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[False]=False) -> PrimitiveDesc:
    """
    Primitive descriptor of lstm_backward; executes src_layer src_iter src_iter_c weights_layer weights_iter weights_peephole weights_projection bias dst_layer dst_iter dst_iter_c diff_dst_layer diff_dst_iter diff_dst_iter_c workspace -> diff_src_layer diff_src_iter diff_src_iter_c diff_weights_layer diff_weights_iter diff_weights_peephole diff_weights_projection diff_bias
    """

@typing.overload
def lstm_backward(engine: Engine, *, prop_kind: prop_kind | str, direction: rnn_direction | str, src_layer: MemoryDesc, src_iter: MemoryDesc | None=None, src_iter_c: MemoryDesc | None=None, weights_layer: MemoryDesc, weights_iter: MemoryDesc, weights_peephole: MemoryDesc | None=None, weights_projection: MemoryDesc | None=None, bias: MemoryDesc | None=None, dst_layer: MemoryDesc, dst_iter: MemoryDesc | None=None, dst_iter_c: MemoryDesc | None=None, diff_src_layer: MemoryDesc, diff_src_iter: MemoryDesc | None=None, diff_src_iter_c: MemoryDesc | None=None, diff_weights_layer: MemoryDesc, diff_weights_iter: MemoryDesc, diff_weights_peephole: MemoryDesc | None=None, diff_weights_projection: MemoryDesc | None=None, diff_bias: MemoryDesc | None=None, diff_dst_layer: MemoryDesc, diff_dst_iter: MemoryDesc | None=None, diff_dst_iter_c: MemoryDesc | None=None, flags: rnn_flags | str=..., hint_fwd_pd: PrimitiveDesc, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[True]) -> PrimitiveDesc | None:
    """
    Primitive descriptor of lstm_backward; executes src_layer src_iter src_iter_c weights_layer weights_iter weights_peephole weights_projection bias dst_layer dst_iter dst_iter_c diff_dst_layer diff_dst_iter diff_dst_iter_c workspace -> diff_src_layer diff_src_iter diff_src_iter_c diff_weights_layer diff_weights_iter diff_weights_peephole diff_weights_projection diff_bias
    """

@typing.overload
def lstm_forward(engine: Engine, *, prop_kind: prop_kind | str, direction: rnn_direction | str, src_layer: MemoryDesc, src_iter: MemoryDesc | None=None, src_iter_c: MemoryDesc | None=None, weights_layer: MemoryDesc, weights_iter: MemoryDesc, weights_peephole: MemoryDesc | None=None, weights_projection: MemoryDesc | None=None, bias: MemoryDesc | None=None, dst_layer: MemoryDesc, dst_iter: MemoryDesc | None=None, dst_iter_c: MemoryDesc | None=None, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[False]=False) -> PrimitiveDesc:
    """
    Primitive descriptor of lstm_forward; executes src_layer src_iter src_iter_c weights_layer weights_iter weights_peephole weights_projection bias -> dst_layer dst_iter dst_iter_c workspace
    """

@typing.overload
def lstm_forward(engine: Engine, *, prop_kind: prop_kind | str, direction: rnn_direction | str, src_layer: MemoryDesc, src_iter: MemoryDesc | None=None, src_iter_c: MemoryDesc | None=None, weights_layer: MemoryDesc, weights_iter: MemoryDesc, weights_peephole: MemoryDesc | None=None, weights_projection: MemoryDesc | None=None, bias: MemoryDesc | None=None, dst_layer: MemoryDesc, dst_iter: MemoryDesc | None=None, dst_iter_c: MemoryDesc | None=None, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[True]) -> PrimitiveDesc | None:
    """
    Primitive descriptor of lstm_forward; executes src_layer src_iter src_iter_c weights_layer weights_iter weights_peephole weights_projection bias -> dst_layer dst_iter dst_iter_c workspace
    """

@typing.overload
def matmul(engine: Engine, *, src: MemoryDesc, weights: MemoryDesc, bias: MemoryDesc | None=None, dst: MemoryDesc, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[False]=False) -> PrimitiveDesc:
    """
    Primitive descriptor of matmul; executes src weights bias -> dst
    """

@typing.overload
def matmul(engine: Engine, *, src: MemoryDesc, weights: MemoryDesc, bias: MemoryDesc | None=None, dst: MemoryDesc, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[True]) -> PrimitiveDesc | None:
    """
    Primitive descriptor of matmul; executes src weights bias -> dst
    """

def note(kind: str, name: str, begin: int, end: int, tensors: list[typing.Any]=[], is_done: bool=False) -> None:
    """
    Record something that Python did from ``begin`` to ``end``.
    """

@typing.overload
def pooling_backward(engine: Engine, *, algorithm: algorithm | str, diff_src: MemoryDesc, diff_dst: MemoryDesc, strides: collections.abc.Sequence[int], kernel: collections.abc.Sequence[int], dilation: collections.abc.Sequence[int] | None=None, padding_l: collections.abc.Sequence[int], padding_r: collections.abc.Sequence[int], hint_fwd_pd: PrimitiveDesc, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[False]=False) -> PrimitiveDesc:
    """
    Primitive descriptor of pooling_backward; executes diff_dst workspace -> diff_src
    """

@typing.overload
def pooling_backward(engine: Engine, *, algorithm: algorithm | str, diff_src: MemoryDesc, diff_dst: MemoryDesc, strides: collections.abc.Sequence[int], kernel: collections.abc.Sequence[int], dilation: collections.abc.Sequence[int] | None=None, padding_l: collections.abc.Sequence[int], padding_r: collections.abc.Sequence[int], hint_fwd_pd: PrimitiveDesc, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[True]) -> PrimitiveDesc | None:
    """
    Primitive descriptor of pooling_backward; executes diff_dst workspace -> diff_src
    """

@typing.overload
def pooling_forward(engine: Engine, *, prop_kind: prop_kind | str, algorithm: algorithm | str, src: MemoryDesc, dst: MemoryDesc, strides: collections.abc.Sequence[int], kernel: collections.abc.Sequence[int], dilation: collections.abc.Sequence[int] | None=None, padding_l: collections.abc.Sequence[int], padding_r: collections.abc.Sequence[int], attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[False]=False) -> PrimitiveDesc:
    """
    Primitive descriptor of pooling_forward; executes src -> dst workspace
    """

@typing.overload
def pooling_forward(engine: Engine, *, prop_kind: prop_kind | str, algorithm: algorithm | str, src: MemoryDesc, dst: MemoryDesc, strides: collections.abc.Sequence[int], kernel: collections.abc.Sequence[int], dilation: collections.abc.Sequence[int] | None=None, padding_l: collections.abc.Sequence[int], padding_r: collections.abc.Sequence[int], attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[True]) -> PrimitiveDesc | None:
    """
    Primitive descriptor of pooling_forward; executes src -> dst workspace
    """

@typing.overload
def prelu_backward(engine: Engine, *, src: MemoryDesc, weights: MemoryDesc, diff_src: MemoryDesc, diff_weights: MemoryDesc, diff_dst: MemoryDesc, hint_fwd_pd: PrimitiveDesc, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[False]=False) -> PrimitiveDesc:
    """
    Primitive descriptor of prelu_backward; executes src weights diff_dst -> diff_src diff_weights
    """

@typing.overload
def prelu_backward(engine: Engine, *, src: MemoryDesc, weights: MemoryDesc, diff_src: MemoryDesc, diff_weights: MemoryDesc, diff_dst: MemoryDesc, hint_fwd_pd: PrimitiveDesc, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[True]) -> PrimitiveDesc | None:
    """
    Primitive descriptor of prelu_backward; executes src weights diff_dst -> diff_src diff_weights
    """

@typing.overload
def prelu_forward(engine: Engine, *, prop_kind: prop_kind | str, src: MemoryDesc, weights: MemoryDesc, dst: MemoryDesc, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[False]=False) -> PrimitiveDesc:
    """
    Primitive descriptor of prelu_forward; executes src weights -> dst
    """

@typing.overload
def prelu_forward(engine: Engine, *, prop_kind: prop_kind | str, src: MemoryDesc, weights: MemoryDesc, dst: MemoryDesc, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[True]) -> PrimitiveDesc | None:
    """
    Primitive descriptor of prelu_forward; executes src weights -> dst
    """

@typing.overload
def reduction(engine: Engine, *, algorithm: algorithm | str, src: MemoryDesc, dst: MemoryDesc, p: float=0.0, eps: float=0.0, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[False]=False) -> PrimitiveDesc:
    """
    Primitive descriptor of reduction; executes src -> dst
    """

@typing.overload
def reduction(engine: Engine, *, algorithm: algorithm | str, src: MemoryDesc, dst: MemoryDesc, p: float=0.0, eps: float=0.0, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[True]) -> PrimitiveDesc | None:
    """
    Primitive descriptor of reduction; executes src -> dst
    """

@typing.overload
def reorder(engine: Engine, *, src: MemoryDesc, dst: MemoryDesc, dst_engine: Engine | None=None, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[False]=False) -> PrimitiveDesc:
    """
    Primitive descriptor of reorder; executes src -> dst. ``dst_engine`` may be another engine: the reorder then copies between devices.
    """

@typing.overload
def reorder(engine: Engine, *, src: MemoryDesc, dst: MemoryDesc, dst_engine: Engine | None=None, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[True]) -> PrimitiveDesc | None:
    """
    Primitive descriptor of reorder; executes src -> dst. ``dst_engine`` may be another engine: the reorder then copies between devices.
    """

@typing.overload
def resampling_backward(engine: Engine, *, algorithm: algorithm | str, factors: collections.abc.Sequence[float]=[], diff_src: MemoryDesc, diff_dst: MemoryDesc, hint_fwd_pd: PrimitiveDesc, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[False]=False) -> PrimitiveDesc:
    """
    Primitive descriptor of resampling_backward; executes diff_dst -> diff_src
    """

@typing.overload
def resampling_backward(engine: Engine, *, algorithm: algorithm | str, factors: collections.abc.Sequence[float]=[], diff_src: MemoryDesc, diff_dst: MemoryDesc, hint_fwd_pd: PrimitiveDesc, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[True]) -> PrimitiveDesc | None:
    """
    Primitive descriptor of resampling_backward; executes diff_dst -> diff_src
    """

@typing.overload
def resampling_forward(engine: Engine, *, prop_kind: prop_kind | str, algorithm: algorithm | str, factors: collections.abc.Sequence[float]=[], src: MemoryDesc, dst: MemoryDesc | None=None, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[False]=False) -> PrimitiveDesc:
    """
    Primitive descriptor of resampling_forward; executes src -> dst
    """

@typing.overload
def resampling_forward(engine: Engine, *, prop_kind: prop_kind | str, algorithm: algorithm | str, factors: collections.abc.Sequence[float]=[], src: MemoryDesc, dst: MemoryDesc | None=None, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[True]) -> PrimitiveDesc | None:
    """
    Primitive descriptor of resampling_forward; executes src -> dst
    """

def scratchpad_info() -> dict[str, typing.Any]:
    """
    The scratchpad buffers of the process: their number, their bytes, and how many are in use.
    """

def set_compiled_partition_cache_capacity(capacity: int) -> None:
    """
    Number of compiled partitions that oneDNN keeps; 0 keeps none.
    """

def set_constant_tensor_cache_capacity(engine_kind: typing.Any, megabytes: int) -> None:
    """
    Memory for what oneDNN derives from constant tensors; 0 disables the cache. Its keys are the addresses of the constants, whose memory must not be written or freed meanwhile.
    """

def set_cpu_isa_hints(isa_hints: cpu_isa_hints | str) -> None:
    """
    Hint such as prefer_ymm; only before oneDNN's first use.
    """

def set_default_fpmath_mode(mode: fpmath_mode | str) -> None:
    """
    Math mode of PrimitiveAttr objects made from now on.
    """

def set_graph_dump_mode(modes: int) -> None:
    """
    Write graphs or partitions as JSON into the current folder.
    """

def set_jit_dump(enable: bool) -> None:
    """
    Write generated code to dnnl_dump_*.bin in the current folder.
    """

def set_jit_profiling_flags(flags: int) -> None:
    ...

def set_jit_profiling_jitdumpdir(dir: str) -> None:
    ...

def set_max_cpu_isa(isa: cpu_isa | str) -> None:
    """
    Limit the instruction set; only before oneDNN's first use.
    """

def set_primitive_cache_capacity(capacity: int) -> None:
    """
    Number of primitives that oneDNN keeps; 0 turns the cache off.
    """

def set_verbose(level: int) -> None:
    """
    0 quiet, 1 executions, 2 creations too; printed on the process's standard output.
    """

@typing.overload
def shuffle_backward(engine: Engine, *, diff_src: MemoryDesc, diff_dst: MemoryDesc, axis: int, group_size: int, hint_fwd_pd: PrimitiveDesc, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[False]=False) -> PrimitiveDesc:
    """
    Primitive descriptor of shuffle_backward; executes diff_dst -> diff_src
    """

@typing.overload
def shuffle_backward(engine: Engine, *, diff_src: MemoryDesc, diff_dst: MemoryDesc, axis: int, group_size: int, hint_fwd_pd: PrimitiveDesc, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[True]) -> PrimitiveDesc | None:
    """
    Primitive descriptor of shuffle_backward; executes diff_dst -> diff_src
    """

@typing.overload
def shuffle_forward(engine: Engine, *, prop_kind: prop_kind | str, src: MemoryDesc, dst: MemoryDesc, axis: int, group_size: int, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[False]=False) -> PrimitiveDesc:
    """
    Primitive descriptor of shuffle_forward; executes src -> dst
    """

@typing.overload
def shuffle_forward(engine: Engine, *, prop_kind: prop_kind | str, src: MemoryDesc, dst: MemoryDesc, axis: int, group_size: int, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[True]) -> PrimitiveDesc | None:
    """
    Primitive descriptor of shuffle_forward; executes src -> dst
    """

@typing.overload
def softmax_backward(engine: Engine, *, algorithm: algorithm | str, diff_src: MemoryDesc, diff_dst: MemoryDesc, dst: MemoryDesc, axis: int, hint_fwd_pd: PrimitiveDesc, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[False]=False) -> PrimitiveDesc:
    """
    Primitive descriptor of softmax_backward; executes dst diff_dst -> diff_src
    """

@typing.overload
def softmax_backward(engine: Engine, *, algorithm: algorithm | str, diff_src: MemoryDesc, diff_dst: MemoryDesc, dst: MemoryDesc, axis: int, hint_fwd_pd: PrimitiveDesc, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[True]) -> PrimitiveDesc | None:
    """
    Primitive descriptor of softmax_backward; executes dst diff_dst -> diff_src
    """

@typing.overload
def softmax_forward(engine: Engine, *, prop_kind: prop_kind | str, algorithm: algorithm | str, src: MemoryDesc, dst: MemoryDesc, axis: int, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[False]=False) -> PrimitiveDesc:
    """
    Primitive descriptor of softmax_forward; executes src -> dst
    """

@typing.overload
def softmax_forward(engine: Engine, *, prop_kind: prop_kind | str, algorithm: algorithm | str, src: MemoryDesc, dst: MemoryDesc, axis: int, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[True]) -> PrimitiveDesc | None:
    """
    Primitive descriptor of softmax_forward; executes src -> dst
    """

def submit_all(bound: collections.abc.Sequence) -> typing.Any:
    """
    Submit programs that were bound on one stream, in order, as one call.
    """

@typing.overload
def sum(engine: Engine, *, dst: MemoryDesc | None=None, scales: collections.abc.Sequence[float], srcs: collections.abc.Sequence[MemoryDesc], attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[False]=False) -> PrimitiveDesc:
    """
    Primitive descriptor of sum; executes multiple_src -> dst
    """

@typing.overload
def sum(engine: Engine, *, dst: MemoryDesc | None=None, scales: collections.abc.Sequence[float], srcs: collections.abc.Sequence[MemoryDesc], attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[True]) -> PrimitiveDesc | None:
    """
    Primitive descriptor of sum; executes multiple_src -> dst
    """

def use_huge_pages(queue: typing.Any, memory: typing.Any, is_fresh: bool) -> None:
    """
    Request huge pages for a dpctl.memory object of a CPU; moves pages already written.
    """

@typing.overload
def vanilla_rnn_backward(engine: Engine, *, prop_kind: prop_kind | str, activation: algorithm | str, direction: rnn_direction | str, src_layer: MemoryDesc, src_iter: MemoryDesc | None=None, weights_layer: MemoryDesc, weights_iter: MemoryDesc, bias: MemoryDesc | None=None, dst_layer: MemoryDesc, dst_iter: MemoryDesc | None=None, diff_src_layer: MemoryDesc, diff_src_iter: MemoryDesc | None=None, diff_weights_layer: MemoryDesc, diff_weights_iter: MemoryDesc, diff_bias: MemoryDesc | None=None, diff_dst_layer: MemoryDesc, diff_dst_iter: MemoryDesc | None=None, flags: rnn_flags | str=..., alpha: float=0.0, beta: float=0.0, hint_fwd_pd: PrimitiveDesc, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[False]=False) -> PrimitiveDesc:
    """
    Primitive descriptor of vanilla_rnn_backward; executes src_layer src_iter weights_layer weights_iter bias dst_layer dst_iter diff_dst_layer diff_dst_iter workspace -> diff_src_layer diff_src_iter diff_weights_layer diff_weights_iter diff_bias
    """

@typing.overload
def vanilla_rnn_backward(engine: Engine, *, prop_kind: prop_kind | str, activation: algorithm | str, direction: rnn_direction | str, src_layer: MemoryDesc, src_iter: MemoryDesc | None=None, weights_layer: MemoryDesc, weights_iter: MemoryDesc, bias: MemoryDesc | None=None, dst_layer: MemoryDesc, dst_iter: MemoryDesc | None=None, diff_src_layer: MemoryDesc, diff_src_iter: MemoryDesc | None=None, diff_weights_layer: MemoryDesc, diff_weights_iter: MemoryDesc, diff_bias: MemoryDesc | None=None, diff_dst_layer: MemoryDesc, diff_dst_iter: MemoryDesc | None=None, flags: rnn_flags | str=..., alpha: float=0.0, beta: float=0.0, hint_fwd_pd: PrimitiveDesc, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[True]) -> PrimitiveDesc | None:
    """
    Primitive descriptor of vanilla_rnn_backward; executes src_layer src_iter weights_layer weights_iter bias dst_layer dst_iter diff_dst_layer diff_dst_iter workspace -> diff_src_layer diff_src_iter diff_weights_layer diff_weights_iter diff_bias
    """

@typing.overload
def vanilla_rnn_forward(engine: Engine, *, prop_kind: prop_kind | str, activation: algorithm | str, direction: rnn_direction | str, src_layer: MemoryDesc, src_iter: MemoryDesc | None=None, weights_layer: MemoryDesc, weights_iter: MemoryDesc, bias: MemoryDesc | None=None, dst_layer: MemoryDesc, dst_iter: MemoryDesc | None=None, alpha: float=0.0, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[False]=False) -> PrimitiveDesc:
    """
    Primitive descriptor of vanilla_rnn_forward; executes src_layer src_iter weights_layer weights_iter bias -> dst_layer dst_iter workspace
    """

@typing.overload
def vanilla_rnn_forward(engine: Engine, *, prop_kind: prop_kind | str, activation: algorithm | str, direction: rnn_direction | str, src_layer: MemoryDesc, src_iter: MemoryDesc | None=None, weights_layer: MemoryDesc, weights_iter: MemoryDesc, bias: MemoryDesc | None=None, dst_layer: MemoryDesc, dst_iter: MemoryDesc | None=None, alpha: float=0.0, attr: PrimitiveAttr | None=None, allow_empty: typing.Literal[True]) -> PrimitiveDesc | None:
    """
    Primitive descriptor of vanilla_rnn_forward; executes src_layer src_iter weights_layer weights_iter bias -> dst_layer dst_iter workspace
    """

def version() -> dict[str, typing.Any]:
    """
    Version, commit and runtimes of the oneDNN library in use.
    """
ARGUMENTS: dict[str, int]
ROWS: dict[str, tuple[str, str]]
RUNTIME_DIM_VAL: int = -9223372036854775808
RUNTIME_F32_VAL: float
RUNTIME_S32_VAL: int = -2147483648
RUNTIME_SIZE_VAL: int = 9223372036854775808
_interface: int = 21
