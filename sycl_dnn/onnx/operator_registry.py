# SPDX-License-Identifier: Apache-2.0
"""Registry of operators: one function per operator and first version."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

import sycl_dnn
from sycl_dnn import functional
from sycl_dnn.errors import InvalidArguments, UnsupportedOperator

MICROSOFT = "com.microsoft"
#: Functions of values whose kind is known only at run time: arrays or traced values.
F: Any = functional
#: ``body(call, *inputs)`` returns one value or a tuple; absent inputs are None.
Body = Callable[..., Any]


class Operator(NamedTuple):
    """The registration of an operator, starting with a version."""

    body: Body
    #: Inputs whose values must be known on the host, such as shapes, axes and counts.
    host: frozenset[int]
    #: Whether the body accepts host values in place of device arrays.
    mixed: bool
    #: Whether the result shape depends on input values.
    is_step: bool
    #: Inputs that remain constants, not parameters, if the file contains them, such as scales.
    constants: frozenset[int]


_DELAYED_FORMS: dict[str, list[Body]] = {}
_OPERATORS: dict[tuple[str, str], dict[int, Operator]] = {}


def operator(
    names: str | Iterable[str], since: int = 1, *, host: Collection[int] = (), mixed: bool = False,
    step: bool = False, domain: str = "", constants: Collection[int] = (),
) -> Callable[[Body], Body]:  # fmt: skip
    """Register a function for operators, starting with a version of their operator set.

    ``since``: first version that the function implements, up to the next registered one; ``host``:
    indices of inputs that the function receives as NumPy arrays; ``mixed``: whether other inputs
    that are known on the host are passed as NumPy arrays; ``step``: whether the result shape
    depends on values, so that it cannot be traced; ``constants``: indices of the inputs that remain
    constants, not parameters, if the file contains them, such as scales of quantized weights.
    """

    def add(body: Body) -> Body:
        for name in [names] if isinstance(names, str) else names:
            versions = _OPERATORS.setdefault((domain, name), {})
            assert since not in versions, f"{name}-{since} is registered twice"
            versions[since] = Operator(body, frozenset(host), mixed, step, frozenset(constants))
        return body

    return add


def delayed_form(name: str) -> Callable[[Body], Body]:
    """Register a form of an operator of ai.onnx over ``Delayed`` values; it may return None."""

    def add(body: Body) -> Body:
        _DELAYED_FORMS.setdefault(name, []).append(body)
        return body

    return add


def in_delayed_form(name: str, call: Call, *inputs: Any) -> Any:
    """Return the result of the first form that fits ``Delayed`` inputs; None if none does."""
    results = (body(call, *inputs) for body in _DELAYED_FORMS.get(name, ()))
    return next((result for result in results if result is not None), None)


def find(domain: str, name: str, version: int) -> Operator | None:
    """Return the implementation of an operator in a version of its operator set."""
    versions = _OPERATORS.get((domain, name), {})
    fitting = [since for since in versions if since <= version]
    return versions[max(fitting)] if fitting else None


def registered() -> list[tuple[str, str, int]]:
    """Return domain, name and first version of all registrations."""
    return sorted((*key, since) for key, versions in _OPERATORS.items() for since in versions)


class Call:
    """One execution of a ``Node`` in an ``Evaluation``: the context of an operator's function."""

    __slots__ = ("node", "run")

    def __init__(self, node: Any, run: Any) -> None:
        self.node, self.run = node, run

    def get(self, name: str, default: Any = None) -> Any:
        """Return an attribute, or the default."""
        return self.node.attributes.get(name, default)

    def need(self, name: str) -> Any:
        """Return a required attribute."""
        if name not in self.node.attributes:
            self.refuse(f"attribute {name} must be given")
        return self.node.attributes[name]

    @property
    def op(self) -> str:
        """The operator's name."""
        return str(self.node.op)

    @property
    def version(self) -> int:
        """The version of the operator set."""
        return int(self.node.version)

    @property
    def n_outputs(self) -> int:
        """Number of results that the graph reads, counted from the first."""
        return int(self.node.n_outputs)

    def dtype(self, number: int) -> str:
        """Return the name of an ONNX data type."""
        return str(self.run.dtype(number, self))

    def device(self, value: Any) -> Any:
        """Return an array on the device; None is returned unchanged."""
        return self.run.device(value)

    def host(self, value: Any) -> np.ndarray:
        """Return the value as a NumPy array."""
        return np.asarray(self.run.host(value, self))

    def ints(self, value: Any) -> list[int]:
        """Return a host value, or an attribute, as integers."""
        return [int(v) for v in np.asarray(value).ravel()]

    def step(self, function: Callable[..., Any], *arrays: Any, shape: Any, dtype: str) -> Any:
        """Record a function over dpnp arrays as a step; its errors name the node."""

        def run(*inputs: Any) -> Any:
            try:
                return function(*inputs)
            except (ArithmeticError, LookupError, TypeError, ValueError) as error:
                title, name = f"{self.node.title}-{self.node.version}", self.node.name
                raise InvalidArguments(f"{title} (node {name!r}): {error}") from error

        return sycl_dnn.array_function(run, *arrays, shape=shape, dtype=dtype, name=self.op)

    def refuse(self, rule: str) -> NoReturn:
        """Raise the error that names operator, version, node and rule."""
        raise UnsupportedOperator.of(self.node.title, self.node.version, self.node.name, rule)


def checked_axis(call: Call, axis: int, rank: int) -> int:
    """Return an axis counted from the front."""
    if not -rank <= axis < max(rank, 1):
        raise ValueError(f"axis must be in [{-rank}, {rank - 1}], got {axis}")
    return axis % rank if rank else 0


def checked_axes(call: Call, axes: Sequence[int], rank: int) -> tuple[int, ...]:
    """Return axes counted from the front, each once."""
    checked = tuple(checked_axis(call, int(axis), rank) for axis in axes)
    if len(set(checked)) != len(checked):
        raise ValueError(f"axes must differ, got {list(axes)}")
    return checked
