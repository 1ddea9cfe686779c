# SPDX-License-Identifier: Apache-2.0
"""Optimizers with adaptive step sizes: RAdam, Adadelta, ASGD and Rprop."""

from __future__ import annotations

import math
from typing import Any

from sycl_dnn import functional as F
from sycl_dnn.ir.node import Node, number
from sycl_dnn.ops.arithmetic import GT, LT, MAXIMUM, SQRT, SQUARE, TANH, cast, where
from sycl_dnn.optim.optimizer import Maker, Optimizer, Options, zeros
from sycl_dnn.optim.rule import (
    added,
    group_numbers,
    less_power,
    mixed,
    number_like,
    regularized,
    rule,
)


@rule(1e-3, "``torch.optim.RAdam``; Liu et al., arXiv:1908.03265.", betas=(0.9, 0.999), eps=1e-8,
      weight_decay=0.0, decoupled_weight_decay=False, maximize=False)  # fmt: skip
class RAdam(Optimizer):
    """Adam that uses plain momentum until the variance estimate is reliable."""

    is_elementwise = True
    zero_slots = ("m", "v")

    def prepare(self, o: Options) -> None:
        """Compute the bias corrections, and whether to use the second moment."""
        second = o.betas[1]
        most = 2.0 / (1.0 - second) - 1.0
        o.is_rectified = most > 5.0
        factor = most / ((most - 4.0) * (most - 2.0)) if o.is_rectified else 0.0

        def definition(t: Node, lr: Any, first: Any) -> tuple[Node, ...]:
            size = (t * 0.0 + lr) / less_power(first, t)
            if not o.is_rectified:
                return (size,)
            rho, zero = _squares(second, t), number(0.0, t.dtype)
            ratio = MAXIMUM((rho - 4.0) * (rho - 2.0) / rho * factor, zero)
            is_enough = cast(GT(rho, number(5.0, t.dtype)), t.dtype)
            return size, is_enough, SQRT(ratio) * SQRT(less_power(second, t))

        o.size, *rest = group_numbers(definition, o, first=o.betas[0])
        o.is_enough, o.share = rest or (None, None)

    def moved(self, p: Any, g: Any, slots: dict[str, Any], o: Options) -> tuple[Any, Any]:
        """Apply one step."""
        p, g = regularized(p, g, o)
        m, v = mixed(slots["m"], g, o.betas[0]), mixed(slots["v"], F.square(g), o.betas[1])
        move = F.mul(m, o.size)
        if o.is_rectified:
            adaptive = F.div(F.mul(move, o.share), F.add(F.sqrt(v), o.eps))
            move = F.where(F.gt(o.is_enough, 0.5), adaptive, move)
        return F.sub(p, move), {"m": m, "v": v}


def _squares(beta: float, t: Node) -> Node:
    """Return the length of the approximated average: ``2 / (1 - b) - 1 - 2 t b**t / (1 - b**t)``.

    In early steps the two large terms nearly cancel, so the difference is rewritten: with
    ``x = -log(b)`` and ``v = t x / 2`` the second is ``2 / x`` times ``v coth(v) - v``.
    """
    x, most = -math.log(beta), 2.0 / (1.0 - beta) - 1.0
    v = t * (0.5 * x)
    s = SQUARE(v)
    series = s * (s * (s * (s * (-1 / 4725) + 2 / 945) - 1 / 45) + 1 / 3)
    above = where(LT(v, number(0.5, t.dtype)), series, v / TANH(v) - 1.0)
    early = t + (most - 2.0 / x) - above * (2.0 / x)
    late = most - t * 2.0 * (1.0 / less_power(beta, t) - 1.0)
    return where(LT(v, number(1.0, t.dtype)), early, late)


@rule(1.0, "``torch.optim.Adadelta``; Zeiler, arXiv:1212.5701.", rho=0.9, eps=1e-6,
      weight_decay=0.0, maximize=False)  # fmt: skip
class Adadelta(Optimizer):
    """Scales the gradient by the ratio of the RMS of past steps and past gradients."""

    is_elementwise = True
    zero_slots = ("v", "delta")

    def moved(self, p: Any, g: Any, slots: dict[str, Any], o: Options) -> tuple[Any, Any]:
        """Apply one step."""
        g = added(g, p, o)
        v = mixed(slots["v"], F.square(g), o.rho)
        ratio = F.div(F.sqrt(F.add(slots["delta"], o.eps)), F.sqrt(F.add(v, o.eps)))
        move = F.mul(ratio, g)
        delta = mixed(slots["delta"], F.square(move), o.rho)
        return F.sub(p, F.mul(move, o.lr)), {"v": v, "delta": delta}


@rule(1e-2, "``torch.optim.ASGD``.", lambd=1e-4, alpha=0.75, t0=1e6, weight_decay=0.0,
      maximize=False)  # fmt: skip
class ASGD(Optimizer):
    """Averaged SGD with a decaying rate; the state has the averaged parameters as ``"ax"``.

    lambd : float
        Weight decay, which also sets how fast the rate decays.
    alpha : float
        Exponent of the decay of the rate.
    t0 : float
        The step at which averaging starts.
    """

    takes_complex = True

    def slots(self, p: Any, options: Options) -> dict[str, Maker]:
        """Return the average and the initial rate."""
        return {"ax": zeros, "eta": number_like}

    def prepare(self, o: Options) -> None:
        """Compute the next rate and the weight of the average."""
        o.is_first = F.lt(o.t, 1.5)
        o.after = o.lr / F.pow(F.add(F.mul(o.t, o.lambd * o.lr), 1.0), o.alpha)
        o.share = F.reciprocal(F.clamp(F.sub(o.t, 1.0 + o.t0), min=1.0))

    def moved(self, p: Any, g: Any, slots: dict[str, Any], o: Options) -> tuple[Any, Any]:
        """Apply one step."""
        g = added(g, p, o)
        eta = F.where(o.is_first, o.lr, slots["eta"])
        p = F.sub(F.mul(p, F.sub(1.0, F.mul(eta, o.lambd))), F.mul(g, eta))
        ax = F.add(slots["ax"], F.mul(F.sub(p, slots["ax"]), o.share))
        return p, {"ax": ax, "eta": F.astype(o.after, str(o.t.dtype))}


@rule(1e-2, "``torch.optim.Rprop``; Riedmiller and Braun, 1993.", etas=(0.5, 1.2),
      step_sizes=(1e-6, 50.0), maximize=False)  # fmt: skip
class Rprop(Optimizer):
    """Steps by the sign of the gradient, with a size per element that adapts to sign changes.

    lr : float or callable
        The initial step size; later steps do not use it.
    etas : pair of float
        Multipliers of a step size after a sign change, and without one.
    step_sizes : pair of float
        The smallest and largest step sizes.
    """

    is_elementwise = True
    zero_slots = ("previous", "size")

    def prepare(self, o: Options) -> None:
        """Determine whether this is the first step."""
        o.is_first = F.lt(o.t, 1.5)

    def moved(self, p: Any, g: Any, slots: dict[str, Any], o: Options) -> tuple[Any, Any]:
        """Apply one step."""
        same = F.mul(g, slots["previous"])
        old = F.where(o.is_first, F.add(slots["size"], o.lr), slots["size"])
        less, more = (F.mul(old, eta) for eta in o.etas)
        size = F.where(F.gt(same, 0.0), more, F.where(F.lt(same, 0.0), less, old))
        size = F.clamp(size, *o.step_sizes)
        g = F.where(F.lt(same, 0.0), 0.0, g)
        return F.sub(p, F.mul(F.sign(g), size)), {"previous": g, "size": size}
