# SPDX-License-Identifier: Apache-2.0
"""Tensor parallelism: layers whose weights are partitioned by column, row or token."""

from __future__ import annotations

from typing import Any

from sycl_dnn import functional as F
from sycl_dnn.call.custom_gradients import custom_vjp
from sycl_dnn.distributed.collectives import all_gather, all_reduce, chosen
from sycl_dnn.distributed.group import Group, OfGroup
from sycl_dnn.nn import init
from sycl_dnn.nn.linear_layers import draw_parameters, new_parameter, register_parameters
from sycl_dnn.nn.module import Module


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

    @custom_vjp
    def identity(x: Any) -> Any:
        return x

    identity.defvjp(lambda x: (x, None), lambda _, dy: (all_reduce(dy, group=group),))
    return identity(x)


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

    @custom_vjp
    def summed(x: Any) -> Any:
        return all_reduce(x, group=group)

    summed.defvjp(lambda x: (all_reduce(x, group=group), None), lambda _, dy: (dy,))
    return summed(x)


def _share(n: int, group: Group, argument: str) -> slice:
    if n % group.size:
        raise ValueError(f"{argument} must be divisible by {group.size} ranks, got {n}")
    each = n // group.size
    return slice(group.rank * each, (group.rank + 1) * each)


class _ParallelLinear(OfGroup, Module):
    weight: Any
    bias: Any
    in_features: int
    out_features: int

    def __init__(self, in_features: int, out_features: int, group: Group | None) -> None:
        super().__init__()
        self._group_name = chosen(group).name
        self.in_features, self.out_features = in_features, out_features

    def _register(
        self, shape: tuple[int, int], n_bias: int | None, dtype: Any, device: Any
    ) -> None:
        shapes = {"weight": shape, "bias": None if n_bias is None else (n_bias,)}
        register_parameters(self, shapes, dtype, device)
        draw_parameters(self, self.in_features)

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

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, gather_output: bool = False,
        group: Group | None = None, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(in_features, out_features, group)
        own = _share(out_features, self._group, "ColumnParallelLinear: out_features")
        self.gather_output = gather_output
        each = own.stop - own.start
        self._register((each, in_features), each if bias else None, dtype, device)

    @classmethod
    def of(
        cls, linear: Any, gather_output: bool = False, group: Group | None = None
    ) -> ColumnParallelLinear:
        """Return this rank's part of a ``Linear`` that is equal on all ranks."""
        layer = cls(
            linear.in_features, linear.out_features, linear.bias is not None, gather_output, group,
            linear.weight.sycl_queue, linear.weight.dtype,
        )  # fmt: skip
        own = _share(linear.out_features, layer._group, "out_features")
        layer.weight[...] = linear.weight[own]
        if linear.bias is not None:
            layer.bias[...] = linear.bias[own]
        return layer

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

    @custom_vjp
    def gathered(x: Any) -> Any:
        return all_gather(x, group=group)

    def back(_: Any, dy: Any) -> Any:
        each = dy.shape[0] // group.size
        return (dy[group.rank * each : (group.rank + 1) * each],)

    gathered.defvjp(lambda x: (all_gather(x, group=group), None), back)
    return gathered(x)


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

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, group: Group | None = None,
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(in_features, out_features, group)
        own = _share(in_features, self._group, "RowParallelLinear: in_features")
        n_bias = out_features if bias else None
        self._register((out_features, own.stop - own.start), n_bias, dtype, device)
        if bias:
            self.bias[...] = all_reduce(self.bias, "mean", group=self._group)

    @classmethod
    def of(cls, linear: Any, group: Group | None = None) -> RowParallelLinear:
        """Return this rank's part of a ``Linear`` that is equal on all ranks."""
        layer = cls(
            linear.in_features, linear.out_features, linear.bias is not None, group,
            linear.weight.sycl_queue, linear.weight.dtype,
        )  # fmt: skip
        own = _share(linear.in_features, layer._group, "in_features")
        layer.weight[...] = linear.weight[:, own]
        if linear.bias is not None:
            layer.bias[...] = linear.bias
        return layer

    def forward(self, input: Any) -> Any:
        """Map this rank's part of (*, in_features) to (*, out_features)."""
        result = shared_sum(F.linear(input, self.weight), self._group)
        return result if self.bias is None else F.add(result, self.bias)


class VocabularyParallelEmbedding(OfGroup, Module):
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

    def __init__(
        self, num_embeddings: int, embedding_dim: int, group: Group | None = None,
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self._group_name = chosen(group).name
        own = _share(num_embeddings, self._group, "VocabularyParallelEmbedding: num_embeddings")
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self._first, self._count = own.start, own.stop - own.start
        self.weight: Any = new_parameter((self._count, embedding_dim), dtype, device)
        init.normal_(self.weight)

    @classmethod
    def of(cls, table: Any, group: Group | None = None) -> VocabularyParallelEmbedding:
        """Return this rank's part of an ``Embedding`` that is equal on all ranks."""
        layer = cls(
            table.num_embeddings, table.embedding_dim, group, table.weight.sycl_queue,
            table.weight.dtype,
        )  # fmt: skip
        layer.weight[...] = table.weight[layer._first : layer._first + layer._count]
        return layer

    def forward(self, input: Any) -> Any:
        """Map integers (*) to (*, embedding_dim)."""
        own = F.sub(input, self._first)
        is_own = F.logical_and(F.ge(own, 0), F.lt(own, self._count))
        rows = F.embedding(F.clamp(own, 0, self._count - 1), self.weight)
        mask = F.unsqueeze(F.astype(is_own, str(rows.dtype)), -1)
        return shared_sum(F.mul(rows, mask), self._group)

    def extra_repr(self) -> str:
        """Return the arguments that ``repr`` shows."""
        return f"{self.num_embeddings}, {self.embedding_dim}, ranks={self._group.size}"
