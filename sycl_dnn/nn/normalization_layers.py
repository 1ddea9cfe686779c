# SPDX-License-Identifier: Apache-2.0
"""Normalization layers; running statistics are updated when a program runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sycl_dnn import functional as F
from sycl_dnn.nn import init
from sycl_dnn.nn.linear_layers import register_parameters
from sycl_dnn.nn.module import Module
from sycl_dnn.nn.placement import to_queue
from sycl_dnn.trace.values import Tensor


class _Affine(Module):
    """An optional scale, initially ones, and shift, initially zeros."""

    def _add(
        self, shape: tuple[int, ...], weight: bool, bias: bool, dtype: Any, device: Any
    ) -> None:
        shapes = {"weight": shape if weight else None, "bias": shape if bias else None}
        register_parameters(self, shapes, dtype, device)

    def reset_parameters(self) -> None:
        """Set weights to one and biases to zero."""
        if self.weight is not None:
            init.ones_(self.weight)
        if getattr(self, "bias", None) is not None:
            init.zeros_(self.bias)


class _Running(_Affine):
    """Batch and instance normalization, by batch statistics or running ones."""

    #: Allowed ranks of the input.
    ranks: tuple[int, ...]
    name = ""
    _shown = ("=num_features", "eps", "momentum", "affine", "bias", "track_running_stats")

    def _make(
        self, num_features: int, eps: float, momentum: float | None, affine: bool,
        track_running_stats: bool, device: Any, dtype: Any, bias: bool,
    ) -> None:  # fmt: skip
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        self._add((num_features,), affine, affine and bias, dtype, device)
        for name, fill in (("running_mean", 0.0), ("running_var", 1.0)):
            statistic = F.full((num_features,), fill, dtype=dtype, device=device)
            self.register_buffer(name, statistic if track_running_stats else None)
        # float32 counts exactly up to 16,777,216; state dicts have int64, as in torch.
        count = F.zeros((), device=device) if track_running_stats else None
        self.register_buffer("num_batches_tracked", count)
        self.reset_parameters()

    def _saved(self, name: str, value: Any) -> Any:
        return F.astype(value, "int64") if name == "num_batches_tracked" else value

    def _apply(self, fn: Callable[[Any], Any], recurse: bool = True) -> Any:
        """Keep the dtype of the count, which narrower ones than float32 would stop."""
        count = self._buffers["num_batches_tracked"]
        super()._apply(fn, recurse)
        moved = self._buffers["num_batches_tracked"]
        if count is not None and moved.dtype != count.dtype:
            self._buffers["num_batches_tracked"] = to_queue(count, moved.sycl_queue)
        return self

    def reset_running_stats(self) -> None:
        """Reset the running mean to 0 and variance to 1."""
        if self.track_running_stats:
            init.zeros_(self.running_mean)
            init.ones_(self.running_var)
            init.zeros_(self.num_batches_tracked)

    def _check(self, input: Any) -> None:
        kind = type(self).__name__
        if input.ndim not in self.ranks:
            allowed = " or ".join(f"{n}D" for n in self.ranks)
            raise ValueError(f"{kind}: expected {allowed} input (got {input.ndim}D input)")

    def _counted(self, input: Any) -> Any:
        """Count a batch and return the number of batches so far."""
        old = self.num_batches_tracked
        if isinstance(input, Tensor) and not isinstance(old, Tensor):
            old = input.trace.capture(old)
        count = F.add(old, 1.0)
        self.update_buffer("num_batches_tracked", count)
        return count


class _BatchNorm(_Running):
    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1,
        affine: bool = True, track_running_stats: bool = True, device: Any = None,
        dtype: Any = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        self._make(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias)

    def forward(self, input: Any) -> Any:
        """Normalize (N, num_features, *S)."""
        self._check(input)
        by_batch = self.training or self.running_mean is None
        is_tracked = self.training and self.track_running_stats
        count = self._counted(input) if is_tracked else None
        if is_tracked and self.momentum is None:
            self._average(input, count)
        keeps = by_batch and (not is_tracked or self.momentum is None)
        mean, var = (None, None) if keeps else (self.running_mean, self.running_var)
        momentum = 0.0 if self.momentum is None else self.momentum
        return F.batch_norm(input, mean, var, self.weight, self.bias, by_batch, momentum, self.eps)

    def _average(self, input: Any, count: Any) -> None:
        """Update the statistics as cumulative averages over all batches."""
        axes = [0, *range(2, input.ndim)]
        dtype = "float64" if str(input.dtype) == "float64" else "float32"
        wide, count = F.astype(input, dtype), F.astype(count, dtype)
        statistics = {"running_mean": F.mean(wide, axes), "running_var": F.var(wide, axes)}
        for name, new in statistics.items():
            old = getattr(self, name)
            if isinstance(input, Tensor) and not isinstance(old, Tensor):
                old = input.trace.capture(old)
            old = F.astype(old, dtype)
            self.update_buffer(name, F.add(old, F.div(F.sub(new, old), count)))


class _InstanceNorm(_Running):
    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = False,
        track_running_stats: bool = False, device: Any = None, dtype: Any = None, *,
        bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        self._make(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias)

    def forward(self, input: Any) -> Any:
        """Normalize each channel of each sample of (N, num_features, *S), or of (C, *S)."""
        self._check(input)
        is_single = input.ndim == min(self.ranks)
        x = F.unsqueeze(input, 0) if is_single else input
        result = F.instance_norm(
            x, self.running_mean, self.running_var, self.weight, self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum, self.eps,
        )  # fmt: skip
        return F.squeeze(result, 0) if is_single else result


_TEXT = """{what} over inputs of {ranks} axes, as ``torch.nn.{name}``.

    Parameters
    ----------
    num_features : int
        Channels, the size of axis 1.
    eps : float
    momentum : float or None
        Weight of a batch in the running statistics; None for the average of all.
    affine : bool
        Whether there are ``weight`` (ones at first) and ``bias`` (zeros).
    track_running_stats : bool
        Whether ``running_mean``, ``running_var`` and ``num_batches_tracked`` are kept, and used
        in ``eval()``.
    bias : bool
        Whether ``affine`` includes one.
    device : dpctl.SyclQueue, optional
    dtype : str or dtype, optional
        float32 by default.

    Raises
    ------
    ValueError
        In a call: the input has a different number of axes.

    Examples
    --------
    >>> from sycl_dnn import functional as F, nn
    >>> nn.{name}(3)(F.randn(4, 3{sizes})).shape
    (4, 3{sizes})
    """


def _named(base: type, n: int) -> type:
    is_batch = base is _BatchNorm
    name = f"{base.__name__[1:]}{n}d"
    ranks = {1: (2, 3)}.get(n, (n + 2,)) if is_batch else (n + 1, n + 2)
    text = _TEXT.format(
        what="Batch normalization" if is_batch else "Instance normalization",
        ranks=" or ".join(map(str, ranks)), name=name, sizes=", 5" * n,
    )  # fmt: skip
    namespace = {"ranks": ranks, "__doc__": text, "__module__": __name__, "__qualname__": name}
    return type(name, (base,), namespace)


BatchNorm1d, BatchNorm2d, BatchNorm3d = (_named(_BatchNorm, n) for n in (1, 2, 3))
InstanceNorm1d, InstanceNorm2d, InstanceNorm3d = (_named(_InstanceNorm, n) for n in (1, 2, 3))


def _axes(shape: int | Sequence[int]) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, int) else tuple(shape)


class LayerNorm(_Affine):
    """Normalization over the last axes, as ``torch.nn.LayerNorm``.

    Parameters
    ----------
    normalized_shape : int or sequence of int
        Sizes of the last axes.
    eps : float
    elementwise_affine, bias : bool
        Whether to have ``weight`` and ``bias``, of that shape.
    device, dtype
        As ``Linear``.

    Examples
    --------
    >>> from sycl_dnn import functional as F, nn
    >>> nn.LayerNorm(8)(F.randn(2, 3, 8)).shape
    (2, 3, 8)
    """

    _shown = ("=normalized_shape", "eps", "elementwise_affine", "bias")

    def __init__(
        self, normalized_shape: int | Sequence[int], eps: float = 1e-5,
        elementwise_affine: bool = True, bias: bool = True, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.normalized_shape, self.eps = _axes(normalized_shape), eps
        self.elementwise_affine = elementwise_affine
        has_bias = elementwise_affine and bias
        self._add(self.normalized_shape, elementwise_affine, has_bias, dtype, device)
        self.reset_parameters()

    def forward(self, input: Any) -> Any:
        """Normalize (*, *normalized_shape)."""
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)


class RMSNorm(_Affine):
    """Division by the root of the mean square over the last axes, as ``torch.nn.RMSNorm``.

    Parameters
    ----------
    normalized_shape : int or sequence of int
    eps : float, optional
        By default the epsilon of the dtype.
    elementwise_affine : bool
    device, dtype
        As ``Linear``.
    """

    _shown = ("=normalized_shape", "eps", "elementwise_affine")

    def __init__(
        self, normalized_shape: int | Sequence[int], eps: float | None = None,
        elementwise_affine: bool = True, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.normalized_shape, self.eps = _axes(normalized_shape), eps
        self.elementwise_affine = elementwise_affine
        shape = self.normalized_shape if elementwise_affine else None
        register_parameters(self, {"weight": shape}, dtype, device)
        self.reset_parameters()

    def forward(self, input: Any) -> Any:
        """Normalize (*, *normalized_shape)."""
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)


class GroupNorm(_Affine):
    """Normalization over groups of channels, as ``torch.nn.GroupNorm``.

    Parameters
    ----------
    num_groups, num_channels : int
    eps : float
    affine, bias : bool
        Whether to have a weight, and with it a bias.
    device, dtype
        As ``Linear``.

    Raises
    ------
    ValueError
        ``num_channels`` is not a multiple of ``num_groups``.
    """

    _shown = ("=num_groups", "=num_channels", "eps", "affine", "bias")

    def __init__(
        self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True,
        device: Any = None, dtype: Any = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(
                f"GroupNorm: num_channels must be divisible by num_groups={num_groups}, got "
                f"{num_channels}"
            )
        self.num_groups, self.num_channels, self.eps = num_groups, num_channels, eps
        self.affine = affine
        self._add((num_channels,), affine, affine and bias, dtype, device)
        self.reset_parameters()

    def forward(self, input: Any) -> Any:
        """Normalize (N, num_channels, *S)."""
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)
