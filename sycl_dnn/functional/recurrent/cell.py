# SPDX-License-Identifier: Apache-2.0
"""One layer and direction of a recurrent network: weights, oneDNN primitives, gradients.

PyTorch's weights are (gates * H, C) per layer and direction, oneDNN's (1, 1, C, gates, H): another
view of the same elements, except that the order of the GRU's gates is r, z, n in PyTorch and
z, r, n in oneDNN. The gradients of oneDNN's cells have no gradients themselves, so second
derivatives are those of the steps one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from sycl_dnn import _core
from sycl_dnn._core import algorithm
from sycl_dnn.functional.activation.activations import relu, sigmoid, tanh
from sycl_dnn.functional.arithmetic.operands import check_each
from sycl_dnn.functional.product.product import product
from sycl_dnn.functional.shape.joining import join, pieces
from sycl_dnn.trace import layout, policy
from sycl_dnn.trace.gradients import Grads, backward, independent, rule_for
from sycl_dnn.trace.pointwise import add, mul, sub
from sycl_dnn.trace.recording import Trace
from sycl_dnn.trace.steps import Entry, Out
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import reshape, transpose


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

    ``inputs`` are the arguments of the forward primitive, with initial states.
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


class Cell(NamedTuple):
    """The properties of one kind of recurrent network."""

    row: str
    gates: int
    step: Step
    params: dict[str, Any]
    #: PyTorch and oneDNN exchange gates r and z; there is one more bias.
    is_gru: bool = False
    has_cell_state: bool = False


_VANILLA = "vanilla_rnn_forward"
CELLS = {
    "lstm": Cell("lstm_forward", 4, lstm_step, {}, has_cell_state=True),
    "gru": Cell("lbr_gru_forward", 3, gru_step, {}, is_gru=True),
    "rnn_tanh": Cell(_VANILLA, 1, tanh_step, {"activation": algorithm.eltwise_tanh}),
    "rnn_relu": Cell(_VANILLA, 1, relu_step, {"activation": algorithm.eltwise_relu}),
}


class Sizes(NamedTuple):
    """Numbers of channels: of the input, the cell state, and the output."""

    input: int
    hidden: int
    output: int


def _gate_views(x: Tensor, order: Sequence[int]) -> list[Tensor]:
    """Split the first axis into equal parts and return some of them; views, not recorded."""
    plain = x.trace.plain(x)
    n = max(order) + 1
    length = x.shape[0] // n
    shape, step = (length, *x.shape[1:]), length * plain.strides[0]
    return [plain.view(shape, plain.strides, i * step) for i in order]


def exchanged(x: Tensor) -> Tensor:
    """Exchange the first two of three gates along the first axis."""
    result = join(_gate_views(x, (1, 0, 2)), 0)
    return x.trace.view(x, result, exchanged)


def _arranged(weight: Tensor, cell: Cell) -> Tensor:
    """View (gates * H, C) as (1, 1, C, gates, H)."""
    ordered = exchanged(weight) if cell.is_gru else weight
    rows, channels = weight.shape
    split = reshape(ordered, (1, 1, cell.gates, rows // cell.gates, channels))
    return transpose(split, (0, 1, 4, 2, 3))


def _gru_bias(b_ih: Tensor, b_hh: Tensor, total: Tensor) -> Tensor:
    """Return the biases of z, r and n, and the state bias of n, which the reset gate scales."""
    r, z, _ = _gate_views(total, (0, 1, 2))
    n_ih, n_hh = (_gate_views(b, (0, 1, 2))[2] for b in (b_ih, b_hh))
    return join([z, r, n_ih, n_hh], 0)


def _bias_gradients(grad: Tensor, cell: Cell) -> dict[str, Tensor]:
    flat = reshape(grad, (grad.size,))
    if not cell.is_gru:
        return {"0": flat, "1": flat}
    z, r, n_ih, n_hh = pieces(flat, 0, [flat.size // 4] * 4)
    return {"0": join([r, z, n_ih], 0), "1": join([r, z, n_hh], 0)}


def _bias(b_ih: Tensor, b_hh: Tensor, cell: Cell) -> Tensor:
    """Add PyTorch's two biases, in float32, into oneDNN's single one."""
    trace = b_ih.trace
    b_ih, b_hh = (trace.convert(b, "float32") for b in (b_ih, b_hh))
    total = add(b_ih, b_hh)
    result = _gru_bias(b_ih, b_hh, total) if cell.is_gru else total
    n_biases = cell.gates + cell.is_gru
    shape = (1, 1, n_biases, b_ih.shape[0] // cell.gates)
    result = result.view(shape, layout.row_major_strides(shape))
    trace.tape.append(
        Entry(
            "view",
            {"0": b_ih, "1": b_hh},
            {"dst": result},
            rule=lambda entry, grads: _bias_gradients(grads["dst"], cell),
        )  # fmt: skip
    )
    return result


def _expected(cell: Cell, sizes: Sizes, bias: bool) -> list[tuple[str, tuple[int, ...]]]:
    """Return names and shapes of the parameters of one layer and direction, in PyTorch's order."""
    rows = cell.gates * sizes.hidden
    results: list[tuple[str, tuple[int, ...]]]
    results = [("weight_ih", (rows, sizes.input)), ("weight_hh", (rows, sizes.output))]
    if bias:
        results += [("bias_ih", (rows,)), ("bias_hh", (rows,))]
    if sizes.output != sizes.hidden:
        results.append(("weight_hr", (sizes.output, sizes.hidden)))
    return results


def _sizes(name: str, cell: Cell, params: Sequence[Tensor], channels: int) -> Sizes:
    first, second = params[:2]
    if first.ndim != 2 or second.ndim != 2 or first.shape[0] % cell.gates or not first.shape[0]:
        raise ValueError(
            f"{name}: params must begin with weight_ih ({cell.gates} * H, C) and weight_hh, "
            f"got shapes {first.shape} and {second.shape}"
        )
    hidden, output = first.shape[0] // cell.gates, second.shape[1]
    return Sizes(channels, hidden, output if cell.has_cell_state else hidden)


def _check(name: str, expected: Any, params: Sequence[Tensor], dtype: str, location: str) -> None:
    for (label, shape), tensor in zip(expected, params, strict=True):
        if tensor.shape != shape:
            raise ValueError(
                f"{name}: params must have {label} of shape {shape} for {location}, got "
                f"{tensor.shape}"
            )
        if tensor.dtype != dtype:
            raise TypeError(
                f"{name}: params must have the dtype of input, {dtype}, got {tensor.dtype}"
            )


def cell_weights(cell: Cell, params: Sequence[Tensor], sizes: Sizes, bias: bool) -> dict[str, Any]:
    """Return the weights of one layer and direction by execution argument."""
    trace = params[0].trace
    result = {
        "weights_layer": _arranged(params[0], cell),
        "weights_iter": _arranged(params[1], cell),
    }
    if bias:
        result["bias"] = _bias(params[2], params[3], cell)
    else:
        shape = (1, 1, cell.gates + cell.is_gru, sizes.hidden)
        result["bias"] = trace.zeros(layout.row_major(shape, "float32"))
    if sizes.output != sizes.hidden:
        projection = reshape(params[-1], (1, 1, sizes.output, sizes.hidden))
        result["weights_projection"] = transpose(projection, (0, 1, 3, 2))
    return result


def network_weights(
    name: str, x: Tensor, params: Sequence[Tensor], n_layers: int, n_directions: int, bias: bool
) -> tuple[list[list[dict[str, Any]]], Sizes]:
    """Return the weights by layer and direction, and the sizes of the last layer.

    Raises ValueError or TypeError unless number, shapes and dtypes of the arrays are right.
    """
    cell, n_cells = CELLS[name], n_layers * n_directions
    if not isinstance(params, (tuple, list)) or len(params) < 2:
        raise ValueError(f"{name}: params must be a list of arrays, got {params!r}")
    check_each(name, "params", params)
    sizes = _sizes(name, cell, params, x.shape[-1])
    n_params = len(_expected(cell, sizes, bias))
    if len(params) != n_params * n_cells:
        raise ValueError(
            f"{name}: params must be {n_params} arrays for each of {n_layers} layers and "
            f"{n_directions} directions, got {len(params)}"
        )
    results: list[list[Any]] = []
    for layer in range(n_layers):
        results.append([])
        for direction in range(n_directions):
            start = (layer * n_directions + direction) * n_params
            cell_params = params[start : start + n_params]
            location = f"layer {layer}, direction {direction}"
            _check(name, _expected(cell, sizes, bias), cell_params, x.dtype, location)
            results[-1].append(cell_weights(cell, cell_params, sizes, bias))
        sizes = sizes._replace(input=n_directions * sizes.output)
    return results, sizes


# --- oneDNN primitives and their gradients


def run_cell(
    cell: Cell, x: Tensor, states: dict[str, Tensor], weights: dict[str, Tensor], sizes: Sizes,
    reverse: bool,
) -> dict[str, Tensor]:  # fmt: skip
    """Run one layer in one direction over (T, N, C)."""
    if x.dtype == "bfloat16" and "weights_projection" in weights:
        return _run_in_float32(cell, x, states, weights, sizes, reverse)
    n_steps, n_samples, _ = x.shape
    outs = {
        "dst_layer": Out((n_steps, n_samples, sizes.output), x.dtype),
        "dst_iter": Out((1, 1, n_samples, sizes.output), x.dtype),
    }
    if cell.has_cell_state:
        outs["dst_iter_c"] = Out((1, 1, n_samples, sizes.hidden), "float32")
    inputs = {"src_layer": x, **states, **weights}
    if not x.size:
        return _empty_results(inputs, outs)
    directions = _core.rnn_direction
    right = directions.unidirectional_right2left
    return x.trace.primitive(
        cell.row,
        inputs,
        outs,
        ask={n: "any" if n.startswith("weights") else "row_major" for n in inputs},
        prop_kind=x.trace.forward_kind,
        direction=right if reverse else directions.unidirectional_left2right,
        composed=partial(unrolled, cell.step, reverse),
        **cell.params,
    )


def _run_in_float32(
    cell: Cell,
    x: Tensor,
    states: dict[str, Tensor],
    weights: dict[str, Tensor],
    sizes: Sizes,
    reverse: bool,
) -> dict[str, Tensor]:
    """Run a bfloat16 cell with projection, which oneDNN 3.13 computes incorrectly on CPUs."""
    if policy.current().fallback == "error":
        raise NotImplementedError("lstm: bfloat16 with a projection must run in float32")
    policy.warn_once(
        policy.FallbackWarning,
        (cell.row, "projection"),
        "lstm: bfloat16 with a projection computes in float32 and converts "
        "(set_fallback('error') refuses)",
    )
    convert = x.trace.convert
    first, second = ({n: convert(t, "float32") for n, t in g.items()} for g in (states, weights))
    result = run_cell(cell, convert(x, "float32"), first, second, sizes, reverse)
    return {n: t if n == "dst_iter_c" else convert(t, x.dtype) for n, t in result.items()}


def _empty_results(inputs: dict[str, Tensor], outs: dict[str, Out]) -> dict[str, Tensor]:
    """Return the results for an empty batch, with zero gradients."""
    trace = inputs["src_layer"].trace

    def zeros(shape: tuple[int, ...], dtype: str) -> Tensor:
        return trace.zeros(layout.row_major(shape, dtype), shape)

    result = {name: zeros(out.shape, out.dtype) for name, out in outs.items()}
    independent(list(inputs.values()), result)
    return result


def _gradients(trace: Trace, entry: Entry, grads: Grads, needed: set[str]) -> Grads:
    """Record the backward primitive; oneDNN's gradients are float32."""
    missing = {n: t for n, t in entry.outputs.items() if n.startswith("dst") and n not in grads}
    zeros = {n: trace.zeros(layout.row_major(t.shape, "float32")) for n, t in missing.items()}
    result = backward(
        trace, entry.row.replace("forward", "backward"), entry, grads | zeros, "float32",
        prop_kind=_core.prop_kind.backward,
        # Without this flag gradients are added to the contents of the memory.
        flags=_core.rnn_flags.diff_weights_overwrite,
    )  # fmt: skip
    return {n: trace.convert(t, entry.inputs[n].dtype) for n, t in result.items()}


for _cell in CELLS.values():
    rule_for(_cell.row)(_gradients)
