# SPDX-License-Identifier: Apache-2.0
"""Matrix products: matmul and inner product."""

from math import prod

import numpy as np


def matmul(params, arrays, shapes):
    """Multiply: src (*B, M, K), weights (*B, K, N), [bias] -> dst (*B, M, N).

    Batch axes of size 1 are broadcast; so is each axis of bias.
    """
    return {"dst": np.matmul(arrays["src"], arrays["weights"]) + arrays.get("bias", 0.0)}


def _rows(x):
    return x.reshape(len(x), prod(x.shape[1:]))


def inner_product_forward(params, arrays, shapes):
    """Multiply: src (N, C, *S), weights (O, C, *S), [bias (O,)] -> dst (N, O)."""
    dst = _rows(arrays["src"]) @ _rows(arrays["weights"]).T
    return {"dst": dst + arrays.get("bias", 0.0)}


def inner_product_backward_data(params, arrays, shapes):
    """Gradient in the source: diff_dst (N, O), weights -> diff_src."""
    diff_dst, weights = arrays["diff_dst"], arrays["weights"]
    diff = diff_dst @ _rows(weights)
    return {"diff_src": diff.reshape(len(diff_dst), *weights.shape[1:])}


def inner_product_backward_weights(params, arrays, shapes):
    """Gradient in the weights: src, diff_dst -> diff_weights, diff_bias."""
    src, diff_dst = arrays["src"], arrays["diff_dst"]
    diff = diff_dst.T @ _rows(src)
    shape = (diff_dst.shape[1], *src.shape[1:])
    return {"diff_weights": diff.reshape(shape), "diff_bias": diff_dst.sum(axis=0)}
