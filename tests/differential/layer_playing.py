# SPDX-License-Identifier: Apache-2.0
"""Run one stack of layers: forward in both modes, gradients, optimizer steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dpnp
import numpy as np
import torch

import sycl_dnn
from differential.layer_drawing import Stack, draw_stack
from differential.placing import placed
from differential.ways import Finding, difference, is_refusal
from sycl_dnn import functional as F
from sycl_dnn import nn, optim

STEPS, RATE = 3, 0.01


def _parameters(stack: Stack) -> dict[str, Any]:
    """Return values for torch's state dict, none of them at its default."""
    torch.manual_seed(stack.seed % 2**31)
    rng = np.random.default_rng(stack.seed)
    found = {}
    for name, value in stack.made(torch.nn, torch.zeros).state_dict().items():
        result = value.numpy().copy()
        if result.dtype == np.float32:
            result = result + 0.1 * rng.standard_normal(result.shape).astype(np.float32)
            result = np.abs(result) if name.endswith("running_var") else result
        found[name] = np.asarray(result)
    return found


def _loaded(stack: Stack, parameters: dict[str, Any], dtype: torch.dtype) -> Any:
    net = stack.made(torch.nn, torch.zeros).to(dtype)
    net.load_state_dict({n: torch.from_numpy(np.array(v)) for n, v in parameters.items()})
    return net


def _torch_loss(y: Any, weight: Any) -> Any:
    return (y * weight).sum() + 0.1 * (y * y).sum()


def _referred(
    stack: Stack, parameters: dict[str, Any], x: Any, dtype: torch.dtype
) -> dict[str, Any]:
    """Return every value that is compared, by name."""
    found: dict[str, Any] = {}
    x = torch.from_numpy(np.array(x)).to(dtype).requires_grad_()
    net = _loaded(stack, parameters, dtype).eval()
    y = net(x)
    found["eval"] = y
    weight = torch.from_numpy(weight_of(stack, tuple(y.shape))).to(dtype)
    names = [n for n, _ in net.named_parameters()]
    wrt = [x, *net.parameters()]
    for mode in ("eval", "train"):
        net = _loaded(stack, parameters, dtype).train(mode == "train")
        wrt = [x, *net.parameters()]
        y = net(x)
        grads = torch.autograd.grad(_torch_loss(y, weight), wrt, materialize_grads=True)
        found |= {f"{mode} output": y, f"{mode} gradient of x": grads[0]}
        found |= {f"{mode} gradient of {n}": g for n, g in zip(names, grads[1:], strict=True)}
    net = _loaded(stack, parameters, dtype).train()
    if names:
        options = eval(f"dict({stack.options})")
        opt = getattr(torch.optim, stack.optimizer)(net.parameters(), lr=RATE, **options)
        for _ in range(STEPS):
            opt.zero_grad()
            _torch_loss(net(x.detach()), weight).backward()
            opt.step()
        found |= {f"trained {n}": v for n, v in net.state_dict().items()}
    return {n: v.detach().double().numpy() for n, v in found.items()}


def weight_of(stack: Stack, shape: tuple[int, ...]) -> Any:
    return np.random.default_rng([stack.seed, 5]).standard_normal(shape).astype(np.float32)


def reference_of(
    stack: Stack, sizes: tuple[float, ...], roundings: int = 1
) -> tuple[Any, Any, dict[str, Any]]:
    """Return parameters, input, and ``{name: (value, tolerance)}``; ``roundings`` as in refer."""
    parameters = _parameters(stack)
    rng = np.random.default_rng([stack.seed, 3])
    x = rng.standard_normal(stack.shape).astype(np.float32)
    exact = _referred(stack, parameters, x, torch.float64)
    others = [_referred(stack, parameters, x, torch.float32)]
    runs = [(size, torch.float64) for size in sizes] + [(1e-7, torch.float32)] * (roundings - 1)
    for size, dtype in runs:

        def moved(v: Any, size: float = size) -> Any:
            if v.dtype.kind != "f":
                return v
            return np.asarray(
                v * (1 + size * rng.standard_normal(v.shape))
                + size * 0.1 * rng.standard_normal(v.shape)
            )

        others.append(
            _referred(stack, {n: moved(v) for n, v in parameters.items()}, moved(x), dtype)
        )
    largest = max(np.abs(v).max(initial=0) for n, v in exact.items() if "gradient" in n)
    found = {}
    for name, value in exact.items():
        off = np.max([np.abs(o[name] - value) for o in others], axis=0)
        unit = largest if "gradient" in name else 1.0
        tolerance = 5e-5 * (np.abs(value) + 0.3 * np.abs(value).max(initial=0)) + 5e-6 * max(
            1, unit
        )
        spread = (
            off.max(initial=0)
            if "trained" in name
            else 3 * np.sqrt(np.mean(off**2))
            if off.size
            else 0
        )
        found[name] = value, tolerance + 10 * off + 5 * spread
    return parameters, x, found


class Player:
    """A stack on a device, and the results of its calls."""

    def __init__(
        self, stack: Stack, queue: Any, sizes: tuple[float, ...], roundings: int = 1
    ) -> None:
        self.stack, self.queue = stack, queue
        self.parameters, x, self.expected = reference_of(stack, sizes, roundings)
        self.x = placed(x, stack.layout, queue)
        shape = self.expected["eval"][0].shape
        self.weight = dpnp.asarray(weight_of(stack, shape), sycl_queue=queue)
        self.findings: list[Finding] = []
        self.passed: list[str] = []

    def net(self) -> Any:
        result = self.stack.made(nn, F.zeros)
        result.load_state_dict(self.parameters)
        return result

    def check(self, way: str, call: Callable[[], dict[str, Any]]) -> None:
        try:
            result = call()
            texts = []
            for name, value in result.items():
                want, tolerance = self.expected[name]
                if text := difference(value, want, tolerance, is_any_dtype=True):
                    texts.append(f"{name}: {text}")
        except Exception as error:
            kind = "refused" if is_refusal(error) else "crash"
            self.findings.append(Finding(way, kind, f"{type(error).__name__}: {error}"))
            return
        if texts:
            self.findings.append(Finding(way, "wrong", "; ".join(texts[:3])))
        else:
            self.passed.append(way)

    def loss(self, net: Any, x: Any, weight: Any) -> Any:
        y = net(x)
        return F.sum(y * weight) + 0.1 * F.sum(y * y)

    def gradients(self, mode: str, wrapped: Callable[[Any], Any]) -> dict[str, Any]:
        net = self.net().train(mode == "train")
        both = wrapped(sycl_dnn.value_and_grad(self.loss, argnums=(0, 1)))
        _, (grads, dx) = both(net, self.x, self.weight)
        found = {f"{mode} gradient of x": dx}
        for name, gradient in grads.named_parameters():
            found[f"{mode} gradient of {name}"] = getattr(gradient, "data", gradient)
        return found

    def trained(self, is_compiled: bool) -> dict[str, Any]:
        net = self.net().train()
        opt = eval(
            f"optim.{self.stack.optimizer}(lr={RATE}, {self.stack.options})", {"optim": optim}
        )
        state = opt.init(net)

        def step(net: Any, state: Any, x: Any, weight: Any) -> Any:
            value, grads = sycl_dnn.value_and_grad(self.loss)(net, x, weight)
            return value, *opt.update(grads, state, net)

        step = sycl_dnn.compile(step) if is_compiled else step
        for _ in range(STEPS):
            _, net, state = step(net, state, self.x, self.weight)
        return {f"trained {n}": v for n, v in net.state_dict().items()}


def _play_in_mode(player: Player, mode: str) -> None:
    name, x = "eval" if mode == "eval" else "train output", player.x

    def net() -> Any:
        return player.net().train(mode == "train")

    compiled = sycl_dnn.compile(lambda n, x: n(x))
    player.check(mode, lambda: {name: net()(x)})
    player.check(f"{mode} compiled", lambda: {name: compiled(net(), x)})
    player.check(f"{mode} gradients", lambda: player.gradients(mode, lambda f: f))
    player.check(f"{mode} compiled gradients", lambda: player.gradients(mode, sycl_dnn.compile))


def _play(stack: Stack, queue: Any, sizes: tuple[float, ...], roundings: int = 1) -> Player:
    player = Player(stack, queue, sizes, roundings)
    _play_in_mode(player, "eval")
    _play_in_mode(player, "train")
    if player.expected.keys() & {f"trained {n}" for n in player.parameters}:
        player.check("training", lambda: player.trained(False))
        player.check("compiled training", lambda: player.trained(True))
    return player


def play_stack(seed: int, queue: Any) -> tuple[Stack, Player, list[Finding]]:
    stack = draw_stack(seed)
    player = play_drawn(stack, queue)
    return stack, player, player.findings


def play_drawn(stack: Stack, queue: Any) -> Player:
    player = _play(stack, queue, (3e-7, 3e-7))
    if any(f.kind == "wrong" for f in player.findings):
        # What cancels is exact in float64: only float32 shows how large the residue is.
        player = _play(stack, queue, (1e-7, 3e-7, 1e-6, 3e-6, 1e-5), roundings=6)
    return player
