# SPDX-License-Identifier: Apache-2.0
"""The optimizers of ``torch.optim``, ``Lion`` and ``LAMB``: update rules for one parameter."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from sycl_dnn import functional as F
from sycl_dnn.ir.node import Node
from sycl_dnn.ops.arithmetic import EXP, MAXIMUM, SQRT, SQUARE
from sycl_dnn.optim.optimizer import Maker, Optimizer, Options, zeros
from sycl_dnn.optim.rule import (
    added,
    as_array,
    group_numbers,
    in_one_kernel,
    less_power,
    mixed,
    number_like,
    regularized,
    rule,
    shrunk,
)


@rule(1e-3, "``torch.optim.SGD``.", momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False,
       maximize=False)  # fmt: skip
class SGD(Optimizer):
    """Gradient descent with optional momentum.

    nesterov : bool
        Requires momentum and no dampening.
    """

    is_elementwise = True

    def slots(self, p: Any, options: Options) -> dict[str, Maker]:
        """Return the momentum buffer."""
        return {"momentum": zeros} if options.momentum else {}

    def prepare(self, o: Options) -> None:
        """Initialize the momentum with the first gradient, without dampening."""
        o.lr = o.share = as_array(o.lr, o)
        if o.dampening:
            o.share = F.where(F.gt(o.t, 1.5), as_array(1.0 - o.dampening, o), 1.0)

    def moved(self, p: Any, g: Any, slots: dict[str, Any], o: Options) -> tuple[Any, Any]:
        """Apply one step: ``p - lr * momentum``."""
        result = in_one_kernel(
            _descent, {"p": p, "g": g, **slots}, ("p", *slots), lr=o.lr, share=o.share,
            factor=o.momentum, decay=o.weight_decay, is_damped=bool(o.dampening),
            is_nesterov=bool(o.nesterov),
        )  # fmt: skip
        return result.pop("p"), result


def _descent(
    p: Node, g: Node, lr: Node, share: Node, factor: Any, decay: Any, is_damped: bool,
    is_nesterov: bool, momentum: Node | None = None,
) -> dict[str, Node]:  # fmt: skip
    """Return a parameter after a step of SGD, and its momentum."""
    if type(decay) is Node or decay:
        g = g + p * decay
    if momentum is None:
        return {"p": p - g * lr}
    m = momentum * factor + (g * share if is_damped else g)
    move = g + m * factor if is_nesterov else m
    return {"p": p - move * lr, "momentum": m}


class _Moments(Optimizer):
    """Optimizers with first and second moments of the gradient."""

    def slots(self, p: Any, options: Options) -> dict[str, Maker]:
        """Return zero moments."""
        names = ["m", "v"] + (["v_max"] if getattr(options, "amsgrad", False) else [])
        return dict.fromkeys(names, zeros)

    def prepare(self, o: Options) -> None:
        """Compute the bias corrections."""

        def definition(t: Node, lr: Any, first: Any, second: Any) -> tuple[Node, ...]:
            one = t * 0.0 + 1.0
            correction = one * less_power(first, t)
            root = SQRT(one * less_power(second, t))
            return one, correction, root, lr / correction, one - lr * o.weight_decay

        first, second = o.betas
        numbers = group_numbers(definition, o, first=first, second=second)
        o.one, o.correction, o.root, o.size, o.keeps = numbers

    def moments(self, g: Any, slots: dict[str, Any], o: Options) -> tuple[Any, Any, Any]:
        """Update the moments; return them and the divisor of the first moment."""
        m, v = mixed(slots["m"], g, o.betas[0]), mixed(slots["v"], F.square(g), o.betas[1])
        top = F.maximum(slots["v_max"], v) if "v_max" in slots else v
        return m, v, (top, F.add(F.div(F.sqrt(top), o.root), o.eps))

    def stepped(self, p: Any, g: Any, slots: dict[str, Any], o: Options) -> tuple[Any, Any]:
        """Apply a step of Adam."""
        return self._kept(p, o.one, g, slots, o)

    def decayed(self, p: Any, g: Any, slots: dict[str, Any], o: Options) -> tuple[Any, Any]:
        """Apply decoupled weight decay and a step of Adam."""
        return self._kept(p, o.keeps, g, slots, o)

    def _kept(
        self, p: Any, keeps: Any, g: Any, slots: dict[str, Any], o: Options
    ) -> tuple[Any, Any]:
        """Apply a step of Adam to the parameter, first multiplied by ``keeps``."""
        moments = {name: slots[name] for name in ("m", "v", *slots)}
        result = in_one_kernel(
            _moved_by_moments, {"p": p, "g": g, **moments}, ("p", *moments), size=o.size,
            root=o.root, keeps=keeps, first=o.betas[0], second=o.betas[1], eps=o.eps,
        )  # fmt: skip
        return result.pop("p"), result


def _moved_by_moments(
    p: Node, g: Node, m: Node, v: Node, size: Node, root: Node, keeps: Node, first: Any,
    second: Any, eps: Any, v_max: Node | None = None,
) -> dict[str, Node]:  # fmt: skip
    """Return a parameter after a step of Adam, and its moments."""
    m = m * first + g * (1.0 - first)
    v = v * second + SQUARE(g) * (1.0 - second)
    top = v if v_max is None else MAXIMUM(v_max, v)
    p = p * keeps - m * size / (SQRT(top) / root + eps)
    return {"p": p, "m": m, "v": v, "v_max": top}


@rule(1e-3, "``torch.optim.Adam``; Kingma and Ba, arXiv:1412.6980.", betas=(0.9, 0.999), eps=1e-8,
       weight_decay=0.0, amsgrad=False, decoupled_weight_decay=False, maximize=False)  # fmt: skip
class Adam(_Moments):
    """Adaptive moment estimation: steps that are invariant to the scale of the gradient."""

    is_elementwise = True

    def moved(self, p: Any, g: Any, slots: dict[str, Any], o: Options) -> tuple[Any, Any]:
        """Apply weight decay, coupled or decoupled, and a step of Adam."""
        if o.decoupled_weight_decay:
            return self.decayed(p, g, slots, o)
        return self.stepped(p, added(g, p, o), slots, o)


@rule(1e-3, "``torch.optim.AdamW``; Loshchilov and Hutter, arXiv:1711.05101.",
       betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2, amsgrad=False, maximize=False)  # fmt: skip
class AdamW(_Moments):
    """Adam with decoupled weight decay."""

    is_elementwise = True

    def moved(self, p: Any, g: Any, slots: dict[str, Any], o: Options) -> tuple[Any, Any]:
        """Apply decoupled weight decay and a step of Adam."""
        return self.decayed(p, g, slots, o)


@rule(2e-3, "``torch.optim.Adamax``.", betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0,
       maximize=False)  # fmt: skip
class Adamax(_Moments):
    """Adam with the infinity norm in place of the second moment."""

    is_elementwise = True

    def moved(self, p: Any, g: Any, slots: dict[str, Any], o: Options) -> tuple[Any, Any]:
        """Apply one step."""
        g = added(g, p, o)
        m = mixed(slots["m"], g, o.betas[0])
        v = F.maximum(F.mul(slots["v"], o.betas[1]), F.add(F.abs(g), o.eps))
        return F.sub(p, F.div(F.mul(m, o.size), v)), {"m": m, "v": v}


@rule(2e-3, "``torch.optim.NAdam``.", betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0,
       momentum_decay=4e-3, decoupled_weight_decay=False, maximize=False)  # fmt: skip
class NAdam(_Moments):
    """Adam with Nesterov momentum."""

    takes_complex = True

    def slots(self, p: Any, options: Options) -> dict[str, Maker]:
        """Return zero moments, and the running product of the momenta."""
        return {"m": zeros, "v": zeros, "product": partial(number_like, value=1.0)}

    def prepare(self, o: Options) -> None:
        """Compute the momenta of this and the next step."""
        super().prepare(o)

        def definition(t: Node, lr: Any, first: Any) -> tuple[Node, ...]:
            steps = (t, t + 1.0)
            decays = [EXP(n * (o.momentum_decay * math.log(0.96))) for n in steps]
            return tuple([(1.0 - decay * 0.5) * first for decay in decays])

        o.mu, o.next = group_numbers(definition, o, first=o.betas[0])

    def moved(self, p: Any, g: Any, slots: dict[str, Any], o: Options) -> tuple[Any, Any]:
        """Apply one step."""
        p, g = regularized(p, g, o)
        m, v, (_, divisor) = self.moments(g, slots, o)

        def definition(t: Node, lr: Any, product: Node, mu: Node, after: Node) -> tuple[Node, ...]:
            product = product * mu
            rates = (1.0 - mu) / (1.0 - product) * lr, after / (1.0 - product * after) * lr
            return product, *rates

        numbers = group_numbers(definition, o, product=slots["product"], mu=o.mu, after=o.next)
        product, gradient_rate, momentum_rate = numbers
        move = F.div(F.add(F.mul(g, gradient_rate), F.mul(m, momentum_rate)), divisor)
        return F.sub(p, move), {"m": m, "v": v, "product": product}


@rule(1e-2, "``torch.optim.RMSprop``.", alpha=0.99, eps=1e-8, weight_decay=0.0, momentum=0.0,
       centered=False, maximize=False)  # fmt: skip
class RMSprop(Optimizer):
    """Divides the gradient by a running average of its magnitude."""

    is_elementwise = True

    def slots(self, p: Any, options: Options) -> dict[str, Maker]:
        """Return the running averages, and the momentum buffer if there is momentum."""
        names = ["v"] + ["mean"] * options.centered + ["momentum"] * bool(options.momentum)
        return dict.fromkeys(names, zeros)

    def moved(self, p: Any, g: Any, slots: dict[str, Any], o: Options) -> tuple[Any, Any]:
        """Apply one step."""
        g = added(g, p, o)
        result = {"v": mixed(slots["v"], F.square(g), o.alpha)}
        spread = result["v"]
        if o.centered:
            result["mean"] = mixed(slots["mean"], g, o.alpha)
            spread = F.sub(spread, F.square(result["mean"]))
        move = F.div(g, F.add(F.sqrt(spread), o.eps))
        if "momentum" in slots:
            move = result["momentum"] = F.add(F.mul(slots["momentum"], o.momentum), move)
        return F.sub(p, F.mul(move, o.lr)), result


@rule(1e-2, "``torch.optim.Adagrad``.", lr_decay=0.0, weight_decay=0.0,
       initial_accumulator_value=0.0, eps=1e-10, maximize=False)  # fmt: skip
class Adagrad(Optimizer):
    """Divides the gradient by the root of its accumulated squares."""

    is_elementwise = True

    def slots(self, p: Any, options: Options) -> dict[str, Maker]:
        """Return the accumulated squares."""
        return {"sum": lambda p: F.add(zeros(p), options.initial_accumulator_value)}

    def prepare(self, o: Options) -> None:
        """Compute the decayed rate."""
        o.rate = o.lr / (1.0 + (o.t - 1.0) * o.lr_decay) if o.lr_decay else o.lr

    def moved(self, p: Any, g: Any, slots: dict[str, Any], o: Options) -> tuple[Any, Any]:
        """Apply one step."""
        g = added(g, p, o)
        total = F.add(slots["sum"], F.square(g))
        move = F.div(F.mul(g, o.rate), F.add(F.sqrt(total), o.eps))
        return F.sub(p, move), {"sum": total}


@rule(1e-2, "``torch.optim.Adafactor``; Shazeer and Stern, arXiv:1804.04235.", beta2_decay=-0.8,
       eps=(None, 1e-3), d=1.0, weight_decay=0.0, maximize=False)  # fmt: skip
class Adafactor(Optimizer):
    """Adaptive scaling with factored second moments (rows and columns), which need less memory.

    eps : pair
        The first defaults to the epsilon of float32.
    """

    def slots(self, p: Any, options: Options) -> dict[str, Maker]:
        """Return the second moments: factored for matrices, else in full."""
        if p.ndim < 2:
            return {"v": zeros}
        return {
            "rows": lambda p: F.mean(zeros(p), -1, True),
            "columns": lambda p: F.mean(zeros(p), -2, True),
        }

    def prepare(self, o: Options) -> None:
        """Compute the decay of the second moments, and the rate."""
        o.share = F.exp(F.mul(F.log(o.t), o.beta2_decay))
        o.rate = F.minimum(F.rsqrt(o.t), o.lr)
        o.least = float(np.finfo("f4").eps) if o.eps[0] is None else o.eps[0]

    def _towards(self, old: Any, new: Any, o: Options) -> Any:
        return F.add(old, F.mul(F.sub(new, old), o.share))

    def moved(self, p: Any, g: Any, slots: dict[str, Any], o: Options) -> tuple[Any, Any]:
        """Apply one step."""
        scale = F.clamp(F.sqrt(F.mean(F.square(p))), min=o.eps[1])
        p, squares = shrunk(p, o), F.square(g)
        if "v" in slots:
            result = {"v": self._towards(slots["v"], squares, o)}
            spread = result["v"]
        else:
            rows = self._towards(slots["rows"], F.mean(squares, -1, True), o)
            columns = self._towards(slots["columns"], F.mean(squares, -2, True), o)
            result = {"rows": rows, "columns": columns}
            share = F.div(rows, F.clamp(F.mean(rows, -2, True), min=o.least))
            spread = F.matmul(share, columns)
        move = F.mul(F.rsqrt(F.clamp(spread, min=o.least**2)), g)
        size = F.sqrt(F.mean(F.square(move)))
        divisor = F.clamp(F.mul(size, 1.0 / o.d), min=1.0)
        return F.sub(p, F.mul(move, F.div(F.mul(scale, o.rate), divisor))), result


@rule(1e-4, "Chen et al., arXiv:2302.06675.", betas=(0.9, 0.99), weight_decay=0.0)
class Lion(Optimizer):
    """Steps by the sign of an interpolated momentum."""

    is_elementwise = True
    zero_slots = ("m",)

    def moved(self, p: Any, g: Any, slots: dict[str, Any], o: Options) -> tuple[Any, Any]:
        """Apply one step."""
        move = F.sign(mixed(slots["m"], g, o.betas[0]))
        return F.sub(shrunk(p, o), F.mul(move, o.lr)), {"m": mixed(slots["m"], g, o.betas[1])}


@rule(1e-3, "You et al., arXiv:1904.00962.", betas=(0.9, 0.999), eps=1e-6, weight_decay=0.0)
class LAMB(_Moments):
    """Adam with steps scaled by the norm of each parameter, for large batches."""

    def moved(self, p: Any, g: Any, slots: dict[str, Any], o: Options) -> tuple[Any, Any]:
        """Apply one step."""
        m, v, (_, divisor) = self.moments(g, slots, o)
        move = added(F.div(F.div(m, o.correction), divisor), p, o)
        p_norm, move_norm = (F.sqrt(F.sum(F.square(x))) for x in (p, move))
        are_positive = F.mul(F.astype(F.gt(p_norm, 0.0), "float32"),
                         F.astype(F.gt(move_norm, 0.0), "float32"))  # fmt: skip
        trust = F.where(F.gt(are_positive, 0.5), F.div(p_norm, F.clamp(move_norm, min=1e-30)), 1.0)
        return F.sub(p, F.mul(move, F.mul(trust, o.lr))), {"m": m, "v": v}


@rule(1e-3, "``torch.optim.Muon``, whose products are in bfloat16; Jordan, \"Muon\", 2024.",
       weight_decay=0.1, momentum=0.95, nesterov=True, ns_coefficients=(3.4445, -4.775, 2.0315),
       eps=1e-7, ns_steps=5, adjust_lr_fn=None)  # fmt: skip
class Muon(Optimizer):
    """Orthogonalized momentum, for matrices only; computed in float32.

    ns_coefficients : three floats
    adjust_lr_fn : {None, "original", "match_rms_adamw"}
    """

    def slots(self, p: Any, options: Options) -> dict[str, Maker]:
        """Return the momentum buffer."""
        if p.ndim != 2:
            raise ValueError(f"Muon: parameters must be matrices, got shape {p.shape}")
        return {"momentum": zeros}

    def moved(self, p: Any, g: Any, slots: dict[str, Any], o: Options) -> tuple[Any, Any]:
        """Apply one step."""
        m = mixed(slots["momentum"], g, o.momentum)
        x = mixed(g, m, 1.0 - o.momentum) if o.nesterov else m
        x = self._orthogonal(x, o)
        rows, columns = p.shape
        factor = math.sqrt(max(1.0, rows / columns))
        if o.adjust_lr_fn == "match_rms_adamw":
            factor = 0.2 * math.sqrt(max(rows, columns))
        return F.sub(shrunk(p, o), F.mul(x, o.lr * factor)), {"momentum": m}

    def _orthogonal(self, x: Any, o: Options) -> Any:
        """Orthogonalize a matrix by Newton-Schulz iteration."""
        a, b, c = o.ns_coefficients
        is_tall = x.shape[0] > x.shape[1]
        x = F.transpose(x, 0, 1) if is_tall else x
        x = F.div(x, F.clamp(F.sqrt(F.sum(F.square(x))), min=o.eps))
        for _ in range(o.ns_steps):
            gram = F.matmul(x, F.transpose(x, 0, 1))
            inner = F.add(F.mul(gram, b), F.mul(F.matmul(gram, gram), c))
            x = F.add(F.mul(x, a), F.matmul(inner, x))
        return F.transpose(x, 0, 1) if is_tall else x
