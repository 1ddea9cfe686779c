# SPDX-License-Identifier: Apache-2.0
"""The base class of distributions, and their common parameters."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sycl_dnn import functional as F
from sycl_dnn.call.custom_gradients import stop_gradient
from sycl_dnn.nn.torch_docstrings import complete
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace.module_arrays import plain, with_methods

LOG_SQRT_2PI = 0.5 * math.log(2 * math.pi)
_EPS = {"float64": 2.0**-52, "float16": 2.0**-10, "bfloat16": 2.0**-7}
_TINY = {"float64": 2.0**-1022, "float16": 2.0**-14}
_PARAMETER = "array (*), or a number\n    Shapes broadcast to that of the batch."


class _Facts(NamedTuple):
    """What promotion asks arrays."""

    shape: tuple[int, ...]
    dtype: str


def arrays_of(*values: Any) -> list[Any]:
    """Return parameters as arrays of one shape and dtype; numbers alone as float32."""
    values = tuple(map(plain, values))
    arrays = [v for v in values if hasattr(v, "shape")]
    if not arrays:
        return [F.tensor(float(v)) for v in values]
    shape = np.broadcast_shapes(*[tuple(a.shape) for a in arrays])
    dtype = dtypes.result_dtype(*[_Facts(tuple(a.shape), str(a.dtype)) for a in arrays])
    if not dtypes.is_float(dtype):
        raise TypeError(f"distributions: parameters must be floating-point, got {dtype}")

    def array_of(value: Any) -> Any:
        if not hasattr(value, "shape"):
            return F.full(shape, value, dtype=dtype, device=arrays[0].device)
        value = value if str(value.dtype) == dtype else F.astype(value, dtype)
        return value if tuple(value.shape) == shape else F.expand(value, shape)

    return list(map(array_of, values))


def check_one_of(name: str, probs: Any, logits: Any) -> None:
    """Raise ValueError unless either is given."""
    if (probs is None) == (logits is None):
        raise ValueError(
            f"{name}: either probs or logits must be given, not both, got {probs} and {logits}"
        )


def clamped(probs: Any) -> Any:
    """Return probabilities whose logarithms are finite, as torch."""
    eps = eps_of(probs)
    return F.clamp(probs, eps, 1 - eps)


def eps_of(x: Any) -> float:
    """Return the distance of 1 to the next number of an array's dtype."""
    return _EPS.get(str(x.dtype), 2.0**-23)


def tiny_of(x: Any) -> float:
    """Return the smallest normal number of an array's dtype."""
    return _TINY.get(str(x.dtype), 2.0**-126)


def sum_of_last(x: Any, count: int) -> Any:
    """Sum the last axes."""
    return F.sum(x, tuple(range(-count, 0))) if count else x


def sizes_of(sample_shape: Any) -> tuple[int, ...]:
    """Return a shape given as one number or as several."""
    return (sample_shape,) if isinstance(sample_shape, int) else tuple(sample_shape)


def method(formula: Callable[..., Any]) -> Any:
    """Return a method by its formula: of plain values, with torch's methods on the result."""

    @functools.wraps(formula)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        named = {name: plain(value) for name, value in kwargs.items()}
        return with_methods(formula(self, *map(plain, args), **named))

    return call


def moment(formula: Callable[[Any], Any]) -> Any:
    """Return a property by its formula."""
    return property(method(formula))


class Distribution:
    """The base class: shapes of a batch of distributions and of one event of each.

    Parameters are floating-point arrays of shapes that broadcast to the batch's, or numbers; they
    are not checked, which would read them. ``log_prob`` of values (*sample_shape, *batch_shape,
    *event_shape) and ``entropy`` are in nats, and have the dtype of the parameters and the shape
    (*sample_shape, *batch_shape); ``perplexity`` is ``exp(entropy())``. ``mean``, ``variance``,
    ``stddev`` and ``mode`` are those of the distribution. Source: ``torch.distributions``.
    """

    has_rsample = False
    #: Names of the arrays that hold the parameters, with the axes of an event at the end.
    _parameters: tuple[str, ...] = ()

    def __init_subclass__(cls, **texts: str) -> None:
        """Complete the docstring of a class by what its constructor takes."""
        super().__init_subclass__()
        if cls.__module__.startswith(__package__) and not cls.__name__.startswith("_"):
            own = dict.fromkeys(inspect.signature(cls).parameters, _PARAMETER)
            complete(cls, "distributions.", own | {"validate_args": "ignored"} | texts)

    def __init__(
        self, batch_shape: Any = (), event_shape: Any = (), validate_args: Any = None
    ) -> None:
        self.batch_shape, self.event_shape = tuple(batch_shape), tuple(event_shape)

    def _keep(self, **parameters: Any) -> None:
        """Keep parameters as arrays of the shape of the batch."""
        self._parameters = tuple(parameters)
        for name, array in zip(parameters, arrays_of(*parameters.values()), strict=True):
            setattr(self, name, with_methods(array))
            self.batch_shape, self.event_shape = array.shape, ()

    def _shape(self, sample_shape: Any) -> tuple[int, ...]:
        return (*sizes_of(sample_shape), *self.batch_shape, *self.event_shape)

    def sample(self, sample_shape: Any = ()) -> Any:
        """Return samples (*sample_shape, *batch_shape, *event_shape) without a gradient."""
        return with_methods(stop_gradient(plain(self.rsample(sample_shape))))

    def rsample(self, sample_shape: Any = ()) -> Any:
        """Return samples with gradients to the parameters.

        Raises
        ------
        NotImplementedError
            There are none.
        """
        raise NotImplementedError(f"{type(self).__name__}: there is no rsample; use sample")

    def expand(self, batch_shape: Any) -> Any:
        """Return the distribution for a larger batch."""
        count = len(self.event_shape)
        expanded = object.__new__(type(self))
        expanded.__dict__.update(self.__dict__, batch_shape=tuple(batch_shape))
        for name in self._parameters:
            value = getattr(self, name)
            event = value.shape[value.ndim - count :] if count else ()
            setattr(expanded, name, F.expand(plain(value), (*batch_shape, *event)))
        return expanded

    stddev = moment(lambda self: F.sqrt(self.variance))
    perplexity = method(lambda self: F.exp(plain(self.entropy())))

    def __repr__(self) -> str:
        shown = f"batch_shape={self.batch_shape}, event_shape={self.event_shape}"
        return f"{type(self).__name__}({shown})"
