# SPDX-License-Identifier: Apache-2.0
"""Reductions, sorting and losses as ONNX's operators."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sycl_dnn.onnx.exported_arithmetic import operand
from sycl_dnn.onnx.written_graph import (
    Ints,
    Recording,
    Row,
    Rows,
    Value,
    type_number,
    unsupported,
)

ROWS = Rows()
row = ROWS.row


def axes_of(x: Value, dim: Any) -> tuple[int, ...]:
    """Return the axes that ``dim`` names, all for None."""
    dims = range(x.ndim) if dim is None else dim if isinstance(dim, (tuple, list)) else (dim,)
    return tuple(d % max(x.ndim, 1) for d in dims) or tuple(range(x.ndim))


def reduced(g: Recording, op: str, x: Any, axes: Any, keepdim: bool = False) -> Any:
    """Write a reduction over axes."""
    return g.node(op, x, Ints(axes), keepdims=int(keepdim))


def _reduction(op: str) -> Row:
    def write(g: Recording, a: Any, outputs: list[Value]) -> Any:
        x = g.cast(a.input, outputs[0].dtype)
        return reduced(g, op, x, axes_of(a.input, a.dim), a.keepdim)

    return write


ROWS |= {name: _reduction(op) for name, op in {
    "sum": "ReduceSum", "mean": "ReduceMean", "prod": "ReduceProd", "amax": "ReduceMax",
    "amin": "ReduceMin", "logsumexp": "ReduceLogSumExp",
}.items()}  # fmt: skip


def _logical(op: str) -> Row:
    def write(g: Recording, a: Any, outputs: list[Value]) -> Any:
        integers = g.node("Cast", g.cast(a.input, "bool"), to=6)
        result = reduced(g, op, integers, axes_of(a.input, a.dim), a.keepdim)
        result = g.node("Cast", result, to=9)
        dtype = outputs[0].dtype
        return result if dtype == "bool" else g.node("Cast", result, to=type_number(dtype))

    return write


ROWS |= {"all": _logical("ReduceMin"), "any": _logical("ReduceSum")}


def _arg(op: str) -> Row:
    def write(g: Recording, a: Any, outputs: list[Value]) -> Any:
        if a.dim is not None:
            return g.node(op, a.input, axis=a.dim, keepdims=int(a.keepdim))
        flat = g.node("Reshape", a.input, Ints((-1,)))
        index = g.node(op, flat, axis=0, keepdims=0)
        return g.node("Reshape", index, Ints((1,) * a.input.ndim)) if a.keepdim else index

    return write


ROWS |= {"argmax": _arg("ArgMax"), "argmin": _arg("ArgMin")}


def _extreme(reduction: str, arg: str) -> Row:
    def write(g: Recording, a: Any, outputs: list[Value]) -> Any:
        values = reduced(g, reduction, a.input, axes_of(a.input, a.dim), a.keepdim)
        if len(outputs) == 1:
            return values
        return values, g.node(arg, a.input, axis=a.dim, keepdims=int(a.keepdim))

    return write


ROWS |= {"max": _extreme("ReduceMax", "ArgMax"), "min": _extreme("ReduceMin", "ArgMin")}


def _spread(names: tuple[str, ...]) -> Row:
    def write(g: Recording, a: Any, outputs: list[Value]) -> Any:
        x, axes, dtype = a.input, axes_of(a.input, a.dim), outputs[0].dtype
        mean = reduced(g, "ReduceMean", x, axes, True)
        deviation = g.node("Sub", x, mean)
        spread = reduced(g, "ReduceMean", g.node("Mul", deviation, deviation), axes, a.keepdim)
        n = math.prod(x.shape[i] for i in axes)
        if a.correction:
            rest = n - a.correction
            spread = g.node("Mul", spread, g.number(n / rest if rest > 0 else math.nan, dtype))
        spread = g.node("Sqrt", spread) if names[0] == "std" else spread
        if len(names) == 1:
            return spread
        return spread, mean if a.keepdim else g.node("Squeeze", mean, Ints(axes))

    return write


ROWS |= {"_".join(n): _spread(n) for n in (("var",), ("std",), ("var", "mean"), ("std", "mean"))}


def _norm(g: Recording, name: str, x: Value, p: Any, axes: Any, keepdim: bool) -> Any:
    if p in ("fro", 2):
        return reduced(g, "ReduceL2", x, axes, keepdim)
    if p == 1:
        return reduced(g, "ReduceL1", x, axes, keepdim)
    if p in (math.inf, -math.inf):
        op = "ReduceMax" if p > 0 else "ReduceMin"
        return reduced(g, op, g.node("Abs", x), axes, keepdim)
    raise unsupported(name, f"p must be 1, 2 or infinite, got {p}")


ROWS |= {
    "norm": lambda g, a, out: _norm(g, "norm", a.input, a.p, axes_of(a.input, a.dim), a.keepdim),
    "cumsum": lambda g, a, out: g.node("CumSum", g.cast(a.input, out[0].dtype),
                                       np.asarray(a.dim, np.int64)),
    "topk": lambda g, a, out: g.node("TopK", a.input, Ints((a.k,)), outputs=2, axis=a.dim,
                                     largest=int(a.largest), sorted=int(a.sorted)),
}  # fmt: skip


@row("normalize")
def _normalize(g: Recording, a: Any, outputs: list[Value]) -> Any:
    length = _norm(g, "normalize", a.input, a.p, axes_of(a.input, a.dim), True)
    least = g.node("Max", length, g.number(a.eps, outputs[0].dtype))
    return g.node("Div", a.input, least)


@row("cosine_similarity")
def _cosine_similarity(g: Recording, a: Any, outputs: list[Value]) -> Any:
    axes, eps = (a.dim,), g.number(a.eps, outputs[0].dtype)
    product = reduced(g, "ReduceSum", g.node("Mul", a.x1, a.x2), axes)
    lengths = [g.node("Max", reduced(g, "ReduceL2", x, axes), eps) for x in (a.x1, a.x2)]
    return g.node("Div", product, g.node("Mul", *lengths))


@row("sort")
def _sort(g: Recording, a: Any, outputs: list[Value]) -> Any:
    n = Ints((a.input.shape[a.dim],))
    return g.node("TopK", a.input, n, outputs=2, axis=a.dim, largest=int(a.descending))


ROWS["argsort"] = lambda g, a, out: _sort(g, a, out)[1]


# --- Softmax and losses


def _softmax(op: str, is_negative: bool = False) -> Row:
    def write(g: Recording, a: Any, outputs: list[Value]) -> Any:
        x = g.cast(a.input, outputs[0].dtype)
        x = g.node("Neg", x) if is_negative else x
        dim = (0 if a.input.ndim in (0, 1, 3) else 1) if a.dim is None else a.dim
        return g.node(op, x, axis=dim)

    return write


ROWS |= {"softmax": _softmax("Softmax"), "log_softmax": _softmax("LogSoftmax"),
         "softmin": _softmax("Softmax", True)}  # fmt: skip


def _mean_of(g: Recording, a: Any, losses: Any, like: Value) -> Any:
    """Reduce a loss as its ``reduction`` says."""
    if a.reduction == "none":
        return losses
    op = "ReduceMean" if a.reduction == "mean" else "ReduceSum"
    return g.node(op, losses, keepdims=0)


def _regression(name: str) -> Row:
    def write(g: Recording, a: Any, outputs: list[Value]) -> Any:
        if a.weight is not None or a.size_average is not None or a.reduce is not None:
            raise unsupported(name, "weight, size_average and reduce must be None")
        off = g.node("Sub", a.input, a.target)
        loss = g.node("Mul", off, off) if name == "mse_loss" else g.node("Abs", off)
        return _mean_of(g, a, loss, a.input)

    return write


ROWS |= {name: _regression(name) for name in ("mse_loss", "l1_loss")}


def _classes(name: str, op: str) -> Row:
    def write(g: Recording, a: Any, outputs: list[Value]) -> Any:
        if getattr(a, "label_smoothing", 0) or a.input.ndim < 2 or a.target.ndim == a.input.ndim:
            raise unsupported(name, "it must have a batch, classes and no label_smoothing")
        if a.size_average is not None or a.reduce is not None:
            raise unsupported(name, "size_average and reduce must be None")
        weight = None if a.weight is None else operand(g, a.weight, a.input.dtype)
        return g.node(op, a.input, a.target, weight, ignore_index=a.ignore_index,
                      reduction=a.reduction)  # fmt: skip

    return write


ROWS |= {
    "cross_entropy": _classes("cross_entropy", "SoftmaxCrossEntropyLoss"),
    "nll_loss": _classes("nll_loss", "NegativeLogLikelihoodLoss"),
}
