# SPDX-License-Identifier: Apache-2.0
"""pool and lrn: neighbourhoods of one source."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from sycl_dnn.tools.verify import data, options, problems
from sycl_dnn.tools.verify.call import Call, Tensor
from sycl_dnn.tools.verify.driver import (
    Driver,
    attributes_of,
    forward_attributes,
    prop_kind,
    require,
    spread,
)
from sycl_dnn.tools.verify.storage import epsilon
from sycl_dnn.tools.verify.tolerance import Rule

_POOLS = {
    "max": "pooling_max",
    "avg_np": "pooling_avg_exclude_padding",
    "avg_p": "pooling_avg_include_padding",
}
_LRNS = {"ACROSS": "lrn_across_channels", "WITHIN": "lrn_within_channel"}


def _gradient(driver: str, o: dict, params: dict, src: Tensor, dst: Tensor) -> Call:
    """Return the backward call of a function of one source."""
    tensors = {"src": src, "dst": dst}
    forward = {"prop_kind": "forward_training"} | params
    row = {"pool": "pooling", "lrn": "lrn"}[driver]
    hint = Call(driver, f"{row}_forward", forward, tensors, forward_attributes(o))
    tag = src.tag if dst.tag == "any" else dst.tag
    gradients = {
        "src": src,
        "diff_src": Tensor(src.dims, src.dtype, src.tag),
        "diff_dst": Tensor(dst.dims, dst.dtype, tag),
    }
    return Call(driver, f"{row}_backward", params, gradients, attributes_of(o), hint)


def _pool(p: SimpleNamespace, o: dict[str, Any]) -> Call:
    require(o["dir"] in ("FWD_D", "FWD_I", "BWD_D"), "no such direction")
    mb = p.mb if o["mb"] is None else o["mb"]
    types = spread(o["dt"], 2, "dt")
    src = Tensor((mb, p.ic, *p.i), types[0], o["tag"][0])
    dst = Tensor((mb, p.ic, *p.o), types[1], o["tag"][1] if len(o["tag"]) > 1 else "any")
    params = {
        "algorithm": _POOLS[o["alg"]],
        "strides": p.s,
        "kernel": p.k,
        "dilation": p.d,
        "padding_l": p.pl,
        "padding_r": p.pr,
    }
    if o["dir"] == "BWD_D":
        return _gradient("pool", o, params, src, dst)
    full = {"prop_kind": prop_kind(o["dir"])} | params
    return Call("pool", "pooling_forward", full, {"src": src, "dst": dst}, attributes_of(o))


def _fill_pool(call: Call, name: str, tensor: Tensor, rng: Any):
    if name == "diff_dst":
        low = -8 if call.params["algorithm"] == "pooling_max" else 1
        return data.Fill(low, 8, nonzero=True).draw(rng, tensor.dims)
    if name != "src":
        return None
    if tensor.dtype in ("s8", "u8"):
        return data.Fill(0 if tensor.dtype == "u8" else -64, 64).draw(rng, tensor.dims)
    return data.Fill(-128, 128).draw(rng, tensor.dims)


def _rule_pool(call: Call, name: str) -> Rule:
    if call.params["algorithm"] == "pooling_max":
        return Rule(0.0, 99.0 if call.is_backward else 60.0)
    threshold = 10 * epsilon(call.tensors[name].dtype)
    # Sums of a window cancel; their terms are of size 128.
    absolute = 128 * epsilon("f32") if call.tensors[name].dtype == "f32" else 0.0
    rounds = {t.dtype for t in call.tensors.values()} & {"s8", "u8"}
    return Rule(threshold, 99.0 if call.is_backward or rounds else 60.0, absolute)


POOL = Driver(
    "pool",
    (
        options.DIR_D,
        options.dtype("dt", "f32"),
        options.tag("tag", "abx"),
        options.Option("alg", options.one_of(*_POOLS, **{v: k for k, v in _POOLS.items()}), "max"),
        options.MB,
    ),
    problems.pooling,
    _pool,
    _rule_pool,
    _fill_pool,
)


def _read_lrn(text: str) -> SimpleNamespace:
    p = problems.spatial(text, ("ic", "ls"), ("alpha", "beta", "k"))
    if not getattr(p, "ic", 0):
        raise ValueError(f"ic must be given, got {text!r}")
    given = {"ls": 5, "alpha": 1 / 8192, "beta": 0.75, "k": 1.0} | vars(p)
    return SimpleNamespace(**given)


def _lrn(p: SimpleNamespace, o: dict[str, Any]) -> Call:
    require(o["dir"] in ("FWD_D", "FWD_I", "BWD_D"), "no such direction")
    mb = p.mb if o["mb"] is None else o["mb"]
    src = Tensor((mb, p.ic, *p.i), o["dt"][0], o["tag"][0])
    dst = Tensor(src.dims, src.dtype, "any")
    params = {
        "algorithm": _LRNS[o["alg"]],
        "local_size": p.ls,
        "alpha": p.alpha,
        "beta": p.beta,
        "k": p.k,
    }
    if o["dir"] == "BWD_D":
        return _gradient("lrn", o, params, src, dst)
    full = {"prop_kind": prop_kind(o["dir"])} | params
    return Call("lrn", "lrn_forward", full, {"src": src, "dst": dst}, attributes_of(o))


def _fill_lrn(call: Call, name: str, tensor: Tensor, rng: Any):
    return data.Fill(-8, 8, 0.5).draw(rng, tensor.dims)


def _rule_lrn(call: Call, name: str) -> Rule:
    axes = (
        1
        if call.params["algorithm"] == "lrn_across_channels"
        else (len(call.tensors[name].dims) - 2)
    )
    count = call.params["local_size"] ** axes
    threshold = max(count, 2) * 3 * epsilon(call.tensors[name].dtype)
    return Rule(threshold, 60.0, 3e-6 if call.is_backward else 0.0, norm=call.is_backward)


LRN = Driver(
    "lrn",
    (
        options.DIR_D,
        options.dtype("dt", "f32"),
        options.tag("tag", "abx"),
        options.Option("alg", options.one_of(*_LRNS), "ACROSS"),
        options.MB,
    ),
    _read_lrn,
    _lrn,
    _rule_lrn,
    _fill_lrn,
)
