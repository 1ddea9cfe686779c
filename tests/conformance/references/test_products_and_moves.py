# SPDX-License-Identifier: Apache-2.0
"""The references of pooling, resampling, shuffle, reduction, sum and concat."""

import math

import numpy as np
from cases import CASES
from reference_calls import call, each, exact, random, run

from conformance.references import reference


@each("case", CASES["pooling_forward"], ids=lambda case: case.id)
def test_pooling_by_definition(case):
    """Every window collected element by element."""
    src, p = exact(case.inputs())["src"], case.params
    expected = np.zeros(case.shapes["dst"])
    for n, c, *place in np.ndindex(expected.shape):
        seen = []
        for at in np.ndindex(p["kernel"]):
            axes = zip(place, at, p["strides"], p["dilation"], p["padding_l"], strict=True)
            index = [o * s + k * (d + 1) - low for o, k, s, d, low in axes]
            if all(0 <= i < size for i, size in zip(index, src.shape[2:], strict=True)):
                seen.append(src[(n, c, *index)])
        excluded = p["algorithm"] == "pooling_avg_exclude_padding"
        count = len(seen) if excluded else math.prod(p["kernel"])
        value = max(seen) if p["algorithm"] == "pooling_max" else sum(seen) / count
        expected[(n, c, *place)] = value
    assert np.allclose(run(case, {"src": src})["dst"], expected)


@each("sizes", [(5, 5), (4, 8), (7, 3), (3, 11), (1, 4), (6, 1)])
def test_linear_resampling_interpolates(sizes):
    """Along one axis it is `numpy.interp` between the centres of the cells."""
    n, m = sizes
    src = random(2, 3, n)
    params, shapes = {"algorithm": "resampling_linear"}, {"dst": (2, 3, m)}
    found = call("resampling_forward", params, shapes, src=src)
    centres, at = (np.arange(n) + 0.5) / n, (np.arange(m) + 0.5) / m
    for i, j in np.ndindex(2, 3):
        assert np.allclose(found[i, j], np.interp(at, centres, src[i, j]))


def test_nearest_resampling_repeats():
    """An integer factor repeats every element; halving takes the second of two."""
    src, params = random(1, 2, 3, 4), {"algorithm": "resampling_nearest"}
    up = call("resampling_forward", params, {"dst": (1, 2, 9, 8)}, src=src)
    assert np.array_equal(up, src.repeat(3, axis=2).repeat(2, axis=3))
    down = call("resampling_forward", params, {"dst": (1, 2, 3, 2)}, src=src)
    assert np.array_equal(down, src[..., 1::2])


@each("case", CASES["shuffle_forward"], ids=lambda case: case.id)
def test_shuffle(case):
    """dst[u + v C/G] = src[u G + v], and the gradient of it puts all back."""
    src, p = exact(case.inputs())["src"], case.params
    axis, group = p["axis"], p["group_size"]
    dst, n = run(case, {"src": src})["dst"], src.shape[axis] // group
    for u, v in np.ndindex(n, group):
        assert np.array_equal(dst.take(u + v * n, axis=axis), src.take(u * group + v, axis=axis))
    back = reference("shuffle_backward", p, {"diff_dst": dst})["diff_src"]
    assert np.array_equal(back, src)


def test_reductions_by_definition():
    """The norms with both meanings of eps."""
    src, shapes = random(3, 4), {"dst": (3, 1)}
    cube = (np.abs(src) ** 3).sum(axis=1, keepdims=True)
    expected = {
        "norm_lp_max": np.cbrt(np.maximum(cube, 2)),
        "norm_lp_sum": np.cbrt(cube + 2),
        "norm_lp_power_p_max": np.maximum(cube, 2),
        "norm_lp_power_p_sum": cube + 2,
        "mul": src[:, :1] * src[:, 1:2] * src[:, 2:3] * src[:, 3:],
        "mean": src.sum(axis=1, keepdims=True) / 4,
    }
    for name, value in expected.items():
        params = {"algorithm": f"reduction_{name}", "p": 3.0, "eps": 2.0}
        assert np.allclose(call("reduction", params, shapes, src=src), value)


def test_sum_and_concat():
    """Two sources each."""
    arrays = {"multiple_src_0": random(2, 3), "multiple_src_1": random(2, 3, seed=1)}
    first, second = arrays.values()
    found = call("sum", {"scales": (2.0, -1.0)}, **arrays)
    assert np.allclose(found, 2 * first - second)
    joined = call("concat", {"concat_dimension": 1}, **arrays)
    assert np.array_equal(joined, np.hstack([first, second]))
