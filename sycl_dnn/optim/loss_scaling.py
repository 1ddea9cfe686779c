# SPDX-License-Identifier: Apache-2.0
"""``GradScaler``: dynamic loss scaling for float16 gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sycl_dnn import _torch_habits, tree
from sycl_dnn import functional as F
from sycl_dnn.nn.utils.gradient_clipping import gradient_arrays
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
        for rule, (value, is_kept) in checks.items():
            if not is_kept:
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
            bool; covers the gradients before and after the division.

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
        inverse = F.reciprocal(scale["scale"]) if self.enabled else None
        leaves, structure = tree.flatten(grads)
        given = gradient_arrays("GradScaler.unscale", grads)
        divided = [None if g is None else _divided(g, inverse) for g in given]
        rows = zip(leaves, divided, strict=True)
        made = tree.unflatten(structure, [old if g is None else g for old, g in rows])
        found = [F.astype(g, "float32") for g in divided if g is not None]
        if not found:
            raise ValueError("GradScaler.unscale: grads must have an array, got none")
        # Infinity or NaN times zero is NaN, and NaN propagates through the sum.
        sums = [F.sum(F.mul(g, 0.0)) for g in found]
        return made, F.eq(F.sum(F.stack(sums)), 0.0)

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
        old, done = scale["scale"], F.add(scale["growth_tracker"], 1.0)
        is_due = F.ge(done, float(self.growth_interval))
        grown = F.mul(old, float(self.growth_factor))
        # Keep the old scale if the new one would overflow.
        grown = F.where(F.eq(F.mul(grown, 0.0), 0.0), grown, old)
        steady = F.where(is_due, grown, old)
        return {
            "scale": F.where(is_finite, steady, F.mul(old, float(self.backoff_factor))),
            "growth_tracker": F.where(is_finite, F.where(is_due, 0.0, done), 0.0),
        }

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
        new, after = optimizer.update(grads, state, params)
        if not self.enabled:
            return new, after, scale

        def chosen(now: Any, before: Any) -> Any:
            return before if now is before else F.where(is_finite, now, before)

        params = tree.map(chosen, new, params)
        return params, tree.map(chosen, after, state), self.adjusted(scale, is_finite)

    def _check(self, scale: Any) -> None:
        if not isinstance(scale, dict) or set(scale) != {"scale", "growth_tracker"}:
            got = sorted(scale) if isinstance(scale, dict) else type(scale).__name__
            raise ValueError(
                f"GradScaler: scale must have the keys 'growth_tracker', 'scale' of init, got {got}"
            )


def _divided(g: Any, inverse: Any) -> Any:
    wide = g if str(g.dtype) in ("float32", "float64") else F.astype(g, "float32")
    return wide if inverse is None else F.mul(wide, F.astype(inverse, str(wide.dtype)))
