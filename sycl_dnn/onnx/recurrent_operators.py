# SPDX-License-Identifier: Apache-2.0
"""RNN, GRU and LSTM: by oneDNN if it supports the network, else step by step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sycl_dnn.onnx.elementwise_operators import name_of
from sycl_dnn.onnx.evaluation import is_host
from sycl_dnn.onnx.integer_products import are_exact, dequantized, halves
from sycl_dnn.onnx.operator_registry import MICROSOFT, Call, F, operator

Activation = Callable[[Any], Any]
_ACTIVATIONS: dict[str, Callable[[Any, float, float], Any]] = {
    "relu": lambda x, a, b: F.relu(x),
    "tanh": lambda x, a, b: F.tanh(x),
    "sigmoid": lambda x, a, b: F.sigmoid(x),
    "softsign": lambda x, a, b: F.softsign(x),
    "softplus": lambda x, a, b: F.softplus(x),
    "affine": lambda x, a, b: x * a + b,
    "leakyrelu": lambda x, a, b: F.leaky_relu(x, a),
    "thresholdedrelu": lambda x, a, b: F.threshold(x, a, 0.0),
    "scaledtanh": lambda x, a, b: F.tanh(x * b) * a,
    "hardsigmoid": lambda x, a, b: F.clamp(x * a + b, 0.0, 1.0),
    "elu": lambda x, a, b: F.elu(x, a),
}
_DEFAULTS = {"affine": (1.0, 0.0), "leakyrelu": (0.01, 0.0), "thresholdedrelu": (1.0, 0.0),
             "scaledtanh": (1.0, 1.0), "hardsigmoid": (0.2, 0.5), "elu": (1.0, 0.0)}  # fmt: skip


class Kind(NamedTuple):
    """One kind of network: the gate orders of ONNX and torch."""

    gates: int
    #: Positions in ONNX's weights of torch's gates: i f g o of an LSTM, r z n of a GRU.
    order: tuple[int, ...]
    activations: tuple[str, ...]


_KINDS = {
    "RNN": Kind(1, (0,), ("tanh",)),
    "GRU": Kind(3, (1, 0, 2), ("sigmoid", "tanh")),
    "LSTM": Kind(4, (0, 2, 3, 1), ("sigmoid", "tanh", "tanh")),
}


class Weights(NamedTuple):
    """The weights of one direction, in ONNX's order."""

    input: Any
    state: Any
    #: (2 * gates * hidden,) or None.
    bias: Any
    peepholes: Any = None


def _activations(call: Call, kind: Kind, n: int) -> list[Activation]:
    names = [a.lower() for a in call.get("activations", kind.activations * n)]
    alphas, betas = iter(call.get("activation_alpha", [])), iter(call.get("activation_beta", []))
    activations: list[Activation] = []
    for number, name in enumerate(names):
        if name not in _ACTIVATIONS:
            call.refuse(f"activation {name} is not supported")
        a, b = _DEFAULTS.get(name, (0.0, 0.0))
        if name in _DEFAULTS:
            a = next(alphas, a)
        if name in ("affine", "scaledtanh", "hardsigmoid"):
            b = next(betas, b)
        # As in ONNX Runtime and OpenVINO, only gates are clipped, not the state of a cell.
        is_of_cell = kind.gates == 4 and number % 3 == 2
        clip = None if is_of_cell else call.get("clip")
        activations.append(_clipped(_ACTIVATIONS[name], a, b, clip))
    return activations


def _clipped(function: Any, a: float, b: float, clip: float | None) -> Activation:
    def activation(x: Any) -> Any:
        return function(x if clip is None else F.clamp(x, -clip, clip), a, b)

    return activation


def _permuted_rows(x: Any, order: tuple[int, ...]) -> Any:
    """Permute blocks of the first axis."""
    if len(order) == 1:
        return x
    parts = F.chunk(x, len(order), 0)
    return F.cat([parts[i] for i in order], 0)


def _run_whole(call: Call, kind: Kind, x: Any, weights: list[Weights], state: list[Any]) -> Any:
    """Run all directions by ``functional``; return (T, D, N, H) and the last states."""
    params = []
    hidden = call.need("hidden_size")
    for direction in weights:
        params += [
            _permuted_rows(direction.input, kind.order),
            _permuted_rows(direction.state, kind.order),
        ]
        if direction.bias is None:
            direction = direction._replace(bias=F.full_like(F.reshape(F.narrow(
                F.cat([direction.state, direction.state], 0), 1, 0, 1), (-1,)), 0.0))  # fmt: skip
        params += [_permuted_rows(b, kind.order) for b in F.chunk(direction.bias, 2, 0)]
    is_relu = call.get("activations", ["tanh"])[0].lower() == "relu"
    function: Any = {"LSTM": F.lstm, "GRU": F.gru, "RNN": F.rnn_relu if is_relu else F.rnn_tanh}[
        call.op.removeprefix("DynamicQuantize")
    ]
    initial = (state[0], state[1]) if kind.gates == 4 else state[0]
    output, last = function(x, initial, params, bidirectional=len(weights) == 2)
    steps, n = x.shape[:2]
    output = F.permute(F.reshape(output, (steps, n, len(weights), hidden)), (0, 2, 1, 3))
    return output, list(last) if isinstance(last, tuple) else [last]


def _lstm_step(x: Any, h: Any, c: Any, w: Weights, act: list[Activation], call: Call) -> Any:
    gates = x + F.matmul(h, F.transpose(w.state, 0, 1))
    i, o, f, g = F.chunk(gates, 4, 1)
    if w.peepholes is not None:
        p_i, p_o, p_f = F.chunk(w.peepholes, 3, 0)
        i, f = i + p_i * c, f + p_f * c
    i = act[0](i)
    f = 1 - i if call.get("input_forget", 0) else act[0](f)
    c = f * c + i * act[1](g)
    o = act[0](o if w.peepholes is None else o + p_o * c)
    return o * act[2](c), c


def _gru_step(x: Any, h: Any, c: Any, w: Weights, act: list[Activation], call: Call) -> Any:
    size = h.shape[1]
    state_w = F.transpose(w.state, 0, 1)
    bias = F.narrow(F.chunk(w.bias, 2, 0)[1], 0, 2 * size, size) if w.bias is not None else 0.0
    z, r, _ = F.chunk(x, 3, 1)
    zr = F.matmul(h, F.narrow(state_w, 1, 0, 2 * size))
    z, r = act[0](z + F.narrow(zr, 1, 0, size)), act[0](r + F.narrow(zr, 1, size, size))
    last, x_n = F.narrow(state_w, 1, 2 * size, size), F.narrow(x, 1, 2 * size, size)
    if call.get("linear_before_reset", 0):
        n = act[1](x_n + r * (F.matmul(h, last) + bias))
    else:
        n = act[1](x_n + F.matmul(r * h, last) + bias)
    return (1 - z) * n + z * h, c


def _rnn_step(x: Any, h: Any, c: Any, w: Weights, act: list[Activation], call: Call) -> Any:
    return act[0](x + F.matmul(h, F.transpose(w.state, 0, 1))), c


_STEPS = {"LSTM": _lstm_step, "GRU": _gru_step, "RNN": _rnn_step}


def _input_bias(kind: Kind, w: Weights) -> Any:
    """Return the input bias of all steps; the GRU's last state gate has its own."""
    first, second = F.chunk(w.bias, 2, 0)
    if kind.gates != 3:
        return first + second
    size = first.shape[0] // 3
    head = F.narrow(first, 0, 0, 2 * size) + F.narrow(second, 0, 0, 2 * size)
    return F.cat([head, F.narrow(first, 0, 2 * size, size)], 0)


def _direction(
    call: Call, kind: Kind, x: Any, w: Weights, state: list[Any], lengths: Any, is_back: bool,
    act: list[Activation],
) -> tuple[Any, list[Any]]:  # fmt: skip
    """Run one direction step by step."""
    steps, n = x.shape[:2]
    projected = F.matmul(x, F.transpose(w.input, 0, 1))
    if w.bias is not None:
        projected = projected + _input_bias(kind, w)
    step = _STEPS[call.op.removeprefix("DynamicQuantize")]
    h, c = state[0], state[1] if len(state) > 1 else state[0]
    rows: list[Any] = [None] * steps
    for t in reversed(range(steps)) if is_back else range(steps):
        new_h, new_c = step(F.select(projected, 0, t), h, c, w, act, call)
        if lengths is not None:
            is_on = F.reshape(F.gt(lengths, t), (n, 1))
            row = F.where(is_on, new_h, F.full_like(new_h, 0.0))
            new_h, new_c = F.where(is_on, new_h, h), F.where(is_on, new_c, c)
        else:
            row = new_h
        h, c, rows[t] = new_h, new_c, row
    return F.stack(rows, 0), [h, c][: len(state)]


def _is_standard(call: Call, kind: Kind, lengths: Any, weights: list[Weights]) -> bool:
    names = [a.lower() for a in call.get("activations", kind.activations)]
    standard = names == list(kind.activations * (len(names) // len(kind.activations) or 1))
    if kind.gates == 1:
        standard = set(names) in ({"tanh"}, {"relu"})
    if kind.gates == 3:
        standard = standard and bool(call.get("linear_before_reset", 0))
    plain = not call.get("clip") and not call.get("input_forget", 0) and lengths is None
    return standard and plain and all(w.peepholes is None for w in weights) and \
        call.get("direction", "forward") != "reverse"  # fmt: skip


def run(call: Call, kind: Kind, x: Any, weights: list[Weights], lengths: Any, state: Any) -> Any:
    """Run a network and return the results in ONNX's layout."""
    layout = call.get("layout", 0)
    if layout:
        x = F.transpose(x, 0, 1)
        state = [s if s is None else F.transpose(s, 0, 1) for s in state]
    hidden, n = call.need("hidden_size"), x.shape[1]
    blank = F.full((len(weights), n, hidden), 0.0, device=call.run.queue)
    state = [F.astype(blank, x.dtype) if s is None else s for s in state]
    if _is_standard(call, kind, lengths, weights):
        output, last = _run_whole(call, kind, x, weights, state)
    else:
        act = _activations(call, kind, len(weights))
        n_activations = len(act) // len(weights)
        by_direction = [
            _direction(
                call, kind, x, w, [F.select(s, 0, d) for s in state], lengths,
                d == 1 or call.get("direction", "forward") == "reverse",
                act[d * n_activations : (d + 1) * n_activations],
            ) for d, w in enumerate(weights)
        ]  # fmt: skip
        output = F.stack([rows for rows, _ in by_direction], 1)
        last = [F.stack(list(s), 0) for s in zip(*(s for _, s in by_direction), strict=True)]
    if layout:
        output = F.permute(output, (2, 0, 1, 3))
        last = [F.transpose(s, 0, 1) for s in last]
    return (output, *last)


def _network(call: Call, kind: Kind, x: Any, lengths: Any, state: list[Any], *params: Any) -> Any:
    """Run a network given the weights W, R, B, P of all directions."""
    weights = [
        Weights(*(v if v is None else F.select(v, 0, d) for v in params))
        for d in range(params[0].shape[0])
    ]
    return run(call, kind, x, weights, lengths, state)


@operator(["RNN", "GRU", "LSTM"])
def _recurrent(
    call: Call, x: Any, w: Any, r: Any, bias: Any = None, lengths: Any = None, h: Any = None,
    c: Any = None, peepholes: Any = None,
) -> Any:  # fmt: skip
    state = [h, c] if call.op == "LSTM" else [h]
    return _network(call, _KINDS[call.op], x, lengths, state, w, r, bias, peepholes)


@operator("DynamicQuantizeLSTM", domain=MICROSOFT, mixed=True, constants=(3, 8, 10))
def _quantized_lstm(
    call: Call, x: Any, w: Any, r: Any, bias: Any = None, lengths: Any = None, h: Any = None,
    c: Any = None, peepholes: Any = None, w_scale: Any = None, w_zero: Any = None,
    r_scale: Any = None, r_zero: Any = None,
) -> Any:  # fmt: skip
    """Weights are (directions, channels, 4 * hidden) of 8 bits; products are in floats."""
    operands = [call.device(v) for v in (x, lengths, h, c, bias, peepholes)]
    x, lengths, h, c, bias, peepholes = operands
    weights = (_wide_weights(call, w, w_scale, w_zero), _wide_weights(call, r, r_scale, r_zero))
    operands = [x, h, c, *weights, bias, peepholes]
    if name_of(x) == "float32" and are_exact(call.run.queue) and halves(call.run.queue):
        # Half the memory traffic; bfloat16 has as many significant bits as the weights.
        operands = [v if v is None else F.astype(v, "bfloat16") for v in operands]
    x, h, c, *rest = operands
    outputs = _network(call, _KINDS["LSTM"], x, lengths, [h, c], *rest)
    return tuple(F.astype(v, "float32") for v in outputs)


def _wide_weights(call: Call, values: Any, scale: Any, zero: Any) -> Any:
    """Return weights of 8 bits in float32, (directions, 4 * hidden, channels)."""
    operands = [v for v in (values, scale, zero) if v is not None]
    shape = (scale.shape[0], 1, -1) if len(scale.shape) else (1, 1, 1)

    def wide(values: np.ndarray, scale: np.ndarray, zero: Any = None) -> Any:
        floats = values.astype(np.float32)
        floats = floats if zero is None else floats - zero.astype(np.float32).reshape(shape)
        return np.swapaxes(floats * scale.reshape(shape), 1, 2)

    if all(map(is_host, operands)):
        return call.run.once("DynamicQuantizeLSTM", operands, lambda: wide(*operands))
    values, scale, *zeros = map(call.device, operands)
    zero = F.reshape(zeros[0], shape) if zeros else None
    return F.transpose(dequantized(values, F.reshape(scale, shape), zero), 1, 2)
