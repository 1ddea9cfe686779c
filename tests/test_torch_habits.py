# SPDX-License-Identifier: Apache-2.0
"""Lines of torch training loops are refused at once, with the line to write instead."""

import re

import pytest

import sycl_dnn
from sycl_dnn import data, nn, optim
from sycl_dnn import functional as F
from sycl_dnn.nn import torch_names
from sycl_dnn.optim import schedules
from sycl_dnn.trace.module_arrays import with_methods

OPTIMIZERS = [
    n for n in optim.__all__
    if isinstance(getattr(optim, n), type) and issubclass(getattr(optim, n), optim.Optimizer)
    and n != "Optimizer"
]  # fmt: skip


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_parameters_are_not_accepted_as_a_rate(name):
    net, kind = nn.Linear(2, 2), getattr(optim, name)
    line = rf"{name}: lr must be a number or a schedule, .* opt = optim.{name}\(lr=1e-3\)"
    arrays = net.parameters
    rates = [arrays(), list(arrays()), net, [{"params": arrays()}], arrays, net.state_dict(),
             net.named_parameters(), None, True, "0.1"]  # fmt: skip
    for rate in rates:
        for arguments, options in (((rate,), {}), ((rate,), {"lr": 1e-3}), ((rate, 1e-3), {}),
                                   ((), {"params": rate}), ((), {"lr": rate})):  # fmt: skip
            with pytest.raises(TypeError, match=line):
                kind(*arguments, **options)
    with pytest.raises(TypeError, match=f"{name}: only lr may be positional, and once"):
        kind(1e-3, lr=1e-3)
    for rate in (1e-3, schedules.cosine(1e-3, 10), F.full((), 1e-3), lambda step: 1e-3):
        assert kind(rate).options["lr"] is kind(lr=rate).options["lr"] is rate


OPTIMIZER, SCALER, X = optim.Adam(), optim.GradScaler(), F.ones(2)
ROWS = [
    (lambda: OPTIMIZER.zero_grad(), AttributeError, "opt.step(net, grads)"),
    (lambda: OPTIMIZER.step(), TypeError, "opt.step(net, grads)"),
    (lambda: OPTIMIZER.step(nn.Linear(1, 1)), TypeError, "opt.step(net, grads)"),
    (lambda: OPTIMIZER.param_groups[0]["lr"], AttributeError, "opt.lr or a schedule"),
    (lambda: OPTIMIZER.state_dict(), AttributeError, "opt.state_of(net)"),
    (lambda: OPTIMIZER.load_state_dict({}), AttributeError, "opt.load_state(net"),
    (lambda: SCALER.step(OPTIMIZER), AttributeError, "scaler.update(opt, grads"),
    (lambda: SCALER.unscale_(OPTIMIZER), AttributeError, "scaler.unscale(grads"),
    (lambda: optim.lr_scheduler.StepLR(OPTIMIZER, 3), AttributeError, "schedules.step_decay(1e-3"),
    (lambda: schedules.StepLR(OPTIMIZER, 3), AttributeError, "step_decay(1e-3, 30, 0.1)"),
    (lambda: schedules.cosine(OPTIMIZER, 3), TypeError, "optim.AdamW(schedules.cosine("),
    (lambda: optim.SparseAdam(), AttributeError, "optim.Adam(1e-3)"),
    (lambda: optim.AdamW(1e-3, fused=True), TypeError, "'fused'; leave it out"),
    (lambda: nn.LazyConv2d(4, 3), AttributeError, "nn.Conv2d(size of the input"),
    (lambda: nn.FractionalMaxPool2d(3), AttributeError, "nn.AdaptiveMaxPool2d"),
    (lambda: nn.LinearCrossEntropyLoss(3, 2), AttributeError, "F.cross_entropy(F.linear("),
    (lambda: data.DataLoader(X, 32), AttributeError, "or torch_names.utils.data"),
    (lambda: with_methods(X).as_strided((2,), (1,)), AttributeError, "x.unfold"),
    (lambda: torch_names.special.gammainc(X, X), AttributeError, "scipy.special.gammainc"),
    (lambda: torch_names.cuda.amp.GradScaler(), AttributeError, "scaler = optim.GradScaler()"),
    (lambda: torch_names.autograd.backward([X]), AttributeError, "value_and_grad(loss)(net, x)"),
    (lambda: torch_names.autograd.set_detect_anomaly(True), AttributeError, "debug_nans()"),
    (lambda: torch_names.jit.trace(nn.ReLU(), X), AttributeError, "@sycl_dnn.compile"),
    (lambda: torch_names.utils.data.distributed.DistributedSampler, AttributeError,
     "sycl_dnn.distributed trains"),
    (lambda: nn.parallel.DistributedDataParallel, AttributeError, "gradients of processes"),
    (lambda: torch_names.utils.tensorboard, AttributeError, "tensorboardX"),
    (lambda: torch_names.onnx.export(nn.ReLU(), X), AttributeError, "sycl_dnn.onnx.export"),
    (lambda: torch_names.set_num_threads(1), AttributeError, "taskset -c"),
    (lambda: sycl_dnn.utils, AttributeError, "sycl_dnn.data.Batches"),
    (lambda: nn.Linear(1, 1).zero_grad(), AttributeError, "value_and_grad"),
    (lambda: sycl_dnn.compile(lambda x: F.sum(x).backward())(X), TypeError, "value_and_grad"),
    (lambda: F.tensor([1.0], requires_grad=True), TypeError, "make it a nn.Parameter"),
    (lambda: sycl_dnn.grad(lambda x: x.retain_grad())(X), AttributeError, "gradients are values"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "line"), ROWS, ids=[r[2] for r in ROWS])
def test_torch_names_suggest_the_line_to_write(call, error, line):
    with pytest.raises(error, match=re.escape(line)):
        call()


def test_unknown_names_get_no_suggestion():
    for value in (OPTIMIZER, SCALER, optim, schedules, data, sycl_dnn, nn, nn.Linear(1, 1)):
        assert not hasattr(value, "no_such_name")
    with pytest.raises(AttributeError, match="Adam has no attribute 'no_such_name'$"):
        OPTIMIZER.no_such_name  # noqa: B018
