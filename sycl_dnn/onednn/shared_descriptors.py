# SPDX-License-Identifier: Apache-2.0
"""Cache of descriptors and primitives, shared by compiled functions.

Layers of equal size, and one function for several shapes, request the same ones repeatedly; oneDNN
takes up to a millisecond to create each.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from sycl_dnn import _core, errors
from sycl_dnn.onednn import faults

_MAX_DESCRIPTORS = 2048


class _Cached:
    """A descriptor with its primitives and cached queries."""

    __slots__ = ("attr", "pd", "post_ops", "primitives", "words")

    def __init__(self, pd: Any, words: str | None) -> None:
        self.pd = pd
        #: By which its implementation was chosen; None for oneDNN's choice.
        self.words = words
        #: By whether the package inserted the reorder.
        self.primitives: dict[bool, Any] = {}
        self.attr: Any = None
        self.post_ops: Any = None


class Descriptors:
    """An LRU cache of descriptors, keyed by their arguments.

    Callers must not advance a cached descriptor to its next implementation.

    ``capacity``: maximum number of descriptors.
    """

    def __init__(self, capacity: int = _MAX_DESCRIPTORS) -> None:
        self._capacity = capacity
        self._cache: OrderedDict[Any, _Cached] = OrderedDict()
        self._by_pd: dict[int, _Cached] = {}
        self._refused: set[Any] = set()
        self._lock = threading.Lock()

    def described(
        self, engine: Any, row: str, params: Mapping[str, Any], attr: Any, words: str | None = None
    ) -> Any:
        """Return a shared descriptor; ``words`` as for ``new``.

        Raises DnnlError if oneDNN does not support it.
        """
        key = self._key(engine, row, params, attr, words)
        cached = self._get(key)
        return self._created(key, engine, row, params, attr, words) if cached is None else cached.pd

    def described_or_none(self, engine: Any, row: str, params: Mapping[str, Any], attr: Any) -> Any:
        """Return a shared descriptor; None if oneDNN does not support it."""
        key = self._key(engine, row, params, attr)
        cached = self._get(key)
        if cached is not None:
            return cached.pd
        if key in self._refused:
            return None
        try:
            return self._created(key, engine, row, params, attr)
        except errors.DnnlError:
            if len(self._refused) >= self._capacity:
                self._refused.clear()
            self._refused.add(key)
            return None

    def _created(
        self, key: Any, engine: Any, row: str, params: Any, attr: Any, words: str | None = None
    ) -> Any:
        pd = new(engine, row, params, attr, words)
        # Descriptors that warn are recreated, so that they warn again.
        return pd if faults.warned_of(pd) else self._keep(key, pd, words).pd

    def primitive(self, pd: Any, inserted: bool = False) -> Any:
        """Return the primitive of a descriptor; ``inserted`` as for ``Primitive``."""
        cached = self._by_pd.get(id(pd))
        primitive = None if cached is None else cached.primitives.get(inserted)
        if primitive is None:
            primitive = _core.Primitive(pd, inserted)
            if cached is not None:
                cached.primitives[inserted] = primitive
        return primitive

    def work(self, pd: Any) -> tuple[Any, ...]:
        """Return a key for the computation that a descriptor performs."""
        cached = self._by_pd.get(id(pd))
        if cached is None:
            return (pd.name, repr(pd.primitive_attr), repr(pd.parameters))
        return (pd.name, cached)  # equal arguments have one descriptor

    def again(self, pd: Any) -> Any:
        """Return the descriptor that equal arguments give: the same one if it is shared."""
        if id(pd) in self._by_pd:
            return pd
        return self.described(pd.engine, pd.name, pd.parameters, pd.primitive_attr)

    def words(self, pd: Any) -> str | None:
        """Return the words by which a descriptor's implementation was chosen, if any."""
        cached = self._by_pd.get(id(pd))
        return None if cached is None else cached.words

    def attr(self, pd: Any) -> Any:
        """Return a descriptor's attribute, the same object each time."""
        cached = self._by_pd.get(id(pd))
        if cached is None:
            return pd.primitive_attr
        if cached.attr is None:
            cached.attr = pd.primitive_attr
        return cached.attr

    def post_ops(self, pd: Any) -> Any:
        """Return a descriptor's post-ops, the same object each time."""
        cached = self._by_pd.get(id(pd))
        if cached is None:
            return post_ops_of(pd.primitive_attr)
        if cached.post_ops is None:
            cached.post_ops = post_ops_of(self.attr(pd))
        return cached.post_ops

    def clear(self) -> None:
        """Clear the cache; objects in use stay alive."""
        with self._lock:
            self._cache.clear()
            self._by_pd.clear()
            self._refused.clear()

    def __len__(self) -> int:
        return len(self._cache)

    def _key(
        self, engine: Any, row: str, params: Mapping[str, Any], attr: Any, words: str | None = None
    ) -> Any:
        settings = () if attr is None else tuple((n, _exact(a)) for n, a in attr.calls)
        return (engine, row, words, settings, *((n, _exact(v)) for n, v in params.items()))

    def _get(self, key: Any) -> _Cached | None:
        with self._lock:
            cached = self._cache.get(key)
            if cached is not None:
                self._cache.move_to_end(key)
            return cached

    def _keep(self, key: Any, pd: Any, words: str | None) -> _Cached:
        with self._lock:
            cached = self._cache.setdefault(key, _Cached(pd, words))
            self._by_pd[id(cached.pd)] = cached
            while len(self._cache) > self._capacity:
                _, evicted = self._cache.popitem(last=False)
                self._by_pd.pop(id(evicted.pd), None)
            return cached


def new(
    engine: Any, row: str, params: Mapping[str, Any], attr: Any, words: str | None = None
) -> Any:
    """Return a new descriptor: of the first implementation with these words in its name, if any.

    Raises DnnlError if oneDNN has none.
    """
    make = getattr(_core, row)
    pd = make(engine, **params, attr=attr)
    while words is not None and words not in pd.impl_info:
        if not pd.next_impl():
            return make(engine, **params, attr=attr)
    return pd


def post_ops_of(attr: Any) -> Any:
    """Return the post-ops of an attribute, empty ones if none were set."""
    calls = attr.get("set_post_ops")
    return calls[-1][0] if calls else _core.PostOps()


def _exact(value: Any) -> Any:
    """Return a value as part of a key, distinguishing everything that oneDNN distinguishes."""
    kind = value.__class__
    if isinstance(value, float):
        return value.hex()  # distinguishes -0.0 from 0.0
    if kind is tuple or kind is list:
        return tuple(map(_exact, value))
    if kind is _core.PostOps:
        return tuple(_exact(value[i]) for i in range(len(value)))
    return value


#: The cache of all compiled functions.
shared = Descriptors()
_of_parent: list[Descriptors] = []


def _forget() -> None:
    """Drop descriptors after a fork without destroying the parent's; new ones are refused."""
    global shared
    _of_parent.append(shared)
    shared = Descriptors()


os.register_at_fork(after_in_child=_forget)
