# SPDX-License-Identifier: Apache-2.0
"""Cases of batch, layer and group normalization, and of LRN."""

from .case import Case, backward_of, without

SCALE, SHIFT, BOTH = ("use_scale",), ("use_shift",), ("use_scale", "use_shift")
GLOBAL, RELU, RMS = ("use_global_stats",), ("fuse_norm_relu",), ("rms_norm",)
LAST = dict.fromkeys(("src", "dst"), "acdb")

RMS_FAULT = (
    "oneDNN's backward of layer normalization with rms_norm subtracts the mean of the incoming "
    "gradient as if the forward run had subtracted a mean; use_global_stats avoids it."
)

# name: src, flags, inference?, tags
BATCH = {
    "plain": ((3, 5, 4, 6), (), False, {}),
    "scale_shift": ((4, 7, 5, 3), BOTH, False, {}),
    "scale": ((2, 3, 4, 4), SCALE, False, {}),
    "shift": ((2, 3, 4, 4), SHIFT, False, {}),
    "global": ((2, 16, 3, 3), GLOBAL, False, {}),
    "global_scale_shift": ((2, 5, 3, 4), GLOBAL + BOTH, False, {}),
    "relu": ((3, 16, 5, 4), RELU, False, {}),
    "relu_scale_shift": ((3, 8, 5, 4), BOTH + RELU, False, {}),
    "inference": ((2, 6, 5, 5), BOTH, True, {}),
    "global_inference": ((2, 6, 5, 5), GLOBAL + BOTH, True, {}),
    "no_space": ((11, 13), BOTH, False, {}),
    "1d": ((3, 5, 17), SCALE, False, {}),
    "3d": ((2, 3, 2, 4, 3), BOTH, False, {}),
    "one_channel": ((2, 1, 5, 7), BOTH, False, {}),
    "channels_last": ((2, 16, 5, 3), BOTH, False, LAST),
    "add_relu": ((2, 16, 3, 3), ("use_scale", "use_shift", "fuse_norm_add_relu"), False, LAST),
}

# name: src, flags, inference?, tags
LAYER = {
    "plain": ((5, 7), (), False, {}),
    "scale_shift": ((3, 4, 17), BOTH, False, {}),
    "scale": ((3, 2, 8), SCALE, False, {}),
    "shift": ((3, 2, 8), SHIFT, False, {}),
    "global": ((4, 3, 9), GLOBAL + BOTH, False, {}),
    "inference": ((2, 3, 31), BOTH, True, {}),
    "rms": ((4, 5, 16), RMS, False, {}),
    "rms_scale": ((4, 13), RMS + SCALE, False, {}),
    "rms_scale_shift": ((2, 3, 11), RMS + BOTH, False, {}),
    "rms_global": ((2, 3, 11), RMS + GLOBAL + SCALE, False, {}),
    "rms_inference": ((2, 3, 11), RMS + SCALE, True, {}),
    "4d": ((2, 3, 4, 5), BOTH, False, {}),
    "5d": ((2, 1, 3, 2, 6), BOTH, False, {}),
    "one_row": ((1, 1, 19), BOTH, False, {}),
    "batch_first": ((3, 4, 16), BOTH, False, dict.fromkeys(("src", "dst"), "bac")),
}

# name: src, groups, flags, inference?, tags
GROUP = {
    "plain": ((2, 6, 4, 5), 3, (), False, {}),
    "scale_shift": ((2, 8, 3, 5), 2, BOTH, False, {}),
    "scale": ((3, 4, 4, 4), 2, SCALE, False, {}),
    "shift": ((3, 4, 4, 4), 4, SHIFT, False, {}),
    "one_group": ((2, 7, 3, 3), 1, BOTH, False, {}),
    "instance": ((2, 7, 5, 3), 7, BOTH, False, {}),
    "global": ((2, 6, 3, 4), 2, GLOBAL + BOTH, False, {}),
    "inference": ((2, 6, 3, 4), 3, BOTH, True, {}),
    "1d": ((3, 10, 11), 5, BOTH, False, {}),
    "3d": ((2, 4, 2, 3, 4), 2, BOTH, False, {}),
    "channels_last": ((2, 16, 4, 4), 4, BOTH, False, LAST),
}

# name: src, algorithm, local_size, alpha, beta, k
LRN = {
    "across": ((2, 7, 4, 3), "across_channels", 5, 1.0, 0.75, 1.0),
    "across_16": ((2, 16, 5, 5), "across_channels", 5, 0.5, 0.75, 1.0),
    "across_wide": ((1, 13, 2, 3), "across_channels", 9, 2.0, 0.5, 2.0),
    "across_one": ((1, 5, 3, 3), "across_channels", 1, 1.0, 1.0, 1.0),
    "across_1d": ((2, 5, 7), "across_channels", 3, 1.0, 0.75, 1.5),
    "across_3d": ((1, 6, 2, 3, 4), "across_channels", 3, 1.0, 0.75, 1.0),
    "across_no_space": ((3, 11), "across_channels", 5, 1.0, 0.75, 1.0),
    "within": ((2, 3, 6, 5), "within_channel", 3, 1.0, 0.75, 1.0),
    "within_5": ((1, 16, 7, 7), "within_channel", 5, 2.0, 0.75, 1.0),
    "within_3d": ((1, 2, 4, 3, 5), "within_channel", 3, 1.0, 0.5, 1.0),
    "even_size": ((1, 8, 3, 3), "across_channels", 4, 1.0, 0.75, 1.0),
}


def _statistics(row, src, params):
    """Dims of mean and variance."""
    if row.startswith("batch"):
        return (src[1],)
    return src[:-1] if row.startswith("layer") else (src[0], params["groups"])


def _normalization(row, name, src, params, tags):
    """A forward case; layer normalization requires the type of scale and shift as a parameter."""
    flags = params["flags"]
    shapes = {"src": src, "dst": src}
    if "use_global_stats" in flags or params["prop_kind"] == "forward_training":
        names = ("variance",) if "rms_norm" in flags else ("mean", "variance")
        shapes |= dict.fromkeys(names, _statistics(row, src, params))
    channels = (src[-1] if row.startswith("layer") else src[1],)
    shapes |= {what: channels for what in ("scale", "shift") if f"use_{what}" in flags}
    if "fuse_norm_add_relu" in flags:
        shapes["src_1"] = src
        tags = tags | {"src_1": tags["src"]}
    if row.startswith("layer"):
        params = params | {"scale_shift_data_type": "f32"}
    return Case(name, row, params, shapes, tags=tags, ranges={"variance": (0.5, 2.0)})


def _forward(kind, table):
    row = f"{kind}_normalization_forward"
    for name, (src, *groups, flags, inference, tags) in table.items():
        mode = "inference" if inference else "training"
        params = {"prop_kind": f"forward_{mode}", "epsilon": 1e-3, "flags": flags}
        if groups:
            params["groups"] = groups[0]
        yield _normalization(row, name, src, params, tags)


def _backward(case):
    """The gradient in src and, if there are any, in scale and shift."""
    scaled = [what for what in ("scale", "shift") if what in case.shapes]
    params = case.params | {"prop_kind": "backward" if scaled else "backward_data"}
    if "scale_shift_data_type" in params:
        params["diff_scale_shift_data_type"] = params["scale_shift_data_type"]
    differentiated = ("src", "dst", "src_1", *scaled)
    diffs = {f"diff_{n}": dims for n, dims in case.shapes.items() if n in differentiated}
    shapes = without(case.shapes, "dst", "shift", "src_1") | diffs
    tags = {"src": case.tags["src"]} if case.tags else {}
    tags |= {f"diff_{name}": tag for name, tag in case.tags.items()}
    known = {}
    if "rms_norm" in params["flags"] and "use_global_stats" not in params["flags"]:
        known = {"fault": RMS_FAULT, "faulty": ("diff_src",)}
    row = case.row.replace("forward", "backward")
    return backward_of(case, row, shapes, params, tags=tags, **known)


def _lrn(name, src, algorithm, local_size, alpha, beta, k, tags=None):
    params = {
        "prop_kind": "forward_training",
        "algorithm": f"lrn_{algorithm}",
        "local_size": local_size,
        "alpha": alpha,
        "beta": beta,
        "k": k,
    }
    shapes = {"src": src, "dst": src}
    return Case(name, "lrn_forward", params, shapes, tags=tags or {}, ranges={"src": (-2.0, 2.0)})


def _lrn_backward(case):
    shape = case.shapes["src"]
    shapes = {"src": shape, "diff_dst": shape, "diff_src": shape}
    tags = {name: case.tags["src"] for name in shapes if case.tags}
    params = without(case.params, "prop_kind")
    return backward_of(case, "lrn_backward", shapes, params, tags=tags)


CASES = {}
for _kind, _table in (("batch", BATCH), ("layer", LAYER), ("group", GROUP)):
    _cases = list(_forward(_kind, _table))
    _trained = [case for case in _cases if case.params["prop_kind"] == "forward_training"]
    CASES[f"{_kind}_normalization_forward"] = _cases
    CASES[f"{_kind}_normalization_backward"] = [_backward(case) for case in _trained]

_lrns = [_lrn(name, *rest) for name, rest in LRN.items()]
_lrns.append(_lrn("channels_last", (2, 16, 4, 3), "across_channels", 5, 1.0, 0.75, 1.0, LAST))
CASES["lrn_forward"] = _lrns
CASES["lrn_backward"] = [_lrn_backward(case) for case in _lrns]
