# SPDX-License-Identifier: Apache-2.0
"""Cases of convolution and deconvolution: one table of geometries for three rows each."""

from dataclasses import replace

from .case import Case, backward_of, without

LAST = {"src": "acdb", "dst": "acdb"}

# name: src, weights, then parameters unless dense, unpadded and with stride 1
CONVOLUTIONS = {
    "1x1": ((2, 8, 5, 5), (4, 8, 1, 1), {}),
    "same": ((2, 3, 7, 7), (5, 3, 3, 3), {"padding_l": (1, 1)}),
    "valid": ((2, 3, 6, 5), (4, 3, 3, 3), {}),
    "asymmetric": (
        (1, 4, 9, 8),
        (6, 4, 3, 2),
        {"strides": (2, 3), "padding_l": (1, 0), "padding_r": (0, 2)},
    ),
    "dilated": ((2, 3, 11, 10), (4, 3, 3, 3), {"dilates": (1, 2), "padding_l": (2, 0)}),
    "groups": ((2, 6, 6, 6), (3, 4, 2, 3, 3), {"padding_l": (1, 1)}),
    "one_group": ((1, 3, 5, 5), (1, 4, 3, 3, 3), {}),
    "depthwise": ((2, 16, 7, 7), (16, 1, 1, 3, 3), {"padding_l": (1, 1)}),
    "primes": ((3, 7, 13, 11), (5, 7, 5, 3), {"strides": (3, 2), "padding_l": (2, 1)}),
    "1d": ((2, 5, 17), (7, 5, 4), {"strides": (2,), "padding_l": (1,), "padding_r": (2,)}),
    "1d_causal": ((1, 3, 12), (2, 3, 3), {"dilates": (3,), "padding_l": (8,), "padding_r": (0,)}),
    "3d": (
        (1, 3, 5, 6, 4),
        (4, 3, 3, 2, 3),
        {"strides": (1, 2, 1), "padding_l": (1, 0, 1), "padding_r": (1, 0, 0)},
    ),
    "3d_depthwise": ((1, 4, 4, 5, 6), (4, 1, 1, 2, 2, 2), {"dilates": (0, 1, 0)}),
    "ones": ((1, 1, 1, 1), (1, 1, 1, 1), {}),
    "whole_image": ((2, 3, 4, 4), (5, 3, 4, 4), {}),
    "skipped_columns": (
        (1, 2, 8, 8),
        (3, 2, 3, 3),
        {"strides": (2, 2), "padding_l": (1, 1), "padding_r": (-1, 0)},
    ),
    "channels_last": ((1, 16, 6, 6), (32, 16, 3, 3), {"padding_l": (1, 1), "tags": LAST}),
}

ROW_MAJOR = dict.fromkeys(("src", "weights", "dst"), "abcd")
ROW_MAJOR_FAULT = (
    "oneDNN's 1x1 deconvolution without groups reads row-major weights (O, C) as (C, O) where "
    "source and destination are row-major too; weights of layout `any` are right."
)

# The same for deconvolution; weights are (destination, source) channels, too.
DECONVOLUTIONS = {
    "1x1": ((2, 8, 5, 5), (4, 8, 1, 1), {"tags": {"weights": "any"}}),
    "upsample": ((2, 3, 5, 4), (4, 3, 2, 2), {"strides": (2, 2)}),
    "same": ((2, 3, 6, 6), (5, 3, 3, 3), {"padding_l": (1, 1)}),
    "asymmetric": (
        (1, 4, 4, 5),
        (6, 4, 3, 2),
        {"strides": (2, 3), "padding_l": (1, 0), "padding_r": (0, 1)},
    ),
    "1x1_row_major": ((2, 8, 5, 5), (4, 8, 1, 1), {"tags": ROW_MAJOR, "fault": ROW_MAJOR_FAULT}),
    "dilated": ((1, 3, 5, 4), (2, 3, 3, 2), {"dilates": (1, 2), "padding_l": (2, 1)}),
    "groups": ((2, 6, 4, 4), (3, 4, 2, 3, 3), {"strides": (2, 1)}),
    "depthwise": ((2, 8, 5, 5), (8, 1, 1, 3, 3), {"padding_l": (1, 1)}),
    "1d": ((2, 5, 7), (3, 5, 4), {"strides": (3,), "padding_l": (1,), "padding_r": (2,)}),
    "3d": ((1, 2, 3, 2, 4), (3, 2, 2, 3, 2), {"strides": (2, 1, 1), "padding_l": (0, 1, 0)}),
    "ones": ((1, 1, 1, 1), (1, 1, 1, 1), {}),
    "channels_last": ((1, 16, 4, 4), (16, 16, 2, 2), {"strides": (2, 2), "tags": LAST}),
}


def _geometry(src, change):
    """Strides, dilates and paddings; the right padding equals the left one if not given."""
    n = len(src) - 2
    left = change.get("padding_l", (0,) * n)
    return {
        "strides": change.get("strides", (1,) * n),
        "dilates": change.get("dilates", (0,) * n),
        "padding_l": left,
        "padding_r": change.get("padding_r", left),
    }


def _extents(weights, src, geometry):
    """Elements that the dilated kernel covers on each axis."""
    kernel = weights[-(len(src) - 2) :]
    return [(k - 1) * (d + 1) + 1 for k, d in zip(kernel, geometry["dilates"], strict=True)]


def _channels(weights, src):
    """Destination channels of all groups."""
    return weights[0] * (weights[1] if len(weights) > len(src) else 1)


def _convolved(src, weights, geometry):
    g = geometry
    padded = zip(src[2:], g["padding_l"], g["padding_r"], strict=True)
    spans = zip(map(sum, padded), _extents(weights, src, g), g["strides"], strict=True)
    size = [(n - extent) // stride + 1 for n, extent, stride in spans]
    return (src[0], _channels(weights, src), *size)


def _deconvolved(src, weights, geometry):
    g = geometry
    cut = map(sum, zip(g["padding_l"], g["padding_r"], strict=True))
    spans = zip(src[2:], g["strides"], _extents(weights, src, g), cut, strict=True)
    size = [(n - 1) * stride + extent - less for n, stride, extent, less in spans]
    return (src[0], _channels(weights, src), *size)


def _forward_cases(kind, table, destination):
    """One forward case per geometry; every second has a bias, every third is inference."""
    for i, (name, (src, weights, change)) in enumerate(table.items()):
        geometry = _geometry(src, change)
        dst = destination(src, weights, geometry)
        shapes = {"src": src, "weights": weights, "dst": dst}
        if i % 2 == 0:
            shapes["bias"] = (dst[1],)
        mode = "inference" if i % 3 == 2 else "training"
        params = {"prop_kind": f"forward_{mode}", "algorithm": f"{kind}_direct"} | geometry
        case = Case(name, f"{kind}_forward", params, shapes, tags=change.get("tags", {}))
        known = {"fault": change["fault"], "faulty": ("dst",)} if "fault" in change else {}
        yield replace(case, **known)


def _training(case):
    return replace(case, params=case.params | {"prop_kind": "forward_training"})


def _backward_data(case):
    """The gradient in the source, which has no bias."""
    kind, names = case.row.removesuffix("_forward"), {"src": "diff_src", "dst": "diff_dst"}
    shapes = {names.get(name, name): dims for name, dims in case.shapes.items() if name != "bias"}
    tags = {names.get(name, name): tag for name, tag in case.tags.items()}
    params = without(case.params, "prop_kind")
    return backward_of(_training(case), f"{kind}_backward_data", shapes, params, tags=tags)


def _backward_weights(case):
    """The gradient in weights and bias."""
    kind = case.row.removesuffix("_forward")
    shapes = {n if n == "src" else f"diff_{n}": dims for n, dims in case.shapes.items()}
    tags = {n if n == "src" else f"diff_{n}": tag for n, tag in case.tags.items()}
    params = without(case.params, "prop_kind")
    return backward_of(_training(case), f"{kind}_backward_weights", shapes, params, tags=tags)


def _with_algorithm(case, name, algorithm):
    return replace(case, name=name, params=case.params | {"algorithm": algorithm})


def _cases(kind, table, destination):
    forward = list(_forward_cases(kind, table, destination))
    return {
        f"{kind}_forward": forward,
        f"{kind}_backward_data": [_backward_data(case) for case in forward],
        f"{kind}_backward_weights": [_backward_weights(case) for case in forward],
    }


CASES = _cases("convolution", CONVOLUTIONS, _convolved)
CASES |= _cases("deconvolution", DECONVOLUTIONS, _deconvolved)

# Winograd is implemented on some devices only.
_last = CASES["convolution_forward"][-1]
CASES["convolution_forward"] += [
    _with_algorithm(_last, "auto", "convolution_auto"),
    _with_algorithm(_last, "winograd", "convolution_winograd"),
]
CASES["deconvolution_forward"].append(
    _with_algorithm(CASES["deconvolution_forward"][-1], "winograd", "deconvolution_winograd")
)
