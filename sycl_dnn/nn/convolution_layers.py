# SPDX-License-Identifier: Apache-2.0
"""Convolutions and transposed convolutions over one to three axes, as in ``torch.nn``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sycl_dnn import functional as F
from sycl_dnn.nn.linear_layers import draw_weight_and_bias, register_parameters
from sycl_dnn.nn.module import Module

_MODES = ("zeros", "reflect", "replicate", "circular")
_TEXT = """A {what}convolution over {n} {axes}, as ``torch.nn.{name}``.

    Parameters
    ----------
    in_channels, out_channels : int
    kernel_size : int or tuple of int
    stride, padding, {more}dilation : int or tuple of int
        {padding}
    groups : int
    bias : bool
    padding_mode : str
        {modes}
    device : dpctl.SyclQueue, optional
    dtype : str or dtype, optional
        float32 by default.

    Attributes
    ----------
    weight : array ({weight}, *kernel_size)
    bias : array (out_channels,) or None
        Both drawn uniformly from +-1 / sqrt(fan_in).

    Raises
    ------
    ValueError
        Channels are not multiples of ``groups``, or a padding or mode is unknown.

    Examples
    --------
    >>> from sycl_dnn import functional as F, nn
    >>> nn.{name}(4, 6, 3)(F.ones(2, 4{sizes})).shape
    {shape}
    """


def as_tuple(value: Any, n: int) -> Any:
    """Return one value per axis; strings and tuples are returned unchanged."""
    if isinstance(value, str):
        return value
    return (value,) * n if isinstance(value, int) else tuple(value)


class _Convolution(Module):
    """The parameters and options that all convolutions share."""

    n_axes: int
    is_transposed = False
    _shown = (
        "=in_channels", "=out_channels", "kernel_size", "stride", ("padding", 0), ("dilation", 1),
        ("output_padding", 0), ("groups", 1), ("bias", True), ("padding_mode", "zeros"),
    )  # fmt: skip

    def _make(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any, padding: Any,
        dilation: Any, output_padding: Any, groups: int, bias: bool, padding_mode: str,
        device: Any, dtype: Any,
    ) -> None:  # fmt: skip
        n, name = self.n_axes, type(self).__name__
        for argument, channels in (("in_channels", in_channels), ("out_channels", out_channels)):
            if groups < 1 or channels % groups:
                raise ValueError(
                    f"{name}: {argument} must be divisible by groups={groups}, got {channels}"
                )
        if padding_mode not in (("zeros",) if self.is_transposed else _MODES):
            raise ValueError(f"{name}: padding_mode must be one of {_MODES}, got {padding_mode!r}")
        if isinstance(padding, str) and padding not in ("same", "valid"):
            raise ValueError(f"{name}: padding must be 'same', 'valid' or numbers, got {padding!r}")
        self.in_channels, self.out_channels = in_channels, out_channels
        self.kernel_size = as_tuple(kernel_size, n)
        self.stride, self.padding = as_tuple(stride, n), as_tuple(padding, n)
        self.dilation, self.output_padding = as_tuple(dilation, n), as_tuple(output_padding, n)
        self.transposed = self.is_transposed
        self.groups, self.padding_mode = groups, padding_mode
        pair = (in_channels, out_channels) if self.is_transposed else (out_channels, in_channels)
        shape = (pair[0], pair[1] // groups, *self.kernel_size)
        shapes = {"weight": shape, "bias": (out_channels,) if bias else None}
        register_parameters(self, shapes, dtype, device)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new values for the parameters."""
        draw_weight_and_bias(self.weight, self.bias)


class _Forward(_Convolution):
    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = 1, padding: str | int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1, groups: int = 1, bias: bool = True,
        padding_mode: str = "zeros", device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self._make(in_channels, out_channels, kernel_size, stride, padding, dilation, 0, groups,
                   bias, padding_mode, device, dtype)  # fmt: skip

    def forward(self, input: Any) -> Any:
        """Map (N, in_channels, *S) to (N, out_channels, *T)."""
        return self._conv_forward(input, self.weight, self.bias)

    def _conv_forward(self, input: Any, weight: Any, bias: Any) -> Any:
        """Convolve with an explicit weight and bias; subclasses may override it, as in torch."""
        function = getattr(F, f"conv{self.n_axes}d")
        padding = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._widths(), self.padding_mode)
            padding = 0
        return function(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def _widths(self) -> list[int]:
        """Return the padding before and after each axis, last axis first."""
        widths = []
        for axis in reversed(range(self.n_axes)):
            if self.padding == "same":
                total = self.dilation[axis] * (self.kernel_size[axis] - 1)
                widths += [total // 2, total - total // 2]
            else:
                widths += [0, 0] if self.padding == "valid" else [self.padding[axis]] * 2
        return widths


class _Transposed(_Convolution):
    is_transposed = True

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = 1, padding: int | Sequence[int] = 0,
        output_padding: int | Sequence[int] = 0, groups: int = 1, bias: bool = True,
        dilation: int | Sequence[int] = 1, padding_mode: str = "zeros", device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self._make(in_channels, out_channels, kernel_size, stride, padding, dilation,
                   output_padding, groups, bias, padding_mode, device, dtype)  # fmt: skip

    def forward(self, input: Any, output_size: Sequence[int] | None = None) -> Any:
        """Map (N, in_channels, *S) to (N, out_channels, *T), or to ``output_size``."""
        function = getattr(F, f"conv_transpose{self.n_axes}d")
        extra = self.output_padding
        if output_size is not None:
            extra = self._extra(input.shape[-self.n_axes :], tuple(output_size)[-self.n_axes :])
        return function(
            input, self.weight, self.bias, self.stride, self.padding, extra, self.groups,
            self.dilation,
        )  # fmt: skip

    def _extra(self, input_size: tuple[int, ...], output_size: tuple[int, ...]) -> tuple[int, ...]:
        rows = zip(
            input_size, self.stride, self.padding, self.dilation, self.kernel_size, strict=True
        )
        smallest = [(n - 1) * s - 2 * p + d * (k - 1) + 1 for n, s, p, d, k in rows]
        result = tuple(w - n for w, n in zip(output_size, smallest, strict=True))
        if any(not 0 <= n < s for n, s in zip(result, self.stride, strict=True)):
            largest = [n + s - 1 for n, s in zip(smallest, self.stride, strict=True)]
            raise ValueError(
                f"{type(self).__name__}: output_size must be from {smallest} to {largest}, got "
                f"{output_size}"
            )
        return result


def _named(base: type, n: int) -> type:
    is_transposed = base is _Transposed
    name = f"Conv{'Transpose' if is_transposed else ''}{n}d"
    text = _TEXT.format(
        what="transposed " if is_transposed else "", n=n, axes="axis" if n == 1 else "axes",
        name=name, more="output_padding, " if is_transposed else "",
        padding="" if is_transposed else '``padding`` may be ``"same"`` or ``"valid"``.',
        modes='``"zeros"``.' if is_transposed else
        '``"zeros"``, ``"reflect"``, ``"replicate"`` or ``"circular"``.',
        weight="in_channels, out_channels / groups" if is_transposed
        else "out_channels, in_channels / groups",
        sizes=", 8" * n, shape=(2, 6, *(10 if is_transposed else 6,) * n),
    )  # fmt: skip
    namespace = {"n_axes": n, "__doc__": text, "__module__": __name__, "__qualname__": name}
    return type(name, (base,), namespace)


Conv1d, Conv2d, Conv3d = (_named(_Forward, n) for n in (1, 2, 3))
ConvTranspose1d, ConvTranspose2d, ConvTranspose3d = (_named(_Transposed, n) for n in (1, 2, 3))
