# SPDX-License-Identifier: Apache-2.0
"""``send`` and ``recv``: arrays from one rank to another."""

from __future__ import annotations

from typing import Any

from sycl_dnn.distributed.collectives import (
    broadcast_one,
    check_root,
    chosen,
    each,
    not_traced,
)
from sycl_dnn.distributed.group import Group


def send(x: Any, to: int, group: Group | None = None) -> None:
    """Send arrays to another rank, which must call ``recv``.

    Parameters
    ----------
    x : array or tree of arrays
        Any dtype; not traced.
    to : int
        Rank in the group.
    group : Group, optional

    Raises
    ------
    MismatchError, RuntimeError
        As for ``all_reduce``.
    ValueError
        ``to`` is this rank or not in the group.

    Notes
    -----
    Implemented as a broadcast in a group of the two ranks, since oneCCL's own functions crash on
    CPUs. The first call of a pair creates that group, so both must make it.

    Examples
    --------
    >>> import sycl_dnn
    >>> from sycl_dnn import functional as F
    >>> group = sycl_dnn.distributed.init()
    >>> if group.rank == 0:  # doctest: +SKIP
    ...     sycl_dnn.distributed.send(F.ones(3), to=1)
    ... elif group.rank == 1:
    ...     x = sycl_dnn.distributed.recv(F.empty(3), source=0)
    """
    _exchange("send", x, to, group, is_sender=True)


def recv(x: Any, source: int, group: Group | None = None) -> Any:
    """Receive arrays that another rank sends.

    Parameters
    ----------
    x : array or tree of arrays
        With the shapes and dtypes that are sent; overwritten.
    source : int
        Rank in the group.
    group : Group, optional

    Returns
    -------
    array or tree of arrays
        ``x``.

    Raises
    ------
    MismatchError, RuntimeError
        As for ``all_reduce``.
    ValueError
        ``source`` is this rank or not in the group.

    Examples
    --------
    >>> import dpnp
    >>> import sycl_dnn
    >>> x = sycl_dnn.distributed.recv(dpnp.empty(3), source=1)  # doctest: +SKIP
    """
    return _exchange("recv", x, source, group, is_sender=False)


def _exchange(function: str, x: Any, other: int, group: Group | None, is_sender: bool) -> Any:
    group = chosen(group)
    argument = "to" if is_sender else "source"
    check_root(function, other, group, argument)
    if other == group.rank:
        raise ValueError(f"{function}: {argument} must be another rank, got {other}")
    pair = group.pair(other)
    root = pair.rank if is_sender else 1 - pair.rank

    def exchange(leaf: Any, _: Any) -> Any:
        not_traced(function, leaf, "all_to_all or broadcast")
        return broadcast_one(leaf, root, leaf, pair, "send and recv")

    return each(exchange, x)
