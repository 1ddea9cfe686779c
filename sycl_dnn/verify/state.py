# SPDX-License-Identifier: Apache-2.0
"""Options as they stand at some point of a case file, and the product that their lists make."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

from sycl_dnn.verify.options import Option


class State:
    """Values of a driver's options as they stand at some point of a case file."""

    def __init__(self, options: Iterable[Option]) -> None:
        self.options = {o.name: o for o in options}
        self.reset()

    def reset(self) -> None:
        """Set every option to its default."""
        self.values = {name: o.values(o.default) for name, o in self.options.items()}

    def knows(self, name: str) -> bool:
        """Whether the driver has this option."""
        return name in self.options

    def set(self, name: str, value: str) -> None:
        """Set one option from its text."""
        self.values[name] = self.options[name].values(value)

    def count(self) -> int:
        """Return how many combinations the lists make."""
        number = 1
        for values in self.values.values():
            number *= len(values)
        return number

    def combinations(self) -> Iterator[tuple[dict[str, Any], dict[str, str]]]:
        """Iterate over (values by option, texts of those that are not the default)."""
        for chosen in itertools.product(*self.values.values()):
            named = dict(zip(self.values, chosen, strict=True))
            texts = {n: t for n, (t, _) in named.items() if t != self.options[n].default}
            yield {n: value for n, (_, value) in named.items()}, texts
