# SPDX-License-Identifier: Apache-2.0
"""``Metrics``: means over training steps that wait for no step."""

from __future__ import annotations

from typing import Any

from sycl_dnn import functional as F
from sycl_dnn.trace import nested_arguments

#: The number of values kept before the device adds them up.
_MOST = 64


class _Sum:
    """A sum of numbers on the device, in few arrays no matter how many numbers there are."""

    def __init__(self) -> None:
        #: Values, sums of ``_MOST`` values, sums of ``_MOST`` such sums...
        self.levels: list[list[Any]] = []

    def add(self, value: Any, level: int = 0) -> None:
        if level == len(self.levels):
            self.levels.append([])
        self.levels[level].append(value)
        if len(self.levels[level]) == _MOST:
            total = F.sum(F.stack(self.levels[level]))
            self.levels[level] = []
            self.add(total, level + 1)

    def value(self) -> float:
        return sum(float(value) for level in self.levels for value in level)


class Metrics:
    """Means of losses and other numbers, read only on request.

    ``add`` keeps the arrays; every 64th time the device adds them up. Only ``result`` waits.

    Examples
    --------
    >>> from sycl_dnn import data, functional as F
    >>> metrics = data.Metrics()
    >>> for loss in (1.0, 2.0, 6.0):
    ...     metrics.add(loss=F.full((), loss), rows=8)
    >>> metrics.result()
    {'loss': 3.0, 'rows': 8.0}
    """

    def __init__(self) -> None:
        self._sums: dict[str, _Sum] = {}
        self._numbers: dict[str, float] = {}
        self._weights: dict[str, float] = {}

    def add(self, *, weight: float = 1.0, **values: Any) -> None:
        """Add the values of a step.

        Parameters
        ----------
        weight : float
            Weight of these values in the means: the rows of a batch, if the last one has fewer.
        **values : arrays of one number, or numbers

        Raises
        ------
        ValueError
            An array has more than one number; the error names it.

        Examples
        --------
        >>> from sycl_dnn import data
        >>> metrics = data.Metrics()
        >>> metrics.add(weight=3, accuracy=1.0)
        >>> metrics.add(weight=1, accuracy=0.0)
        >>> metrics.result()
        {'accuracy': 0.75}
        """
        for name, value in values.items():
            if nested_arguments.is_array(value):
                if value.size != 1:
                    raise ValueError(
                        f"Metrics.add: {name} must be one number, got shape {tuple(value.shape)}"
                    )
                number = F.reshape(F.astype(value, "float32"), ())
                number = number if weight == 1 else F.mul(number, float(weight))
                self._sums.setdefault(name, _Sum()).add(number)
            else:
                self._numbers[name] = self._numbers.get(name, 0.0) + float(value) * weight
            self._weights[name] = self._weights.get(name, 0.0) + weight

    def result(self, *, reset: bool = False) -> dict[str, float]:
        """Return the means, after waiting for the steps.

        Parameters
        ----------
        reset : bool
            Whether to forget all values afterwards.

        Examples
        --------
        >>> from sycl_dnn import data
        >>> metrics = data.Metrics()
        >>> metrics.add(loss=4.0)
        >>> metrics.result(reset=True), metrics.result()
        ({'loss': 4.0}, {})
        """
        found = {}
        for name, weight in self._weights.items():
            total = self._numbers.get(name, 0.0)
            if name in self._sums:
                total += self._sums[name].value()
            found[name] = total / weight if weight else float("nan")
        if reset:
            self.reset()
        return found

    def reset(self) -> None:
        """Forget all values.

        Examples
        --------
        >>> from sycl_dnn import data
        >>> metrics = data.Metrics()
        >>> metrics.add(loss=4.0)
        >>> metrics.reset()
        >>> metrics.result()
        {}
        """
        for part in (self._sums, self._numbers, self._weights):
            part.clear()
