# SPDX-License-Identifier: Apache-2.0
"""``lstm``, ``gru``, ``rnn_tanh`` and ``rnn_relu`` over sequences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from sycl_dnn.call.operation import named, operation
from sycl_dnn.functional.activation.dropout import dropout
from sycl_dnn.functional.arithmetic.elementwise import check_same_dtype
from sycl_dnn.functional.recurrent.cell import CELLS, Sizes, network_weights, run_cell
from sycl_dnn.functional.shape.joining import join, pieces
from sycl_dnn.functional.shape.reshaping import checked_int
from sycl_dnn.trace import layout
from sycl_dnn.trace.captured_inputs import drawing
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import reshape, transpose

_DTYPES = ("float32", "bfloat16", "float16")
#: Execution arguments of the final states.
_STATES = ("dst_iter", "dst_iter_c")


class Options(NamedTuple):
    """Keyword arguments that all networks share."""

    num_layers: int
    bidirectional: bool
    batch_first: bool
    bias: bool
    dropout: float
    training: bool


def _initial(
    name: str, x: Tensor, initial: dict[str, Tensor | None], sizes: Sizes, n_cells: int
) -> list[dict[str, Tensor]]:
    """Return the initial states of every layer and direction as (1, 1, N, channels)."""
    cell, n_samples = CELLS[name], x.shape[1]
    channels = {"src_iter": sizes.output}
    if cell.has_cell_state:
        channels["src_iter_c"] = sizes.hidden
    results: list[dict[str, Tensor]] = [{} for _ in range(n_cells)]
    for argument, size in channels.items():
        state, shape = initial.get(argument), (1, 1, n_samples, size)
        dtype = "float32" if argument == "src_iter_c" else x.dtype
        if state is not None:
            _check_state(name, state, x, (n_cells, n_samples, size))
            parts = [reshape(p, shape) for p in pieces(state, 0, [1] * n_cells)]
            parts = [x.trace.convert(p, dtype) for p in parts]
        elif x.trace.training or (cell.has_cell_state and not x.trace.is_on_cpu):
            # Without initial states oneDNN's backward primitives use the first output instead, and
            # its GPU kernel reads uninitialized scratchpad memory as the cell state.
            parts = [x.trace.zeros(layout.row_major(shape, dtype))] * n_cells
        else:
            continue
        for states, part in zip(results, parts, strict=True):
            states[argument] = part
    return results


def _check_state(name: str, state: Tensor, x: Tensor, shape: tuple[int, ...]) -> None:
    if state.shape != shape:
        raise ValueError(f"{name}: hx must have shape {shape}, got {state.shape}")
    check_same_dtype(name, "input", "hx", x, state)


def _check_input(name: str, x: Tensor, options: Options) -> None:
    if x.ndim not in (2, 3) or 0 in (x.shape[-1], x.shape[0 if x.ndim == 2 else _time(options)]):
        raise ValueError(
            f"{name}: input must have 3 axes, or 2 without a batch, at least one step and one "
            f"channel, got shape {x.shape}"
        )
    if x.dtype not in _DTYPES:
        raise TypeError(f"{name}: input must be {', '.join(_DTYPES)}, got {x.dtype}")
    if not 0 <= options.dropout <= 1:
        raise ValueError(f"{name}: dropout must be in [0, 1], got {options.dropout}")
    checked_int(name, "num_layers", options.num_layers, 1)


def _time(options: Options) -> int:
    return 1 if options.batch_first else 0


def _network(
    name: str, x: Tensor, states: dict[str, Tensor | None], params: Sequence[Tensor],
    options: Options,
) -> tuple[Tensor, dict[str, Tensor]]:  # fmt: skip
    """Run all layers over (T, N, C); return the output and the final states."""
    n_directions = 2 if options.bidirectional else 1
    weights, sizes = network_weights(
        name, x, params, options.num_layers, n_directions, options.bias
    )
    initial = iter(_initial(name, x, states, sizes, options.num_layers * n_directions))
    ends: list[dict[str, Tensor]] = []
    for layer, directions in enumerate(weights):
        if layer and options.dropout and options.training:
            x = dropout(x, options.dropout, True)
        for reverse, cell_weights in enumerate(directions):
            ends.append(run_cell(CELLS[name], x, next(initial), cell_weights, sizes, bool(reverse)))
        x = join([end["dst_layer"] for end in ends[-n_directions:]], 2)
    return x, {n: _last(ends, n, x.dtype) for n in _STATES if n in ends[0]}


def _last(ends: list[dict[str, Tensor]], name: str, dtype: str) -> Tensor:
    """Return the final states of all layers and directions as (L * D, N, channels)."""
    parts = [reshape(end[name], end[name].shape[1:]) for end in ends]
    return parts[0].trace.convert(join(parts, 0), dtype)


def run_network(
    name: str, x: Tensor, states: dict[str, Tensor | None], params: Sequence[Tensor],
    options: Options,
) -> tuple[Tensor, dict[str, Tensor]]:  # fmt: skip
    """Convert the input to (T, N, C), and the results back."""
    _check_input(name, x, options)
    if x.ndim == 2:
        states = {
            n: None if s is None else reshape(s, (*s.shape[:1], 1, *s.shape[1:]))
            for n, s in states.items()
        }
        options = options._replace(batch_first=False)
        result, last = _network(name, reshape(x, (len(x), 1, x.shape[1])), states, params, options)
        last = {n: reshape(s, (s.shape[0], s.shape[2])) for n, s in last.items()}
        return reshape(result, (len(x), result.shape[2])), last
    if not options.batch_first:
        return _network(name, x, states, params, options)
    result, last = _network(name, transpose(x, (1, 0, 2)), states, params, options)
    return transpose(result, (1, 0, 2)), last


# --- lstm, gru, rnn_tanh, rnn_relu


_DOC = """{summary}

Parameters
----------
input : array (T, N, C), (N, T, C) with ``batch_first``, or (T, C)
    float32, bfloat16 or float16.
{parameters}num_layers : int
bidirectional : bool
batch_first : bool
bias : bool
dropout : float
    Dropout probability of each layer's output but the last one's, if ``training``.
training : bool

Returns
-------
output : array (T, N, D * {size})
    Of the last layer; axes as in ``input``.
{last}

Raises
------
ValueError, TypeError
    Shapes or dtypes do not match, or there are no steps or channels.

Notes
-----
Frozen ``params`` (``sycl_dnn.freeze``) are packed once, others at every call.

Source: oneDNN developer guide, "RNN"; PyTorch documentation, ``{twin}``.
"""


#: Argument entries of networks with two states, and with one.
_TWO_STATES = """hx : tuple of arrays (L * D, N, P) and (L * D, N, H), or None
    Initial hidden and cell states of L layers and D directions; zeros by default. P = H without
    a projection. N is omitted for unbatched input.
params : list of arrays
    For each layer and direction: weight_ih (4 * H, C or D * P), weight_hh (4 * H, P); with
    ``bias`` bias_ih and bias_hh (4 * H); with a projection weight_hr (P, H), whose presence
    determines P. Gates i, f, g, o. This is ``torch.nn.LSTM``'s ``_flat_weights``.
"""
_ONE_STATE = """hx : array (L * D, N, H), or None
    Initial states of L layers and D directions; zeros by default. N is omitted for unbatched input.
params : list of arrays
    For each layer and direction: weight_ih ({gates}H, C or D * H), weight_hh
    ({gates}H, H), with ``bias`` bias_ih and bias_hh ({gates}H). {order}This is PyTorch's
    ``_flat_weights``.
"""


def _function(
    name: str, description: str, twin: str, gates: str = "", order: str = ""
) -> Callable[..., Any]:
    """Make the function of a kind of network."""
    names = ("src_iter", "src_iter_c") if CELLS[name].has_cell_state else ("src_iter",)

    def function(
        input: Tensor,
        hx: Any,
        params: Sequence[Tensor],
        *,
        num_layers: int = 1,
        bidirectional: bool = False,
        batch_first: bool = False,
        bias: bool = True,
        dropout: float = 0.0,
        training: bool = False,
    ) -> tuple[Any, Any]:
        options = Options(num_layers, bidirectional, batch_first, bias, dropout, training)
        is_pair = isinstance(hx, (tuple, list))
        if len(names) == 1 and is_pair:
            raise TypeError(f"{name}: hx must be an array or None, got a {type(hx).__name__}")
        if len(names) == 2 and hx is not None and not (is_pair and len(hx) == 2):
            raise TypeError(f"{name}: hx must be a pair of arrays or None")
        states = dict(zip(names, hx if is_pair else (hx, None), strict=False))
        result, last = run_network(name, input, states, params, options)
        return result, tuple(last.values()) if len(names) == 2 else last["dst_iter"]

    notes = {"hx": "Tensor | None"}
    words = {"size": "H", "last": "h_n : array (L * D, N, H)"}
    if len(names) == 2:
        notes = {"hx": "tuple[Tensor, Tensor] | None", "return": "tuple[Any, tuple[Any, Any]]"}
        last = "(h_n, c_n) : tuple of arrays (L * D, N, P) and (L * D, N, H)"
        words = {"size": "P", "last": last}
    function.__annotations__ |= notes
    parameters = (_TWO_STATES if len(names) == 2 else _ONE_STATE).format(gates=gates, order=order)
    summary = f"Run {description} over sequences, as ``{twin}``."
    doc = _DOC.format(summary=summary, parameters=parameters, twin=twin, **words)
    return drawing(operation(named(function, name, doc)))


lstm = _function("lstm", "a long short-term memory network", "torch.nn.LSTM")
gru = _function("gru", "gated recurrent units", "torch.nn.GRU", "3 * ", "Gates r, z, n. ")
rnn_tanh = _function("rnn_tanh", "a simple recurrence with tanh", "torch.nn.RNN")
rnn_relu = _function("rnn_relu", "a simple recurrence with relu", "torch.nn.RNN")
