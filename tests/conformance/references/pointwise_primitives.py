# SPDX-License-Identifier: Apache-2.0
"""Functions of single elements and of rows: eltwise, prelu, binary, softmax.

Every entry of ``FORWARD`` is f(s, alpha, beta), every entry of ``SLOPE`` its derivative in s,
every entry of ``SLOPE_FROM_DST`` that derivative as a function of d = f(s).
"""

import math

import numpy as np

_ROOT = math.sqrt(2 / math.pi)  # the factor inside the tanh form of GELU
_CUBIC = 0.044715

erf = np.vectorize(math.erf, otypes=[float])


def sigmoid(x):
    """1 / (1 + exp(-x)), without overflow."""
    return np.exp(-np.logaddexp(0.0, -x))


def _gelu_tanh_inner(s):
    return np.tanh(_ROOT * (s + _CUBIC * s**3))


def _gelu_tanh_slope(s):
    t = _gelu_tanh_inner(s)
    return 0.5 * (1 + t) + 0.5 * s * (1 - t**2) * _ROOT * (1 + 3 * _CUBIC * s**2)


def _normal_cdf(s):
    return 0.5 * (1 + erf(s / math.sqrt(2)))


def _normal_pdf(s):
    return np.exp(-0.5 * s**2) / math.sqrt(2 * math.pi)


def _mish_slope(s):
    t = np.tanh(np.logaddexp(0.0, s))
    return t + s * (1 - t**2) * sigmoid(s)


def _hardswish_slope(s, a, b):
    inner = a * s + b
    return np.where(inner >= 1, 1.0, np.where(inner > 0, 2 * a * s + b, 0.0))


def _swish_slope(s, a):
    gate = sigmoid(a * s)
    return gate * (1 + a * s * (1 - gate))


FORWARD = {
    "relu": lambda s, a, b: np.where(s > 0, s, a * s),
    "tanh": lambda s, a, b: np.tanh(s),
    "elu": lambda s, a, b: np.where(s > 0, s, a * np.expm1(np.minimum(s, 0))),
    "square": lambda s, a, b: s**2,
    "abs": lambda s, a, b: np.abs(s),
    "sqrt": lambda s, a, b: np.sqrt(s),
    "linear": lambda s, a, b: a * s + b,
    "soft_relu": lambda s, a, b: np.logaddexp(0.0, a * s) / a,
    "hardsigmoid": lambda s, a, b: np.clip(a * s + b, 0.0, 1.0),
    "logistic": lambda s, a, b: sigmoid(s),
    "exp": lambda s, a, b: np.exp(s),
    "gelu_tanh": lambda s, a, b: 0.5 * s * (1 + _gelu_tanh_inner(s)),
    "swish": lambda s, a, b: s * sigmoid(a * s),
    "log": lambda s, a, b: np.log(s),
    "clip": lambda s, a, b: np.clip(s, a, b),
    "clip_v2": lambda s, a, b: np.clip(s, a, b),
    "pow": lambda s, a, b: a * s**b,
    "gelu_erf": lambda s, a, b: s * _normal_cdf(s),
    "round": lambda s, a, b: np.rint(s),
    "mish": lambda s, a, b: s * np.tanh(np.logaddexp(0.0, s)),
    "hardswish": lambda s, a, b: s * np.clip(a * s + b, 0.0, 1.0),
}

# clip and clip_v2 differ only at s == beta: the first passes the gradient, the second does not.
SLOPE = {
    "relu": lambda s, a, b: np.where(s > 0, 1.0, a),
    "tanh": lambda s, a, b: 1 - np.tanh(s) ** 2,
    "elu": lambda s, a, b: np.where(s > 0, 1.0, a * np.exp(np.minimum(s, 0))),
    "square": lambda s, a, b: 2 * s,
    "abs": lambda s, a, b: np.sign(s),
    "sqrt": lambda s, a, b: 0.5 / np.sqrt(s),
    "linear": lambda s, a, b: np.full_like(s, a),
    "soft_relu": lambda s, a, b: sigmoid(a * s),
    "hardsigmoid": lambda s, a, b: np.where((a * s + b > 0) & (a * s + b < 1), a, 0.0),
    "logistic": lambda s, a, b: sigmoid(s) * sigmoid(-s),
    "exp": lambda s, a, b: np.exp(s),
    "gelu_tanh": lambda s, a, b: _gelu_tanh_slope(s),
    "swish": lambda s, a, b: _swish_slope(s, a),
    "log": lambda s, a, b: 1 / s,
    "clip": lambda s, a, b: np.where((s > a) & (s <= b), 1.0, 0.0),
    "clip_v2": lambda s, a, b: np.where((s > a) & (s < b), 1.0, 0.0),
    "pow": lambda s, a, b: a * b * s ** (b - 1),
    "gelu_erf": lambda s, a, b: _normal_cdf(s) + s * _normal_pdf(s),
    "mish": lambda s, a, b: _mish_slope(s),
    "hardswish": _hardswish_slope,
}

SLOPE_FROM_DST = {
    "relu": lambda d, a, b: np.where(d > 0, 1.0, a),
    "tanh": lambda d, a, b: 1 - d**2,
    "elu": lambda d, a, b: np.where(d > 0, 1.0, d + a),
    "sqrt": lambda d, a, b: 0.5 / d,
    "logistic": lambda d, a, b: d * (1 - d),
    "exp": lambda d, a, b: d,
    "clip_v2": lambda d, a, b: np.where((d > a) & (d < b), 1.0, 0.0),
}

_FROM_DST = "_use_dst_for_bwd"


def _function(params):
    """Return the algorithm's name without prefix and suffix, and its two constants."""
    name = params["algorithm"].removeprefix("eltwise_").removesuffix(_FROM_DST)
    return name, params.get("alpha", 0.0), params.get("beta", 0.0)


def eltwise_forward(params, arrays, shapes):
    """Apply a function to each element: src -> dst, any shape."""
    name, alpha, beta = _function(params)
    return {"dst": FORWARD[name](arrays["src"], alpha, beta)}


def eltwise_backward(params, arrays, shapes):
    """Gradient: diff_dst and src (or dst for ``*_use_dst_for_bwd``) -> diff_src."""
    name, alpha, beta = _function(params)
    if params["algorithm"].endswith(_FROM_DST):
        slope = SLOPE_FROM_DST[name](arrays["dst"], alpha, beta)
    else:
        slope = SLOPE[name](arrays["src"], alpha, beta)
    return {"diff_src": arrays["diff_dst"] * slope}


def prelu_forward(params, arrays, shapes):
    """Scale non-positive elements: src, weights (same rank, axes of 1 broadcast) -> dst."""
    src = arrays["src"]
    return {"dst": np.where(src > 0, src, src * arrays["weights"])}


def prelu_backward(params, arrays, shapes):
    """Gradient: src, weights, diff_dst -> diff_src, diff_weights (summed where broadcast)."""
    src, weights, diff_dst = arrays["src"], arrays["weights"], arrays["diff_dst"]
    shared = tuple(axis for axis, n in enumerate(weights.shape) if n == 1)
    diff_weights = (diff_dst * np.minimum(src, 0)).sum(axis=shared, keepdims=True)
    return {"diff_src": diff_dst * np.where(src > 0, 1.0, weights), "diff_weights": diff_weights}


BINARY = {
    "binary_add": np.add,
    "binary_mul": np.multiply,
    "binary_max": np.maximum,
    "binary_min": np.minimum,
    "binary_div": np.divide,
    "binary_sub": np.subtract,
    "binary_ge": np.greater_equal,
    "binary_gt": np.greater,
    "binary_le": np.less_equal,
    "binary_lt": np.less,
    "binary_eq": np.equal,
    "binary_ne": np.not_equal,
}


def binary(params, arrays, shapes):
    """Combine src_0 and src_1 (axes of 1 broadcast) -> dst; a comparison gives 0 or 1.

    ``binary_select`` selects src_0 where src_2 is not zero and src_1 otherwise.
    """
    first, second = arrays["src_0"], arrays["src_1"]
    if params["algorithm"] == "binary_select":
        return {"dst": np.where(arrays["src_2"] != 0, first, second)}
    return {"dst": BINARY[params["algorithm"]](first, second).astype(float)}


# --- Softmax and its logarithm along one axis


def softmax_forward(params, arrays, shapes):
    """Normalize exponentials along ``axis``: src -> dst of the same shape.

    ``softmax_accurate`` gives probabilities, ``softmax_log`` their logarithms.
    """
    src, axis = arrays["src"], params["axis"]
    shifted = src - src.max(axis=axis, keepdims=True)
    logarithm = shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))
    return {"dst": logarithm if params["algorithm"] == "softmax_log" else np.exp(logarithm)}


def softmax_backward(params, arrays, shapes):
    """Gradient: dst, diff_dst -> diff_src."""
    dst, diff_dst, axis = arrays["dst"], arrays["diff_dst"], params["axis"]
    if params["algorithm"] == "softmax_log":
        return {"diff_src": diff_dst - np.exp(dst) * diff_dst.sum(axis=axis, keepdims=True)}
    inner = (diff_dst * dst).sum(axis=axis, keepdims=True)
    return {"diff_src": dst * (diff_dst - inner)}
