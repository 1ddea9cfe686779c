# SPDX-License-Identifier: Apache-2.0
"""Channel dropout, alpha dropout for SELU, and Gumbel softmax."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sycl_dnn.call.operation import named, operation
from sycl_dnn.functional.activation.dropout import dropped, seed_of
from sycl_dnn.functional.activation.softmax import softmax
from sycl_dnn.functional.arithmetic.binary import add, mul
from sycl_dnn.functional.arithmetic.convert import converted
from sycl_dnn.functional.arithmetic.elementwise import check_float
from sycl_dnn.functional.embeddings import one_hot
from sycl_dnn.functional.reduction.extremes import argmax
from sycl_dnn.functional.shape.reshaping import check_axis
from sycl_dnn.lower.node_lowering import computed
from sycl_dnn.ops.arithmetic import cast
from sycl_dnn.ops.random_bits import gumbel, trials
from sycl_dnn.trace.captured_inputs import of_this_call
from sycl_dnn.trace.pointwise import linear_map
from sycl_dnn.trace.values import Tensor
from sycl_dnn.trace.views import transpose

if TYPE_CHECKING:
    from sycl_dnn.trace.frozen import Seed

#: The negative saturation value of SELU.
_LOWEST = -1.7580993408473766


def _mask(x: Tensor, seed: Tensor, p: float, n_lead: int) -> Tensor:
    """Draw a mask over the first ``n_lead`` axes of ``x``, which broadcasts to it."""
    shape = (*x.shape[:n_lead], *(1,) * (x.ndim - n_lead))
    return computed(lambda node: cast(trials(node, shape, 1 - p), str(x.dtype)), seed)


@operation
def _of_channels(input: Tensor, seed: Tensor, p: float, name: str, n_axes: int) -> Tensor:
    check_float(name, input=input)
    allowed = (n_axes + 1, n_axes + 2)
    if input.ndim not in allowed:
        raise ValueError(
            f"{name}: input must have {allowed[0]} or {allowed[1]} axes, got shape {input.shape}"
        )
    if p in (0, 1) or not input.size:
        return linear_map(input, 1.0 - p)
    # torch interprets a 3-d input of dropout2d as (N, C, W).
    n_lead = 1 if input.ndim == allowed[0] and n_axes != 2 else 2
    return linear_map(mul(input, _mask(input, seed, p, n_lead)), 1 / (1 - p))


@operation
def _of_selu(input: Tensor, seed: Tensor, p: float, name: str, of_features: bool) -> Tensor:
    check_float(name, input=input)
    if of_features and input.ndim < 2:
        raise ValueError(f"{name}: input must have at least 2 axes, got shape {input.shape}")
    if p in (0, 1) or not input.size:
        return linear_map(input, 1.0 - p)
    mask = _mask(input, seed, p, 2 if of_features else input.ndim)
    a = 1 / math.sqrt((1 - p) * (1 + p * _LOWEST**2))
    low = linear_map(mask, -a * _LOWEST, a * _LOWEST * (1 - p))
    return add(mul(input, linear_map(mask, a)), low)


_TEXT = """{summary}

Parameters
----------
input : array {shape}
    float32, bfloat16 or float16; float64 if the device supports it.
p : float
    Probability, 0 to 1.
training : bool
    If False, the input itself is returned, as for ``p=0``.
inplace : bool
    As for ``dropout``.
seed : int or Seed, optional
    As for ``dropout``.
out : array, optional
    Overwritten and returned; shape and dtype of the input.

Returns
-------
array {shape}

Raises
------
TypeError
    The dtype is not floating point, or ``seed`` is not an integer.
ValueError
    ``p`` is not in [0, 1], or the input has a different number of axes.

Notes
-----
{notes}Source: ``torch.nn.functional.{name}``.
"""
_DROPS = "Zero whole channels with probability ``p``; scale the others by ``1 / (1 - p)``."
_FLAT = "An input of three axes is (N, C, W), as in torch.\n\n"
_KEEPS = "In expectation, the mean and variance of SELU's results are preserved.\n\n"


def _function(
    name: str, body: Callable[..., Any], default: bool, summary: str, shape: str, notes: str
) -> Callable[..., Any]:
    """Make a dropout function whose ``training`` has a default."""

    def call(
        input: Tensor, p: float = 0.5, training: bool = default, inplace: bool = False,
        *, seed: int | Seed | None = None, out: Tensor | None = None,
    ) -> Tensor:  # fmt: skip
        return dropped(name, body, input, p, training, inplace, seed, out)

    return named(call, name, _TEXT.format(name=name, summary=summary, shape=shape, notes=notes))


def _channels(name: str, shape: str, notes: str = "") -> Callable[..., Any]:
    body = functools.partial(_of_channels, name=name, n_axes=int(name[-2]))
    return _function(name, body, True, _DROPS, shape, notes)


def _selu(name: str, summary: str, shape: str, of_features: bool) -> Callable[..., Any]:
    body = functools.partial(_of_selu, name=name, of_features=of_features)
    return _function(name, body, False, summary, shape, _KEEPS)


dropout1d = _channels("dropout1d", "(N, C, W), or (C, W)")
dropout2d = _channels("dropout2d", "(N, C, H, W), or (N, C, W)", _FLAT)
dropout3d = _channels("dropout3d", "(N, C, D, H, W), or (C, D, H, W)")
alpha_dropout = _selu(
    "alpha_dropout", "Set elements to SELU's negative saturation value at random; rescale.",
    "(*)", False,
)  # fmt: skip
feature_alpha_dropout = _selu(
    "feature_alpha_dropout", "Set channels to SELU's negative saturation value at random; rescale.",
    "(N, C, *)", True,
)  # fmt: skip


# --- Gumbel noise


def _one_hot(soft: Tensor, axis: int) -> Tensor:
    """Return one-hot vectors at the maxima along an axis, with the gradient of ``soft``."""

    def value() -> Tensor:
        result = converted(one_hot(argmax(soft, axis), soft.shape[axis]), str(soft.dtype))
        order = [*range(axis), soft.ndim - 1, *range(axis, soft.ndim - 1)]
        return add(transpose(result, order), linear_map(soft, 0.0))  # NaN stays

    return soft.trace.closed({"soft": soft}, value, lambda dy: {"soft": dy})


@operation
def _gumbel_softmax(logits: Tensor, seed: Tensor, tau: float, hard: bool, dim: int) -> Any:
    check_float("gumbel_softmax", logits=logits)
    axis = check_axis("gumbel_softmax", dim, logits.ndim)
    if not logits.size or not logits.ndim:
        return softmax(logits, axis)
    noise = computed(lambda node: cast(gumbel(node, logits.shape), str(logits.dtype)), seed)
    noisy = add(logits, noise)
    soft = softmax(linear_map(noisy, 1 / tau), axis)
    return _one_hot(soft, axis) if hard else soft


def gumbel_softmax(
    logits: Tensor,
    tau: float = 1,
    hard: bool = False,
    eps: float = 1e-10,
    dim: int = -1,
    *,
    seed: int | Seed | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Sample from a categorical distribution along an axis, differentiably.

    Parameters
    ----------
    logits : array (*)
        Unnormalized log-probabilities; float32, bfloat16 or float16, and float64 if the device
        supports it.
    tau : float
        Temperature, positive; the smaller it is, the closer the samples are to one-hot vectors.
    hard : bool
        Return one-hot vectors, with the gradients of the soft samples.
    eps : float
        Ignored, as in torch.
    dim : int
        The axis of the categories.
    seed : int or Seed, optional
        As for ``dropout``: equal seeds give equal samples; by default each call draws new ones.
    out : array, optional
        Overwritten and returned; shape and dtype of ``logits``.

    Returns
    -------
    array (*)
        Sums to 1 along ``dim``.

    Raises
    ------
    TypeError
        The dtype is not floating point, or ``seed`` is not an integer.
    ValueError
        ``tau`` is not positive, or there is no such axis.

    Notes
    -----
    Source: Jang et al., "Categorical Reparameterization with Gumbel-Softmax", 2016;
    ``torch.nn.functional.gumbel_softmax``.
    """
    if not tau > 0:
        raise ValueError(f"gumbel_softmax: tau must be positive, got {tau}")
    logits = of_this_call(logits)
    seed_value = seed_of("gumbel_softmax", seed, isinstance(logits, Tensor))
    keywords = {} if out is None else {"out": out}
    return _gumbel_softmax(logits, seed_value, float(tau), bool(hard), dim, **keywords)
