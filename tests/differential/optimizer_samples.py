# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own options of its optimizers (``optim_db``): steps here and there, compared."""

from __future__ import annotations

import contextlib
import itertools
import warnings
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import torch
from torch.testing._internal.common_optimizers import optim_db

import sycl_dnn
from differential.torch_samples import from_torch, to_torch
from sycl_dnn import optim
from sycl_dnn.optim import schedules

#: Rounding errors relative to the largest element, for each step.
_ROUNDINGS = 4
#: Errors may be this many times torch's own in the same dtype.
_TIMES = 8
N_STEPS = 8
#: Options that select an implementation of torch's.
_IMPLEMENTATIONS = ("foreach", "fused", "capturable", "differentiable")
#: Parameters of a second group.
_SECOND = ("bias", "cube", "other")
#: Steps in which parameters have no gradient.
_MISSING = {"weight": (0, 3, 4), "bias": (2,), "cube": range(3), "scale": range(N_STEPS)}
#: What a scheduler of torch's is, given the rate.
SCHEDULERS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "ConstantLR": (lambda s, o: s.ConstantLR(o, 0.5, 3),
                   lambda lr: schedules.joined([lambda t: 0.5 * lr, lambda t: lr], [3])),
    "LinearLR": (lambda s, o: s.LinearLR(o, 0.2, 0.8, 5),
                 lambda lr: schedules.linear(0.2 * lr, 0.8 * lr, 5)),
    "PolynomialLR": (lambda s, o: s.PolynomialLR(o, 6, 2.0),
                     lambda lr: schedules.polynomial(lr, 0.0, 6, 2.0)),
    "StepLR": (lambda s, o: s.StepLR(o, 3, 0.5), lambda lr: schedules.step_decay(lr, 3, 0.5)),
    "MultiStepLR": (lambda s, o: s.MultiStepLR(o, [2, 5], 0.3),
                    lambda lr: schedules.multi_step(lr, [2, 5], 0.3)),
    "ExponentialLR": (lambda s, o: s.ExponentialLR(o, 0.8),
                      lambda lr: schedules.exponential(lr, 0.8)),
    "CosineAnnealingLR": (lambda s, o: s.CosineAnnealingLR(o, 8),
                          lambda lr: schedules.cosine(lr, 8)),
    "CosineAnnealingWarmRestarts": (lambda s, o: s.CosineAnnealingWarmRestarts(o, 2, 2),
                                    lambda lr: schedules.cosine_restarts(lr, 2, 2)),
    "CyclicLR": (lambda s, o: s.CyclicLR(o, 1e-3, 1e-2, 2, 3, cycle_momentum=False),
                 lambda lr: schedules.cyclic(1e-3, 1e-2, 2, 3)),
    "OneCycleLR": (lambda s, o: s.OneCycleLR(o, 1e-2, 9, cycle_momentum=False),
                   lambda lr: schedules.one_cycle(1e-2, 9)),
    "LambdaLR": (lambda s, o: s.LambdaLR(o, lambda t: 1 / (1 + t)),
                 lambda lr: lambda t: lr / (1 + t)),
    "MultiplicativeLR": (lambda s, o: s.MultiplicativeLR(o, lambda t: 0.7),
                         lambda lr: schedules.exponential(lr, 0.7)),
    "SequentialLR": (
        lambda s, o: s.SequentialLR(o, [s.LinearLR(o, 0.2, 1.0, 3), s.ExponentialLR(o, 0.9)], [3]),
        lambda lr: schedules.warmup(3, schedules.exponential(lr, 0.9), 0.2 * lr),
    ),
    "ChainedScheduler": (
        lambda s, o: s.ChainedScheduler([s.ExponentialLR(o, 0.9), s.StepLR(o, 2, 0.5)]),
        lambda lr: lambda t: (
            schedules.exponential(1.0, 0.9)(t) * schedules.step_decay(lr, 2, 0.5)(t)
        ),
    ),
}  # fmt: skip
_FLAGS = ("maximize", "amsgrad", "nesterov", "centered", "decoupled_weight_decay")
_SHAPES = {"weight": (5, 3), "other": (4, 6), "bias": (7,), "scale": (), "cube": (2, 3, 4)}
_DOUBLE = (torch.float64, torch.complex128)


def infos() -> list[Any]:
    """Return the optimizers with dense gradients that are called without a closure."""
    return [i for i in optim_db if i.name not in ("SparseAdam", "LBFGS")]


def options_of(info: Any) -> Iterator[dict[str, Any]]:
    """Yield the options that torch lists, each with all values of the rule's flags."""
    flags = [n for n in _FLAGS if n in getattr(optim, info.name).defaults]
    seen = []
    for listed in info.optim_inputs_func("cpu"):
        given = {n: v for n, v in listed.kwargs.items() if n not in _IMPLEMENTATIONS}
        for values in itertools.product((False, True), repeat=len(flags)):
            options = given | dict(zip(flags, values, strict=True))
            if options.get("nesterov") and (options.get("dampening") or not given.get("momentum")):
                continue
            if str(options) not in seen:
                seen.append(str(options))
                yield options


class Problem:
    """Parameters and their gradients in each step; some are missing on request."""

    def __init__(self, info: Any, dtype: str, is_complete: bool = True) -> None:
        generator = torch.Generator().manual_seed(3)
        shapes = {n: s for n, s in _SHAPES.items() if info.name != "Muon" or len(s) == 2}

        def drawn(shape: tuple[int, ...]) -> torch.Tensor:
            return torch.randn(shape, generator=generator).to(getattr(torch, dtype))

        self.params = {n: drawn(s) for n, s in shapes.items()}
        self.grads = []
        for step in range(N_STEPS):
            row = {n: drawn(s) * (step + 1) for n, s in shapes.items()}
            # An element that never has a gradient.
            row["weight"][0, 0] = 0
            missing = {n for n in shapes if not is_complete and step in _MISSING.get(n, ())}
            self.grads.append({n: g for n, g in row.items() if n not in missing})


@contextlib.contextmanager
def _accurate(dtype: torch.dtype) -> Iterator[None]:
    """Let torch compute in a dtype what it has in others.

    Muon multiplies in bfloat16; running numbers of ASGD and NAdam have the default dtype.
    """
    default = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64 if dtype in _DOUBLE else torch.float32)
    try:
        with mock.patch.object(torch.Tensor, "bfloat16", torch.Tensor.clone):
            yield
    finally:
        torch.set_default_dtype(default)


class Settings:
    """Options of an optimizer, of a second group, a scheduler and torch's implementation."""

    def __init__(self, info: Any, options: dict[str, Any], way: str) -> None:
        self.info, self.options, self.group = info, dict(options), dict[str, Any]()
        if info.name == "Adafactor":
            # The default is that of the parameters' dtype there.
            self.options.setdefault("eps", (torch.finfo(torch.float32).eps, 1e-3))
        self.implementation = {way: True} if way in info.supported_impls else {}
        self.scheduler = SCHEDULERS.get(way)
        if self.scheduler or way == "groups":
            defaults = getattr(optim, info.name).defaults
            lr = float(self.options.get("lr", getattr(optim, info.name)().lr))
            self.options["lr"] = lr
            flags = [n for n in _FLAGS if n in defaults and n != "nesterov"]
            self.group = {"lr": lr / 3} | {n: not self.options.get(n) for n in flags}
            self.group |= {"weight_decay": 0.05} if "weight_decay" in defaults else {}

    def of_torch(self, params: dict[str, torch.Tensor]) -> tuple[Any, Any]:
        """Return torch's optimizer and scheduler."""
        second = [p for n, p in params.items() if self.group and n in _SECOND]
        groups = [{"params": [p for n, p in params.items() if not self.group or n not in _SECOND]}]
        groups += [{"params": second, **self.group}] if second else []
        optimizer = self.info.optim_cls(groups, **self.options, **self.implementation)
        if self.scheduler is None:
            return optimizer, None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return optimizer, self.scheduler[0](torch.optim.lr_scheduler, optimizer)

    def own(self) -> Any:
        """Return the optimizer here."""
        options, group = own_options(self.options), dict(self.group)
        if self.scheduler is not None:
            options["lr"], group["lr"] = (self.scheduler[1](o["lr"]) for o in (options, group))
        groups = [(lambda name: name in _SECOND, group)] if group else []
        return getattr(optim, self.info.name)(**options, groups=groups)


def of_torch(problem: Problem, settings: Settings, dtype: torch.dtype) -> dict[str, torch.Tensor]:
    """Return the parameters after torch's steps, with arithmetic in a dtype."""
    params = {n: p.to(dtype).clone().requires_grad_() for n, p in problem.params.items()}
    with _accurate(dtype):
        optimizer, scheduler = settings.of_torch(params)
        for grads in problem.grads:
            for n, p in params.items():
                p.grad = grads[n].to(dtype) if n in grads else None
            optimizer.step()
            if scheduler is not None:
                scheduler.step()
    return {n: p.detach() for n, p in params.items()}


def _own(tree: dict[str, Any]) -> dict[str, Any]:
    return {n: from_torch(t) for n, t in tree.items()}


def own_options(options: dict[str, Any]) -> dict[str, Any]:
    return {n: from_torch(v) if isinstance(v, torch.Tensor) else v for n, v in options.items()}


def of_updates(problem: Problem, optimizer: Any, way: str, folder: Any = None) -> dict[str, Any]:
    """Return the parameters after the steps of an optimizer here."""
    params = _own(problem.params)
    state = optimizer.init(params)
    update = optimizer.update
    if way == "compiled":
        update = sycl_dnn.compile(
            lambda grads, state, params: optimizer.update(grads, state, params)
        )
    for step, grads in enumerate(problem.grads):
        params, state = update(dict.fromkeys(params) | _own(grads), state, params)
        if way == "saved" and step == N_STEPS // 2:
            path = folder / "state.npz"
            sycl_dnn.save(path, {"state": state, "params": params})
            fresh = {"state": optimizer.init(params), "params": _own(problem.params)}
            read = sycl_dnn.load(path, fresh)
            state, params = read["state"], read["params"]
    return {n: to_torch(p) for n, p in params.items()}


def compared(found: dict[str, Any], native: dict[str, Any], exact: dict[str, Any]) -> list[str]:
    """Return what differs from torch's parameters in the same dtype and in float64."""
    texts = []
    for name, value in found.items():
        eps = torch.finfo(value.dtype).eps
        wide = torch.view_as_real(value).double() if value.is_complex() else value.double()
        theirs, right = (
            torch.view_as_real(t).double() if t.is_complex() else t.double()
            for t in (native[name], exact[name])
        )
        error, its = (float((t - right).abs().max()) for t in (wide, theirs))
        allowed = _TIMES * its + _ROUNDINGS * N_STEPS * eps * float(right.abs().max())
        if not error <= allowed:
            texts.append(f"{name}: error {error:.3g}, torch's {its:.3g}, allowed {allowed:.3g}")
    return texts


def differences(
    info: Any, options: dict[str, Any], dtype: str, way: str, folder: Any = None
) -> list[str]:
    """Return how the steps of an optimizer differ from torch's."""
    problem, settings = Problem(info, dtype, way != "missing"), Settings(info, options, way)
    wide = torch.complex128 if "complex" in dtype else torch.float64
    native = of_torch(problem, settings, getattr(torch, dtype))
    exact = of_torch(problem, settings, wide)
    return compared(of_updates(problem, settings.own(), way, folder), native, exact)
