# SPDX-License-Identifier: Apache-2.0
"""Functions of every family with gradients, compared between a device and the CPU."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Any

import dpnp
import numpy as np

import sycl_dnn
from sycl_dnn import functional as F

Row = tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]

#: Name: a function of floating-point arrays, and their shapes.
SAMPLE: dict[str, Row] = {
    "conv1d": (F.conv1d, ((2, 8, 30), (16, 8, 3), (16,))),
    "conv2d": (
        lambda x, w, b: F.conv2d(x, w, b, padding=1), ((2, 16, 14, 14), (32, 16, 3, 3), (32,)),
    ),
    "conv2d, depthwise": (
        lambda x, w: F.conv2d(x, w, stride=2, groups=16), ((2, 16, 15, 15), (16, 1, 3, 3)),
    ),
    "conv_transpose2d": (
        lambda x, w: F.conv_transpose2d(x, w, stride=2), ((2, 8, 7, 7), (8, 4, 2, 2)),
    ),
    "linear": (F.linear, ((32, 64), (48, 64), (48,))),
    "matmul": (F.matmul, ((4, 33, 48), (4, 48, 17))),
    "scaled_dot_product_attention": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        ((2, 4, 24, 16),) * 3,
    ),
    "max_pool2d": (lambda x: F.max_pool2d(x, 3, stride=2, padding=1), ((2, 8, 15, 15),)),
    "avg_pool2d": (lambda x: F.avg_pool2d(x, 2), ((2, 8, 14, 14),)),
    "adaptive_avg_pool2d": (lambda x: F.adaptive_avg_pool2d(x, 1), ((2, 8, 9, 9),)),
    "batch_norm": (
        lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True),
        ((8, 16, 7, 7), (16,), (16,)),
    ),
    "layer_norm": (lambda x, w, b: F.layer_norm(x, (64,), w, b), ((16, 64), (64,), (64,))),
    "group_norm": (lambda x, w, b: F.group_norm(x, 4, w, b), ((4, 16, 6, 6), (16,), (16,))),
    "rms_norm": (lambda x, w: F.rms_norm(x, (64,), w), ((16, 64), (64,))),
    "softmax": (lambda x: F.softmax(x, -1), ((16, 100),)),
    "log_softmax": (lambda x: F.log_softmax(x, 1), ((4, 10, 6),)),
    "relu": (F.relu, ((1000,),)),
    "gelu": (F.gelu, ((30, 40),)),
    "silu": (F.silu, ((30, 40),)),
    "tanh": (F.tanh, ((30, 40),)),
    "sigmoid": (F.sigmoid, ((30, 40),)),
    "exp": (F.exp, ((30, 40),)),
    "add, broadcast": (F.add, ((4, 16, 9), (16, 1))),
    "div": (lambda x, y: F.div(x, F.square(y) + 1.0), ((30, 40), (30, 40))),
    "where": (lambda x, y: F.where(F.gt(x, y), x, y), ((30, 40), (30, 40))),
    "sum": (lambda x: F.sum(x, 1), ((8, 33, 5),)),
    "mean": (lambda x: F.mean(x, (0, 2)), ((8, 33, 5),)),
    "var": (lambda x: F.var(x, -1), ((8, 33),)),
    "amax": (lambda x: F.amax(x, -1), ((8, 33),)),
    "logsumexp": (lambda x: F.logsumexp(x, -1), ((8, 33),)),
    "cumsum": (lambda x: F.cumsum(x, 1), ((8, 33),)),
    "linear_recurrence": (lambda x, y: F.linear_recurrence(x, y, 1), ((8, 33), (8, 33))),
    "topk": (lambda x: F.topk(x, 5)[0], ((8, 33),)),
    "transpose, reshape": (lambda x: F.reshape(F.transpose(x, 1, 2), (-1, 8)), ((4, 8, 6),)),
    "cat, split": (lambda x, y: F.cat(F.split(F.cat((x, y), 1), 6, 1)[:2], 0), ((3, 8), (3, 10))),
    "pad": (lambda x: F.pad(x, (1, 2, 0, 3)), ((2, 4, 5),)),
    "interpolate": (lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), ((2, 4, 6, 6),)),
    "mse_loss": (F.mse_loss, ((16, 10), (16, 10))),
    "smooth_l1_loss": (F.smooth_l1_loss, ((16, 10), (16, 10))),
    "cosine_similarity": (F.cosine_similarity, ((16, 10), (16, 10))),
    "normalize": (F.normalize, ((16, 10),)),
}  # fmt: skip

#: Debian's driver does not know the simulated Arc's large register files.
BEYOND_DRIVER = "work-items in a work-group cannot exceed"
#: Maximum difference relative to the largest value.
TOLERANCE = {"float32": 1e-4, "float16": 2e-2}


def inputs(name: str, dtype: str) -> list[np.ndarray]:
    """Return deterministic random inputs for a function."""
    rng = np.random.default_rng(sum(map(ord, name)))
    return [rng.standard_normal(shape).astype(dtype) for shape in SAMPLE[name][1]]


def results(name: str, values: list[np.ndarray], queue: Any) -> list[dpnp.ndarray]:
    """Return a function's result and gradients on the queue's device."""
    arrays = [dpnp.asarray(v, sycl_queue=queue) for v in values]
    y, pullback = sycl_dnn.vjp(SAMPLE[name][0], *arrays)
    dy = np.cos(np.arange(y.size)).reshape(y.shape).astype(y.dtype)
    grads = pullback(dpnp.asarray(dy, sycl_queue=queue))
    return [y, *(grads if isinstance(grads, (tuple, list)) else (grads,))]


def difference(actual: list[np.ndarray], expected: list[np.ndarray]) -> float:
    """Return the largest difference relative to each array's maximum; propagates NaN."""
    worst = 0.0
    for a, b in zip(actual, expected, strict=True):
        high = a.astype("f8"), b.astype("f8")
        scale = max(float(np.abs(high[1]).max(initial=0)), 1e-6)
        worst = float(np.maximum(worst, np.abs(high[0] - high[1]).max(initial=0) / scale))
    return worst


def one(name: str, dtype: str, queue: Any, reference: Any) -> dict[str, str]:
    """Return the row of a function on ``queue``, compared with ``reference`` if not None."""
    row = {"function": name, "dtype": dtype, "status": "passed", "what": ""}
    values = inputs(name, dtype)
    try:
        actual = results(name, values, queue)
    except NotImplementedError as error:
        return row | {"status": "refused", "what": str(error).splitlines()[0]}
    except Exception as error:  # any failure belongs in the report
        if reference is None and BEYOND_DRIVER in str(error):
            return row | {
                "status": "refused",
                "what": "the simulated driver lacks this kernel's size",
            }
        return row | {"status": "failed", "what": f"{type(error).__name__}: {error}"[:300]}
    if reference is None:
        sycl_dnn.synchronize()
        return row | {"status": "submitted"}
    expected = results(name, [v.astype("f4") for v in values], reference)
    off = difference([a.asnumpy() for a in actual], [a.asnumpy() for a in expected])
    good = off <= TOLERANCE[dtype]
    return row | {"status": "passed" if good else "failed", "what": f"off by {off:.1e}"}


def compare(queue: Any, reference: Any, seconds: float) -> list[dict[str, str]]:
    """Return one row per function and dtype, within the time limit.

    ``queue``: of the device under test. ``reference``: of the CPU, which computes in float32; None
    to only submit. ``seconds``: no function is started after this time.
    """
    has_halves = queue.sycl_device.has_aspect_fp16
    dtypes = ("float32", "float16") if has_halves else ("float32",)
    rows, end = [], time.monotonic() + seconds
    for dtype, name in itertools.product(dtypes, SAMPLE):
        if time.monotonic() > end:
            break
        rows.append(one(name, dtype, queue, reference))
    return rows
