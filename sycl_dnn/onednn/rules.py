# SPDX-License-Identifier: Apache-2.0
"""Validation rules of primitive descriptors, to explain oneDNN's refusals.

A rule returns a message with argument, rule and value, or None. Rules run only after oneDNN has
refused, since its status says only "invalid arguments".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from sycl_dnn import _core

_ANY = _core.format_kind.any
#: Primitives whose source layout must be concrete; only results and gradients may be ``any``.
_CONCRETE_SOURCE: tuple[str, ...] = (
    "eltwise",
    "pooling",
    "batch_",
    "layer_",
    "group_",
    "softmax",
    "lrn",
)
_CONCRETE_SOURCE += ("shuffle", "reduction", "resampling", "binary", "concat")


def tensor_of(p: dict, *names: str) -> Any:
    """Return the first of the named descriptors that is present, including gradients."""
    for name in names:
        for key in (name, "diff_" + name):
            if p.get(key) is not None:
                return key, p[key]
    return names[0], None


def hint(name: str, p: dict) -> str | None:
    """Require the training descriptor of the matching forward primitive as hint."""
    if "hint_fwd_pd" not in p:
        return None
    hint = p["hint_fwd_pd"]
    expected = name.split("_backward")[0] + "_forward"
    if hint.name != expected:
        return f"hint_fwd_pd must come from {expected}, got one from {hint.name}"
    if hint.prop_kind is not _core.prop_kind.forward_training:
        return f"hint_fwd_pd must have prop_kind forward_training, got {hint.prop_kind.name}"
    return None


def forward_kind(name: str, p: dict) -> str | None:
    """Require a forward primitive to be for training or inference."""
    kinds = (_core.prop_kind.forward_training, _core.prop_kind.forward_inference)
    if not name.endswith("_forward") or p["prop_kind"] in kinds:
        return None
    rule = "forward_training or forward_inference"
    return f"prop_kind must be {rule}, got {p['prop_kind'].name}"


def concrete_source(name: str, p: dict) -> str | None:
    """Require a concrete source layout if ``any`` is not supported."""
    if not name.startswith(_CONCRETE_SOURCE):
        return None
    for key in ("src", "src0", "data"):
        if p.get(key) is not None and p[key].format_kind is _ANY:
            return f"{key} must have a concrete layout, got {p[key]} (any is for results)"
    return None


def matmul_shapes(name: str, p: dict) -> str | None:
    """Require (..., M, K) times (..., K, N) to give (..., M, N)."""
    if name != "matmul":
        return None
    src, wei, dst = p["src"], p["weights"], p["dst"]
    if not src.ndims == wei.ndims == dst.ndims:
        return f"src, weights, dst must have as many dimensions each, got {src}, {wei}, {dst}"
    if src.dims[-1] != wei.dims[-2]:
        return f"weights must have K={src.dims[-1]} rows (src is {src.dims}), got {wei.dims}"
    if (src.dims[-2], wei.dims[-1]) != dst.dims[-2:]:
        return f"dst must end in {(src.dims[-2], wei.dims[-1])}, got {dst.dims}"
    return None


def axis_range(name: str, p: dict) -> str | None:
    """Require a nonnegative axis within range."""
    key, data = tensor_of(p, "src", "dst")
    if "axis" not in p or data is None or 0 <= p["axis"] < data.ndims:
        return None
    return f"axis must be in [0, {data.ndims}), got {p['axis']}"


def shuffle_groups(name: str, p: dict) -> str | None:
    """Require a group size that divides the axis."""
    if not name.startswith("shuffle"):
        return None
    key, data = tensor_of(p, "src")
    if p["group_size"] > 0 and data.dims[p["axis"]] % p["group_size"] == 0:
        return None
    return f"group_size must divide {data.dims[p['axis']]} (axis of {key}), got {p['group_size']}"


def reduction_dims(name: str, p: dict) -> str | None:
    """Require size 1 along reduced axes, and at least one reduced axis."""
    if name != "reduction":
        return None
    src, dst = p["src"].dims, p["dst"].dims
    if len(src) != len(dst) or any(d not in (1, s) for s, d in zip(src, dst, strict=True)):
        return f"dst must have src's size or 1 in each dimension (src is {src}), got {dst}"
    if src == dst:
        return f"dst must have size 1 in at least one dimension where src has not, got {dst}"
    return None


def bias_needed(name: str, p: dict) -> str | None:
    """Require a bias: RNN cells have no variant without one."""
    is_cell = "weights_iter" in p
    return "bias must be given: RNN cells need one" if is_cell and p["bias"] is None else None


def normalization_groups(name: str, p: dict) -> str | None:
    """Require the number of groups to divide the channels."""
    if not name.startswith("group_normalization"):
        return None
    key, data = tensor_of(p, "src")
    if p["groups"] > 0 and data.dims[1] % p["groups"] == 0:
        return None
    return f"groups must divide {data.dims[1]} (channels of {key}), got {p['groups']}"


def list_lengths(name: str, p: dict) -> str | None:
    """Require one scale per source and one factor per spatial dimension."""
    if name == "sum" and len(p["scales"]) != len(p["srcs"]):
        return f"scales must have one entry per source ({len(p['srcs'])}), got {len(p['scales'])}"
    key, data = tensor_of(p, "src")
    if p.get("factors") and len(p["factors"]) != data.ndims - 2:
        rule = f"one entry per spatial dimension of {key} ({data.ndims - 2})"
        return f"factors must have {rule}, got {tuple(p['factors'])}"
    return None


# --- Windows: strides, padding, dilation, channels and sizes

_SPATIAL = ("strides", "dilates", "dilation", "padding_l", "padding_r", "kernel")


def spatial_lengths(name: str, p: dict) -> str | None:
    """Require one entry per spatial dimension in strides, dilation and padding."""
    key, data = tensor_of(p, "src", "dst")
    if data is None or data.ndims < 3:
        return None
    for option in _SPATIAL:
        lengths = p.get(option)
        if lengths is not None and len(lengths) != data.ndims - 2:
            rule = f"one entry per spatial dimension of {key} ({data.ndims - 2})"
            return f"{option} must have {rule}, got {tuple(lengths)}"
        if option in ("strides", "kernel") and lengths is not None and min(lengths) < 1:
            return f"{option} must be at least 1, got {tuple(lengths)}"
    return None


def convolution_channels(name: str, p: dict) -> str | None:
    """Require consistent channels of weights, source and result, including groups."""
    if not name.startswith(("convolution", "deconvolution")):
        return None
    (s, src), (w, wei), (d, dst) = (tensor_of(p, k) for k in ("src", "weights", "dst"))
    if wei is None or src is None or dst is None:
        return None
    if wei.ndims not in (src.ndims, src.ndims + 1):
        return f"{w} must have {src.ndims} dimensions, or one more with groups, got {wei.dims}"
    groups = wei.dims[0] if wei.ndims > src.ndims else 1
    oc, ic = wei.dims[wei.ndims - src.ndims :][:2]
    if groups == 0 or src.dims[1] % groups:
        return f"groups must divide {src.dims[1]} (channels of {s}), got {groups} ({w} {wei.dims})"
    if src.dims[1] != ic * groups:
        rule = f"{src.dims[1] // groups} input channels ({src.dims[1]} of {s} / groups={groups})"
        return f"{w} must have {rule}, got {wei.dims}"
    if dst.dims[1] != oc * groups:
        return f"{d} must have {oc * groups} channels ({w} is {wei.dims}), got {dst.dims}"
    return None


def _window(name: str, p: dict) -> Iterator[tuple[int, int, int, int, int, int]]:
    """Yield input, output, kernel, dilation, total padding and stride per spatial dimension."""
    (_, src), (_, wei), (_, dst) = (tensor_of(p, k) for k in ("src", "weights", "dst"))
    if name.startswith("deconvolution"):
        src, dst = dst, src
    kernel = p.get("kernel") or wei.dims[-(src.ndims - 2) :]
    dilation = p.get("dilates") or p.get("dilation") or [0] * len(kernel)
    padding = [a + b for a, b in zip(p["padding_l"], p["padding_r"], strict=True)]
    yield from zip(src.dims[2:], dst.dims[2:], kernel, dilation, padding, p["strides"], strict=True)


def window_sizes(name: str, p: dict) -> str | None:
    """Require the result size that follows from source, kernel, stride, dilation and padding."""
    if not name.startswith(("convolution", "deconvolution", "pooling")):
        return None
    for axis, (i, o, k, dilation, padding, stride) in enumerate(_window(name, p)):
        size = (i - ((k - 1) * (dilation + 1) + 1) + padding) // stride + 1
        if o != size:
            side = "src" if name.startswith("deconvolution") else "dst"
            formula = f"(({i} - {(k - 1) * (dilation + 1) + 1} + {padding}) // {stride} + 1)"
            return f"{side} must have size {size} in spatial dimension {axis} {formula}, got {o}"
    return None


# --- Finding the violated rule

Rule = Callable[[str, dict], "str | None"]

#: In the order in which they are tried.
RULES: tuple[Rule, ...] = (
    hint,
    forward_kind,
    concrete_source,
    spatial_lengths,
    convolution_channels,
    window_sizes,
    matmul_shapes,
    axis_range,
    shuffle_groups,
    reduction_dims,
    bias_needed,
    normalization_groups,
    list_lengths,
)


def find(name: str, parameters: dict) -> str | None:
    """Return a message about the first violated rule; None if no rule explains the refusal."""
    for rule in RULES:
        try:
            sentence = rule(name, parameters)
        except (AttributeError, IndexError, TypeError, ValueError, ZeroDivisionError):
            continue  # the arguments are invalid in a way that this rule does not cover
        if sentence:
            return sentence
    return None


def _descs(p: dict) -> dict[str, Any]:
    return {k: v for k, v in p.items() if isinstance(v, _core.MemoryDesc) and not v.is_zero}


def _text(value: Any) -> str:
    if isinstance(value, _core.PrimitiveDesc):
        return f"<{value.name} {value.impl_info}>"
    if isinstance(value, list) and value and isinstance(value[0], _core.MemoryDesc):
        return "[" + "; ".join(map(str, value)) + "]"
    return getattr(value, "name", None) or str(value)


def summary(name: str, parameters: dict, engine: Any, attr: Any) -> str:
    """Return descriptors, parameters, device and attributes, one per line."""
    present = {k: v for k, v in parameters.items() if v is not None}
    lines = [f"{k} = {v}" for k, v in _descs(present).items()]
    rest = [f"{k}={_text(v)}" for k, v in present.items() if not isinstance(v, _core.MemoryDesc)]
    lines += [", ".join(rest)] if rest else []
    return "\n".join(f"  {line}" for line in [*lines, f"on {engine!r} with {attr!r}"])
