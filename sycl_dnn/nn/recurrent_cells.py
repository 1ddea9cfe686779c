# SPDX-License-Identifier: Apache-2.0
"""Single steps of recurrent networks: ``RNNCell``, ``LSTMCell`` and ``GRUCell`` of ``torch.nn``."""

from __future__ import annotations

from typing import Any

from sycl_dnn import functional as F
from sycl_dnn.nn.linear_layers import draw_parameters, register_parameters
from sycl_dnn.nn.module import Module


class _Cell(Module):
    """The common base of the three cells."""

    n_gates: int
    mode: str
    _shown: tuple[Any, ...] = ("=input_size", "=hidden_size", ("bias", True))

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        if input_size < 1 or hidden_size < 1:
            raise ValueError(
                f"{type(self).__name__}: input_size and hidden_size must be at least 1, got "
                f"{input_size} and {hidden_size}"
            )
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows = self.n_gates * hidden_size
        shapes: dict[str, tuple[int, ...] | None] = {
            "weight_ih": (rows, input_size), "weight_hh": (rows, hidden_size),
            "bias_ih": (rows,) if bias else None, "bias_hh": (rows,) if bias else None,
        }  # fmt: skip
        register_parameters(self, shapes, dtype, device)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters uniformly from +-1 / sqrt(hidden_size)."""
        draw_parameters(self, self.hidden_size)

    def forward(self, input: Any, hx: Any = None) -> Any:
        """Compute one step of (N, C) or (C,).

        Parameters
        ----------
        input : array (N, C) or (C,)
        hx : array (N, H) or (H,), of ``LSTMCell`` a pair of them; optional
            The previous state; zeros by default.

        Returns
        -------
        array, or a pair of arrays
            The next state.
        """
        if input.ndim not in (1, 2):
            raise ValueError(
                f"{type(self).__name__}: Expected input to be 1D or 2D, got {input.ndim}D instead"
            )
        # A sequence of length one; unbatched, the functions accept (T, C) and states (1, H).
        names = [n for n in self._parameters if self._parameters[n] is not None]
        weights = [getattr(self, name) for name in names]
        if hx is not None:
            is_pair = self.mode == "lstm"
            hx = tuple(F.unsqueeze(s, 0) for s in hx) if is_pair else F.unsqueeze(hx, 0)
        last = getattr(F, self.mode)(F.unsqueeze(input, 0), hx, weights, bias=self.bias)[1]
        if isinstance(last, tuple):
            return tuple(F.squeeze(s, 0) for s in last)
        return F.squeeze(last, 0)


_TEXT = """One step of {what}, as ``torch.nn.{name}``.

    Parameters
    ----------
    input_size, hidden_size : int
    bias : bool{more}
    device, dtype
        As ``Linear``.

    Raises
    ------
    ValueError
        A size is less than 1{also}.

    Examples
    --------
    >>> from sycl_dnn import functional as F, nn
    >>> {example}
    """


class RNNCell(_Cell):  # noqa: D101 - below
    n_gates = 1
    _shown = (*_Cell._shown, ("nonlinearity", "tanh"))

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh",
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(
                f"RNNCell: nonlinearity must be 'tanh' or 'relu', got {nonlinearity!r}"
            )
        super().__init__(input_size, hidden_size, bias, device, dtype)
        self.nonlinearity = nonlinearity
        self.mode = f"rnn_{nonlinearity}"


class LSTMCell(_Cell):  # noqa: D101 - below
    n_gates, mode = 4, "lstm"


class GRUCell(_Cell):  # noqa: D101 - below
    n_gates, mode = 3, "gru"


RNNCell.__doc__ = _TEXT.format(
    what="a recurrence with tanh or ReLU", name="RNNCell",
    more='\n    nonlinearity : {"tanh", "relu"}',
    also=", or ``nonlinearity`` is neither of the two",
    example="nn.RNNCell(4, 8)(F.randn(3, 4)).shape\n    (3, 8)",
)  # fmt: skip
LSTMCell.__doc__ = _TEXT.format(
    what="a long short-term memory", name="LSTMCell", more="", also="",
    example="h, c = nn.LSTMCell(4, 8)(F.randn(3, 4), (F.zeros(3, 8), F.zeros(3, 8)))\n"
    "    >>> h.shape, c.shape\n    ((3, 8), (3, 8))",
)  # fmt: skip
GRUCell.__doc__ = _TEXT.format(
    what="gated recurrent units", name="GRUCell", more="", also="",
    example="nn.GRUCell(4, 8)(F.randn(4), F.zeros(8)).shape\n    (8,)",
)  # fmt: skip
