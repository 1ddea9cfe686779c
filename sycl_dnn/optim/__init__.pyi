# SPDX-License-Identifier: Apache-2.0
# Written by tests/helpers/stub_writing.py.

from collections.abc import Callable, Sequence
from typing import Any

from sycl_dnn.optim import schedules as schedules
from sycl_dnn.optim.accumulation import accumulate as accumulate
from sycl_dnn.optim.averages import EMA as EMA
from sycl_dnn.optim.averages import SWA as SWA
from sycl_dnn.optim.clipping import clip_grad_norm as clip_grad_norm
from sycl_dnn.optim.clipping import clip_grad_value as clip_grad_value
from sycl_dnn.optim.clipping import global_norm as global_norm
from sycl_dnn.optim.lbfgs import LBFGS as LBFGS
from sycl_dnn.optim.loss_scaling import GradScaler as GradScaler
from sycl_dnn.optim.optimizer import Optimizer as Optimizer

class ASGD(Optimizer):
    def __init__(
        self,
        lr: float | Callable[[Any], Any] = 0.01,
        *,
        lambd: float = 0.0001,
        alpha: float = 0.75,
        t0: float = 1000000.0,
        weight_decay: float = 0.0,
        maximize: bool = False,
        groups: Sequence[tuple[Callable[[str], bool], dict[str, Any]]] = (),
        decay_mask: Callable[[str, Any], bool] | None = None,
        max_norm: float | None = None,
        master_weights: bool = False,
    ) -> None: ...

class Adadelta(Optimizer):
    def __init__(
        self,
        lr: float | Callable[[Any], Any] = 1.0,
        *,
        rho: float = 0.9,
        eps: float = 1e-06,
        weight_decay: float = 0.0,
        maximize: bool = False,
        groups: Sequence[tuple[Callable[[str], bool], dict[str, Any]]] = (),
        decay_mask: Callable[[str, Any], bool] | None = None,
        max_norm: float | None = None,
        master_weights: bool = False,
    ) -> None: ...

class Adafactor(Optimizer):
    def __init__(
        self,
        lr: float | Callable[[Any], Any] = 0.01,
        *,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 0.001),
        d: float = 1.0,
        weight_decay: float = 0.0,
        maximize: bool = False,
        groups: Sequence[tuple[Callable[[str], bool], dict[str, Any]]] = (),
        decay_mask: Callable[[str, Any], bool] | None = None,
        max_norm: float | None = None,
        master_weights: bool = False,
    ) -> None: ...

class Adagrad(Optimizer):
    def __init__(
        self,
        lr: float | Callable[[Any], Any] = 0.01,
        *,
        lr_decay: float = 0.0,
        weight_decay: float = 0.0,
        initial_accumulator_value: float = 0.0,
        eps: float = 1e-10,
        maximize: bool = False,
        groups: Sequence[tuple[Callable[[str], bool], dict[str, Any]]] = (),
        decay_mask: Callable[[str, Any], bool] | None = None,
        max_norm: float | None = None,
        master_weights: bool = False,
    ) -> None: ...

class Adam(Optimizer):
    def __init__(
        self,
        lr: float | Callable[[Any], Any] = 0.001,
        *,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-08,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
        decoupled_weight_decay: bool = False,
        maximize: bool = False,
        groups: Sequence[tuple[Callable[[str], bool], dict[str, Any]]] = (),
        decay_mask: Callable[[str, Any], bool] | None = None,
        max_norm: float | None = None,
        master_weights: bool = False,
    ) -> None: ...

class AdamW(Optimizer):
    def __init__(
        self,
        lr: float | Callable[[Any], Any] = 0.001,
        *,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-08,
        weight_decay: float = 0.01,
        amsgrad: bool = False,
        maximize: bool = False,
        groups: Sequence[tuple[Callable[[str], bool], dict[str, Any]]] = (),
        decay_mask: Callable[[str, Any], bool] | None = None,
        max_norm: float | None = None,
        master_weights: bool = False,
    ) -> None: ...

class Adamax(Optimizer):
    def __init__(
        self,
        lr: float | Callable[[Any], Any] = 0.002,
        *,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-08,
        weight_decay: float = 0.0,
        maximize: bool = False,
        groups: Sequence[tuple[Callable[[str], bool], dict[str, Any]]] = (),
        decay_mask: Callable[[str, Any], bool] | None = None,
        max_norm: float | None = None,
        master_weights: bool = False,
    ) -> None: ...

class LAMB(Optimizer):
    def __init__(
        self,
        lr: float | Callable[[Any], Any] = 0.001,
        *,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-06,
        weight_decay: float = 0.0,
        groups: Sequence[tuple[Callable[[str], bool], dict[str, Any]]] = (),
        decay_mask: Callable[[str, Any], bool] | None = None,
        max_norm: float | None = None,
        master_weights: bool = False,
    ) -> None: ...

class Lion(Optimizer):
    def __init__(
        self,
        lr: float | Callable[[Any], Any] = 0.0001,
        *,
        betas: tuple[float, float] = (0.9, 0.99),
        weight_decay: float = 0.0,
        groups: Sequence[tuple[Callable[[str], bool], dict[str, Any]]] = (),
        decay_mask: Callable[[str, Any], bool] | None = None,
        max_norm: float | None = None,
        master_weights: bool = False,
    ) -> None: ...

class Muon(Optimizer):
    def __init__(
        self,
        lr: float | Callable[[Any], Any] = 0.001,
        *,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
        eps: float = 1e-07,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
        groups: Sequence[tuple[Callable[[str], bool], dict[str, Any]]] = (),
        decay_mask: Callable[[str, Any], bool] | None = None,
        max_norm: float | None = None,
        master_weights: bool = False,
    ) -> None: ...

class NAdam(Optimizer):
    def __init__(
        self,
        lr: float | Callable[[Any], Any] = 0.002,
        *,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-08,
        weight_decay: float = 0.0,
        momentum_decay: float = 0.004,
        decoupled_weight_decay: bool = False,
        maximize: bool = False,
        groups: Sequence[tuple[Callable[[str], bool], dict[str, Any]]] = (),
        decay_mask: Callable[[str, Any], bool] | None = None,
        max_norm: float | None = None,
        master_weights: bool = False,
    ) -> None: ...

class RAdam(Optimizer):
    def __init__(
        self,
        lr: float | Callable[[Any], Any] = 0.001,
        *,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-08,
        weight_decay: float = 0.0,
        decoupled_weight_decay: bool = False,
        maximize: bool = False,
        groups: Sequence[tuple[Callable[[str], bool], dict[str, Any]]] = (),
        decay_mask: Callable[[str, Any], bool] | None = None,
        max_norm: float | None = None,
        master_weights: bool = False,
    ) -> None: ...

class RMSprop(Optimizer):
    def __init__(
        self,
        lr: float | Callable[[Any], Any] = 0.01,
        *,
        alpha: float = 0.99,
        eps: float = 1e-08,
        weight_decay: float = 0.0,
        momentum: float = 0.0,
        centered: bool = False,
        maximize: bool = False,
        groups: Sequence[tuple[Callable[[str], bool], dict[str, Any]]] = (),
        decay_mask: Callable[[str, Any], bool] | None = None,
        max_norm: float | None = None,
        master_weights: bool = False,
    ) -> None: ...

class Rprop(Optimizer):
    def __init__(
        self,
        lr: float | Callable[[Any], Any] = 0.01,
        *,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-06, 50.0),
        maximize: bool = False,
        groups: Sequence[tuple[Callable[[str], bool], dict[str, Any]]] = (),
        decay_mask: Callable[[str, Any], bool] | None = None,
        max_norm: float | None = None,
        master_weights: bool = False,
    ) -> None: ...

class SGD(Optimizer):
    def __init__(
        self,
        lr: float | Callable[[Any], Any] = 0.001,
        *,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        maximize: bool = False,
        groups: Sequence[tuple[Callable[[str], bool], dict[str, Any]]] = (),
        decay_mask: Callable[[str, Any], bool] | None = None,
        max_norm: float | None = None,
        master_weights: bool = False,
    ) -> None: ...
