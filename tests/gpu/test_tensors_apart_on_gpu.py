# SPDX-License-Identifier: Apache-2.0
"""Tensors that oneDNN's GPU kernels assume to be dense, or laid out like another, are refused."""

import dpnp
import numpy as np
import pytest
from lying_apart import executed, unchecked

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import onednn as dnnl
from sycl_dnn.errors import Unimplemented
from sycl_dnn.graph import Graph

D, T = dnnl.MemoryDesc, dnnl.data_type
BOXES, ROWS, SQUARE = D((4, 5, 16), T.f32, "abc"), D((4, 16), T.f32, "ab"), D((8, 16), T.f32, "ab")
GAPS = D(BOXES.dims, T.f32, strides=(160, 32, 2))
RESULT, COLUMNS = D((4, 8), T.f32, "ab"), D((4, 8), T.f32, "ba")


def layer_norm(engine, dst):
    return dnnl.layer_normalization_forward(
        engine, prop_kind="forward_inference", src=BOXES, dst=dst, epsilon=1e-5, flags="none"
    )


def mean(engine, src):
    return dnnl.reduction(
        engine, algorithm="reduction_mean", src=src, dst=D((4, 5, 1), T.f32, "abc"), p=1.0, eps=0.0
    )


def dense_layer(engine, dst):
    return dnnl.inner_product_forward(
        engine, prop_kind="forward_inference", src=ROWS, weights=SQUARE, dst=dst
    )


def cell(engine, bias):
    steps, weights = D((3, 2, 8), T.f32, "abc"), D((1, 1, 8, 1, 8), T.f32, "abcde")
    return dnnl.vanilla_rnn_forward(
        engine, prop_kind="forward_inference", activation="eltwise_relu", src_layer=steps,
        direction="unidirectional_left2right", src_iter=D((1, 1, 2, 8), T.f32, "abcd"), bias=bias,
        weights_layer=weights, weights_iter=weights, dst_layer=steps,
    )  # fmt: skip


def prelu_gradient(engine, src):
    weights = D((1, 1, 16), T.f32, "abc")
    forward = dnnl.prelu_forward(
        engine, prop_kind="forward_training", src=BOXES, weights=weights, dst=BOXES
    )
    return dnnl.prelu_backward(
        engine, src=src, weights=weights, diff_src=BOXES, diff_weights=weights, diff_dst=BOXES,
        hint_fwd_pd=forward,
    )  # fmt: skip


DENSE_BIAS = D((1, 1, 1, 8), T.f32, "abcd")
#: A function of one tensor's descriptor, one that is refused, one that is taken.
MAKERS = {
    "layer_norm": (layer_norm, GAPS, BOXES),
    "reduction": (mean, GAPS, BOXES),
    "inner_product": (dense_layer, COLUMNS, RESULT),
    "cell": (cell, D((1, 1, 1, 8), T.f32, strides=(16, 16, 16, 2)), DENSE_BIAS),
    "prelu": (prelu_gradient, GAPS, BOXES),
}
#: The output that shows the fault; prelu's occasionally ends the process.
WRONG = {"layer_norm": "dst", "reduction": "dst", "inner_product": "dst", "cell": "dst_layer"}


@pytest.mark.parametrize("name", MAKERS)
def test_tensors_apart_are_refused(name, stream):
    make, apart, dense = MAKERS[name]
    assert make(stream.engine, dense).impl_info
    with pytest.raises(Unimplemented, match="must (be dense|be row-major|have the layout of)"):
        make(stream.engine, apart)


@pytest.mark.parametrize("name", WRONG)
def test_tensors_apart_are_still_misread(name, stream, values):
    make, *descs = MAKERS[name]
    with unchecked():
        primitives = [dnnl.Primitive(make(stream.engine, desc)) for desc in descs]
    matches = [executed(primitive, stream, WRONG[name]) for primitive in primitives]
    told = f"oneDNN may have mended the fault of {name}: look, then drop its row"
    assert not np.allclose(*matches, atol=1e-3), told


SIX = (2, 1, 3, 2, 2, 3)


def test_a_softmax_of_six_axes_is_refused(stream):
    desc = D(SIX, T.f32, "abcdef")
    with pytest.raises(Unimplemented, match="at most five axes on GPUs"):
        dnnl.softmax_forward(
            stream.engine, prop_kind="forward_inference", algorithm="softmax_accurate", src=desc,
            dst=desc, axis=2,
        )  # fmt: skip


@pytest.mark.parametrize("axis", range(6))
def test_functions_merge_axes(axis, gpu, values):
    x = np.random.default_rng(0).standard_normal(SIX).astype("f4")
    dy = np.random.default_rng(1).standard_normal(SIX).astype("f4")
    expected = np.exp(x) / np.exp(x).sum(axis, keepdims=True)
    array, slope = (dpnp.asarray(a, sycl_queue=gpu) for a in (x, dy))
    actual, pullback = sycl_dnn.vjp(lambda x: F.softmax(x, axis), array)
    np.testing.assert_allclose(actual.asnumpy(), expected, atol=1e-6)
    gradient = expected * (dy - (expected * dy).sum(axis, keepdims=True))
    np.testing.assert_allclose(pullback(slope)[0].asnumpy(), gradient, atol=1e-6)


def test_graphs_refuse_a_softmax_of_six_axes(gpu):
    graph = Graph("gpu")
    graph.output(graph.softmax(graph.input(SIX, "f32"), axis=2))
    with pytest.raises(Unimplemented, match="softmax: oneDNN must support the operation"):
        graph.compile(gpu)
