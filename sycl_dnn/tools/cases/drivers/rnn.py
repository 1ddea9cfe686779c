# SPDX-License-Identifier: Apache-2.0
"""Driver ``rnn``: six cells, four directions, plain, low-precision and quantized."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from sycl_dnn.tools.cases import data, options, problems
from sycl_dnn.tools.cases.call import Call, Tensor
from sycl_dnn.tools.cases.driver import Driver, attributes_of, forward_attributes, require
from sycl_dnn.tools.cases.storage import dense_strides, expand_tag, rounded

_LAYERS = {"src_layer": 0, "dst_layer": 2}


def _tag(name: str, tags: tuple[str, ...]) -> str | None:
    if name.startswith(("weights_layer", "weights_iter", "weights_projection")):
        return tags[1]
    chosen = tags[_LAYERS[name]] if name in _LAYERS else None
    return None if chosen == "any" else chosen


def _with_gaps(name: str, dims: tuple[int, ...], tag: str | None) -> tuple[int, ...]:
    """Return strides with a gap between the outermost slices of a layer, or between state rows."""
    if name in _LAYERS and tag is not None:
        strides = list(dense_strides(dims, expand_tag(tag, len(dims))))
        strides[strides.index(max(strides))] += 1
        return tuple(strides)
    if name.startswith(("src_iter", "dst_iter")):
        _, directions, samples, channels = dims
        row = channels + 1
        return directions * samples * row, samples * row, row, 1
    return ()


def laid_out(
    dims: dict[str, tuple[int, ...]], types: dict[str, str], tags: tuple[str, ...], gaps: bool
) -> dict[str, Tensor]:
    """Return the tensors of a network."""
    result = {}
    for name, shape in dims.items():
        tag = _tag(name, tags)
        strides = _with_gaps(name, shape, tag) if gaps else ()
        result[name] = Tensor(shape, types.get(name, "f32"), tag, strides)
    return result


# --- The driver

_CELLS = {
    "VANILLA_RNN": ("vanilla_rnn", 1),
    "VANILLA_LSTM": ("lstm", 4),
    "VANILLA_GRU": ("gru", 3),
    "LBR_GRU": ("lbr_gru", 3),
    "VANILLA_AUGRU": ("augru", 3),
    "LBR_AUGRU": ("lbr_augru", 3),
}
_DIRECTIONS = {
    "left2right": "unidirectional_left2right",
    "right2left": "unidirectional_right2left",
    "concat": "bidirectional_concat",
    "sum": "bidirectional_sum",
}
_LOW = ("src_layer", "src_iter", "weights_layer", "weights_iter", "dst_layer", "dst_iter")
#: Data types by configuration; f32 by default.
_TYPES: dict[str, dict[str, str]] = {"f32": {}}
for _dt in ("bf16", "f16"):
    _base = dict.fromkeys((*_LOW, "augru_attention"), _dt)
    _TYPES[f"{_dt}f32"] = _base
    _TYPES[_dt] = _base | dict.fromkeys(("src_iter_c", "dst_iter_c", "bias"), _dt)
for _dt in ("u8", "s8"):
    for _iter, _last in ((_dt, _dt), (_dt, "f32"), ("f32", _dt), ("f32", "f32")):
        _name = f"{_iter}{_dt}{_iter}{_last}"
        _TYPES[_name] = {"src_iter": _iter, "src_layer": _dt, "dst_iter": _iter}
        _TYPES[_name] |= {"dst_layer": _last, "augru_attention": _dt}
        _weights = ("weights_layer", "weights_iter", "weights_projection")
        _TYPES[_name] |= dict.fromkeys(_weights, "s8")
_INPUTS = ("src_layer", "src_iter", "src_iter_c", "augru_attention")
_SHIFT, _SCALE = 64.0, 96.0


def _dims(p: SimpleNamespace, o: dict, gates: int, cell: str) -> dict[str, tuple[int, ...]]:
    layers = p.l if o["l"] is None else o["l"]
    t, mb = p.t if o["t"] is None else o["t"], p.mb
    mb = mb if o["mb"] is None else o["mb"]
    d = 2 if o["direction"] in ("concat", "sum") else 1
    dlc = p.dic * (2 if o["direction"] == "concat" else 1)
    dims = {
        "src_layer": (t, mb, p.slc),
        "src_iter": (layers, d, mb, p.sic),
        "weights_layer": (layers, d, p.slc, gates, p.dhc),
        "weights_iter": (layers, d, p.sic, gates, p.dhc),
        "bias": (layers, d, gates + cell.startswith("lbr"), p.dhc),
        "dst_layer": (t, mb, dlc),
        "dst_iter": (layers, d, mb, p.dic),
    }
    if cell == "lstm":
        dims |= {"src_iter_c": (layers, d, mb, p.dhc), "dst_iter_c": (layers, d, mb, p.dhc)}
    if "augru" in cell:
        dims["augru_attention"] = (t, mb, 1)
    if o["with-peephole"]:
        dims["weights_peephole"] = (layers, d, 3, p.dhc)
    if o["with-projection"]:
        dims["weights_projection"] = (layers, d, p.dhc, p.dic)
    return dims


def _quantization(o: dict, dims: dict) -> dict[str, Any] | None:
    types = _TYPES[o["cfg"]]
    if types.get("src_layer") not in ("u8", "s8"):
        return None
    shift = _SHIFT if types["src_layer"] == "u8" else 0.0
    rng = data.generator(o["cfg"], "scales")
    result: dict[str, Any] = {"data": (_SCALE, shift)}
    gates, channels = dims["weights_layer"][3:]
    per_gate = o["scaling"] == "per_oc"
    scales = rng.choice((64.0, 128.0), gates * channels if per_gate else 1)
    result["weights"] = (24 if per_gate else 0, scales.tolist())
    if "weights_projection" in dims:
        per_channel = o["scaling-proj"] == "per_oc"
        count = dims["weights_projection"][3] if per_channel else 1
        result["projection"] = (8 if per_channel else 0, rng.choice((64.0, 128.0), count).tolist())
    return result


def _state_rounding(quantization: dict, dtype: str):
    scale, shift = quantization["data"]
    return lambda h: (rounded(h * scale + shift, dtype) - shift) / scale


def _facts(o: dict, dims: dict) -> dict[str, Any]:
    overwrite = "diff_weights_overwrite" in o["flags"]
    facts: dict[str, Any] = {
        "accumulates": lambda name: (
            not overwrite and name.startswith(("diff_weights", "diff_bias"))
        ),
    }
    quantization = _quantization(o, dims)
    if quantization:
        facts["rnn_quantization"] = quantization
    return facts


def _rnn(p: SimpleNamespace, o: dict[str, Any]) -> Call:
    cell, gates = _CELLS[o["alg"]]
    dims = _dims(p, o, gates, cell)
    types, facts = _TYPES[o["cfg"]], _facts(o, dims)
    require(not o["skip-nonlinear"], "not a mode of the library")
    require(cell == "lstm" or not (o["with-peephole"] or o["with-projection"]), "lstm only")
    require(o["with-projection"] or p.dic == p.dhc, "dic is dhc without a projection")
    quantized = "rnn_quantization" in facts
    require(not (quantized and o["prop"] == "BWD_DW"), "quantized cells have no gradients")
    # oneDNN adds the stored integers there and saturates.
    require(not (quantized and o["direction"] == "sum"), "no quantized sum of directions")
    tags = (o["tag"] * 3)[:3] if len(o["tag"]) == 1 else o["tag"]
    require(len(tags) == 3, "three tags")
    gaps = not o["trivial-strides"]
    require(not (quantized and gaps), "quantized cells have dense states")
    tensors = laid_out(dims, types, tags, gaps)
    require(not quantized or "weights_peephole" not in tensors, "no quantized peephole")
    params = _params(o, cell)
    if quantized:
        facts["state"] = params["state"] = _state_rounding(
            facts["rnn_quantization"], types["src_layer"]
        )
    if o["prop"] != "BWD_DW":
        kind = {"FWD_I": "forward_inference", "FWD_D": "forward_training"}[o["prop"]]
        full = {"prop_kind": kind} | params
        return Call("rnn", f"{cell}_forward", full, tensors, attributes_of(o), facts=facts)
    return _backward(o, cell, params, tensors, facts)


def _params(o: dict, cell: str) -> dict[str, Any]:
    params: dict[str, Any] = {"direction": _DIRECTIONS[o["direction"]]}
    if cell == "vanilla_rnn":
        params |= {"activation": f"eltwise_{o['activation'].lower()}", "alpha": 0.0}
        if o["activation"] == "RELU":
            params["alpha"] = 0.25
    return params


def _backward(o: dict, cell: str, params: dict, tensors: dict, facts: dict) -> Call:
    hint_params = {"prop_kind": "forward_training"} | params
    hint = Call("rnn", f"{cell}_forward", hint_params, tensors, forward_attributes(o), facts=facts)
    gradients = dict(tensors)
    for name, tensor in tensors.items():
        weights = tensor.tag == "any"
        tag = "any" if weights else tensor.tag
        gradients[f"diff_{name}"] = Tensor(tensor.dims, "f32", tag, tensor.strides)
    full = {"prop_kind": "backward", "flags": o["flags"]} | params
    return Call("rnn", f"{cell}_backward", full, gradients, attributes_of(o), hint, facts=facts)


def _fill(call: Call, name: str, tensor: Tensor, rng: Any):
    """Draw states in [-1, 1], and weights that keep the gates from saturating."""
    if tensor.dtype in ("u8", "s8") and name in _INPUTS:
        low, high = (0, 127) if tensor.dtype == "u8" else (-64, 64)
        return data.Fill(low, high)
    if tensor.dtype == "s8":
        return data.Fill(-32, 32)
    if name == "augru_attention":
        return data.Fill(0, 1, 1 / 16)
    if name.startswith("weights"):
        size = 2.0 ** -np.floor(np.log2(max(tensor.dims[2], 4)) / 2)
        return data.Fill(-8, 8).draw(rng, tensor.dims) / 8 * size
    return data.Fill(-1, 1, 1 / 16)


def _rnn_flags(text: str) -> tuple[str, ...]:
    if text not in ("", "O"):
        raise ValueError(f"must be O or nothing, got {text!r}")
    return ("diff_weights_overwrite",) if text else ()


RNN = Driver(
    "rnn",
    (
        options.Option("prop", options.one_of("FWD_I", "FWD_D", "BWD_DW"), "FWD_I"),
        options.Option("cfg", options.one_of(*_TYPES), "f32"),
        options.tag("tag", "any"),
        options.Option("alg", options.one_of(*_CELLS), "VANILLA_RNN"),
        options.Option("direction", options.one_of(*_DIRECTIONS), "left2right"),
        options.Option("activation", options.one_of("RELU", "LOGISTIC", "TANH", "UNDEF"), "RELU"),
        options.Option("flags", _rnn_flags),
        options.Option("skip-nonlinear", options.boolean, "false"),
        options.Option("trivial-strides", options.boolean, "true"),
        options.Option("with-peephole", options.boolean, "false"),
        options.Option("with-projection", options.boolean, "false"),
        options.Option("scaling", options.one_of("common", "per_oc"), "common"),
        options.Option("scaling-proj", options.one_of("common", "per_oc"), "common"),
        options.Option("l", options.optional_integer),
        options.Option("t", options.optional_integer),
        options.MB,
    ),
    problems.recurrent,
    _rnn,
    _fill,
)
