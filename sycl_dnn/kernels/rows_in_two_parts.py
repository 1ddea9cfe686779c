# SPDX-License-Identifier: Apache-2.0
"""16-bit quantization of rows as two int8 parts, and the recombination of their products.

A row is ``scale * (high + low / 254)``, where ``low`` is the rounding error of ``high``. Both parts
are rows of one integer product, so the other matrix is read once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sycl_dnn.kernels.choice import DTYPES
from sycl_dnn.kernels.index_range import MAX_SPAN
from sycl_dnn.kernels.launching import Kernels, dense, shares
from sycl_dnn.trace.steps import Out
from sycl_dnn.trace.values import Tensor

#: Steps of the low part per step of the high part.
STEPS = 254

_SPLIT = """
/* NaN where a number is NaN or infinite: the row is then NaN, as products of floats are. */
float max_of(__global const element *p, int k) {
    const int whole = k / V * V;
    vector most = 0, strange = 0;
    for (int i = 0; i < whole; i += V) {
        const vector v = LOAD(i, p);
        most = fmax(most, fabs(v));
        strange += v - v;
    }
    float found = 0, other = 0;
    for (int i = whole; i < k; ++i) {
        const float v = LOAD1(p, i);
        found = fmax(found, fabs(v));
        other += v - v;
    }
    float all[V];
    JOIN(vstore, V)(most, 0, all);
    for (int i = 0; i < V; ++i) found = fmax(found, all[i]);
    return found + other + sum(strange);
}

ONE_ITEM
__kernel void rows_split(__global const element *x, __global char *parts, __global float *scale,
                         int m, int k, int each) {
    const int first = ((int)get_group_id(0) * L + ITEM) * each;
    const int whole = k / V * V;
    for (int row = first; row < min(first + each, m); ++row) {
        __global const element *p = x + (size_t)row * k;
        __global char *high = parts + (size_t)row * k, *low = high + (size_t)m * k;
        const float size = max_of(p, k) / 127.0f, by = size > 0 ? 1.0f / size : 0.0f;
        scale[row] = size;
        for (int i = 0; i < whole; i += V) {
            const vector v = LOAD(i, p) * by, h = rint(v);
            JOIN(vstore, V)(JOIN(JOIN(convert_char, V), _sat)(h), 0, high + i);
            JOIN(vstore, V)(JOIN(JOIN(convert_char, V), _sat)(rint((v - h) * 254.0f)), 0, low + i);
        }
        for (int i = whole; i < k; ++i) {
            const float v = LOAD1(p, i) * by, h = rint(v);
            high[i] = convert_char_sat(h);
            low[i] = convert_char_sat(rint((v - h) * 254.0f));
        }
    }
}
"""

_SUM = """
ONE_ITEM
__kernel void parts_added(__global const float *products, __global const float *scale,
                          __global const float *bias, __global float *y, int m, int n, int each) {
    const int first = (int)get_group_id(0) * each, last = min(first + each, m * n);
    for (int i = first + ITEM; i < last; i += L) {
        const int row = i / n;
        y[i] = (products[i] + products[i + (size_t)m * n] * (1.0f / 254.0f)) * scale[row]
             + ADDED;
    }
}
"""


def split_rows(x: Tensor, composed: Callable[[], Any]) -> Any:
    """Return int8 parts (2 * m, k) and scales (m,), by ``composed`` if there is no kernel.

    Parameters
    ----------
    x : Tensor (m, k)
    composed : callable
    """
    m, k = x.shape
    if x.dtype not in DTYPES or x.trace.policy.kernels == "never" or not 0 < x.size < MAX_SPAN // 2:
        return composed()
    kernels = Kernels(x.trace, _SPLIT, x.dtype, 16)
    if not kernels.can_run("rows_split"):
        return composed()
    share, n_groups = shares(x, m) if kernels.n_items == 1 else (1, -(-m // kernels.n_items))
    out = {"parts": Out((2 * m, k), "int8"), "scale": Out((m,), "float32")}
    results = kernels.record("rows_split", {"x": dense(x)}, out, [m, k, share], n_groups)
    return results["parts"], results["scale"]


def added_parts(
    products: Tensor, scale: Tensor, bias: Tensor | None, composed: Callable[[], Tensor]
) -> Tensor:
    """Return ``scale * (high + low / 254) + bias`` (m, n), by ``composed`` if there is no kernel.

    Parameters
    ----------
    products : Tensor (2 * m, n)
        float32; products of the high parts, then of the low parts.
    scale : Tensor (m,)
    bias : Tensor (n,), optional
        float32.
    composed : callable
    """
    m, n = products.shape[0] // 2, products.shape[1]
    is_float = products.dtype == "float32" and (bias is None or bias.dtype == "float32")
    mode = products.trace.policy.kernels
    if not is_float or mode == "never" or not 0 < products.size < MAX_SPAN:
        return composed()
    added = "0.0f" if bias is None else "bias[i % n]"
    kernels = Kernels(products.trace, _SUM, "float32", 16, [f"ADDED {added}"])
    if not kernels.can_run("parts_added"):
        return composed()
    share, n_groups = shares(products, m * n)
    inputs = {"products": dense(products), "scale": dense(scale)}
    inputs["bias"] = dense(scale if bias is None else bias)
    out = {"dst": Out((m, n), "float32")}
    return kernels.record("parts_added", inputs, out, [m, n, share], n_groups)["dst"]
