# SPDX-License-Identifier: Apache-2.0
"""Softmax and its logarithm along one axis."""

import numpy as np


def softmax_forward(params, arrays, shapes):
    """Normalise exponentials along ``axis``: src -> dst of the same shape.

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
