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
from sycl_dnn.functional.arithmetic.convert import constant_call, converted
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


def _masked_logs(mask: dpnp.ndarray, logs: dpnp.ndarray) -> dpnp.ndarray:
    """Return the selected logarithms, and -inf elsewhere."""
    return dpnp.where(mask, logs, dpnp.full_like(logs, -math.inf))


def _shifted_mask(can_skip: dpnp.ndarray) -> dpnp.ndarray:
    """Return the states that begin a skip over a blank, given those that end one."""
    result = dpnp.zeros_like(can_skip)
    result[:, :-2] = can_skip[:, 2:]
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
        placement = {"dtype": "int64", "sycl_queue": targets.sycl_queue}
        if self._is_flat:
            starts = dpnp.cumsum(lengths) - lengths
            positions = starts[:, None] + dpnp.arange(size, **placement)[None]
            last = max(targets.size - 1, 0)
            targets = dpnp.take(targets, dpnp.clip(positions, 0, last)) if size else positions
        result = dpnp.full((len(lengths), self.n_states), self.blank, **placement)
        result[:, 1::2] = targets[:, :size]
        return result

    def _prepared(self, scores: Any, targets: Any, lengths: Any) -> tuple[Any, Any, Any]:
        """Return labels, their log-probabilities (T, N, states), and which states end a skip."""
        labels = self._labels(targets, lengths.astype("int64"))
        clipped = dpnp.clip(labels, 0, scores.shape[2] - 1)
        index = dpnp.broadcast_to(clipped[None], (scores.shape[0], *labels.shape))
        emissions = dpnp.take_along_axis(scores, index, axis=2)
        # Invalid classes give NaN; entries beyond the end of a target are not read.
        state = dpnp.arange(self.n_states, dtype="int64", sycl_queue=labels.sycl_queue)
        is_invalid = (clipped != labels) & (state <= 2 * lengths.astype("int64")[:, None])
        emissions = in_dtype(dpnp.where(is_invalid[None], math.nan, emissions), scores.dtype)
        can_skip = dpnp.zeros(labels.shape, dtype="bool", sycl_queue=labels.sycl_queue)
        if self.n_states > 2:
            can_skip[:, 2:] = (labels[:, 2:] != labels[:, :-2]) & (labels[:, 2:] != self.blank)
        return labels, emissions, can_skip

    def _is_end(self, lengths: dpnp.ndarray) -> dpnp.ndarray:
        """Mark the last two states of each target."""
        state = dpnp.arange(self.n_states, dtype="int64", sycl_queue=lengths.sycl_queue)[None]
        last = 2 * lengths.astype("int64")[:, None]
        return (state == last) | (state == last - 1)

    def _invalid_lengths(
        self, alphas: Any, targets: Any, n_steps: Any, lengths: Any
    ) -> dpnp.ndarray:
        """Mark sequences with impossible lengths."""
        ends = dpnp.cumsum(lengths.astype("int64"))
        is_invalid = (n_steps < 0) | (n_steps > alphas.shape[0]) | (lengths < 0)
        is_invalid = is_invalid | (lengths > self.n_states // 2)
        return is_invalid | (ends > targets.size) if self._is_flat else is_invalid

    def forward(self, scores: Any, targets: Any, n_steps: Any, lengths: Any) -> tuple[Any, Any]:
        """Return the losses (N,), and the sums up to each step and state (T, N, 2 + states).

        The first two states do not exist.
        """
        _, emissions, can_skip = self._prepared(scores, targets, lengths)
        sums = _log_zeros(emissions, (*emissions.shape[:2], 2 + self.n_states))
        sums[0, :, 2:4] = emissions[0, :, :2]
        log_zeros = _log_zeros(emissions, emissions.shape[1:])
        for t in range(1, len(emissions)):
            previous = sums[t - 1]
            arrived = dpnp.logaddexp(previous[:, 2:], previous[:, 1:-1])
            skipped = dpnp.where(can_skip, previous[:, :-2], log_zeros)
            dpnp.add(dpnp.logaddexp(arrived, skipped), emissions[t], out=sums[t, :, 2:])
        return self.total(sums[:, :, 2:], targets, n_steps, lengths), sums

    def total(self, alphas: dpnp.ndarray, targets: Any, n_steps: Any, lengths: Any) -> Any:
        """Return the losses (N,), given the sums up to each step and state."""
        last_step = dpnp.clip(n_steps.astype("int64") - 1, 0, alphas.shape[0] - 1)[None, :, None]
        last_step = dpnp.broadcast_to(last_step, (1, *alphas.shape[1:]))
        is_end = self._is_end(lengths)
        final = _masked_logs(is_end, dpnp.take_along_axis(alphas, last_step, axis=0)[0])
        empty = _masked_logs(is_end & (lengths == 0)[:, None], dpnp.zeros_like(final))
        result = -_log_sums(dpnp.where((n_steps == 0)[:, None], empty, final))
        is_invalid = self._invalid_lengths(alphas, targets, n_steps, lengths)
        return in_dtype(dpnp.where(is_invalid, math.nan, result), alphas.dtype)

    def gradient(self, inputs: list[dpnp.ndarray], losses: Any, sums: Any) -> dpnp.ndarray:
        """Return the gradient (T, N, C), which as in torch assumes a preceding log-softmax."""
        scores, targets, n_steps, lengths = inputs
        labels, emissions, can_skip = self._prepared(scores, targets, lengths)
        sums_after = self._backward(emissions, can_skip, n_steps, lengths)
        occupancy = dpnp.exp(sums[:, :, 2:] + sums_after + losses[:, None])
        classes = dpnp.arange(scores.shape[2], dtype="int64", sycl_queue=labels.sycl_queue)
        one_hot = in_dtype(labels[:, :, None] == classes, scores.dtype)
        posteriors = dpnp.matmul(occupancy.transpose(1, 0, 2), one_hot).transpose(1, 0, 2)
        time = dpnp.arange(len(emissions), dtype="int64", sycl_queue=labels.sycl_queue)[:, None]
        is_step = (time < n_steps.astype("int64")[None])[:, :, None]
        return in_dtype(dpnp.where(is_step, dpnp.exp(scores) - posteriors, 0.0), scores.dtype)

    def _backward(self, emissions: Any, can_skip: Any, n_steps: Any, lengths: Any) -> dpnp.ndarray:
        """Return the sums over all continuations from each step and state (T, N, states)."""
        log_zeros, n_states = _log_zeros(emissions, emissions.shape[1:]), self.n_states
        ends = _masked_logs(self._is_end(lengths), dpnp.zeros_like(log_zeros))
        queue = emissions.sycl_queue
        time = dpnp.arange(1, len(emissions) + 1, dtype=n_steps.dtype, sycl_queue=queue)
        is_last, can_skip_next = time[:, None, None] == n_steps[:, None], _shifted_mask(can_skip)
        sums = _log_zeros(emissions, emissions.shape)
        later = _log_zeros(emissions, (emissions.shape[1], n_states + 2))
        for t in reversed(range(len(emissions))):
            arrived = dpnp.logaddexp(later[:, :n_states], later[:, 1:-1])
            onward = dpnp.logaddexp(arrived, dpnp.where(can_skip_next, later[:, 2:], log_zeros))
            sums[t] = dpnp.where(is_last[t], ends, onward)
            dpnp.add(sums[t], emissions[t], out=later[:, :n_states])
        return sums


def _log_zeros(like: dpnp.ndarray, shape: tuple[int, ...]) -> dpnp.ndarray:
    """Return logarithms of 0."""
    return dpnp.full(shape, -math.inf, dtype=like.dtype, sycl_queue=like.sycl_queue)


def _log_sums(a: dpnp.ndarray) -> dpnp.ndarray:
    """Return log-sum-exp along the last axis, -inf for empty sums."""
    highest = dpnp.max(a, axis=1)
    shift = dpnp.where(dpnp.isfinite(highest), highest, dpnp.zeros_like(highest))
    return dpnp.log(dpnp.sum(dpnp.exp(a - shift[:, None]), axis=1)) + shift


def _losses(
    scores: Tensor, targets: Tensor, n_steps: Tensor, lengths: Tensor,
    reference: _Alignments, zero_infinity: bool,
) -> Tensor:  # fmt: skip
    """Record the losses (N,) and their gradient."""
    inputs = [scores, targets, n_steps, lengths]
    if not can_align(scores):
        return _by_calls(inputs, reference, zero_infinity)
    # Lengths and labels beyond int32 stay out of range.
    integers = [converted(clamp(t, -1, 2**31 - 1), "int32") for t in inputs[1:]]
    trace = scores.trace
    with untaped(trace):
        kernels = Alignments(
            [scores, *integers], reference.n_states, reference.blank, zero_infinity
        )
        result = kernels.forward() if kernels.can_run() else {}
    if not result:
        return _by_calls(inputs, reference, zero_infinity)

    def rule(entry: Any, grads: dict[str, Tensor]) -> dict[str, Tensor]:
        with untaped(trace):
            grad_scores = kernels.gradient(result, grads["dst"])
        reads = {"src": scores, "dy": grads["dst"]}
        refusal = no_gradient("ctc_loss", "second derivative")
        trace.tape.append(Entry("ctc_gradient", reads, {"dst": grad_scores}, rule=refusal))
        return {"src": grad_scores}

    trace.tape.append(Entry("ctc_loss", {"src": scores}, {"dst": result["losses"]}, rule=rule))
    losses: Any = result["losses"]
    losses = where(isinf(losses), 0.0, losses) if zero_infinity else losses
    assert isinstance(losses, Tensor)
    return losses


def _by_calls(inputs: list[Tensor], alignments: _Alignments, zero_infinity: bool) -> Tensor:
    """Record the losses (N,) as calls of dpnp."""
    scores, trace = inputs[0], inputs[0].trace

    def value(*arrays: dpnp.ndarray) -> tuple[dpnp.ndarray, dpnp.ndarray]:
        losses, sums = alignments.forward(*arrays)
        if zero_infinity:
            losses = dpnp.where(dpnp.isinf(losses), dpnp.zeros_like(losses), losses)
        return losses, sums

    def slope(*arrays: dpnp.ndarray) -> dpnp.ndarray:
        *arguments, sums, dy = arrays
        losses = alignments.total(sums[:, :, 2:], *arguments[1:])
        result = alignments.gradient(arguments, losses, sums) * dy[None, :, None]
        if zero_infinity:
            is_infinite = dpnp.isinf(losses)[None, :, None]
            result = dpnp.where(is_infinite, dpnp.zeros_like(result), result)
        return result

    def rule(entry: Any, grads: dict[str, Tensor]) -> dict[str, Tensor]:
        out = [Out(scores.shape, scores.dtype)]
        refusal = no_gradient("ctc_loss", "second derivative")
        (grad_scores,) = trace.array_call(slope, [*inputs, sums, grads["0"]], out, refusal)
        return {"0": grad_scores}

    n_steps, n = scores.shape[:2]
    outs = [Out((n,), scores.dtype), Out((n_steps, n, 2 + alignments.n_states), scores.dtype)]
    losses, sums = trace.array_call(value, inputs, outs, rule)
    return losses


def _lengths(argument: str, trace: Any, lengths: Any, n: int) -> tuple[Tensor, int | None]:
    """Return lengths as a tensor (N,), and the largest one unless they are on the device."""
    if isinstance(lengths, Tensor):
        if lengths.dtype not in _INTEGERS or lengths.size != n:
            raise ValueError(
                f"ctc_loss: {argument} must be {n} numbers of int32 or int64, got "
                f"{lengths.dtype} of shape {lengths.shape}"
            )
        return reshape(lengths, (n,)), None
    values = [checked_int("ctc_loss", argument, v, 0) for v in lengths]
    if len(values) != n:
        raise ValueError(f"ctc_loss: {argument} must be {n} numbers, got {len(values)}")

    class Constant:
        takes_queue = True

        def __call__(self, queue: Any) -> dpnp.ndarray:
            return dpnp.asarray(values, dtype="int64", sycl_queue=queue)

    return constant_call(trace, Constant(), [], (n,), "int64"), max(values, default=0)


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
    of_inputs, of_targets = (
        (v,) if isinstance(v, int) else v for v in (input_lengths, target_lengths)
    )
    n_steps, longest_input = _lengths("input_lengths", wide.trace, of_inputs, n)
    if longest_input is not None and longest_input > wide.shape[0]:
        raise ValueError(
            f"ctc_loss: input_lengths must be at most {wide.shape[0]}, got {longest_input}"
        )
    lengths, longest_target = _lengths("target_lengths", wide.trace, of_targets, n)
    total_length = None if longest_target is None else math.fsum(of_targets)
    if targets.ndim == 1 and total_length not in (None, targets.size):
        raise ValueError(
            f"ctc_loss: target_lengths must have the sum {targets.size}, got {total_length:.0f}"
        )
    max_labels = targets.shape[-1] if longest_target is None else longest_target
    if targets.ndim == 2 and max_labels > targets.shape[1]:
        raise ValueError(
            f"ctc_loss: target_lengths must be at most {targets.shape[1]}, got {max_labels}"
        )
    alignments = _Alignments(2 * max_labels + 1, blank, targets.ndim == 1)
    result = _losses(wide, targets, n_steps, lengths, alignments, zero_infinity)
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

    return constant_call(lengths.trace, call, [lengths], lengths.shape, dtype)
