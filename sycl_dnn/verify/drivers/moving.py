# SPDX-License-Identifier: Apache-2.0
"""concat, sum, reorder and shuffle: elements moved, joined, added up."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from sycl_dnn.verify import fill, options, shapes
from sycl_dnn.verify.call import Call, Tensor
from sycl_dnn.verify.compare import Rule
from sycl_dnn.verify.driver import (
    Driver,
    attributes_of,
    prop_kind,
    require,
    strides_of,
)
from sycl_dnn.verify.drivers.pointwise import read_dims
from sycl_dnn.verify.drivers.resizing import gradient_of
from sycl_dnn.verify.encoding import epsilon, largest


def _read_concat(text: str) -> SimpleNamespace:
    found, name = shapes.tensors(text, 1, 1024)
    if len({len(dims) for dims in found}) > 1:
        raise ValueError(f"all sources must have the same rank, got {text!r}")
    return SimpleNamespace(name=name, sources=found)


def _tags(given: tuple[str, ...], count: int) -> tuple[str, ...]:
    return given if len(given) == count else given[:1] * count


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


def _exact(call: Call, name: str) -> Rule:
    return Rule(0.0, 60.0)


def _fill_moved(call: Call, name: str, tensor: Tensor, rng: Any):
    """Draw what the destination can hold, and now and then what it has to saturate."""
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
        most = min(int(largest(call.tensors["dst"].dtype)), 8)
        low, high = -most, most
    return fill.Fill(low, high, nonzero=True).draw(rng, tensor.dims)


CONCAT = Driver(
    "concat",
    (
        options.dtype("sdt", "f32"),
        options.dtype("ddt", "f32"),
        options.tag("stag", "abx"),
        options.tag("dtag", "undef"),
        options.Option("axis", options.integer, "1"),
    ),
    _read_concat,
    _concat,
    _exact,
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


def _rule_sum(call: Call, name: str) -> Rule:
    count, dtype = len(call.params["scales"]), call.tensors["dst"].dtype
    return Rule(epsilon(dtype) * count, 60.0, 2e-5 if dtype == "f32" else 0.0)


SUM = Driver(
    "sum",
    (
        options.dtype("sdt", "f32:f32"),
        options.dtype("ddt", "f32"),
        options.tag("stag", "abx"),
        options.tag("dtag", "undef"),
        options.Option("scales", _scales, "1"),
        options.INPLACE,
    ),
    read_dims,
    _sum,
    _rule_sum,
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


def _rule_reorder(call: Call, name: str) -> Rule:
    return Rule(0.0, 80.0)


REORDER = Driver(
    "reorder",
    (
        options.dtype("sdt", "f32"),
        options.dtype("ddt", "f32"),
        options.tag("stag", "abx"),
        options.tag("dtag", "abx"),
        options.tag("strides", ""),
        options.Option("oflag", options.text),
        options.Option("cross-engine", options.one_of("none", "cpu2gpu", "gpu2cpu"), "none"),
        options.Option("runtime-dim-mask", options.optional_integer),
    ),
    read_dims,
    _reorder,
    _rule_reorder,
    _fill_moved,
)


def _shuffle(p: SimpleNamespace, o: dict[str, Any]) -> Call:
    require(o["dir"] in ("FWD_D", "FWD_I", "BWD_D"), "no such direction")
    require(o["axis"] < len(p.dims), "no such axis")
    require(o["group"] > 0 and p.dims[o["axis"]] % o["group"] == 0, "group must divide the axis")
    src = Tensor(p.dims, o["dt"][0], o["tag"][0])
    dst = Tensor(p.dims, o["dt"][0], "any")
    params = {"axis": o["axis"], "group_size": o["group"]}
    if o["dir"] == "BWD_D":
        return gradient_of("shuffle", "shuffle", o, params, src, dst)
    full = {"prop_kind": prop_kind(o["dir"])} | params
    return Call("shuffle", "shuffle_forward", full, {"src": src, "dst": dst}, attributes_of(o))


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
    _exact,
    _fill_moved,
)
