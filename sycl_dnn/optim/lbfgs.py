# SPDX-License-Identifier: Apache-2.0
"""``LBFGS``: a quasi-Newton optimizer that evaluates the loss itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import dpnp

from sycl_dnn import functional as F
from sycl_dnn import tree
from sycl_dnn.call.reverse import value_and_grad
from sycl_dnn.nn.partitioned_parameters import check_whole
from sycl_dnn.optim.line_search import Point, strong_wolfe
from sycl_dnn.optim.optimizer import (
    Optimizer,
    State,
    named,
    rate_of,
)
from sycl_dnn.optim.option_attributes import check_options
from sycl_dnn.optim.rule import signature_of
from sycl_dnn.optim.tied_parameters import check_untied
from sycl_dnn.trace.array import carrier
from sycl_dnn.trace.values import Tensor

#: Steps with less curvature are not added to the history.
_LEAST_CURVATURE = 1e-10
_SEARCHES = (None, "strong_wolfe")


class LBFGS(Optimizer):
    """The limited-memory Broyden-Fletcher-Goldfarb-Shanno method.

    One ``update`` runs up to ``max_iter`` iterations and reads the loss in each. Therefore
    ``update`` takes the loss function rather than gradients, and must be called outside compiled
    functions; the loss function itself may be compiled. The state needs ``2 * history_size`` times
    the memory of the parameters.

    Parameters
    ----------
    lr : float or callable
        The step length, or for ``line_search_fn="strong_wolfe"`` the first one to try.
    max_iter, max_eval : int
        Maximum iterations per update, and evaluations of the loss, by default 1.25 times as many.
    tolerance_grad, tolerance_change : float
        An update ends if no gradient is larger than the first, or if parameters and loss change by
        less than the second.
    history_size : int
        Number of steps in the history.
    line_search_fn : {None, "strong_wolfe"}
    maximize : bool
        Whether to maximize; ``state["loss"]`` is then the negated function value.

    Raises
    ------
    ValueError
        An option is out of range.

    Notes
    -----
    Source: ``torch.optim.LBFGS``; Nocedal and Wright, "Numerical Optimization", chapter 7.

    Examples
    --------
    >>> from sycl_dnn import functional as F, optim
    >>> opt = optim.LBFGS(line_search_fn="strong_wolfe")
    >>> params = {"w": F.full((2,), 5.0)}
    >>> loss = lambda params: F.sum(F.square(F.sub(params["w"], 3.0)))
    >>> params, state = opt.update(loss, opt.init(params), params)
    >>> params["w"].tolist(), float(state["loss"])
    ([3.0, 3.0], 8.0)
    """

    _defaults = {
        "max_iter": 20, "max_eval": None, "tolerance_grad": 1e-7, "tolerance_change": 1e-9,
        "history_size": 100, "line_search_fn": None, "maximize": False,
    }  # fmt: skip

    if TYPE_CHECKING:

        def __init__(
            self, lr: float | Callable[[Any], Any] = 1.0, *, max_iter: int = 20,
            max_eval: int | None = None, tolerance_grad: float = 1e-7,
            tolerance_change: float = 1e-9, history_size: int = 100,
            line_search_fn: str | None = None, maximize: bool = False,
        ) -> None: ...  # fmt: skip

    else:

        def __init__(self, *args: Any, **options: Any) -> None:
            lr = rate_of("LBFGS", args, options, 1.0)
            unknown = sorted(set(options) - set(self._defaults))
            if unknown:
                raise TypeError(f"LBFGS: unknown option {unknown[0]!r}")
            self.options = {"lr": lr, **self._defaults, **options}
            search = self.options["line_search_fn"]
            if search not in _SEARCHES:
                raise ValueError(
                    f"LBFGS: line_search_fn must be None or 'strong_wolfe', got {search!r}"
                )
            check_options("LBFGS", self.options)
            if self.options["max_eval"] is None:
                self.options["max_eval"] = self.options["max_iter"] * 5 // 4

        __init__.__signature__ = signature_of(1.0, _defaults)

    def init(self, params: Any) -> State:
        """Return the initial state: a tree that ``sycl_dnn.save`` accepts.

        Raises
        ------
        TypeError
            A trainable array is not floating point.
        ValueError
            There is no trainable array.
        """
        check_untied("LBFGS", params)
        check_whole("LBFGS", params)
        flat = _Flat(params)
        zeros = dpnp.zeros_like(flat.vector(params))
        count = lambda: F.zeros(device=zeros.sycl_queue)  # noqa: E731
        rows = dpnp.zeros_like(zeros, shape=(self.options["history_size"], zeros.size))
        return {
            "step": count(), "iterations": count(), "evaluations": count(), "loss": count(),
            "t": count(), "scale": count(), "direction": zeros, "gradient": zeros.copy(),
            "kept": count(), "moves": rows, "changes": rows.copy(),
        }  # fmt: skip

    def update(  # type: ignore[override]
        self, loss: Callable[..., Any], state: State, params: Any, *args: Any, lr: Any = None
    ) -> tuple[Any, State]:
        """Return parameters and state after up to ``max_iter`` iterations.

        Parameters
        ----------
        loss : callable
            ``loss(params, *args)`` returns an array (). It is called several times.
        state : dict
            From ``init`` or the previous update.
        params : tree of arrays
            A module, or any tree.
        *args
            Further arguments of ``loss``, so that one function serves all batches.
        lr : float or array (), optional
            Overrides the optimizer's rate for this update.

        Returns
        -------
        params, state
            New ones; ``state["loss"]`` is the loss before the update.

        Raises
        ------
        TypeError
            ``loss`` is not callable, or a function is being traced.
        """
        if not callable(loss) or hasattr(loss, "_parameters"):
            raise TypeError(
                f"LBFGS: loss must be a function of the parameters, got {type(loss).__name__}: "
                "params, state = opt.update(loss, state, params)"
            )
        if any(isinstance(v, Tensor) for v in tree.leaves((state, params, args, lr))):
            raise TypeError(
                "LBFGS: iterations read the loss, which has no value while a function is traced; "
                "call update outside, and compile the loss"
            )
        rate = self.options["lr"] if lr is None else lr
        rate = float(rate(float(state["step"])) if callable(rate) else rate)
        function = _negative(loss) if self.options["maximize"] else loss
        run = _Run(self.options, rate, state, params, value_and_grad(function), args)
        run.iterate()
        return run.params, run.state()

    def step(self, module: Any = None, loss: Any = None, *args: Any) -> None:
        """Update a module in place, given a loss function of it; the optimizer keeps the state."""
        self._step(module, loss, lambda state: self.update(loss, state, module, *args))


def _negative(loss: Callable[..., Any]) -> Callable[..., Any]:
    def function(*args: Any) -> Any:
        return F.neg(loss(*args))

    return function


class _Flat:
    """The trainable arrays of a tree, flattened into one vector."""

    def __init__(self, params: Any) -> None:
        leaves, self.structure = tree.flatten(params)
        rows = zip(leaves, tree.constants(self.structure), strict=True)
        self.numbers = [n for n, (_, is_constant) in enumerate(rows) if not is_constant]
        if not self.numbers:
            raise ValueError("LBFGS: params must have a trainable array, got none")
        for name, p in named(params):
            if not str(p.dtype).startswith(("float", "bfloat")):
                raise TypeError(f"LBFGS: {name} must be floating-point, got {p.dtype}")
        arrays = [leaves[n] for n in self.numbers]
        self.dtype = "float64" if any(str(a.dtype) == "float64" for a in arrays) else "float32"

    def vector(self, params: Any, like: Sequence[Any] | None = None) -> Any:
        """Flatten the arrays; None gives zeros."""
        leaves = tree.matched(self.structure, params, "LBFGS", none_fills=True)
        parts = []
        for n in self.numbers:
            part = leaves[n]
            if part is None and like is not None:
                part = dpnp.zeros(like[n].shape, dtype=self.dtype, sycl_queue=like[n].sycl_queue)
            parts.append(carrier(F.astype(part, self.dtype)).reshape(-1))
        return dpnp.concatenate(parts)

    def moved(self, leaves: Sequence[Any], row: Any) -> list[Any]:
        """Return the leaves with values from a vector, each in its own dtype."""
        result, first = list(leaves), 0
        for n in self.numbers:
            old = leaves[n]
            part = row[first : first + old.size].reshape(old.shape)
            result[n] = F.astype(part, str(old.dtype))
            result[n] = result[n].copy() if result[n] is part else result[n]
            first += old.size
        return result


class _Run:
    """One update: the parameters, their gradient and the history."""

    def __init__(
        self, options: dict[str, Any], rate: float, state: State, params: Any,
        evaluated: Callable[..., Any], args: tuple[Any, ...],
    ) -> None:  # fmt: skip
        self.options, self.rate, self.old = options, rate, state
        self.params, self.flat = params, _Flat(params)
        self.evaluated, self.args = evaluated, args
        self.iterations, self.n_evaluations = int(state["iterations"]), 0
        n_pairs = int(state["kept"])
        self.moves, self.changes = (list(state[n][:n_pairs]) for n in ("moves", "changes"))
        self.direction, self.previous = state["direction"], state["gradient"]
        self.t, self.scale = float(state["t"]), float(state["scale"])

    def evaluate(self) -> tuple[float, Any]:
        """Return the loss and gradient; buffers that the loss writes are kept."""
        self.n_evaluations += 1
        value, grads = self.evaluated(self.params, *self.args)
        return float(value), self.flat.vector(grads, tree.leaves(self.params))

    def place(self, row: Any) -> None:
        """Set the parameters from a vector."""
        leaves = self.flat.moved(tree.leaves(self.params), row)
        self.params = tree.unflatten(self.flat.structure, leaves)

    def iterate(self) -> None:
        """Iterate until a limit or a tolerance is reached."""
        o = self.options
        loss, g = self.evaluate()
        self.first = loss
        if _largest(g) <= o["tolerance_grad"]:
            return
        for n in range(1, o["max_iter"] + 1):
            self.iterations += 1
            self.remember(g)
            self.previous = g
            is_first = self.iterations == 1
            self.t = self.rate * (min(1.0, 1.0 / float(abs(g).sum())) if is_first else 1.0)
            slope = float(dpnp.dot(g, self.direction))
            if slope > -o["tolerance_change"]:
                return
            previous_loss, is_last = loss, n == o["max_iter"]
            loss, g = self.advance(Point(0.0, loss, g, slope), is_last)
            if is_last or self.n_evaluations >= o["max_eval"]:
                return
            move = _largest(self.direction) * abs(self.t)
            is_still = min(move, abs(loss - previous_loss)) < o["tolerance_change"]
            if _largest(g) <= o["tolerance_grad"] or is_still:
                return

    def remember(self, g: Any) -> None:
        """Add the last step to the history and compute the next direction."""
        if self.iterations == 1:
            self.moves, self.changes, self.scale, self.direction = [], [], 1.0, -g
            return
        change, move = g - self.previous, self.direction * self.t
        curvature = float(dpnp.dot(change, move))
        if curvature > _LEAST_CURVATURE:
            most = self.options["history_size"] - 1
            keep = slice(max(len(self.moves) - most, 0), None)
            self.moves = [*self.moves[keep], move]
            self.changes = [*self.changes[keep], change]
            self.scale = curvature / float(dpnp.dot(change, change))
        self.direction = self.newton(g)

    def newton(self, g: Any) -> Any:
        """Return the search direction by the two-loop recursion."""
        q, shares = -g, []
        pairs = list(zip(self.moves, self.changes, strict=True))
        inverses = [1.0 / dpnp.dot(change, move) for move, change in pairs]
        for (move, change), inverse in zip(reversed(pairs), reversed(inverses), strict=True):
            shares.append(dpnp.dot(move, q) * inverse)
            q = q - change * shares[-1]
        r = q * self.scale
        for (move, change), inverse in zip(pairs, inverses, strict=True):
            r = r + move * (shares.pop() - dpnp.dot(change, r) * inverse)
        return r

    def advance(self, start: Point, is_last: bool) -> tuple[float, Any]:
        """Move along the direction; return the loss and gradient at the new point."""
        origin = self.flat.vector(self.params)

        def at(t: float) -> Point:
            self.place(origin + self.direction * t)
            loss, g = self.evaluate()
            return Point(t, loss, g, float(dpnp.dot(g, self.direction)))

        if self.options["line_search_fn"] is None:
            if not is_last:
                return at(self.t)[1:3]
            self.place(origin + self.direction * self.t)
            return start.f, start.g
        size, change = _largest(self.direction), self.options["tolerance_change"]
        point, _ = strong_wolfe(at, self.t, start, size, change)
        self.t = point.t
        self.place(origin + self.direction * point.t)
        return point.f, point.g

    def state(self) -> State:
        """Return the state after the update."""
        add = lambda key, n: F.add(self.old[key], float(n))  # noqa: E731
        number = lambda v: F.add(F.mul(self.old["step"], 0.0), v)  # noqa: E731
        return {
            "step": add("step", 1), "iterations": number(float(self.iterations)),
            "evaluations": add("evaluations", self.n_evaluations), "loss": number(self.first),
            "t": number(self.t), "scale": number(self.scale), "direction": self.direction,
            "gradient": self.previous, "kept": number(float(len(self.moves))),
            "moves": self.rows("moves", self.moves),
            "changes": self.rows("changes", self.changes),
        }  # fmt: skip

    def rows(self, name: str, arrays: Sequence[Any]) -> Any:
        """Return one part of the history as rows; unused ones are zero."""
        result = dpnp.zeros_like(self.old[name])
        for n, array in enumerate(arrays):
            result[n] = array
        return result


def _largest(row: Any) -> float:
    return float(abs(row).max())
