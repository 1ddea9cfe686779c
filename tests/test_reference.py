# SPDX-License-Identifier: Apache-2.0
"""The references themselves: gradients against differences, values against other formulas."""

import math
from itertools import product

import numpy as np
import pytest
from cases import CASES
from reference import REFERENCES, reference

ALL = [case for cases in CASES.values() for case in cases]
FORWARD = [case for case in ALL if case.forward is None]
BACKWARD = [case for case in ALL if case.forward is not None]
STEP = 1e-6  # of the central differences: inputs of order 1, kinks at least this far away
each = pytest.mark.parametrize


def exact(arrays):
    """The same arrays in float64."""
    return {name: array.astype(np.float64) for name, array in arrays.items()}


def run(case, arrays):
    """All that the reference gives for a case."""
    return reference(case.row, case.params, arrays, case.shapes)


def call(row, params, shapes=None, **arrays):
    """The ``dst`` of one reference."""
    return reference(row, params, arrays, shapes)["dst"]


def random(*shape, seed=0):
    """Reproducible normal numbers."""
    return np.random.default_rng(seed).standard_normal(shape)


def difference(case, inputs, name, along, weights):
    """Central difference of the weighted outputs when one input moves ``along`` a direction."""

    def weighted(step):
        moved = run(case, inputs | {name: inputs[name] + step * along})
        return sum((weight * moved[out]).sum() for out, weight in weights.items())

    return (weighted(STEP) - weighted(-STEP)) / (2 * STEP)


@each("case", BACKWARD, ids=lambda case: case.id)
def test_gradient(case):
    """<gradient, direction> is the derivative along random directions, for every input."""
    forward = case.forward_case
    inputs = exact(forward.inputs())
    results = run(forward, inputs)
    rng = np.random.default_rng(1)
    outputs = [n.removeprefix("diff_") for n in case.shapes if n.startswith("diff_dst")]
    weights = {name: rng.standard_normal(results[name].shape) for name in outputs}
    seeds = {f"diff_{name}": weight for name, weight in weights.items()}
    gradients = run(case, inputs | results | seeds)
    for output in case.output_names:
        name = output.removeprefix("diff_")
        assert gradients[output].shape == inputs[name].shape
        scale = np.abs(gradients[output]).sum()
        for _ in range(3):
            along = rng.choice((-1.0, 1.0), inputs[name].shape)
            found = difference(forward, inputs, name, along, weights)
            assert abs((gradients[output] * along).sum() - found) <= 1e-7 * scale + 1e-9


@each("case", ALL, ids=lambda case: case.id)
def test_case_is_consistent(case):
    """Inputs and results have the dims of the case, are finite, and come again with the seed."""
    arrays = case.inputs()
    for name, array in case.inputs().items():
        assert np.array_equal(array, arrays[name])
    for name in case.input_names:
        assert arrays[name].shape == tuple(case.shapes[name])
    for name, result in case.expected(arrays).items():
        assert result.shape == tuple(case.shapes[name])
        assert result.dtype == np.float64
        assert np.isfinite(result).all()
    assert set(case.faulty) <= set(case.output_names)


def test_every_row_is_here():
    """47 rows, each with at least three cases whose names differ."""
    assert len(REFERENCES) == 47
    assert set(CASES) == set(REFERENCES)
    for cases in CASES.values():
        assert len(cases) >= 3
        assert len({case.name for case in cases}) == len(cases)


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


X = 0.75  # where the functions below are taken
ELTWISE_VALUES = {
    "relu": ((0.5, 0.0), (-2.0, -1.0)),
    "elu": ((0.5, 0.0), (-X, 0.5 * (math.exp(-X) - 1))),
    "linear": ((2.0, 1.0), (X, 2.5)),
    "soft_relu": ((2.0, 0.0), (X, math.log(1 + math.exp(2 * X)) / 2)),
    "hardsigmoid": ((0.5, 0.25), (X, 0.625)),
    "logistic": ((0.0, 0.0), (X, 1 / (1 + math.exp(-X)))),
    "gelu_erf": ((0.0, 0.0), (X, X * (1 + math.erf(X / math.sqrt(2))) / 2)),
    "swish": ((2.0, 0.0), (X, X / (1 + math.exp(-2 * X)))),
    "clip": ((-0.5, 0.5), (X, 0.5)),
    "clip_v2": ((-0.5, 0.5), (-X, -0.5)),
    "pow": ((3.0, 2.0), (X, 3 * X**2)),
    "round": ((0.0, 0.0), (2.5, 2.0)),
    "mish": ((0.0, 0.0), (X, X * math.tanh(math.log(1 + math.exp(X))))),
    "hardswish": ((0.5, 0.25), (X, X * 0.625)),
}


@each("name", ELTWISE_VALUES)
def test_eltwise_value(name):
    """One value each, from the definition."""
    (alpha, beta), (x, y) = ELTWISE_VALUES[name]
    params = {"algorithm": f"eltwise_{name}", "alpha": alpha, "beta": beta}
    assert math.isclose(call("eltwise_forward", params, src=np.array([x]))[0], y)


def test_gelu_forms_agree():
    """The tanh form approximates the other one."""
    x = np.linspace(-4, 4, 81)
    forms = [
        call("eltwise_forward", {"algorithm": f"eltwise_gelu_{f}"}, src=x) for f in ("erf", "tanh")
    ]
    assert np.abs(forms[0] - forms[1]).max() < 1e-3


def test_clip_forms_differ_at_the_upper_edge():
    """clip passes the gradient at beta, clip_v2 does not; neither does at alpha."""
    edges, ones = np.array([-1.0, 0.0, 1.0]), np.ones(3)
    for name, expected in (("clip", (0, 1, 1)), ("clip_v2", (0, 1, 0))):
        params = {"algorithm": f"eltwise_{name}", "alpha": -1.0, "beta": 1.0}
        found = reference("eltwise_backward", params, {"src": edges, "diff_dst": ones})
        assert found["diff_src"].tolist() == list(expected)


def test_gradient_from_dst_is_that_from_src():
    """Every ``_use_dst_for_bwd`` form against the plain one."""
    for case in CASES["eltwise_backward"]:
        if case.params["algorithm"].endswith("_use_dst_for_bwd"):
            arrays = exact(case.forward_case.inputs())
            arrays |= run(case.forward_case, arrays) | {
                "diff_dst": random(*case.shapes["diff_dst"])
            }
            plain = case.params["algorithm"].removesuffix("_use_dst_for_bwd")
            found = reference(case.row, case.params | {"algorithm": plain}, arrays)
            assert np.allclose(found["diff_src"], run(case, arrays)["diff_src"])


def test_prelu_is_relu_with_a_slope_per_channel():
    """Channel by channel against eltwise_relu."""
    src, slopes = random(2, 3, 4), np.array([0.5, -1.0, 0.0])
    found = call("prelu_forward", {}, src=src, weights=slopes.reshape(1, 3, 1))
    for channel, slope in enumerate(slopes):
        params = {"algorithm": "eltwise_relu", "alpha": slope}
        expected = call("eltwise_forward", params, src=src[:, channel])
        assert np.array_equal(found[:, channel], expected)


@each("case", CASES["softmax_forward"], ids=lambda case: case.id)
def test_softmax_sums_to_one(case):
    """And the logarithm is the logarithm of it."""
    arrays = case.inputs()
    dst = run(case, arrays)["dst"]
    log = case.params["algorithm"] == "softmax_log"
    assert np.allclose((np.exp(dst) if log else dst).sum(axis=case.params["axis"]), 1.0)
    other = case.params | {"algorithm": "softmax_accurate" if log else "softmax_log"}
    with np.errstate(divide="ignore"):
        twin = call(case.row, other, **arrays)
        assert np.allclose(np.exp(dst), twin) if log else np.allclose(np.exp(twin), dst)


def norm_params(*flags, **others):
    """Parameters of a normalization without epsilon."""
    return {"prop_kind": "forward_training", "epsilon": 0.0, "flags": flags} | others


def test_normalizations_have_mean_0_and_variance_1():
    """Over their own groups of elements; the statistics are returned."""
    src = 3 + 2 * random(4, 6, 5, 7)
    axes = {"batch": (0, 2, 3), "layer": (3,)}
    for kind, over in axes.items():
        out = reference(f"{kind}_normalization_forward", norm_params(), {"src": src})
        assert np.allclose(out["dst"].mean(axis=over), 0)
        assert np.allclose(out["dst"].var(axis=over), 1)
        assert np.allclose(out["mean"], src.mean(axis=over))
        assert np.allclose(out["variance"], src.var(axis=over))
    params = norm_params(groups=3)
    out = reference("group_normalization_forward", params, {"src": src})
    grouped = out["dst"].reshape(4, 3, -1)
    assert np.allclose(grouped.mean(axis=2), 0)
    assert np.allclose(grouped.var(axis=2), 1)
    assert out["mean"].shape == (4, 3)


def test_normalizations_meet():
    """One group per channel and one sample: batch and group normalization are the same."""
    src, scale = random(1, 5, 4, 3), random(5, seed=1)
    params = norm_params("use_scale", groups=5)
    batch = call("batch_normalization_forward", params, src=src, scale=scale)
    group = call("group_normalization_forward", params, src=src, scale=scale)
    layer = call("layer_normalization_forward", norm_params(), src=src.reshape(5, 12))
    assert np.allclose(batch, group)
    assert np.allclose(batch, layer.reshape(src.shape) * scale.reshape(5, 1, 1))


def test_rms_norm_by_definition():
    """The mean square takes the place of the variance, and there is no mean."""
    src, scale = random(3, 8), random(8, seed=1)
    params = norm_params("rms_norm", "use_scale")
    out = reference("layer_normalization_forward", params, {"src": src, "scale": scale})
    assert np.allclose(out["dst"], scale * src / np.sqrt((src**2).mean(axis=1, keepdims=True)))
    assert "mean" not in out


def test_fused_relu():
    """Is a maximum with 0 after the normalization."""
    src = random(2, 3, 4, 5)
    plain = call("batch_normalization_forward", norm_params(), src=src)
    fused = call("batch_normalization_forward", norm_params("fuse_norm_relu"), src=src)
    assert np.array_equal(fused, np.maximum(plain, 0))


def test_lrn_at_one_point():
    """Three channels of one image, and the 3 by 3 neighbourhood inside one channel."""
    src = random(1, 5, 4, 4)
    params = {"local_size": 3, "alpha": 2.0, "beta": 0.75, "k": 1.5}
    across = call("lrn_forward", params | {"algorithm": "lrn_across_channels"}, src=src)
    total = (src[0, 1:4, 1, 2] ** 2).sum()
    assert math.isclose(across[0, 2, 1, 2], src[0, 2, 1, 2] * (1.5 + 2 / 3 * total) ** -0.75)
    within = call("lrn_forward", params | {"algorithm": "lrn_within_channel"}, src=src)
    total = (src[0, 2, 0:2, 1:4] ** 2).sum()
    assert math.isclose(within[0, 2, 0, 2], src[0, 2, 0, 2] * (1.5 + 2 / 9 * total) ** -0.75)


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


def logistic(x):
    """1 / (1 + exp(-x))."""
    return 1 / (1 + np.exp(-x))


def gates(arrays, x, h):
    """Contributions of input and state to every gate, without bias: two arrays (G, N, DHC)."""
    w, u = arrays["weights_layer"][0, 0], arrays["weights_iter"][0, 0]
    return np.einsum("nc,cgd->gnd", x, w), np.einsum("nc,cgd->gnd", h, u)


def step(row, arrays, x, h, c, attention):
    """One step of a cell, written down from its equations: the next h and c."""
    (below, before), b = gates(arrays, x, h), arrays["bias"][0, 0]
    if row == "vanilla_rnn_forward":
        return np.tanh(below[0] + before[0] + b[0]), c
    if row == "lstm_forward":
        total = below + before + b[:, None]
        c = logistic(total[1]) * c + logistic(total[0]) * np.tanh(total[2])
        return logistic(total[3]) * np.tanh(c), c
    u = logistic(below[0] + before[0] + b[0]) * (1 - attention)
    r = logistic(below[1] + before[1] + b[1])
    if row.startswith("lbr"):
        o = np.tanh(below[2] + b[2] + r * (before[2] + b[3]))
    else:
        o = np.tanh(below[2] + b[2] + gates(arrays, x, r * h)[1][2])
    return u * h + (1 - u) * o, c


CELL_ROWS = [row for row in CASES if "src_layer" in CASES[row][0].shapes and "forward" in row]


ONE_CELL = [case for row in CELL_ROWS for case in CASES[row] if case.name in ("long", "right2left")]


@each("case", ONE_CELL, ids=lambda case: case.id)
def test_cell_by_equations(case):
    """One layer in one direction, step by step."""
    arrays, steps = exact(case.inputs()), range(case.shapes["src_layer"][0])
    h, out = arrays["src_iter"][0, 0], {}
    c = arrays.get("src_iter_c", np.zeros((1, 1, 1, 1)))[0, 0]
    attention = arrays.get("augru_attention", np.zeros((len(steps), 1, 1)))
    for t in steps if case.name == "long" else steps[::-1]:
        h, c = step(case.row, arrays, arrays["src_layer"][t], h, c, attention[t])
        out[t] = h
    found = run(case, arrays)
    assert np.allclose(found["dst_layer"], np.stack([out[t] for t in steps]))
    assert np.allclose(found["dst_iter"][0, 0], h)
    assert "dst_iter_c" not in found or np.allclose(found["dst_iter_c"][0, 0], c)


def test_lstm_peephole_and_projection():
    """One step of both, from the equations."""
    case = next(c for c in CASES["lstm_forward"] if c.name == "peephole_projection")
    arrays = exact(case.inputs())
    arrays["src_layer"] = arrays["src_layer"][:1]
    h, c = arrays["src_iter"][0, 0], arrays["src_iter_c"][0, 0]
    i, f, n, o = sum(gates(arrays, arrays["src_layer"][0], h)) + arrays["bias"][0, 0][:, None]
    peep = arrays["weights_peephole"][0, 0]
    c_new = logistic(f + peep[1] * c) * c + logistic(i + peep[0] * c) * np.tanh(n)
    h_new = logistic(o + peep[2] * c_new) * np.tanh(c_new)
    found = run(case, arrays)
    assert np.allclose(found["dst_iter"][0, 0], h_new @ arrays["weights_projection"][0, 0])
    assert np.allclose(found["dst_iter_c"][0, 0], c_new)


@each("row", [row for row in CELL_ROWS if "augru" not in row])
def test_directions_are_two_stacks(row):
    """Bidirectional with two layers: each direction alone, then concatenated or added."""
    for name, join in (("layers_concat", np.dstack), ("layers_sum", sum)):
        case = next(case for case in CASES[row] if case.name == name)
        arrays, alone = exact(case.inputs()), []
        for d, one_way in enumerate(("left2right", "right2left")):
            own = {k: v if k == "src_layer" else v[:, d : d + 1] for k, v in arrays.items()}
            params = case.params | {"direction": f"unidirectional_{one_way}"}
            alone.append(reference(row, params, own))
        found = run(case, arrays)
        assert np.allclose(found["dst_layer"], join([a["dst_layer"] for a in alone]))
        states = np.concatenate([a["dst_iter"] for a in alone], axis=1)
        assert np.allclose(found["dst_iter"], states)


@each("row", [row for row in CELL_ROWS if "augru" not in row])
def test_layers_are_chained(row):
    """A layer reads what the one below wrote."""
    case = next(case for case in CASES[row] if case.name == "layers")
    arrays = exact(case.inputs())
    sequence = arrays["src_layer"]
    for layer in range(len(arrays["bias"])):
        own = {k: v[layer : layer + 1] for k, v in arrays.items()} | {"src_layer": sequence}
        out = reference(row, case.params, own)
        sequence = out["dst_layer"]
    found = run(case, arrays)
    assert np.allclose(found["dst_layer"], sequence)
    assert np.allclose(found["dst_iter"][-1:], out["dst_iter"])
