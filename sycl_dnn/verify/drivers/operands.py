# SPDX-License-Identifier: Apache-2.0
"""binary and prelu: functions of the elements of two sources."""

from __future__ import annotations

from math import prod
from types import SimpleNamespace
from typing import Any

import numpy as np

from sycl_dnn.verify import fill, options, shapes
from sycl_dnn.verify.call import Call, Tensor
from sycl_dnn.verify.compare import Rule
from sycl_dnn.verify.driver import (
    Driver,
    attributes_of,
    prop_kind,
    require,
    spread,
    strides_of,
    with_mb,
)
from sycl_dnn.verify.encoding import epsilon
from sycl_dnn.verify.post_op_text import BINARY


def _read_binary(text: str) -> SimpleNamespace:
    (first, *rest), name = shapes.tensors(text, 1, 3)
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
    return fill.Fill(low, 16, step, nonzero=divides).draw(rng, tensor.dims)


_COMPARES = ("ge", "gt", "le", "lt", "eq", "ne", "select")


def _rule_binary(call: Call, name: str) -> Rule:
    compares = call.params["algorithm"].removeprefix("binary_") in _COMPARES
    floors = any(op.kind == "eltwise" for op in call.attr.post_ops) or "u8" in (
        call.tensors["dst"].dtype
    )
    integers = {t.dtype for t in call.tensors.values()} & {"s8", "u8", "s32"}
    loose = compares or floors or integers or call.tensors["dst"].dims.count(1) > 2
    return Rule(epsilon(call.tensors["dst"].dtype), 100.0 if loose else 60.0)


BINARY_DRIVER = Driver(
    "binary",
    (
        options.Option("alg", options.one_of(*(n.upper() for n in (*BINARY, "select"))), "ADD"),
        options.dtype("sdt", "f32:f32"),
        options.dtype("ddt", "f32"),
        options.tag("stag", "abx:any"),
        options.tag("dtag", "any"),
        options.tag("strides", ""),
        options.INPLACE,
        options.MB,
    ),
    _read_binary,
    _binary,
    _rule_binary,
    _fill_binary,
)


def _read_prelu(text: str) -> SimpleNamespace:
    (src, weights), name = shapes.tensors(text, 2, 2)
    if len(src) != len(weights):
        raise ValueError(f"both must have the same rank, got {text!r}")
    return SimpleNamespace(name=name, src=src, weights=weights)


def _prelu(p: SimpleNamespace, o: dict[str, Any]) -> Call:
    require(o["dir"] in ("FWD_D", "FWD_I", "BWD_DW"), "no such direction")
    types, tags = spread(o["sdt"], 2, "sdt"), spread(o["stag"], 2, "stag")
    src = Tensor(with_mb(p.src, o["mb"]), types[0], tags[0])
    weights = Tensor(p.weights, types[1], tags[1])
    out = Tensor(src.dims, types[0], "any")
    tensors = {"src": src, "weights": weights, "dst": out}
    params = {"prop_kind": prop_kind(o["dir"])}
    if o["dir"] != "BWD_DW":
        return Call("prelu", "prelu_forward", params, tensors, attributes_of(o))
    hint = Call("prelu", "prelu_forward", {"prop_kind": "forward_training"}, tensors)
    gradients = {
        "src": src,
        "weights": weights,
        "diff_dst": Tensor(src.dims, types[0], tags[0]),
        "diff_src": out,
        "diff_weights": Tensor(weights.dims, types[1], "any"),
    }
    return Call("prelu", "prelu_backward", {}, gradients, attributes_of(o), hint)


def _fill_prelu(call: Call, name: str, tensor: Tensor, rng: Any):
    if name == "weights":
        if tensor.dtype in ("s8", "u8", "s32"):
            return fill.Fill(1, 3).draw(rng, tensor.dims)
        return rng.choice((-0.5, 0.25, 0.5, 2.0), tensor.dims)
    low = 0 if tensor.dtype == "u8" else -16
    if name == "diff_dst":
        return fill.Fill(-2, 2, density=min(1.0, 256 / max(prod(tensor.dims), 1))).draw(
            rng, tensor.dims
        )
    return fill.Fill(low, 16, nonzero=True).draw(rng, tensor.dims)


def _rule_prelu(call: Call, name: str) -> Rule:
    return Rule(2 * epsilon(call.tensors[name].dtype), 100.0 if call.is_backward else 40.0)


PRELU_DRIVER = Driver(
    "prelu",
    (options.DIR_D, options.dtype("sdt", "f32"), options.tag("stag", "abx:any"), options.MB),
    _read_prelu,
    _prelu,
    _rule_prelu,
    _fill_prelu,
)
