# SPDX-License-Identifier: Apache-2.0
"""What execute refuses, by name and before submission: oneDNN itself only counts arguments."""

import dpctl
import dpnp
import numpy as np
import pytest

from sycl_dnn import InvalidArguments, Unimplemented
from sycl_dnn import onednn as dnnl

F32 = dnnl.data_type.f32
TRAINING = dnnl.prop_kind.forward_training


def desc(*dims, data_type=F32, tag=None):
    return dnnl.MemoryDesc(dims, data_type, *([tag] if tag else []))


def filled(md, engine, value=7.0):
    array = dpnp.full(md.dims, value, dtype="f4", sycl_queue=engine.sycl_queue)
    engine.sycl_queue.wait()
    return dnnl.Memory(md, engine, array)


def values(memory):
    return memory.to_array().asnumpy()


@pytest.fixture
def relu(engine):
    d = desc(2, 8, 4, 4)
    pd = dnnl.eltwise_forward(
        engine, prop_kind=TRAINING, algorithm=dnnl.algorithm.eltwise_relu, src=d, dst=d
    )
    return dnnl.Primitive(pd)


@pytest.fixture
def relu_args(relu, engine):
    return {name: dnnl.Memory(desc(2, 8, 4, 4), engine) for name in ("src", "dst")}


WRONG = {
    "missing": (lambda args, e: args.pop("src"), "missing argument 'src'"),
    "extra": (lambda args, e: args.update(bias=args["src"]), "unexpected argument 'bias'"),
    "unknown name": (lambda args, e: args.update(data=args["src"]), "'data' is no execution arg"),
    "two names": (lambda args, e: args.update({1: args["src"]}), "unexpected|twice"),
    "small buffer": (
        lambda args, e: args.update(src=dnnl.Memory(desc(2, 8, 4, 3), e)),
        r"src must be f32 \(2, 8, 4, 4\) abcd, got f32 \(2, 8, 4, 3\) abcd",
    ),
    "other layout": (
        lambda args, e: args.update(dst=dnnl.Memory(desc(2, 8, 4, 4, tag="nhwc"), e)),
        "dst must be f32 .* abcd, got f32 .* acdb",
    ),
    "other dtype": (
        lambda args, e: args.update(
            src=dnnl.Memory(desc(2, 8, 4, 4, data_type=dnnl.data_type.s32), e)
        ),
        "src must be f32 .*, got s32",
    ),
    "host scalar": (
        lambda args, e: args.update(src=dnnl.Memory(dnnl.MemoryDesc.host_scalar(F32), 1.0)),
        "src must be f32 .*, got f32 host_scalar",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_misfitting_arguments_are_refused_by_name(case, relu, relu_args, engine, stream):
    change, message = WRONG[case]
    change(relu_args, engine)
    with pytest.raises(InvalidArguments, match=message):
        relu.execute(stream, relu_args)
    assert stream.pending == 0


def test_refusal_names_primitive_and_signature(relu, stream):
    with pytest.raises(InvalidArguments, match="eltwise_forward: .*it takes src -> dst"):
        relu.execute(stream, {})


@pytest.mark.parametrize("wrong", [None, 3, "array", object()], ids=repr)
def test_what_is_no_memory_is_a_type_error(relu, relu_args, stream, wrong):
    with pytest.raises(TypeError, match="dst must be a Memory"):
        relu.execute(stream, {**relu_args, "dst": wrong})
    with pytest.raises(TypeError):
        relu.execute(stream, wrong)


def test_array_instead_of_memory_is_a_type_error(relu, relu_args, stream):
    array = relu_args["src"].to_array()
    with pytest.raises(TypeError, match="src must be a Memory, got dpnp_array"):
        relu.execute(stream, {**relu_args, "src": array})


def test_depends_must_hold_events(relu, relu_args, stream):
    with pytest.raises(TypeError, match=r"dpctl\.SyclEvent"):
        relu.execute(stream, relu_args, [1])
    with pytest.raises(TypeError, match="depends"):
        relu.execute(stream, relu_args, 1)


def test_arguments_go_by_name_number_or_alias(relu, relu_args, stream):
    src, dst = relu_args["src"], relu_args["dst"]
    for args in ({"src_0": src, "dst_0": dst}, {dnnl.arg.src: src, 17: dst}):
        relu.execute(stream, args).wait()


@pytest.mark.parametrize("view", ["read-only", "broadcast"])
def test_outputs_must_be_writable(relu, relu_args, engine, stream, view):
    array = dpnp.zeros((2, 8, 4, 4), dtype="f4", sycl_queue=engine.sycl_queue)
    if view == "read-only":
        array.flags.writable = False
        frozen = dnnl.Memory.from_array(array, engine)
        relu.execute(stream, {**relu_args, "src": frozen}).wait()
    else:
        array = dpnp.broadcast_to(array[:1], (2, 8, 4, 4))
        frozen = dnnl.Memory.from_array(array, engine)
        assert not frozen.writable
    with pytest.raises(InvalidArguments, match="dst must be"):
        relu.execute(stream, {**relu_args, "dst": frozen})


def test_in_place_is_for_primitives_that_can(relu, engine, stream):
    memory = filled(desc(2, 8, 4, 4), engine, -3.0)
    relu.execute(stream, {"src": memory, "dst": memory}).wait()
    assert (values(memory) == 0).all()
    d = desc(4, 4)
    matmul = dnnl.Primitive(dnnl.matmul(engine, src=d, weights=d, dst=d))
    a, b = filled(d, engine), filled(d, engine)
    with pytest.raises(InvalidArguments, match="dst must not share its memory with src"):
        matmul.execute(stream, {"src": a, "weights": b, "dst": a})
    row = dpnp.zeros((5, 4), dtype="f4", sycl_queue=engine.sycl_queue)
    upper, lower = (dnnl.Memory.from_array(view, engine) for view in (row[:4], row[1:]))
    with pytest.raises(InvalidArguments, match="dst must not share its memory with weights"):
        matmul.execute(stream, {"src": a, "weights": upper, "dst": lower})
    small = desc(4, 4)
    relu_small = dnnl.Primitive(
        dnnl.eltwise_forward(
            engine, prop_kind=TRAINING, algorithm=dnnl.algorithm.eltwise_relu, src=small, dst=small
        )
    )
    with pytest.raises(InvalidArguments, match="dst must not share its memory with src"):
        relu_small.execute(stream, {"src": upper, "dst": lower})


def quantised_matmul(engine, **scales):
    attr = dnnl.PrimitiveAttr()
    for name, mask in scales.items():
        attr.set_scales_mask(name, mask)
    s8 = dnnl.data_type.s8
    src, weights = desc(2, 4, data_type=s8), desc(4, 3, data_type=s8)
    return dnnl.Primitive(dnnl.matmul(engine, src=src, weights=weights, dst=desc(2, 3), attr=attr))


def test_omitted_or_short_scale_is_refused(engine, stream):
    primitive = quantised_matmul(engine, src=0, weights=2)
    names = primitive.arguments
    args = {n: dnnl.Memory(names[n]["desc"], engine) for n in ("src", "weights", "dst")}
    with pytest.raises(InvalidArguments, match="missing argument 'attr_scales_src'"):
        primitive.execute(stream, args)
    args["attr_scales_src"] = filled(desc(1), engine)
    args["attr_scales_weights"] = filled(desc(2), engine)
    with pytest.raises(InvalidArguments, match="attr_scales_weights must be 3 f32 values, got"):
        primitive.execute(stream, args)
    args["attr_scales_weights"] = filled(desc(3), engine)
    primitive.execute(stream, args).wait()


def test_scratchpad_from_pool_or_from_caller(engine, stream):
    pd = convolution(engine)
    primitive = dnnl.Primitive(pd)
    slots = primitive.arguments
    args = {n: filled_any(s["desc"], engine) for n, s in slots.items() if s["required"]}
    primitive.execute(stream, args).wait()
    if pd.scratchpad_desc.size:
        assert not slots["scratchpad"]["required"]
        before = dnnl.scratchpad_info()["buffers"]
        own = dnnl.Memory(pd.scratchpad_desc, engine)
        primitive.execute(stream, {**args, "scratchpad": own}).wait()
        assert dnnl.scratchpad_info()["buffers"] == before
        with pytest.raises(InvalidArguments, match="scratchpad must be"):
            primitive.execute(stream, {**args, "scratchpad": filled(desc(1), engine)})


def filled_any(md, engine):
    return dnnl.Memory(md, engine)


def convolution(engine):
    """Gradient of the weights: an implementation that wants a scratchpad."""
    window = {"strides": (1, 1), "padding_l": (1, 1), "padding_r": (1, 1)}
    window["algorithm"] = dnnl.algorithm.convolution_direct
    src, wei, dst = (desc(*d, tag="any") for d in ((2, 16, 9, 9), (16, 16, 3, 3), (2, 16, 9, 9)))
    forward = dnnl.convolution_forward(
        engine, prop_kind=TRAINING, src=src, weights=wei, dst=dst, **window
    )
    return dnnl.convolution_backward_weights(
        engine, src=src, diff_weights=wei, diff_dst=dst, hint_fwd_pd=forward, **window
    )


def test_idle_scratchpads_are_reused_and_freed(engine, stream):
    primitive = dnnl.Primitive(convolution(engine))
    slots = primitive.arguments
    args = {n: filled_any(s["desc"], engine) for n, s in slots.items() if s["required"]}
    dnnl.clear_scratchpads()
    for _ in range(50):
        primitive.execute(stream, args).wait()
    info = dnnl.scratchpad_info()
    assert info["buffers"] <= 1
    assert info["busy"] == 0
    dnnl.clear_scratchpads()
    assert dnnl.scratchpad_info()["buffers"] == 0


@pytest.mark.parametrize("bias", [None, 7.0])
@pytest.mark.parametrize("post_op", [False, True])
def test_matmul_over_nothing_writes_its_result(engine, stream, bias, post_op):
    attr = dnnl.PrimitiveAttr()
    if post_op:
        ops = dnnl.PostOps()
        ops.append_eltwise(dnnl.algorithm.eltwise_linear, 2.0, 1.0)
        attr.set_post_ops(ops)
    given = {"src": desc(2, 0), "weights": desc(0, 3), "dst": desc(2, 3)}
    if bias is not None:
        given["bias"] = desc(1, 3)
    primitive = dnnl.Primitive(dnnl.matmul(engine, **given, attr=attr))
    args = {name: filled(md, engine) for name, md in given.items()}
    primitive.execute(stream, args).wait()
    expected = (bias or 0.0) * (2 if post_op else 1) + (1 if post_op else 0)
    assert (values(args["dst"]) == expected).all()


def test_matmul_over_nothing_ignores_zero_points_of_the_factors(engine, stream):
    attr = dnnl.PrimitiveAttr()
    attr.set_zero_points_mask("src", 0)
    attr.set_scales_mask("weights", 2)
    s8, s32 = dnnl.data_type.s8, dnnl.data_type.s32
    src, weights = desc(2, 0, data_type=s8), desc(0, 3, data_type=s8)
    pd = dnnl.matmul(engine, src=src, weights=weights, dst=desc(2, 3), attr=attr)
    shift = dpnp.full((1,), 5, dtype="i4", sycl_queue=engine.sycl_queue)
    args = {
        "src": dnnl.Memory(src, engine),
        "weights": dnnl.Memory(weights, engine),
        "dst": filled(desc(2, 3), engine),
        "attr_zero_points_src": dnnl.Memory(desc(1, data_type=s32), engine, shift),
        "attr_scales_weights": filled(desc(3), engine),
    }
    dnnl.Primitive(pd).execute(stream, args).wait()
    assert (values(args["dst"]) == 0).all()


def test_concat_of_an_empty_source_writes_the_others(engine, stream):
    srcs = [desc(2, 0), desc(2, 3), desc(2, 0), desc(2, 1)]
    pd = dnnl.concat(engine, concat_dimension=1, srcs=srcs, dst=desc(2, 4))
    args = {f"multiple_src_{i}": filled(md, engine, float(i)) for i, md in enumerate(srcs)}
    args["dst"] = filled(desc(2, 4), engine)
    primitive = dnnl.Primitive(pd)
    primitive.execute(stream, args).wait()
    assert values(args["dst"]).tolist() == [[1, 1, 1, 3]] * 2
    del args["multiple_src_2"]
    with pytest.raises(InvalidArguments, match="missing argument 'multiple_src_2'"):
        primitive.execute(stream, args)


def test_statistics_of_nothing_are_refused(engine):
    d = desc(0, 4, 2, 2)
    pd = dnnl.batch_normalization_forward(engine, prop_kind=TRAINING, src=d, dst=d, epsilon=1e-5)
    with pytest.raises(Unimplemented, match="leaves mean unwritten"):
        dnnl.Primitive(pd)


def test_runtime_shapes_must_fit_together(engine, stream):
    any_dim = dnnl.RUNTIME_DIM_VAL
    open_desc = dnnl.MemoryDesc((any_dim, any_dim), F32, "ab")
    pd = dnnl.matmul(engine, src=open_desc, weights=open_desc, dst=open_desc)
    primitive = dnnl.Primitive(pd)

    def args(m, k, k2, n):
        shapes = {"src": (m, k), "weights": (k2, n), "dst": (m, n)}
        return {name: filled(desc(*s), engine, 1.0) for name, s in shapes.items()}

    for shape in ((2, 5, 5, 3), (4, 2, 2, 6)):
        given = args(*shape)
        primitive.execute(stream, given).wait()
        assert (values(given["dst"]) == shape[1]).all()
    with pytest.raises(InvalidArguments, match="must fit together"):
        primitive.execute(stream, args(2, 5, 4, 3))
    with pytest.raises(Unimplemented, match="K must not be 0"):
        primitive.execute(stream, args(2, 0, 0, 3))
    bad = args(2, 5, 5, 3)
    bad["src"] = dnnl.Memory(desc(2, 5, data_type=dnnl.data_type.s32), engine)
    with pytest.raises(InvalidArguments, match="src must be f32"):
        primitive.execute(stream, bad)


def gru(engine, flags):
    left = dnnl.rnn_direction.unidirectional_left2right
    state = {
        "src_layer": desc(3, 2, 4), "src_iter": desc(1, 1, 2, 4),
        "weights_layer": desc(1, 1, 4, 3, 4), "weights_iter": desc(1, 1, 4, 3, 4),
        "bias": desc(1, 1, 4, 4), "dst_layer": desc(3, 2, 4), "dst_iter": desc(1, 1, 2, 4),
    }  # fmt: skip
    forward = dnnl.lbr_gru_forward(engine, prop_kind=TRAINING, direction=left, **state)
    both = {**state, **{f"diff_{name}": md for name, md in state.items()}}
    for name in ("weights_layer", "weights_iter"):
        both[name] = desc(1, 1, 4, 3, 4, tag="ldgoi")
    backward = dnnl.lbr_gru_backward(
        engine, prop_kind=dnnl.prop_kind.backward, direction=left, **both, flags=flags,
        hint_fwd_pd=forward,
    )  # fmt: skip
    return dnnl.Primitive(forward), dnnl.Primitive(backward)


def random_args(primitive, engine):
    """Memories for all arguments; random numbers in all but workspace and scratchpad."""
    rng = np.random.default_rng(0)
    args = {}
    for name, slot in primitive.arguments.items():
        args[name] = dnnl.Memory(slot["desc"], engine)
        if name not in ("workspace", "scratchpad"):
            noise = rng.standard_normal(slot["desc"].dims).astype("f4")
            noise = dpnp.asarray(noise, sycl_queue=engine.sycl_queue)
            args[name].to_array()[...] = noise
    engine.sycl_queue.wait()
    return args


@pytest.mark.parametrize("flag", ["undef", "diff_weights_overwrite"])
def test_rnn_weight_gradients_are_added_unless_told_otherwise(engine, stream, flag):
    forward, backward = gru(engine, dnnl.rnn_flags[flag])
    done = random_args(forward, engine)
    forward.execute(stream, done).wait()
    args = {**random_args(backward, engine), "workspace": done["workspace"]}
    gradient = args["diff_weights_layer"].to_array()
    results = []
    for start in (0.0, 100.0):
        gradient[...] = start
        engine.sycl_queue.wait()
        backward.execute(stream, args).wait()
        results.append(gradient.asnumpy())
    shift = 0.0 if flag == "diff_weights_overwrite" else 100.0
    np.testing.assert_allclose(results[1] - shift, results[0], atol=1e-4)


def test_a_refused_call_leaves_everything_usable(relu, relu_args, stream):
    for _ in range(100):
        with pytest.raises(InvalidArguments):
            relu.execute(stream, {"src": relu_args["src"]})
    relu.execute(stream, relu_args).wait()
    stream.wait()
    assert stream.pending == 0


def test_reorder_between_engines_is_refused_on_the_stream_of_dst(engine):
    """Of two CPU engines oneDNN runs it on that of src; the message says so before submission."""
    context = dpctl.SyclContext([engine.sycl_device])
    other = dnnl.Engine(dpctl.SyclQueue(context, engine.sycl_device))
    d = desc(2, 8)
    reorder = dnnl.Primitive(dnnl.reorder(engine, src=d, dst=d, dst_engine=other))
    args = {"src": dnnl.Memory(d, engine), "dst": dnnl.Memory(d, other)}
    wrong = dnnl.Stream(other)
    with pytest.raises(InvalidArguments, match="reorder: stream must be on src's engine"):
        reorder.execute(wrong, args)
    assert wrong.pending == 0
    reorder.execute(dnnl.Stream(engine), args).wait()


def test_stream_of_another_engine_is_refused(engine, relu, relu_args):
    context = dpctl.SyclContext([engine.sycl_device])
    other = dnnl.Engine(dpctl.SyclQueue(context, engine.sycl_device))
    assert other != engine
    with pytest.raises(InvalidArguments, match="stream must be on the primitive's engine"):
        relu.execute(dnnl.Stream(other), relu_args)
    with pytest.raises(InvalidArguments, match="queue must be on the engine's device and context"):
        dnnl.Stream(engine, other.sycl_queue)
    foreign = dnnl.Memory(desc(2, 8, 4, 4), other)
    with pytest.raises(InvalidArguments, match="src must be in memory of the primitive's engine"):
        relu.execute(dnnl.Stream(engine), {**relu_args, "src": foreign})
