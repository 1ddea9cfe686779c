# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own options of its optimizers (``optim_db``): steps here and there, compared."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from typing import Any
from unittest import mock

import torch
from torch.testing._internal.common_optimizers import optim_db

import sycl_dnn
from differential.torch_samples import from_torch, to_torch
from sycl_dnn import optim

#: Rounding errors relative to the largest element, for each step.
_ROUNDINGS = 4
#: Errors may be this many times torch's own in the same dtype.
_TIMES = 8
N_STEPS = 8
#: Options that select an implementation of torch's.
_IMPLEMENTATIONS = ("foreach", "fused", "capturable", "differentiable")
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
    """Parameters and their gradients in each step."""

    def __init__(self, info: Any, dtype: str) -> None:
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
            self.grads.append(row)


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


def of_torch(
    info: Any, problem: Problem, options: dict[str, Any], dtype: torch.dtype
) -> dict[str, torch.Tensor]:
    """Return the parameters after torch's steps, with arithmetic in a dtype."""
    params = {n: p.to(dtype).clone().requires_grad_() for n, p in problem.params.items()}
    if info.name == "Adafactor":
        # The default is that of the parameters' dtype there.
        options = {"eps": (torch.finfo(torch.float32).eps, 1e-3)} | options
    with _accurate(dtype):
        optimizer = info.optim_cls(list(params.values()), **options)
        for grads in problem.grads:
            for n, p in params.items():
                p.grad = grads[n].to(dtype)
            optimizer.step()
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
        params, state = update(_own(grads), state, params)
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
    problem = Problem(info, dtype)
    wide = torch.complex128 if "complex" in dtype else torch.float64
    native = of_torch(info, problem, options, getattr(torch, dtype))
    exact = of_torch(info, problem, options, wide)
    own = getattr(optim, info.name)(**own_options(options))
    return compared(of_updates(problem, own, way, folder), native, exact)
