# SPDX-License-Identifier: Apache-2.0
"""``GradScaler``: dynamic loss scaling for float16 gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sycl_dnn import _torch_habits, tree
from sycl_dnn import functional as F
from sycl_dnn.compiler.decorator import compile
from sycl_dnn.functional.defined import defined
from sycl_dnn.ir.node import Node, number
from sycl_dnn.nn.partitioned_parameters import by_owners
from sycl_dnn.nn.utils.gradient_clipping import gradient_arrays, in_rows
from sycl_dnn.ops.arithmetic import EQ, ISFINITE, RECIPROCAL, cast, where
from sycl_dnn.ops.shape import SUM
from sycl_dnn.optim.optimizer import Optimizer

Scale = dict[str, Any]


class GradScaler:
    """A loss scale that grows while gradients are finite and shrinks when they are not.

    Small gradients underflow in float16, so the loss is multiplied by a large scale and the
    gradients are divided by it. The scale is a tree of two arrays: everything runs on the device,
    in eager calls and inside compiled functions, without waiting for a value.

    Parameters
    ----------
    init_scale : float
        The initial scale.
    growth_factor, backoff_factor : float
        Multipliers of the scale: the first applies after ``growth_interval`` consecutive steps with
        finite gradients, the second after a step with an infinity or NaN.
    growth_interval : int
    enabled : bool
        If False, gradients are not scaled and no step is skipped.

    Raises
    ------
    ValueError
        ``init_scale`` is not positive, ``growth_factor`` not greater than 1, ``backoff_factor`` not
        in (0, 1), or ``growth_interval`` less than 1.

    Notes
    -----
    Source: ``torch.amp.GradScaler``, with its defaults. As in torch, buffers that ``forward``
    writes (running statistics) are updated even if the step is skipped.

    Examples
    --------
    >>> import sycl_dnn
    >>> from sycl_dnn import functional as F, nn, optim
    >>> net, opt, scaler = nn.Linear(3, 2), optim.SGD(0.1), optim.GradScaler()
    >>> @sycl_dnn.compile
    ... def step(net, state, scale, x):
    ...     def loss(net):
    ...         with sycl_dnn.autocast("bfloat16"):
    ...             return scaler.scale(F.mean(F.square(net(x))), scale)
    ...     grads = sycl_dnn.grad(loss)(net)
    ...     return scaler.update(opt, grads, state, net, scale)
    >>> state, scale = opt.init(net), scaler.init()
    >>> net, state, scale = step(net, state, scale, F.ones(4, 3))
    >>> float(scale["scale"]), int(scale["growth_tracker"])
    (65536.0, 1)
    """

    def __init__(
        self, init_scale: float = 2.0**16, growth_factor: float = 2.0, backoff_factor: float = 0.5,
        growth_interval: int = 2000, enabled: bool = True,
    ) -> None:  # fmt: skip
        checks = {
            "init_scale must be positive": (init_scale, init_scale > 0),
            "growth_factor must be greater than 1": (growth_factor, growth_factor > 1),
            "backoff_factor must be in (0, 1)": (backoff_factor, 0 < backoff_factor < 1),
            "growth_interval must be at least 1": (growth_interval, growth_interval >= 1),
        }
        for rule, (value, is_valid) in checks.items():
            if not is_valid:
                raise ValueError(f"GradScaler: {rule}, got {value}")
        self.init_scale, self.growth_factor = init_scale, growth_factor
        self.backoff_factor, self.growth_interval = backoff_factor, growth_interval
        self.enabled = enabled

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise _torch_habits.missing("scaler", "GradScaler", name)

    def init(self, device: Any = None) -> Scale:
        """Return the initial scale.

        Parameters
        ----------
        device : dpctl.SyclQueue, optional
            ``sycl_dnn.default_queue()`` by default.

        Returns
        -------
        dict
            ``"scale"``, float32 (), and ``"growth_tracker"``, float32 (): the number of steps since
            the scale changed. A tree that ``sycl_dnn.save`` accepts.
        """
        return {
            "scale": F.full((), float(self.init_scale), device=device),
            "growth_tracker": F.zeros((), device=device),
        }

    def scale(self, loss: Any, scale: Scale) -> Any:
        """Multiply a loss by the scale, in float32.

        Parameters
        ----------
        loss : array ()
            Of any floating-point dtype.
        scale : dict
            From ``init`` or the previous step.

        Raises
        ------
        ValueError
            ``scale`` is not a dict as returned by ``init``.

        Examples
        --------
        >>> from sycl_dnn import functional as F, optim
        >>> scaler = optim.GradScaler(init_scale=8.0)
        >>> float(scaler.scale(F.ones(()), scaler.init()))
        8.0
        """
        self._check(scale)
        if not self.enabled:
            return loss
        return F.mul(F.astype(loss, "float32"), scale["scale"])

    def unscale(self, grads: Any, scale: Scale) -> tuple[Any, Any]:
        """Divide gradients by the scale, and check that all are finite.

        Parameters
        ----------
        grads : tree of arrays
            Gradients of the scaled loss; None is skipped.
        scale : dict

        Returns
        -------
        grads : tree of arrays
            float32 (float64 for float64), so that small values do not underflow again.
        is_finite : array ()
            bool; covers the gradients before and after the division, and of tensor parallel layers
            the parts of all ranks.

        Raises
        ------
        ValueError
            There are no gradients.

        Examples
        --------
        >>> from sycl_dnn import functional as F, optim
        >>> scaler = optim.GradScaler(init_scale=2.0)
        >>> grads = [F.ones(2), F.full((1,), float("inf"))]
        >>> grads, is_finite = scaler.unscale(grads, scaler.init())
        >>> grads[0].tolist(), bool(is_finite)
        ([0.5, 0.5], False)
        """
        self._check(scale)
        arrays = gradient_arrays("GradScaler.unscale", grads)
        gradients = [g for g in arrays if g is not None]
        if not gradients:
            raise ValueError("GradScaler.unscale: grads must have an array, got none")
        divided, is_finite = _unscaled(gradients, scale["scale"] if self.enabled else None)
        remaining = iter(divided)
        leaves, structure = tree.flatten(grads)
        for owner in by_owners(arrays, structure):
            is_finite = is_finite if owner is None else F.all(owner.gathered(is_finite))
        rows = zip(leaves, arrays, strict=True)
        result = tree.unflatten(
            structure, [old if g is None else next(remaining) for old, g in rows]
        )
        return result, is_finite

    def adjusted(self, scale: Scale, is_finite: Any) -> Scale:
        """Return the scale for the next step, as ``torch.amp.GradScaler.update`` does.

        Parameters
        ----------
        scale : dict
        is_finite : array ()
            As returned by ``unscale``.

        Examples
        --------
        >>> from sycl_dnn import functional as F, optim
        >>> scaler = optim.GradScaler(init_scale=8.0)
        >>> is_finite = F.eq(F.ones(()), 0.0)
        >>> float(scaler.adjusted(scaler.init(), is_finite)["scale"])
        4.0
        """
        self._check(scale)
        if not self.enabled:
            return scale
        factors = (self.growth_factor, self.backoff_factor, self.growth_interval)
        result = _adjusted(scale["scale"], scale["growth_tracker"], is_finite, *map(float, factors))
        return dict(zip(("scale", "growth_tracker"), result, strict=True))

    def update(
        self, optimizer: Optimizer, grads: Any, state: Any, params: Any, scale: Scale
    ) -> tuple[Any, Any, Scale]:
        """Apply a step unless gradients overflowed, and adjust the scale.

        Parameters
        ----------
        optimizer : Optimizer
        grads : tree of arrays
            Gradients of the scaled loss.
        state, params
            As for ``optimizer.update``.
        scale : dict

        Returns
        -------
        params, state, scale
            New ones. If a gradient is infinite or NaN, the step is skipped: parameters and state,
            including the step count, are unchanged and the scale shrinks.

        Examples
        --------
        >>> from sycl_dnn import functional as F, optim
        >>> opt, scaler = optim.SGD(1.0), optim.GradScaler()
        >>> params, scale = {"w": F.ones(1)}, scaler.init()
        >>> bad = {"w": F.full((1,), float("nan"))}
        >>> params, state, scale = scaler.update(opt, bad, opt.init(params), params, scale)
        >>> params["w"].tolist(), float(state["step"]), float(scale["scale"])
        ([1.0], 0.0, 32768.0)
        """
        grads, is_finite = self.unscale(grads, scale)
        is_finite = optimizer.agreed(is_finite)
        new_params, new_state = optimizer.update(grads, state, params)
        if not self.enabled:
            return new_params, new_state, scale

        if "steps" in new_state:
            # A parameter that misses its first step has no earlier count.
            state = state | {"steps": new_state["steps"] | state.get("steps", {})}
        old_leaves, structure = tree.flatten((params, state))
        new_leaves = tree.leaves((new_params, new_state))
        changed = [
            n for n, (a, b) in enumerate(zip(old_leaves, new_leaves, strict=True)) if a is not b
        ]
        result = list(old_leaves)
        selected = _chosen(
            [new_leaves[n] for n in changed], [old_leaves[n] for n in changed], is_finite
        )
        for n, array in zip(changed, selected, strict=True):
            result[n] = array
        params, state = tree.unflatten(structure, result)
        return params, state, self.adjusted(scale, is_finite)

    def _check(self, scale: Any) -> None:
        if not isinstance(scale, dict) or set(scale) != {"scale", "growth_tracker"}:
            actual = sorted(scale) if isinstance(scale, dict) else type(scale).__name__
            raise ValueError(
                f"GradScaler: scale must have the keys 'growth_tracker', 'scale' of init, "
                f"got {actual}"
            )


@compile
def _unscaled(grads: list[Any], scale: Any) -> tuple[list[Any], Any]:
    """Return gradients over the scale, at least float32, and whether all are finite."""

    def divided(g: Node, scale: Node | None = None) -> tuple[Node]:
        wide = cast(g, g.dtype if g.dtype == "float64" else "float32")
        return (wide if scale is None else wide * cast(RECIPROCAL(scale), wide.dtype),)

    def nothing(g: Node) -> tuple[Node]:
        # Infinity or NaN times zero is NaN, and NaN propagates through the sum.
        return (SUM(cast(g, "float32") * 0.0, axes=tuple(range(1, g.ndim))),)

    def is_nothing(sums: Node) -> tuple[Node]:
        return (EQ(SUM(sums, axes=(0,)), number(0.0, sums.dtype)),)

    unscaled = [defined(divided, [g] if scale is None else [g, scale])[0] for g in grads]
    sums = [F.flatten(defined(nothing, [in_rows(g)])[0]) for g in unscaled]
    return unscaled, F.reshape(defined(is_nothing, [F.cat(sums)])[0], ())


@compile
def _adjusted(
    scale: Any, steps: Any, is_finite: Any, growth: float, backoff: float, interval: float
) -> tuple[Any, ...]:
    """Return the next scale, and the steps since it changed."""

    def definition(old: Node, steps: Node, is_finite: Node) -> tuple[Node, Node]:
        completed, zero = steps + 1.0, number(0.0, steps.dtype)
        is_due = completed >= float(interval)
        # Keep the old scale if the new one would overflow.
        grown = where(ISFINITE(old * float(growth)), old * float(growth), old)
        steady = where(is_due, grown, old)
        next_steps = where(is_finite, where(is_due, zero, completed), zero)
        return where(is_finite, steady, old * float(backoff)), next_steps

    return defined(definition, [scale, steps, is_finite])


@compile
def _chosen(new: list[Any], old: list[Any], is_finite: Any) -> list[Any]:
    def chosen(now: Node, before: Node, is_finite: Node) -> tuple[Node]:
        return (where(is_finite, now, before),)

    return [defined(chosen, [a, b, is_finite])[0] for a, b in zip(new, old, strict=True)]
