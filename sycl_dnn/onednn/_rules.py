# SPDX-License-Identifier: Apache-2.0
"""Rules of primitive descriptors: from the parameters to the sentence that a broken one gives.

Each names argument, rule and value, or is None; those of windows are in ``_window_rules``.
"""

from __future__ import annotations

from typing import Any

from sycl_dnn import _core

_ANY = _core.format_kind.any
#: Primitives whose source must say its layout; only results and gradients may be ``any``.
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
    """Return the first of the named descriptors that is there, gradients included."""
    for name in names:
        for key in (name, "diff_" + name):
            if p.get(key) is not None:
                return key, p[key]
    return names[0], None


def hint(name: str, p: dict) -> str | None:
    """Require the training descriptor of the backward primitive's own forward one."""
    if "hint_fwd_pd" not in p:
        return None
    given = p["hint_fwd_pd"]
    wanted = name.split("_backward")[0] + "_forward"
    if given.name != wanted:
        return f"hint_fwd_pd must come from {wanted}, got one from {given.name}"
    if given.prop_kind is not _core.prop_kind.forward_training:
        return f"hint_fwd_pd must have prop_kind forward_training, got {given.prop_kind.name}"
    return None


def forward_kind(name: str, p: dict) -> str | None:
    """Forward primitives know training and inference only."""
    kinds = (_core.prop_kind.forward_training, _core.prop_kind.forward_inference)
    if not name.endswith("_forward") or p["prop_kind"] in kinds:
        return None
    rule = "forward_training or forward_inference"
    return f"prop_kind must be {rule}, got {p['prop_kind'].name}"


def concrete_source(name: str, p: dict) -> str | None:
    """Require a source that says its layout where ``any`` is not taken."""
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
    """Require an axis that counts from 0; negative ones are not counted from the end."""
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
    """Require a result that has size 1 where something is reduced, and reduces something."""
    if name != "reduction":
        return None
    src, dst = p["src"].dims, p["dst"].dims
    if len(src) != len(dst) or any(d not in (1, s) for s, d in zip(src, dst, strict=True)):
        return f"dst must have src's size or 1 in each dimension (src is {src}), got {dst}"
    if src == dst:
        return f"dst must have size 1 in at least one dimension where src has not, got {dst}"
    return None


def bias_needed(name: str, p: dict) -> str | None:
    """Require a bias: the RNN cells have no variant without."""
    is_cell = "weights_iter" in p
    return "bias must be given: RNN cells need one" if is_cell and p["bias"] is None else None


def normalization_groups(name: str, p: dict) -> str | None:
    """Group normalization splits the channels evenly."""
    if not name.startswith("group_normalization"):
        return None
    key, data = tensor_of(p, "src")
    if p["groups"] > 0 and data.dims[1] % p["groups"] == 0:
        return None
    return f"groups must divide {data.dims[1]} (channels of {key}), got {p['groups']}"


def list_lengths(name: str, p: dict) -> str | None:
    """One scale per source, one factor per spatial dimension."""
    if name == "sum" and len(p["scales"]) != len(p["srcs"]):
        return f"scales must have one entry per source ({len(p['srcs'])}), got {len(p['scales'])}"
    key, data = tensor_of(p, "src")
    if p.get("factors") and len(p["factors"]) != data.ndims - 2:
        rule = f"one entry per spatial dimension of {key} ({data.ndims - 2})"
        return f"factors must have {rule}, got {tuple(p['factors'])}"
    return None
