# SPDX-License-Identifier: Apache-2.0
"""Recurrent networks over sequences: lstm, gru, rnn_tanh, rnn_relu."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sycl_dnn.dispatch.operation import operation
from sycl_dnn.functional.recurrent_network import Options, run_network

if TYPE_CHECKING:
    import dpnp

    from sycl_dnn.dispatch.array import Array


@operation
def lstm(
    input: dpnp.ndarray | Array,
    hx: tuple[dpnp.ndarray | Array, dpnp.ndarray | Array] | None,
    params: Sequence[dpnp.ndarray | Array],
    *,
    num_layers: int = 1,
    bidirectional: bool = False,
    batch_first: bool = False,
    bias: bool = True,
    dropout: float = 0.0,
    training: bool = False,
) -> tuple[Any, tuple[Any, Any]]:
    """Run a long short-term memory over sequences, as ``torch.nn.LSTM`` does.

    Parameters
    ----------
    input : array (T, N, C), (N, T, C) with ``batch_first``, or (T, C)
        float32, bfloat16 or float16.
    hx : tuple of arrays (L * D, N, P) and (L * D, N, H), or None
        Initial hidden and cell states of L layers and D directions; zeros by default. P = H
        without a projection. Without N for an input without it.
    params : list of arrays
        For each layer and each direction in it: weight_ih (4 * H, C or D * P), weight_hh
        (4 * H, P), with ``bias`` bias_ih and bias_hh (4 * H), with a projection weight_hr
        (P, H). Gates i, f, g, o. This is ``torch.nn.LSTM``'s ``_flat_weights``; that there is
        a projection follows from P.
    num_layers : int
    bidirectional : bool
    batch_first : bool
    bias : bool
    dropout : float
        What is zeroed of each layer's output but the last one's, if ``training``.
    training : bool

    Returns
    -------
    output : array (T, N, D * P)
        Of the last layer; the axes of ``input``.
    (h_n, c_n) : tuple of arrays (L * D, N, P) and (L * D, N, H)

    Raises
    ------
    ValueError, TypeError
        Shapes or dtypes do not fit, or there are no steps or channels.

    Notes
    -----
    Frozen ``params`` (``sycl_dnn.freeze``) are packed once, others at every call.

    Source: oneDNN developer guide, "RNN"; PyTorch documentation, ``torch.nn.LSTM``.
    """
    options = Options(num_layers, bidirectional, batch_first, bias, dropout, training)
    if hx is not None and (not isinstance(hx, (tuple, list)) or len(hx) != 2):
        raise TypeError("lstm: hx must be a pair of arrays or None")
    states = dict(zip(("src_iter", "src_iter_c"), hx or (None, None), strict=True))
    made, last = run_network("lstm", input, states, params, options)
    return made, (last["dst_iter"], last["dst_iter_c"])


_DOC = """Run {what} over sequences, as ``{twin}`` does.

    Parameters
    ----------
    input : array (T, N, C), (N, T, C) with ``batch_first``, or (T, C)
        float32, bfloat16 or float16.
    hx : array (L * D, N, H), or None
        Initial states of L layers and D directions; zeros by default. Without N for an input
        without it.
    params : list of arrays
        For each layer and each direction in it: weight_ih ({gates}H, C or D * H), weight_hh
        ({gates}H, H), with ``bias`` bias_ih and bias_hh ({gates}H). {order}This is PyTorch's
        ``_flat_weights``.
    num_layers : int
    bidirectional : bool
    batch_first : bool
    bias : bool
    dropout : float
        What is zeroed of each layer's output but the last one's, if ``training``.
    training : bool

    Returns
    -------
    output : array (T, N, D * H)
        Of the last layer; the axes of ``input``.
    h_n : array (L * D, N, H)

    Raises
    ------
    ValueError, TypeError
        Shapes or dtypes do not fit, or there are no steps or channels.

    Notes
    -----
    Frozen ``params`` (``sycl_dnn.freeze``) are packed once, others at every call.

    Source: oneDNN developer guide, "RNN"; PyTorch documentation, ``{twin}``.
    """


def _simple(name: str, **words: str) -> Any:
    """Make the function of a network whose state is one array."""

    def function(
        input: dpnp.ndarray | Array,
        hx: dpnp.ndarray | Array | None,
        params: Sequence[dpnp.ndarray | Array],
        *,
        num_layers: int = 1,
        bidirectional: bool = False,
        batch_first: bool = False,
        bias: bool = True,
        dropout: float = 0.0,
        training: bool = False,
    ) -> tuple[Any, Any]:
        options = Options(num_layers, bidirectional, batch_first, bias, dropout, training)
        if isinstance(hx, (tuple, list)):
            raise TypeError(f"{name}: hx must be an array or None, got a {type(hx).__name__}")
        made, last = run_network(name, input, {"src_iter": hx}, params, options)
        return made, last["dst_iter"]

    function.__name__ = function.__qualname__ = name
    function.__doc__ = _DOC.format(**words)
    return operation(function)


gru = _simple(
    "gru", what="gated recurrent units", twin="torch.nn.GRU", gates="3 * ", order="Gates r, z, n. "
)
rnn_tanh = _simple(
    "rnn_tanh", what="a simple recurrence with tanh", twin="torch.nn.RNN", gates="", order=""
)
rnn_relu = _simple(
    "rnn_relu", what="a simple recurrence with relu", twin="torch.nn.RNN", gates="", order=""
)
