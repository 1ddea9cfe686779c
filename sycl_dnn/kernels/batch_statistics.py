# SPDX-License-Identifier: Apache-2.0
"""Batch normalization kernels with batch statistics, forward and gradient."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from sycl_dnn.kernels import normalized_columns, normalized_rows
from sycl_dnn.kernels.choice import chosen
from sycl_dnn.kernels.launching import Kernels, Tensors, defined, dense, in_layout, units
from sycl_dnn.trace.steps import Composed, Entry, Out
from sycl_dnn.trace.values import Tensor

#: Parts of the rows per processor, for load balancing.
_PARTS = 4
_STATISTICS = ("mean", "rest", "variance")


def normalized(
    x: Tensor, vectors: Tensors, eps: float, composed: Callable[[Tensors], Tensors]
) -> Tensors | None:
    """Normalize (N, C, *S); return ``dst``, ``mean`` and ``variance``; None to use oneDNN.

    Parameters
    ----------
    vectors : dict
        ``scale`` and ``shift`` (C,) of float32, if any.
    composed : callable
        Fallback, called with ``src`` and the vectors as in ``Trace.primitive``.
    """
    wanted = chosen("batch_norm_training", x)
    if wanted is None:
        return None
    vectors = {n: dense(t) for n, t in vectors.items()}
    forward, backward = _WAYS[wanted]
    made = forward(x, vectors, eps)
    if made is None:
        return None
    given = {"src": x, **vectors}
    entry = Entry(
        "batch_norm", given, {"dst": made["dst"]}, rule=partial(_rule, backward, made, eps)
    )
    entry.composed = Composed(composed, entry)
    x.trace.tape.append(entry)
    return made


def _rule(backward: Callable[..., Tensors], made: Tensors, eps: float, entry: Entry,
          grads: Tensors) -> Tensors:  # fmt: skip
    x = entry.inputs["src"]
    dy = grads["dst"]
    dy = in_layout(dy, x.desc)
    found = backward(x, dy, {n: made[n] for n in _STATISTICS}, entry.inputs.get("scale"), eps)
    return {n: found[f"diff_{n}"] for n in entry.inputs}


def _outs(x: Tensor, name: str, vectors: tuple[str, ...]) -> dict[str, Out]:
    return {name: Out(x.shape, x.dtype, x), **{n: Out((x.shape[1],), "float32") for n in vectors}}


# --- Row-major: a channel is one contiguous block per image


def _row_numbers(x: Tensor, eps: float) -> list[int | float]:
    n, channels = x.shape[:2]
    count = x.size // (n * channels)
    return [n, count, channels * count, count, channels, 1, 0, float(eps)]


def _forward_rows(x: Tensor, vectors: Tensors, eps: float) -> Tensors | None:
    kernels = Kernels(x.trace, normalized_rows.SOURCE, x.dtype, 16, defined(vectors))
    if not kernels.can_run("rows_forward"):
        return None
    outs = _outs(x, "dst", _STATISTICS)
    numbers = _row_numbers(x, eps)
    return kernels.record("rows_forward", {"src": x, **vectors}, outs, numbers, x.shape[1])


def _backward_rows(
    x: Tensor, dy: Tensor, known: Tensors, scale: Tensor | None, eps: float
) -> Tensors:
    given = {} if scale is None else {"scale": scale}
    kernels = Kernels(x.trace, normalized_rows.SOURCE, x.dtype, 16, defined(given))
    outs = _outs(x, "diff_src", ("diff_scale", "diff_shift"))
    inputs = {"src": x, "diff_dst": dy, **known, **given}
    return kernels.record("rows_backward", inputs, outs, _row_numbers(x, eps), x.shape[1])


# --- Channels-last: two kernels, of which the first runs over parts of the rows


def _column_numbers(x: Tensor) -> tuple[int, int, int, int]:
    """Return rows, channels, rows per part, parts."""
    rows = x.size // x.shape[1]
    each = -(-rows // (units(x) * _PARTS))
    return rows, x.shape[1], each, -(-rows // each)


def _columns(x: Tensor, vectors: Tensors) -> Kernels:
    vector = 16 if x.shape[1] % 16 == 0 else 8
    return Kernels(x.trace, normalized_columns.SOURCE, x.dtype, vector, defined(vectors))


def _forward_columns(x: Tensor, vectors: Tensors, eps: float) -> Tensors | None:
    kernels = _columns(x, vectors)
    if not kernels.can_run("columns_forward"):
        return None
    rows, channels, each, n_parts = _column_numbers(x)
    wanted = {"parts": Out((n_parts, 2, channels), "float32")}
    parts = kernels.record(
        "columns_statistics", {"src": x}, wanted, [rows, channels, each], n_parts
    )
    outs = _outs(x, "dst", _STATISTICS)
    outs["factors"] = Out((n_parts, 2, channels), "float32")
    return kernels.record(
        "columns_forward", {"src": x, **parts, **vectors}, outs,
        [rows, channels, each, n_parts, float(eps)], n_parts,
    )  # fmt: skip


def _backward_columns(
    x: Tensor, dy: Tensor, known: Tensors, scale: Tensor | None, eps: float
) -> Tensors:
    given = {} if scale is None else {"scale": scale}
    kernels = _columns(x, given)
    rows, channels, each, n_parts = _column_numbers(x)
    place = {"mean": known["mean"], "rest": known["rest"]}
    inputs = {"src": x, "diff_dst": dy}
    parts = kernels.record(
        "columns_sums", {**inputs, **place}, {"parts": Out((n_parts, 2, channels), "float32")},
        [rows, channels, each], n_parts,
    )  # fmt: skip
    outs = _outs(x, "diff_src", ("diff_scale", "diff_shift"))
    outs["factors"] = Out((n_parts, 3, channels), "float32")
    return kernels.record(
        "columns_backward", {**inputs, **known, **parts, **given}, outs,
        [rows, channels, each, n_parts, float(eps)], n_parts,
    )  # fmt: skip


_WAYS = {
    "row_major": (_forward_rows, _backward_rows),
    "channels_last": (_forward_columns, _backward_columns),
}
