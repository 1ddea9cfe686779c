# SPDX-License-Identifier: Apache-2.0
"""oneDNN's enumerations are Python enums with the header's member names."""

import enum
import pickle

import pytest

from sycl_dnn import InvalidArguments
from sycl_dnn import onednn as dnnl

PLAIN = (
    "accumulation_mode", "algorithm", "cpu_isa", "cpu_isa_hints", "data_type", "engine_kind",
    "format_kind", "fpmath_mode", "primitive_kind", "prop_kind", "quantization_mode", "query",
    "rnn_direction", "rounding_mode", "scratchpad_mode", "sparse_encoding", "status",
)  # fmt: skip
FLAGS = ("normalization_flags", "rnn_flags")
NUMBERS = ("arg", "format_tag")

#: Numbers as dnnl_types.h has them; logs of oneDNN show these.
VALUES = {
    "prop_kind.forward_training": 64,
    "prop_kind.forward_inference": 96,
    "prop_kind.backward": 128,
    "algorithm.convolution_direct": 1,
    "algorithm.eltwise_relu": 0x20,
    "algorithm.softmax_log": 0x30001,
    "data_type.f32": 3,
    "data_type.bf16": 2,
    "data_type.s64": 16,
    "normalization_flags.rms_norm": 0x20,
    "rnn_flags.diff_weights_overwrite": 1,
    "status.unimplemented": 3,
    "arg.diff_weights_projection": 164,
    "format_tag.any": 1,
}


@pytest.mark.parametrize("name", [*PLAIN, *FLAGS, *NUMBERS])
def test_is_an_enum_of_its_kind(name):
    cls = getattr(dnnl, name)
    kind = enum.IntFlag if name in FLAGS else enum.IntEnum if name in NUMBERS else enum.Enum
    assert issubclass(cls, kind)
    assert name in dnnl.__all__
    for member in cls:
        assert cls[member.name] is cls(member.value) is member


@pytest.mark.parametrize("name", [*PLAIN, *FLAGS, *NUMBERS])
def test_members_pickle(name):
    members = list(getattr(dnnl, name))[:20]
    assert pickle.loads(pickle.dumps(members)) == members


@pytest.mark.parametrize("path", VALUES)
def test_values_are_those_of_the_header(path):
    name, member = path.split(".")
    assert getattr(dnnl, name)[member].value == VALUES[path]


def test_flags_combine():
    flags = dnnl.normalization_flags
    both = flags.use_scale | flags.use_shift
    assert flags.use_scale in both
    assert flags.rms_norm not in both
    assert both == flags(6)


def test_format_tags_have_aliases_and_all_layouts():
    tag = dnnl.format_tag
    assert tag.nchw is tag.abcd
    assert tag.nhwc is tag.acdb
    assert len(tag) > 800
    assert len(tag.__members__) > 1600
    assert dict(dnnl.format_tags()) == {name: m.value for name, m in tag.__members__.items()}


def test_integers_are_refused_as_enums(engine):
    d = dnnl.MemoryDesc((2, 3), dnnl.data_type.f32)
    training, relu = dnnl.prop_kind.forward_training, dnnl.algorithm.eltwise_relu
    for kind, algorithm in ((64, relu), (training, 32)):
        with pytest.raises(TypeError):
            dnnl.eltwise_forward(engine, prop_kind=kind, algorithm=algorithm, src=d, dst=d)
    with pytest.raises(TypeError):
        dnnl.MemoryDesc((2, 3), 3)


COMPOSED = {
    "attr_scales_src": 4096 | 1,
    "attr_zero_points_weights": 8192 | 33,
    "attr_precomputed_reductions_src": 512 | 1,
    "attr_post_op_0_src_1": 32768 | 2,
    "attr_post_op_31_weights": 32 * 32768 | 33,
    "attr_post_op_dw_weights": 16384 | 33,
    "attr_post_op_dw_bias": 16384 | 41,
    "multiple_src_3": 1024 + 3,
    "attr_scales_multiple_src_2": 4096 | 1024 + 2,
    "multiple_dst_0": 2048,
}


@pytest.mark.parametrize("name", COMPOSED)
def test_argument_names_compose(name):
    assert dnnl.argument_id(name) == COMPOSED[name]


@pytest.mark.parametrize(
    "name",
    ["", "x", "SRC", "attr_scales_", "attr_scales_x", "attr_post_op_32_src_1", "attr_post_op_0",
     "attr_post_op_x_src", "multiple_src_", "multiple_src_1024", "multiple_src_-1",
     "multiple_src_1x"],
)  # fmt: skip
def test_unknown_argument_names_are_refused(name):
    with pytest.raises(InvalidArguments, match=f"'{name}' is not an execution argument"):
        dnnl.argument_id(name)
