# SPDX-License-Identifier: Apache-2.0
"""Shapes and strides, found by fuzzing, that would crash oneDNN are refused."""

import pytest

from sycl_dnn import InvalidArguments, Unimplemented
from sycl_dnn import onednn as dnnl

D, T = dnnl.MemoryDesc, dnnl.data_type.f32
TRAIN = dnnl.prop_kind.forward_training


def attr():
    result = dnnl.PrimitiveAttr()
    result.set_host_scale("src", dnnl.data_type.f16)
    return result


@pytest.mark.parametrize("src", [D((4,), T), D((2, 3), T), D()])
def test_pooling_of_a_non_image(engine, src):
    window = dict.fromkeys(("dilation", "padding_l", "padding_r"), (0, 0))
    with pytest.raises(InvalidArguments, match="src must have at least 3 axes"):
        dnnl.pooling_forward(
            engine, prop_kind=TRAIN, algorithm=dnnl.algorithm.pooling_max, src=src,
            dst=D((2, 3, 2, 5), T), strides=(2, 1), kernel=(1, 1), attr=attr(), **window,
        )  # fmt: skip


def test_convolution_of_a_non_image(engine):
    with pytest.raises(InvalidArguments, match="weights must have at least 3 axes"):
        dnnl.convolution_forward(
            engine, prop_kind=TRAIN, algorithm=dnnl.algorithm.convolution_direct,
            src=D((2, 3, 4, 5), T), weights=D((3,), T), dst=D((2, 3, 4, 5), T), strides=(1, 1),
            padding_l=(0, 0), padding_r=(0, 0),
        )  # fmt: skip


def test_convolution_over_an_endless_row(engine):
    n = 2**31 - 1
    with pytest.raises(Unimplemented, match=r"sizes of src must be less than 2\*\*30"):
        dnnl.convolution_forward(
            engine, prop_kind=TRAIN, algorithm=dnnl.algorithm.convolution_direct,
            src=D((1, 3, n), T, "any"), weights=D((2, 3, 3), T, "any"), dst=D((1, 2, n), T),
            strides=(1,), dilates=(3,), padding_l=(8,), padding_r=(0,),
        )  # fmt: skip


@pytest.mark.parametrize("strides", [(100, 0), (0, 0)])
@pytest.mark.parametrize("way", ["forward", "backward_data", "backward_weights"])
def test_inner_product_over_repeated_values(engine, strides, way):
    plain = {"src": D((2, 16), T), "weights": D((32, 16), T), "dst": D((2, 32), T)}
    hint = dnnl.inner_product_forward(engine, prop_kind=TRAIN, **plain)
    repeated = {**plain, "src": D((2, 16), T, strides=strides)}
    written = {"forward": "dst", "backward_data": "src", "backward_weights": "weights"}[way]
    names = {n: n if way == "forward" or n != written else f"diff_{n}" for n in plain}
    if way != "forward":
        names["dst"] = "diff_dst"
    inputs = {names[n]: d for n, d in repeated.items()}
    inputs |= {"prop_kind": TRAIN} if way == "forward" else {"hint_fwd_pd": hint}
    with pytest.raises(Unimplemented, match="src, which must not be 0 after the first axis"):
        getattr(dnnl, f"inner_product_{way}")(engine, **inputs)


def test_softmax_gradient_of_another_shape(engine):
    """oneDNN compares nothing where one of them is empty."""
    d, empty = D((37,), T), D((0, 8, 3), T)
    algorithm = dnnl.algorithm.softmax_accurate
    hint = dnnl.softmax_forward(engine, prop_kind=TRAIN, algorithm=algorithm, src=d, dst=d, axis=0)
    with pytest.raises(InvalidArguments, match="must have the shape of"):
        dnnl.softmax_backward(
            engine, algorithm=algorithm, diff_src=d, diff_dst=empty, dst=d, axis=0,
            hint_fwd_pd=hint,
        )  # fmt: skip


def test_prelu_gradients_in_another_layout_than_weights(engine):
    """The reference implementation would write outside diff_weights."""
    d, slope = D((2, 5, 4, 3), T), D((1, 5, 1, 1), T)
    apart = D((1, 5, 1, 1), T, strides=(14, 6, 9, 4))
    hint = dnnl.prelu_forward(engine, prop_kind=TRAIN, src=d, weights=apart, dst=d)
    with pytest.raises(Unimplemented, match="diff_weights must have the layout of weights"):
        dnnl.prelu_backward(
            engine, src=d, weights=apart, diff_src=d, diff_weights=slope, diff_dst=d,
            hint_fwd_pd=hint,
        )  # fmt: skip


@pytest.mark.parametrize("dtype", [T, dnnl.data_type.bf16])
def test_recurrent_network_of_no_samples(engine, dtype):
    weights = D((1, 1, 8, 1, 8), dtype, "any")
    with pytest.raises(Unimplemented, match="samples of src_layer, which must not be 0"):
        dnnl.vanilla_rnn_forward(
            engine, prop_kind=TRAIN, activation=dnnl.algorithm.eltwise_tanh,
            direction=dnnl.rnn_direction.unidirectional_left2right, src_layer=D((3, 0, 8), dtype),
            weights_layer=weights, weights_iter=weights, dst_layer=D((3, 0, 8), dtype),
        )  # fmt: skip


def test_code_for_a_long_row_is_not_generated(engine):
    """It would take minutes and gigabytes: one block of instructions for each vector."""
    d = D((2, 2**40), T)
    flags = dnnl.normalization_flags.none
    pd = dnnl.layer_normalization_forward(
        engine, prop_kind=TRAIN, src=d, dst=d, epsilon=1e-3, flags=flags
    )
    back = dnnl.layer_normalization_backward(
        engine, prop_kind=dnnl.prop_kind.backward_data, src=d, diff_src=d, diff_dst=d,
        epsilon=1e-3, flags=flags, hint_fwd_pd=pd,
    )  # fmt: skip
    for result in (pd, back):
        assert not result.impl_info.startswith("jit")
        dnnl.Primitive(result)


@pytest.mark.parametrize("src", [D((0, 32, 2, 33, 100), T), D((0, 7), T)])
def test_empty_softmax_into_another_shape(engine, src):
    words = {"prop_kind": TRAIN, "algorithm": dnnl.algorithm.softmax_accurate, "axis": 1}
    with pytest.raises(InvalidArguments, match="(dst|src) must have the shape of (src|dst)"):
        dnnl.softmax_forward(engine, src=src, dst=D((5, 7), T), **words)
    assert dnnl.softmax_forward(engine, src=src, dst=src, **words).impl_info


def test_resizing_to_an_endless_axis(engine):
    """oneDNN keeps coefficients for each place; where they do not fit, its cache broke."""
    small, endless = D((1, 16, 3, 4), T), D((1, 16, 2**40, 8), T)
    words = {"algorithm": dnnl.algorithm.resampling_linear, "factors": (2.3, 2.0)}
    for _ in range(2):
        with pytest.raises(Unimplemented, match=r"sizes of dst must be less than 2\*\*30"):
            dnnl.resampling_forward(engine, prop_kind=TRAIN, src=small, dst=endless, **words)
        with pytest.raises(Unimplemented, match=r"sizes of diff_dst must be less than 2\*\*30"):
            dnnl.resampling_backward(
                engine, diff_src=small, diff_dst=endless, **words,
                hint_fwd_pd=dnnl.resampling_forward(
                    engine, prop_kind=TRAIN, src=small, dst=D((1, 16, 6, 8), T), **words
                ),
            )  # fmt: skip
