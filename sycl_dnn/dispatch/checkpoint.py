# SPDX-License-Identifier: Apache-2.0
"""``checkpoint``: what a function computed on its way is computed again for its gradient."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from sycl_dnn import tree
from sycl_dnn.dispatch import policy
from sycl_dnn.dispatch.differentiated import propagate
from sycl_dnn.dispatch.gradients import Grads
from sycl_dnn.dispatch.higher_order import alias, leaves_of, recording, training
from sycl_dnn.dispatch.record import Entry
from sycl_dnn.dispatch.tensor import Tensor
from sycl_dnn.dispatch.trace import Trace

__all__ = ["checkpoint"]


def checkpoint(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that keeps nothing but its arguments and results for its gradient.

    What it computes on the way is computed once more where the gradient needs it: memory falls by
    what a part of a network keeps, for the time of its forward pass. Values are the same.

    Parameters
    ----------
    function : callable
        Takes and returns trees of arrays. Arrays that it holds itself have gradients, too.

    Returns
    -------
    callable
        Outside of what is differentiated, it is ``function``.

    Notes
    -----
    Inside ``compile``, the second computation is not merged with the first one. ``dropout`` drops
    the same elements both times, and running statistics are updated once.

    Source: Chen et al., "Training Deep Nets with Sublinear Memory Cost", arXiv:1604.06174.
    """

    @functools.wraps(function)
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        tensors = [t for t in tree.leaves((args, kwargs)) if isinstance(t, Tensor)]
        if not tensors or not tensors[0].trace.training:
            return function(*args, **kwargs)
        return _recorded(tensors[0].trace, lambda: function(*args, **kwargs), function)

    return checkpointed


def _recorded(trace: Trace, body: Callable[[], Any], function: Callable[..., Any]) -> Any:
    """Record a function as one entry, whose gradient records it again."""
    region = policy.current().autocast
    with recording(trace) as tape, trace.drawing() as seeds:
        made = body()
    results = [t for t in tree.leaves(made) if isinstance(t, Tensor)]
    inputs = {str(i): t for i, t in enumerate(leaves_of(tape, results))}
    own = {id(t): alias(t) for t in results}
    outputs = {str(i): own[id(t)] for i, t in enumerate(results)}

    def rule(entry: Entry, grads: Grads) -> Grads:
        # The trace is found anew: it holds its tape, and would hold itself.
        trace = next(iter(entry.outputs.values())).trace
        start = len(trace.tape)
        with training(trace), trace.repeating(seeds), policy.using(autocast=region):
            again = [t for t in tree.leaves(body()) if isinstance(t, Tensor)]
        seeded = {}
        for number, tensor in enumerate(again):
            if str(number) in grads:
                seeded[id(tensor)] = grads[str(number)]
        found = propagate(trace, trace.tape[start:], seeded, list(inputs.values()))
        return {n: g for n, g in zip(inputs, found, strict=True) if g is not None}

    name = getattr(function, "__name__", "checkpoint")
    trace.tape.append(Entry("checkpoint", inputs, outputs, rule=rule, function=name))
    return tree.map(lambda t: own[id(t)] if isinstance(t, Tensor) else t, made)
