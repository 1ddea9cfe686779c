# SPDX-License-Identifier: Apache-2.0
"""``torch.distributions.transforms``: invertible functions of events, with their Jacobians."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from sycl_dnn import functional as F
from sycl_dnn.nn.torch_distributions.distribution import eps_of, method, sum_of_last, tiny_of
from sycl_dnn.nn.torch_docstrings import complete
from sycl_dnn.trace.module_arrays import plain, with_methods

#: What the parameters of transforms are.
_WORDS = {
    **dict.fromkeys(("exponent", "loc", "scale"), "array (*), or a number"),
    "cache_size": "{0, 1}\n    1: ``inv`` of the last result is its argument.", "event_dim": "int",
    "parts": "sequence of Transform",
}  # fmt: skip


class Transform:
    """The base class of functions of each element, or of events of ``event_dim`` axes.

    Subclasses define ``_call(x)``, ``_inverse(y)`` and ``log_abs_det_jacobian(x, y)``.

    cache_size : {0, 1}
        1: ``inv`` of the last result is its argument, where computing it would lose digits.
    """

    event_dim = 0
    _call: Any
    _inverse: Any
    #: Names of the arrays or numbers that arguments broadcast with.
    _parameters: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        """Complete the docstring of a class by what its constructor takes."""
        super().__init_subclass__()
        if cls.__module__ == __name__ and not cls.__name__.startswith("_"):
            complete(cls, "distributions.transforms.", _WORDS)

    def __init__(self, cache_size: int = 0) -> None:
        self.cache_size = cache_size
        self._last: tuple[Any, Any] = (None, None)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """Return the logarithm of the derivative at ``x``, whose image is ``y``."""
        raise NotImplementedError

    def forward_shape(self, shape: Any) -> tuple[int, ...]:
        """Return the shape of the image of an array, which broadcasts with the parameters."""
        parameters = [getattr(self, name) for name in self._parameters]
        return np.broadcast_shapes(tuple(shape), *(getattr(p, "shape", ()) for p in parameters))

    def __call__(self, x: Any) -> Any:
        """Return the image of ``x``."""
        x = plain(x)
        y = self._call(x)
        if self.cache_size:
            self._last = x, y
        return with_methods(y)

    def inverted(self, y: Any) -> Any:
        """Return the inverse image of ``y``."""
        x_last, y_last = self._last
        y = plain(y)
        return with_methods(x_last if y_last is not None and y is y_last else self._inverse(y))

    @property
    def inv(self) -> Any:
        """The inverse transform."""
        return _Inverse(self)


class _Inverse(Transform):
    def __init__(self, inverse: Transform) -> None:
        self._forward, self.event_dim = inverse, inverse.event_dim

    def forward_shape(self, shape: Any) -> tuple[int, ...]:
        return self._forward.forward_shape(shape)

    def __call__(self, y: Any) -> Any:
        return self._forward.inverted(y)

    def inverted(self, x: Any) -> Any:
        return self._forward(x)

    @property
    def inv(self) -> Any:
        return self._forward

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return with_methods(F.neg(plain(self._forward.log_abs_det_jacobian(y, x))))


class ExpTransform(Transform):
    """``exp(x)``."""

    _call, _inverse = staticmethod(F.exp), staticmethod(F.log)
    log_abs_det_jacobian = method(lambda self, x, y: x)


class PowerTransform(Transform):
    """``x ** exponent`` of positive numbers."""

    _parameters = ("exponent",)

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.exponent = plain(exponent)

    def _call(self, x: Any) -> Any:
        return F.pow(x, self.exponent)

    def _inverse(self, y: Any) -> Any:
        return F.pow(y, F.reciprocal(F.mul(F.ones_like(y), self.exponent)))

    @method
    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """Return ``log(|exponent * y / x|)``."""
        return F.log(F.abs(F.mul(F.div(y, x), self.exponent)))


class AffineTransform(Transform):
    """``loc + scale * x``."""

    _parameters = ("loc", "scale")

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.loc, self.scale, self.event_dim = plain(loc), plain(scale), event_dim

    def _call(self, x: Any) -> Any:
        return F.add(F.mul(x, self.scale), self.loc)

    def _inverse(self, y: Any) -> Any:
        return F.div(F.sub(y, self.loc), self.scale)

    @method
    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """Return ``log(|scale|)``, summed over the axes of an event."""
        scales = F.mul(F.ones_like(x), self.scale)
        return sum_of_last(F.log(F.abs(scales)), self.event_dim)


class SigmoidTransform(Transform):
    """``sigmoid(x)``."""

    def _call(self, x: Any) -> Any:
        return self._inside(F.sigmoid(x))

    @staticmethod
    def _inside(y: Any) -> Any:
        """Return values whose inverse is finite, within torch's bounds."""
        return F.clamp(y, tiny_of(y), 1 - eps_of(y))

    def _inverse(self, y: Any) -> Any:
        y = self._inside(y)
        return F.sub(F.log(y), F.log1p(F.neg(y)))

    @method
    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """Return ``-softplus(-x) - softplus(x)``."""
        return F.neg(F.add(F.softplus(F.neg(x)), F.softplus(x)))


class SoftplusTransform(Transform):
    """``log(1 + exp(x))``."""

    _call = staticmethod(F.softplus)
    _inverse = staticmethod(lambda y: F.add(F.log(F.neg(F.expm1(F.neg(y)))), y))
    log_abs_det_jacobian = method(lambda self, x, y: F.neg(F.softplus(F.neg(x))))


class TanhTransform(Transform):
    """``tanh(x)``; give it ``cache_size=1``, since ``atanh`` of numbers near 1 is inaccurate."""

    _call, _inverse = staticmethod(F.tanh), staticmethod(F.atanh)

    @method
    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """Return ``2 * (log(2) - x - softplus(-2 * x))``."""
        return F.mul(F.sub(math.log(2), F.add(x, F.softplus(F.mul(x, -2)))), 2)


class ComposeTransform(Transform):
    """Composed transforms."""

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0) -> None:
        super().__init__(0)  # the parts keep what they need
        self.parts = list(parts)
        self.event_dim = max((p.event_dim for p in self.parts), default=0)

    def forward_shape(self, shape: Any) -> tuple[int, ...]:
        """Return the shape of the image of an array."""
        for part in self.parts:
            shape = part.forward_shape(shape)
        return tuple(shape)

    def __call__(self, x: Any) -> Any:
        """Return the image of ``x``."""
        for part in self.parts:
            x = part(x)
        return x

    def inverted(self, y: Any) -> Any:
        """Return the inverse image of ``y``."""
        for part in reversed(self.parts):
            y = part.inverted(y)
        return y

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """Return the sum of the parts'."""
        total: Any = 0.0
        for part in self.parts:
            image = part(x)
            own = plain(part.log_abs_det_jacobian(x, image))
            total, x = F.add(sum_of_last(own, self.event_dim - part.event_dim), total), image
        return with_methods(total)
