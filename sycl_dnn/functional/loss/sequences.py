# SPDX-License-Identifier: Apache-2.0
"""``ctc_loss``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import dpnp

from sycl_dnn._dpnp import in_dtype
from sycl_dnn.call.operation import operation
from sycl_dnn.functional.arithmetic.binary import div
from sycl_dnn.functional.arithmetic.comparison import clamp, where
from sycl_dnn.functional.arithmetic.convert import converted
from sycl_dnn.functional.arithmetic.elementwise import check_float
from sycl_dnn.functional.arithmetic.mathematical import isinf
from sycl_dnn.functional.loss.loss_reduction import checked_reduction
from sycl_dnn.functional.reduction.sums import mean
from sycl_dnn.functional.reduction.sums import sum as summed
from sycl_dnn.functional.shape.reshaping import checked_int
from sycl_dnn.kernels.alignments import Alignments, can_align
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace.refusals import no_gradient
from sycl_dnn.trace.steps import Entry, Out
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import reshape, untaped

_INTEGERS = ("int32", "int64")


def _only(chosen: dpnp.ndarray, a: dpnp.ndarray) -> dpnp.ndarray:
    """Return the selected logarithms, and -inf elsewhere."""
    return dpnp.where(chosen, a, dpnp.full_like(a, -math.inf))


def _shifted_mask(skips: dpnp.ndarray) -> dpnp.ndarray:
    """Map the states that end a skip over a blank to the states that begin one."""
    result = dpnp.zeros_like(skips)
    result[:, :-2] = skips[:, 2:]
    return result


class _Alignments:
    """Log-domain sums over all alignments of targets with a sequence.

    The 2 S + 1 states are a blank, the first label, a blank, ..., the last label, a blank.
    """

    def __init__(self, n_states: int, blank: int, is_flat: bool) -> None:
        self.n_states = n_states
        self.blank = blank
        self._is_flat = is_flat

    def _labels(self, targets: dpnp.ndarray, lengths: dpnp.ndarray) -> dpnp.ndarray:
        """Return the label of each state, (N, states)."""
        size = self.n_states // 2
        place = {"dtype": "int64", "sycl_queue": targets.sycl_queue}
        if self._is_flat:
            starts = dpnp.cumsum(lengths) - lengths
            numbers = starts[:, None] + dpnp.arange(size, **place)[None]
            last = max(targets.size - 1, 0)
            targets = dpnp.take(targets, dpnp.clip(numbers, 0, last)) if size else numbers
        result = dpnp.full((len(lengths), self.n_states), self.blank, **place)
        result[:, 1::2] = targets[:, :size]
        return result

    def _prepared(self, scores: Any, targets: Any, lengths: Any) -> tuple[Any, Any, Any]:
        """Return labels, their scores (T, N, states), and which blanks may be skipped."""
        labels = self._labels(targets, lengths.astype("int64"))
        known = dpnp.clip(labels, 0, scores.shape[2] - 1)
        index = dpnp.broadcast_to(known[None], (scores.shape[0], *labels.shape))
        found = dpnp.take_along_axis(scores, index, axis=2)
        # Invalid classes give NaN; entries beyond the end of a target are not read.
        state = dpnp.arange(self.n_states, dtype="int64", sycl_queue=labels.sycl_queue)
        wrong = (known != labels) & (state <= 2 * lengths.astype("int64")[:, None])
        found = in_dtype(dpnp.where(wrong[None], math.nan, found), scores.dtype)
        skips = dpnp.zeros(labels.shape, dtype="bool", sycl_queue=labels.sycl_queue)
        if self.n_states > 2:
            differs = (labels[:, 2:] != labels[:, :-2]) & (labels[:, 2:] != self.blank)
            skips[:, 2:] = differs
        return labels, found, skips

    def _is_end(self, lengths: dpnp.ndarray) -> dpnp.ndarray:
        """Mark the last two states of each target."""
        state = dpnp.arange(self.n_states, dtype="int64", sycl_queue=lengths.sycl_queue)[None]
        last = 2 * lengths.astype("int64")[:, None]
        return (state == last) | (state == last - 1)

    def _misfits(self, alphas: Any, targets: Any, n_steps: Any, lengths: Any) -> dpnp.ndarray:
        """Mark sequences with impossible lengths."""
        ends = dpnp.cumsum(lengths.astype("int64"))
        wrong = (n_steps < 0) | (n_steps > alphas.shape[0]) | (lengths < 0)
        wrong = wrong | (lengths > self.n_states // 2)
        return wrong | (ends > targets.size) if self._is_flat else wrong

    def forward(self, scores: Any, targets: Any, n_steps: Any, lengths: Any) -> tuple[Any, Any]:
        """Return the losses (N,), and the sums up to each step and state (T, N, 2 + states).

        The first two states do not exist.
        """
        _, found, skips = self._prepared(scores, targets, lengths)
        sums = _nothing(found, (*found.shape[:2], 2 + self.n_states))
        sums[0, :, 2:4] = found[0, :, :2]
        none = _nothing(found, found.shape[1:])
        for t in range(1, len(found)):
            a = sums[t - 1]
            reached = dpnp.logaddexp(a[:, 2:], a[:, 1:-1])
            skipped = dpnp.where(skips, a[:, :-2], none)
            dpnp.add(dpnp.logaddexp(reached, skipped), found[t], out=sums[t, :, 2:])
        return self.total(sums[:, :, 2:], targets, n_steps, lengths), sums

    def total(self, alphas: dpnp.ndarray, targets: Any, n_steps: Any, lengths: Any) -> Any:
        """Return the losses (N,), given the sums up to each step and state."""
        last = dpnp.clip(n_steps.astype("int64") - 1, 0, alphas.shape[0] - 1)[None, :, None]
        last = dpnp.broadcast_to(last, (1, *alphas.shape[1:]))
        is_end = self._is_end(lengths)
        final = _only(is_end, dpnp.take_along_axis(alphas, last, axis=0)[0])
        empty = _only(is_end & (lengths == 0)[:, None], dpnp.zeros_like(final))
        result = -_log_sums(dpnp.where((n_steps == 0)[:, None], empty, final))
        wrong = self._misfits(alphas, targets, n_steps, lengths)
        return in_dtype(dpnp.where(wrong, math.nan, result), alphas.dtype)

    def slope(self, given: list[dpnp.ndarray], losses: Any, sums: Any) -> dpnp.ndarray:
        """Return the gradient (T, N, C); as in torch, it assumes a preceding softmax."""
        scores, targets, n_steps, lengths = given
        labels, found, skips = self._prepared(scores, targets, lengths)
        occupied = dpnp.exp(sums[:, :, 2:] + self._backward(found, skips, n_steps, lengths)
                            + losses[:, None])  # fmt: skip
        classes = dpnp.arange(scores.shape[2], dtype="int64", sycl_queue=labels.sycl_queue)
        one_hot = in_dtype(labels[:, :, None] == classes, scores.dtype)
        share = dpnp.matmul(occupied.transpose(1, 0, 2), one_hot).transpose(1, 0, 2)
        time = dpnp.arange(len(found), dtype="int64", sycl_queue=labels.sycl_queue)[:, None]
        inside = (time < n_steps.astype("int64")[None])[:, :, None]
        return in_dtype(dpnp.where(inside, dpnp.exp(scores) - share, 0.0), scores.dtype)

    def _backward(self, found: Any, skips: Any, n_steps: Any, lengths: Any) -> dpnp.ndarray:
        """Return the sums over all ends of alignments after each step and state (T, N, states)."""
        none, n = _nothing(found, found.shape[1:]), self.n_states
        ends = _only(self._is_end(lengths), dpnp.zeros_like(none))
        time = dpnp.arange(1, len(found) + 1, dtype=n_steps.dtype, sycl_queue=found.sycl_queue)
        is_last, onward = time[:, None, None] == n_steps[:, None], _shifted_mask(skips)
        sums = _nothing(found, found.shape)
        later = _nothing(found, (found.shape[1], n + 2))
        for t in reversed(range(len(found))):
            reached = dpnp.logaddexp(later[:, :n], later[:, 1:-1])
            moved = dpnp.logaddexp(reached, dpnp.where(onward, later[:, 2:], none))
            sums[t] = dpnp.where(is_last[t], ends, moved)
            dpnp.add(sums[t], found[t], out=later[:, :n])
        return sums


def _nothing(like: dpnp.ndarray, shape: tuple[int, ...]) -> dpnp.ndarray:
    """Return logarithms of 0."""
    return dpnp.full(shape, -math.inf, dtype=like.dtype, sycl_queue=like.sycl_queue)


def _log_sums(a: dpnp.ndarray) -> dpnp.ndarray:
    """Return log-sum-exp along the last axis, -inf for empty sums."""
    highest = dpnp.max(a, axis=1)
    shift = dpnp.where(dpnp.isfinite(highest), highest, dpnp.zeros_like(highest))
    return dpnp.log(dpnp.sum(dpnp.exp(a - shift[:, None]), axis=1)) + shift


def _losses(
    scores: Tensor, targets: Tensor, n_steps: Tensor, lengths: Tensor,
    form: _Alignments, zero_infinity: bool,
) -> Tensor:  # fmt: skip
    """Record the losses (N,) with their gradient."""
    provided = [scores, targets, n_steps, lengths]
    if not can_align(scores):
        return _by_calls(provided, form, zero_infinity)
    # What exceeds int32 is out of range as well.
    numbers = [converted(clamp(t, -1, 2**31 - 1), "int32") for t in provided[1:]]
    trace = scores.trace
    with untaped(trace):
        way = Alignments([scores, *numbers], form.n_states, form.blank, zero_infinity)
        result = way.forward() if way.can_run() else {}
    if not result:
        return _by_calls(provided, form, zero_infinity)

    def rule(entry: Any, grads: dict[str, Tensor]) -> dict[str, Tensor]:
        with untaped(trace):
            found = way.gradient(result, grads["dst"])
        read = {"src": scores, "dy": grads["dst"]}
        refusal = no_gradient("ctc_loss", "second derivative")
        trace.tape.append(Entry("ctc_gradient", read, {"dst": found}, rule=refusal))
        return {"src": found}

    trace.tape.append(Entry("ctc_loss", {"src": scores}, {"dst": result["losses"]}, rule=rule))
    losses: Any = result["losses"]
    losses = where(isinf(losses), 0.0, losses) if zero_infinity else losses
    assert isinstance(losses, Tensor)
    return losses


def _by_calls(args: list[Tensor], form: _Alignments, zero_infinity: bool) -> Tensor:
    """Record the same as calls of dpnp."""
    scores, trace = args[0], args[0].trace

    def value(*arrays: dpnp.ndarray) -> tuple[dpnp.ndarray, dpnp.ndarray]:
        result, sums = form.forward(*arrays)
        result = (
            dpnp.where(dpnp.isinf(result), dpnp.zeros_like(result), result)
            if zero_infinity
            else result
        )
        return result, sums

    def slope(*arrays: dpnp.ndarray) -> dpnp.ndarray:
        *read, sums, dy = arrays
        losses = form.total(sums[:, :, 2:], *read[1:])
        result = form.slope(read, losses, sums) * dy[None, :, None]
        if zero_infinity:
            lost = dpnp.isinf(losses)[None, :, None]
            result = dpnp.where(lost, dpnp.zeros_like(result), result)
        return result

    def rule(entry: Any, grads: dict[str, Tensor]) -> dict[str, Tensor]:
        out = [Out(scores.shape, scores.dtype)]
        result = trace.array_call(
            slope, [*args, sums, grads["0"]], out, no_gradient("ctc_loss", "second derivative")
        )
        return {"0": result[0]}

    n_steps, n = scores.shape[:2]
    outs = [Out((n,), scores.dtype), Out((n_steps, n, 2 + form.n_states), scores.dtype)]
    result, sums = trace.array_call(value, args, outs, rule)
    return result


def _lengths(argument: str, trace: Any, provided: Any, n: int) -> tuple[Tensor, int | None]:
    """Return lengths as a tensor (N,), and the largest one if the host knows it."""
    if isinstance(provided, Tensor):
        if provided.dtype not in _INTEGERS or provided.size != n:
            raise ValueError(
                f"ctc_loss: {argument} must be {n} numbers of int32 or int64, got "
                f"{provided.dtype} of shape {provided.shape}"
            )
        return reshape(provided, (n,)), None
    numbers = [checked_int("ctc_loss", argument, v, 0) for v in provided]
    if len(numbers) != n:
        raise ValueError(f"ctc_loss: {argument} must be {n} numbers, got {len(numbers)}")

    class Known:
        takes_queue = True

        def __call__(self, queue: Any) -> dpnp.ndarray:
            return dpnp.asarray(numbers, dtype="int64", sycl_queue=queue)

    result = trace.array_call(Known(), [], [Out((n,), "int64")], lambda entry, grads: {})[0]
    return result, max(numbers, default=0)


@operation
def ctc_loss(
    log_probs: Tensor,
    targets: dpnp.ndarray,
    input_lengths: dpnp.ndarray | Sequence[int],
    target_lengths: dpnp.ndarray | Sequence[int],
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Return the connectionist temporal classification loss of unaligned targets.

    Parameters
    ----------
    log_probs : array (T, N, C) or (T, C)
        Log-probabilities, as returned by ``log_softmax``.
    targets : array (N, S) or (sum of target_lengths,) of int32 or int64
        Class indices other than ``blank``.
    input_lengths, target_lengths : array (N,) of int32 or int64, or ints
        Valid lengths of sequences and targets.
    blank : int
        Index of the blank label.
    reduction : {"mean", "sum", "none"}
        ``"mean"`` divides each loss by the length of its target first.
    zero_infinity : bool
        Whether losses and gradients of targets that are too long for their sequence are 0.

    Returns
    -------
    array
        Shape (), or (N,) for ``"none"``.

    Raises
    ------
    TypeError
        A dtype is not one of these.
    ValueError
        The shapes do not match, or ``blank`` is not a class.

    Notes
    -----
    The host does not read lengths and classes: a sequence with an out-of-range value has loss NaN.
    Sums over alignments are computed in the log domain, step by step on the device; bfloat16 and
    float16 in float32. The gradient is torch's, except that it is 0 where a log-probability is -inf
    (torch gives NaN): it is correct after ``log_softmax``, and not differentiable itself. Source:
    ``torch.nn.functional.ctc_loss``; Graves et al., "Connectionist Temporal Classification", 2006.
    """
    check_float("ctc_loss", log_probs=log_probs)
    reduction = checked_reduction("ctc_loss", reduction)
    if log_probs.ndim not in (2, 3) or not log_probs.shape[0]:
        raise ValueError(f"ctc_loss: log_probs must have shape (T, N, C), got {log_probs.shape}")
    is_single = log_probs.ndim == 2
    wide = converted(log_probs, dtypes.wide(log_probs.dtype))
    wide = reshape(wide, (wide.shape[0], 1, wide.shape[1])) if is_single else wide
    n, classes = wide.shape[1:]
    if not 0 <= checked_int("ctc_loss", "blank", blank) < classes:
        raise ValueError(f"ctc_loss: blank must be in [0, {classes}), got {blank}")
    if targets.dtype not in _INTEGERS:
        raise TypeError(f"ctc_loss: targets must be int32 or int64, got {targets.dtype}")
    if targets.ndim not in (1, 2) or (targets.ndim == 2 and targets.shape[0] != n):
        raise ValueError(f"ctc_loss: targets must have shape (N, S), got {targets.shape}")
    provided = [(v,) if isinstance(v, int) else v for v in (input_lengths, target_lengths)]
    n_steps, longest = _lengths("input_lengths", wide.trace, provided[0], n)
    if longest is not None and longest > wide.shape[0]:
        raise ValueError(f"ctc_loss: input_lengths must be at most {wide.shape[0]}, got {longest}")
    lengths, most = _lengths("target_lengths", wide.trace, provided[1], n)
    total = None if most is None else math.fsum(provided[1])
    if targets.ndim == 1 and total not in (None, targets.size):
        raise ValueError(
            f"ctc_loss: target_lengths must have the sum {targets.size}, got {total:.0f}"
        )
    size = targets.shape[-1] if most is None else most
    if targets.ndim == 2 and size > targets.shape[1]:
        raise ValueError(f"ctc_loss: target_lengths must be at most {targets.shape[1]}, got {size}")
    form = _Alignments(2 * size + 1, blank, targets.ndim == 1)
    result = _losses(wide, targets, n_steps, lengths, form, zero_infinity)
    if reduction == "mean":
        result = mean(div(result, _divisor(lengths, wide.dtype)))
    elif reduction == "sum":
        result = summed(result)
    elif is_single:
        result = reshape(result, ())
    return converted(result, log_probs.dtype)


def _divisor(lengths: Tensor, dtype: str) -> Tensor:
    def call(a: dpnp.ndarray) -> dpnp.ndarray:
        return in_dtype(dpnp.maximum(a, 1), dtype)

    out = [Out(lengths.shape, dtype)]
    return lengths.trace.array_call(call, [lengths], out, lambda entry, grads: {})[0]
