# SPDX-License-Identifier: Apache-2.0
"""The references of convolution, inner product and matmul against their definitions."""

import math
from itertools import product

import numpy as np
from cases import CASES
from reference_calls import call, each, exact, random, run


def nested_convolution(src, weights, strides, dilates, low, size):
    """Convolution of one group in two dimensions, by its definition."""
    dst = np.zeros((len(src), len(weights), *size))
    for n, o, y, x in np.ndindex(dst.shape):
        for c, i, j in np.ndindex(weights.shape[1:]):
            row = y * strides[0] + i * (dilates[0] + 1) - low[0]
            column = x * strides[1] + j * (dilates[1] + 1) - low[1]
            if 0 <= row < src.shape[2] and 0 <= column < src.shape[3]:
                dst[n, o, y, x] += src[n, c, row, column] * weights[o, c, i, j]
    return dst


WINDOWED = [
    case
    for row in ("convolution_forward", "deconvolution_forward")
    for case in CASES[row]
    if case.name in ("asymmetric", "dilated", "groups", "skipped_columns", "upsample")
]


@each("case", [c for c in WINDOWED if c.row.startswith("conv")], ids=lambda case: case.id)
def test_convolution_by_definition(case):
    """Each group on its own, element by element."""
    arrays, p = exact(case.inputs()), case.params
    weights = arrays["weights"]
    weights = weights if weights.ndim == 5 else weights[None]
    sources = np.split(arrays["src"], len(weights), axis=1)
    geometry = (p["strides"], p["dilates"], p["padding_l"], case.shapes["dst"][2:])
    groups = [nested_convolution(*pair, *geometry) for pair in zip(sources, weights, strict=True)]
    bias = arrays.get("bias", np.zeros(1)).reshape(-1, 1, 1)
    assert np.allclose(run(case, arrays)["dst"], np.concatenate(groups, axis=1) + bias)


@each("case", [c for c in WINDOWED if c.row.startswith("deconv")], ids=lambda case: case.id)
def test_deconvolution_by_definition(case):
    """Each source element adds its weights to the window that starts at its place."""
    arrays, p = exact(case.inputs()), case.params
    weights = arrays["weights"]
    weights = weights if weights.ndim == 5 else weights[None]
    dst = np.zeros(case.shapes["dst"])
    groups, outs, ins = weights.shape[:3]
    for g, o, c, i, j in np.ndindex(weights.shape):
        for y, x in np.ndindex(arrays["src"].shape[2:]):
            row = y * p["strides"][0] + i * (p["dilates"][0] + 1) - p["padding_l"][0]
            column = x * p["strides"][1] + j * (p["dilates"][1] + 1) - p["padding_l"][1]
            if 0 <= row < dst.shape[2] and 0 <= column < dst.shape[3]:
                source = arrays["src"][:, g * ins + c, y, x]
                dst[:, g * outs + o, row, column] += source * weights[g, o, c, i, j]
    bias = arrays.get("bias", np.zeros(1)).reshape(-1, 1, 1)
    assert np.allclose(run(case, arrays)["dst"], dst + bias)


def test_matmul_by_definition():
    """Broadcast batches and bias, written out."""
    a, b, bias = random(2, 1, 3, 4), random(1, 5, 4, 2, seed=1), random(1, 1, 3, 1, seed=2)
    found = call("matmul", {}, src=a, weights=b, bias=bias)
    for i, j, m, n in product(range(2), range(5), range(3), range(2)):
        term = sum(a[i, 0, m, k] * b[0, j, k, n] for k in range(4))
        assert math.isclose(found[i, j, m, n], term + bias[0, 0, m, 0])


def test_inner_product_is_a_whole_image_convolution():
    """The kernel covers the image."""
    src, weights = random(2, 3, 4, 5), random(6, 3, 4, 5, seed=1)
    dense = {"strides": (1, 1), "dilates": (0, 0), "padding_l": (0, 0), "padding_r": (0, 0)}
    as_convolution = call("convolution_forward", dense, src=src, weights=weights)
    found = call("inner_product_forward", {}, src=src, weights=weights)
    assert np.allclose(found, as_convolution[:, :, 0, 0])
