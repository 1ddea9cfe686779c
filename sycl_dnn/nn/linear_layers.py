# SPDX-License-Identifier: Apache-2.0
"""``Linear``, ``Bilinear``, ``Embedding`` and ``Identity``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from sycl_dnn import functional as F
from sycl_dnn.nn import init
from sycl_dnn.nn.module import Module
from sycl_dnn.nn.parameter import Parameter


def new_parameter(shape: tuple[int, ...], dtype: Any, device: Any) -> Parameter:
    """Return an uninitialized parameter."""
    return Parameter(F.zeros(shape, dtype=dtype, device=device))


def register_parameters(
    module: Module, shapes: Mapping[str, tuple[int, ...] | None], dtype: Any, device: Any
) -> None:
    """Register uninitialized parameters by name, absent ones for shapes of None."""
    for name, shape in shapes.items():
        parameter = None if shape is None else new_parameter(shape, dtype, device)
        module.register_parameter(name, parameter)


def draw_parameters(module: Module, fan_in: int) -> None:
    """Draw all parameters uniformly from +-1 / sqrt(fan_in)."""
    bound = 1 / math.sqrt(fan_in)
    for parameter in module.parameters():
        init.uniform_(parameter, -bound, bound)


def draw_weight_and_bias(weight: Any, bias: Any) -> None:
    """Draw a weight and a bias (or None) uniformly from +-1 / sqrt(fan_in)."""
    init.kaiming_uniform_(weight, a=math.sqrt(5))
    if bias is not None:
        fan_in = init.fans(weight)[0]
        bound = 1 / math.sqrt(fan_in) if fan_in else 0
        init.uniform_(bias, -bound, bound)


class Identity(Module):
    """Returns its input; constructor arguments are ignored."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        """Return ``input``."""
        return input


class Linear(Module):
    """``x @ weight.T + bias``, as ``torch.nn.Linear``.

    Parameters
    ----------
    in_features, out_features : int
    bias : bool
    device : dpctl.SyclQueue, optional
    dtype : str or dtype, optional
        float32 by default.

    Attributes
    ----------
    weight : array (out_features, in_features)
    bias : array (out_features,) or None
        Both drawn from the uniform distribution on +-1 / sqrt(in_features).

    Examples
    --------
    >>> from sycl_dnn import functional as F, nn
    >>> layer = nn.Linear(20, 30)
    >>> layer(F.ones(128, 20)).shape
    (128, 30)
    """

    _shown = ("in_features", "out_features", "bias")

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        shapes = {"weight": (out_features, in_features), "bias": (out_features,) if bias else None}
        register_parameters(self, shapes, dtype, device)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new values for the parameters."""
        draw_weight_and_bias(self.weight, self.bias)

    def forward(self, input: Any) -> Any:
        """Map (*, in_features) to (*, out_features)."""
        return F.linear(input, self.weight, self.bias)


class Bilinear(Module):
    """``x1 @ weight @ x2 + bias`` for each output, as ``torch.nn.Bilinear``.

    Parameters
    ----------
    in1_features, in2_features, out_features : int
    bias : bool
    device, dtype
        As ``Linear``.

    Attributes
    ----------
    weight : array (out_features, in1_features, in2_features)
    bias : array (out_features,) or None
    """

    _shown = ("in1_features", "in2_features", "out_features", "bias")

    def __init__(
        self, in1_features: int, in2_features: int, out_features: int, bias: bool = True,
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        shape = (out_features, in1_features, in2_features)
        shapes = {"weight": shape, "bias": (out_features,) if bias else None}
        register_parameters(self, shapes, dtype, device)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new values for the parameters."""
        draw_parameters(self, self.in1_features)

    def forward(self, input1: Any, input2: Any) -> Any:
        """Map (*, in1_features) and (*, in2_features) to (*, out_features)."""
        return F.bilinear(input1, input2, self.weight, self.bias)


def _table_size(layer: type, embeddings: Any) -> tuple[int, int]:
    if embeddings.ndim != 2:
        raise ValueError(
            f"{layer.__name__}.from_pretrained: embeddings must have 2 axes, got shape "
            f"{tuple(embeddings.shape)}"
        )
    rows, width = embeddings.shape
    return rows, width


class Embedding(Module):
    """Table lookup by index, as ``torch.nn.Embedding``.

    Parameters
    ----------
    num_embeddings, embedding_dim : int
    padding_idx : int, optional
        Index of a row that starts as zeros and receives no gradient.
    max_norm, norm_type, scale_grad_by_freq, sparse
        As ``sycl_dnn.functional.embedding``, which accepts only the defaults.

    Attributes
    ----------
    weight : array (num_embeddings, embedding_dim)
        Drawn from the standard normal distribution.
    """

    _shown: tuple[Any, ...] = ("=num_embeddings", "=embedding_dim", ("padding_idx", None))

    def __init__(
        self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None,
        max_norm: float | None = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False,
        sparse: bool = False, _weight: Any = None, _freeze: bool = False, device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        if padding_idx is not None:
            if not -num_embeddings <= padding_idx < num_embeddings:
                raise ValueError(
                    f"{type(self).__name__}: padding_idx must be within num_embeddings="
                    f"{num_embeddings}, got {padding_idx}"
                )
            padding_idx %= num_embeddings
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = padding_idx
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse
        if _weight is None:
            self.weight: Any = new_parameter((num_embeddings, embedding_dim), dtype, device)
            self.reset_parameters()
        elif tuple(_weight.shape) == (num_embeddings, embedding_dim):
            self.weight = Parameter(_weight)
        else:
            raise ValueError(
                f"{type(self).__name__}: the weight must have shape "
                f"{(num_embeddings, embedding_dim)}, got {tuple(_weight.shape)}"
            )
        if _freeze:
            self.freeze()

    @classmethod
    def from_pretrained(
        cls, embeddings: Any, freeze: bool = True, padding_idx: int | None = None,
        max_norm: float | None = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Any:  # fmt: skip
        """Return a layer over these rows, which are not copied; ``freeze`` makes them constant.

        Examples
        --------
        >>> from sycl_dnn import functional as F, nn
        >>> nn.Embedding.from_pretrained(F.ones(3, 4)).weight.requires_grad
        False
        """
        rows, width = _table_size(cls, embeddings)
        return cls(
            rows, width, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse, embeddings,
            freeze,
        )  # fmt: skip

    def reset_parameters(self) -> None:
        """Draw a new table."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            init.zeros_(self.weight[self.padding_idx])

    def forward(self, input: Any) -> Any:
        """Map integers (*) to (*, embedding_dim)."""
        return F.embedding(
            input, self.weight, self.padding_idx, self.max_norm, self.norm_type,
            self.scale_grad_by_freq, self.sparse,
        )  # fmt: skip


class EmbeddingBag(Embedding):
    """Sums, means or maxima of bags of rows, as ``torch.nn.EmbeddingBag``.

    Parameters
    ----------
    num_embeddings, embedding_dim : int
    _weight : array (num_embeddings, embedding_dim), optional
        The table, which is not copied.
    device, dtype
        As ``Linear``.
    mode : {"mean", "sum", "max"}
    include_last_offset : bool
        The last offset is the end of the last bag.
    padding_idx : int, optional
        Index of a row that bags leave out; it starts as zeros.
    max_norm, norm_type, scale_grad_by_freq, sparse
        As ``sycl_dnn.functional.embedding_bag``, which accepts only the defaults.

    Attributes
    ----------
    weight : array (num_embeddings, embedding_dim)
        Drawn from the standard normal distribution.
    """

    _shown = ("=num_embeddings", "=embedding_dim", "mode", ("padding_idx", None))

    def __init__(
        self, num_embeddings: int, embedding_dim: int, max_norm: float | None = None,
        norm_type: float = 2.0, scale_grad_by_freq: bool = False, mode: str = "mean",
        sparse: bool = False, _weight: Any = None, include_last_offset: bool = False,
        padding_idx: int | None = None, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(
            num_embeddings, embedding_dim, padding_idx, max_norm, norm_type, scale_grad_by_freq,
            sparse, _weight, device=device, dtype=dtype,
        )  # fmt: skip
        self.mode, self.include_last_offset = mode, include_last_offset

    @classmethod
    def from_pretrained(  # type: ignore[override]
        cls, embeddings: Any, freeze: bool = True, max_norm: float | None = None,
        norm_type: float = 2.0, scale_grad_by_freq: bool = False, mode: str = "mean",
        sparse: bool = False, include_last_offset: bool = False, padding_idx: int | None = None,
    ) -> Any:  # fmt: skip
        """Return a layer over these rows, as ``Embedding.from_pretrained``."""
        rows, width = _table_size(cls, embeddings)
        layer = cls(
            rows, width, max_norm, norm_type, scale_grad_by_freq, mode, sparse, embeddings,
            include_last_offset, padding_idx,
        )  # fmt: skip
        if freeze:
            layer.freeze()
        return layer

    def forward(self, input: Any, offsets: Any = None, per_sample_weights: Any = None) -> Any:  # type: ignore[override]
        """Map integers (B, L), or (N,) with offsets (B,), to (B, embedding_dim)."""
        return F.embedding_bag(
            input, self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq,
            self.mode, self.sparse, per_sample_weights, self.include_last_offset, self.padding_idx,
        )  # fmt: skip
