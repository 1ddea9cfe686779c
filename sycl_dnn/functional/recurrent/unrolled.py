# SPDX-License-Identifier: Apache-2.0
"""One layer of a recurrent network, step by step, for second derivatives.

The gradients of oneDNN's cells have no gradients themselves. Gates are in oneDNN's order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from sycl_dnn.functional.activation.activations import relu, sigmoid, tanh
from sycl_dnn.functional.product.product import product
from sycl_dnn.functional.shape.joining import join, pieces
from sycl_dnn.trace.pointwise import add, mul, sub
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import reshape


class _State(NamedTuple):
    """The hidden state (N, P), and the cell state (N, H) of an LSTM."""

    hidden: Tensor
    cell: Tensor | None


#: Returns the next state from the input's products and bias (N, gates * H), the hidden state's
#: products without a bias, the state bias (H,) of a GRU, and the state.
Step = Callable[[Tensor, Tensor, Tensor | None, _State], _State]


def _split(x: Tensor, count: int) -> list[Tensor]:
    return pieces(x, 1, [x.shape[1] // count] * count)


def lstm_step(x: Tensor, h: Tensor, state_bias: Tensor | None, state: _State) -> _State:
    """Gates i, f, g, o."""
    i, f, g, o = _split(add(x, h), 4)
    assert state.cell is not None
    cell = add(mul(sigmoid(f), state.cell), mul(sigmoid(i), tanh(g)))
    return _State(mul(sigmoid(o), tanh(cell)), cell)


def gru_step(x: Tensor, h: Tensor, state_bias: Tensor | None, state: _State) -> _State:
    """Gates z, r, n; the reset gate scales the state's product and bias."""
    (x_z, x_r, x_n), (h_z, h_r, h_n) = _split(x, 3), _split(h, 3)
    assert state_bias is not None
    z, r = sigmoid(add(x_z, h_z)), sigmoid(add(x_r, h_r))
    n = tanh(add(x_n, mul(r, add(h_n, state_bias))))
    return _State(add(n, mul(z, sub(state.hidden, n))), None)


def tanh_step(x: Tensor, h: Tensor, state_bias: Tensor | None, state: _State) -> _State:
    """Hyperbolic tangent."""
    return _State(tanh(add(x, h)), None)


def relu_step(x: Tensor, h: Tensor, state_bias: Tensor | None, state: _State) -> _State:
    """Rectifier."""
    return _State(relu(add(x, h)), None)


def _matrix(weights: Tensor) -> Tensor:
    """Return (1, 1, C, gates, H) or (1, 1, H, P) as a matrix of C or H rows."""
    rows = weights.shape[2]
    return reshape(weights, (rows, weights.size // rows))


def unrolled(step: Step, reverse: bool, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the results of a cell, by execution argument, in float32.

    Parameters
    ----------
    step : callable
        One of this file's.
    reverse : bool
        Whether time runs backwards.
    inputs : dict
        The execution arguments of the forward primitive, with initial states.
    """
    trace = inputs["src_layer"].trace
    wide = {name: trace.convert(t, "float32") for name, t in inputs.items()}
    x, bias = wide["src_layer"], wide["bias"]
    (n_steps, n_samples, channels), hidden = x.shape, bias.shape[-1]
    weights, state_weights = _matrix(wide["weights_layer"]), _matrix(wide["weights_iter"])
    n_gates = weights.shape[1]
    flat = reshape(bias, (bias.size,))
    state_bias = None
    if bias.size > n_gates:
        flat, state_bias = pieces(flat, 0, [n_gates, hidden])
    products = product(reshape(x, (n_steps * n_samples, channels)), weights, flat)
    step_products = pieces(products, 0, [n_samples] * n_steps)
    hidden_state, cell_state = wide["src_iter"], wide.get("src_iter_c")
    state = _State(
        reshape(hidden_state, hidden_state.shape[2:]),
        None if cell_state is None else reshape(cell_state, cell_state.shape[2:]),
    )
    projection = wide.get("weights_projection")
    results: list[Tensor] = []
    for products_of_step in reversed(step_products) if reverse else step_products:
        state = step(products_of_step, product(state.hidden, state_weights), state_bias, state)
        if projection is not None:
            state = state._replace(hidden=product(state.hidden, _matrix(projection)))
        results.append(reshape(state.hidden, (1, *state.hidden.shape)))
    if reverse:
        results.reverse()
    ends = {
        "dst_layer": join(results, 0),
        "dst_iter": reshape(state.hidden, (1, 1, *results[0].shape[1:])),
    }
    if state.cell is not None:
        ends["dst_iter_c"] = reshape(state.cell, (1, 1, *state.cell.shape))
    return ends
