# SPDX-License-Identifier: Apache-2.0
"""The arguments that each setter adds to a primitive; effects of dropout and modes."""

import numpy as np
import pytest
from descriptors import require, require_isa
from small_matmul import ANY_MATH, F32, I8, STOCHASTIC, K, M, N, T, attr_of, desc, matmul, run

from sycl_dnn import onednn as dnnl

MX = dnnl.quantization_mode.dynamic_mx
#: data types, calls, arguments that they add: name -> (count, data type, is output)
EFFECTS = {
    "scale": (I8, [("set_scales_mask", "src", 0)], {"attr_scales_src": (1, "f32", False)}),
    "scale per channel": (
        I8, [("set_scales_mask", "weights", 2)], {"attr_scales_weights": (N, "f32", False)},
    ),
    "scale per element": (
        "f32 s8 f32", [("set_scales_mask", "weights", 3), ANY_MATH],
        {"attr_scales_weights": (K * N, "f32", False)},
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
    if case == "zero points in groups":
        require_isa("AVX512_CORE")  # others refuse these weights in row-major order
    attr = attr_of(*calls)
    pd = matmul(engine, attr, types, n=32 if "f8" in types else N, allow_empty=True)
    require(pd, engine, f"matmul {types} with {case}")
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


@pytest.mark.parametrize("use_host_scalars", [False, True])
def test_dropout_zeroes_and_scales(use_host_scalars, engine, stream):
    mask = dnnl.Memory(desc(M, N, data_type=T.u8), engine)
    attr = attr_of(("set_dropout", mask.desc, T.s64, False, use_host_scalars))
    inputs = {"probability": (F32, 0.5, "f4"), "seed": (T.s64, 1234, "i8")}
    values = {}
    for name, (data_type, value, dtype) in inputs.items():
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
