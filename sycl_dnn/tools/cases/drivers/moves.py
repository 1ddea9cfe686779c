# SPDX-License-Identifier: Apache-2.0
"""Drivers ``concat``, ``sum``, ``reorder``, ``shuffle``, ``resampling`` and ``reduction``."""

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
    images,
    in_direction,
    require,
    strides_of,
    with_mb,
)
from sycl_dnn.tools.cases.drivers.eltwise import read_dims
from sycl_dnn.tools.cases.storage import INTEGERS, largest


def _moved(driver: str, o: dict, params: dict, src: Tensor, dst: Tensor) -> Call:
    """Return the call of a single-source function whose gradient reads only the result's."""
    gradients = {"diff_src": src, "diff_dst": Tensor(dst.dims, dst.dtype, src.tag)}
    return in_direction(driver, driver, o, params, {"src": src, "dst": dst}, gradients)


def _read_resampling(text: str) -> SimpleNamespace:
    p = problems.spatial(text, ("ic",), groups="io")
    if not p.i or 0 in p.o:
        raise ValueError(f"ic, input and output sizes must be given, got {text!r}")
    return p


def _resampling(p: SimpleNamespace, o: dict[str, Any]) -> Call:
    src = Tensor(images(p, o), o["sdt"][0], o["tag"][0])
    dst = Tensor(images(p, o, p.o), o["ddt"][0], "any")
    params = {"algorithm": f"resampling_{o['alg']}"}
    return _moved("resampling", o, params, src, dst)


def _fill_resampled(call: Call, name: str, tensor: Tensor, rng: Any):
    if name not in ("src", "diff_dst"):
        return None
    return data.around(tensor.dtype, 8, nonzero=True)


RESAMPLING = Driver(
    "resampling",
    (
        options.DIR_D,
        options.dtype("sdt", "f32"),
        options.dtype("ddt", "f32"),
        options.tag("tag", "abx"),
        options.Option("alg", options.one_of("nearest", "linear"), "nearest"),
        options.MB,
    ),
    _read_resampling,
    _resampling,
    _fill_resampled,
)

_REDUCTIONS = (
    *("sum", "mul", "max", "min", "mean"),
    *("norm_lp_max", "norm_lp_sum", "norm_lp_power_p_max", "norm_lp_power_p_sum"),
)


def _read_reduction(text: str) -> SimpleNamespace:
    (src, dst), name = problems.tensors(text, 2, 2)
    if len(src) != len(dst):
        raise ValueError(f"both must have the same rank, got {text!r}")
    return SimpleNamespace(name=name, src=src, dst=dst)


def _reduction(p: SimpleNamespace, o: dict[str, Any]) -> Call:
    is_norm = o["alg"].startswith("norm")
    require(is_norm or (o["p"] == 1 and o["eps"] == 0), "p and eps belong to norms")
    require(not is_norm or o["p"] >= 1, "p must be at least 1")
    tensors = {
        "src": Tensor(with_mb(p.src, o["mb"]), o["sdt"][0], o["stag"][0]),
        "dst": Tensor(p.dst, o["ddt"][0], o["dtag"][0]),
    }
    params = {"algorithm": f"reduction_{o['alg']}", "p": o["p"], "eps": o["eps"]}
    return Call("reduction", "reduction", params, tensors, attributes_of(o))


def _fill_reduced(call: Call, name: str, tensor: Tensor, rng: Any):
    """Draw integers with an exact sum, or factors near 1 for products."""
    if name != "src":
        return None
    if call.params["algorithm"] == "reduction_mul":
        factors = (1, 1, 1, 2) if tensor.dtype in INTEGERS else (1.0, 1.0, -1.0, 0.5, 2.0)
        return _products(rng, tensor.dims, factors, prod(call.tensors["dst"].dims))
    return data.around(tensor.dtype, 8, nonzero=True)


def _products(rng: Any, dims: tuple, factors: tuple, results: int) -> np.ndarray:
    """Draw mostly ones, so that products stay in range."""
    share = min(1.0, 5 * results / max(prod(dims), 1))
    return np.where(rng.random(dims) < share, rng.choice(factors, dims), 1.0)


REDUCTION = Driver(
    "reduction",
    (
        *options.types_and_tags(),
        options.Option("alg", options.one_of(*_REDUCTIONS), "sum"),
        options.Option("p", options.real, "1"),
        options.Option("eps", options.real, "0"),
        options.MB,
    ),
    _read_reduction,
    _reduction,
    _fill_reduced,
)


# --- concat, sum, reorder and shuffle


def _read_concat(text: str) -> SimpleNamespace:
    sources, name = problems.tensors(text, 1, 1024)
    if len({len(dims) for dims in sources}) > 1:
        raise ValueError(f"all sources must have the same rank, got {text!r}")
    return SimpleNamespace(name=name, sources=sources)


def _tags(tags: tuple[str, ...], count: int) -> tuple[str, ...]:
    return tags if len(tags) == count else tags[:1] * count


def _concat(p: SimpleNamespace, o: dict[str, Any]) -> Call:
    axis, first = o["axis"], p.sources[0]
    require(axis < len(first), "no such axis")
    tags = _tags(o["stag"], len(p.sources))
    tensors = {
        f"multiple_src_{i}": Tensor(dims, o["sdt"][0], tag)
        for i, (dims, tag) in enumerate(zip(p.sources, tags, strict=True))
    }
    size = sum(dims[axis] for dims in p.sources)
    dst = (*first[:axis], size, *first[axis + 1 :])
    tensors["dst"] = Tensor(dst, o["ddt"][0], "any" if o["dtag"][0] == "undef" else o["dtag"][0])
    return Call("concat", "concat", {"concat_dimension": axis}, tensors, attributes_of(o))


def _fill_moved(call: Call, name: str, tensor: Tensor, rng: Any):
    """Draw values that the destination can represent, and a few that saturate."""
    if name in ("old_dst",) or name.startswith("attr_"):
        return None
    low, high = (-64, 64) if tensor.dtype in ("f32", "bf16", "f16", "s32", "s8") else (0, 64)
    if tensor.dtype in ("s4", "u4") or tensor.dtype.startswith(("f8", "f4")):
        return None
    if tensor.dtype == "u8":
        high = 200
    if call.driver == "reorder" and call.tensors["dst"].dtype == "e8m0":
        return 2.0 ** rng.integers(-8, 8, tensor.dims)
    if call.driver == "reorder" and call.tensors["dst"].dtype.startswith(("f8", "f4")):
        limit = min(int(largest(call.tensors["dst"].dtype)), 8)
        low, high = -limit, limit
    return data.Fill(low, high, nonzero=True)


CONCAT = Driver(
    "concat",
    (
        *options.types_and_tags(dtag="undef"),
        options.Option("axis", options.integer, "1"),
    ),
    _read_concat,
    _concat,
    _fill_moved,
)


def _scales(text: str) -> tuple[float, ...]:
    return tuple(map(options.real, text.split(":")))


def _sum(p: SimpleNamespace, o: dict[str, Any]) -> Call:
    types = o["sdt"]
    tags = _tags(o["stag"], len(types))
    scales = o["scales"] if len(o["scales"]) == len(types) else o["scales"][:1] * len(types)
    tensors = {
        f"multiple_src_{i}": Tensor(p.dims, dtype, tag)
        for i, (dtype, tag) in enumerate(zip(types, tags, strict=True))
    }
    tag = "any" if o["dtag"][0] == "undef" else o["dtag"][0]
    tensors["dst"] = Tensor(p.dims, o["ddt"][0], tag)
    params = {"scales": list(scales)}
    return Call("sum", "sum", params, tensors, attributes_of(o), None, o["inplace"])


SUM = Driver(
    "sum",
    (
        *options.types_and_tags(sdt="f32:f32", dtag="undef"),
        options.Option("scales", _scales, "1"),
        options.INPLACE,
    ),
    read_dims,
    _sum,
    _fill_moved,
)


def _reorder(p: SimpleNamespace, o: dict[str, Any]) -> Call:
    require(o["cross-engine"] == "none", "one device only")
    require(not o["oflag"], "compensation comes with weights of convolutions")
    strides = (o["strides"] + ("",) * 2)[:2]
    runtime = o["runtime-dim-mask"] or 0
    tensors = {
        "src": Tensor(p.dims, o["sdt"][0], o["stag"][0], strides_of(strides[0]), runtime),
        "dst": Tensor(p.dims, o["ddt"][0], o["dtag"][0], strides_of(strides[1]), runtime),
    }
    return Call("reorder", "reorder", {}, tensors, attributes_of(o))


REORDER = Driver(
    "reorder",
    (
        *options.types_and_tags(dtag="abx"),
        options.tag("strides", ""),
        options.Option("oflag", options.text),
        options.Option("cross-engine", options.one_of("none", "cpu2gpu", "gpu2cpu"), "none"),
        options.Option("runtime-dim-mask", options.optional_integer),
    ),
    read_dims,
    _reorder,
    _fill_moved,
)


def _shuffle(p: SimpleNamespace, o: dict[str, Any]) -> Call:
    require(o["axis"] < len(p.dims), "no such axis")
    require(o["group"] > 0 and p.dims[o["axis"]] % o["group"] == 0, "group must divide the axis")
    src = Tensor(p.dims, o["dt"][0], o["tag"][0])
    dst = Tensor(p.dims, o["dt"][0], "any")
    params = {"axis": o["axis"], "group_size": o["group"]}
    return _moved("shuffle", o, params, src, dst)


SHUFFLE = Driver(
    "shuffle",
    (
        options.DIR_D,
        options.dtype("dt", "f32"),
        options.tag("tag", "abx"),
        options.Option("axis", options.integer, "1"),
        options.Option("group", options.integer, "1"),
    ),
    read_dims,
    _shuffle,
    _fill_moved,
)
