# SPDX-License-Identifier: Apache-2.0
"""Texts of problem descriptors and attributes."""

import pytest

from sycl_dnn.tools.cases import options, problems, storage
from sycl_dnn.tools.cases.call import extra_tensors, mask_of
from sycl_dnn.tools.cases.case_files import Case
from sycl_dnn.tools.cases.driver import Skip

CONVOLUTIONS = {
    # text: i, o, k, s, d, left, right
    "ic3oc4ih227kh11sh4ph0oh55": ((227, 227), (55, 55), (11, 11), (4, 4), (0, 0), (0, 0), (0, 0)),
    "ic3oc4ih7kh3ph1": ((7, 7), (7, 7), (3, 3), (1, 1), (0, 0), (1, 1), (1, 1)),
    "ic3oc4ih7kh3oh7": ((7, 7), (7, 7), (3, 3), (1, 1), (0, 0), (1, 1), (1, 1)),
    "ic3oc4ih8kh3sh2oh4": ((8, 8), (4, 4), (3, 3), (2, 2), (0, 0), (0, 0), (1, 1)),
    "ic3oc4iw9kw3dw1": ((9,), (5,), (3,), (1,), (1,), (0,), (0,)),
    "ic3oc4id5kd3ih4kh2": ((5, 4, 4), (3, 3, 3), (3, 2, 2), (1,) * 3, (0,) * 3, (0,) * 3, (0,) * 3),
    "ic3_oc4_ih5_kh1_iw7_kw3": ((5, 7), (5, 5), (1, 3), (1, 1), (0, 0), (0, 0), (0, 0)),
}


@pytest.mark.parametrize(("text", "expected"), CONVOLUTIONS.items(), ids=CONVOLUTIONS)
def test_convolution(text, expected):
    p = problems.convolution(text)
    assert (p.i, p.o, p.k, p.s, p.d, p.pl, p.pr) == expected
    assert (p.mb, p.ic, p.oc, p.g) == (2, 3, 4, None)


def test_deconvolution_is_the_adjoint():
    p = problems.convolution("mb1ic4ih4oc3kh3sh2ph1", inverse=True)
    assert (p.i, p.o) == ((4, 4), (7, 7))


@pytest.mark.parametrize("text", ['mb2ic3ih4n"a:b"', 'mb2ic3ih4_n"a:b"', "mb2ic3ih4_na:b"])
def test_names(text):
    assert problems.spatial(text, ("ic",)).name == "a:b"


def test_recurrent_sizes_follow_each_other():
    p = problems.recurrent("l2t3sic8dhc5")
    assert (p.l, p.t, p.mb, p.sic, p.slc, p.dhc, p.dic) == (2, 3, 2, 8, 8, 5, 5)


def test_numbers_with_fractions():
    p = problems.spatial("mb1ic4ih3alpha0.5beta1e-3k2", ("ic",), ls=5, alpha=1.0, beta=1.0, k=1.0)
    assert (p.alpha, p.beta, p.k) == (0.5, 1e-3, 2.0)


TAGS = {
    ("abx", 4): "abcd",
    ("axb", 4): "acdb",
    ("xba", 4): "cdba",
    ("aBx16b", 4): "aBcd16b",
    ("ABx16a16b", 3): "ABc16a16b",
    ("axb", 2): "ab",
    ("any", 4): "any",
    ("nchw", 4): "nchw",
}


@pytest.mark.parametrize(("args", "expected"), TAGS.items(), ids=str)
def test_meta_tags(args, expected):
    assert storage.expand_tag(*args) == expected


def test_every_permutation_is_a_layout():
    desc = storage.describe((2, 3, 4), "f32", "cab")
    assert desc.strides == (3, 1, 6)


def test_post_ops():
    found = options.post_ops("sum:0.5:3:s8+relu:0.25+add:bf16:per_oc:axb+prelu:2+dw:k3s2p1")
    assert [op.kind for op in found] == ["sum", "eltwise", "binary", "prelu", "dw"]
    assert (found[0].alpha, found[0].beta, found[0].dtype) == (0.5, 3.0, "s8")
    assert (found[1].algorithm, found[1].alpha) == ("eltwise_relu", 0.25)
    assert (found[2].dtype, found[2].policy, found[2].tag) == ("bf16", "per_oc", "axb")
    assert (found[3].policy, found[4].kernel) == (2, (3, 2, 1))


def test_select_names_two_operands():
    (op,) = options.post_ops("select:f32.per_oc.axb:per_tensor.abx")
    assert (op.policy, op.tag, op.condition) == ("per_oc", "axb", ("per_tensor", "abx"))


def test_scales_and_zero_points():
    src, wei = options.quantities("f32")("src:common:0.5+wei:per_ocic:bf16:32x1")
    assert (src.arg, src.policy, src.value, src.dtype) == ("src", "common", 0.5, "f32")
    assert (wei.arg, wei.policy, wei.dtype, wei.groups) == ("weights", "per_ocic", "bf16", (32, 1))
    (zero,) = options.quantities("s32")("wei:6:s4:1x16x1")
    assert (zero.policy, zero.dtype, zero.groups) == (6, "s4", (1, 16, 1))


def test_masks_as_numbers():
    src, wei = options.quantities("f32")("src:2+wei:0:2")
    assert (src.policy, src.value, wei.policy, wei.value) == (2, None, 0, 2.0)


MASKS = {
    # driver, problem: argument, policy -> mask
    ("conv", "ic4oc4ih3kh1", "weights", "per_oc"): 1,
    ("conv", "g2ic4oc4ih3kh1", "weights", "per_oc"): 3,
    ("conv", "ic4oc4ih3kh1", "src_1", "per_oc"): 2,
    ("matmul", "2x4x8:2x8x4", "weights", "per_oc"): 4,
    ("matmul", "2x4x8:2x8x4", "weights", "per_ocic"): 6,
    ("matmul", "4x8:8x4", "src", "per_tensor"): 3,
    ("matmul", "4x8:8x4", "src", "per_dim_0"): 1,
    ("matmul", "4x8:8x4", "src", "per_dim_1"): 2,
    ("matmul", "4x8:8x4", "src", "per_dim_01"): 3,
    ("lnorm", "2x3x4", "src_1", "per_oc"): 4,
    ("pool", "ic4ih4kh2", "src_1", "per_tensor"): 15,
}


@pytest.mark.parametrize(("what", "mask"), MASKS.items(), ids=str)
def test_masks(what, mask):
    driver, problem, name, policy = what
    call = Case(driver, problem).call()
    ndims = len(call.tensors["weights" if name == "weights" else "dst"].dims)
    assert mask_of(call, name, policy, ndims) == mask


def test_groups_shape_the_scales():
    call = Case("matmul", "8x64:64x32", {"attr-scales": "wei:per_ocic:f32:16x1"}).call()
    assert extra_tensors(call)["attr_scales_weights"].dims == (4, 32)


def test_gaps_between_steps_and_behind_states():
    case = Case("rnn", "l1t3mb2sic8", {"tag": "abc:any:bac", "trivial-strides": "false"})
    strides = {name: tensor.strides for name, tensor in case.call().tensors.items()}
    assert strides["src_layer"] == (17, 8, 1)
    assert strides["dst_layer"] == (8, 25, 1)
    assert strides["src_iter"] == (18, 18, 9, 1)


LSTM = {"alg": "VANILLA_LSTM", "prop": "FWD_I"}


@pytest.mark.parametrize(
    ("case", "why"),
    [
        (Case("reduction", "2x8:1x8", {"alg": "sum", "p": "2"}), "p and eps belong to norms"),
        (Case("reduction", "2x8:1x8", {"alg": "norm_lp_max", "p": "0.5"}), "p must be at least 1"),
        (Case("rnn", "l1t3mb2sic8", LSTM | {"cfg": "u8u8u8u8", "with-peephole": "true"}),
         "no quantized peephole"),
        (Case("rnn", "l1t3mb2sic8", {"alg": "VANILLA_GRU", "with-peephole": "true"}), "lstm only"),
        (Case("rnn", "l1t3mb2sic8", LSTM | {"cfg": "u8u8u8u8", "prop": "BWD_DW"}),
         "quantized cells have no gradients"),
    ],
)  # fmt: skip
def test_combinations_that_are_no_case(case, why):
    with pytest.raises(Skip, match=why):
        case.call()
