# SPDX-License-Identifier: Apache-2.0
"""Drivers ``bnorm``, ``lnorm`` and ``gnorm``."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from sycl_dnn.tools.cases import data, options, problems
from sycl_dnn.tools.cases.call import Call, Tensor
from sycl_dnn.tools.cases.driver import (
    Driver,
    attributes_of,
    forward_attributes,
    images,
    prop_kind,
    require,
    spread,
    strides_of,
    with_mb,
)
from sycl_dnn.tools.cases.drivers.eltwise import read_dims

_FLAGS = {
    "G": "use_global_stats",
    "C": "use_scale",
    "H": "use_shift",
    "R": "fuse_norm_relu",
    "A": "fuse_norm_add_relu",
    "M": "rms_norm",
}
_ROWS = {"bnorm": "batch", "lnorm": "layer", "gnorm": "group"}


def _flags(allowed: str):
    def read(text: str) -> tuple[str, ...]:
        for letter in text:
            if letter not in allowed:
                raise ValueError(f"must be letters of {allowed}, got {text!r}")
        return tuple(_FLAGS[letter] for letter in dict.fromkeys(text))

    return read


def _statistics(driver: str, src: tuple[int, ...], groups: int) -> tuple[tuple, int]:
    """Return the dims of mean and variance, and the number of channels."""
    if driver == "lnorm":
        return src[:-1], src[-1]
    return ((src[1],) if driver == "bnorm" else (src[0], groups)), src[1]


def _forward_tensors(driver: str, o: dict, src: Tensor, dst: Tensor, groups: int) -> dict:
    stat, channels = _statistics(driver, src.dims, groups)
    flags, result = o["flags"], {"src": src, "dst": dst}
    stat_tag = o["stat_tag"][0] if driver == "lnorm" else None
    if prop_kind(o["dir"]) != "forward_inference" or "use_global_stats" in flags:
        if "rms_norm" not in flags:
            result["mean"] = Tensor(stat, "f32", stat_tag)
        result["variance"] = Tensor(stat, "f32", stat_tag)
    scale = o["ss_dt"][0] if driver == "lnorm" else "f32"
    for flag, name in (("use_scale", "scale"), ("use_shift", "shift")):
        if flag in flags:
            result[name] = Tensor((channels,), scale)
    if "fuse_norm_add_relu" in flags:
        result["src_1"] = Tensor(src.dims, src.dtype, src.tag)
    return result


def _params(driver: str, o: dict, kind: str, epsilon_: float, groups: int) -> dict[str, Any]:
    params = {"prop_kind": kind, "epsilon": epsilon_, "flags": o["flags"]}
    if driver == "gnorm":
        params["groups"] = groups
    if driver == "lnorm":
        params["scale_shift_data_type"] = o["ss_dt"][0]
    return params


def _normalize(driver: str, o: dict, dims: tuple, epsilon_: float, groups: int = 1) -> Call:
    require(o["dir"] in ("FWD_D", "FWD_I", "BWD_D", "BWD_DW"), "no such direction")
    types = spread(o["dt"], 2, "dt")
    tags = (*o["tag"], "any")[:2]
    strides = (o.get("strides", ("",)) + ("",) * 2)[:2]
    src = Tensor(dims, types[0], tags[0], strides_of(strides[0]))
    dst = Tensor(dims, types[1], tags[1], strides_of(strides[1]))
    tensors = _forward_tensors(driver, o, src, dst, groups)
    row, attr = f"{_ROWS[driver]}_normalization", attributes_of(o)
    if o["dir"].startswith("FWD"):
        params = _params(driver, o, prop_kind(o["dir"]), epsilon_, groups)
        return Call(driver, f"{row}_forward", params, tensors, attr, None, o["inplace"])
    params = _params(driver, o, "forward_training", epsilon_, groups)
    hint = Call(driver, f"{row}_forward", params, tensors, forward_attributes(o))
    return _backward(driver, o, row, hint, attr)


def _backward(driver: str, o: dict, row: str, hint: Call, attr) -> Call:
    gradients = dict(hint.tensors)
    src, dst = gradients["src"], gradients.pop("dst")
    tag = src.tag if dst.tag == "any" else dst.tag
    gradients["diff_dst"] = Tensor(dst.dims, dst.dtype, tag, dst.strides or src.strides)
    gradients["diff_src"] = Tensor(src.dims, src.dtype, src.tag, src.strides)
    has_weights = o["dir"] == "BWD_DW"
    for name in ("scale", "shift"):
        if name in gradients and has_weights:
            gradients[f"diff_{name}"] = gradients[name]
    if "src_1" in gradients:
        gradients["diff_src_1"] = gradients["diff_src"]
    params = hint.params | {"prop_kind": "backward" if has_weights else "backward_data"}
    if driver == "lnorm" and has_weights:
        params["diff_scale_shift_data_type"] = o["ss_dt"][0]
    return Call(driver, f"{row}_backward", params, gradients, attr, hint, o["inplace"])


def _fill(call: Call, name: str, tensor: Tensor, rng: Any):
    """Draw sources with exact statistics; given statistics are round numbers."""
    if name == "src":
        return _source(call, tensor, rng)
    if name == "diff_dst":
        return data.Fill(-4, 4, 0.25)
    if name == "mean":
        return data.Fill(-1, 1, 0.25)
    if name == "variance":
        return rng.choice((0.25, 1.0, 4.0), tensor.dims)
    if name in ("scale", "shift"):
        return data.Fill(-2, 2, 0.25, nonzero=True)
    return data.around(tensor.dtype, 4)


def _source(call: Call, tensor: Tensor, rng: Any) -> np.ndarray:
    dims = tensor.dims
    step, top = (1.0, 16) if tensor.dtype in ("s8", "u8") else (0.125, 16)
    if call.driver == "lnorm":
        values = data.symmetric(rng, dims, tuple(range(len(dims) - 1)), step, top)
    elif call.driver == "bnorm":
        values = data.symmetric(rng, dims, (1,), step, top)
    else:
        groups = call.params["groups"]
        split = (dims[0], groups, dims[1] // groups, *dims[2:])
        values = data.symmetric(rng, split, (0, 1), step, top).reshape(dims)
    return values + 32 if tensor.dtype == "u8" else values


def _gnorm(p: SimpleNamespace, o: dict) -> Call:
    if p.g < 1 or p.ic % p.g:
        raise ValueError(f"g must divide ic, got g{p.g} ic{p.ic}")
    return _normalize("gnorm", o, images(p, o), p.eps, p.g)


def _options(flags: str, tag: str = "abx") -> tuple:
    return (
        options.DIR_D,
        options.dtype("dt", "f32"),
        options.tag("tag", tag),
        options.Option("flags", _flags(flags)),
        options.INPLACE,
        options.MB,
    )


BNORM = Driver(
    "bnorm",
    (*_options("GCHRA"), options.tag("strides", "")),
    partial(problems.spatial, required=("ic",), eps=1 / 16),
    lambda p, o: _normalize("bnorm", o, images(p, o), p.eps),
    _fill,
)
GNORM = Driver(
    "gnorm",
    _options("GCH"),
    partial(problems.spatial, required=("ic",), eps=1 / 16, g=1),
    _gnorm,
    _fill,
)
LNORM = Driver(
    "lnorm",
    (*_options("GCHM"), options.tag("stat_tag", "abx"), options.dtype("ss_dt", "f32")),
    read_dims,
    lambda p, o: _normalize("lnorm", o, with_mb(p.dims, o["mb"]), 1 / 16),
    _fill,
)
