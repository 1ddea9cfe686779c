# SPDX-License-Identifier: Apache-2.0
"""Arguments that oneDNN accepts but misreads, or reads past the end of, are refused beforehand."""

import re
import subprocess
import sys

import dpnp
import numpy as np
import pytest
from descriptors import require
from small_matmul import ANY_MATH, attr_of, ops_of

from sycl_dnn import InvalidArguments
from sycl_dnn import onednn as dnnl

T = dnnl.data_type
ALG = dnnl.algorithm
D = dnnl.MemoryDesc
FLAGS = dnnl.normalization_flags
SHAPE = (2, 16, 5, 3)


def added(engine, dst, condition, operand=(1, 16, 1, 1)):
    d = D(SHAPE, T.f32, dst)
    ops = ops_of(("append_binary", ALG.binary_select, D(operand, T.f32), condition))
    attr = attr_of(("set_post_ops", ops))
    zero = D((1, 1, 1, 1), T.f32)
    return dnnl.binary(engine, algorithm=ALG.binary_add, src0=d, src1=zero, dst=d, attr=attr)


@pytest.fixture
def selecting(engine):
    """An engine whose binary primitives take such a post-op: OpenCL C of GPUs has none."""
    d = D(SHAPE, T.f32, "nchw")
    ops = ops_of(("append_binary", ALG.binary_select, d, D(SHAPE, T.s8, "nchw")))
    pd = dnnl.binary(
        engine, algorithm=ALG.binary_add, src0=d, src1=d, dst=d,
        attr=attr_of(("set_post_ops", ops)), allow_empty=True,
    )  # fmt: skip
    require(pd, engine, "binary with a select after it")
    return engine


@pytest.mark.parametrize("dst", ["nchw", "nhwc"])
@pytest.mark.parametrize(
    ("shape", "tag"),
    [((1, 16, 1, 1), "nchw"), ((2, 1, 1, 1), "nchw"), ((1, 1, 1, 1), "any"), (SHAPE, "chwn")],
)
def test_condition_with_another_layout_is_refused(dst, shape, tag, selecting):
    with pytest.raises(InvalidArguments, match="_0_src_2 must have the shape and layout of dst"):
        added(selecting, dst, D(shape, T.s8, tag))


@pytest.mark.parametrize("tag", ["nchw", "nhwc"])
def test_condition_with_layout_of_dst_is_accepted_for_any_cache_state(tag, selecting):
    """oneDNN's cache does not tell conditions apart: each refused one must leave it alone."""
    for other in ("nchw", "nhwc"):
        if other != tag:
            with pytest.raises(InvalidArguments):
                added(selecting, tag, D(SHAPE, T.s8, other))
        pd = added(selecting, tag, D(SHAPE, T.s8, tag))
        dnnl.Primitive(pd)
        assert pd.desc_of("attr_post_op_0_src_2") == D(SHAPE, T.s8, tag)


def test_condition_of_another_type_is_refused():
    with pytest.raises(InvalidArguments, match="append_binary: src2_desc must be s8, got u8"):
        ops_of(("append_binary", ALG.binary_select, D(SHAPE, T.f32), D(SHAPE, T.u8)))


def product(engine, types, *calls):
    src, weights, dst = (T[name] for name in types.split())
    return dnnl.matmul(
        engine, src=D((5, 64), src), weights=D((64, 48), weights), dst=D((5, 48), dst),
        attr=attr_of(*calls),
    )  # fmt: skip


#: data types, setter call; the selected implementation decides
ALONG_K = {
    "src, K alone": ("u8 s8 f32", ("set_scales", "src", 2, (1, 16))),
    "src, groups of rows": ("u8 s8 f32", ("set_scales", "src", 3, (16, 1))),
    "weights, K alone": ("u8 s8 f32", ("set_scales_mask", "weights", 1)),
    "weights, each value": ("u8 s8 f32", ("set_scales_mask", "weights", 3)),
    "weights of f32, K alone": ("f32 f32 f32", ("set_scales_mask", "weights", 1)),
    "decompression, K alone": ("f32 s8 f32", ("set_scales", "weights", 1, (16, 1)), ANY_MATH),
    "zero points, K alone": (
        "f32 s8 f32", ("set_zero_points", "weights", 1, (16, 1), T.s8), ANY_MATH,
    ),
    "zero points, groups of columns": (
        "f32 s8 f32", ("set_zero_points", "weights", 3, (1, 16), T.s8), ANY_MATH,
    ),
}  # fmt: skip


def assert_scales_of_groups_are_read(pd, stream):
    """Compare with NumPy where scales of the source differ along K alone, in groups of 16."""
    rng = np.random.default_rng(0)
    src, weights = rng.integers(0, 8, (5, 64)), rng.integers(-4, 5, (64, 48))
    scales = np.array([0.5, 1.0, 2.0, 4.0])
    inputs = {"src": src.astype("u1"), "weights": weights.astype("i1")}
    inputs |= {"attr_scales_src": scales.astype("f4"), "dst": np.zeros((5, 48), "f4")}
    arrays = {n: dpnp.asarray(a, sycl_queue=stream.sycl_queue) for n, a in inputs.items()}
    memories = {n: dnnl.Memory.from_array(a, stream.engine) for n, a in arrays.items()}
    dnnl.Primitive(pd).execute(stream, memories).wait()
    expected = (src * np.repeat(scales, 16)) @ weights
    np.testing.assert_array_equal(dpnp.asnumpy(arrays["dst"]), expected)


@pytest.mark.cpu  # their implementations read these scales wrong
@pytest.mark.parametrize("case", ALONG_K)
def test_scales_along_k_that_are_read_wrong_are_refused(case, engine):
    types, *calls = ALONG_K[case]
    try:
        pd = product(engine, types, *calls)
    except InvalidArguments as error:
        assert re.search(r"matmul: mask of attr_(scales|zero_points)_", str(error))  # noqa: PT017
        return
    # Without AVX-512 oneDNN uses its reference for some, which reads them correctly.
    assert pd.impl_info.startswith("ref")
    assert case == "src, K alone"
    assert_scales_of_groups_are_read(pd, dnnl.Stream(engine))


def test_scales_in_groups_along_k_are_accepted(engine):
    pd = product(engine, "u8 s8 f32", ("set_scales", "weights", 3, (16, 1)))
    assert dnnl.Primitive(pd).arguments["attr_scales_weights"]["count"] == 4 * 48


def cell(engine, count, mask):
    src, state = D((3, 2, 16), T.u8), D((1, 1, 2, 16), T.u8)
    weights = D((1, 1, 16, 4, 16), T.s8, "any")
    memory, bias = D((1, 1, 2, 16), T.f32), D((1, 1, 4, 16), T.f32)
    attr = attr_of(
        ("set_rnn_data_qparams", 32.0, 64.0), ("set_rnn_weights_qparams", mask, [1.0] * count)
    )
    return dnnl.lstm_forward(
        engine, prop_kind=dnnl.prop_kind.forward_inference,
        direction=dnnl.rnn_direction.unidirectional_left2right, src_layer=src, src_iter=state,
        src_iter_c=memory, weights_layer=weights, weights_iter=weights, bias=bias,
        dst_layer=src, dst_iter=state, dst_iter_c=memory, attr=attr, allow_empty=True,
    )  # fmt: skip


@pytest.mark.cpu  # 8-bit LSTMs are refused on GPUs: lstm-integers-gpu
@pytest.mark.parametrize(("count", "mask"), [(63, 24), (65, 24), (2, 0)])
def test_scales_of_cells_must_be_as_many_as_the_mask_says(count, mask, engine):
    require(cell(engine, 64, 24), engine, "8-bit LSTM")
    with pytest.raises(InvalidArguments, match=f"scales must be .* got {count}"):
        cell(engine, count, mask)


def test_scales_of_cells_must_be_finite():
    for setter in ("set_rnn_weights_qparams", "set_rnn_weights_projection_qparams"):
        with pytest.raises(InvalidArguments, match=f"{setter}: scales must be finite, got nan"):
            attr_of((setter, 24, [dnnl.RUNTIME_F32_VAL] * 64))


@pytest.mark.parametrize("flags", [FLAGS.use_scale, FLAGS.use_scale | FLAGS.use_shift])
@pytest.mark.parametrize("groups", [None, 4])
def test_data_gradient_of_scaled_normalization_runs(flags, groups, engine, stream):
    d = D((4, 8, 6, 6), T.f32)
    name, more = ("group", {"groups": groups}) if groups else ("batch", {})
    forward, backward = (
        getattr(dnnl, f"{name}_normalization_{way}") for way in ("forward", "backward")
    )
    hint = forward(
        engine, prop_kind=dnnl.prop_kind.forward_training, src=d, dst=d, epsilon=1e-5, flags=flags,
        **more,
    )  # fmt: skip
    pd = backward(
        engine, prop_kind=dnnl.prop_kind.backward_data, diff_src=d, diff_dst=d, src=d,
        epsilon=1e-5, flags=flags, hint_fwd_pd=hint, **more,
        allow_empty=True,
    )  # fmt: skip
    require(pd, engine, f"gradient of {name}_normalization")
    primitive = dnnl.Primitive(pd)
    args = {n: dnnl.Memory(s["desc"], engine) for n, s in primitive.arguments.items()}
    for memory in args.values():
        memory.zero(stream).wait()
    primitive.execute(stream, args).wait()
    assert not args["diff_src"].to_array().asnumpy().any()


EMPTY_WEIGHTS = """
from sycl_dnn import Unimplemented, onednn as dnnl
D, T = dnnl.MemoryDesc, dnnl.data_type.f32
engine = dnnl.Engine("cpu")
d, w = D((2, 0, 4, 3), T), D((1, 0, 1, 1), T)
training = dnnl.prop_kind.forward_training
hint = dnnl.prelu_forward(engine, prop_kind=training, src=d, weights=w, dst=d)
def slopes():
    return dnnl.prelu_backward(engine, src=d, weights=w, diff_src=d, diff_weights=w, diff_dst=d,
                               hint_fwd_pd=hint)
def cell():
    direction = dnnl.rnn_direction.unidirectional_left2right
    return dnnl.gru_forward(engine, prop_kind=training, direction=direction,
                            src_layer=D((3, 2, 4), T),
                            weights_layer=D((1, 1, 4, 3, 0), T), weights_iter=D((1, 1, 0, 3, 0), T),
                            dst_layer=D((3, 2, 0), T))
for make in (slopes, cell):
    try:
        make()
    except Unimplemented as error:
        print("oneDNN divides" in Exception.__str__(error))
"""


@pytest.mark.slow
def test_empty_weights_do_not_end_the_process():
    """In a separate process, because oneDNN divides by zero."""
    done = subprocess.run([sys.executable, "-c", EMPTY_WEIGHTS], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "True\nTrue\n"), done.stderr


def test_argument_numbers_beyond_32_bits_are_refused(engine, stream):
    d = D((2, 3), T.f32)
    kind = dnnl.prop_kind.forward_inference
    pd = dnnl.eltwise_forward(engine, prop_kind=kind, algorithm=ALG.eltwise_relu, src=d, dst=d)
    with pytest.raises(InvalidArguments, match=f"argument must be .* got {2**40}"):
        dnnl.Primitive(pd).execute(stream, {2**40: dnnl.Memory(d, engine)})
    with pytest.raises(InvalidArguments, match=f"got {2**70}"):
        dnnl.PrimitiveAttr().set_scales_mask(2**70, 0)


@pytest.mark.parametrize("local_size", [1, 2, 3])
@pytest.mark.parametrize("tag", ["nchw", "nhwc"])
def test_gradient_of_a_narrow_lrn_avoids_the_crashing_implementation(local_size, tag, engine):
    """Making the compiled one for one or two channels ends the process."""
    d = D((2, 1 if tag == "nchw" else 16, 3, 3), T.f32, tag)
    same = {"algorithm": ALG.lrn_across_channels, "local_size": local_size}
    same |= {"alpha": 1.0, "beta": 0.75, "k": 1.0}
    forward = dnnl.lrn_forward(
        engine, prop_kind=dnnl.prop_kind.forward_training, src=d, dst=d, **same
    )
    pd = dnnl.lrn_backward(engine, diff_src=d, diff_dst=d, src=d, hint_fwd_pd=forward, **same)
    assert dnnl.Primitive(pd).primitive_desc.impl_info == pd.impl_info
    assert local_size > 2 or not pd.impl_info.startswith("lrn_jit")
