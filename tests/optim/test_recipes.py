# SPDX-License-Identifier: Apache-2.0
"""Recipes of training that combine many options, step by step against torch."""

import functools
import itertools

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn, optim
from sycl_dnn.optim import schedules

STEPS, LR, DECAY = 12, 0.02, 0.1
RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((STEPS, 16, 6)).astype("f4"), RNG.integers(0, 3, (STEPS, 16))
#: The network, the optimizer, and what the recipe has.
RECIPES = [
    ("mlp", "AdamW", "freeze mask accumulate scale"),
    ("norm", "Adagrad", "accumulate average file"),
    ("tied", "RAdam", "freeze average checkpoint scale"),
    ("mlp", "RMSprop", "mask clip checkpoint"),
    ("tied", "Adam", "clip file"), ("mlp", "SGD", "clip accumulate schedule file"),
    ("norm", "NAdam", "accumulate schedule average scale"), ("tied", "Adadelta", "clip average"),
    ("mlp", "ASGD", "mask clip average checkpoint file"),
]  # fmt: skip


@functools.cache
def tied(lib):
    class Net(lib.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.out = lib.Linear(6, 6), lib.Linear(6, 6), lib.Linear(6, 3)
            self.b.weight = self.a.weight

        def forward(self, x):
            return self.out(self.b(self.a(x).tanh()).tanh())

    return Net


def network(kind, lib):
    if kind == "tied":
        return tied(lib)()
    middle = lib.BatchNorm1d(8) if kind == "norm" else lib.LayerNorm(8)
    bias = kind != "norm"  # before batch norm its gradient is only rounding error
    return lib.Sequential(lib.Linear(6, 8, bias=bias), middle, lib.GELU(), lib.Linear(8, 3))


def is_bias(name):
    return name.endswith("bias")


class Theirs:
    """The recipe in torch."""

    def __init__(self, torch, kind, name, has):
        self.torch, self.has, self.net = torch, has, network(kind, torch.nn)
        if "freeze" in has:
            next(self.net.parameters()).requires_grad_(False)
        named = [(n, p) for n, p in self.net.named_parameters() if p.requires_grad]
        groups = [
            {"params": [p for n, p in named if is_bias(n)], "weight_decay": 0.0},
            {"params": [p for n, p in named if not is_bias(n)], "weight_decay": DECAY},
        ]
        self.trained = [p for _, p in named]
        options = {"momentum": 0.9} if name == "SGD" else {}
        provided = groups if "mask" in has else self.trained
        self.opt = getattr(torch.optim, name)(provided, lr=LR, weight_decay=DECAY, **options)
        self.schedule = torch.optim.lr_scheduler.CosineAnnealingLR(self.opt, 30)
        averages = torch.optim.swa_utils
        self.average = averages.AveragedModel(
            self.net, multi_avg_fn=averages.get_ema_multi_avg_fn(0.9)
        )

    def step(self, x, y):
        self.opt.zero_grad()
        parts = 2 if "accumulate" in self.has else 1
        total = 0.0
        for a, b in zip(np.split(x, parts), np.split(y, parts), strict=True):
            logits, labels = self.net(self.torch.tensor(a)), self.torch.tensor(b)
            value = self.torch.nn.functional.cross_entropy(logits, labels) / parts
            value.backward()
            total += value.item()
        if "clip" in self.has:
            self.torch.nn.utils.clip_grad_norm_(self.trained, 0.5)
        self.opt.step()
        if "schedule" in self.has:
            self.schedule.step()
        self.average.update_parameters(self.net)
        return total


class Ours:
    """The recipe here."""

    def __init__(self, kind, name, has, way, state_dict):
        self.kind, self.has, self.net = kind, has, network(kind, nn)
        self.net.load_state_dict(state_dict)
        self._freeze(self.net)
        options = {"momentum": 0.9} if name == "SGD" else {}
        if "mask" in has:
            options["decay_mask"] = lambda n, p: not is_bias(n)
        if "clip" in has:
            options["max_norm"] = 0.5
        rate = schedules.cosine(LR, 30) if "schedule" in has else LR
        self.opt = getattr(optim, name)(rate, weight_decay=DECAY, **options)
        self.scaler, self.ema = optim.GradScaler(1024.0, growth_interval=5), optim.EMA(0.9)
        self.state, self.scale, self.average = self.opt.init(self.net), self.scaler.init(), None
        self.run = sycl_dnn.compile(self._step) if way == "compiled" else self._step

    def _freeze(self, net):
        if "freeze" in self.has:
            first = next(name for name, _ in net.named_parameters())
            net.freeze(lambda name: name == first)

    def _loss(self, net, x, y, scale):
        logits = sycl_dnn.checkpoint(net)(x) if "checkpoint" in self.has else net(x)
        value = F.cross_entropy(logits, y)
        return self.scaler.scale(value, scale) if "scale" in self.has else value

    def _step(self, net, state, scale, x, y):
        parts, sums, total = (2 if "accumulate" in self.has else 1), None, 0.0
        size = x.shape[0] // parts
        for first in range(0, x.shape[0], size):
            part = slice(first, first + size)
            value, grads = sycl_dnn.value_and_grad(self._loss)(net, x[part], y[part], scale)
            total = total + value / parts
            sums = optim.accumulate(sums, grads, weight=1 / parts)
        if "scale" not in self.has:
            return total, *self.opt.update(sums, state, net), scale
        result = self.scaler.update(self.opt, sums, state, net, scale)
        return total / scale["scale"], *result

    def step(self, x, y):
        value, self.net, self.state, self.scale = self.run(
            self.net, self.state, self.scale, F.asarray(x), F.asarray(y)
        )
        new = self.ema.init if self.average is None else lambda n: self.ema.update(self.average, n)
        self.average = new(self.net)
        return float(value)

    def through_a_file(self, path):
        sycl_dnn.save(path, {"net": dict(self.net.state_dict()), "state": self.state})
        fresh = network(self.kind, nn)
        self._freeze(fresh)
        like = {"net": dict(fresh.state_dict()), "state": self.opt.init(fresh)}
        found = sycl_dnn.load(path, like)
        fresh.load_state_dict(found["net"])
        self.net, self.state = fresh, found["state"]


@pytest.mark.parametrize(("kind", "name", "has"), RECIPES, ids=[" ".join(r) for r in RECIPES])
@pytest.mark.parametrize("way", ["eager", "compiled"])
def test_recipes_match_torch(kind, name, has, way, tmp_path):
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    theirs = Theirs(torch, kind, name, has.split())
    ours = Ours(kind, name, has.split(), way, theirs.net.state_dict())
    for step, (x, y) in enumerate(zip(X, Y, strict=True)):
        assert ours.step(x, y) == pytest.approx(theirs.step(x, y), abs=2e-5)
        if "file" in has and step == STEPS // 2:
            ours.through_a_file(str(tmp_path / "state.safetensors"))
    pairs = [(ours.net, theirs.net), *itertools.repeat((ours.average, theirs.average.module),
                                                       "average" in has)]  # fmt: skip
    for mine, other in pairs:
        for path, value in other.state_dict().items():
            found = dpnp.asnumpy(mine.state_dict()[path])
            np.testing.assert_allclose(found, value.numpy(), rtol=1e-3, atol=1e-4, err_msg=path)
