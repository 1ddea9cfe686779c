# SPDX-License-Identifier: Apache-2.0
"""Tensor parallelism: layers whose weights are partitioned by column, row or token."""

from __future__ import annotations

from typing import Any

from sycl_dnn import functional as F
from sycl_dnn.call.custom_gradients import with_adjoint
from sycl_dnn.distributed.collectives import all_gather, all_reduce, broadcast, chosen
from sycl_dnn.distributed.group import Group, OfGroup
from sycl_dnn.nn.linear_layers import Embedding, Linear
from sycl_dnn.nn.module import Module
from sycl_dnn.nn.parameter import Parameter
from sycl_dnn.nn.utils.weight_normalization import origin_of


def shared_input(x: Any, group: Group | None = None) -> Any:
    """Return ``x``, which is equal on all ranks; its gradient is summed over the ranks.

    Parameters
    ----------
    x : array
    group : Group, optional

    Notes
    -----
    Together with ``shared_sum`` at the other end, it delimits a section of a network that is
    partitioned across the ranks. Source: Shoeybi et al., "Megatron-LM", arXiv:1909.08053, functions
    f and g.

    Examples
    --------
    >>> import dpnp
    >>> import sycl_dnn
    >>> sycl_dnn.distributed.shared_input(dpnp.ones(2)).tolist()
    [1.0, 1.0]
    """
    group = chosen(group)
    # Each is the other's gradient, so that gradients have gradients.
    return with_adjoint(lambda x: x, lambda dy: shared_sum(dy, group))(x)


def shared_sum(x: Any, group: Group | None = None) -> Any:
    """Return the sum over the ranks; the gradient is passed through unchanged.

    Parameters
    ----------
    x : array
    group : Group, optional

    Notes
    -----
    For results that all ranks use identically; see ``shared_input``. Use ``all_reduce`` for losses
    that differ between ranks.

    Examples
    --------
    >>> import dpnp
    >>> import sycl_dnn
    >>> sycl_dnn.distributed.shared_sum(dpnp.ones(2)).tolist()
    [1.0, 1.0]
    """
    group = chosen(group)
    return with_adjoint(lambda x: all_reduce(x, group=group), lambda dy: shared_input(dy, group))(x)


def _share(n: int, group: Group, argument: str) -> slice:
    if n % group.size:
        raise ValueError(f"{argument} must be divisible by {group.size} ranks, got {n}")
    each = n // group.size
    return slice(group.rank * each, (group.rank + 1) * each)


def _check_kind(name: str, source: Any, kind: type[Module]) -> None:
    """Refuse a layer that computes something else than ``kind``, which its part would not."""
    if type(source).forward is not kind.forward or origin_of(source)[1]:
        raise TypeError(f"{name}.of: the layer must be a plain nn.{kind.__name__}, got {source!r}")


class _Partitioned(OfGroup, Module):
    """Base of layers that are split across ranks; norms and checks cover all parts."""

    #: Parameters that are split across ranks.
    partitioned: tuple[str, ...]

    @classmethod
    def of(cls, layer: Any, group: Group | None = None) -> Any:
        """Return this rank's part of a layer that is equal on all ranks."""
        part = cls.__new__(cls)
        part._take(layer, group)
        return part

    def _take(self, layer: Any, group: Group | None) -> None:
        """Initialize this rank's part of a layer."""
        raise NotImplementedError

    @staticmethod
    def gathered(x: Any, group: Group) -> Any:
        """Return an array's values on all ranks."""
        return all_gather(x, group=group)


class _ParallelLinear(_Partitioned):
    weight: Any
    bias: Any
    in_features: int
    out_features: int

    def _take(self, layer: Any, group: Group | None) -> None:
        Module.__init__(self)
        _check_kind(type(self).__name__, layer, Linear)
        self._group_name = chosen(group).name
        self.in_features, self.out_features = layer.in_features, layer.out_features
        for name, own in self._own_parts().items():
            whole = getattr(layer, name)
            part = None if whole is None else Parameter(whole[own].copy())
            self.register_parameter(name, part)
        self.freeze(lambda name: name in layer._frozen)

    def _own_parts(self) -> dict[str, Any]:
        """Return this rank's indices of the parameters."""
        raise NotImplementedError

    def extra_repr(self) -> str:
        """Return the arguments that ``repr`` shows."""
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}, ranks={self._group.size}"
        )


class ColumnParallelLinear(_ParallelLinear):
    """``Linear`` whose outputs are partitioned across the ranks.

    Parameters
    ----------
    in_features, out_features : int
        Of the whole layer.
    bias : bool
    gather_output : bool
        Whether to gather all outputs, or keep this rank's for a ``RowParallelLinear``.
    group : Group, optional
    device : dpctl.SyclQueue, optional
    dtype : str or dtype, optional

    Attributes
    ----------
    weight : array (out_features / ranks, in_features)
    bias : array (out_features / ranks,) or None

    Raises
    ------
    ValueError
        ``out_features`` is not divisible by the number of ranks.

    Examples
    --------
    >>> import dpnp
    >>> import sycl_dnn
    >>> layer = sycl_dnn.distributed.ColumnParallelLinear(4, 6)
    >>> layer(dpnp.ones((2, 4), dtype="f4")).shape
    (2, 6)
    """

    partitioned = ("weight", "bias")

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, gather_output: bool = False,
        group: Group | None = None, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        self._take(Linear(in_features, out_features, bias, device, dtype), group)
        self.gather_output = gather_output

    @classmethod
    def of(  # type: ignore[override]
        cls, layer: Any, gather_output: bool = False, group: Group | None = None
    ) -> Any:
        """Return this rank's part of a ``Linear`` that is equal on all ranks."""
        part = super().of(layer, group)
        part.gather_output = gather_output
        return part

    def _own_parts(self) -> dict[str, Any]:
        own = _share(self.out_features, self._group, "ColumnParallelLinear: out_features")
        return {"weight": own, "bias": own}

    def forward(self, input: Any) -> Any:
        """Map (*, in_features) to (*, out_features), or to this rank's part."""
        result = F.linear(shared_input(input, self._group), self.weight, self.bias)
        if not self.gather_output or self._group.size == 1:
            return result
        flat = F.reshape(result, (-1, result.shape[-1]))
        rows = _gathered(F.transpose(flat, 0, 1), self._group)
        return F.reshape(F.transpose(rows, 0, 1), (*result.shape[:-1], self.out_features))


def _gathered(x: Any, group: Group) -> Any:
    """Gather the rows of all ranks; each gets its part of the gradient, equal on all."""
    return with_adjoint(lambda x: all_gather(x, group=group), lambda dy: _own_rows(dy, group))(x)


def _own_rows(x: Any, group: Group) -> Any:
    """Return this rank's rows of an array that is equal on all, whose gradient is all rows."""
    return with_adjoint(
        lambda x: x[_share(x.shape[0], group, "rows")], lambda dy: _gathered(dy, group)
    )(x)


class RowParallelLinear(_ParallelLinear):
    """``Linear`` whose inputs are partitioned across the ranks; the result is equal on all.

    Parameters
    ----------
    in_features, out_features : int
        Of the whole layer.
    bias : bool
    group : Group, optional
    device : dpctl.SyclQueue, optional
    dtype : str or dtype, optional

    Attributes
    ----------
    weight : array (out_features, in_features / ranks)
    bias : array (out_features,) or None
        Equal on all ranks.

    Raises
    ------
    ValueError
        ``in_features`` is not divisible by the number of ranks.

    Examples
    --------
    >>> import dpnp
    >>> import sycl_dnn
    >>> layer = sycl_dnn.distributed.RowParallelLinear(6, 4)
    >>> layer(dpnp.ones((2, 6), dtype="f4")).shape
    (2, 4)
    """

    partitioned = ("weight",)

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, group: Group | None = None,
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        self._take(Linear(in_features, out_features, bias, device, dtype), group)
        if bias:
            broadcast(self.bias, out=self.bias, group=self._group)

    def _own_parts(self) -> dict[str, Any]:
        own = _share(self.in_features, self._group, "RowParallelLinear: in_features")
        return {"weight": (slice(None), own), "bias": slice(None)}

    def forward(self, input: Any) -> Any:
        """Map this rank's part of (*, in_features) to (*, out_features)."""
        result = shared_sum(F.linear(input, self.weight), self._group)
        return result if self.bias is None else F.add(result, self.bias)


class VocabularyParallelEmbedding(_Partitioned):
    """``Embedding`` whose rows are partitioned across the ranks; the result is equal on all.

    Parameters
    ----------
    num_embeddings, embedding_dim : int
        Of the whole table.
    group : Group, optional
    device : dpctl.SyclQueue, optional
    dtype : str or dtype, optional

    Attributes
    ----------
    weight : array (num_embeddings / ranks, embedding_dim)

    Raises
    ------
    ValueError
        ``num_embeddings`` is not divisible by the number of ranks.

    Examples
    --------
    >>> import dpnp
    >>> import sycl_dnn
    >>> layer = sycl_dnn.distributed.VocabularyParallelEmbedding(6, 4)
    >>> layer(dpnp.asarray([5, 0])).shape
    (2, 4)
    """

    partitioned = ("weight",)

    def __init__(
        self, num_embeddings: int, embedding_dim: int, group: Group | None = None,
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        self._take(Embedding(num_embeddings, embedding_dim, device=device, dtype=dtype), group)

    def _take(self, layer: Any, group: Group | None) -> None:
        Module.__init__(self)
        _check_kind(type(self).__name__, layer, Embedding)
        self._group_name = chosen(group).name
        self.num_embeddings, self.embedding_dim = layer.num_embeddings, layer.embedding_dim
        own = _share(self.num_embeddings, self._group, f"{type(self).__name__}: num_embeddings")
        self._first = own.start
        self._options = {
            name: getattr(layer, name)
            for name in ("max_norm", "norm_type", "scale_grad_by_freq", "sparse")
        }
        is_own = layer.padding_idx in range(own.start, own.stop)
        self._options["padding_idx"] = layer.padding_idx - own.start if is_own else None
        self.weight: Any = Parameter(layer.weight[own].copy(), "weight" not in layer._frozen)

    def forward(self, input: Any) -> Any:
        """Map integers (*) to (*, embedding_dim); out-of-range ones give NaN, as ``Embedding``."""
        # Rows of others are out of range here: NaN, without a gradient.
        rows = F.embedding(F.sub(input, self._first), self.weight, **self._options)
        end = self._first + self.weight.shape[0]
        is_of_others = F.logical_or(
            F.logical_and(F.ge(input, 0), F.lt(input, self._first)),
            F.logical_and(F.ge(input, end), F.lt(input, self.num_embeddings)),
        )
        return shared_sum(F.where(F.unsqueeze(is_of_others, -1), 0.0, rows), self._group)

    def extra_repr(self) -> str:
        """Return the arguments that ``repr`` shows."""
        return f"{self.num_embeddings}, {self.embedding_dim}, ranks={self._group.size}"
