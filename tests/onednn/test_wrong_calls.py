# SPDX-License-Identifier: Apache-2.0
"""Errors of invalid calls name the argument, its rule and the value, not the signature."""

import pytest

from sycl_dnn import InvalidArguments
from sycl_dnn import onednn as dnnl

D = dnnl.MemoryDesc((2, 3, 8, 8), "f32", "nchw")
W = dnnl.MemoryDesc((4, 3, 3, 3), "f32", "any")
CONVOLUTION = {
    "prop_kind": "forward_training",
    "algorithm": "convolution_direct",
    "src": D,
    "weights": W,
    "dst": dnnl.MemoryDesc((2, 4, 8, 8), "f32", "any"),
    "strides": (1, 1),
    "padding_l": (1, 1),
    "padding_r": (1, 1),
}
#: Mistake -> changed arguments, error, part of the message.
WRONG = {
    "a name that is none": (
        {"prop_kind": "forwards"},
        InvalidArguments,
        "convolution_forward: prop_kind must be one of .*forward_training.*, got 'forwards'",
    ),
    "a name of another operation": (
        {"algorithm": "direct"},
        InvalidArguments,
        "algorithm must be one of convolution_auto, convolution_direct, convolution_winograd, got",
    ),
    "a member of another enumeration": (
        {"prop_kind": dnnl.algorithm.convolution_auto},
        TypeError,
        r"prop_kind must be one of .*, got <algorithm.convolution_auto.*> \(algorithm\)",
    ),
    "a number for a descriptor": (
        {"src": 7},
        TypeError,
        "convolution_forward: src must be a MemoryDesc, got 7$",
    ),
    "text among numbers": (
        {"strides": (1, "x")},
        TypeError,
        r"strides must be a sequence \(an integer each\), got \(1, 'x'\)",
    ),
    "attributes that are none": (
        {"attr": {}},
        TypeError,
        r"attr must be a PrimitiveAttr or None, got {} \(dict\)",
    ),
}


@pytest.mark.parametrize(("changed", "error", "words"), WRONG.values(), ids=WRONG)
def test_the_message_names_the_invalid_value(changed, error, words, engine):
    with pytest.raises(error, match=words) as caught:
        dnnl.convolution_forward(engine, **(CONVOLUTION | changed))
    assert "The following argument types" not in str(caught.value)


def test_the_names_of_cpp_parameters(engine):
    inputs = {**CONVOLUTION, "src_desc": CONVOLUTION["src"]}
    del inputs["src"]
    words = "no parameter is called 'src_desc'; did you mean src?"
    with pytest.raises(TypeError, match=words):
        dnnl.convolution_forward(engine, **inputs)


def test_arguments_by_position(engine):
    words = "only engine may be given by position, got 3 such arguments; name prop_kind, algorithm"
    with pytest.raises(TypeError, match=words):
        dnnl.convolution_forward(engine, "forward_training", "convolution_direct")


def test_arguments_that_are_missing(engine):
    with pytest.raises(TypeError, match=r"^Engine: argument is missing: queue; it takes queue"):
        dnnl.Engine()
    words = r"^softmax_forward: arguments are missing: dst, axis; it takes engine, prop_kind"
    with pytest.raises(TypeError, match=words):
        dnnl.softmax_forward(engine, prop_kind="forward", algorithm="softmax_log", src=D)


def test_methods_name_their_class():
    with pytest.raises(TypeError, match=r"^PostOps.append_prelu: mask must be an integer, got 'x'"):
        dnnl.PostOps().append_prelu("x")
    words = r"^PostOps.append_eltwise: algorithm must be one of .*, got 'relu'"
    with pytest.raises(InvalidArguments, match=words):
        dnnl.PostOps().append_eltwise("relu")
    with pytest.raises(InvalidArguments, match=r"^MemoryDesc: data_type must be one of .*'f33'"):
        dnnl.MemoryDesc((2, 3), "f33")
    with pytest.raises(TypeError, match=r"^MemoryDesc: dims must be a sequence .*, got 7"):
        dnnl.MemoryDesc(7, "f32")


@pytest.mark.parametrize(
    ("provided", "meant"),
    [("tanh", "eltwise_tanh"), ("elu", "eltwise_elu"), ("eltwise_reul", "eltwise_relu")],
)
def test_a_mistyped_name_has_a_suggestion(provided, meant):
    words = f"algorithm must be one of eltwise_.*, got '{provided}'; did you mean {meant}?$"
    with pytest.raises(InvalidArguments, match=words.replace("?", r"\?")) as caught:
        dnnl.PostOps().append_eltwise(algorithm=provided)
    assert "lbr_gru" not in str(caught.value)


def test_an_unrelated_name_has_no_suggestion():
    with pytest.raises(InvalidArguments, match=r"eltwise_tanh,.*, got 'xyz'$"):
        dnnl.PostOps().append_eltwise("xyz")


def test_the_overload_with_the_most_matching_names_is_reported():
    words = "no parameter is called 'shape'; did you mean dims?"
    takes = " It takes dims, data_type, format_tag, strides$"
    for provided in ({"shape": (2, 3)}, {"shape": (2, 3), "dtype": "f32"}):
        with pytest.raises(TypeError, match=rf"^MemoryDesc: {words}{takes}".replace("?", r"\?")):
            dnnl.MemoryDesc(**provided)
    words = r"no parameter is called 'dtype'; did you mean data_type\? It takes dims, data_type"
    with pytest.raises(TypeError, match=rf"^MemoryDesc: {words}, strides$"):
        dnnl.MemoryDesc((2, 3), dtype="f32", strides=(3, 1))
    with pytest.raises(TypeError, match=rf"^MemoryDesc: {words}, format_tag$"):
        dnnl.MemoryDesc((2, 3), dtype="f32", format_tag="ab")
    with pytest.raises(TypeError, match=rf"^MemoryDesc: {words}, format_tag, strides$"):
        dnnl.MemoryDesc(dtype="f32")
    with pytest.raises(TypeError, match=r"^MemoryDesc: .* must be .*, got 3.5"):
        dnnl.MemoryDesc((2, 3), "f32", 3.5)


def test_a_mask_of_dropout_that_is_no_u8(engine):
    attr = dnnl.PrimitiveAttr()
    with pytest.raises(InvalidArguments, match="set_dropout: mask_desc must be u8, got f32"):
        attr.set_dropout(dnnl.MemoryDesc((2, 3), "f32"))
    with pytest.raises(TypeError, match="set_dropout: mask_desc must be a MemoryDesc or None"):
        attr.set_dropout("u8")


def test_valid_calls_are_unchanged(engine):
    assert dnnl.convolution_forward(engine, **CONVOLUTION).name == "convolution_forward"
    ops = dnnl.PostOps()
    ops.append_eltwise(algorithm="eltwise_relu", alpha=1)
    assert len(ops) == 1
