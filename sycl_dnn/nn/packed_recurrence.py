# SPDX-License-Identifier: Apache-2.0
"""Recurrent networks over packed sequences, in runs of steps with the same batch size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from sycl_dnn import functional as F

#: States of one layer and direction, each (N, channels).
States = list[Any]


class _Run(NamedTuple):
    """Consecutive steps with the same sequences."""

    first: int
    n_steps: int
    n_sequences: int


def _runs(batch_sizes: Sequence[int]) -> list[_Run]:
    runs: list[_Run] = []
    first = 0
    for size in batch_sizes:
        if runs and runs[-1].n_sequences == size:
            runs[-1] = runs[-1]._replace(n_steps=runs[-1].n_steps + 1)
        else:
            runs.append(_Run(first, 1, size))
        first += size
    return runs


def run_packed(network: Any, sequence: Any, hx: Any) -> tuple[Any, Any]:
    """Run a network over a ``PackedSequence``; states are in the caller's order.

    ``hx``: array (L * D, N, H), a pair of them, or None, as the network accepts it.
    """
    data, runs = sequence.data, _runs(sequence.batch_sizes)
    if data.ndim != 2 or data.shape[1] != network.input_size:
        raise ValueError(
            f"{type(network).__name__}: data of the sequence must have the shape (*, "
            f"{network.input_size}), got {tuple(data.shape)}"
        )
    n_directions = 2 if network.bidirectional else 1
    initial = _initial(network, sequence, hx, network.num_layers * n_directions)
    final_states: list[States] = []
    for layer in range(network.num_layers):
        if layer and network.dropout and network.training:
            data = F.dropout(data, network.dropout, True)
        outputs = []
        for direction in range(n_directions):
            weights = network.weights_of(layer, direction)
            output, final_state = _directed(
                network, data, runs, initial[len(final_states)], weights, direction
            )
            outputs.append(output)
            final_states.append(final_state)
        data = outputs[0] if n_directions == 1 else F.cat(outputs, 1)
    states = [
        F.stack([final_state[i] for final_state in final_states])
        for i in range(len(final_states[0]))
    ]
    restore_order = sequence.unsorted_indices
    states = [s if restore_order is None else _ordered(s, restore_order) for s in states]
    return sequence._replace(data=data), tuple(states) if len(states) > 1 else states[0]


def _ordered(state: Any, order: Sequence[int]) -> Any:
    """Return (cells, N, channels) with N permuted by an order known on the host."""
    return F.cat([F.narrow(state, 1, i, 1) for i in order], 1)


def _initial(network: Any, sequence: Any, hx: Any, n_cells: int) -> list[States]:
    n, data = sequence.batch_sizes[0], sequence.data
    widths = [network.proj_size or network.hidden_size]
    if network.mode == "lstm":
        widths.append(network.hidden_size)
    if hx is None:
        zero = F.mul(F.narrow(F.narrow(data, 0, 0, 1), 1, 0, 1), 0.0)
        return [[F.expand(zero, (n, width)) for width in widths] for _ in range(n_cells)]
    states = list(hx) if network.mode == "lstm" else [hx]
    for state, width in zip(states, widths, strict=True):
        if tuple(state.shape) != (n_cells, n, width):
            raise ValueError(
                f"{type(network).__name__}: hx must have the shape {(n_cells, n, width)}, got "
                f"{tuple(state.shape)}"
            )
    order = sequence.sorted_indices
    states = [s if order is None else _ordered(s, order) for s in states]
    return [[F.squeeze(F.narrow(s, 0, i, 1), 0) for s in states] for i in range(n_cells)]


def _directed(
    network: Any, data: Any, runs: list[_Run], initial: States, weights: list[Any], reverse: int
) -> tuple[Any, States]:
    """Run one layer in one direction; return its output (*, H) and the last states (N, H)."""
    n = runs[-1].n_sequences if reverse else runs[0].n_sequences
    states = [F.narrow(s, 0, 0, n) for s in initial]
    outputs: list[Any] = []
    finished: list[States] = []
    for run in reversed(runs) if reverse else runs:
        n_added = run.n_sequences - n
        if n_added > 0:
            new = [F.narrow(s, 0, n, n_added) for s in initial]
            states = [F.cat(pair, 0) for pair in zip(states, new, strict=True)]
        elif n_added < 0:
            finished.append([F.narrow(s, 0, run.n_sequences, -n_added) for s in states])
            states = [F.narrow(s, 0, 0, run.n_sequences) for s in states]
        n = run.n_sequences
        output, states = _stepped(network, data, run, states, weights, reverse)
        outputs.append(output)
    finished.append(states)
    last = [F.cat(list(parts), 0) for parts in zip(*reversed(finished), strict=True)]
    return F.cat(outputs[::-1] if reverse else outputs, 0), last


def _stepped(
    network: Any, data: Any, run: _Run, states: States, weights: list[Any], reverse: int
) -> tuple[Any, States]:
    rows = F.narrow(data, 0, run.first, run.n_steps * run.n_sequences)
    x = F.reshape(rows, (run.n_steps, run.n_sequences, data.shape[1]))
    unsqueezed = [F.unsqueeze(s, 0) for s in states]
    hx = tuple(unsqueezed) if len(unsqueezed) > 1 else unsqueezed[0]
    x = F.flip(x, 0) if reverse else x
    output, state = getattr(F, network.mode)(x, hx, weights, bias=network.bias)
    output = F.flip(output, 0) if reverse else output
    final_states = state if isinstance(state, tuple) else (state,)
    return (
        F.reshape(output, (run.n_steps * run.n_sequences, output.shape[2])),
        [F.squeeze(s, 0) for s in final_states],
    )
