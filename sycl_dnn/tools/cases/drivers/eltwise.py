# SPDX-License-Identifier: Apache-2.0
"""Drivers ``eltwise``, ``softmax``, ``binary`` and ``prelu``."""

from __future__ import annotations

from math import prod
from types import SimpleNamespace
from typing import Any

import numpy as np

from sycl_dnn.tools.cases import data, options, problems
from sycl_dnn.tools.cases.call import Call, Tensor
from sycl_dnn.tools.cases.driver import (
    Driver,
    attributes_of,
    in_direction,
    require,
    spread,
    strides_of,
    with_mb,
)
from sycl_dnn.tools.cases.options import BINARY, BY_DST, ELTWISE

_NAMES = (*(n.upper() for n in ELTWISE), *(f"{n.upper()}_DST" for n in BY_DST))
_FULL_NAMES = {f"eltwise_{name.lower()}": name for name in _NAMES}
_FULL_NAMES |= {f"eltwise_{name}_use_dst_for_bwd": f"{name.upper()}_DST" for name in BY_DST}


def read_dims(text: str) -> SimpleNamespace:
    """Parse a problem that is a single shape."""
    (dims,), name = problems.tensors(text)
    return SimpleNamespace(name=name, dims=dims)


def _constants_fit(name: str, alpha: float, beta: float) -> bool:
    """Whether a function accepts these constants; unused ones must be 0."""
    base = name.removesuffix("_dst")
    count = ELTWISE[base]
    if count == 0:
        return alpha == 0 and beta == 0
    if base in ("relu", "elu") and name.endswith("_dst") and alpha < 0:
        return False
    if base == "soft_relu" and alpha == 0:
        return False
    if base in ("clip", "clip_v2") and beta < alpha:
        return False
    return count == 2 or beta == 0


def _eltwise(p: SimpleNamespace, o: dict[str, Any]) -> Call:
    name = o["alg"].lower()
    require(_constants_fit(name, o["alpha"], o["beta"]), "constants do not fit the function")
    require(not (name == "round" and o["dir"] == "BWD_D"), "round has no gradient")
    base = name.removesuffix("_dst")
    full = f"eltwise_{base}" + ("_use_dst_for_bwd" if name.endswith("_dst") else "")
    params = {"algorithm": full, "alpha": o["alpha"], "beta": o["beta"]}
    dims = with_mb(p.dims, o["mb"])
    types = spread(o["dt"], 2, "dt")
    data = Tensor(dims, types[0], o["tag"][0])
    tensors = {"src": data, "dst": Tensor(dims, types[1], "any")}
    read = "dst" if name.endswith("_dst") else "src"
    gradients = {"diff_dst": data, "diff_src": data, read: data}
    return in_direction("eltwise", "eltwise", o, params, tensors, gradients)


_POSITIVE = ("log", "sqrt", "pow")


def _fill_eltwise(call: Call, name: str, tensor: Tensor, rng: Any):
    """Draw small numbers, fractions, and the breakpoints of piecewise functions."""
    if name == "old_dst" or name not in ("src", "diff_dst"):
        return None
    if tensor.dtype in ("s32", "s8", "u8"):
        return data.around(tensor.dtype, 64)
    if name == "diff_dst":
        return data.Fill(-4, 4, 0.25, nonzero=True)
    base = call.params["algorithm"].split("_use_")[0].removeprefix("eltwise_")
    small = data.Fill(-8, 8, 1 / 16).draw(rng, tensor.dims)
    large = data.Fill(-64, 64, 1.0).draw(rng, tensor.dims)
    edges = rng.choice([-1.0, 1.0, call.params["alpha"], call.params["beta"]], tensor.dims)
    kind = rng.random(tensor.dims)
    values = np.where(kind < 0.8, small, np.where(kind < 0.95, large, edges))
    if base == "exp":
        values = np.minimum(values, 10)
    if base in _POSITIVE:
        values = np.abs(values) + 1 / 16
    return values


ELTWISE_DRIVER = Driver(
    "eltwise",
    (
        options.DIR_D,
        options.dtype("dt", "f32"),
        options.tag("tag", "abx"),
        options.Option("alg", options.one_of(*_NAMES, **_FULL_NAMES), "RELU"),
        options.Option("alpha", options.real, "0,0.25,-0.25"),
        options.Option("beta", options.real, "0,0.25,-0.25"),
        options.INPLACE,
        options.MB,
    ),
    read_dims,
    _eltwise,
    _fill_eltwise,
)


# --- softmax

_SOFTMAX = {"SOFTMAX": "softmax_accurate", "LOGSOFTMAX": "softmax_log"}


def _softmax(p: SimpleNamespace, o: dict[str, Any]) -> Call:
    require(o["axis"] < len(p.dims), "no such axis")
    dims = with_mb(p.dims, o["mb"])
    params = {"algorithm": _SOFTMAX[o["alg"]], "axis": o["axis"]}
    tensors = {
        "src": Tensor(dims, o["sdt"][0], o["stag"][0]),
        "dst": Tensor(dims, o["ddt"][0], o["dtag"][0]),
    }
    concrete = o["stag"][0] if o["dtag"][0] == "any" else o["dtag"][0]
    dst = Tensor(dims, o["ddt"][0], concrete)
    gradients = {"dst": dst, "diff_dst": dst, "diff_src": tensors["src"]}
    return in_direction("softmax", "softmax", o, params, tensors, gradients)


def _fill_softmax(call: Call, name: str, tensor: Tensor, rng: Any):
    if name == "src":
        if tensor.dtype in ("s8", "u8"):
            return data.Fill(0, 8)
        return data.Fill(-4, 4, 0.125)
    if name == "diff_dst":
        return data.Fill(-4, 4, 0.25)
    return None


SOFTMAX = Driver(
    "softmax",
    (
        options.DIR_D,
        *options.types_and_tags(),
        options.algorithm(_SOFTMAX, "SOFTMAX"),
        options.Option("axis", options.integer, "1"),
        options.INPLACE,
        options.MB,
    ),
    read_dims,
    _softmax,
    _fill_softmax,
)


# --- binary and prelu


def _read_binary(text: str) -> SimpleNamespace:
    (first, *rest), name = problems.tensors(text, 1, 3)
    second = rest[0] if rest else first
    second = (*second, *[1] * (len(first) - len(second)))
    if len(second) != len(first):
        raise ValueError(f"the second source must not have more dimensions, got {text!r}")
    if any(1 not in (a, b) and a != b for a, b in zip(first, second, strict=True)):
        raise ValueError(f"dims must be equal or 1, got {text!r}")
    third = rest[1] if len(rest) > 1 else first
    return SimpleNamespace(name=name, first=first, second=second, third=third)


def _binary(p: SimpleNamespace, o: dict[str, Any]) -> Call:
    select = o["alg"] == "SELECT"
    count = 3 if select else 2
    types, tags = o["sdt"], o["stag"]
    types = spread(types, count, "sdt") if len(types) != 2 or not select else (*types, "s8")
    tags = (*tags, *tags[-1:] * (count - len(tags)))
    first, second = with_mb(p.first, o["mb"]), p.second
    dst = tuple(b if a == 1 else a for a, b in zip(first, second, strict=True))
    strides = (o["strides"] + ("",) * 3)[:3]
    tensors = {
        "src_0": Tensor(first, types[0], tags[0], strides_of(strides[0])),
        "src_1": Tensor(second, types[1], tags[1], strides_of(strides[1])),
        "dst": Tensor(dst, o["ddt"][0], o["dtag"][0], strides_of(strides[2])),
    }
    if select:
        tensors["src_2"] = Tensor(dst, "s8", tags[2] if tags[2] != "any" else tags[0])
    params = {"algorithm": f"binary_{o['alg'].lower()}"}
    return Call("binary", "binary", params, tensors, attributes_of(o), None, o["inplace"])


def _fill_binary(call: Call, name: str, tensor: Tensor, rng: Any):
    if name == "src_2":
        return rng.integers(0, 1, tensor.dims, endpoint=True).astype(np.float64)
    if name not in ("src_0", "src_1"):
        return None
    low = 0 if tensor.dtype == "u8" else -16
    step = 0.5 if tensor.dtype in ("f32", "bf16", "f16") else 1.0
    divides = call.params["algorithm"] == "binary_div" and name == "src_1"
    return data.Fill(low, 16, step, nonzero=divides)


BINARY_DRIVER = Driver(
    "binary",
    (
        options.Option("alg", options.one_of(*(n.upper() for n in (*BINARY, "select"))), "ADD"),
        *options.types_and_tags(sdt="f32:f32", stag="abx:any"),
        options.tag("strides", ""),
        options.INPLACE,
        options.MB,
    ),
    _read_binary,
    _binary,
    _fill_binary,
)


def _read_prelu(text: str) -> SimpleNamespace:
    (src, weights), name = problems.tensors(text, 2, 2)
    if len(src) != len(weights):
        raise ValueError(f"both must have the same rank, got {text!r}")
    return SimpleNamespace(name=name, src=src, weights=weights)


def _prelu(p: SimpleNamespace, o: dict[str, Any]) -> Call:
    types, tags = spread(o["sdt"], 2, "sdt"), spread(o["stag"], 2, "stag")
    src = Tensor(with_mb(p.src, o["mb"]), types[0], tags[0])
    weights = Tensor(p.weights, types[1], tags[1])
    out = Tensor(src.dims, types[0], "any")
    tensors = {"src": src, "weights": weights, "dst": out}
    gradients = {
        "src": src,
        "weights": weights,
        "diff_dst": Tensor(src.dims, types[0], tags[0]),
        "diff_src": out,
        "diff_weights": Tensor(weights.dims, types[1], "any"),
    }
    directions = ("FWD_D", "FWD_I", "BWD_DW")
    return in_direction("prelu", "prelu", o, {}, tensors, gradients, directions)


def _fill_prelu(call: Call, name: str, tensor: Tensor, rng: Any):
    if name == "weights":
        if tensor.dtype in ("s8", "u8", "s32"):
            return data.Fill(1, 3)
        return rng.choice((-0.5, 0.25, 0.5, 2.0), tensor.dims)
    low = 0 if tensor.dtype == "u8" else -16
    if name == "diff_dst":
        return data.Fill(-2, 2, density=min(1.0, 256 / max(prod(tensor.dims), 1)))
    return data.Fill(low, 16, nonzero=True)


PRELU_DRIVER = Driver(
    "prelu",
    (options.DIR_D, options.dtype("sdt", "f32"), options.tag("stag", "abx:any"), options.MB),
    _read_prelu,
    _prelu,
    _fill_prelu,
)
