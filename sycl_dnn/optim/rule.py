# SPDX-License-Identifier: Apache-2.0
"""Shared parts of optimizers: constructors, docstrings and small formulas."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from sycl_dnn import _torch_habits
from sycl_dnn import functional as F
from sycl_dnn.call.operation import sections
from sycl_dnn.functional.defined import defined
from sycl_dnn.ir.node import Node
from sycl_dnn.ops.arithmetic import EXPM1, LOG, cast
from sycl_dnn.optim.optimizer import Options, rate_of
from sycl_dnn.trace.replay import Definition
from sycl_dnn.trace.values import Tensor

_DOC = """{summary}

Parameters
----------
{options}
groups : sequence of (callable, dict)
    Different options for parameters whose names a function accepts.
decay_mask : callable, optional
    ``decay_mask(name, array)`` says whether weight decay applies to a parameter.
max_norm : float, optional
    Gradients are scaled so that their norm over the whole tree is at most this.
master_weights : bool
    Whether the state has float32 copies of narrower parameters.

Raises
------
ValueError
    An option is out of range.
TypeError
    A group has an option that the optimizer lacks.

Notes
-----
Source: {source}

Examples
--------
>>> from sycl_dnn import functional as F, optim
>>> opt, params = optim.{name}(), {{"w": F.ones(2, 2)}}
>>> new, state = opt.update({{"w": F.ones(2, 2)}}, opt.init(params), params)
>>> bool((new["w"] < params["w"]).all()), float(state["step"])
(True, 1.0)
"""

#: Options of every optimizer.
_COMMON: dict[str, Any] = {
    "groups": (), "decay_mask": None, "max_norm": None, "master_weights": False
}  # fmt: skip
#: Options that several optimizers have; the types of others are those of their defaults.
_DESCRIBED = {
    "lr": "float or callable",
    "betas": "pair of float or callable",
    "momentum": "float or callable",
    "decoupled_weight_decay": """bool
    Whether weight decay is decoupled from the gradient, as in AdamW.""",
    "maximize": """bool
    Whether to step along the gradient, not against it.""",
}


def number_like(p: Any, value: float = 0.0) -> Any:
    """Return an array () with the dtype and queue of a parameter."""
    return F.full((), value, dtype=str(p.dtype), device=p.sycl_queue)


def signature_of(lr: float, options: dict[str, Any]) -> inspect.Signature:
    """Return the signature of a constructor with a rate and keyword options."""
    positional, keyword = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    leading = [
        inspect.Parameter("self", positional),
        inspect.Parameter("lr", positional, default=lr),
    ]
    named = [inspect.Parameter(n, keyword, default=v) for n, v in options.items()]
    return inspect.Signature([*leading, *named])


def rule(lr: float, source: str, **defaults: Any) -> Any:
    """Return a class decorator that adds the constructor and completes the docstring."""

    def attach(cls: Any) -> Any:
        def __init__(self: Any, *args: Any, **options: Any) -> None:  # noqa: N807
            rate = rate_of(cls.__name__, args, options, lr)
            shared = [options.pop(name, default) for name, default in _COMMON.items()]
            unknown = sorted(set(options) - set(defaults))
            if unknown:
                hint = _torch_habits.hint("optimizer", unknown[0])
                raise TypeError(f"{cls.__name__}: unknown option {unknown[0]!r}{hint}")
            self._set_up(rate, defaults | options, *shared)

        __init__.__signature__ = signature_of(lr, defaults | _COMMON)  # type: ignore[attr-defined]
        cls.__init__ = __init__
        cls.defaults = defaults
        summary, own = sections(cls)
        options = _described(own, {"lr": lr, **defaults})
        cls.__doc__ = _DOC.format(
            summary=summary, options=options, source=source, name=cls.__name__
        )
        return cls

    return attach


def _described(own: str, options: Mapping[str, Any]) -> str:
    """Return the entries of a docstring for options with these defaults, with the class's own."""
    entries = dict(re.findall(r"^(\w+) : (.*(?:\n    .*)*)", own, re.MULTILINE))
    named = {
        name: entries.get(name) or _DESCRIBED.get(name) or type(default).__name__
        for name, default in options.items()
    }
    return "\n".join(f"{name} : {text}" for name, text in named.items())


def in_one_kernel(
    definition: Callable[..., Mapping[str, Node]],
    arrays: Mapping[str, Tensor],
    results: Iterable[str],
    **numbers: Any,
) -> dict[str, Tensor]:
    """Compute new arrays from arrays of one shape and from numbers; arrays of these are read.

    ``definition``: a function without closure, so that equal parameters are lowered once: takes
    nodes by name, in float64 if an array is, otherwise in float32, and other numbers as they are;
    returns new values by name. ``results``: which arrays get one, in their dtypes.
    """
    wide = "float64" if any(str(a.dtype) == "float64" for a in arrays.values()) else "float32"
    read, results = arrays_among(**numbers), tuple(results)
    fixed = tuple([item for item in numbers.items() if item[0] not in read])
    body = Definition(_converted, definition, (*arrays, *read), results, wide, fixed)
    new = defined(body, [*arrays.values(), *read.values()])
    return dict(zip(results, new, strict=True))


def _converted(
    definition: Callable[..., Mapping[str, Node]], names: tuple[str, ...],
    results: tuple[str, ...], wide: str, fixed: tuple[tuple[str, Any], ...], *nodes: Node,
) -> tuple[Node, ...]:  # fmt: skip
    given = dict(zip(names, nodes, strict=True))
    new = definition(**{name: cast(node, wide) for name, node in given.items()}, **dict(fixed))
    return tuple([cast(new[name], given[name].dtype) for name in results])


def arrays_among(**numbers: Any) -> dict[str, Tensor]:
    """Return the numbers that are arrays: results of schedules, or from the caller."""
    return {name: value for name, value in numbers.items() if isinstance(value, Tensor)}


def group_numbers(
    definition: Callable[..., tuple[Node, ...]], o: Options, **more: Any
) -> tuple[Tensor, ...]:
    """Compute the numbers that all parameters of a group share, arrays () of the dtype of ``o.t``.

    ``definition`` takes the step count ``t``, the rate ``lr`` and ``more`` numbers by name, as
    nodes where arrays were given.
    """
    numbers = {"t": o.t, "lr": o.lr, **more}
    arrays, dtype = arrays_among(**numbers), str(o.t.dtype)

    def converting(*nodes: Node) -> tuple[Node, ...]:
        rows = zip(arrays, nodes, strict=True)
        values = numbers | {name: cast(node, dtype) for name, node in rows}
        return tuple([cast(node, dtype) for node in definition(**values)])

    return tuple(defined(converting, list(arrays.values())))


def less_power(base: Any, t: Any) -> Any:
    """Return ``1 - base ** t`` for a node or an array, accurate even if ``base`` is close to 1."""
    if isinstance(base, Tensor):
        return defined(lambda base, t: (less_power(base, t),), [base, t])[0]
    if isinstance(base, Node):
        return -EXPM1(t * LOG(base))
    if not base:
        return 1.0
    if isinstance(t, Node):
        return -EXPM1(t * math.log(base))
    return defined(lambda t: (less_power(base, t),), [t])[0]


def as_array(value: Any, o: Options) -> Any:
    """Return a number as an array, so that another one needs no new program; arrays unchanged."""
    return value if isinstance(value, Tensor) else F.add(F.mul(o.t, 0.0), value)


def added(g: Any, p: Any, o: Options) -> Any:
    """Add L2 regularization to a gradient."""
    return F.add(g, F.mul(p, o.weight_decay)) if o.weight_decay else g


def shrunk(p: Any, o: Options) -> Any:
    """Apply decoupled weight decay."""
    return F.mul(p, 1.0 - o.lr * o.weight_decay) if o.weight_decay else p


def regularized(p: Any, g: Any, o: Options) -> tuple[Any, Any]:
    """Apply decoupled weight decay to a parameter, or add L2 regularization to its gradient."""
    return (shrunk(p, o), g) if o.decoupled_weight_decay else (p, added(g, p, o))


def mixed(old: Any, new: Any, beta: float) -> Any:
    """Return ``beta * old + (1 - beta) * new``."""
    return F.add(F.mul(old, beta), F.mul(new, 1.0 - beta))
