# SPDX-License-Identifier: Apache-2.0
"""Local response normalization over neighbouring channels or over spatial neighbours.

dst = src * base ** -beta with base = k + alpha / n * (sum of src**2 over the neighbourhood).
The neighbourhood reaches (local_size - 1) // 2 elements to both sides on each of its axes (so
an even size sees one element less), but n is local_size to the power of the number of axes.
"""

import numpy as np


def _axes(params, ndim):
    return (1,) if params["algorithm"] == "lrn_across_channels" else tuple(range(2, ndim))


def _neighbourhood(x, params):
    """Sum of ``x`` over the neighbourhood of each element; outside of ``x`` is 0."""
    reach = (params["local_size"] - 1) // 2
    for axis in _axes(params, x.ndim):
        n = x.shape[axis]
        padded = np.pad(x, [(reach, reach) if a == axis else (0, 0) for a in range(x.ndim)])
        shifted = (np.take(padded, np.arange(s, s + n), axis=axis) for s in range(2 * reach + 1))
        x = sum(shifted)
    return x


def _base(src, params):
    """Return the quantity raised to -beta, and alpha / n."""
    factor = params["alpha"] / params["local_size"] ** len(_axes(params, src.ndim))
    return params["k"] + factor * _neighbourhood(src**2, params), factor


def lrn_forward(params, arrays, shapes):
    """Normalise: src (N, C, *S) -> dst."""
    src = arrays["src"]
    return {"dst": src * _base(src, params)[0] ** -params["beta"]}


def lrn_backward(params, arrays, shapes):
    """Gradient: src, diff_dst -> diff_src; the neighbourhood is its own transpose."""
    src, diff_dst, beta = arrays["src"], arrays["diff_dst"], params["beta"]
    base, factor = _base(src, params)
    spread = _neighbourhood(diff_dst * src * base ** (-beta - 1), params)
    return {"diff_src": diff_dst * base**-beta - 2 * beta * factor * src * spread}
