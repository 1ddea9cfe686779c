# SPDX-License-Identifier: Apache-2.0
"""Primitives over tensors without elements."""

import dpnp
import pytest
from filled_memory import desc, filled, values

from sycl_dnn import InvalidArguments, Unimplemented
from sycl_dnn import onednn as dnnl

TRAINING = dnnl.prop_kind.forward_training


@pytest.mark.parametrize("bias", [None, 7.0])
@pytest.mark.parametrize("post_op", [False, True])
def test_matmul_over_nothing_writes_its_result(engine, stream, bias, post_op):
    attr = dnnl.PrimitiveAttr()
    if post_op:
        ops = dnnl.PostOps()
        ops.append_eltwise(dnnl.algorithm.eltwise_linear, 2.0, 1.0)
        attr.set_post_ops(ops)
    inputs = {"src": desc(2, 0), "weights": desc(0, 3), "dst": desc(2, 3)}
    if bias is not None:
        inputs["bias"] = desc(1, 3)
    primitive = dnnl.Primitive(dnnl.matmul(engine, **inputs, attr=attr))
    args = {name: filled(md, engine) for name, md in inputs.items()}
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


def test_empty_statistics_are_refused(engine):
    d = desc(0, 4, 2, 2)
    # On GPUs its descriptor alone may end the process.
    with pytest.raises(Unimplemented, match="leaves mean unwritten|must not be 0"):
        dnnl.Primitive(
            dnnl.batch_normalization_forward(engine, prop_kind=TRAINING, src=d, dst=d, epsilon=1e-5)
        )
