# SPDX-License-Identifier: Apache-2.0
"""``KVCache``: keys and values of the positions that a generating network has processed."""

from __future__ import annotations

from typing import Any, NamedTuple

from sycl_dnn import functional as F
from sycl_dnn.call.operation import operation
from sycl_dnn.functional.index.selected import written
from sycl_dnn.lower.node_lowering import computed
from sycl_dnn.ops.creation import iota
from sycl_dnn.trace.values import Tensor


@operation
def slots_from(first: Any, n: int) -> Any:
    """Return the numbers (1, 1, n, 1) of ``n`` slots starting at ``first`` (), int32."""
    return computed(lambda start: start + iota(n, 2, 4), first)


@operation
def write_slots(cache: Any, new: Any, places: Any) -> Any:
    """Return a cache (N, heads, S, D) with (N, heads, T, D) written to slots.

    ``cache``: array (N, heads, S, D), if donated to the program, its memory is updated in place.
    ``new``: array (N, heads, T, D), same dtype. Positions beyond the last slot are dropped.
    ``places``: array (1, 1, T, 1), int32; from ``slots_from``.
    """
    return written(cache, new, places, 2)


class KVCache(NamedTuple):
    """Keys and values of one attention layer, with a fixed capacity.

    A tree of three arrays: compiled functions accept it as an argument and return the updated one,
    so all steps of a generation share one program.

    Attributes
    ----------
    keys, values : array (N, heads, capacity, width)
        Zero in unused slots.
    length : array ()
        float32; the number of positions filled.

    Examples
    --------
    >>> import sycl_dnn
    >>> from sycl_dnn import functional as F, nn
    >>> attention = nn.MultiheadAttention(8, 2, batch_first=True)
    >>> step = sycl_dnn.compile(lambda attention, x, cache: attention.step(x, cache))
    >>> cache = attention.new_cache(batch_size=3, capacity=16)
    >>> for _ in range(4):
    ...     y, cache = step(attention, F.randn(3, 1, 8), cache)
    >>> y.shape, int(cache.length), step.cache_info().misses
    ((3, 1, 8), 4, 1)
    """

    keys: Any
    values: Any
    length: Any

    @classmethod
    def empty(
        cls, batch_size: int, num_heads: int, capacity: int, width: int, *, dtype: Any = None,
        device: Any = None,
    ) -> KVCache:  # fmt: skip
        """Return an empty cache.

        Parameters
        ----------
        batch_size, num_heads, capacity, width : int
            ``width`` is that of one head.
        dtype : str or dtype, optional
            float32 by default.
        device : dpctl.SyclQueue, optional

        Raises
        ------
        ValueError
            A size is less than 1.

        Examples
        --------
        >>> from sycl_dnn import nn
        >>> nn.KVCache.empty(1, 2, 16, 4).keys.shape
        (1, 2, 16, 4)
        """
        shape = (batch_size, num_heads, capacity, width)
        if min(shape) < 1:
            raise ValueError(f"KVCache: sizes must be at least 1, got {shape}")
        keys, values = (F.zeros(shape, dtype=dtype, device=device) for _ in range(2))
        return cls(keys, values, F.zeros(device=device))

    @property
    def capacity(self) -> int:
        """The maximum number of positions."""
        return self.keys.shape[2]

    def append(self, keys: Any, values: Any) -> KVCache:
        """Return the cache with keys and values of the next positions appended.

        Parameters
        ----------
        keys, values : array (N, heads, L, width)

        Raises
        ------
        ValueError
            There are more positions than free slots, or shapes do not fit. In a compiled function,
            where the host does not know the length, ``length`` and the last keys become NaN
            instead, and so does attention over them.

        Examples
        --------
        >>> from sycl_dnn import functional as F, nn
        >>> cache = nn.KVCache.empty(1, 1, 4, 1)
        >>> cache = cache.append(F.ones(1, 1, 2, 1), F.ones(1, 1, 2, 1))
        >>> cache.keys.ravel().tolist(), float(cache.length)
        ([1.0, 1.0, 0.0, 0.0], 2.0)
        """
        n, heads, capacity, width = self.keys.shape
        length = keys.shape[2] if keys.ndim == 4 else 0
        expected = (n, heads, length, width)
        if not 1 <= length <= capacity or keys.shape != expected or values.shape != expected:
            raise ValueError(
                f"KVCache: keys and values must have the shape ({n}, {heads}, L, {width}) with L "
                f"from 1 to {capacity}, got {tuple(keys.shape)} and {tuple(values.shape)}"
            )
        self._check_room(length)
        # 0 if there is room, else NaN.
        total, dtype = F.add(self.length, float(length)), str(self.keys.dtype)
        excess = F.sub(total, float(capacity))
        lost = F.where(F.gt(excess, 0.0), float("nan"), F.mul(self.length, 0.0))
        # On overflow the last slots get keys of NaN, to which every position attends.
        first = F.astype(F.clamp(self.length, max=float(capacity - length)), "int32")
        places = slots_from(first, length)
        keys = F.astype(F.add(keys, F.astype(lost, str(keys.dtype))), dtype)
        return KVCache(
            write_slots(self.keys, keys, places),
            write_slots(self.values, F.astype(values, dtype), places),
            F.add(total, lost),
        )

    def _check_room(self, length: int) -> None:
        """Raise ValueError if the positions exceed the capacity and the host knows the length."""
        if isinstance(self.length, Tensor):
            return
        length_now = float(self.length)
        if not length_now + length <= self.capacity:
            raise ValueError(
                f"KVCache: there must be room for {length} more positions, got {length_now:g} of "
                f"{self.capacity} written; make a cache of a larger capacity"
            )

    def mask(self, length: int) -> Any:
        """Return which slots each of the last ``length`` positions may attend to.

        Returns
        -------
        array (length, capacity)
            bool; each position attends to itself and to earlier ones.

        Examples
        --------
        >>> from sycl_dnn import functional as F, nn
        >>> cache = nn.KVCache.empty(1, 1, 4, 1)
        >>> cache.append(F.ones(1, 1, 2, 1), F.ones(1, 1, 2, 1)).mask(2).tolist()
        [[True, False, False, False], [True, True, False, False]]
        """
        first = F.sub(self.length, float(length))
        queries = F.reshape(F.add(self._places(length), first), (length, 1))
        # All True if the length is NaN: see ``append``.
        later = F.gt(F.reshape(self._places(self.capacity), (1, self.capacity)), queries)
        return F.logical_not(later)

    def _places(self, n: int) -> Any:
        """Return 0, 1, ... on the queue of the cache."""
        is_traced = isinstance(self.length, Tensor)
        return F.arange(float(n), device=None if is_traced else self.length.sycl_queue)
