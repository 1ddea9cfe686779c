# SPDX-License-Identifier: Apache-2.0
"""Elementwise primitives, pooling, norms, softmax."""

from __future__ import annotations

from sycl_dnn.matrix.families.family import (
    BOTH,
    BYTES,
    FLOATS,
    FORWARD,
    LAYOUTS,
    SMALL_FLOATS,
    Family,
    from_to,
    same,
    types,
)

DATA = (
    Family(
        "eltwise",
        {
            "relu": "--alg=RELU --alpha=0 --beta=0 2x64x14x14",
            "gelu_erf": "--alg=GELU_ERF --alpha=0 --beta=0 2x64x14x14",
            "logistic": "--alg=LOGISTIC --alpha=0 --beta=0 2x64x14x14",
            "pow": "--alg=POW --alpha=1 --beta=1.5 2x64x14x14",
        },
        types("dt", *FLOATS, *SMALL_FLOATS)
        | {name: f"--dt={name}{FORWARD}" for name in ("s32", "s8", "u8")},
        same(("tag",), LAYOUTS),
        BOTH,
    ),
    Family(
        "binary",
        {
            "add": "--alg=ADD 2x64x14x14:2x64x14x14",
            "add by channel": "--alg=ADD 2x64x14x14:1x64x1x1",
            "add a number": "--alg=ADD 2x64x14x14:1x1x1x1",
            "eq": "--alg=EQ 2x64x14x14:2x64x14x14",
            "select": "--alg=SELECT 2x64x14x14:2x64x14x14",
        },
        {f"{t}": f"--sdt={t}:{t} --ddt={t}" for t in (*FLOATS, *SMALL_FLOATS, "s32", "s8", "u8")}
        | {"f32:bf16:f32": "--sdt=f32:bf16 --ddt=f32", "s8:f32:s8": "--sdt=s8:f32 --ddt=s8"},
        {name: f"--stag={tag}:{tag}" for name, tag in LAYOUTS.items()},
    ),
    Family(
        "prelu",
        {"by channel": "2x64x14x14:1x64x1x1", "all": "2x64x14x14:2x64x14x14"},
        types("sdt", *FLOATS) | {n: f"--sdt={n}{FORWARD}" for n in ("s32", "s8", "u8")},
        {name: f"--stag={tag}:any" for name, tag in LAYOUTS.items()},
        ("FWD_D", "FWD_I", "BWD_DW"),
    ),
    Family(
        "pool",
        {
            "max": "--alg=max mb2ic64ih14kh3sh2ph1",
            "avg": "--alg=avg_np mb2ic64ih14kh3sh2ph1",
            "max 3 axes": "--alg=max mb2ic32id8ih8iw8kd2kh2kw2sd2sh2sw2",
        },
        types("dt", *FLOATS, *SMALL_FLOATS)
        | {"s32": f"--dt=s32{FORWARD}"}
        | BYTES
        | {"s8:f32": f"--dt=s8:f32{FORWARD}"},
        same(("tag",), LAYOUTS),
        BOTH,
    ),
    Family(
        "lrn",
        {"across": "--alg=ACROSS mb2ic64ih14", "within": "--alg=WITHIN mb2ic64ih14"},
        types("dt", *FLOATS),
        same(("tag",), LAYOUTS),
        BOTH,
    ),
    Family(
        "bnorm",
        {
            "plain": "mb2ic64ih14",
            "scale + shift": "--flags=CH mb2ic64ih14",
            "scale + shift + relu": "--flags=CHR mb2ic64ih14",
            "given statistics": "--flags=GCH mb2ic64ih14",
        },
        types("dt", *FLOATS) | {"s8": f"--dt=s8{FORWARD}"},
        same(("tag",), LAYOUTS),
        ("FWD_D", "FWD_I", "BWD_D", "BWD_DW"),
    ),
    Family(
        "lnorm",
        {"scale + shift": "--flags=CH 8x16x256", "rms": "--flags=CM 8x16x256"},
        types("dt", *FLOATS)
        | {"bf16:f32": f"--dt=bf16:f32{FORWARD}", "f32:s8": f"--dt=f32:s8{FORWARD}"},
        same(("tag",), {"plain": "abx", "transposed": "bax"}),
        ("FWD_D", "FWD_I", "BWD_DW"),
    ),
    Family(
        "gnorm",
        {
            "scale + shift": "--flags=CH g8mb2ic64ih14",
            "one channel each": "--flags=CH g64mb2ic64ih14",
        },
        types("dt", *FLOATS) | {"f32:s8": f"--dt=f32:s8{FORWARD}"},
        same(("tag",), LAYOUTS),
        ("FWD_D", "FWD_I", "BWD_DW"),
    ),
    Family(
        "softmax",
        {
            "last axis": "--alg=SOFTMAX --axis=1 128x256",
            "channels": "--alg=SOFTMAX --axis=1 2x64x14x14",
            "log of last axis": "--alg=LOGSOFTMAX --axis=1 128x256",
        },
        from_to(*(f"{t}:{t}" for t in (*FLOATS, *SMALL_FLOATS)), "bf16:f32", "f16:f32")
        | from_to("f32:s8", "f32:u8", only=FORWARD),
        same(("stag",), {"plain": "abx", "last": "axb"}),
        BOTH,
    ),
)
