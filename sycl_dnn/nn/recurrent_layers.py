# SPDX-License-Identifier: Apache-2.0
"""Recurrent networks, as ``torch.nn.RNN``, ``LSTM`` and ``GRU``."""

from __future__ import annotations

import numbers
from collections.abc import Iterator
from typing import Any

from sycl_dnn import functional as F
from sycl_dnn.nn.linear_layers import draw_parameters, new_parameter
from sycl_dnn.nn.module import Module
from sycl_dnn.nn.packed_recurrence import run_packed


class _Network(Module):
    """The common base: parameters by layer and direction."""

    n_gates: int
    mode: str
    _shown = (
        "=input_size", "=hidden_size", ("proj_size", 0), ("num_layers", 1), ("bias", True),
        ("batch_first", False), ("dropout", 0.0), ("bidirectional", False),
    )  # fmt: skip

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
        batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False,
        proj_size: int = 0, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        sizes = (input_size, hidden_size, num_layers)
        _check(type(self).__name__, sizes, bias, batch_first, dropout, proj_size)
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, dropout
        self.bidirectional, self.proj_size = bidirectional, proj_size
        self._names = tuple(_registered(self, dtype, device))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters uniformly from +-1 / sqrt(hidden_size)."""
        draw_parameters(self, self.hidden_size)

    def flatten_parameters(self) -> None:
        """Do nothing: programs pack their weights themselves."""

    def forward(self, input: Any, hx: Any = None) -> Any:
        """Run over (T, N, C), (N, T, C) with ``batch_first``, (T, C), or a ``PackedSequence``.

        Returns
        -------
        output, state
            As ``sycl_dnn.functional.lstm`` and ``gru``. For a ``PackedSequence`` the output is one
            too, and states are in the original order of the sequences.
        """
        if isinstance(input, F.PackedSequence):
            return run_packed(self, input, hx)
        parameters = [getattr(self, name) for name in self._names]
        return getattr(F, self.mode)(
            input, hx, parameters, num_layers=self.num_layers, bidirectional=self.bidirectional,
            batch_first=self.batch_first, bias=self.bias, dropout=self.dropout,
            training=self.training,
        )  # fmt: skip

    def weights_of(self, layer: int, direction: int) -> list[Any]:
        """Return the parameters of one layer and direction, in the functional order."""
        suffix = f"_l{layer}" + ("_reverse" if direction else "")
        return [getattr(self, name) for name in self._names if name.endswith(suffix)]


def _check(
    name: str, sizes: tuple[int, ...], bias: bool, batch_first: bool, dropout: float,
    proj_size: int,
) -> None:  # fmt: skip
    """Raise for the first argument that is none of those that the layer takes."""
    if not all(isinstance(size, numbers.Integral) and size > 0 for size in sizes):
        raise ValueError(
            f"{name}: input_size, hidden_size and num_layers must be integers of at least 1, "
            f"got {sizes}"
        )
    # Such as a rate of dropout that is passed as the fourth argument.
    for option, value in (("bias", bias), ("batch_first", batch_first)):
        if not isinstance(value, bool):
            raise TypeError(f"{name}: {option} must be a bool, got {value!r}")
    if not 0 <= dropout <= 1:
        raise ValueError(f"{name}: dropout must be in [0, 1], got {dropout}")
    if proj_size and (name != "LSTM" or not 0 < proj_size < sizes[1]):
        raise ValueError(
            f"{name}: proj_size must be 0, or of an LSTM less than hidden_size={sizes[1]}, "
            f"got {proj_size}"
        )


def _registered(network: _Network, dtype: Any, device: Any) -> Iterator[str]:
    """Register the parameters and yield their names, in the order of the functions."""
    directions = ("", "_reverse") if network.bidirectional else ("",)
    out, rows = network.proj_size or network.hidden_size, network.n_gates * network.hidden_size
    for layer in range(network.num_layers):
        width = network.input_size if layer == 0 else out * len(directions)
        for direction in directions:
            shapes: dict[str, tuple[int, ...]] = {
                "weight_ih": (rows, width),
                "weight_hh": (rows, out),
            }
            if network.bias:
                shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
            if network.proj_size:
                shapes |= {"weight_hr": (network.proj_size, network.hidden_size)}
            for kind, shape in shapes.items():
                name = f"{kind}_l{layer}{direction}"
                network.register_parameter(name, new_parameter(shape, dtype, device))
                yield name


_TEXT = """{what}, as ``torch.nn.{name}``.

    Parameters
    ----------
    input_size, hidden_size, num_layers : int{first}
    bias, batch_first : bool
    dropout : float
        For the output of each layer but the last, in training.
    bidirectional : bool{last}
    device : dpctl.SyclQueue, optional
    dtype : str or dtype, optional
        float32 by default.

    Raises
    ------
    ValueError
        A number is out of its range.

    Examples
    --------
    >>> from sycl_dnn import functional as F, nn
    >>> nn.{name}(4, 8, 2)(F.randn(5, 3, 4))[0].shape
    (5, 3, 8)
    """


class RNN(_Network):  # noqa: D101 - below
    n_gates = 1

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, nonlinearity: str = "tanh",
        bias: bool = True, batch_first: bool = False, dropout: float = 0.0,
        bidirectional: bool = False, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"RNN: nonlinearity must be 'tanh' or 'relu', got {nonlinearity!r}")
        super().__init__(
            input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0,
            device, dtype,
        )  # fmt: skip
        self.nonlinearity = nonlinearity
        self.mode = f"rnn_{nonlinearity}"


class LSTM(_Network):  # noqa: D101 - below
    n_gates, mode = 4, "lstm"


class GRU(_Network):  # noqa: D101 - below
    n_gates, mode = 3, "gru"


RNN.__doc__ = _TEXT.format(
    what="A recurrence with tanh or ReLU", name="RNN",
    first='\n    nonlinearity : {"tanh", "relu"}', last="",
)  # fmt: skip
LSTM.__doc__ = _TEXT.format(
    what="A long short-term memory", name="LSTM", first="", last="\n    proj_size : int"
)
GRU.__doc__ = _TEXT.format(what="Gated recurrent units", name="GRU", first="", last="")
