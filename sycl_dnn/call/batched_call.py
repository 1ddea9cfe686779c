# SPDX-License-Identifier: Apache-2.0
"""One call of a function of the layer over batched values, as rules see it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from sycl_dnn.trace import functions as F


class NoRule(Exception):
    """The call has no rule: it runs for each sample."""


class Call:
    """A call of a function over batched values.

    ``values``: arguments by name, without those that were left out.
    """

    def __init__(
        self, batching: Any, function: Any, args: Sequence[Any], kwargs: dict[str, Any]
    ) -> None:
        parameters = function.parameters
        #: Names of all parameters, in order; arguments by name can come in any.
        self.names = list(parameters)
        if parameters[self.names[0]].kind is inspect.Parameter.VAR_POSITIONAL:
            args = [tuple(args)]
        if len(args) > len(parameters):  # the function says so
            raise NoRule
        self.batching, self.name, self.run = batching, function.name, function.function
        values = dict(zip(parameters, args, strict=False)) | kwargs
        self.values = {n: tuple(v) if isinstance(v, range) else v for n, v in values.items()}
        self._defaults = {name: p.default for name, p in parameters.items()}

    def __getitem__(self, name: str) -> Any:
        return self.values[name] if name in self.values else self._defaults[name]

    def of(self, **changes: Any) -> Any:
        """Return the result of the function over wholes."""
        return self.run(**(self.values | changes))

    def is_batched(self, name: str) -> bool:
        """Whether an argument differs from sample to sample."""
        return self.batching.is_batched(self[name])  # type: ignore[no-any-return]

    def whole(self, name: str) -> Any:
        """Return an argument as a batch."""
        return self.batching.whole_of(self[name])

    def only(self, *names: str) -> None:
        """Raise NoRule if another argument is batched."""
        if any(self.is_batched(name) for name in self.values if name not in names):
            raise NoRule


Rule = Callable[[Call], Any]


def aligned(whole: Any, rank: int) -> Any:
    """Return a batch whose samples have ``rank`` axes, new ones of size 1 first."""
    size, *shape = whole.shape
    missing = rank - len(shape)
    return F.reshape(whole, (size, *(1,) * missing, *shape)) if missing else whole


def axis_of(dim: Any, rank: int) -> int:
    """Return an axis of a sample as that of the whole."""
    if isinstance(dim, bool) or not isinstance(dim, int) or not -rank <= dim < rank:
        raise NoRule
    return dim % rank + 1


def axes_of(dims: Any, rank: int) -> tuple[int, ...]:
    """Return several axes of a sample as those of the whole."""
    return tuple(axis_of(d, rank) for d in (dims if isinstance(dims, (tuple, list)) else (dims,)))
