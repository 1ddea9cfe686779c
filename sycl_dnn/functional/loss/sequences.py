# SPDX-License-Identifier: Apache-2.0
"""``ctc_loss``."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sycl_dnn.call.operation import operation
from sycl_dnn.functional.arithmetic.convert import converted
from sycl_dnn.functional.arithmetic.elementwise import check_float
from sycl_dnn.functional.loss.loss_reduction import checked_reduction
from sycl_dnn.functional.shape.reshaping import checked_int
from sycl_dnn.ir.node import Node, number
from sycl_dnn.kernels.alignments import Alignments, can_align
from sycl_dnn.lower.node_lowering import computed
from sycl_dnn.onednn import dtypes
from sycl_dnn.ops.arithmetic import LOGADDEXP
from sycl_dnn.ops.arithmetic import where as select
from sycl_dnn.ops.selection import narrow, pad
from sycl_dnn.trace import functions as F
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import reshape, untaped

if TYPE_CHECKING:
    import dpnp

_INTEGERS = ("int32", "int64")


#: The logarithm of 0 in sums over alignments: differences of infinities would be NaN.
_LOW = -1e30


class _Problem(NamedTuple):
    """Log-probabilities (T, N, C), targets, numbers of steps and lengths (N,), static sizes."""

    scores: Tensor
    targets: Tensor
    n_steps: Tensor
    lengths: Tensor
    #: A blank, the first label, a blank, ..., the last label, a blank.
    n_states: int
    blank: int
    zero_infinity: bool

    def _known(self, values: np.ndarray) -> Tensor:
        return self.scores.trace.literal(values, "int64")

    def labels(self) -> Tensor:
        """Return the label of each state, (N, states)."""
        n, size, targets = len(self.lengths), self.n_states // 2, self.targets
        if not size:
            return self._known(np.full((n, 1), self.blank))
        if targets.ndim == 1:
            starts = F.sub(F.cumsum(self.lengths, 0), self.lengths)
            places = F.add(F.unsqueeze(starts, 1), self._known(np.arange(size)))
            last = max(targets.size - 1, 0)
            targets = F.index_select(targets, 0, F.flatten(F.clamp(places, 0, last)))
        targets = F.astype(
            F.narrow(F.reshape(targets, (n, -1 if size else 0)), 1, 0, size), "int64"
        )
        pairs = F.stack([self._known(np.full((n, size), self.blank)), targets], 2)
        return F.cat([F.reshape(pairs, (n, 2 * size)), self._known(np.full((n, 1), self.blank))], 1)

    def _emissions(self, labels: Tensor, is_state: Tensor) -> Tensor:
        """Return the log-probabilities of the labels of all states (T, N, states)."""
        known = F.clamp(labels, 0, self.scores.shape[2] - 1)
        index = F.expand(known, (len(self.scores), *labels.shape))
        emissions = F.gather(self.scores, 2, index)
        emissions = F.where(F.eq(emissions, -math.inf), _LOW, emissions)
        is_invalid = F.logical_and(F.ne(known, labels), is_state)
        return F.where(is_invalid, math.nan, emissions)

    def losses(self) -> Tensor:
        """Record the losses (N,), step by step, with torch's gradient."""
        steps, lengths = (F.reshape(F.astype(t, "int64"), (-1, 1)) for t in self[2:4])
        labels, states = self.labels(), self._known(np.arange(self.n_states))
        emissions = self._emissions(labels, F.le(states, F.mul(lengths, 2)))
        earlier = F.narrow(F.pad(labels, (2, 0), value=self.blank), 1, 0, self.n_states)
        can_skip = F.logical_and(F.ne(labels, earlier), F.ne(labels, self.blank))
        sums = F.where(F.lt(states, 2), emissions[0], _LOW)
        for t in range(1, len(self.scores)):
            sums = computed(_next_sums, sums, emissions[t], can_skip, F.lt(t, steps))
        distance = F.sub(F.mul(lengths, 2), states)
        is_end = F.logical_or(F.eq(distance, 0), F.eq(distance, 1))
        total = F.logsumexp(F.where(is_end, sums, _LOW), 1)
        losses = F.where(F.lt(total, _LOW / 2), math.inf, F.neg(total))
        of_none = F.where(F.eq(self.lengths, 0), 0.0, math.inf)
        losses = F.where(F.eq(self.n_steps, 0), of_none, losses)
        return self._with_gradient(F.where(self._has_invalid_lengths(), math.nan, losses), steps)

    def _has_invalid_lengths(self) -> Tensor:
        steps, lengths = self.n_steps, self.lengths
        limits = [F.lt(steps, 0), F.gt(steps, len(self.scores)), F.lt(lengths, 0)]
        limits.append(F.gt(lengths, self.n_states // 2))
        if self.targets.ndim == 1:
            limits.append(F.gt(F.cumsum(lengths, 0), self.targets.size))
        return functools.reduce(F.logical_or, limits)

    def _with_gradient(self, losses: Tensor, steps: Tensor) -> Tensor:
        """Return the losses; as in torch, their gradient assumes a preceding log-softmax."""
        times = self._known(np.arange(len(self.scores)))
        is_step = F.unsqueeze(F.transpose(F.lt(times, steps), 0, 1), 2)
        of_infinity = 0.0 if self.zero_infinity else math.nan

        def rule(dy: Tensor) -> dict[str, Tensor]:
            dy = F.where(F.isinf(losses), of_infinity, dy)
            direct = F.mul(F.exp(self.scores), F.reshape(dy, (-1, 1)))
            return {"losses": dy, "scores": F.where(is_step, direct, 0.0)}

        inputs = {"losses": losses, "scores": self.scores}
        same = losses.view(losses.shape, losses.strides)
        return losses.trace.closed(inputs, lambda: same, rule)


def _next_sums(sums: Node, emissions: Node, can_skip: Node, is_step: Node) -> Node:
    """Return the log-domain sums over all alignments up to each state after another step."""
    n, low = sums.shape[1], number(_LOW, sums.dtype)
    shifted = [
        pad(narrow(sums, 1, 0, max(n - k, 0)), [(0, 0), (min(k, n), 0)], _LOW) for k in (1, 2)
    ]
    arrived = LOGADDEXP(LOGADDEXP(sums, shifted[0]), select(can_skip, shifted[1], low))
    return select(is_step, arrived + emissions, sums)


def _losses(problem: _Problem) -> Tensor:
    """Record the losses (N,) and their gradient, by kernels if the device has them."""
    scores, trace = problem.scores, problem.scores.trace
    if not can_align(scores):
        return problem.losses()
    # Lengths and labels beyond int32 stay out of range.
    integers = [converted(F.clamp(t, -1, 2**31 - 1), "int32") for t in problem[1:4]]
    with untaped(trace):
        kernels = Alignments([scores, *integers], *problem[4:])
        result = kernels.forward() if kernels.can_run() else {}
    if not result:
        return problem.losses()

    def rule(dy: Tensor) -> dict[str, Tensor]:
        return {"scores": kernels.gradient(result, dy)}

    return trace.closed({"scores": scores}, lambda: result["losses"], rule, problem.losses)


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

    return trace.literal(np.array(values), "int64"), max(values, default=0)


def _checked_problem(
    log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: int,
    zero_infinity: bool,
) -> _Problem:  # fmt: skip
    """Return the problem of arguments, for a batch of one if there is no batch."""
    if log_probs.ndim not in (2, 3) or not log_probs.shape[0]:
        raise ValueError(f"ctc_loss: log_probs must have shape (T, N, C), got {log_probs.shape}")
    wide = converted(log_probs, dtypes.wide(log_probs.dtype))
    wide = reshape(wide, (wide.shape[0], 1, wide.shape[1])) if log_probs.ndim == 2 else wide
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
    return _Problem(wide, targets, n_steps, lengths, 2 * max_labels + 1, blank, zero_infinity)


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
    (torch gives NaN): it is correct after ``log_softmax``, and differentiable again. Source:
    ``torch.nn.functional.ctc_loss``; Graves et al., "Connectionist Temporal Classification", 2006.
    """
    check_float("ctc_loss", log_probs=log_probs)
    reduction = checked_reduction("ctc_loss", reduction)
    problem = _checked_problem(
        log_probs, targets, input_lengths, target_lengths, blank, zero_infinity
    )
    result = _losses(problem)
    if zero_infinity:
        result = F.where(F.isinf(result), 0.0, result)
    if reduction == "mean":
        result = F.mean(F.div(result, converted(F.clamp(problem.lengths, 1), problem.scores.dtype)))
    elif reduction == "sum":
        result = F.sum(result)
    elif log_probs.ndim == 2:
        result = reshape(result, ())
    return converted(result, log_probs.dtype)
