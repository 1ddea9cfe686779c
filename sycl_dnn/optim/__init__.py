# SPDX-License-Identifier: Apache-2.0
"""Optimizers, learning-rate schedules, gradient clipping, loss scaling and weight averaging."""

from typing import Any

from sycl_dnn import _torch_habits
from sycl_dnn.optim import schedules
from sycl_dnn.optim.accumulation import accumulate
from sycl_dnn.optim.averages import EMA, SWA
from sycl_dnn.optim.clipping import clip_grad_norm, clip_grad_value, global_norm
from sycl_dnn.optim.lbfgs import LBFGS
from sycl_dnn.optim.loss_scaling import GradScaler
from sycl_dnn.optim.optimizer import Optimizer
from sycl_dnn.optim.step_size_rules import ASGD, Adadelta, RAdam, Rprop
from sycl_dnn.optim.update_rules import (
    LAMB,
    SGD,
    Adafactor,
    Adagrad,
    Adam,
    Adamax,
    AdamW,
    Lion,
    Muon,
    NAdam,
    RMSprop,
)

__all__ = [
    "ASGD",
    "EMA",
    "GradScaler",
    "LAMB",
    "LBFGS",
    "SGD",
    "SWA",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Lion",
    "Muon",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "accumulate",
    "clip_grad_norm",
    "clip_grad_value",
    "global_norm",
    "schedules",
]


def __getattr__(name: str) -> Any:
    if name == "lr_scheduler":  # whose names are refused one by one
        return schedules
    raise _torch_habits.missing("optim", "sycl_dnn.optim", name)
