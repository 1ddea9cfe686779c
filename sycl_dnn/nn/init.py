# SPDX-License-Identifier: Apache-2.0
"""``torch.nn.init``: in-place initializers that draw on the device."""

from __future__ import annotations

import math
from typing import Any

import dpnp
import numpy as np

from sycl_dnn import functional as F
from sycl_dnn.functional.activation.dropout import next_seed
from sycl_dnn.nn.parameter import Parameter
from sycl_dnn.trace import array_writes

_GAINS = {
    "linear": 1.0, "conv1d": 1.0, "conv2d": 1.0, "conv3d": 1.0, "conv_transpose1d": 1.0,
    "conv_transpose2d": 1.0, "conv_transpose3d": 1.0, "sigmoid": 1.0, "tanh": 5.0 / 3,
    "relu": math.sqrt(2.0), "selu": 3.0 / 4,
}  # fmt: skip


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """Return the recommended gain for an activation.

    Raises
    ------
    ValueError
        The name is unknown.
    """
    if nonlinearity == "leaky_relu":
        return math.sqrt(2.0 / (1 + (0.01 if param is None else param) ** 2))
    if nonlinearity not in _GAINS:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    return _GAINS[nonlinearity]


def fans(tensor: Any) -> tuple[int, int]:
    """Return the fan-in and fan-out of a weight (O, I, *K).

    Raises
    ------
    ValueError
        The array has fewer than two axes.
    """
    shape = tensor.shape
    if len(shape) < 2:
        raise ValueError(
            "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions"
        )
    field = math.prod(shape[2:])
    return shape[1] * field, shape[0] * field


#: torch's name, which initializers of other packages import.
_calculate_fan_in_and_fan_out = fans


def _fill(tensor: Any, values: Any) -> Any:
    array = _array(tensor)
    is_number = isinstance(values, float)
    array_writes.assign(array, values if is_number else F.astype(values, array.dtype))
    return tensor


def _array(tensor: Any) -> Any:
    return tensor.data if isinstance(tensor, Parameter) else tensor


def _drawn(tensor: Any, kind: str) -> Any:
    array = _array(tensor)
    draw = F.rand if kind == "uniform" else F.randn
    return draw(array.shape, device=array.sycl_queue)


def uniform_(tensor: Any, a: float = 0.0, b: float = 1.0) -> Any:
    """Fill with uniform random numbers from [a, b).

    Parameters
    ----------
    tensor : array or Parameter (*)
        Written in place, with random numbers seeded by ``sycl_dnn.manual_seed``.

    Returns
    -------
    array or Parameter
        ``tensor``.

    Examples
    --------
    >>> from sycl_dnn import functional as F, nn
    >>> w = nn.init.uniform_(F.zeros(2, 3), -1, 1)
    >>> bool((abs(w) <= 1).all())
    True
    """
    return _fill(tensor, _drawn(tensor, "uniform") * float(b - a) + float(a))


def normal_(tensor: Any, mean: float = 0.0, std: float = 1.0) -> Any:
    """Fill with normally distributed random numbers; see ``uniform_``."""
    return _fill(tensor, _drawn(tensor, "normal") * float(std) + float(mean))


def trunc_normal_(
    tensor: Any, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0
) -> Any:
    """Fill with normal random numbers truncated to [a, b], drawn on the host by rejection."""
    array = _array(tensor)
    rng = np.random.default_rng(next_seed())
    values = rng.normal(mean, std, array.shape)
    while (outside := (values < a) | (values > b)).any():
        values[outside] = rng.normal(mean, std, int(outside.sum()))
    return _fill(tensor, dpnp.asarray(values, dtype="f4", sycl_queue=array.sycl_queue))


def constant_(tensor: Any, val: float) -> Any:
    """Fill with a constant."""
    return _fill(tensor, float(val))


def ones_(tensor: Any) -> Any:
    """Fill with ones."""
    return _fill(tensor, 1.0)


def zeros_(tensor: Any) -> Any:
    """Fill with zeros."""
    return _fill(tensor, 0.0)


def eye_(tensor: Any) -> Any:
    """Fill a matrix with the identity."""
    array = _array(tensor)
    return _fill(tensor, dpnp.eye(*array.shape, dtype="f4", sycl_queue=array.sycl_queue))


def xavier_uniform_(tensor: Any, gain: float = 1.0) -> Any:
    """Fill with uniform numbers using Glorot's rule; the array needs at least two axes."""
    bound = gain * math.sqrt(6.0 / sum(fans(_array(tensor))))
    return uniform_(tensor, -bound, bound)


def xavier_normal_(tensor: Any, gain: float = 1.0) -> Any:
    """Fill with normally distributed numbers using Glorot's rule."""
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(fans(_array(tensor)))))


def _kaiming(tensor: Any, a: float, mode: str, nonlinearity: str) -> float:
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    fan = fans(_array(tensor))[mode == "fan_out"]
    return calculate_gain(nonlinearity, a) / math.sqrt(max(fan, 1))  # 0 only if it is empty


def kaiming_uniform_(
    tensor: Any, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu"
) -> Any:
    """Fill with uniform numbers using He's rule.

    Parameters
    ----------
    tensor : array or Parameter (O, I, *K)
    a : float
        Negative slope of the leaky ReLU that follows.
    mode : {"fan_in", "fan_out"}
    nonlinearity : str
        As for ``calculate_gain``.
    """
    bound = math.sqrt(3.0) * _kaiming(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound)


def kaiming_normal_(
    tensor: Any, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu"
) -> Any:
    """Fill with normal numbers using He's rule; parameters as for ``kaiming_uniform_``."""
    return normal_(tensor, 0.0, _kaiming(tensor, a, mode, nonlinearity))


def orthogonal_(tensor: Any, gain: float = 1.0) -> Any:
    """Fill with orthogonal rows or columns, computed on the host."""
    array = _array(tensor)
    fans(array)
    rows, columns = array.shape[0], math.prod(array.shape[1:])
    rng = np.random.default_rng(next_seed())
    q, r = np.linalg.qr(rng.standard_normal((max(rows, columns), min(rows, columns))))
    q = q * np.sign(np.diag(r))
    q = (q.T if rows < columns else q).reshape(array.shape) * gain
    return _fill(tensor, dpnp.asarray(q, dtype="f4", sycl_queue=array.sycl_queue))


def dirac_(tensor: Any, groups: int = 1) -> Any:
    """Fill a weight (O, I, *K) of a convolution so that each group keeps its first inputs.

    Raises
    ------
    ValueError
        The array does not have 3 to 5 axes, or ``groups`` does not divide the outputs.
    """
    array = _array(tensor)
    outputs, inputs, *sizes = array.shape if array.ndim in (3, 4, 5) else (0, 0)
    if not sizes:
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if outputs % groups:
        raise ValueError("dim 0 must be divisible by groups")
    values, center = np.zeros(array.shape, "f4"), tuple([size // 2 for size in sizes])
    for k in range(outputs):
        if (channel := k % (outputs // groups)) < inputs:
            values[(k, channel) + center] = 1
    return _fill(tensor, dpnp.asarray(values, sycl_queue=array.sycl_queue))


#: torch's older names, which it keeps.
uniform, normal, constant, eye, dirac = uniform_, normal_, constant_, eye_, dirac_
xavier_uniform, xavier_normal, orthogonal = xavier_uniform_, xavier_normal_, orthogonal_
kaiming_uniform, kaiming_normal = kaiming_uniform_, kaiming_normal_
