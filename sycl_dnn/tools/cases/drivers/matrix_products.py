# SPDX-License-Identifier: Apache-2.0
"""Driver ``matmul``: batches, bias masks, runtime dimensions, sparsity, weight decompression."""

from __future__ import annotations

from math import prod
from types import SimpleNamespace
from typing import Any

from sycl_dnn.tools.cases import data, options, problems
from sycl_dnn.tools.cases.call import Call, Tensor
from sycl_dnn.tools.cases.driver import Driver, attributes_of, require, spread, strides_of

_ENCODINGS = ("", "csr", "coo", "packed")


def _read(text: str) -> SimpleNamespace:
    shapes, name = problems.tensors(text, 2, 3)
    src, weights = shapes[:2]
    if len(src) == 2 and len(weights) == 3 and src[1] == weights[1]:
        return SimpleNamespace(name=name, src=src, weights=weights, dst=(), grouped=True)
    if len(src) != len(weights) or len(src) < 2 or src[-1] != weights[-2]:
        raise ValueError(f"problem must be [batch x] MxK:KxN, got {text!r}")
    pairs = list(zip(src[:-2], weights[:-2], strict=True))
    batch = tuple(b if a == 1 else a for a, b in pairs)
    if any(a != b and 1 not in (a, b) for a, b in pairs):
        raise ValueError(f"batch dimensions must be equal or 1, got {text!r}")
    dst = shapes[2] if len(shapes) == 3 else (*batch, src[-2], weights[-1])
    return SimpleNamespace(name=name, src=src, weights=weights, dst=dst, grouped=False)


def _encoding(text: str) -> tuple[tuple[str, float], ...]:
    matches = []
    for part in text.split(":") if text else ():
        name, _, share = part.partition("+")
        if name not in _ENCODINGS:
            raise ValueError(f"encoding must be csr, coo or packed, got {name!r}")
        sparsity = float(share) if share else 0.9
        if not 0 <= sparsity <= 1:
            raise ValueError(f"sparsity must be in [0, 1], got {share}")
        matches.append((name, sparsity))
    if len(matches) > 3:
        raise ValueError(f"--encoding must have at most 3 parts, got {text!r}")
    return (*matches, *[("", 0.0)] * (3 - len(matches)))


def _masks(text: str) -> tuple[int, ...]:
    result = tuple(map(int, text.split(":"))) if text else (0, 0)
    result = result * 2 if result == (0,) else result
    if len(result) != 2 or min(result) < 0:
        raise ValueError(f"--runtime_dims_masks must be src:wei, got {text!r}")
    return result


def _destination_mask(masks: tuple[int, ...], ndims: int) -> int:
    """Return the mask of unknown dst dimensions, which follow from those of the sources."""
    src, weights = masks
    batch = (src | weights) & ((1 << (ndims - 2)) - 1)
    return batch | src & 1 << (ndims - 2) | weights & 1 << (ndims - 1)


def _tensor(dims, dtype, tag, strides, runtime, encoding) -> Tensor:
    kind, sparsity = encoding
    if kind:
        nnz = max(round(prod(dims) * (1 - sparsity)), 1 if kind == "packed" else 0)
        return Tensor(dims, dtype, encoding=kind, nnz=nnz)
    # oneDNN can choose layouts only if all sizes are known.
    return Tensor(dims, dtype, "abx" if runtime and tag == "any" else tag, strides, runtime)


def _call(p: SimpleNamespace, o: dict[str, Any]) -> Call:
    require(not (o["grouped"] or p.grouped), "grouped memory is not part of this build of oneDNN")
    ndims = len(p.src)
    types = spread(o["dt"], 3, "dt")
    strides = spread(o["strides"], 3, "strides") if o["strides"] != ("",) else ("",) * 3
    masks = o["runtime_dims_masks"]
    runtime = (*masks, _destination_mask(masks, ndims))
    tags = (o["stag"][0], o["wtag"][0], o["dtag"][0])
    rows = zip((p.src, p.weights, p.dst), types, tags, strides, runtime, o["encoding"], strict=True)
    results = [_tensor(d, t, g, strides_of(s), r, e) for d, t, g, s, r, e in rows]
    tensors = dict(zip(("src", "weights", "dst"), results, strict=True))
    bias = o["bia-dt"][0]
    if bias != "undef":
        tensors["bias"] = _bias(p.dst, bias, o["bia_mask"], runtime[2])
    return Call("matmul", "matmul", {}, tensors, attributes_of(o))


def _bias(dst: tuple[int, ...], dtype: str, mask: int | None, runtime: int) -> Tensor:
    mask = 1 << (len(dst) - 1) if mask is None else mask
    dims = tuple(n if mask >> axis & 1 else 1 for axis, n in enumerate(dst))
    return Tensor(dims, dtype, "abx", (), runtime & mask)


def _ranges(call: Call) -> tuple[data.Fill, data.Fill]:
    src, weights = (call.tensors[n].dtype for n in ("src", "weights"))
    first = data.Fill(-64, 64) if src == "f32" else data.summand(src, False)
    if weights in ("bf16", "f16"):
        return first, data.Fill(-2, 2)
    return first, data.Fill(-128, 128) if weights == "f32" else data.summand(weights, True)


def _fill(call: Call, name: str, tensor: Tensor, rng: Any):
    if name in ("bias", "old_dst"):
        return data.around(tensor.dtype, 4)
    if name not in ("src", "weights"):
        return None
    first, second = _ranges(call)
    chosen = first if name == "src" else second
    if tensor.encoding:
        return data.thinned(chosen.draw(rng, tensor.dims), tensor.nnz, rng)
    if name == "src":
        k = max(tensor.dims[-1], 1)
        density = data.exact_density(first, second, k, call.tensors["dst"].dtype)
        chosen = data.Fill(first.low, first.high, 1.0, density)
    return chosen


MATMUL = Driver(
    "matmul",
    (
        options.dtype("dt", "f32"),
        options.tag("stag", "any"),
        options.tag("wtag", "any"),
        options.tag("dtag", "any"),
        options.tag("strides", ""),
        options.dtype("bia-dt", "undef"),
        options.Option("bia_mask", options.optional_integer),
        options.Option("runtime_dims_masks", _masks),
        options.Option("encoding", _encoding),
        options.Option("grouped", options.text),
    ),
    _read,
    _call,
    _fill,
    lambda call: prod(call.tensors["dst"].dims) * call.tensors["src"].dims[-1],
)
