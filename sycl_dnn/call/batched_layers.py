# SPDX-License-Identifier: Apache-2.0
"""Rules for batches: products, convolutions, windows, norms, attention and losses."""

from __future__ import annotations

import math
import string
from typing import Any

from sycl_dnn.call.batched_call import Call, NoRule, Rule, aligned
from sycl_dnn.trace import functions as F
from sycl_dnn.trace.values import Tensor

# --- Products


def matmul(call: Call) -> Any:
    """Multiply matrices or vectors."""
    first, second = call.names[:2]
    return _product(call.batching, call[first], call[second])


def _product(batching: Any, a: Any, b: Any) -> Any:
    """Return ``matmul`` of each sample: vectors as matrices of one row or column."""
    rank = max(a.ndim, b.ndim, 2)
    if not a.ndim or not b.ndim:
        raise NoRule
    left, right = (batching.whole_of(v) if batching.is_batched(v) else v for v in (a, b))
    if a.ndim == 1:
        left = F.unsqueeze(left, -2)
    if b.ndim == 1:
        right = F.unsqueeze(right, -1)
    if batching.is_batched(a):
        left = aligned(left, rank)
    if batching.is_batched(b):
        right = aligned(right, rank)
    result = F.matmul(left, right)
    removed = [axis for axis, v in ((-2, a), (-1, b)) if v.ndim == 1]
    return F.squeeze(result, tuple(result.ndim + axis for axis in removed)) if removed else result


def linear(call: Call) -> Any:
    """Multiply by the weights of all samples, or of each."""
    x, weight, bias = (call[n] for n in ("input", "weight", "bias"))
    if not call.is_batched("weight") and not (bias is not None and call.is_batched("bias")):
        return call.of(input=x.whole)
    turned = weight if weight.ndim == 1 else F.transpose(weight, -1, -2)
    products = F.matmul(x, turned)
    return call.batching.whole_of(products if bias is None else F.add(products, bias))


def scaled_product(call: Call) -> Any:
    """Compute ``beta * input + alpha * (a @ b)``."""
    if not call["beta"]:  # the input's is not read
        raise NoRule
    _, first, second = call.names[:3]
    scaled = F.mul(F.matmul(call[first], call[second]), call["alpha"])
    return call.batching.whole_of(F.add(F.mul(call["input"], call["beta"]), scaled))


def einsum(call: Call) -> Any:
    """Add a letter for the batch to the equation."""
    equation, *operands = call["args"]
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = list(operands[0])
    if not isinstance(equation, str) or "..." in equation:
        raise NoRule
    terms, arrow, result = equation.replace(" ", "").partition("->")
    if not arrow:
        result = "".join(sorted(c for c in set(terms) - {","} if terms.count(c) == 1))
    letter = next(c for c in string.ascii_letters if c not in terms)
    is_batched = [call.batching.is_batched(v) for v in operands]
    inputs = [letter * own + t for own, t in zip(is_batched, terms.split(","), strict=True)]
    return F.einsum(
        f"{','.join(inputs)}->{letter}{result}",
        *[v.whole if own else v for v, own in zip(operands, is_batched, strict=True)],
    )


def outer(call: Call) -> Any:
    """Return outer products."""
    a, b = (call.whole(n) for n in call.names[:2])
    return F.mul(F.unsqueeze(a, 2), F.unsqueeze(b, 1))


# --- Images: the batch joins the axis of samples that the function has


def images(*names: str, spatial: int | None = None) -> Rule:
    """Return the rule of functions over (N, C, *S), or (C, *S) with ``spatial`` axes S."""

    def rule(call: Call) -> Any:
        call.only(*names)
        wholes = {n: call.whole(n) for n in names if isinstance(call[n], Tensor)}
        ranks = {v.ndim - 1 for v in wholes.values()}
        if len(ranks) != 1:
            raise NoRule
        rank = ranks.pop()
        if spatial is not None and rank == spatial + 1:
            return call.of(**wholes)
        if rank < 2 or (spatial is not None and rank != spatial + 2):
            raise NoRule
        merged = {n: _merged(v) for n, v in wholes.items()}
        return _apart(call.of(**merged), call.batching.size)

    return rule


def _merged(whole: Any) -> Any:
    """Join the batch with the first axis of samples."""
    return F.reshape(whole, (whole.shape[0] * whole.shape[1], *whole.shape[2:]))


def _apart(result: Any, size: int) -> Any:
    if isinstance(result, tuple):
        parts = [_apart(v, size) for v in result]
        return type(result)(*parts) if hasattr(result, "_fields") else tuple(parts)
    return F.reshape(result, (size, result.shape[0] // size if size else 0, *result.shape[1:]))


def convolution(spatial: int) -> Rule:
    """Return the rule of convolutions: weights of each sample are groups."""

    def rule(call: Call) -> Any:
        x, bias = call["input"], call["bias"]
        if not call.is_batched("weight") and not (bias is not None and call.is_batched("bias")):
            return images("input", spatial=spatial)(call)
        size, whole = call.batching.size, call.whole("input")
        if x.ndim != spatial + 2 or isinstance(call["padding"], str) or not size:
            raise NoRule
        n, channels = whole.shape[1:3]
        grouped = F.reshape(F.transpose(whole, 0, 1), (n, size * channels, *whole.shape[3:]))
        weight = call.whole("weight")
        changes: dict[str, Any] = {"weight": _merged(weight)}
        if bias is not None:
            changes["bias"] = _merged(call.whole("bias"))
        result = call.of(input=grouped, groups=call["groups"] * size, **changes)
        parts = F.reshape(result, (n, size, result.shape[1] // size, *result.shape[2:]))
        return F.transpose(parts, 0, 1)

    return rule


def normalized_rows(call: Call) -> Any:
    """Normalize the last axes; weights of samples are applied afterward."""
    affine = [n for n in ("weight", "bias") if n in call.values and call[n] is not None]
    if not any(call.is_batched(n) for n in affine):
        return call.of(input=call.whole("input"))
    plain = call.of(input=call.whole("input"), **dict.fromkeys(affine))
    rank = plain.ndim - 1
    for name in affine:
        value = aligned(call.whole(name), rank)
        plain = F.mul(plain, value) if name == "weight" else F.add(plain, value)
    return plain


def embedding(call: Call) -> Any:
    """Look up rows of a table that all samples share."""
    call.only("input")
    if call["max_norm"] is not None:
        raise NoRule
    return call.of(input=call["input"].whole)


def attention(call: Call) -> Any:
    """Attend without masks; samples of several sequences join their axis."""
    if call["attn_mask"] is not None or call["dropout_p"] or call["enable_gqa"]:
        raise NoRule
    wholes = {n: call.whole(n) for n in ("query", "key", "value")}
    ranks = {v.ndim for v in wholes.values()}
    if ranks == {4}:  # heads
        return call.of(**wholes)
    if ranks != {5}:
        raise NoRule
    merged = {n: _merged(v) for n, v in wholes.items()}
    return _apart(call.of(**merged), call.batching.size)


def pad(call: Call) -> Any:
    """Add constants, or elements of each image."""
    call.only("input")
    x, n_axes = call["input"], len(call["pad"]) // 2
    if call["mode"] == "constant" and n_axes <= x.ndim:
        return call.of(input=x.whole)
    return images("input", spatial=n_axes)(call)


def group_norm(call: Call) -> Any:
    """Normalize groups of channels; an image with one element per group is refused on its own."""
    if call.whole("input").size == call.batching.size * call["num_groups"]:
        raise NoRule
    return images("input")(call)


def instance_norm(call: Call) -> Any:
    """Normalize each image alone."""
    _refuse_shared_statistics(call, call["use_input_stats"])
    if call["running_mean"] is not None or call["running_var"] is not None:
        raise NoRule
    return images("input")(call)


def batch_norm(call: Call) -> Any:
    """Scale and shift by the same statistics; those of samples are computed for each."""
    _refuse_shared_statistics(call, call["training"])
    if call["training"]:
        raise NoRule
    return images("input")(call)


def _refuse_shared_statistics(call: Call, is_updated: bool) -> None:
    names = ("running_mean", "running_var")
    if is_updated and any(call[n] is not None and not call.is_batched(n) for n in names):
        raise TypeError(
            f"{call.name}: running statistics must not be updated by samples of vmap that share "
            "them; use eval(), or a layer without track_running_stats"
        )


# --- Random masks


def channel_dropout(call: Call) -> Any:
    """Draw a mask for each channel of each sample."""
    call.only("input")
    n_axes, x = call["n_axes"], call["input"]
    # A sample of three axes is (N, C, W) to ``dropout2d``.
    if x.ndim == n_axes + 1 and n_axes != 2:
        return call.of(input=x.whole)
    return images("input")(call)


def alpha_dropout(call: Call) -> Any:
    """Draw a mask for each element, or for each channel, of each sample."""
    call.only("input")
    return images("input")(call) if call["of_features"] else call.of(input=call["input"].whole)


# --- Losses


def loss(call: Call) -> Any:
    """Compute an element-wise loss without reduction, then reduce each sample."""
    if call["reduction"] not in ("mean", "sum", "none") or any(
        call.values.get(n) is not None for n in ("size_average", "reduce", "weight", "pos_weight")
    ):
        raise NoRule
    arrays = [n for n, v in call.values.items() if isinstance(v, Tensor)]
    rank = max(call[n].ndim for n in arrays)
    losses = call.of(reduction="none", **{n: aligned(call.whole(n), rank) for n in arrays})
    if call["reduction"] == "none":
        return losses
    flat = F.reshape(losses, (losses.shape[0], math.prod(losses.shape[1:])))
    return F.mean(flat, 1) if call["reduction"] == "mean" else F.sum(flat, 1)


def cross_entropy(call: Call) -> Any:
    """Compute the loss of each row, then reduce those of a sample that are not ignored."""
    target = call["target"]
    if any(call.values.get(n) is not None for n in ("weight", "size_average", "reduce")) or (
        str(target.dtype).startswith(("float", "bfloat"))
    ):
        raise NoRule
    x, t = call.whole("input"), call.whole("target")
    if x.ndim == 2 and t.ndim == 1:  # one row a sample
        losses = call.of(input=x, target=t, reduction="none")
        rows, counted = F.unsqueeze(losses, 1), F.unsqueeze(t, 1)
    elif x.ndim == 3 and t.ndim == 2:
        inputs, targets = _merged(x), _merged(t)
        flat = call.of(input=inputs, target=targets, reduction="none")
        losses = rows = F.reshape(flat, t.shape)
        counted = t
    else:
        raise NoRule
    if call["reduction"] == "none":
        return losses
    total = F.sum(rows, 1)
    if call["reduction"] == "sum":
        return total
    is_counted = F.astype(F.ne(counted, call["ignore_index"]), str(rows.dtype))
    return F.div(total, F.sum(is_counted, 1))
