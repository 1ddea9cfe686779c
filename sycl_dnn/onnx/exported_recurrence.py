# SPDX-License-Identifier: Apache-2.0
"""Recurrent networks as ONNX's operators: one LSTM, GRU or RNN for each layer."""

from __future__ import annotations

from typing import Any

from sycl_dnn.onnx.written_graph import Ints, Recording, Row, Value, unsupported

#: ONNX's operator, its activation if it is not the default, and its order of torch's gates.
_KINDS: dict[str, tuple[str, str | None, tuple[int, ...]]] = {
    "lstm": ("LSTM", None, (0, 3, 1, 2)), "gru": ("GRU", None, (1, 0, 2)),
    "rnn_tanh": ("RNN", None, (0,)), "rnn_relu": ("RNN", "Relu", (0,)),
}  # fmt: skip


def _gates(g: Recording, weight: Any, order: tuple[int, ...]) -> Any:
    """Return a weight with its gates in ONNX's order."""
    if len(order) == 1:
        return weight
    parts = g.node("Split", weight, outputs=len(order), axis=0, num_outputs=len(order))
    return g.node("Concat", *(parts[i] for i in order), axis=0)


def _directions(g: Recording, weights: list[Any]) -> Any:
    """Stack the weights of all directions."""
    parts = [g.node("Unsqueeze", w, Ints((0,))) for w in weights]
    return parts[0] if len(parts) == 1 else g.node("Concat", *parts, axis=0)


def _layer(
    g: Recording, name: str, x: Any, params: list[list[Value]], state: list[Any]
) -> tuple[Any, list[Any]]:
    """Write one layer over (T, N, C); return its output and last states."""
    op, activation, order = _KINDS[name]
    n, hidden = len(params), params[0][1].shape[1]
    w, r = (_directions(g, [_gates(g, p[i], order) for p in params]) for i in (0, 1))
    bias = None
    if len(params[0]) == 4:
        rows = [[_gates(g, b, order) for b in p[2:]] for p in params]
        bias = _directions(g, [g.node("Concat", *both, axis=0) for both in rows])
    attributes: dict[str, Any] = {"hidden_size": hidden}
    if n == 2:
        attributes["direction"] = "bidirectional"
    if op == "GRU":
        attributes["linear_before_reset"] = 1
    if activation is not None:
        attributes["activations"] = [activation] * n
    n_states = 2 if op == "LSTM" else 1
    output, *last = g.node(op, x, w, r, bias, None, *state, outputs=1 + n_states, **attributes)
    transposed = g.node("Transpose", output, perm=[0, 2, 1, 3])
    return g.node("Reshape", transposed, Ints((0, 0, -1))), last


def _network(name: str) -> Row:
    def write(g: Recording, a: Any, outputs: list[Value]) -> Any:
        n = 2 if a.bidirectional else 1
        n_arrays = 4 if a.bias else 2
        if len(a.params) != a.num_layers * n * n_arrays:
            raise unsupported(name, "proj_size must be 0")
        if a.dropout and a.training and a.num_layers > 1:
            raise unsupported(name, "dropout must be 0; call eval()")
        params = [list(a.params[i : i + n_arrays]) for i in range(0, len(a.params), n_arrays)]
        x, axis = _time_first(g, a)
        states = _states(g, a, n)
        ends = []
        for layer in range(a.num_layers):
            state = [s[layer] for s in states]
            x, last = _layer(g, name, x, params[layer * n : (layer + 1) * n], state)
            ends.append(last)
        lasts = [e[0] if len(e) == 1 else g.node("Concat", *e, axis=0)
                 for e in zip(*ends, strict=True)]  # fmt: skip
        if axis is not None:
            x, *lasts = (g.node("Squeeze", v, Ints((1,))) for v in (x, *lasts))
        elif a.batch_first:
            x = g.node("Transpose", x, perm=[1, 0, 2])
        return (x, *lasts)

    return write


def _time_first(g: Recording, a: Any) -> tuple[Any, int | None]:
    """Return the input as (T, N, C), and the axis of a batch that was added."""
    if a.input.ndim == 2:
        return g.node("Unsqueeze", a.input, Ints((1,))), 1
    if a.batch_first:
        return g.node("Transpose", a.input, perm=[1, 0, 2]), None
    return a.input, None


def _states(g: Recording, a: Any, n: int) -> list[list[Any]]:
    """Return the first states, for each layer."""
    if a.hx is None:
        return []
    states = list(a.hx) if isinstance(a.hx, (tuple, list)) else [a.hx]
    if a.input.ndim == 2:
        states = [g.node("Unsqueeze", s, Ints((1,))) for s in states]
    if a.num_layers == 1:
        return [[s] for s in states]
    sizes = Ints([n] * a.num_layers)
    return [list(g.node("Split", s, sizes, outputs=a.num_layers, axis=0)) for s in states]


ROWS: dict[str, Row] = {name: _network(name) for name in _KINDS}
