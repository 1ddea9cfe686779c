# SPDX-License-Identifier: Apache-2.0
"""What a graph computes, in NumPy and float64: operation by operation, independent of oneDNN."""

import numpy as np
from reference import reference
from reference.eltwise import FORWARD, SLOPE, SLOPE_FROM_DST

#: Builder's name -> name in ``reference.eltwise`` and where its constants come from.
ELTWISE = {
    "abs": ("abs", {}), "clamp": ("clip_v2", {"alpha": "min", "beta": "max"}),
    "elu": ("elu", {"alpha": "alpha"}), "exp": ("exp", {}),
    "hard_sigmoid": ("hardsigmoid", {"alpha": "alpha", "beta": "beta"}),
    "leaky_relu": ("relu", {"alpha": "alpha"}), "log": ("log", {}), "mish": ("mish", {}),
    "relu": ("relu", {}), "round": ("round", {}), "sigmoid": ("logistic", {}),
    "softplus": ("soft_relu", {"alpha": "beta"}), "sqrt": ("sqrt", {}), "square": ("square", {}),
    "tanh": ("tanh", {}),
}  # fmt: skip
BINARY = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide,
    "maximum": np.maximum, "minimum": np.minimum, "greater_equal": np.greater_equal,
    "squared_difference": lambda a, b: (a - b) ** 2,
}  # fmt: skip
REDUCE = {
    "l1": lambda x, **k: np.abs(x).sum(**k), "l2": lambda x, **k: np.sqrt((x**2).sum(**k)),
    "max": np.max, "mean": np.mean, "min": np.min, "prod": np.prod, "sum": np.sum,
}  # fmt: skip
#: Permutations to (O, I, *K) of weights whose first letters these are.
_FUNCTIONS = {}


def operation(*names):
    def keep(function):
        for name in names:
            _FUNCTIONS[name] = function
        return function

    return keep


def _first(x, a):
    """Channels to the second axis."""
    return np.moveaxis(x, -1, 1) if a["data_format"] == "NXC" else x


def _back(x, a):
    return np.moveaxis(x, 1, -1) if a["data_format"] == "NXC" else x


def _weights(w, a):
    """Weights as (first letter, second letter, *kernel) of OIX or IOX."""
    if a["weights_format"] in ("XIO", "XOI"):
        return np.moveaxis(w, (-1, -2), (0, 1))
    return w


def _unweights(w, a):
    if a["weights_format"] in ("XIO", "XOI"):
        return np.moveaxis(w, (0, 1), (-1, -2))
    return w


def _grouped(w, groups):
    return w if groups == 1 else w.reshape(groups, w.shape[0] // groups, *w.shape[1:])


def _geometry(a, spatial, kernel):
    """Strides, dilates and paddings of the primitives, whose dilation counts from 0."""
    dilations = a.get("dilations") or (1,) * len(spatial)
    low, high = list(a["pads_begin"]), list(a["pads_end"])
    for i, n in enumerate(spatial):
        reach = dilations[i] * (kernel[i] - 1) + 1
        if a.get("auto_pad", "None").startswith("SAME"):
            total = max((-(-n // a["strides"][i]) - 1) * a["strides"][i] + reach - n, 0)
            small = total // 2
            upper = a["auto_pad"] == "SAME_UPPER"
            low[i], high[i] = (small, total - small) if upper else (total - small, small)
        elif a.get("auto_pad") == "VALID":
            low[i] = high[i] = 0
    dilates = [d - 1 for d in dilations]
    return {
        "strides": a["strides"],
        "dilates": dilates,
        "dilation": dilates,
        "padding_l": low,
        "padding_r": high,
    }


@operation(*ELTWISE)
def _eltwise(name, t, a, shapes):
    algorithm, constants = ELTWISE[name]
    given = {k: a[v] for k, v in constants.items()}
    return [FORWARD[algorithm](t["src"], given.get("alpha", 0.0), given.get("beta", 0.0))]


@operation("gelu", "gelu_backward")
def _gelu(name, t, a, shapes):
    if name == "gelu":
        return [FORWARD[a["mode"]](t["src"], 0, 0)]
    return [t["diff_dst"] * SLOPE[a["mode"]](t["src"], 0, 0)]


@operation("hard_swish", "hard_swish_backward")
def _hard_swish(name, t, a, shapes):
    table = FORWARD if name == "hard_swish" else SLOPE
    value = table["hardswish"](t["src"], 1 / 6, 0.5)
    return [value if name == "hard_swish" else value * t["diff_dst"]]


@operation("abs_backward", "clamp_backward", "elu_backward", "hard_sigmoid_backward",
           "mish_backward", "relu_backward", "sigmoid_backward", "softplus_backward",
           "sqrt_backward", "tanh_backward")  # fmt: skip
def _eltwise_backward(name, t, a, shapes):
    algorithm, constants = ELTWISE[name.removesuffix("_backward")]
    given = {k: a[v] for k, v in constants.items()}
    table = SLOPE_FROM_DST if a.get("use_dst") else SLOPE
    x = t["src_or_dst"] if "src_or_dst" in t else t["src"]
    slope = table[algorithm](x, given.get("alpha", 0.0), given.get("beta", 0.0))
    return [t["diff_dst"] * slope]


@operation("pow")
def _pow(name, t, a, shapes):
    return [t["src"] ** a["beta"]]


@operation("reciprocal")
def _reciprocal(name, t, a, shapes):
    return [1 / t["src"]]


@operation(*BINARY)
def _binary(name, t, a, shapes):
    return [BINARY[name](t["src_0"], t["src_1"])]


@operation("select")
def _select(name, t, a, shapes):
    return [np.where(t["cond"] != 0, t["src_0"], t["src_1"])]


@operation("bias_add", "bias_add_backward")
def _bias(name, t, a, shapes):
    if name == "bias_add":
        src = _first(t["src"], a)
        return [_back(src + t["bias"].reshape(-1, *[1] * (src.ndim - 2)), a)]
    diff = _first(t["diff_dst"], a)
    return [diff.sum(axis=(0, *range(2, diff.ndim)))]


def _slope(t, a):
    shape = [1] * t["src"].ndim
    if t["slope"].size > 1:
        shape[1 if a["data_format"] == "NCX" else -1] = -1
    return t["slope"].reshape(shape)


@operation("prelu", "prelu_backward")
def _prelu(name, t, a, shapes):
    arrays = {"src": t["src"], "weights": _slope(t, a), "diff_dst": t.get("diff_dst", 0.0)}
    if name == "prelu":
        return [reference("prelu_forward", {}, arrays)["dst"]]
    made = reference("prelu_backward", {}, arrays)
    return [made["diff_src"], made["diff_weights"].reshape(t["slope"].shape)]


@operation("matmul")
def _matmul(name, t, a, shapes):
    left, right = t["src"], t["weights"]
    left = np.swapaxes(left, -1, -2) if a["transpose_a"] and left.ndim > 1 else left
    right = np.swapaxes(right, -1, -2) if a["transpose_b"] and right.ndim > 1 else right
    return [left @ right + t.get("bias", 0.0)]


@operation("convolution")
def _convolution(name, t, a, shapes):
    src, w = _first(t["src"], a), _weights(t["weights"], a)
    params = _geometry(a, src.shape[2:], w.shape[2:])
    arrays = {"src": src, "weights": _grouped(w, a["groups"])}
    arrays |= {"bias": t["bias"]} if "bias" in t else {}
    return [_back(reference("convolution_forward", params, arrays)["dst"], a)]


def _formed(shape, a):
    """A shape with its channels second."""
    return (shape[0], shape[-1], *shape[1:-1]) if a["data_format"] == "NXC" else tuple(shape)


@operation("convolution_backward_data")
def _convolution_backward_data(name, t, a, shapes):
    diff, w = _first(t["diff_dst"], a), _weights(t["weights"], a)
    size = _formed(shapes[0], a)
    arrays = {"diff_dst": diff, "weights": _grouped(w, a["groups"])}
    params = _geometry(a, size[2:], w.shape[2:])
    made = reference("convolution_backward_data", params, arrays, {"diff_src": size})
    return [_back(made["diff_src"], a)]


@operation("convolution_backward_weights", "conv_transpose_backward_weights")
def _backward_weights(name, t, a, shapes):
    """The transposed one has source and destination exchanged."""
    src, diff = _first(t["src"], a), _first(t["diff_dst"], a)
    if name.startswith("conv_transpose"):
        src, diff = diff, src
    shape = _weights(np.empty(shapes[0]), a).shape
    grouped = _grouped(np.empty(shape), a["groups"]).shape
    params = _geometry(a, src.shape[2:], shape[2:])
    made = reference("convolution_backward_weights", params, {"src": src, "diff_dst": diff},
                     {"diff_weights": grouped})["diff_weights"]  # fmt: skip
    return [_unweights(made.reshape(shape), a)]


@operation("conv_transpose")
def _conv_transpose(name, t, a, shapes):
    """The gradient of a convolution in its source; weights are (I, O/g, *K) of that."""
    src, w = _first(t["src"], a), _weights(t["weights"], a)
    size = _formed(shapes[0], a)
    params = _geometry(a, size[2:], w.shape[2:])
    made = reference("convolution_backward_data", params,
                     {"diff_dst": src, "weights": _grouped(w, a["groups"])},
                     {"diff_src": size})["diff_src"]  # fmt: skip
    bias = t.get("bias", np.zeros(1)).reshape(-1, *[1] * (src.ndim - 2))
    return [_back(made + bias, a)]


@operation("conv_transpose_backward_data")
def _conv_transpose_backward_data(name, t, a, shapes):
    diff, w = _first(t["diff_dst"], a), _weights(t["weights"], a)
    params = _geometry(a, diff.shape[2:], w.shape[2:])
    arrays = {"src": diff, "weights": _grouped(w, a["groups"])}
    return [_back(reference("convolution_forward", params, arrays)["dst"], a)]


def _pooling(name, a, spatial):
    kind = "max" if name.startswith("max") else (
        "avg_exclude_padding" if a["exclude_pad"] else "avg_include_padding")  # fmt: skip
    return _geometry(a, spatial, a["kernel"]) | {"kernel": a["kernel"],
                                                 "algorithm": "pooling_" + kind}  # fmt: skip


@operation("avg_pool", "max_pool")
def _pool(name, t, a, shapes):
    src = _first(t["src"], a)
    params = _pooling(name, a, src.shape[2:])
    if a["rounding_type"] == "ceil":
        wanted = _formed(shapes[0], a)[2:]
        for i, n in enumerate(wanted):
            reach = params["dilation"][i] * (a["kernel"][i] - 1) + a["kernel"][i]
            span = (n - 1) * a["strides"][i] + reach
            params["padding_r"][i] = span - src.shape[2 + i] - params["padding_l"][i]
    return [_back(reference("pooling_forward", params, {"src": src})["dst"], a)]


@operation("avg_pool_backward", "max_pool_backward")
def _pool_backward(name, t, a, shapes):
    size = _formed(shapes[0], a)
    arrays = {"diff_dst": _first(t["diff_dst"], a)}
    arrays |= {"src": _first(t["src"], a)} if "src" in t else {}
    params = _pooling(name, a, size[2:])
    made = reference("pooling_backward", params, arrays, {"diff_src": size})
    return [_back(made["diff_src"], a)]


@operation("interpolate", "interpolate_backward")
def _interpolate(name, t, a, shapes):
    mode = "nearest" if a["mode"] == "nearest" else "linear"
    params = {"algorithm": "resampling_" + mode}
    size = _formed(shapes[0], a)
    if a["coordinate_transformation_mode"] == "align_corners":
        return [_back(_aligned(_first(t["src"], a), size[2:]), a)]
    if name == "interpolate":
        made = reference("resampling_forward", params, {"src": _first(t["src"], a)}, {"dst": size})
        return [_back(made["dst"], a)]
    arrays = {"diff_dst": _first(t["diff_dst"], a)}
    made = reference("resampling_backward", params, arrays, {"diff_src": size})
    return [_back(made["diff_src"], a)]


def _aligned(x, size):
    for axis, n in enumerate(size, start=2):
        at = np.linspace(0, x.shape[axis] - 1, n)
        low = np.minimum(np.floor(at).astype(int), max(x.shape[axis] - 2, 0))
        high = np.minimum(low + 1, x.shape[axis] - 1)
        share = (at - low).reshape(-1, *[1] * (x.ndim - axis - 1))
        x = np.take(x, low, axis) * (1 - share) + np.take(x, high, axis) * share
    return x


def _affine(x, t, shape):
    return x * t.get("gamma", np.ones(1)).reshape(shape if "gamma" in t else 1) + t.get(
        "beta", np.zeros(1)
    ).reshape(shape if "beta" in t else 1)


@operation("batch_norm_inference", "batch_norm_forward_training")
def _batch_norm(name, t, a, shapes):
    src = _first(t["src"], a)
    column = (-1, *[1] * (src.ndim - 2))
    axes = (0, *range(2, src.ndim))
    training = name.endswith("training")
    mean = src.mean(axes) if training else t["mean"]
    variance = src.var(axes) if training else t["variance"]
    hat = (src - mean.reshape(column)) / np.sqrt(variance.reshape(column) + a["epsilon"])
    dst = _back(_affine(hat, t, column), a)
    if not training:
        return [dst]
    kept = a["momentum"]
    moved = [t["mean"] * kept + mean * (1 - kept), t["variance"] * kept + variance * (1 - kept)]
    return [dst, *moved, mean, variance]


@operation("batch_norm_backward")
def _batch_norm_backward(name, t, a, shapes):
    arrays = {"src": _first(t["src"], a), "diff_dst": _first(t["diff_dst"], a)}
    return _norm_backward("batch", arrays, t, a, lambda x: _back(x, a))


def _norm_backward(row, arrays, t, a, back):
    flags = ["use_scale"] if "gamma" in t else []
    params = {"flags": flags, "epsilon": a["epsilon"], "prop_kind": "backward"}
    arrays |= {"scale": t["gamma"]} if flags else {}
    made = reference(f"{row}_normalization_backward", params, arrays)
    return [back(made["diff_src"]), made["diff_scale"], made["diff_shift"]]


@operation("group_norm")
def _group_norm(name, t, a, shapes):
    src = _first(t["src"], a)
    x = src.reshape(src.shape[0], a["groups"], -1)
    mean, variance = x.mean(-1), x.var(-1)
    hat = ((x - mean[..., None]) / np.sqrt(variance[..., None] + a["epsilon"])).reshape(src.shape)
    return [_back(_affine(hat, t, (-1, *[1] * (src.ndim - 2))), a), mean, variance]


@operation("layer_norm", "rms_norm")
def _layer_norm(name, t, a, shapes):
    src = t["src"]
    first = a["begin_norm_axis"] % src.ndim
    axes = tuple(range(first, src.ndim))
    if name == "rms_norm":
        hat = src / np.sqrt((src**2).mean(axes, keepdims=True) + a["epsilon"])
        return [_affine(hat, t, src.shape[first:])]
    mean, variance = src.mean(axes), src.var(axes)
    kept = (*mean.shape, *[1] * len(axes))
    hat = (src - mean.reshape(kept)) / np.sqrt(variance.reshape(kept) + a["epsilon"])
    return [_affine(hat, t, src.shape[first:]), mean, variance]


@operation("layer_norm_backward")
def _layer_norm_backward(name, t, a, shapes):
    arrays = {"src": t["src"], "diff_dst": t["diff_dst"]}
    return _norm_backward("layer", arrays, t, a, lambda x: x)


@operation("softmax", "log_softmax")
def _softmax(name, t, a, shapes):
    src, axis = t["src"], a["axis"]
    top = src.max(axis, keepdims=True)
    finite = np.where(np.isfinite(top), top, 0.0)
    total = np.exp(src - finite).sum(axis, keepdims=True)
    with np.errstate(divide="ignore"):
        stats = finite + np.log(total)
    if name == "log_softmax":
        return [src - stats]
    zero = a.get("mode") == "inf_as_zero" and not np.all(np.isfinite(stats))
    return [np.where(np.isfinite(stats), np.exp(src - np.where(zero, finite, stats)), 0.0)
            if zero else np.exp(src - stats), stats]  # fmt: skip


@operation("softmax_backward", "log_softmax_backward")
def _softmax_backward(name, t, a, shapes):
    kind = "softmax_log" if name.startswith("log") else "softmax_accurate"
    return [reference("softmax_backward", {"axis": a["axis"], "algorithm": kind}, t)["diff_src"]]


@operation(*(f"reduce_{kind}" for kind in REDUCE))
def _reduce(name, t, a, shapes):
    run = REDUCE[name.removeprefix("reduce_")]
    return [run(t["src"], axis=tuple(a["axes"]), keepdims=a["keep_dims"])]


@operation("concat")
def _concat(name, t, a, shapes):
    return [np.concatenate(t["src"], axis=a["axis"])]


@operation("reorder", "type_cast")
def _copy(name, t, a, shapes):
    return [t["src"]]


@operation("static_reshape")
def _reshape(name, t, a, shapes):
    return [t["src"].reshape(shapes[0])]


@operation("static_transpose")
def _transpose(name, t, a, shapes):
    return [t["src"].transpose(a["order"])]


@operation("gen_index")
def _gen_index(name, t, a, shapes):
    shape = [1] * t["src"].ndim
    shape[a["axis"]] = -1
    n = t["src"].shape[a["axis"]]
    return [np.broadcast_to(np.arange(n).reshape(shape), t["src"].shape)]


def _scales(t, a, ndim):
    """Scales and zero points in the source's rank: one, by channel, or by group."""
    scales = t["scales"] if "scales" in t else np.asarray(a["scales"])
    zps = t.get("zps", np.asarray(a.get("zps") or [0.0], float))
    if a["qtype"] == "per_group":
        for axis, n in enumerate(a["group_shape"]):
            scales = np.repeat(scales, n, axis)
            zps = np.repeat(zps, n, axis) if zps.size > 1 else zps
        return scales, zps
    shape = [1] * ndim
    if a["qtype"] == "per_channel":
        shape[a["axis"]] = -1
    return scales.reshape(shape), zps.reshape(shape if zps.size > 1 else [1] * ndim)


LIMITS = {"s8": (-128, 127), "u8": (0, 255), "s32": (-(2**31), 2**31 - 1)}


@operation("quantize", "dynamic_quantize")
def _quantize(name, t, a, shapes):
    scales, zps = _scales(t, a, t["src"].ndim)
    return [np.rint(t["src"] / scales) + zps]


@operation("dequantize", "dynamic_dequantize")
def _dequantize(name, t, a, shapes):
    scales, zps = _scales(t, a, t["src"].ndim)
    return [(t["src"] - zps) * scales]


@operation("end")
def _end(name, t, a, shapes):
    return []


def evaluate(graph, arrays, shapes):
    """Return the values of all tensors of a graph by id.

    ``arrays`` are the inputs by name; ``shapes`` those of all tensors by id.
    """
    values = {v.id: np.asarray(arrays[n], np.float64) for n, v in graph.inputs.items()}
    for v in graph.constants:
        data = v._data
        values[v.id] = np.asarray(getattr(data, "values", None) if hasattr(data, "values")
                                  else data.asnumpy(), np.float64)  # fmt: skip
    for node in graph.nodes:
        inputs = {
            name: [values[v.id] for v in given] if isinstance(given, list) else values[given.id]
            for name, given in node.inputs.items()
        }
        if node.function is not None:
            made = node.function.in_numpy(*inputs["src"])
        else:
            wanted = [shapes[v.id] for v in node.outputs]
            name = node.operation.name
            made = _FUNCTIONS[name](name, inputs, node.attributes, wanted)
            made = [made[i] for i in node.slots]
        for v, value in zip(node.outputs, made, strict=True):
            if v.dtype in LIMITS:
                value = np.clip(value, *LIMITS[v.dtype])
            values[v.id] = value
    return values
