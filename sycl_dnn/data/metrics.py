# SPDX-License-Identifier: Apache-2.0
"""``Metrics``: running means that do not wait for the device."""

from __future__ import annotations

from typing import Any

from sycl_dnn import functional as F
from sycl_dnn.trace import nested_arguments

#: Number of values collected before the device sums them.
_MAX_VALUES = 64


class _Sum:
    """A running sum on the device that holds few arrays regardless of the number of terms."""

    def __init__(self) -> None:
        #: Values, sums of ``_MOST`` values, sums of ``_MOST`` of those sums, and so on.
        self.levels: list[list[Any]] = []

    def add(self, value: Any, level: int = 0) -> None:
        if level == len(self.levels):
            self.levels.append([])
        self.levels[level].append(value)
        if len(self.levels[level]) == _MAX_VALUES:
            total = F.sum(F.stack(self.levels[level]))
            self.levels[level] = []
            self.add(total, level + 1)

    def value(self) -> float:
        return sum(float(value) for level in self.levels for value in level)


class Metrics:
    """Running means of losses and other numbers.

    ``add`` keeps the arrays, and every 64th call sums them on the device. Only ``result`` waits.

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
        """Add the values of one step.

        Parameters
        ----------
        weight : float
            Weight in the means, such as the number of rows in the batch.
        **values : arrays of one number, or numbers

        Raises
        ------
        ValueError
            An array has more than one element; the message names it.

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
        """Wait for the steps and return the means.

        Parameters
        ----------
        reset : bool
            Whether to clear the values afterwards.

        Examples
        --------
        >>> from sycl_dnn import data
        >>> metrics = data.Metrics()
        >>> metrics.add(loss=4.0)
        >>> metrics.result(reset=True), metrics.result()
        ({'loss': 4.0}, {})
        """
        means = {}
        for name, weight in self._weights.items():
            total = self._numbers.get(name, 0.0)
            if name in self._sums:
                total += self._sums[name].value()
            means[name] = total / weight if weight else float("nan")
        if reset:
            self.reset()
        return means

    def reset(self) -> None:
        """Clear all values.

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
