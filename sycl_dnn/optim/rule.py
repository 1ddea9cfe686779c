# SPDX-License-Identifier: Apache-2.0
"""Shared parts of optimizers: constructors, docstrings and small formulas."""

from __future__ import annotations

import inspect
from typing import Any

from sycl_dnn import functional as F
from sycl_dnn.optim.optimizer import Options, rate_of

_SHARED = """
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
        An option is out of its range.
    TypeError
        A group has an option that the optimizer lacks.

    Notes
    -----
    Source: """


#: Options of every optimizer.
_COMMON: dict[str, Any] = {
    "groups": (), "decay_mask": None, "max_norm": None, "master_weights": False
}  # fmt: skip
_MAXIMIZE = """
    maximize : bool
        Whether to step along the gradient, not against it."""
_EXAMPLE = """
    Examples
    --------
    >>> from sycl_dnn import functional as F, optim
    >>> opt, params = optim.NAME(), {"w": F.ones(2, 2)}
    >>> new, state = opt.update({"w": F.ones(2, 2)}, opt.init(params), params)
    >>> bool((new["w"] < params["w"]).all()), float(state["step"])
    (True, 1.0)
    """


def zeros(p: Any) -> Any:
    """Return zeros with the shape, dtype and queue of a parameter."""
    return F.mul(p, 0.0)


def signature_of(lr: float, options: dict[str, Any]) -> inspect.Signature:
    """Return the signature of a constructor with a rate and keyword options."""
    usual, keyword = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    first = [inspect.Parameter("self", usual), inspect.Parameter("lr", usual, default=lr)]
    named = [inspect.Parameter(n, keyword, default=v) for n, v in options.items()]
    return inspect.Signature([*first, *named])


def rule(lr: float, source: str, **defaults: Any) -> Any:
    """Return a class decorator that adds the constructor and completes the docstring."""

    def attach(cls: Any) -> Any:
        def __init__(self: Any, *given: Any, **options: Any) -> None:  # noqa: N807
            rate = rate_of(cls.__name__, given, options, lr)
            shared = [options.pop(name, default) for name, default in _COMMON.items()]
            unknown = sorted(set(options) - set(defaults))
            if unknown:
                raise TypeError(f"{cls.__name__}: unknown option {unknown[0]!r}")
            self._set_up(rate, defaults | options, *shared)

        __init__.__signature__ = signature_of(lr, defaults | _COMMON)  # type: ignore[attr-defined]
        cls.__init__ = __init__
        cls.defaults = defaults
        text = inspect.cleandoc(cls.__doc__).replace("\n", "\n    ")
        example = _EXAMPLE.replace("NAME", cls.__name__)
        text += _MAXIMIZE if "maximize" in defaults else ""
        cls.__doc__ = f"{text}{_SHARED}{source}\n{example}"
        return cls

    return attach


def added(g: Any, p: Any, o: Options) -> Any:
    """Add L2 regularization to a gradient."""
    return F.add(g, F.mul(p, o.weight_decay)) if o.weight_decay else g


def shrunk(p: Any, o: Options) -> Any:
    """Apply decoupled weight decay."""
    return F.mul(p, 1.0 - o.lr * o.weight_decay) if o.weight_decay else p


def mixed(old: Any, new: Any, beta: float) -> Any:
    """Return ``beta * old + (1 - beta) * new``."""
    return F.add(F.mul(old, beta), F.mul(new, 1.0 - beta))
