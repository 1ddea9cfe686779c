# SPDX-License-Identifier: Apache-2.0
"""Cases of eltwise, prelu and binary: every algorithm and every kind of broadcasting."""

from .case import Case, backward_of, without

WIDE, POSITIVE = (-4.0, 4.0), (0.1, 5.0)

# algorithm: alpha, beta, range of src
ELTWISE = {
    "relu": (0.0, 0.0, WIDE),
    "tanh": (0.0, 0.0, WIDE),
    "elu": (1.5, 0.0, WIDE),
    "square": (0.0, 0.0, WIDE),
    "abs": (0.0, 0.0, WIDE),
    "sqrt": (0.0, 0.0, POSITIVE),
    "linear": (-0.75, 0.5, WIDE),
    "soft_relu": (2.0, 0.0, WIDE),
    "hardsigmoid": (0.25, 0.5, WIDE),
    "logistic": (0.0, 0.0, WIDE),
    "exp": (0.0, 0.0, WIDE),
    "gelu_tanh": (0.0, 0.0, WIDE),
    "swish": (1.5, 0.0, WIDE),
    "log": (0.0, 0.0, POSITIVE),
    "clip": (-0.5, 1.25, WIDE),
    "clip_v2": (-0.5, 1.25, WIDE),
    "pow": (2.0, -1.5, POSITIVE),
    "gelu_erf": (0.0, 0.0, WIDE),
    "round": (0.0, 0.0, WIDE),
    "mish": (0.0, 0.0, WIDE),
    "hardswish": (0.25, 0.5, WIDE),
    "relu_use_dst_for_bwd": (0.25, 0.0, WIDE),
    "tanh_use_dst_for_bwd": (0.0, 0.0, (-2.0, 2.0)),
    "elu_use_dst_for_bwd": (0.5, 0.0, WIDE),
    "sqrt_use_dst_for_bwd": (0.0, 0.0, POSITIVE),
    "logistic_use_dst_for_bwd": (0.0, 0.0, WIDE),
    "exp_use_dst_for_bwd": (0.0, 0.0, (-2.0, 2.0)),
    "clip_v2_use_dst_for_bwd": (-1.0, 0.5, WIDE),
}
SHAPES = (
    (2, 3, 4, 5),
    (7, 13),
    (67,),
    (2, 5, 9),
    (1, 2, 3, 2, 5),
    (1, 1, 1, 1),
    (2, 1, 2, 3, 1, 2),
)

# name: algorithm, alpha, beta, shape, changes
ELTWISE_EXTRAS = {
    "leaky_relu": ("relu", 0.1, 0.0, (3, 16, 5, 5), {}),
    "negative_slope": ("relu", -0.5, 0.0, (3, 17), {}),
    "logsigmoid": ("soft_relu", -1.0, 0.0, (2, 19), {"ranges": {"src": WIDE}}),
    "pow_integer": ("pow", 0.5, 3.0, (4, 11), {"ranges": {"src": (-2.0, 2.0)}}),
    "pow_half": ("pow", 1.0, 0.5, (4, 11), {"ranges": {"src": POSITIVE}}),
    "channels_last": ("relu", 0.25, 0.0, (2, 5, 3, 4), {"tags": {"src": "acdb", "dst": "acdb"}}),
    "blocked": ("gelu_erf", 0.0, 0.0, (2, 5, 3, 4), {"tags": {"src": "aBcd8b", "dst": "aBcd8b"}}),
    "far_out": ("logistic", 0.0, 0.0, (40,), {"ranges": {"src": (-90.0, 90.0)}}),
}


def _eltwise(name, algorithm, alpha, beta, shape, i=0, **changes):
    params = {
        "prop_kind": "forward_inference" if i % 4 == 3 else "forward_training",
        "algorithm": f"eltwise_{algorithm}",
        "alpha": alpha,
        "beta": beta,
    }
    return Case(name, "eltwise_forward", params, {"src": shape, "dst": shape}, **changes)


def _eltwise_cases(backward):
    """All forward cases, or those that can be differentiated, then only for training."""
    cases = []
    for i, (algorithm, (alpha, beta, span)) in enumerate(ELTWISE.items()):
        i, shape = 0 if backward else i, SHAPES[i % len(SHAPES)]
        ranges = {"src": span}
        cases.append(_eltwise(algorithm, algorithm, alpha, beta, shape, i, ranges=ranges))
    cases += [_eltwise(name, *rest, **changes) for name, (*rest, changes) in ELTWISE_EXTRAS.items()]
    return cases


def _eltwise_backward(case):
    shape, params = case.shapes["src"], without(case.params, "prop_kind")
    data = "dst" if params["algorithm"].endswith("_use_dst_for_bwd") else "src"
    shapes = {data: shape, "diff_dst": shape, "diff_src": shape}
    tags = {name: case.tags["src"] for name in shapes if case.tags}
    return backward_of(case, "eltwise_backward", shapes, params, tags=tags)


_ties = _eltwise(
    "round_halves", "round", 0.0, 0.0, (3, 9), ranges={"src": (-4.0, 4.0)}, steps={"src": 0.5}
)

# name: src, weights, tags
PRELUS = {
    "one_slope": ((2, 3, 4, 5), (1, 1, 1, 1), {}),
    "per_channel": ((2, 5, 4, 3), (1, 5, 1, 1), {}),
    "per_element": ((3, 7), (3, 7), {}),
    "per_row_and_sample": ((2, 3, 4, 5), (2, 1, 4, 1), {}),
    "per_column": ((2, 3, 4, 5), (1, 1, 1, 5), {}),
    "1d": ((2, 3, 7), (1, 3, 1), {}),
    "3d": ((2, 3, 2, 3, 4), (1, 3, 1, 1, 1), {}),
    "ones": ((1, 1), (1, 1), {}),
    "channels_last": ((2, 16, 3, 3), (1, 16, 1, 1), {"src": "acdb", "dst": "acdb"}),
}


def _prelu(name, src, weights, tags):
    shapes = {"src": src, "weights": weights, "dst": src}
    return Case(name, "prelu_forward", {"prop_kind": "forward_training"}, shapes, tags=tags)


def _prelu_backward(case):
    diffs = {f"diff_{name}": dims for name, dims in case.shapes.items()}
    shapes = without(case.shapes, "dst") | diffs
    tags = without(case.tags, "dst") | {f"diff_{name}": tag for name, tag in case.tags.items()}
    return backward_of(case, "prelu_backward", shapes, {}, tags=tags)


# name: src_0, src_1, algorithm
BINARIES = {
    "add": ((2, 3, 4, 5), (2, 3, 4, 5), "add"),
    "mul_per_channel": ((2, 5, 4, 3), (1, 5, 1, 1), "mul"),
    "max_scalar": ((3, 7, 5), (1, 1, 1), "max"),
    "min": ((17, 19), (17, 19), "min"),
    "div_per_row": ((5, 4, 3), (5, 4, 1), "div"),
    "sub_first_broadcast": ((1, 3, 1, 1), (2, 3, 4, 5), "sub"),
    "sub_last_axis": ((2, 3, 4, 5), (1, 1, 1, 5), "sub"),
    "ge": ((6, 11), (6, 11), "ge"),
    "gt": ((2, 3, 4, 5), (1, 3, 1, 1), "gt"),
    "le": ((2, 3, 4), (2, 1, 4), "le"),
    "lt": ((31,), (31,), "lt"),
    "eq": ((2, 5, 7), (2, 5, 7), "eq"),
    "ne_scalar": ((4, 9), (1, 1), "ne"),
    "add_both_broadcast": ((3, 1, 5), (1, 4, 5), "add"),
    "mul_5d": ((2, 3, 2, 1, 4), (2, 1, 2, 1, 4), "mul"),
    "add_ones": ((1, 1), (1, 1), "add"),
    "select": ((3, 4, 5), (3, 4, 5), "select"),
    "select_broadcast": ((2, 3, 4), (1, 3, 1), "select"),
}
COMPARISONS = ("ge", "gt", "le", "lt", "eq", "ne")


def _binary(name, first, second, algorithm, tags=None):
    dst = tuple(max(pair) for pair in zip(first, second, strict=True))
    shapes = {"src_0": first, "src_1": second, "dst": dst}
    options = {}
    if algorithm == "select":
        shapes["src_2"] = first
        options = {"dtypes": {"src_2": "s8"}, "ranges": {"src_2": (0, 1)}, "steps": {"src_2": 1}}
    if algorithm == "div":
        options = {"ranges": {"src_1": (0.5, 2.0)}}
    if algorithm in COMPARISONS:
        steps = dict.fromkeys(("src_0", "src_1"), 1.0)
        options = {"ranges": dict.fromkeys(steps, (-2.0, 2.0)), "steps": steps}
    params = {"algorithm": f"binary_{algorithm}"}
    return Case(name, "binary", params, shapes, tags=tags or {}, **options)


CASES = {
    "eltwise_forward": [*_eltwise_cases(backward=False), _ties],
    "eltwise_backward": [
        _eltwise_backward(case) for case in _eltwise_cases(backward=True) if case.name != "round"
    ],
    "prelu_forward": [_prelu(name, *rest) for name, rest in PRELUS.items()],
    "prelu_backward": [_prelu_backward(_prelu(name, *rest)) for name, rest in PRELUS.items()],
    "binary": [_binary(name, *rest) for name, rest in BINARIES.items()]
    + [_binary("layouts", (2, 5, 3, 4), (2, 5, 3, 4), "add", {"src_0": "acdb", "src_1": "abcd"})],
}
