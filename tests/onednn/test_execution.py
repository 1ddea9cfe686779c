# SPDX-License-Identifier: Apache-2.0
"""Refusals of execute, by name and before submission; oneDNN itself only counts arguments."""

import dpctl
import dpnp
import pytest
from filled_memory import desc, filled, values

from sycl_dnn import InvalidArguments, Unimplemented
from sycl_dnn import onednn as dnnl

F32 = dnnl.data_type.f32
TRAINING = dnnl.prop_kind.forward_training

WRONG = {
    "missing": (lambda args, e: args.pop("src"), "missing argument 'src'"),
    "extra": (lambda args, e: args.update(bias=args["src"]), "unexpected argument 'bias'"),
    "unknown name": (
        lambda args, e: args.update(data=args["src"]),
        "'data' is not an execution arg",
    ),
    "two names": (lambda args, e: args.update({1: args["src"]}), "unexpected|under two names"),
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
def test_mismatched_arguments_are_refused_by_name(case, relu, relu_args, engine, stream):
    change, message = WRONG[case]
    change(relu_args, engine)
    with pytest.raises(InvalidArguments, match=message):
        relu.execute(stream, relu_args)
    assert stream.pending == 0


def test_refusal_names_primitive_and_signature(relu, stream):
    with pytest.raises(InvalidArguments, match="eltwise_forward: .*it takes src -> dst"):
        relu.execute(stream, {})


@pytest.mark.parametrize("wrong", [None, 3, "array", object], ids=repr)
def test_non_memory_is_a_type_error(relu, relu_args, stream, wrong):
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


def test_arguments_by_name_number_or_alias(relu, relu_args, stream):
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


def quantized_matmul(engine, **scales):
    attr = dnnl.PrimitiveAttr()
    for name, mask in scales.items():
        attr.set_scales_mask(name, mask)
    s8 = dnnl.data_type.s8
    src, weights = desc(2, 4, data_type=s8), desc(4, 3, data_type=s8)
    return dnnl.Primitive(dnnl.matmul(engine, src=src, weights=weights, dst=desc(2, 3), attr=attr))


def test_omitted_or_short_scale_is_refused(engine, stream):
    primitive = quantized_matmul(engine, src=0, weights=2)
    names = primitive.arguments
    args = {n: dnnl.Memory(names[n]["desc"], engine) for n in ("src", "weights", "dst")}
    with pytest.raises(InvalidArguments, match="missing argument 'attr_scales_src'"):
        primitive.execute(stream, args)
    args["attr_scales_src"] = filled(desc(1), engine)
    args["attr_scales_weights"] = filled(desc(2), engine)
    with pytest.raises(InvalidArguments, match="attr_scales_weights must be 3 f32 values in row-m"):
        primitive.execute(stream, args)
    args["attr_scales_weights"] = filled(desc(3), engine)
    primitive.execute(stream, args).wait()


def test_runtime_shapes_must_fit_together(engine, stream):
    any_dim = dnnl.RUNTIME_DIM_VAL
    open_desc = dnnl.MemoryDesc((any_dim, any_dim), F32, "ab")
    pd = dnnl.matmul(engine, src=open_desc, weights=open_desc, dst=open_desc)
    primitive = dnnl.Primitive(pd)

    def args(m, k, k2, n):
        shapes = {"src": (m, k), "weights": (k2, n), "dst": (m, n)}
        return {name: filled(desc(*s), engine, 1.0) for name, s in shapes.items()}

    for shape in ((2, 5, 5, 3), (4, 2, 2, 6)):
        provided = args(*shape)
        primitive.execute(stream, provided).wait()
        assert (values(provided["dst"]) == shape[1]).all()
    with pytest.raises(InvalidArguments, match="must fit together"):
        primitive.execute(stream, args(2, 5, 4, 3))
    with pytest.raises(Unimplemented, match="K must not be 0"):
        primitive.execute(stream, args(2, 0, 0, 3))
    bad = args(2, 5, 5, 3)
    bad["src"] = dnnl.Memory(desc(2, 5, data_type=dnnl.data_type.s32), engine)
    with pytest.raises(InvalidArguments, match="src must be f32"):
        primitive.execute(stream, bad)


def test_a_refused_call_leaves_everything_usable(relu, relu_args, stream):
    for _ in range(100):
        with pytest.raises(InvalidArguments):
            relu.execute(stream, {"src": relu_args["src"]})
    relu.execute(stream, relu_args).wait()
    stream.wait()
    assert stream.pending == 0


# --- Other engines


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
