# SPDX-License-Identifier: Apache-2.0
"""Cases of pooling and softmax."""

from .case import Case, backward_of, without

LAST = {"src": "acdb", "dst": "acdb"}

# name: src, kernel, then parameters unless dense, unpadded and with stride 1
WINDOWS = {
    "2x2": ((2, 3, 6, 8), (2, 2), {"strides": (2, 2)}),
    "overlapping": ((2, 16, 7, 7), (3, 3), {"strides": (2, 2), "padding_l": (1, 1)}),
    "asymmetric": (
        (1, 5, 9, 7),
        (3, 2),
        {"strides": (2, 3), "padding_l": (1, 0), "padding_r": (0, 1)},
    ),
    "ceil": ((1, 4, 6, 6), (3, 3), {"strides": (2, 2), "padding_r": (1, 1)}),
    "dilated": ((2, 3, 9, 8), (3, 2), {"dilation": (1, 2), "padding_l": (1, 0)}),
    "global": ((3, 7, 5, 4), (5, 4), {}),
    "primes": ((1, 11, 13, 17), (5, 3), {"strides": (3, 2), "padding_l": (2, 1)}),
    "1x1": ((2, 3, 4, 5), (1, 1), {"strides": (2, 1)}),
    "1d": ((2, 5, 19), (4,), {"strides": (3,), "padding_l": (1,), "padding_r": (2,)}),
    "3d": (
        (1, 3, 5, 6, 4),
        (3, 2, 2),
        {"strides": (2, 1, 2), "padding_l": (1, 0, 1), "padding_r": (1, 0, 1)},
    ),
    "ones": ((1, 1, 1, 1), (1, 1), {}),
    "channels_last": (
        (2, 16, 6, 6),
        (3, 3),
        {"strides": (1, 1), "padding_l": (1, 1), "tags": LAST},
    ),
}
ALGORITHMS = ("max", "avg_include_padding", "avg_exclude_padding")

# name: shape, axis, algorithm, tags
SOFTMAXES = {
    "rows": ((5, 7), 1, "accurate", {}),
    "columns": ((5, 7), 0, "accurate", {}),
    "log_rows": ((3, 31), 1, "log", {}),
    "log_columns": ((13, 3), 0, "log", {}),
    "channels": ((2, 5, 3, 4), 1, "accurate", {}),
    "log_channels": ((2, 16, 3, 3), 1, "log", {}),
    "heads": ((2, 3, 5, 8), 3, "accurate", {}),
    "1d": ((37,), 0, "accurate", {}),
    "5d": ((2, 3, 2, 4, 3), 2, "log", {}),
    "one": ((4, 1, 3), 1, "accurate", {}),
    "channels_last": ((2, 17, 3, 4), 1, "accurate", LAST),
}


def _pooling(algorithm, name, src, kernel, change):
    n = len(kernel)
    left = change.get("padding_l", (0,) * n)
    geometry = {
        "strides": change.get("strides", (1,) * n),
        "kernel": kernel,
        "dilation": change.get("dilation", (0,) * n),
        "padding_l": left,
        "padding_r": change.get("padding_r", left),
    }
    axes = zip(src[2:], *geometry.values(), strict=True)
    size = [(x + lo + hi - (k - 1) * (d + 1) - 1) // s + 1 for x, s, k, d, lo, hi in axes]
    params = {"prop_kind": "forward_training", "algorithm": f"pooling_{algorithm}"} | geometry
    shapes = {"src": src, "dst": (*src[:2], *size)}
    name = f"{algorithm.removesuffix('_padding')}_{name}"
    return Case(name, "pooling_forward", params, shapes, tags=change.get("tags", {}))


def _inference(case):
    """The same without a workspace."""
    params = case.params | {"prop_kind": "forward_inference"}
    return Case(f"{case.name}_inference", case.row, params, case.shapes, tags=case.tags)


def _pooling_backward(case):
    """The gradient; the maxima are known from the forward run (its source, or its workspace)."""
    shapes = {f"diff_{name}": dims for name, dims in case.shapes.items()}
    tags = {f"diff_{name}": tag for name, tag in case.tags.items()}
    params = without(case.params, "prop_kind")
    return backward_of(case, "pooling_backward", shapes, params, tags=tags)


def _softmax(name, shape, axis, algorithm, tags, span=(-3.0, 3.0)):
    params = {"prop_kind": "forward_training", "algorithm": f"softmax_{algorithm}", "axis": axis}
    shapes = {"src": shape, "dst": shape}
    return Case(name, "softmax_forward", params, shapes, tags=tags, ranges={"src": span})


def _softmax_backward(case):
    shape, params = case.shapes["src"], without(case.params, "prop_kind")
    shapes = {"dst": shape, "diff_dst": shape, "diff_src": shape}
    tags = {name: case.tags["src"] for name in shapes if case.tags}
    return backward_of(case, "softmax_backward", shapes, params, tags=tags)


_pools = [_pooling(how, name, *rest) for how in ALGORITHMS for name, rest in WINDOWS.items()]
_softmaxes = [_softmax(name, *rest) for name, rest in SOFTMAXES.items()]

CASES = {
    "pooling_forward": _pools + [_inference(_pools[1]), _inference(_pools[-1])],
    "pooling_backward": [_pooling_backward(case) for case in _pools],
    "softmax_forward": _softmaxes
    + [_softmax("large", (3, 17), 1, "accurate", {}, (-200.0, 200.0))]
    + [_softmax("log_large", (3, 17), 1, "log", {}, (-200.0, 200.0))],
    "softmax_backward": [_softmax_backward(case) for case in _softmaxes],
}
