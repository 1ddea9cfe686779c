# SPDX-License-Identifier: Apache-2.0
"""PrimitiveAttr and PostOps: each setter's effect on arguments and numbers, copies, equality."""

import copy
import pickle
import subprocess
import sys

import dpnp
import numpy as np
import pytest
from case_runner import download, upload

from sycl_dnn import DnnlError, InvalidArguments, OutOfMemory
from sycl_dnn import onednn as dnnl

T = dnnl.data_type
ALG = dnnl.algorithm
F32 = T.f32
M, K, N = 4, 32, 8


def desc(*dims, data_type=F32, tag=None):
    return dnnl.MemoryDesc(dims, data_type, *([tag] if tag else []))


def attr_of(*calls):
    """The attributes after some calls: (setter, arguments...)."""
    attr = dnnl.PrimitiveAttr()
    for setter, *arguments in calls:
        getattr(attr, setter)(*arguments)
    return attr


def ops_of(*calls):
    ops = dnnl.PostOps()
    for method, *arguments in calls:
        getattr(ops, method)(*arguments)
    return ops


def matmul(engine, attr=None, types="f32 f32 f32", n=N, **options):
    src, weights, dst = (T[name] for name in types.split())
    return dnnl.matmul(
        engine, src=desc(M, K, data_type=src), weights=desc(K, n, data_type=weights),
        dst=desc(M, n, data_type=dst), attr=attr, **options,
    )  # fmt: skip


STOCHASTIC = dnnl.rounding_mode.stochastic
MX = dnnl.quantization_mode.dynamic_mx
ANY_MATH = ("set_fpmath_mode", dnnl.fpmath_mode.any, True)
I8 = "u8 s8 f32"
#: data types, calls, arguments that they add: name -> (count, data type, is output)
EFFECTS = {
    "scale": (I8, [("set_scales_mask", "src", 0)], {"attr_scales_src": (1, "f32", False)}),
    "scale per channel": (
        I8, [("set_scales_mask", "weights", 2)], {"attr_scales_weights": (N, "f32", False)},
    ),
    "scale per element": (
        I8, [("set_scales_mask", "weights", 3)], {"attr_scales_weights": (K * N, "f32", False)},
    ),
    "scale by number": (
        I8, [("set_scales_mask", dnnl.arg.src, 0)], {"attr_scales_src": (1, "f32", False)},
    ),
    "scales of all": (
        "u8 s8 u8", [("set_scales_mask", name, 0) for name in ("src", "weights", "dst")],
        {f"attr_scales_{name}": (1, "f32", False) for name in ("src", "weights", "dst")},
    ),
    "groups": (
        "f32 u8 f32", [("set_scales", "weights", 3, (16, 1)), ANY_MATH],
        {"attr_scales_weights": (K // 16 * N, "f32", False)},
    ),
    "host scale": (I8, [("set_host_scale", "src")], {"attr_scales_src": (None, "f32", False)}),
    "host zero point": (
        I8, [("set_host_zero_point", "src")], {"attr_zero_points_src": (None, "s32", False)},
    ),
    "zero point": (
        I8, [("set_zero_points_mask", "src", 0)], {"attr_zero_points_src": (1, "s32", False)},
    ),
    "zero points in groups": (
        "f32 u8 f32",
        [("set_scales", "weights", 3, (16, 1)), ("set_zero_points", "weights", 3, (16, 1), T.u8),
         ANY_MATH],
        {"attr_scales_weights": (16, "f32", False), "attr_zero_points_weights": (16, "u8", False)},
    ),
    "dropout": (
        "f32 f32 f32", [("set_dropout",)],
        {"attr_dropout_probability": (1, "f32", False), "attr_dropout_seed": (1, "s32", False)},
    ),
    "dropout on the host": (
        "f32 f32 f32", [("set_dropout", None, T.s64, True, True)],
        {"attr_dropout_probability": (None, "f32", False),
         "attr_dropout_seed": (None, "s64", False), "attr_dropout_offset": (None, "s64", False)},
    ),
    "rounding": (
        "bf16 bf16 bf16", [("set_rounding_mode", "dst", STOCHASTIC)],
        {"attr_rounding_seed": (1, "s32", False)},
    ),
    "dynamic scale": (
        "f32 f32 f8_e4m3", [("set_scales", "dst", 3, (1, 32), T.e8m0, False, MX)],
        {"attr_scales_dst": (M, "e8m0", True)},
    ),
    "precomputed sums": (
        "s8 u8 f32",
        [("set_zero_points", "weights", 3, (16, 1), T.u8), ("set_scales", "src", 3, (1, 16)),
         ("set_precomputed_reductions", "src", 3, (1, 16))],
        {"attr_zero_points_weights": (16, "u8", False), "attr_scales_src": (8, "f32", False),
         "attr_precomputed_reductions_src": (8, "s32", False)},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", EFFECTS)
def test_setter_adds_its_arguments(case, engine):
    types, calls, expected = EFFECTS[case]
    attr = attr_of(*calls)
    pd = matmul(engine, attr, types, n=32 if "f8" in types else N, allow_empty=True)
    if pd is None:
        pytest.skip("not on this device")
    arguments = dnnl.Primitive(pd).arguments
    added = {n: slot for n, slot in arguments.items() if n.startswith("attr_")}
    assert set(added) == set(expected)
    for name, (count, data_type, output) in expected.items():
        slot = added[name]
        assert count is None or slot["count"] == count
        assert (slot["data_type"].name, slot["output"]) == (data_type, output)
        assert slot["required"]
    assert pd.primitive_attr == attr


def test_default_attributes_add_nothing(engine):
    names = set(dnnl.Primitive(matmul(engine, dnnl.PrimitiveAttr())).arguments)
    assert names - {"scratchpad"} == {"src", "weights", "dst"}


def test_rounding_without_chance_needs_no_seed(engine):
    attr = attr_of(
        ("set_rounding_mode", "dst", STOCHASTIC),
        ("set_rounding_mode", "dst", dnnl.rounding_mode.environment),
    )
    assert "attr_rounding_seed" not in dnnl.Primitive(matmul(engine, attr)).arguments


def test_dropout_mask_is_an_output(engine):
    attr = attr_of(("set_dropout", desc(M, N, data_type=T.u8)))
    slot = dnnl.Primitive(matmul(engine, attr)).arguments["attr_dropout_mask"]
    assert slot["output"]
    assert slot["desc"] == desc(M, N, data_type=T.u8)


# --- numbers -------------------------------------------------------------------------------------


def array_memory(values, engine):
    return dnnl.Memory.from_array(dpnp.asarray(values, sycl_queue=engine.sycl_queue), engine)


def run(pd, stream, **values):
    """Execute with NumPy arrays or Memory objects by argument name; return the result."""
    primitive = dnnl.Primitive(pd)
    args = {}
    for name, value in values.items():
        args[name] = value if isinstance(value, dnnl.Memory) else array_memory(value, stream.engine)
    args.setdefault("dst", dnnl.Memory(pd.dst_desc, stream.engine))
    primitive.execute(stream, args).wait()
    return download(args["dst"], stream)


@pytest.fixture
def factors():
    rng = np.random.default_rng(0)
    src = rng.integers(0, 20, (M, K)).astype("u1")
    weights = rng.integers(-8, 9, (K, N)).astype("i1")
    return src, weights


#: mask of src scale, of weights scale, of src zero point, of dst scale and zero point; on the host
QUANTISED = {
    "per tensor": (0, 0, 0, None, False),
    "per channel": (0, 2, 0, None, False),
    "no zero point": (0, 2, None, None, False),
    "quantised result": (0, 2, 0, 0, False),
    "on the host": (0, None, 0, None, True),
}


@pytest.mark.parametrize("case", QUANTISED)
def test_int8_matmul_scales_and_shifts_as_numpy(case, engine, stream, factors):
    src_mask, weights_mask, zero_mask, dst_mask, on_host = QUANTISED[case]
    src, weights = factors
    values = {"src": src, "weights": weights}
    real = [src.astype("f8"), weights.astype("f8")]
    attr = dnnl.PrimitiveAttr()
    if zero_mask is not None:
        attr.set_host_zero_point("src") if on_host else attr.set_zero_points_mask("src", zero_mask)
        values["attr_zero_points_src"] = np.array([7], "i4")
        real[0] -= 7
    attr.set_host_scale("src") if on_host else attr.set_scales_mask("src", src_mask)
    values["attr_scales_src"] = np.array([0.25], "f4")
    real[0] *= 0.25
    if weights_mask is not None:
        attr.set_scales_mask("weights", weights_mask)
        scales = np.linspace(0.5, 2, N if weights_mask else 1).astype("f4")
        values["attr_scales_weights"] = scales
        real[1] *= scales
    expected = real[0] @ real[1]
    types = I8
    if dst_mask is not None:
        attr.set_scales_mask("dst", dst_mask)
        attr.set_zero_points_mask("dst", 0)
        values |= {"attr_scales_dst": np.array([4.0], "f4")}
        values |= {"attr_zero_points_dst": np.array([100], "i4")}
        expected = np.clip(np.rint(expected / 4 + 100), 0, 255)
        types = "u8 s8 u8"
    if on_host:
        for name, data_type in (("attr_scales_src", F32), ("attr_zero_points_src", T.s32)):
            scalar = dnnl.MemoryDesc.host_scalar(data_type)
            values[name] = dnnl.Memory(scalar, values[name][0])
    got = run(matmul(engine, attr, types), stream, **values)
    np.testing.assert_allclose(got.astype("f8"), expected, rtol=1e-6, atol=dst_mask is not None)


def test_dst_scale_divides(engine, stream):
    attr = attr_of(("set_scales_mask", "dst", 0))
    ones, scale = np.ones((M, K), "f4"), np.array([4.0], "f4")
    pd = matmul(engine, attr)
    got = run(pd, stream, src=ones, weights=np.ones((K, N), "f4"), attr_scales_dst=scale)
    assert (got == K / 4).all()


def test_integer_weights_are_scaled_in_groups(engine, stream):
    rng = np.random.default_rng(0)
    src = rng.integers(-3, 4, (M, K)).astype("f4")
    weights = rng.integers(0, 16, (K, N)).astype("u1")
    scales = rng.choice([0.5, 1, 2], (2, N)).astype("f4")
    shifts = rng.integers(0, 9, (2, N)).astype("u1")
    attr = attr_of(
        ("set_scales", "weights", 3, (16, 1)),
        ("set_zero_points", "weights", 3, (16, 1), T.u8),
        ANY_MATH,
    )
    got = run(
        matmul(engine, attr, "f32 u8 f32"), stream, src=src, weights=weights,
        attr_scales_weights=scales, attr_zero_points_weights=shifts,
    )  # fmt: skip
    real = (weights.astype("f8") - np.repeat(shifts, 16, 0)) * np.repeat(scales, 16, 0)
    np.testing.assert_allclose(got, src @ real, rtol=1e-5)


def relu(x):
    return np.maximum(x, 0)


ROW, CONDITION = np.arange(N, dtype="f4").reshape(1, N), np.arange(M * N).reshape(M, N) % 2
#: post-ops, their operands, the result from the product
CHAINS = {
    "sum": ([("append_sum",)], {}, lambda x: x + 3),
    "scaled sum": ([("append_sum", 2.0)], {}, lambda x: x + 6),
    "eltwise": ([("append_eltwise", ALG.eltwise_relu)], {}, relu),
    "eltwise with alpha": (
        [("append_eltwise", ALG.eltwise_relu, 0.5)], {}, lambda x: np.where(x > 0, x, x / 2),
    ),
    "linear": ([("append_eltwise", ALG.eltwise_linear, 2.0, 1.0)], {}, lambda x: 2 * x + 1),
    "binary add": (
        [("append_binary", ALG.binary_add, desc(1, N))], {"attr_post_op_0_src_1": ROW},
        lambda x: x + ROW,
    ),
    "binary max": (
        [("append_binary", ALG.binary_max, desc(1, 1))],
        {"attr_post_op_0_src_1": np.full((1, 1), 5, "f4")}, lambda x: np.maximum(x, 5),
    ),
    "prelu": (
        [("append_prelu", 2)], {"attr_post_op_0_weights": ROW[0]},
        lambda x: np.where(x > 0, x, x * ROW),
    ),
    "select": (
        [("append_binary", ALG.binary_select, desc(1, N), desc(M, N, data_type=T.s8))],
        {"attr_post_op_0_src_1": ROW, "attr_post_op_0_src_2": CONDITION.astype("i1")},
        lambda x: np.where(CONDITION, x, ROW),
    ),
    "chain": (
        [("append_eltwise", ALG.eltwise_relu), ("append_sum", -1.0),
         ("append_binary", ALG.binary_mul, desc(1, N)), ("append_eltwise", ALG.eltwise_square)],
        {"attr_post_op_2_src_1": ROW}, lambda x: ((relu(x) - 3) * ROW) ** 2,
    ),
    "chain in another order": (
        [("append_binary", ALG.binary_mul, desc(1, N)), ("append_sum", -1.0),
         ("append_eltwise", ALG.eltwise_relu)],
        {"attr_post_op_0_src_1": ROW}, lambda x: relu(x * ROW - 3),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CHAINS)
def test_post_ops_compute_as_numpy(case, engine, stream):
    calls, operands, function = CHAINS[case]
    rng = np.random.default_rng(0)
    src, weights = (rng.integers(-3, 4, s).astype("f4") for s in ((M, K), (K, N)))
    attr = attr_of(("set_post_ops", ops_of(*calls)))
    pd = matmul(engine, attr)
    names = {n for n in dnnl.Primitive(pd).arguments if n.startswith("attr_")}
    assert names == set(operands)
    dst = array_memory(np.full((M, N), 3, "f4"), engine)
    got = run(pd, stream, src=src, weights=weights, dst=dst, **operands)
    np.testing.assert_allclose(got, function(src @ weights), rtol=1e-5)


def test_operand_of_any_layout_is_chosen_by_the_primitive(engine):
    ops = ops_of(("append_binary", ALG.binary_add, desc(M, N, tag="any")))
    pd = matmul(engine, attr_of(("set_post_ops", ops)))
    chosen = pd.desc_of("attr_post_op_0_src_1")
    assert chosen.format_kind is dnnl.format_kind.blocked
    assert chosen.dims == (M, N)


def test_depthwise_convolution_follows(engine, stream):
    attr = attr_of(("set_post_ops", ops_of(("append_dw", F32, F32, F32, 3, 1, 1))))
    x = desc(2, 8, 6, 6, tag="any")
    pd = dnnl.convolution_forward(
        engine, prop_kind=dnnl.prop_kind.forward_inference, algorithm=ALG.convolution_direct,
        src=x, weights=desc(8, 8, 1, 1, tag="any"), dst=x, strides=(1, 1), padding_l=(0, 0),
        padding_r=(0, 0), attr=attr, allow_empty=True,
    )  # fmt: skip
    if pd is None:
        pytest.skip("not on this device")
    rng = np.random.default_rng(0)
    src = rng.integers(-3, 4, (2, 8, 6, 6)).astype("f4")
    pointwise = rng.integers(-3, 4, (8, 8, 1, 1)).astype("f4")
    depthwise, bias = rng.integers(-3, 4, (8, 1, 1, 3, 3)).astype("f4"), np.arange(8, dtype="f4")
    given = {"src": src, "weights": pointwise, "attr_post_op_dw_weights": depthwise}
    given["attr_post_op_dw_bias"] = bias
    primitive = dnnl.Primitive(pd)
    args = {n: upload(v, primitive.arguments[n]["desc"], stream) for n, v in given.items()}
    args["dst"] = dnnl.Memory(pd.dst_desc, engine)
    primitive.execute(stream, args).wait()
    middle = np.einsum("nchw,oc->nohw", src, pointwise[:, :, 0, 0])
    padded = np.pad(middle, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    expected = np.einsum("nchwij,cij->nchw", windows, depthwise[:, 0, 0]) + bias[:, None, None]
    np.testing.assert_allclose(download(args["dst"], stream), expected, rtol=1e-5)


@pytest.mark.parametrize("use_host_scalars", [False, True])
def test_dropout_zeroes_and_scales(use_host_scalars, engine, stream):
    mask = dnnl.Memory(desc(M, N, data_type=T.u8), engine)
    attr = attr_of(("set_dropout", mask.desc, T.s64, False, use_host_scalars))
    given = {"probability": (F32, 0.5, "f4"), "seed": (T.s64, 1234, "i8")}
    values = {}
    for name, (data_type, value, dtype) in given.items():
        scalar = dnnl.MemoryDesc.host_scalar(data_type)
        on_host = dnnl.Memory(scalar, value)
        values[f"attr_dropout_{name}"] = on_host if use_host_scalars else np.array([value], dtype)
    ones = {"src": np.ones((M, K), "f4"), "weights": np.ones((K, N), "f4")}
    pd = matmul(engine, attr)
    first = run(pd, stream, **ones, **values, attr_dropout_mask=mask)
    kept = mask.to_array().asnumpy()
    np.testing.assert_array_equal(first, np.where(kept, 2.0 * K, 0))
    assert 0 < kept.sum() < M * N
    np.testing.assert_array_equal(run(pd, stream, **ones, **values, attr_dropout_mask=mask), first)


# --- the objects ---------------------------------------------------------------------------------

ALL_OPS = [
    ("append_sum", 2.0, 1, T.s8),
    ("append_eltwise", ALG.eltwise_relu, 0.5),
    ("append_binary", ALG.binary_add, desc(1, N)),
    ("append_binary", ALG.binary_select, desc(1, N), desc(M, N, data_type=T.s8)),
    ("append_prelu", 2),
    ("append_dw", F32, F32, F32, 3, 1, 1),
]
SETTERS = {
    "set_scratchpad_mode": [(dnnl.scratchpad_mode.library,)],
    "set_fpmath_mode": [(dnnl.fpmath_mode.bf16,), (dnnl.fpmath_mode.tf32, True)],
    "set_accumulation_mode": [(dnnl.accumulation_mode.relaxed,)],
    "set_deterministic": [(True,)],
    "set_rounding_mode": [("dst", STOCHASTIC)],
    "set_dropout": [(), (desc(M, N, data_type=T.u8), T.s64, True, True)],
    "set_scales_mask": [("src", 0)],
    "set_scales": [("weights", 3, (16, 1), T.bf16)],
    "set_host_scale": [("src",), ("src", T.f16)],
    "set_zero_points_mask": [("src", 0)],
    "set_zero_points": [("weights", 3, (16, 1), T.u8)],
    "set_host_zero_point": [("src", T.s8)],
    "set_precomputed_reductions": [("src", 3, (1, 16))],
    "set_post_ops": [(dnnl.PostOps(),), (ops_of(*ALL_OPS),)],
    "set_rnn_data_qparams": [(2.0, 3.0)],
    "set_rnn_weights_qparams": [(0, [2.0]), (3, [1.0, 2.0])],
    "set_rnn_weights_projection_qparams": [(0, [2.0])],
}
EACH = [(name, args) for name, calls in SETTERS.items() for args in calls]


def test_every_setter_is_tried():
    assert set(SETTERS) == {n for n in dir(dnnl.PrimitiveAttr) if n.startswith("set_")}
    assert {op[0] for op in ALL_OPS} == {n for n in dir(dnnl.PostOps) if n.startswith("append_")}


@pytest.mark.parametrize("call", EACH, ids=lambda call: f"{call[0]}{len(call[1])}")
def test_attributes_compare_copy_and_pickle(call):
    setter, arguments = call
    attr, same, default = attr_of((setter, *arguments)), attr_of((setter, *arguments)), attr_of()
    assert attr == same != default
    assert hash(attr) == hash(same)
    assert repr(attr) == repr(same) != repr(default) == "PrimitiveAttr()"
    assert setter in repr(attr)
    (recorded,) = attr.get(setter)
    assert len(recorded) >= len(arguments)
    assert attr.calls == ((setter, recorded),)
    for twin in (
        attr.copy(),
        copy.copy(attr),
        copy.deepcopy(attr),
        pickle.loads(pickle.dumps(attr)),
    ):
        assert twin == attr
        twin.set_deterministic(True)
        twin.set_accumulation_mode(dnnl.accumulation_mode.any)
        assert twin != attr
        assert attr.accumulation_mode is same.accumulation_mode
    assert attr == same


def test_getters_tell_what_was_set():
    attr = dnnl.PrimitiveAttr()
    assert attr.scratchpad_mode is dnnl.scratchpad_mode.user
    assert attr.fpmath_mode == (dnnl.get_default_fpmath_mode(), False)
    assert attr.accumulation_mode is dnnl.accumulation_mode.strict
    assert attr.deterministic is False
    assert attr.get_rounding_mode("dst") is dnnl.rounding_mode.environment
    assert attr.get("set_scales_mask") == []
    attr = attr_of(*((name, *calls[-1]) for name, calls in SETTERS.items()))
    attr = pickle.loads(pickle.dumps(attr))
    assert attr.scratchpad_mode is dnnl.scratchpad_mode.library
    assert attr.fpmath_mode == (dnnl.fpmath_mode.tf32, True)
    assert attr.accumulation_mode is dnnl.accumulation_mode.relaxed
    assert attr.deterministic is True
    assert attr.get_rounding_mode("dst") is STOCHASTIC
    assert attr.get("set_rnn_data_qparams") == [(2.0, 3.0)]


def test_both_scratchpad_modes_run(engine, stream):
    ones = {"src": np.ones((M, K), "f4"), "weights": np.ones((K, N), "f4")}
    for mode in dnnl.scratchpad_mode:
        got = run(matmul(engine, attr_of(("set_scratchpad_mode", mode))), stream, **ones)
        assert (got == K).all()


@pytest.mark.parametrize("mode", list(dnnl.fpmath_mode), ids=lambda m: m.name)
def test_math_modes_are_accepted(mode, engine, stream):
    ones = {"src": np.ones((M, K), "f4"), "weights": np.ones((K, N), "f4")}
    got = run(matmul(engine, attr_of(("set_fpmath_mode", mode))), stream, **ones)
    assert (got == K).all()


def test_post_ops_are_a_list_of_calls():
    ops = ops_of(*ALL_OPS)
    kinds = ("sum", "eltwise", "binary", "binary", "prelu", "convolution")
    assert len(ops) == 6
    assert [ops.kind(i) for i in range(6)] == [dnnl.primitive_kind[k] for k in kinds]
    assert [name for name, _ in ops] == [op[0] for op in ALL_OPS]
    assert ops[0] == ("append_sum", (2.0, 1, T.s8))
    assert ops[1] == ("append_eltwise", (ALG.eltwise_relu, 0.5, 0.0))
    for index in (6, -1, 100):
        with pytest.raises(IndexError, match=f"below 6, got {index}"):
            ops[index]
    assert ops == ops_of(*ALL_OPS) == pickle.loads(pickle.dumps(ops)) == copy.deepcopy(ops)
    assert ops != ops_of(*ALL_OPS[::-1])
    assert ops != "ops"
    assert "append_prelu(2,)" in repr(ops)


def test_attributes_take_a_copy_of_post_ops(engine):
    ops = ops_of(("append_eltwise", ALG.eltwise_relu))
    attr = attr_of(("set_post_ops", ops))
    ops.append_binary(ALG.binary_add, desc(1, N))
    assert attr == attr_of(("set_post_ops", ops_of(("append_eltwise", ALG.eltwise_relu))))
    assert "attr_post_op_1_src_1" not in dnnl.Primitive(matmul(engine, attr)).arguments
    ((recorded,),) = attr.get("set_post_ops")
    assert len(recorded) == 1


@pytest.mark.parametrize("make", [dnnl.PostOps.copy, copy.copy, copy.deepcopy])
def test_copy_of_post_ops_is_independent(make):
    ops = ops_of(("append_sum",))
    twin = make(ops)
    twin.append_eltwise(ALG.eltwise_relu)
    assert (len(ops), len(twin)) == (1, 2)
    assert (len(list(ops)), len(list(twin))) == (1, 2)


WRONG = {
    "unknown argument": (lambda: attr_of(("set_scales_mask", "source", 0)), "no execution arg"),
    "negative mask": (lambda: attr_of(("set_scales_mask", "src", -1)), "scales"),
    "argument without scales": (lambda: attr_of(("set_scales_mask", "mean", 0)), "scales"),
    "groups without mask": (lambda: attr_of(("set_scales", "weights", 0, (16, 1))), "scales"),
    "three groups": (lambda: attr_of(("set_scales", "weights", 3, (16, 1, 1))), "scales"),
    "scale type": (lambda: attr_of(("set_scales", "weights", 1, (), T.f8_e5m2)), "scales"),
    "zero point type": (lambda: attr_of(("set_zero_points", "dst", 0, (), T.u4)), "zero points"),
    "no rnn scales": (lambda: attr_of(("set_rnn_weights_qparams", 0, [])), "quantization"),
    "mask type": (lambda: attr_of(("set_dropout", desc(M, N))), "dropout"),
    "eltwise of binary": (lambda: ops_of(("append_eltwise", ALG.binary_add)), "elementwise"),
    "binary of eltwise": (
        lambda: ops_of(("append_binary", ALG.eltwise_relu, desc(1, N))), "binary",
    ),
    "kernel 0": (lambda: ops_of(("append_dw", F32, F32, F32, 0, 1, 1)), "depthwise"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_wrong_setting_is_refused(case):
    call, text = WRONG[case]
    with pytest.raises(InvalidArguments, match=text):
        call()


def test_a_refused_setting_leaves_no_trace():
    attr = attr_of(("set_scales_mask", "src", 0))
    with pytest.raises(InvalidArguments):
        attr.set_scales_mask("src", -1)
    assert attr == attr_of(("set_scales_mask", "src", 0))


def test_32_post_ops_and_no_more(engine):
    ops = ops_of(*[("append_eltwise", ALG.eltwise_linear, 1.0)] * 32)
    assert len(ops) == 32
    with pytest.raises(OutOfMemory):
        ops.append_eltwise(ALG.eltwise_relu)
    assert len(ops) == 32
    assert matmul(engine, attr_of(("set_post_ops", ops))).primitive_attr.get("set_post_ops")


def test_unfit_attributes_are_refused_by_the_primitive(engine):
    unfit = {
        "rnn": [("set_rnn_data_qparams", 2.0, 3.0)],
        "sum of another size": [("set_post_ops", ops_of(("append_sum", 1.0, 0, T.s8)))],
        "operand of another rank": [
            ("set_post_ops", ops_of(("append_binary", ALG.binary_add, desc(N))))
        ],
    }
    for calls in unfit.values():
        with pytest.raises(DnnlError) as refusal:
            matmul(engine, attr_of(*calls))
        assert refusal.value.reasons


SELECT_WITHOUT_CONDITION = """
from sycl_dnn import InvalidArguments, onednn as dnnl
d = dnnl.MemoryDesc((1, 8), dnnl.data_type.f32)
try:
    dnnl.PostOps().append_binary(dnnl.algorithm.binary_select, d)
except InvalidArguments as error:
    print(error)
"""


def test_select_needs_its_condition():
    """In a process of its own, because oneDNN crashes."""
    run = [sys.executable, "-c", SELECT_WITHOUT_CONDITION]
    done = subprocess.run(run, capture_output=True, text=True)
    assert done.returncode == 0
    assert "src2" in done.stdout
