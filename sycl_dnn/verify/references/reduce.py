# SPDX-License-Identifier: Apache-2.0
"""Reduction over axes, and the weighted sum of several arrays."""

from collections.abc import Callable

import numpy as np


def _norm(src, axes, params):
    """Lp norms: ``eps`` bounds the sum of powers from below or is added to it."""
    p, eps = params["p"], params["eps"]
    total = (np.abs(src) ** p).sum(axis=axes, keepdims=True)
    bounded = np.maximum(total, eps) if params["algorithm"].endswith("_max") else total + eps
    return bounded if "power_p" in params["algorithm"] else bounded ** (1 / p)


REDUCTIONS: dict[str, Callable] = {
    "reduction_max": np.max,
    "reduction_min": np.min,
    "reduction_sum": np.sum,
    "reduction_mul": np.prod,
    "reduction_mean": np.mean,
}


def reduction(params, arrays, shapes):
    """Reduce the axes of src that have size 1 in ``shapes["dst"]``: src -> dst, same rank."""
    src = arrays["src"]
    sizes = zip(src.shape, shapes["dst"], strict=True)
    axes = tuple(axis for axis, (n, m) in enumerate(sizes) if n != m)
    if params["algorithm"] in REDUCTIONS:
        return {"dst": REDUCTIONS[params["algorithm"]](src, axis=axes, keepdims=True)}
    return {"dst": _norm(src, axes, params)}


def weighted_sum(params, arrays, shapes):
    """OneDNN's ``sum``: multiple_src_i, all of one shape, times ``scales[i]`` -> dst."""
    terms = (scale * arrays[f"multiple_src_{i}"] for i, scale in enumerate(params["scales"]))
    return {"dst": sum(terms)}
