# SPDX-License-Identifier: Apache-2.0
"""What moves or sums elements."""

from __future__ import annotations

from sycl_dnn.matrix.families.family import (
    BOTH,
    FLOATS,
    FORWARD,
    LAYOUTS,
    SMALL_FLOATS,
    Family,
    from_to,
    same,
    types,
)

MOVING = (
    Family(
        "concat",
        {"channels": "--axis=1 2x32x14x14:2x64x14x14", "batch": "--axis=0 2x32x14x14:4x32x14x14"},
        from_to(*(f"{t}:{t}" for t in (*FLOATS, *SMALL_FLOATS, "s32", "s8", "u8")), "f32:s8"),
        same(("stag",), LAYOUTS),
    ),
    Family(
        "sum",
        {"two": "--scales=0.5:2 2x64x14x14"},
        {t: f"--sdt={t}:{t} --ddt={t}" for t in (*FLOATS, *SMALL_FLOATS, "s32", "s8", "u8")}
        | {"bf16:bf16:f32": "--sdt=bf16:bf16 --ddt=f32"},
        same(("stag",), LAYOUTS),
    ),
    Family(
        "reorder",
        {"data": "2x64x14x14"},
        from_to(
            *(f"{t}:{t}" for t in (*FLOATS, *SMALL_FLOATS, "s32", "s8", "u8", "s4", "u4")),
            *(f"f32:{t}" for t in ("bf16", "f16", "f64", *SMALL_FLOATS, "f4_e2m1", "s8", "u8")),
            *(f"{t}:f32" for t in ("bf16", "f16", *SMALL_FLOATS, "s8", "u8", "s4", "u4")),
        ),
        {
            "plain to plain": "--stag=abx --dtag=abx",
            "plain to last": "--stag=abx --dtag=axb",
            "plain to blocked": "--stag=abx --dtag=aBx16b",
            "blocked to plain": "--stag=aBx16b --dtag=abx",
        },
    ),
    Family(
        "shuffle",
        {"channels": "--axis=1 --group=4 2x64x14x14", "height": "--axis=2 --group=2 2x64x14x14"},
        types("dt", *FLOATS) | {n: f"--dt={n}{FORWARD}" for n in ("s32", "s8", "u8")},
        same(("tag",), LAYOUTS),
        BOTH,
    ),
    Family(
        "resampling",
        {
            "nearest": "--alg=nearest mb2ic64ih14oh28",
            "linear": "--alg=linear mb2ic64ih14oh28",
        },
        from_to(*(f"{t}:{t}" for t in FLOATS), "bf16:f32")
        | from_to("s8:s8", "u8:f32", only=FORWARD),
        same(("tag",), LAYOUTS),
        BOTH,
    ),
    Family(
        "reduction",
        {
            "sum of one axis": "--alg=sum 2x64x14x14:2x1x14x14",
            "max of images": "--alg=max 2x64x14x14:2x64x1x1",
            "sum of all": "--alg=sum 2x64x14x14:1x1x1x1",
            "norm": "--alg=norm_lp_sum --p=2 2x64x14x14:2x64x1x1",
        },
        from_to(*(f"{t}:{t}" for t in FLOATS), "bf16:f32", "s8:s8", "u8:s32", "s32:s32"),
        same(("stag",), LAYOUTS),
    ),
)
