# SPDX-License-Identifier: Apache-2.0
"""Cases of reorder, concat, sum, shuffle, resampling and reduction."""

from .case import Case, backward_of, without

LAST = {"src": "acdb", "dst": "acdb"}

# name: shape, layout of src, layout of dst
REORDERS = {
    "same": ((3, 5), "ab", "ab"),
    "transpose": ((3, 5), "ab", "ba"),
    "vector": ((17,), "a", "a"),
    "to_channels_last": ((2, 5, 3, 4), "abcd", "acdb"),
    "from_channels_last": ((2, 5, 3, 4), "acdb", "abcd"),
    "to_blocks": ((2, 13, 3, 4), "abcd", "aBcd8b"),
    "from_blocks": ((2, 17, 3, 4), "aBcd16b", "abcd"),
    "weights": ((7, 3, 2, 3), "abcd", "cdba"),
    "groups": ((2, 3, 5, 2, 2), "abcde", "acdeb"),
    "time_first": ((4, 3, 5), "abc", "bac"),
    "ones": ((1, 1, 1), "abc", "cba"),
    "6d": ((2, 3, 1, 2, 3, 2), "abcdef", "abcdef"),
}

# name: axis, shapes of the sources
CONCATS = {
    "channels": (1, ((2, 3, 4, 5), (2, 5, 4, 5))),
    "batch": (0, ((2, 7), (3, 7), (1, 7))),
    "last": (3, ((2, 3, 2, 1), (2, 3, 2, 4))),
    "rows": (2, ((1, 2, 3, 5), (1, 2, 1, 5), (1, 2, 7, 5))),
    "one": (1, ((3, 4),)),
    "vectors": (0, ((5,), (11,))),
    "many": (1, ((2, 1, 3),) * 9),
    "5d": (1, ((1, 2, 2, 3, 2), (1, 3, 2, 3, 2))),
}

# name: shape, scales
SUMS = {
    "two": ((2, 3, 4, 5), (1.0, 1.0)),
    "scaled": ((7, 11), (0.5, -2.0)),
    "one": ((3, 5), (1.5,)),
    "many": ((2, 16, 3), (1.0, 0.5, -0.25, 2.0, 0.0, 3.0, -1.0)),
    "vector": ((31,), (2.0, 1.0, -1.0)),
}

# name: shape, axis, group size, tags
SHUFFLES = {
    "channels": ((2, 6, 3, 4), 1, 3, {}),
    "channels_16": ((1, 16, 3, 3), 1, 4, {}),
    "first": ((8, 5), 0, 2, {}),
    "last": ((2, 3, 4, 15), 3, 5, {}),
    "rows": ((2, 3, 10, 4), 2, 2, {}),
    "one_group": ((2, 7, 3), 1, 1, {}),
    "whole_axis": ((2, 7, 3), 1, 7, {}),
    "3d": ((2, 12, 2, 3, 2), 1, 4, {}),
    "channels_last": ((2, 12, 3, 4), 1, 3, LAST),
}

# name: src, spatial size of dst, tags
RESAMPLINGS = {
    "double": ((2, 3, 4, 5), (8, 10), {}),
    "half": ((1, 3, 8, 6), (4, 3), {}),
    "primes": ((1, 2, 5, 7), (11, 3), {}),
    "same": ((2, 3, 4, 3), (4, 3), {}),
    "from_one": ((2, 3, 1, 1), (3, 5), {}),
    "to_one": ((2, 3, 5, 4), (1, 1), {}),
    "1d": ((2, 5, 7), (16,), {}),
    "1d_down": ((2, 3, 17), (5,), {}),
    "3d": ((1, 2, 3, 4, 2), (5, 2, 7), {}),
    "channels_last": ((1, 16, 3, 4), (7, 8), LAST),
}

# name: src, dst, algorithm, p, eps
REDUCTIONS = {
    "max": ((3, 5, 7), (3, 1, 7), "max", 0.0, 0.0),
    "min": ((2, 3, 4, 5), (2, 3, 1, 1), "min", 0.0, 0.0),
    "sum": ((5, 7), (5, 1), "sum", 0.0, 0.0),
    "sum_all": ((2, 3, 4, 5), (1, 1, 1, 1), "sum", 0.0, 0.0),
    "sum_first": ((11, 13), (1, 13), "sum", 0.0, 0.0),
    "sum_vector": ((37,), (1,), "sum", 0.0, 0.0),
    "mul": ((4, 3, 6), (4, 1, 1), "mul", 0.0, 0.0),
    "mean": ((2, 16, 5, 5), (2, 16, 1, 1), "mean", 0.0, 0.0),
    "mean_channels": ((2, 5, 3, 4), (1, 5, 1, 1), "mean", 0.0, 0.0),
    "mean_5d": ((2, 3, 2, 4, 3), (2, 1, 2, 1, 3), "mean", 0.0, 0.0),
    "lp_max": ((3, 7), (3, 1), "norm_lp_max", 2.0, 0.25),
    "lp_max_bound": ((3, 7), (3, 1), "norm_lp_max", 2.0, 50.0),
    "lp_sum": ((3, 4, 5), (3, 1, 5), "norm_lp_sum", 3.0, 0.5),
    "lp_sum_1": ((6, 5), (1, 5), "norm_lp_sum", 1.0, 0.0),
    "power_max": ((3, 4, 5), (1, 4, 1), "norm_lp_power_p_max", 2.0, 0.1),
    "power_sum": ((2, 9), (2, 1), "norm_lp_power_p_sum", 1.5, 0.5),
}


def _concat(name, axis, sources):
    dst = list(sources[0])
    dst[axis] = sum(dims[axis] for dims in sources)
    shapes = {f"multiple_src_{i}": dims for i, dims in enumerate(sources)}
    return Case(name, "concat", {"concat_dimension": axis}, shapes | {"dst": tuple(dst)})


def _sum(name, shape, scales):
    shapes = dict.fromkeys((f"multiple_src_{i}" for i in range(len(scales))), shape)
    return Case(name, "sum", {"scales": scales}, shapes | {"dst": shape})


def _shuffle(name, shape, axis, group_size, tags):
    params = {"prop_kind": "forward_training", "axis": axis, "group_size": group_size}
    return Case(name, "shuffle_forward", params, {"src": shape, "dst": shape}, tags=tags)


def _resampling(algorithm, name, src, size, tags):
    factors = tuple(m / n for n, m in zip(src[2:], size, strict=True))
    params = {"algorithm": f"resampling_{algorithm}", "factors": factors}
    params["prop_kind"] = "forward_training"
    shapes = {"src": src, "dst": (*src[:2], *size)}
    return Case(f"{algorithm}_{name}", "resampling_forward", params, shapes, tags=tags)


def _backward(case):
    """Rows whose gradient reads only diff_dst."""
    shapes = {f"diff_{name}": dims for name, dims in case.shapes.items()}
    tags = {f"diff_{name}": tag for name, tag in case.tags.items()}
    row = case.row.replace("forward", "backward")
    return backward_of(case, row, shapes, without(case.params, "prop_kind"), tags=tags)


def _reduction(name, src, dst, algorithm, p, eps):
    params = {"algorithm": f"reduction_{algorithm}", "p": p, "eps": eps}
    ranges = {"src": (0.5, 1.5)} if algorithm == "mul" else {"src": (-2.0, 2.0)}
    return Case(name, "reduction", params, {"src": src, "dst": dst}, ranges=ranges)


_shuffles = [_shuffle(name, *rest) for name, rest in SHUFFLES.items()]
_resamplings = [
    _resampling(algorithm, name, *rest)
    for algorithm in ("nearest", "linear")
    for name, rest in RESAMPLINGS.items()
]

CASES = {
    "reorder": [
        Case(name, "reorder", {}, {"src": shape, "dst": shape}, tags={"src": before, "dst": after})
        for name, (shape, before, after) in REORDERS.items()
    ],
    "concat": [_concat(name, *rest) for name, rest in CONCATS.items()],
    "sum": [_sum(name, *rest) for name, rest in SUMS.items()],
    "shuffle_forward": _shuffles,
    "shuffle_backward": [_backward(case) for case in _shuffles],
    "resampling_forward": _resamplings,
    "resampling_backward": [_backward(case) for case in _resamplings],
    "reduction": [_reduction(name, *rest) for name, rest in REDUCTIONS.items()],
}
