# SPDX-License-Identifier: Apache-2.0
"""eltwise: functions of single elements."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from sycl_dnn.verify import fill, options, shapes
from sycl_dnn.verify.call import Call, Tensor
from sycl_dnn.verify.compare import Rule
from sycl_dnn.verify.driver import (
    Driver,
    attributes_of,
    forward_attributes,
    prop_kind,
    require,
    spread,
    with_mb,
)
from sycl_dnn.verify.encoding import epsilon
from sycl_dnn.verify.post_op_text import BY_DST, ELTWISE

_INACCURATE = ("gelu_tanh", "elu", "swish", "tanh", "soft_relu", "mish", "log")
_NAMES = (*(n.upper() for n in ELTWISE), *(f"{n.upper()}_DST" for n in BY_DST))
_FULL_NAMES = {f"eltwise_{name.lower()}": name for name in _NAMES}
_FULL_NAMES |= {f"eltwise_{name}_use_dst_for_bwd": f"{name.upper()}_DST" for name in BY_DST}


def read_dims(text: str) -> SimpleNamespace:
    """Read a problem that is one shape."""
    (dims,), name = shapes.tensors(text)
    return SimpleNamespace(name=name, dims=dims)


def _constants_fit(name: str, alpha: float, beta: float) -> bool:
    """Whether a function takes these constants; those that it ignores must be 0."""
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
    name, direction = o["alg"].lower(), o["dir"]
    require(direction in ("FWD_D", "FWD_I", "BWD_D"), "no such direction")
    require(_constants_fit(name, o["alpha"], o["beta"]), "constants do not fit the function")
    require(not (name == "round" and direction == "BWD_D"), "round has no gradient")
    base = name.removesuffix("_dst")
    full = f"eltwise_{base}" + ("_use_dst_for_bwd" if name.endswith("_dst") else "")
    params = {"algorithm": full, "alpha": o["alpha"], "beta": o["beta"]}
    dims = with_mb(p.dims, o["mb"])
    types = spread(o["dt"], 2, "dt")
    data = Tensor(dims, types[0], o["tag"][0])
    forward = {"prop_kind": prop_kind(direction)} | params
    tensors = {"src": data, "dst": Tensor(dims, types[1], "any")}
    if direction != "BWD_D":
        return Call(
            "eltwise", "eltwise_forward", forward, tensors, attributes_of(o), None, o["inplace"]
        )
    forward["prop_kind"] = "forward_training"
    hint = Call("eltwise", "eltwise_forward", forward, tensors, forward_attributes(o))
    read = "dst" if name.endswith("_dst") else "src"
    gradients = {"diff_dst": data, "diff_src": data, read: data}
    attr = attributes_of(o)
    return Call("eltwise", "eltwise_backward", params, gradients, attr, hint, o["inplace"])


_POSITIVE = ("log", "sqrt", "pow")


def _fill_eltwise(call: Call, name: str, tensor: Tensor, rng: Any):
    """Draw small numbers, fractions and the edges of the function's pieces."""
    if name == "old_dst" or name not in ("src", "diff_dst"):
        return None
    if tensor.dtype in ("s32", "s8", "u8"):
        return fill.Fill(0 if tensor.dtype == "u8" else -64, 64).draw(rng, tensor.dims)
    if name == "diff_dst":
        return fill.Fill(-4, 4, 0.25, nonzero=True).draw(rng, tensor.dims)
    base = call.params["algorithm"].split("_use_")[0].removeprefix("eltwise_")
    small = fill.Fill(-8, 8, 1 / 16).draw(rng, tensor.dims)
    large = fill.Fill(-64, 64, 1.0).draw(rng, tensor.dims)
    edges = rng.choice([-1.0, 1.0, call.params["alpha"], call.params["beta"]], tensor.dims)
    kind = rng.random(tensor.dims)
    values = np.where(kind < 0.8, small, np.where(kind < 0.95, large, edges))
    if base == "exp":
        values = np.minimum(values, 10)
    if base in _POSITIVE:
        values = np.abs(values) + 1 / 16
    return values


def _rule_eltwise(call: Call, name: str) -> Rule:
    dtype = call.tensors[name].dtype
    base = call.params["algorithm"].split("_use_")[0].removeprefix("eltwise_")
    threshold = max(epsilon(dtype), 4e-5 if base in _INACCURATE else 4e-6)
    # Differences of nearly equal numbers lose digits: their terms are of this size.
    absolute = {"gelu_tanh": 2e-5, "gelu_erf": 2e-5, "mish": 2e-5, "tanh": 4e-5}.get(base, 0.0)
    if call.is_backward and base in ("gelu_erf", "swish", "mish", "logistic", "tanh", "gelu_tanh"):
        absolute = max(absolute, 4e-5)
    if base == "log":
        absolute = 4e-6
    return Rule(threshold, 100.0, absolute)


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
    _rule_eltwise,
    _fill_eltwise,
)
