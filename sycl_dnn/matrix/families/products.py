# SPDX-License-Identifier: Apache-2.0
"""Convolutions and matrix products."""

from __future__ import annotations

from sycl_dnn.matrix.families.family import FLOATS, FORWARD, SMALL_FLOATS, Family, types

_INTEGERS = {
    name: f"--dt={name}{FORWARD}" for name in ("u8:s8:u8", "u8:s8:f32", "s8:s8:s8", "s8:s8:f32")
}
_PRODUCT_TYPES = (
    types("dt", *FLOATS, *SMALL_FLOATS)
    | {"bf16:bf16:f32": f"--dt=bf16:bf16:f32{FORWARD}"}
    | {"f16:f16:f32": f"--dt=f16:f16:f32{FORWARD}"}
    | _INTEGERS
    | {"f32 as bf16": "--dt=f32 --attr-fpmath=bf16"}
)
_PRODUCT_LAYOUTS = {
    "any": "--stag=any --wtag=any --dtag=any",
    "plain": "--stag=abx --wtag=any --dtag=abx",
    "last": "--stag=axb --wtag=any --dtag=axb",
    "all plain": "--stag=abx --wtag=abx --dtag=abx",
}
_PRODUCT_DIRECTIONS = ("FWD_B", "FWD_I", "BWD_D", "BWD_WB")

PRODUCTS = (
    Family(
        "conv",
        {
            "3x3": "mb2ic64ih14oc64kh3ph1",
            "1x1": "mb2ic64ih14oc64kh1",
            "3x3 stride 2": "mb2ic64ih14oc64kh3ph1sh2",
            "7x7 on 3 channels": "mb2ic3ih56oc64kh7sh2ph3",
            "3x3 4 groups": "g4mb2ic64ih14oc64kh3ph1",
            "3x3 depthwise": "g64mb2ic64ih14oc64kh3ph1",
            "3x3x3": "mb2ic32id8ih8iw8oc32kd3kh3kw3pd1ph1pw1",
        },
        _PRODUCT_TYPES,
        _PRODUCT_LAYOUTS,
        _PRODUCT_DIRECTIONS,
    ),
    Family(
        "deconv",
        {"4x4 stride 2": "mb2ic64ih7oc32kh4sh2ph1", "3x3": "mb2ic64ih14oc64kh3ph1"},
        _PRODUCT_TYPES,
        _PRODUCT_LAYOUTS,
        _PRODUCT_DIRECTIONS,
    ),
    Family(
        "ip",
        {"matrix": "mb32ic256oc128", "image": "mb32ic64ih7oc128"},
        _PRODUCT_TYPES,
        _PRODUCT_LAYOUTS,
        _PRODUCT_DIRECTIONS,
    ),
    Family(
        "matmul",
        {
            "matrix": "128x256:256x64",
            "batch": "8x64x128:8x128x64",
            "batch + bias": "--bia-dt=f32 8x64x128:8x128x64",
            "vector": "1x256:256x64",
        },
        types("dt", *FLOATS, *SMALL_FLOATS, "f4_e2m1")
        | types("dt", "bf16:bf16:f32", "f16:f16:f32")
        | {name: f"--dt={name}" for name in ("u8:s8:s32", "u8:s8:f32", "s8:s8:s8", "s8:s8:f32")}
        | {
            "f32 s8 weights": "--dt=f32:s8:f32 --attr-scales=wei:per_oc --attr-fpmath=bf16:true",
            "bf16 s8 weights": "--dt=bf16:s8:bf16 --attr-scales=wei:per_oc --attr-fpmath=bf16:true",
            "bf16 u4 weights": "--dt=bf16:u4:bf16 --attr-scales=wei:per_ocic:bf16:32x1"
            " --attr-zero-points=wei:per_ocic:u4:32x1 --attr-fpmath=bf16:true",
            "f16 u4 weights": "--dt=f16:u4:f16 --attr-scales=wei:per_ocic:f16:32x1"
            " --attr-zero-points=wei:per_ocic:u4:32x1 --attr-fpmath=f16:true",
            "f32 as bf16": "--dt=f32 --attr-fpmath=bf16",
        },
        {
            "any": "--stag=any --wtag=any --dtag=any",
            "plain": "--stag=abx --wtag=any --dtag=abx",
            "all plain": "--stag=abx --wtag=abx --dtag=abx",
            "transposed": "--stag=abx --wtag=xba --dtag=abx",
        },
    ),
)
