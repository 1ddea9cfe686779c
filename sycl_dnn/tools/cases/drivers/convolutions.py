# SPDX-License-Identifier: Apache-2.0
"""Drivers ``conv``, ``deconv``, ``pool`` and ``lrn``."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import prod
from types import SimpleNamespace
from typing import Any

from sycl_dnn.onednn.fault import cpu_saturates
from sycl_dnn.tools.cases import data, options, problems
from sycl_dnn.tools.cases.call import Call, Tensor
from sycl_dnn.tools.cases.driver import (
    Driver,
    attributes_of,
    forward_attributes,
    images,
    in_direction,
    prop_kind,
    require,
    spread,
    strides_of,
)

_ROWS = {"conv": "convolution", "deconv": "deconvolution", "ip": "inner_product"}
_ALGORITHMS = {"DIRECT": "direct", "WINO": "winograd", "AUTO": "auto"}
_FULL_NAMES = {
    f"{kind}_{name}": short
    for kind in ("convolution", "deconvolution")
    for short, name in _ALGORITHMS.items()
}
_GRADIENTS = {
    "BWD_D": ("diff_src", "weights", "", "diff_dst"),
    "BWD_W": ("src", "diff_weights", "", "diff_dst"),
    "BWD_WB": ("src", "diff_weights", "diff_bias", "diff_dst"),
}
_OLD_TYPES = ("f32", "s32", "u8", "s8", "bf16", "f16")


def _configuration(text: str) -> tuple[str, ...]:
    """Parse an old configuration such as ``u8s8f32``."""
    matches, rest = [], text
    while rest:
        name = next((t for t in _OLD_TYPES if rest.startswith(t)), None)
        if name is None:
            raise ValueError(f"configuration must be made of data types, got {text!r}")
        matches.append(name)
        rest = rest[len(name) :]
    return tuple(matches[:3] if len(matches) > 1 else matches)


def _types(text: str) -> tuple[str, ...]:
    parts = text.split(":")
    if all(part in options.DATA_TYPES for part in parts):
        return options.data_types(text)
    return _configuration(text)


def _bias_type(dtype: str, direction: str) -> str:
    if dtype != "undef":
        return dtype
    return "f32" if direction in ("FWD_B", "BWD_WB") else ""


def _tensors(o: dict, dims: dict[str, tuple]) -> list[Tensor | None]:
    """Return source, weights, bias and destination; None without a bias."""
    types = spread(o["dt"], 3, "dt")
    strides = spread(o["strides"], 3, "strides") if o["strides"] != ("",) else ("",) * 3
    results: list[Tensor | None] = []
    for name, dtype, tag, step in zip(
        ("src", "weights", "dst"), types, ("stag", "wtag", "dtag"), strides, strict=True
    ):
        results.append(Tensor(dims[name], dtype, o[tag][0], strides_of(step)))
    bias = _bias_type(o["bia-dt"][0], o["dir"])
    results.insert(2, Tensor(dims["bias"], bias, "any") if bias else None)
    return results


def _forward(driver: str, params: dict, tensors: list, kind: str, attr) -> Call:
    names = ("src", "weights", "bias", "dst")
    inputs = {n: t for n, t in zip(names, tensors, strict=True) if t is not None}
    full = {"prop_kind": kind} | params
    return Call(driver, f"{_ROWS[driver]}_forward", full, inputs, attr)


def build(driver: str, o: dict[str, Any], dims: dict[str, tuple], params: dict) -> Call:
    """Return the call of a problem: forward, or a gradient with its hint."""
    tensors, direction = _tensors(o, dims), o["dir"]
    require(direction != "BWD_DW", "no such direction")
    if direction.startswith("FWD"):
        kind = prop_kind(direction)
        return _forward(driver, params, tensors, kind, attributes_of(o))
    hint = _forward(driver, params, tensors, "forward_training", forward_attributes(o))
    if direction == "BWD_WB":
        tensors[2] = tensors[2] or Tensor(dims["bias"], "f32", "any")
    provided = {n: t for n, t in zip(_GRADIENTS[direction], tensors, strict=True) if n and t}
    row = f"{_ROWS[driver]}_backward_{'data' if direction == 'BWD_D' else 'weights'}"
    return Call(driver, row, dict(params), provided, attributes_of(o), hint)


def _windowed(driver: str, p: SimpleNamespace, o: dict) -> Call:
    groups = p.g or 1
    weights = (p.oc // groups, p.ic // groups, *p.k)
    dims = {
        "src": images(p, o),
        "weights": (p.g, *weights) if p.g else weights,
        "bias": (p.oc,),
        "dst": (images(p, o)[0], p.oc, *p.o),
    }
    params = {
        "algorithm": f"{_ROWS[driver]}_{_ALGORITHMS[o['alg']]}",
        "strides": p.s,
        "dilates": p.d,
        "padding_l": p.pl,
        "padding_r": p.pr,
    }
    require(o["alg"] != "AUTO" or driver == "conv", "deconvolution has no such algorithm")
    return build(driver, o, dims, params)


def _inner_product(p: SimpleNamespace, o: dict) -> Call:
    dims = {
        "src": images(p, o),
        "weights": (p.oc, p.ic, *p.i),
        "bias": (p.oc,),
        "dst": (images(p, o)[0], p.oc),
    }
    return build("ip", o, dims, {})


#: Factors of the products, and whether they count as weights.
_FACTORS = {"src": False, "diff_dst": False, "weights": True}


def n_summed(call: Call) -> int:
    """Return the number of products per element of the result."""
    t = call.tensors
    if "diff_weights" in t:
        return t["diff_dst"].dims[0] * prod(t["diff_dst"].dims[2:])
    if "diff_src" in t:
        size = t["diff_src"].dims
        places = prod(size[1:]) if call.driver == "ip" else size[1]
        return max(prod(t["weights"].dims) // max(places, 1), 1)
    return max(prod(t["weights"].dims) // max(t["dst"].dims[1], 1), 1)


def _result(call: Call) -> Tensor:
    return next(t for n, t in call.tensors.items() if n in ("dst", "diff_src", "diff_weights"))


def factors(call: Call) -> list[str]:
    """Return the two arguments that are multiplied, the sparser one first."""
    return [name for name in ("src", "diff_dst", "weights") if name in call.tensors]


def _halves_weights(call: Call) -> bool:
    """Whether a convolution drops the last bit of its weights, so that they must be even."""
    if call.driver == "ip" or not cpu_saturates():
        return False
    types = [t.dtype for n, t in call.tensors.items() if n in ("src", "weights")]
    return types == ["s8", "s8"]


def fill_product(call: Call, name: str, tensor: Tensor, rng: Any):
    """Draw integers whose sums of products are exact."""
    if name in ("bias", "old_dst"):
        return data.around(tensor.dtype, 4)
    if name not in factors(call):
        return None
    first, second = factors(call)
    ranges = {n: data.summand(call.tensors[n].dtype, _FACTORS[n]) for n in (first, second)}
    if _halves_weights(call):
        ranges["weights"] = replace(ranges["weights"], step=2.0)
    if name == first:
        n, dtype = n_summed(call), _result(call).dtype
        density = data.exact_density(ranges[first], ranges[second], n, dtype)
        return data.Fill(ranges[first].low, ranges[first].high, 1.0, density)
    return ranges[second]


def _operations(call: Call) -> int:
    t = call.tensors
    weights = next(t[n] for n in ("weights", "diff_weights") if n in t)
    dst = next(t[n] for n in ("dst", "diff_dst") if n in t)
    src = next(t[n] for n in ("src", "diff_src") if n in t)
    places = max(prod(dst.dims[2:]), prod(src.dims[2:]) if call.driver == "deconv" else 1)
    return dst.dims[0] * places * prod(weights.dims)


_COMMON = (
    options.DIR,
    options.Option("dt", _types, "f32"),
    options.dtype("bia-dt", "undef"),
    options.tag("stag", "any"),
    options.tag("wtag", "any"),
    options.tag("dtag", "any"),
    options.tag("strides", ""),
    options.MB,
)
_ALG = options.Option("alg", options.one_of(*_ALGORITHMS, **_FULL_NAMES), "DIRECT")


def _driver(name: str, keys: tuple, read, call) -> Driver:
    return Driver(name, (*_COMMON, *keys), read, call, fill_product, _operations)


CONV = _driver("conv", (_ALG,), problems.convolution, lambda p, o: _windowed("conv", p, o))
DECONV = _driver(
    "deconv",
    (_ALG,),
    lambda text: problems.convolution(text, inverse=True),
    lambda p, o: _windowed("deconv", p, o),
)
IP = _driver("ip", (), partial(problems.spatial, required=("ic", "oc")), _inner_product)


# --- pool and lrn


_POOLS = {
    "max": "pooling_max",
    "avg_np": "pooling_avg_exclude_padding",
    "avg_p": "pooling_avg_include_padding",
}
_LRNS = {"ACROSS": "lrn_across_channels", "WITHIN": "lrn_within_channel"}


def _of_one_source(
    driver: str, row: str, o: dict[str, Any], params: dict[str, Any], src: Tensor, dst: Tensor
) -> Call:
    """Return the call of a single-source function whose gradient reads the source."""
    diff_dst = replace(dst, tag=src.tag if dst.tag == "any" else dst.tag)
    gradients = {"src": src, "diff_src": src, "diff_dst": diff_dst}
    return in_direction(driver, row, o, params, {"src": src, "dst": dst}, gradients)


def _pool(p: SimpleNamespace, o: dict[str, Any]) -> Call:
    types = spread(o["dt"], 2, "dt")
    src = Tensor(images(p, o), types[0], o["tag"][0])
    dst = Tensor(images(p, o, p.o), types[1], o["tag"][1] if len(o["tag"]) > 1 else "any")
    params = {
        "algorithm": _POOLS[o["alg"]],
        "strides": p.s,
        "kernel": p.k,
        "dilation": p.d,
        "padding_l": p.pl,
        "padding_r": p.pr,
    }
    return _of_one_source("pool", "pooling", o, params, src, dst)


def _fill_pool(call: Call, name: str, tensor: Tensor, rng: Any):
    if name == "diff_dst":
        low = -8 if call.params["algorithm"] == "pooling_max" else 1
        return data.Fill(low, 8, nonzero=True)
    if name != "src":
        return None
    if tensor.dtype in ("s8", "u8"):
        return data.around(tensor.dtype, 64)
    return data.Fill(-128, 128)


POOL = Driver(
    "pool",
    (
        options.DIR_D,
        options.dtype("dt", "f32"),
        options.tag("tag", "abx"),
        options.algorithm(_POOLS, "max"),
        options.MB,
    ),
    problems.pooling,
    _pool,
    _fill_pool,
)


def _lrn(p: SimpleNamespace, o: dict[str, Any]) -> Call:
    src = Tensor(images(p, o), o["dt"][0], o["tag"][0])
    dst = Tensor(src.dims, src.dtype, "any")
    params = {
        "algorithm": _LRNS[o["alg"]],
        "local_size": p.ls,
        "alpha": p.alpha,
        "beta": p.beta,
        "k": p.k,
    }
    return _of_one_source("lrn", "lrn", o, params, src, dst)


LRN = Driver(
    "lrn",
    (
        options.DIR_D,
        options.dtype("dt", "f32"),
        options.tag("tag", "abx"),
        options.Option("alg", options.one_of(*_LRNS), "ACROSS"),
        options.MB,
    ),
    partial(problems.spatial, required=("ic",), ls=5, alpha=1 / 8192, beta=0.75, k=1.0),
    _lrn,
    lambda call, name, tensor, rng: data.Fill(-8, 8, 0.5),
)
