# SPDX-License-Identifier: Apache-2.0
# Written by tests/helpers/stub_writing.py.

import enum

from sycl_dnn._core import ARGUMENTS as ARGUMENTS
from sycl_dnn._core import RUNTIME_DIM_VAL as RUNTIME_DIM_VAL
from sycl_dnn._core import RUNTIME_F32_VAL as RUNTIME_F32_VAL
from sycl_dnn._core import RUNTIME_S32_VAL as RUNTIME_S32_VAL
from sycl_dnn._core import RUNTIME_SIZE_VAL as RUNTIME_SIZE_VAL
from sycl_dnn._core import Engine as Engine
from sycl_dnn._core import MemoryDesc as MemoryDesc
from sycl_dnn._core import PostOps as PostOps
from sycl_dnn._core import Primitive as Primitive
from sycl_dnn._core import PrimitiveAttr as PrimitiveAttr
from sycl_dnn._core import PrimitiveDesc as PrimitiveDesc
from sycl_dnn._core import Stream as Stream
from sycl_dnn._core import accumulation_mode as accumulation_mode
from sycl_dnn._core import algorithm as algorithm
from sycl_dnn._core import argument_id as argument_id
from sycl_dnn._core import augru_backward as augru_backward
from sycl_dnn._core import augru_forward as augru_forward
from sycl_dnn._core import batch_normalization_backward as batch_normalization_backward
from sycl_dnn._core import batch_normalization_forward as batch_normalization_forward
from sycl_dnn._core import binary as binary
from sycl_dnn._core import clear_graph_pool as clear_graph_pool
from sycl_dnn._core import clear_scratchpads as clear_scratchpads
from sycl_dnn._core import concat as concat
from sycl_dnn._core import convolution_backward_data as convolution_backward_data
from sycl_dnn._core import convolution_backward_weights as convolution_backward_weights
from sycl_dnn._core import convolution_forward as convolution_forward
from sycl_dnn._core import cpu_isa as cpu_isa
from sycl_dnn._core import cpu_isa_hints as cpu_isa_hints
from sycl_dnn._core import data_type as data_type
from sycl_dnn._core import deconvolution_backward_data as deconvolution_backward_data
from sycl_dnn._core import deconvolution_backward_weights as deconvolution_backward_weights
from sycl_dnn._core import deconvolution_forward as deconvolution_forward
from sycl_dnn._core import eltwise_backward as eltwise_backward
from sycl_dnn._core import eltwise_forward as eltwise_forward
from sycl_dnn._core import engine_kind as engine_kind
from sycl_dnn._core import format_kind as format_kind
from sycl_dnn._core import format_tags as format_tags
from sycl_dnn._core import fpmath_mode as fpmath_mode
from sycl_dnn._core import (
    get_compiled_partition_cache_capacity as get_compiled_partition_cache_capacity,
)
from sycl_dnn._core import get_constant_tensor_cache_capacity as get_constant_tensor_cache_capacity
from sycl_dnn._core import get_cpu_isa_hints as get_cpu_isa_hints
from sycl_dnn._core import get_default_fpmath_mode as get_default_fpmath_mode
from sycl_dnn._core import get_effective_cpu_isa as get_effective_cpu_isa
from sycl_dnn._core import get_primitive_cache_capacity as get_primitive_cache_capacity
from sycl_dnn._core import graph_dump_mode as graph_dump_mode
from sycl_dnn._core import graph_pool_info as graph_pool_info
from sycl_dnn._core import graph_status as graph_status
from sycl_dnn._core import group_normalization_backward as group_normalization_backward
from sycl_dnn._core import group_normalization_forward as group_normalization_forward
from sycl_dnn._core import gru_backward as gru_backward
from sycl_dnn._core import gru_forward as gru_forward
from sycl_dnn._core import host_lane as host_lane
from sycl_dnn._core import inner_product_backward_data as inner_product_backward_data
from sycl_dnn._core import inner_product_backward_weights as inner_product_backward_weights
from sycl_dnn._core import inner_product_forward as inner_product_forward
from sycl_dnn._core import is_recording as is_recording
from sycl_dnn._core import is_recording_waits as is_recording_waits
from sycl_dnn._core import layer_normalization_backward as layer_normalization_backward
from sycl_dnn._core import layer_normalization_forward as layer_normalization_forward
from sycl_dnn._core import layout_type as layout_type
from sycl_dnn._core import lbr_augru_backward as lbr_augru_backward
from sycl_dnn._core import lbr_augru_forward as lbr_augru_forward
from sycl_dnn._core import lbr_gru_backward as lbr_gru_backward
from sycl_dnn._core import lbr_gru_forward as lbr_gru_forward
from sycl_dnn._core import logical_data_type as logical_data_type
from sycl_dnn._core import lrn_backward as lrn_backward
from sycl_dnn._core import lrn_forward as lrn_forward
from sycl_dnn._core import lstm_backward as lstm_backward
from sycl_dnn._core import lstm_forward as lstm_forward
from sycl_dnn._core import matmul as matmul
from sycl_dnn._core import normalization_flags as normalization_flags
from sycl_dnn._core import note as note
from sycl_dnn._core import op_attr as op_attr
from sycl_dnn._core import op_kind as op_kind
from sycl_dnn._core import partition_policy as partition_policy
from sycl_dnn._core import pooling_backward as pooling_backward
from sycl_dnn._core import pooling_forward as pooling_forward
from sycl_dnn._core import prelu_backward as prelu_backward
from sycl_dnn._core import prelu_forward as prelu_forward
from sycl_dnn._core import primitive_kind as primitive_kind
from sycl_dnn._core import prop_kind as prop_kind
from sycl_dnn._core import property_type as property_type
from sycl_dnn._core import quantization_mode as quantization_mode
from sycl_dnn._core import query as query
from sycl_dnn._core import reduction as reduction
from sycl_dnn._core import reorder as reorder
from sycl_dnn._core import resampling_backward as resampling_backward
from sycl_dnn._core import resampling_forward as resampling_forward
from sycl_dnn._core import rnn_direction as rnn_direction
from sycl_dnn._core import rnn_flags as rnn_flags
from sycl_dnn._core import rounding_mode as rounding_mode
from sycl_dnn._core import scratchpad_info as scratchpad_info
from sycl_dnn._core import scratchpad_mode as scratchpad_mode
from sycl_dnn._core import (
    set_compiled_partition_cache_capacity as set_compiled_partition_cache_capacity,
)
from sycl_dnn._core import set_constant_tensor_cache_capacity as set_constant_tensor_cache_capacity
from sycl_dnn._core import set_cpu_isa_hints as set_cpu_isa_hints
from sycl_dnn._core import set_default_fpmath_mode as set_default_fpmath_mode
from sycl_dnn._core import set_graph_dump_mode as set_graph_dump_mode
from sycl_dnn._core import set_jit_dump as set_jit_dump
from sycl_dnn._core import set_jit_profiling_flags as set_jit_profiling_flags
from sycl_dnn._core import set_jit_profiling_jitdumpdir as set_jit_profiling_jitdumpdir
from sycl_dnn._core import set_max_cpu_isa as set_max_cpu_isa
from sycl_dnn._core import set_primitive_cache_capacity as set_primitive_cache_capacity
from sycl_dnn._core import set_verbose as set_verbose
from sycl_dnn._core import shuffle_backward as shuffle_backward
from sycl_dnn._core import shuffle_forward as shuffle_forward
from sycl_dnn._core import softmax_backward as softmax_backward
from sycl_dnn._core import softmax_forward as softmax_forward
from sycl_dnn._core import sparse_encoding as sparse_encoding
from sycl_dnn._core import status as status
from sycl_dnn._core import submit_all as submit_all
from sycl_dnn._core import sum as sum
from sycl_dnn._core import use_huge_pages as use_huge_pages
from sycl_dnn._core import vanilla_rnn_backward as vanilla_rnn_backward
from sycl_dnn._core import vanilla_rnn_forward as vanilla_rnn_forward
from sycl_dnn._core import version as version
from sycl_dnn.onednn.arrays import desc_of_array as desc_of_array
from sycl_dnn.onednn.memory import Memory as Memory

__all__ = [
    "ARGUMENTS",
    "Engine",
    "Memory",
    "MemoryDesc",
    "PRIMITIVES",
    "PostOps",
    "Primitive",
    "PrimitiveAttr",
    "PrimitiveDesc",
    "RUNTIME_DIM_VAL",
    "RUNTIME_F32_VAL",
    "RUNTIME_S32_VAL",
    "RUNTIME_SIZE_VAL",
    "Stream",
    "accumulation_mode",
    "algorithm",
    "arg",
    "argument_id",
    "augru_backward",
    "augru_forward",
    "batch_normalization_backward",
    "batch_normalization_forward",
    "binary",
    "clear_graph_pool",
    "clear_scratchpads",
    "concat",
    "convolution_backward_data",
    "convolution_backward_weights",
    "convolution_forward",
    "cpu_isa",
    "cpu_isa_hints",
    "data_type",
    "deconvolution_backward_data",
    "deconvolution_backward_weights",
    "deconvolution_forward",
    "desc_of_array",
    "eltwise_backward",
    "eltwise_forward",
    "engine_kind",
    "format_kind",
    "format_tag",
    "format_tags",
    "fpmath_mode",
    "get_compiled_partition_cache_capacity",
    "get_constant_tensor_cache_capacity",
    "get_cpu_isa_hints",
    "get_default_fpmath_mode",
    "get_effective_cpu_isa",
    "get_primitive_cache_capacity",
    "graph_dump_mode",
    "graph_pool_info",
    "graph_status",
    "group_normalization_backward",
    "group_normalization_forward",
    "gru_backward",
    "gru_forward",
    "host_lane",
    "inner_product_backward_data",
    "inner_product_backward_weights",
    "inner_product_forward",
    "is_recording",
    "is_recording_waits",
    "layer_normalization_backward",
    "layer_normalization_forward",
    "layout_type",
    "lbr_augru_backward",
    "lbr_augru_forward",
    "lbr_gru_backward",
    "lbr_gru_forward",
    "logical_data_type",
    "lrn_backward",
    "lrn_forward",
    "lstm_backward",
    "lstm_forward",
    "matmul",
    "normalization_flags",
    "note",
    "op_attr",
    "op_kind",
    "partition_policy",
    "pooling_backward",
    "pooling_forward",
    "prelu_backward",
    "prelu_forward",
    "primitive_kind",
    "prop_kind",
    "property_type",
    "quantization_mode",
    "query",
    "reduction",
    "reorder",
    "resampling_backward",
    "resampling_forward",
    "rnn_direction",
    "rnn_flags",
    "rounding_mode",
    "scratchpad_info",
    "scratchpad_mode",
    "set_compiled_partition_cache_capacity",
    "set_constant_tensor_cache_capacity",
    "set_cpu_isa_hints",
    "set_default_fpmath_mode",
    "set_graph_dump_mode",
    "set_jit_dump",
    "set_jit_profiling_flags",
    "set_jit_profiling_jitdumpdir",
    "set_max_cpu_isa",
    "set_primitive_cache_capacity",
    "set_verbose",
    "shuffle_backward",
    "shuffle_forward",
    "softmax_backward",
    "softmax_forward",
    "sparse_encoding",
    "status",
    "submit_all",
    "sum",
    "use_huge_pages",
    "vanilla_rnn_backward",
    "vanilla_rnn_forward",
    "version",
]
PRIMITIVES: tuple[str, ...]

class arg(enum.IntEnum):
    attr_dropout_mask = 509
    attr_dropout_offset = 507
    attr_dropout_probability = 510
    attr_dropout_seed = 511
    attr_rounding_seed = 508
    augru_attention = 4
    bias = 41
    diff_augru_attention = 132
    diff_bias = 169
    diff_dst = 145
    diff_dst_0 = 145
    diff_dst_1 = 146
    diff_dst_2 = 147
    diff_dst_iter = 146
    diff_dst_iter_c = 147
    diff_dst_layer = 145
    diff_scale = 255
    diff_shift = 256
    diff_src = 129
    diff_src_0 = 129
    diff_src_1 = 130
    diff_src_2 = 131
    diff_src_3 = 132
    diff_src_iter = 130
    diff_src_iter_c = 131
    diff_src_layer = 129
    diff_weights = 161
    diff_weights_0 = 161
    diff_weights_1 = 162
    diff_weights_2 = 163
    diff_weights_3 = 164
    diff_weights_iter = 162
    diff_weights_layer = 161
    diff_weights_peephole = 163
    diff_weights_projection = 164
    dst = 17
    dst_0 = 17
    dst_1 = 18
    dst_2 = 19
    dst_iter = 18
    dst_iter_c = 19
    dst_layer = 17
    mean = 49
    scale = 51
    scratchpad = 80
    shift = 52
    src = 1
    src_0 = 1
    src_1 = 2
    src_2 = 3
    src_3 = 4
    src_iter = 2
    src_iter_c = 3
    src_layer = 1
    to = 17
    variance = 50
    weights = 33
    weights_0 = 33
    weights_1 = 34
    weights_2 = 35
    weights_3 = 36
    weights_iter = 34
    weights_layer = 33
    weights_peephole = 35
    weights_projection = 36
    workspace = 64

class format_tag(enum.IntEnum):
    undef = 0
    any = 1
    a = 2
    ab = 3
    ba = 14
    abc = 4
    acb = 15
    bac = 16
    bca = 17
    cba = 19
    abcd = 5
    abdc = 20
    acbd = 21
    acdb = 22
    adbc = 23
    bacd = 25
    bcda = 26
    cdba = 28
    dcab = 29
    abcde = 6
    abdec = 31
    acbde = 32
    acdeb = 33
    bacde = 35
    bcdea = 36
    cdeba = 38
    decab = 39
    abced = 30
    abcdef = 7
    abdfce = 42
    acbdef = 43
    abdefc = 41
    defcab = 45
    abcdfe = 40
    abcdefg = 8
    abcdegf = 46
    abcdefgh = 9
    abcdefhg = 47
    abcdefghi = 10
    abcdefgih = 48
    abcdefghij = 11
    abcdefghji = 49
    abcdefghijk = 12
    abcdefghikj = 50
    abcdefghijkl = 13
    abcdefghijlk = 51
    x = 2
    nc = 3
    cn = 14
    tn = 3
    nt = 14
    ncw = 4
    nwc = 15
    nchw = 5
    nhwc = 22
    chwn = 26
    ncdhw = 6
    ndhwc = 33
    oi = 3
    io = 14
    oiw = 4
    owi = 15
    wio = 19
    iwo = 17
    oihw = 5
    hwio = 28
    ohwi = 22
    ihwo = 26
    iohw = 25
    oidhw = 6
    dhwio = 38
    odhwi = 33
    iodhw = 35
    idhwo = 36
    goiw = 5
    gowi = 20
    wigo = 29
    gohwi = 31
    goihw = 6
    hwigo = 39
    giohw = 32
    goidhw = 7
    giodhw = 43
    godhwi = 41
    dhwigo = 45
    tnc = 4
    ntc = 16
    ldnc = 5
    ldigo = 6
    ldgoi = 31
    ldio = 5
    ldoi = 20
    ldgo = 5
    AB16b16a = 237
    AB16b32a = 238
    AB16b48a = 758
    AB16b64a = 239
    AB8b16a2b = 240
    AB8b32a2b = 241
    AB8b64a2b = 242
    AB4b16a4b = 243
    AB4b32a4b = 244
    AB4b64a4b = 245
    AB16b16a4b = 246
    AB16b32a4b = 342
    AB16b48a4b = 343
    AB16b64a4b = 344
    AB16b16a2b = 345
    AB16b32a2b = 346
    AB16b48a2b = 347
    AB16b64a2b = 348
    Ab4a = 821
    Ab8a = 822
    Ab32a = 838
    Abc16a = 52
    ABc16a16b = 53
    ABc4a4b = 55
    aBc16b = 56
    aBc32b = 59
    ABc16b16a = 57
    AcB16b16a = 776
    ABc16b32a = 231
    AcB16b32a = 773
    ABc16b48a = 759
    AcB16b48a = 770
    ABc16b64a = 232
    AcB16b64a = 767
    Abc4a = 58
    aBc4b = 60
    ABc4b16a4b = 61
    AcB4b16a4b = 815
    ABc4b32a4b = 233
    AcB4b32a4b = 809
    ABc4b64a4b = 234
    AcB4b64a4b = 806
    ABc2b8a4b = 62
    ABc16a16b2a = 275
    ABc16b16a4b = 63
    ABc16b32a4b = 349
    ABc16b48a4b = 350
    ABc16b64a4b = 351
    ABc16b16a2b = 64
    ABc16b32a2b = 352
    ABc16b48a2b = 353
    ABc16b64a2b = 354
    ABc4b4a = 65
    ABc8a16b2a = 66
    ABc8a8b = 67
    ABc8a4b = 68
    aBc8b = 69
    ABc8b16a2b = 70
    AcB8b16a2b = 800
    ABc8b32a2b = 235
    AcB8b32a2b = 794
    ABc8b64a2b = 236
    AcB8b64a2b = 791
    ABc8b8a = 72
    AcB8b8a = 788
    Abcd8a = 74
    Abcd16a = 73
    Abcd32a = 76
    ABcd16a16b = 75
    aBcd16b = 78
    aBcd32b = 83
    ABcd16b16a = 79
    AcdB16b16a = 777
    ABcd16b32a = 247
    AcdB16b32a = 774
    ABcd16b48a = 760
    AcdB16b48a = 771
    ABcd16b64a = 248
    AcdB16b64a = 768
    aBCd16b16c = 80
    aBCd16c16b = 81
    Abcd4a = 82
    aBcd4b = 84
    ABcd4b16a4b = 85
    AcdB4b16a4b = 816
    ABcd4b32a4b = 249
    AcdB4b32a4b = 810
    ABcd4b64a4b = 250
    AcdB4b64a4b = 807
    ABcd2b8a4b = 99
    ABcd4b4a = 88
    ABcd4a4b = 89
    aBCd4c16b4c = 92
    aBCd2c8b4c = 93
    ABcd16a16b2a = 274
    ABcd16b16a4b = 86
    ABcd16b32a4b = 355
    ABcd16b48a4b = 356
    ABcd16b64a4b = 357
    ABcd16b16a2b = 87
    ABcd16b32a2b = 358
    ABcd16b48a2b = 359
    ABcd16b64a2b = 360
    aBCd16b16c2b = 276
    aBCd16c16b4c = 94
    aBCd16c16b2c = 95
    aBCd4c4b = 96
    aBCd4b4c = 97
    ABcd8a16b2a = 98
    ABcd8a8b = 100
    ABcd8a4b = 101
    ABcd8a2b = 389
    aBcd8b = 102
    ABcd8b16a2b = 104
    AcdB8b16a2b = 801
    ABcd8b32a2b = 251
    AcdB8b32a2b = 795
    ABcd8b64a2b = 252
    AcdB8b64a2b = 792
    aBCd8b16c2b = 105
    ABcd8b8a = 107
    AcdB8b8a = 789
    aBCd8b8c = 108
    aBCd8b4c = 109
    aBCd8c16b2c = 110
    aBCd8c8b = 113
    Abcde16a = 114
    Abcde32a = 115
    ABcde16a16b = 116
    aBcde16b = 121
    aBcde32b = 127
    ABcde16b16a = 122
    AcdeB16b16a = 778
    ABcde16b32a = 257
    AcdeB16b32a = 775
    ABcde16b48a = 761
    AcdeB16b48a = 772
    ABcde16b64a = 258
    AcdeB16b64a = 769
    aBCde16b16c = 123
    aBCde16c16b = 124
    aBCde2c8b4c = 125
    Abcde4a = 126
    aBcde4b = 128
    ABcde4b4a = 129
    ABcde4a4b = 130
    aBCde4b4c = 131
    aBCde4c16b4c = 134
    aBCde16b16c2b = 277
    aBCde16c16b4c = 135
    aBCde16c16b2c = 136
    aBCdef16c16b2c = 262
    aBCde4c4b = 137
    Abcde8a = 138
    ABcde8a8b = 139
    ABcde8a4b = 140
    aBcde8b = 142
    ABcde8b16a2b = 143
    AcdeB8b16a2b = 802
    ABcde8b32a2b = 259
    AcdeB8b32a2b = 796
    ABcde8b64a2b = 260
    AcdeB8b64a2b = 793
    ABcde4b16a4b = 119
    AcdeB4b16a4b = 817
    ABcde4b32a4b = 253
    AcdeB4b32a4b = 811
    ABcde4b64a4b = 254
    AcdeB4b64a4b = 808
    ABcde16b16a4b = 255
    ABcde16b32a4b = 361
    ABcde16b48a4b = 362
    ABcde16b64a4b = 363
    ABcde16b16a2b = 256
    ABcde16b32a2b = 364
    ABcde16b48a2b = 365
    ABcde16b64a2b = 366
    ABcde2b8a4b = 120
    aBCde8b16c2b = 144
    ABcde8b8a = 147
    AcdeB8b8a = 790
    aBCde8b8c = 149
    aBCde8b4c = 150
    ABcd4a8b8a4b = 152
    ABcd2a8b8a2b = 157
    aBCde4b8c8b4c = 159
    aBCde2b8c8b2c = 160
    aBCde8c16b2c = 161
    aBCde8c8b = 162
    aBcdef16b = 164
    aBCdef16b16c = 165
    aBCdef16c16b = 166
    aBcdef4b = 171
    aBCdef2c8b4c = 168
    aBCdef4c4b = 172
    aBCdef4b4c = 173
    aBCdef8b8c = 176
    aBCdef8b4c = 177
    aBCdef8c16b2c = 178
    aBCdef4c16b4c = 167
    aBCdef8c8b = 182
    aBdc16b = 183
    aBdc4b = 186
    aBdc8b = 187
    aBdC8b2c = 678
    aBdC8b4c = 719
    aBdec16b = 188
    aBdec4b = 192
    aBdec8b = 193
    aBdeC8b2c = 679
    aBdeC8b4c = 720
    aBdefc16b = 194
    aCBdef16c16b = 196
    aCBdef8b8c = 844
    aCBdef16b16c = 230
    aBdefc4b = 197
    aBdefc8b = 198
    aBdefC8b2c = 680
    aBdefC8b4c = 721
    Acb16a = 202
    Acb4a = 205
    Acb8a = 206
    AcB8a2b = 675
    AcB8a4b = 716
    aCBd8b8c = 839
    aCBd16b16c = 207
    aCBd16c16b = 208
    aCBde8b8c = 840
    aCBde16b16c = 209
    aCBde16c16b = 210
    Acdb16a = 211
    Acdb4a = 215
    Acdb8a = 216
    AcdB8a2b = 676
    AcdB8a4b = 717
    Acdeb16a = 217
    Acdeb4a = 219
    Acdeb8a = 220
    AcdeB8a2b = 677
    AcdeB8a4b = 718
    BAc8a8b = 841
    BAc16a16b = 222
    BAc16b16a = 223
    BAcd8a8b = 842
    BAcd16a16b = 224
    BAcd16b16a = 225
    ABcd32a32b = 77
    BAcde16b16a = 141
    BAcde8a8b = 843
    BAcde16a16b = 229
    aBdec32b = 191
    Abcdef16a = 199
    Abcdef32a = 200
    Acdb32a = 214
    aBCd2b4c2b = 118
    aBCde2b4c2b = 163
    aBCdef2b4c2b = 170
    aBCd2c4b2c = 90
    aBCde2c4b2c = 132
    aBCdef2c4b2c = 174
    aBCd4b8c2b = 91
    aBCde4b8c2b = 133
    aBCdef4b8c2b = 175
    aBCd4c8b2c = 103
    aBCde4c8b2c = 145
    aBCdef4c8b2c = 169
    AB32a32b8a4b = 263
    AB32a32b8a2b = 265
    AB8a4b = 264
    AB8a2b = 266
    abDc16d = 666
    abDc32d = 267
    abDC16d4c = 846
    abDC32d4c = 268
    abCd32c = 378
    abdEc16e = 667
    abdEc32e = 269
    abdEC16e4c = 845
    abdEC32e2c = 270
    abdEC32e4c = 271
    abdCe16c = 668
    abdCe32c = 379
    abdCE32c2e = 380
    aBCdef16c16b4c = 261
    aBdC16b4c = 185
    aBdeC16b4c = 190
    AcB16a4b = 204
    AcdB16a2b = 212
    aBdefC16b4c = 272
    AcdeB16a4b = 273
    Acb32a = 278
    AcB32a2b = 279
    AcB32a4b = 280
    Acb48a = 281
    AcB48a2b = 282
    AcB48a4b = 283
    Acb64a = 284
    AcB64a2b = 285
    AcB64a4b = 286
    cBa2b = 287
    cBa4b = 288
    aBdc32b = 289
    aBdC32b2c = 290
    aBdC32b4c = 291
    aBdc48b = 292
    aBdC48b2c = 293
    aBdC48b4c = 294
    aBdc64b = 295
    aBdC64b2c = 296
    aBdC64b4c = 297
    adcb = 24
    adCb2c = 298
    adCb4c = 299
    AcdB32a2b = 300
    AcdB32a4b = 301
    Acdb48a = 302
    AcdB48a2b = 303
    AcdB48a4b = 304
    Acdb64a = 305
    AcdB64a2b = 306
    AcdB64a4b = 307
    cdBa2b = 308
    cdBa4b = 309
    aBdeC32b2c = 310
    aBdeC32b4c = 311
    aBdec48b = 312
    aBdeC48b2c = 313
    aBdeC48b4c = 314
    aBdec64b = 315
    aBdeC64b2c = 316
    aBdeC64b4c = 317
    adecb = 34
    adeCb2c = 318
    adeCb4c = 319
    Acdeb32a = 320
    AcdeB32a2b = 321
    AcdeB32a4b = 322
    Acdeb48a = 323
    AcdeB48a2b = 324
    AcdeB48a4b = 325
    Acdeb64a = 326
    AcdeB64a2b = 327
    AcdeB64a4b = 328
    cdeBa2b = 329
    cdeBa4b = 330
    aBdefc32b = 331
    aBdefC32b2c = 332
    aBdefC32b4c = 333
    aBdefc48b = 334
    aBdefC48b2c = 335
    aBdefC48b4c = 336
    aBdefc64b = 337
    aBdefC64b2c = 338
    aBdefC64b4c = 339
    adefcb = 44
    adefCb2c = 340
    adefCb4c = 341
    ABc32a32b = 54
    BAc8a16b2a = 71
    BAcd8a16b2a = 106
    ABcde8a16b2a = 111
    aCBd8b16c2b = 112
    BAcde8a16b2a = 117
    aCBde8b16c2b = 146
    ABcde32a32b = 148
    ABc4a8b8a4b = 151
    ABcde4a8b8a4b = 153
    BAc4b8a8b4a = 154
    BAcd4b8a8b4a = 155
    BAcde4b8a8b4a = 156
    aBCd4b8c8b4c = 158
    aBCdef4b8c8b4c = 179
    aBCdef8b16c2b = 180
    aCBdef8b16c2b = 181
    aBdC16b2c = 184
    aBdeC16b2c = 189
    aBdefC16b2c = 195
    aBedc16b = 201
    AcB16a2b = 203
    AcdB16a4b = 213
    AcdeB16a2b = 218
    Adcb16a = 221
    aCBd4c8b8c4b = 226
    aCBde4c8b8c4b = 227
    aCBdef4c8b8c4b = 228
    ABc32a16b = 367
    ABcd16a32b = 538
    ABcd32a16b = 368
    ABcde32a16b = 369
    AB48a16b = 370
    AB48a32b = 371
    ABc40a16b = 372
    ABc40a32b = 373
    aBC48b16c = 374
    aBC48b32c = 375
    ABcd40a16b = 376
    ABcd40a32b = 377
    BA16a16b = 503
    BA16a32b = 504
    BA16a48b = 505
    BA16a64b = 506
    BA16a16b2a = 381
    BA16a32b2a = 382
    BA16a48b2a = 383
    BA16a64b2a = 384
    BA16a16b4a = 385
    BA16a32b4a = 386
    BA16a48b4a = 387
    BA16a64b4a = 388
    BA24b8a = 847
    aCB24c8b = 848
    abDC24d8c = 849
    BA12b8a = 865
    aCB12c8b = 866
    abDC12d8c = 867
    decbA16a = 438
    decbA8a = 539
    defcbA16a = 765
    defcbA8a = 766
    aCB16b16c = 521
    aCB16b32c = 522
    aCB16b48c = 523
    aCB16b64c = 524
    aCB16b16c2b = 525
    aCB16b32c2b = 526
    aCB16b48c2b = 527
    aCB16b64c2b = 528
    aCB16b16c4b = 529
    aCB16b32c4b = 530
    aCB16b48c4b = 531
    aCB16b64c4b = 532
    Acb24a = 660
    Acdb24a = 661
    Acdeb24a = 662
    aBdc24b = 663
    aBdec24b = 664
    aBdefc24b = 665
    AcB24a2b = 669
    AcdB24a2b = 670
    AcdeB24a2b = 671
    aBdC24b2c = 672
    aBdeC24b2c = 673
    aBdefC24b2c = 674
    AcB24a4b = 710
    AcdB24a4b = 711
    AcdeB24a4b = 712
    aBdC24b4c = 713
    aBdeC24b4c = 714
    aBdefC24b4c = 715
    AB8b32a = 681
    ABc8b32a = 682
    AcB8b32a = 779
    ABcd8b32a = 683
    AcdB8b32a = 780
    ABcde8b32a = 684
    AcdeB8b32a = 781
    AB8b24a = 685
    ABc8b24a = 686
    AcB8b24a = 782
    ABcd8b24a = 687
    AcdB8b24a = 783
    ABcde8b24a = 688
    AcdeB8b24a = 784
    AB8b16a = 689
    ABc8b16a = 690
    AcB8b16a = 785
    ABcd8b16a = 691
    AcdB8b16a = 786
    ABcde8b16a = 692
    AcdeB8b16a = 787
    AB8b8a = 693
    abDC8d8c = 852
    abDC16d8c = 853
    aCB8c8b = 854
    aCB16c8b = 855
    BA8b8a = 856
    BA16b8a = 857
    BA4b8a = 868
    aCB4c8b = 869
    abDC4d8c = 870
    AB2a4b = 858
    format_tag_last = 875
    nCdhw16c = 121
    nCdhw4c = 128
    nCdhw8c = 142
    nChw16c = 78
    nChw4c = 84
    nChw8c = 102
    nCw16c = 56
    nCw4c = 60
    nCw8c = 69
    NCw16n16c = 53
    NChw16n16c = 75
    NCdhw16n16c = 116
    NCdhw32n32c = 148
    NChw32n32c = 77
    IOhw16i16o = 225
    OI16i16o = 237
    OI16i32o = 238
    OI16i48o = 758
    OI16i64o = 239
    OI8i16o2i = 240
    OI8i32o2i = 241
    OI8i64o2i = 242
    OI4i8o4i = 694
    OI4i16o4i = 243
    OI4i24o4i = 695
    OI4i32o4i = 244
    OI4i64o4i = 245
    Ohwi32o = 214
    IOdhw16i16o = 141
    gIOhw16i16o = 210
    gOhwi32o = 191
    Goidhw16g = 199
    IOw8o8i = 841
    IOw16o16i = 222
    OIw16i16o = 57
    OwI16i16o = 776
    OIw16i32o = 231
    OwI16i32o = 773
    OIw16i48o = 759
    OwI16i48o = 770
    OIw16i64o = 232
    OwI16i64o = 767
    IOw16i16o = 223
    gIOw16i16o = 208
    OIw16o16i = 53
    Oiw16o = 52
    OIw4i8o4i = 696
    OwI4i8o4i = 818
    OIw4i16o4i = 61
    OwI4i16o4i = 815
    OIw4i24o4i = 697
    OwI4i24o4i = 812
    OIw4i32o4i = 233
    OwI4i32o4i = 809
    OIw4i64o4i = 234
    OwI4i64o4i = 806
    OIw2i8o4i = 62
    OIw4i4o = 65
    OIw4o4i = 55
    Oiw4o = 58
    OIw8i16o2i = 70
    OwI8i16o2i = 800
    OIw8i32o2i = 235
    OwI8i32o2i = 794
    OIw8i64o2i = 236
    OwI8i64o2i = 791
    OIw8i8o = 72
    OwI8i8o = 788
    OIw8o16i2o = 66
    OIw8o8i = 67
    OIw8o4i = 68
    OIw16i16o4i = 63
    OIw16i32o4i = 349
    OIw16i48o4i = 350
    OIw16i64o4i = 351
    OIw16i16o2i = 64
    OIw16i32o2i = 352
    OIw16i48o2i = 353
    OIw16i64o2i = 354
    OIw16o16i2o = 275
    Owi16o = 202
    OwI16o2i = 203
    Iwo16i = 624
    IwO16i2o = 625
    IwO16i4o = 626
    Owi4o = 205
    Owi8o = 206
    OwI8o2i = 675
    OwI8o4i = 716
    IOhw8o8i = 842
    IOhw16o16i = 224
    Ohwi16o = 211
    OhwI16o2i = 212
    Ihwo16i = 627
    IhwO16i2o = 628
    IhwO16i4o = 629
    Ohwi4o = 215
    Ohwi8o = 216
    OhwI8o2i = 676
    OhwI8o4i = 717
    OIhw16i16o = 79
    OhwI16i16o = 777
    OIhw16i32o = 247
    OhwI16i32o = 774
    OIhw16i48o = 760
    OhwI16i48o = 771
    OIhw16i64o = 248
    OhwI16i64o = 768
    OIhw16o16i = 75
    Oihw16o = 73
    OIhw4i8o4i = 698
    OhwI4i8o4i = 819
    OIhw4i16o4i = 85
    OhwI4i16o4i = 816
    OIhw4i24o4i = 699
    OhwI4i24o4i = 813
    OIhw4i32o4i = 249
    OhwI4i32o4i = 810
    OIhw4i64o4i = 250
    OhwI4i64o4i = 807
    OIhw4i4o = 88
    OIhw4o4i = 89
    Oihw4o = 82
    OIhw8i16o2i = 104
    OhwI8i16o2i = 801
    OIhw8i32o2i = 251
    OhwI8i32o2i = 795
    OIhw8i64o2i = 252
    OhwI8i64o2i = 792
    OIhw8i8o = 107
    OhwI8i8o = 789
    OIhw8o16i2o = 98
    OIhw8o8i = 100
    OIhw8o4i = 101
    OIhw2i8o4i = 99
    IOdhw8o8i = 843
    IOdhw16o16i = 229
    Odhwi16o = 217
    OdhwI16o2i = 218
    Idhwo16i = 630
    IdhwO16i2o = 631
    IdhwO16i4o = 632
    Odhwi4o = 219
    Odhwi8o = 220
    OdhwI8o2i = 677
    OdhwI8o4i = 718
    OIdhw16i16o = 122
    OdhwI16i16o = 778
    OIdhw16i32o = 257
    OdhwI16i32o = 775
    OIdhw16i48o = 761
    OdhwI16i48o = 772
    OIdhw16i64o = 258
    OdhwI16i64o = 769
    OIdhw16o16i = 116
    OIdhw16o16i2o = 515
    Oidhw16o = 114
    OIdhw4i4o = 129
    OIdhw4o4i = 130
    Oidhw4o = 126
    OIdhw8i16o2i = 143
    OdhwI8i16o2i = 802
    OIdhw8i32o2i = 259
    OdhwI8i32o2i = 796
    OIdhw8i64o2i = 260
    OdhwI8i64o2i = 793
    OIdhw4i8o4i = 700
    OdhwI4i8o4i = 820
    OIdhw4i16o4i = 119
    OdhwI4i16o4i = 817
    OIdhw16i16o4i = 255
    OIdhw16i32o4i = 361
    OIdhw16i48o4i = 362
    OIdhw16i64o4i = 363
    OIdhw16i16o2i = 256
    OIdhw16i32o2i = 364
    OIdhw16i48o2i = 365
    OIdhw16i64o2i = 366
    OIdhw4i24o4i = 701
    OdhwI4i24o4i = 814
    OIdhw4i32o4i = 253
    OdhwI4i32o4i = 811
    OIdhw4i64o4i = 254
    OdhwI4i64o4i = 808
    OIdhw2i8o4i = 120
    OIdhw8i8o = 147
    OdhwI8i8o = 790
    OIdhw8o8i = 139
    OIdhw8o4i = 140
    gIOw8o8i = 839
    gIOw16o16i = 207
    gOIw16i16o = 81
    gOIw16o16i = 80
    gOiw16o = 78
    gOIw4i16o4i = 92
    gOIw2i8o4i = 93
    gOIw4i4o = 96
    gOIw4o4i = 97
    gOiw4o = 84
    gOIw8i16o2i = 110
    gOIw8i8o = 113
    gOIw8o16i2o = 105
    gOIw8o8i = 108
    gOIw8o4i = 109
    gOIw16i16o4i = 94
    gOIw16i16o2i = 95
    gOIw16o16i2o = 276
    gOwi16o = 183
    gOwI16o2i = 184
    gIwo16i = 633
    gIwO16i2o = 634
    gIwO16i4o = 635
    gOwi4o = 186
    gOwi8o = 187
    gOwI8o2i = 678
    gOwI8o4i = 719
    Goiw8g = 74
    Goiw16g = 73
    gIOhw8o8i = 840
    gIOhw16o16i = 209
    gOhwi16o = 188
    gOhwI16o2i = 189
    gIhwo16i = 636
    gIhwO16i2o = 637
    gIhwO16i4o = 638
    gOhwi4o = 192
    gOhwi8o = 193
    gOhwI8o2i = 679
    gOhwI8o4i = 720
    Goihw16g = 114
    gOIhw16i16o = 124
    gOIhw16o16i = 123
    gOihw16o = 121
    gOIhw4i16o4i = 134
    gOIhw2i8o4i = 125
    gOIhw4i4o = 137
    gOIhw4o4i = 131
    gOihw4o = 128
    Goihw8g = 138
    gOIhw8i16o2i = 161
    gOIhw8i8o = 162
    gOIhw8o16i2o = 144
    OIw4o8i8o4i = 151
    OIdhw4o8i8o4i = 153
    OIhw4o8i8o4i = 152
    OIhw2o8i8o2i = 157
    gOIw4o8i8o4i = 158
    gOIdhw4o8i8o4i = 179
    gOIhw4o8i8o4i = 159
    gOIhw2o8i8o2i = 160
    OIhw16i16o4i = 86
    OIhw16i32o4i = 355
    OIhw16i48o4i = 356
    OIhw16i64o4i = 357
    OIhw16i16o2i = 87
    OIhw16i32o2i = 358
    OIhw16i48o2i = 359
    OIhw16i64o2i = 360
    OIhw16o16i2o = 274
    gOIhw16i16o4i = 135
    gOIhw16i16o2i = 136
    gOIhw16o16i2o = 277
    gOIhw8o8i = 149
    gOIhw8o4i = 150
    gIOdhw16i16o = 196
    gIOdhw8o8i = 844
    gIOdhw16o16i = 230
    gOdhwi16o = 194
    gOdhwI16o2i = 195
    gIdhwo16i = 639
    gIdhwO16i2o = 640
    gIdhwO16i4o = 641
    gOdhwi4o = 197
    gOdhwi8o = 198
    gOdhwI8o2i = 680
    gOdhwI8o4i = 721
    gOIdhw16i16o = 166
    gOIdhw16o16i = 165
    gOIdhw16o16i2o = 516
    gOidhw16o = 164
    gOIdhw4i4o = 172
    gOIdhw4o4i = 173
    gOidhw4o = 171
    gOIdhw8i16o2i = 178
    gOIdhw4i16o4i = 167
    gOIdhw16i16o4i = 261
    gOIdhw16i16o2i = 262
    gOIdhw2i8o4i = 168
    gOIdhw8i8o = 182
    gOIdhw8o8i = 176
    gOIdhw8o4i = 177
    gOIw2i4o2i = 90
    gOIhw2i4o2i = 132
    gOIdhw2i4o2i = 174
    gOIw2o4i2o = 118
    gOIhw2o4i2o = 163
    gOIdhw2o4i2o = 170
    gOIw4i8o2i = 103
    gOIhw4i8o2i = 145
    gOIdhw4i8o2i = 169
    gOIw4o8i2o = 91
    gOIhw4o8i2o = 133
    gOIdhw4o8i2o = 175
    ldOi16o = 666
    ldOi32o = 267
    ldOI16o4i = 846
    ldOI32o4i = 268
    ldgOi16o = 667
    ldgOI16o4i = 845
    ldgOi32o = 269
    ldgOI32o2i = 270
    ldgOI32o4i = 271
    OwI16o4i = 204
    OhwI16o4i = 213
    gOwI16o4i = 185
    gOhwI16o4i = 190
    OdhwI16o4i = 273
    gOdhwI16o4i = 272
    Owi32o = 278
    OwI32o2i = 279
    OwI32o4i = 280
    Owi48o = 281
    OwI48o2i = 282
    OwI48o4i = 283
    Owi64o = 284
    OwI64o2i = 285
    OwI64o4i = 286
    Iwo32i = 570
    IwO32i2o = 571
    IwO32i4o = 572
    Iwo48i = 573
    IwO48i2o = 574
    IwO48i4o = 575
    Iwo64i = 576
    IwO64i2o = 577
    IwO64i4o = 578
    wIo2i = 287
    wIo4i = 288
    gOwi32o = 289
    gOwI32o2i = 290
    gOwI32o4i = 291
    gOwi48o = 292
    gOwI48o2i = 293
    gOwI48o4i = 294
    gOwi64o = 295
    gOwI64o2i = 296
    gOwI64o4i = 297
    gIwo32i = 579
    gIwO32i2o = 580
    gIwO32i4o = 581
    gIwo48i = 582
    gIwO48i2o = 583
    gIwO48i4o = 584
    gIwo64i = 585
    gIwO64i2o = 586
    gIwO64i4o = 587
    gwio = 24
    gwIo2i = 298
    gwIo4i = 299
    OhwI32o = 214
    OhwI32o2i = 300
    OhwI32o4i = 301
    Ohwi48o = 302
    OhwI48o2i = 303
    OhwI48o4i = 304
    Ohwi64o = 305
    OhwI64o2i = 306
    OhwI64o4i = 307
    Ihwo32i = 642
    IhwO32i2o = 643
    IhwO32i4o = 644
    Ihwo48i = 645
    IhwO48i2o = 646
    IhwO48i4o = 647
    Ihwo64i = 648
    IhwO64i2o = 649
    IhwO64i4o = 650
    hwIo2i = 308
    hwIo4i = 309
    gOhwI32o = 191
    gOhwI32o2i = 310
    gOhwI32o4i = 311
    gOhwi48o = 312
    gOhwI48o2i = 313
    gOhwI48o4i = 314
    gOhwi64o = 315
    gOhwI64o2i = 316
    gOhwI64o4i = 317
    gIhwo32i = 651
    gIhwO32i2o = 652
    gIhwO32i4o = 653
    gIhwo48i = 654
    gIhwO48i2o = 655
    gIhwO48i4o = 656
    gIhwo64i = 657
    gIhwO64i2o = 658
    gIhwO64i4o = 659
    ghwio = 34
    ghwIo2i = 318
    ghwIo4i = 319
    Odhwi32o = 320
    OdhwI32o2i = 321
    OdhwI32o4i = 322
    Odhwi48o = 323
    OdhwI48o2i = 324
    OdhwI48o4i = 325
    Odhwi64o = 326
    OdhwI64o2i = 327
    OdhwI64o4i = 328
    Idhwo32i = 561
    IdhwO32i2o = 562
    IdhwO32i4o = 563
    Idhwo48i = 564
    IdhwO48i2o = 565
    IdhwO48i4o = 566
    Idhwo64i = 567
    IdhwO64i2o = 568
    IdhwO64i4o = 569
    dhwIo2i = 329
    dhwIo4i = 330
    gOdhwi32o = 331
    gOdhwI32o2i = 332
    gOdhwI32o4i = 333
    gOdhwi48o = 334
    gOdhwI48o2i = 335
    gOdhwI48o4i = 336
    gOdhwi64o = 337
    gOdhwI64o2i = 338
    gOdhwI64o4i = 339
    gIdhwo32i = 552
    gIdhwO32i2o = 553
    gIdhwO32i4o = 554
    gIdhwo48i = 555
    gIdhwO48i2o = 556
    gIdhwO48i4o = 557
    gIdhwo64i = 558
    gIdhwO64i2o = 559
    gIdhwO64i4o = 560
    gdhwio = 44
    gdhwIo2i = 340
    gdhwIo4i = 341
    ldIo32i = 378
    ldgIo16i = 668
    ldgIo32i = 379
    ldgIO32i2o = 380
    nCdhw32c = 127
    nChw32c = 83
    nCw32c = 59
    NCw32n16c = 367
    NChw32n16c = 368
    NCdhw32n16c = 369
    NCw32n32c = 54
    OI16i16o4i = 246
    IOw8o16i2o = 71
    IOhw8o16i2o = 106
    Owhi16o = 221
    OIdhw8o16i2o = 111
    IOdhw8o16i2o = 117
    Goiw4g = 82
    gIOw8o16i2o = 112
    Goiw32g = 76
    Goihw4g = 126
    gIOhw8o16i2o = 146
    Goihw32g = 115
    gOwhi16o = 201
    IOw4i8o8i4o = 154
    IOhw4i8o8i4o = 155
    IOdhw4i8o8i4o = 156
    gIOw4i8o8i4o = 226
    gIOhw4i8o8i4o = 227
    gIOdhw4i8o8i4o = 228
    gOIdhw8o16i2o = 180
    gIOdhw8o16i2o = 181
    Goidhw32g = 200
    OI16i32o4i = 342
    OI16i48o4i = 343
    OI16i64o4i = 344
    OI16i16o2i = 345
    OI16i32o2i = 346
    OI16i48o2i = 347
    OI16i64o2i = 348
    aBdeC16c16b4c = 391
    AcB16b16a2b = 393
    aBdC16c16b2c = 406
    AcB16b16a4b = 394
    aBdC16c16b4c = 407
    AcdB16b16a2b = 395
    aBdefC16c16b4c = 398
    AcdeB16b16a4b = 399
    AcB16b32a2b = 400
    AcB16b32a4b = 401
    AcB16b48a2b = 402
    AcB16b48a4b = 403
    AcB16b64a2b = 404
    AcB16b64a4b = 405
    aBdC16c32b2c = 408
    aBdC16c32b4c = 409
    aBdC16c48b2c = 410
    aBdC16c48b4c = 411
    aBdC16c64b2c = 412
    aBdC16c64b4c = 413
    AcdB16b32a2b = 414
    AcdB16b32a4b = 415
    AcdB16b48a2b = 416
    AcdB16b48a4b = 417
    AcdB16b64a2b = 418
    AcdB16b64a4b = 419
    aBdeC16c32b2c = 420
    aBdeC16c32b4c = 421
    aBdeC16c48b2c = 422
    aBdeC16c48b4c = 423
    aBdeC16c64b2c = 424
    aBdeC16c64b4c = 425
    AcdeB16b32a2b = 426
    AcdeB16b32a4b = 427
    AcdeB16b48a2b = 428
    AcdeB16b48a4b = 429
    AcdeB16b64a2b = 430
    AcdeB16b64a4b = 431
    aBdefC16c32b2c = 432
    aBdefC16c32b4c = 433
    aBdefC16c48b2c = 434
    aBdefC16c48b4c = 435
    aBdefC16c64b2c = 436
    aBdefC16c64b4c = 437
    OwI16i16o2i = 393
    gOwI16i16o2i = 406
    OhwI16i16o2i = 395
    gOhwI16i16o2i = 390
    OdhwI16i16o2i = 397
    gOdhwI16i16o2i = 392
    OwI16i16o4i = 394
    gOwI16i16o4i = 407
    OhwI16i16o4i = 396
    gOhwI16i16o4i = 391
    OdhwI16i16o4i = 399
    gOdhwI16i16o4i = 398
    OwI16i32o2i = 400
    OwI16i32o4i = 401
    OwI16i48o2i = 402
    OwI16i48o4i = 403
    OwI16i64o2i = 404
    OwI16i64o4i = 405
    gOwI16i32o2i = 408
    gOwI16i32o4i = 409
    gOwI16i48o2i = 410
    gOwI16i48o4i = 411
    gOwI16i64o2i = 412
    gOwI16i64o4i = 413
    OhwI16i32o2i = 414
    OhwI16i32o4i = 415
    OhwI16i48o2i = 416
    OhwI16i48o4i = 417
    OhwI16i64o2i = 418
    OhwI16i64o4i = 419
    gOhwI16i32o2i = 420
    gOhwI16i32o4i = 421
    gOhwI16i48o2i = 422
    gOhwI16i48o4i = 423
    gOhwI16i64o2i = 424
    gOhwI16i64o4i = 425
    OdhwI16i32o2i = 426
    OdhwI16i32o4i = 427
    OdhwI16i48o2i = 428
    OdhwI16i48o4i = 429
    OdhwI16i64o2i = 430
    OdhwI16i64o4i = 431
    IdhwO16o32i2o = 546
    IdhwO16o32i4o = 547
    IdhwO16o48i2o = 548
    IdhwO16o48i4o = 549
    IdhwO16o64i2o = 550
    IdhwO16o64i4o = 551
    gOdhwI16i32o2i = 432
    gOdhwI16i32o4i = 433
    gOdhwI16i48o2i = 434
    gOdhwI16i48o4i = 435
    gOdhwI16i64o2i = 436
    gOdhwI16i64o4i = 437
    gIdhwO16o32i2o = 540
    gIdhwO16o32i4o = 541
    gIdhwO16o48i2o = 542
    gIdhwO16o48i4o = 543
    gIdhwO16o64i2o = 544
    gIdhwO16o64i4o = 545
    IwO16o16i2o = 588
    IwO16o16i4o = 589
    IhwO16o16i2o = 590
    IhwO16o16i4o = 591
    IdhwO16o16i2o = 592
    IdhwO16o16i4o = 593
    gIwO16o16i2o = 594
    gIwO16o16i4o = 595
    gIhwO16o16i2o = 596
    gIhwO16o16i4o = 597
    gIdhwO16o16i2o = 598
    gIdhwO16o16i4o = 599
    IwO16o32i2o = 600
    IwO16o32i4o = 601
    IwO16o48i2o = 602
    IwO16o48i4o = 603
    IwO16o64i2o = 604
    IwO16o64i4o = 605
    gIwO16o32i2o = 606
    gIwO16o32i4o = 607
    gIwO16o48i2o = 608
    gIwO16o48i4o = 609
    gIwO16o64i2o = 610
    gIwO16o64i4o = 611
    IhwO16o32i2o = 612
    IhwO16o32i4o = 613
    IhwO16o48i2o = 614
    IhwO16o48i4o = 615
    IhwO16o64i2o = 616
    IhwO16o64i4o = 617
    gIhwO16o32i2o = 618
    gIhwO16o32i4o = 619
    gIhwO16o48i2o = 620
    gIhwO16o48i4o = 621
    gIhwO16o64i2o = 622
    gIhwO16o64i4o = 623
    aBdeC16c16b2c = 390
    aBdefC16c16b2c = 392
    AcdB16b16a4b = 396
    AcdeB16b16a2b = 397
    hwioG16g = 438
    hwioG8g = 539
    dhwioG16g = 765
    dhwioG8g = 766
    ABc4a2b = 439
    ABc8a2b = 440
    ABcd4a2b = 468
    ABcde4a2b = 442
    ABcde8a2b = 443
    ABcd4a8b8a2b = 448
    NCdhw40n32c = 445
    NChw40n32c = 377
    NCw40n32c = 373
    OIdhw4o8i8o2i = 447
    OIhw4o8i8o2i = 448
    OIw4o8i8o2i = 449
    gOIdhw4o8i8o2i = 450
    gOIhw4o8i8o2i = 451
    gOIw4o8i8o2i = 452
    IOdhw4i8o8i2o = 453
    IOhw4i8o8i2o = 454
    IOw4i8o8i2o = 455
    gIOdhw4i8o8i2o = 456
    gIOhw4i8o8i2o = 457
    gIOw4i8o8i2o = 458
    aBCd8b2c = 441
    ABcde40a16b = 444
    ABcde40a32b = 445
    aBCde8b2c = 446
    ABcde4a8b8a2b = 447
    ABc4a8b8a2b = 449
    aBCdef4b8c8b2c = 450
    aBCde4b8c8b2c = 451
    aBCd4b8c8b2c = 452
    BAcde4b8a8b2a = 453
    BAcd4b8a8b2a = 454
    BAc4b8a8b2a = 455
    aCBdef4c8b8c2b = 456
    aCBde4c8b8c2b = 457
    aCBd4c8b8c2b = 458
    aBCdef8b2c = 459
    AB32a16b = 460
    AB32a32b = 461
    BA4b8a8b2a = 462
    BA4b8a8b4a = 463
    aBC32b16c = 464
    aBC32b32c = 465
    aCB4c8b8c2b = 466
    aCB4c8b8c4b = 467
    ABc2b8a16b4a = 469
    ABcd2b8a16b4a = 470
    ABcde2b8a16b4a = 471
    ABc2a8b16a4b = 472
    ABc2a8b16a2b = 473
    ABc2b32a8b = 474
    ABcd2a8b16a4b = 475
    ABcd2a8b16a2b = 476
    aCBd2c8b16c2b = 477
    ABcd2b32a8b = 478
    aBCd2c8b16c2b = 479
    ABcde2a8b16a4b = 480
    ABcde2a8b16a2b = 481
    aCBde2c8b16c2b = 482
    ABcde2b32a8b = 483
    aBC2b8c16b2c = 484
    aBCd2b8c16b2c = 485
    aBCde2b8c16b2c = 486
    aBCdef2b8c16b2c = 487
    BAcde2b8a16b4a = 488
    BAcd2b8a16b4a = 489
    BAc2b8a16b4a = 490
    BAcde2b8a16b2a = 491
    BAcd2b8a16b2a = 492
    BAc2b8a16b2a = 493
    aBCde2c8b16c2b = 494
    aBCdef2c8b16c2b = 495
    aCBdef2c8b16c2b = 496
    aBCd2b8c16b4c = 497
    aBCde2b8c16b4c = 498
    NCdhw40n16c = 444
    NCw40n16c = 372
    NChw40n16c = 376
    NCw2c32n8c = 474
    NChw2c32n8c = 478
    NCdhw2c32n8c = 483
    OIw2i8o16i4o = 469
    OIhw2i8o16i4o = 470
    OIdhw2i8o16i4o = 471
    OIw2o8i16o4i = 472
    OIw2o8i16o2i = 473
    IOw2i8o16i4o = 490
    IOw2i8o16i2o = 493
    OIhw2o8i16o4i = 475
    OIhw2o8i16o2i = 476
    IOhw2i8o16i4o = 489
    IOhw2i8o16i2o = 492
    OIdhw2o8i16o4i = 480
    OIdhw2o8i16o2i = 481
    IOdhw2i8o16i4o = 488
    IOdhw2i8o16i2o = 491
    gOIw2o8i16o2i = 485
    gIOw2i8o16i2o = 477
    gIOhw2i8o16i2o = 494
    gIOdhw2i8o16i2o = 495
    gOIhw2o8i16o2i = 486
    gOIdhw2o8i16o2i = 487
    gOIw2o8i16o4i = 497
    gOIhw2o8i16o4i = 498
    BA4b8a16b2a = 499
    BA4b8a16b4a = 500
    aCB4c8b16c2b = 501
    aCB4c8b16c4b = 502
    aCB16c2b = 507
    aCB16c4b = 508
    BA16b2a = 509
    BA16b4a = 510
    BA4b4a = 823
    BA8b4a = 824
    aBC16b16c = 511
    aBC16b32c = 512
    AB16a16b = 513
    AB16a32b = 514
    ABcde16a16b2a = 515
    aBCdef16b16c2b = 516
    Acedb16a = 517
    aBdfec16b = 518
    Odwhi16o = 517
    gOdwhi16o = 518
    abdEC64e2c = 519
    abdEC64e4c = 520
    ldgOI64o2i = 519
    ldgOI64o4i = 520
    abCd4c = 533
    abCde4c = 534
    abCdef4c = 535
    abCde32c = 536
    abCdef32c = 537
    aCdefB16b32c2b = 540
    aCdefB16b32c4b = 541
    aCdefB16b48c2b = 542
    aCdefB16b48c4b = 543
    aCdefB16b64c2b = 544
    aCdefB16b64c4b = 545
    BcdeA16a32b2a = 546
    BcdeA16a32b4a = 547
    BcdeA16a48b2a = 548
    BcdeA16a48b4a = 549
    BcdeA16a64b2a = 550
    BcdeA16a64b4a = 551
    aCdefb32c = 552
    aCdefB32c2b = 553
    aCdefB32c4b = 554
    aCdefb48c = 555
    aCdefB48c2b = 556
    aCdefB48c4b = 557
    aCdefb64c = 558
    aCdefB64c2b = 559
    aCdefB64c4b = 560
    Bcdea32b = 561
    BcdeA32b2a = 562
    BcdeA32b4a = 563
    Bcdea48b = 564
    BcdeA48b2a = 565
    BcdeA48b4a = 566
    Bcdea64b = 567
    BcdeA64b2a = 568
    BcdeA64b4a = 569
    Bca32b = 570
    BcA32b2a = 571
    BcA32b4a = 572
    Bca48b = 573
    BcA48b2a = 574
    BcA48b4a = 575
    Bca64b = 576
    BcA64b2a = 577
    BcA64b4a = 578
    aCdb32c = 579
    aCdB32c2b = 580
    aCdB32c4b = 581
    aCdb48c = 582
    aCdB48c2b = 583
    aCdB48c4b = 584
    aCdb64c = 585
    aCdB64c2b = 586
    aCdB64c4b = 587
    BcA16a16b2a = 588
    BcA16a16b4a = 589
    BcdA16a16b2a = 590
    BcdA16a16b4a = 591
    BcdeA16a16b2a = 592
    BcdeA16a16b4a = 593
    aCdB16b16c2b = 594
    aCdB16b16c4b = 595
    aCdeB16b16c2b = 596
    aCdeB16b16c4b = 597
    aCdefB16b16c2b = 598
    aCdefB16b16c4b = 599
    BcA16a32b2a = 600
    BcA16a32b4a = 601
    BcA16a48b2a = 602
    BcA16a48b4a = 603
    BcA16a64b2a = 604
    BcA16a64b4a = 605
    aCdB16b32c2b = 606
    aCdB16b32c4b = 607
    aCdB16b48c2b = 608
    aCdB16b48c4b = 609
    aCdB16b64c2b = 610
    aCdB16b64c4b = 611
    BcdA16a32b2a = 612
    BcdA16a32b4a = 613
    BcdA16a48b2a = 614
    BcdA16a48b4a = 615
    BcdA16a64b2a = 616
    BcdA16a64b4a = 617
    aCdeB16b32c2b = 618
    aCdeB16b32c4b = 619
    aCdeB16b48c2b = 620
    aCdeB16b48c4b = 621
    aCdeB16b64c2b = 622
    aCdeB16b64c4b = 623
    Bca16b = 624
    BcA16b2a = 625
    BcA16b4a = 626
    Bcda16b = 627
    BcdA16b2a = 628
    BcdA16b4a = 629
    Bcdea16b = 630
    BcdeA16b2a = 631
    BcdeA16b4a = 632
    aCdb16c = 633
    aCdB16c2b = 634
    aCdB16c4b = 635
    aCdeb16c = 636
    aCdeB16c2b = 637
    aCdeB16c4b = 638
    aCdefb16c = 639
    aCdefB16c2b = 640
    aCdefB16c4b = 641
    Bcda32b = 642
    BcdA32b2a = 643
    BcdA32b4a = 644
    Bcda48b = 645
    BcdA48b2a = 646
    BcdA48b4a = 647
    Bcda64b = 648
    BcdA64b2a = 649
    BcdA64b4a = 650
    aCdeb32c = 651
    aCdeB32c2b = 652
    aCdeB32c4b = 653
    aCdeb48c = 654
    aCdeB48c2b = 655
    aCdeB48c4b = 656
    aCdeb64c = 657
    aCdeB64c2b = 658
    aCdeB64c4b = 659
    NChw16n32c = 538
    goIw4i = 533
    goIw32i = 378
    goIhw4i = 534
    goIhw32i = 536
    goIdhw4i = 535
    goIdhw32i = 537
    cab = 18
    cdab = 27
    cdeab = 37
    woi = 18
    hwoi = 27
    dhwoi = 37
    Owi24o = 660
    Ohwi24o = 661
    Odhwi24o = 662
    gOwi24o = 663
    gOhwi24o = 664
    gOdhwi24o = 665
    OwI24o2i = 669
    OhwI24o2i = 670
    OdhwI24o2i = 671
    gOwI24o2i = 672
    gOhwI24o2i = 673
    gOdhwI24o2i = 674
    OwI24o4i = 710
    OhwI24o4i = 711
    OdhwI24o4i = 712
    gOwI24o4i = 713
    gOhwI24o4i = 714
    gOdhwI24o4i = 715
    OI8i32o = 681
    OIw8i32o = 682
    OwI8i32o = 779
    OIhw8i32o = 683
    OhwI8i32o = 780
    OIdhw8i32o = 684
    OdhwI8i32o = 781
    OI8i24o = 685
    OIw8i24o = 686
    OwI8i24o = 782
    OIhw8i24o = 687
    OhwI8i24o = 783
    OIdhw8i24o = 688
    OdhwI8i24o = 784
    OI8i16o = 689
    OIw8i16o = 690
    OwI8i16o = 785
    OIhw8i16o = 691
    OhwI8i16o = 786
    OIdhw8i16o = 692
    OdhwI8i16o = 787
    OI8i8o = 693
    AB4b8a4b = 694
    AB4b24a4b = 695
    ABc4b8a4b = 696
    AcB4b8a4b = 818
    ABc4b24a4b = 697
    AcB4b24a4b = 812
    ABcd4b8a4b = 698
    AcdB4b8a4b = 819
    ABcd4b24a4b = 699
    AcdB4b24a4b = 813
    ABcde4b8a4b = 700
    AcdeB4b8a4b = 820
    ABcde4b24a4b = 701
    AcdeB4b24a4b = 814
    Bca8b = 722
    BcA8b2a = 723
    Bcda8b = 724
    BcdA8b2a = 725
    Bcdea8b = 726
    BcdeA8b2a = 727
    aCdb8c = 728
    aCdB8c2b = 729
    aCdeb8c = 730
    aCdeB8c2b = 731
    aCdefb8c = 732
    aCdefB8c2b = 733
    Bca24b = 734
    BcA24b2a = 735
    Bcda24b = 736
    BcdA24b2a = 737
    Bcdea24b = 738
    BcdeA24b2a = 739
    aCdb24c = 740
    aCdB24c2b = 741
    aCdeb24c = 742
    aCdeB24c2b = 743
    aCdefb24c = 744
    aCdefB24c2b = 745
    Iwo8i = 722
    IwO8i2o = 723
    Iwo24i = 734
    IwO24i2o = 735
    Ihwo8i = 724
    IhwO8i2o = 725
    Ihwo24i = 736
    IhwO24i2o = 737
    Idhwo8i = 726
    IdhwO8i2o = 727
    Idhwo24i = 738
    IdhwO24i2o = 739
    gIwo8i = 728
    gIwO8i2o = 729
    gIwo24i = 740
    gIwO24i2o = 741
    gIhwo8i = 730
    gIhwO8i2o = 731
    gIhwo24i = 742
    gIhwO24i2o = 743
    gIdhwo8i = 732
    gIdhwO8i2o = 733
    gIdhwo24i = 744
    gIdhwO24i2o = 745
    OhwI24o = 661
    gOhwI24o = 664
    AB8b24a2b = 702
    ABc8b24a2b = 703
    AcB8b24a2b = 797
    ABcd8b24a2b = 704
    AcdB8b24a2b = 798
    ABcde8b24a2b = 705
    AcdeB8b24a2b = 799
    AB8b8a2b = 706
    ABc8b8a2b = 707
    AcB8b8a2b = 803
    ABcd8b8a2b = 708
    AcdB8b8a2b = 804
    ABcde8b8a2b = 709
    AcdeB8b8a2b = 805
    OI8i8o2i = 706
    OI8i24o2i = 702
    OIw8i8o2i = 707
    OwI8i8o2i = 803
    OIw8i24o2i = 703
    OwI8i24o2i = 797
    OIhw8i8o2i = 708
    OhwI8i8o2i = 804
    OIhw8i24o2i = 704
    OhwI8i24o2i = 798
    OIdhw8i8o2i = 709
    OdhwI8i8o2i = 805
    OIdhw8i24o2i = 705
    OdhwI8i24o2i = 799
    BcA8b4a = 746
    BcdA8b4a = 747
    BcdeA8b4a = 748
    aCdB8c4b = 749
    aCdeB8c4b = 750
    aCdefB8c4b = 751
    BcA24b4a = 752
    BcdA24b4a = 753
    BcdeA24b4a = 754
    aCdB24c4b = 755
    aCdeB24c4b = 756
    aCdefB24c4b = 757
    ABc16a4b = 762
    ABcd16a4b = 763
    ABcde16a4b = 764
    IwO8i4o = 746
    IwO24i4o = 752
    IhwO8i4o = 747
    IhwO24i4o = 753
    IdhwO8i4o = 748
    IdhwO24i4o = 754
    gIwO8i4o = 749
    gIwO24i4o = 755
    gIhwO8i4o = 750
    gIhwO24i4o = 756
    gIdhwO8i4o = 751
    gIdhwO24i4o = 757
    BA2a24b = 825
    aCB2b24c = 826
    BA2a8b = 827
    aCB2b8c = 828
    BA8a24b = 829
    aCB8b24c = 830
    BA8a16b = 831
    aCB8b16c = 832
    BA8a8b = 833
    aCB8b8c = 834
    bcad = 835
    cabd = 836
    dabc = 837
    decbA4a = 850
    defcbA4a = 851
    hwioG4g = 850
    dhwioG4g = 851
    aCBd4b4c = 859
    aCBde4b4c = 860
    aCBdef4b4c = 861
    BAc4a4b = 862
    BAcd4a4b = 863
    BAcde4a4b = 864
    IOw4o4i = 862
    IOhw4o4i = 863
    IOdhw4o4i = 864
    gIOw4o4i = 859
    gIOhw4o4i = 860
    gIOdhw4o4i = 861
    Abc8a = 871
    aBcdef8b = 873
    Oiw8o = 871
    Oihw8o = 74
    Oidhw8o = 138
    gOiw8o = 102
    gOihw8o = 142
    gOidhw8o = 873
    Abc32a = 872
    aBcdef32b = 874
    Oiw32o = 872
    Oihw32o = 76
    Oidhw32o = 115
    gOiw32o = 83
    gOihw32o = 127
    gOidhw32o = 874
