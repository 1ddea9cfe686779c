# SPDX-License-Identifier: Apache-2.0
"""softmax: probabilities along one axis, or their logarithms."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from sycl_dnn.verify import fill, options
from sycl_dnn.verify.call import Call, Tensor
from sycl_dnn.verify.compare import Rule, amplification
from sycl_dnn.verify.driver import (
    Driver,
    attributes_of,
    forward_attributes,
    prop_kind,
    require,
    with_mb,
)
from sycl_dnn.verify.drivers.pointwise import read_dims
from sycl_dnn.verify.encoding import epsilon

_SOFTMAX = {"SOFTMAX": "softmax_accurate", "LOGSOFTMAX": "softmax_log"}


def _softmax(p: SimpleNamespace, o: dict[str, Any]) -> Call:
    require(o["dir"] in ("FWD_D", "FWD_I", "BWD_D"), "no such direction")
    require(o["axis"] < len(p.dims), "no such axis")
    dims = with_mb(p.dims, o["mb"])
    params = {"algorithm": _SOFTMAX[o["alg"]], "axis": o["axis"]}
    tensors = {
        "src": Tensor(dims, o["sdt"][0], o["stag"][0]),
        "dst": Tensor(dims, o["ddt"][0], o["dtag"][0]),
    }
    attr = attributes_of(o)
    if o["dir"] != "BWD_D":
        full = {"prop_kind": prop_kind(o["dir"])} | params
        return Call("softmax", "softmax_forward", full, tensors, attr, None, o["inplace"])
    full = {"prop_kind": "forward_training"} | params
    hint = Call("softmax", "softmax_forward", full, tensors, forward_attributes(o))
    concrete = o["stag"][0] if o["dtag"][0] == "any" else o["dtag"][0]
    dst = Tensor(dims, o["ddt"][0], concrete)
    gradients = {"dst": dst, "diff_dst": dst, "diff_src": Tensor(dims, o["sdt"][0], o["stag"][0])}
    return Call("softmax", "softmax_backward", params, gradients, attr, hint, o["inplace"])


def _fill_softmax(call: Call, name: str, tensor: Tensor, rng: Any):
    if name == "src":
        if tensor.dtype in ("s8", "u8"):
            return fill.Fill(0, 8).draw(rng, tensor.dims)
        return fill.Fill(-4, 4, 0.125).draw(rng, tensor.dims)
    if name == "diff_dst":
        return fill.Fill(-4, 4, 0.25).draw(rng, tensor.dims)
    return None


def _rule_softmax(call: Call, name: str) -> Rule:
    dtype = call.tensors[name].dtype
    log = call.params["algorithm"] == "softmax_log"
    factor = 10 * (5 if log else 1) * (4 if call.is_backward else 1)
    threshold = factor * epsilon("f32") if dtype == "f32" else epsilon(dtype)
    # oneDNN's own logarithm is off by some 4e-6.
    absolute = (
        (8e-6 if log else 4e-6) * (4 if call.is_backward else 1)
        if dtype == "f32"
        else epsilon(dtype) / 8
    )
    if call.attr.accumulation != "strict":
        threshold = max(threshold, 4 * epsilon("bf16") if dtype != "f32" else 1e-5)
    return Rule(threshold, 100.0, absolute * amplification(call))


SOFTMAX = Driver(
    "softmax",
    (
        options.DIR_D,
        options.dtype("sdt", "f32"),
        options.dtype("ddt", "f32"),
        options.tag("stag", "abx"),
        options.tag("dtag", "any"),
        options.Option(
            "alg", options.one_of(*_SOFTMAX, **{v: k for k, v in _SOFTMAX.items()}), "SOFTMAX"
        ),
        options.Option("axis", options.integer, "1"),
        options.INPLACE,
        options.MB,
    ),
    read_dims,
    _softmax,
    _rule_softmax,
    _fill_softmax,
)
