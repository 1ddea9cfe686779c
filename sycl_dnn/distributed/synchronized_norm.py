# SPDX-License-Identifier: Apache-2.0
"""``SyncBatchNorm``: batch normalization across the ranks."""

from __future__ import annotations

from typing import Any

import dpnp

from sycl_dnn import functional as F
from sycl_dnn.distributed.collectives import all_reduce, chosen
from sycl_dnn.distributed.group import Group, OfGroup
from sycl_dnn.nn import normalization_layers
from sycl_dnn.nn.utils.weight_normalization import origin_of
from sycl_dnn.trace.array_function import array_function
from sycl_dnn.trace.values import Tensor

_BatchNorm2d: Any = getattr(normalization_layers, "BatchNorm2d")  # noqa: B009 - mypy does not see it
_BatchNorm = normalization_layers._BatchNorm


class SyncBatchNorm(OfGroup, _BatchNorm2d):
    """Batch normalization with statistics over the batches of all ranks.

    Parameters
    ----------
    num_features, eps, momentum, affine, track_running_stats, device, dtype, bias
        As for ``BatchNorm2d``, but ``momentum`` must be a number.
    group : Group, optional
        By default the group of ``init``.

    Raises
    ------
    ValueError
        The input has fewer than 2 axes or more than 5; in training there is only one value per
        channel over all ranks.

    Notes
    -----
    Batch sizes may differ between ranks; running statistics are equal on all of them. Source:
    ``torch.nn.SyncBatchNorm``.

    Examples
    --------
    >>> import dpnp
    >>> import sycl_dnn
    >>> norm = sycl_dnn.distributed.SyncBatchNorm(3)
    >>> norm(dpnp.ones((2, 3, 4, 4), dtype="f4")).shape
    (2, 3, 4, 4)
    """

    ranks = (2, 3, 4, 5)

    def __init__(
        self, num_features: int, *args: Any, group: Group | None = None, **kw: Any
    ) -> None:
        super().__init__(num_features, *args, **kw)
        self._group_name = chosen(group).name
        if self.momentum is None:
            raise ValueError("SyncBatchNorm: momentum must be a number, got None")

    @classmethod
    def convert(cls, module: Any, group: Group | None = None) -> Any:
        """Replace the batch normalizations of a module by synchronized ones.

        Submodules are replaced in place; if ``module`` itself is one, a new one is returned. One
        layer under several names stays one layer.

        Raises
        ------
        TypeError
            A subclass of batch normalization computes something else, or its weight is computed.
        """
        return cls._converted(module, group, {})

    @classmethod
    def _converted(cls, module: Any, group: Group | None, done: dict[int, Any]) -> Any:
        if module is None or id(module) in done:
            return done.get(id(module))
        if isinstance(module, _BatchNorm) and not isinstance(module, SyncBatchNorm):
            done[id(module)] = cls._of(module, group)
            return done[id(module)]
        done[id(module)] = module
        for name, child in module._modules.items():
            new = cls._converted(child, group, done)
            if new is not child:
                setattr(module, name, new)
        return module

    @classmethod
    def _of(cls, norm: Any, group: Group | None) -> Any:
        if type(norm).forward is not _BatchNorm.forward or origin_of(norm)[1]:
            raise TypeError(
                f"SyncBatchNorm.convert: {type(norm).__name__} is not a plain batch normalization"
            )
        layer = cls(
            norm.num_features, norm.eps, norm.momentum, norm.affine, norm.track_running_stats,
            bias=norm.bias is not None, group=group,
        )  # fmt: skip
        for name in ("weight", "bias", "running_mean", "running_var", "num_batches_tracked"):
            if getattr(norm, name) is not None:
                setattr(layer, name, getattr(norm, name))
        layer.freeze(lambda name: name in norm._frozen)
        return layer.train(norm.training)

    def forward(self, input: Any) -> Any:
        """Normalize (N, num_features, *S)."""
        by_batch = self.training or self.running_mean is None
        if self._group.size == 1 or not by_batch:
            return super().forward(input)
        self._check(input)
        axes = [0, *range(2, input.ndim)]
        dtype = "float64" if str(input.dtype) == "float64" else "float32"
        wide: Any = F.astype(input, dtype)
        count = self._summed(F.sum(F.ones_like(wide[:, :1])))
        mean = F.div(self._summed(F.sum(wide, axes)), count)
        shape = (1, -1, *(1 for _ in axes[1:]))
        centered = F.sub(wide, F.reshape(mean, shape))
        var = F.div(self._summed(F.sum(F.square(centered), axes)), count)
        if input.size <= input.shape[1]:
            var = self._checked(var, count, dtype)
        if self.training and self.track_running_stats:
            self._update(input, mean, var, count)
        scale = F.rsqrt(F.add(var, self.eps))
        if self.weight is not None:
            scale = F.mul(scale, F.astype(self.weight, dtype))
        result = F.mul(centered, F.reshape(scale, shape))
        if self.bias is not None:
            shift: Any = F.astype(self.bias, dtype)
            result = F.add(result, F.reshape(shift, shape))
        return F.astype(result, str(input.dtype))

    def _summed(self, x: Any) -> Any:
        return all_reduce(x, group=self._group)

    @staticmethod
    def _checked(var: Any, count: Any, dtype: str) -> Any:
        """Refuse one value per channel over all ranks; a rank that has two need not ask.

        After the last collective, so that no rank is left in one.
        """

        def checked(var: Any, count: Any) -> Any:
            if float(count) < 2:
                raise ValueError(
                    "SyncBatchNorm: input must have more than 1 value per channel over all ranks "
                    "in training"
                )
            return var.copy()

        def gradient(var: Any, count: Any, dy: Any) -> Any:
            return dy, dpnp.zeros_like(count)

        return array_function(checked, var, count, shape=var.shape, dtype=dtype, gradient=gradient)

    def _update(self, input: Any, mean: Any, var: Any, count: Any) -> None:
        """Update the running statistics, with the unbiased variance."""
        self._counted(input)
        unbiased = F.mul(var, F.div(count, F.sub(count, 1.0)))
        for name, new in (("running_mean", mean), ("running_var", unbiased)):
            old = getattr(self, name)
            old = old if isinstance(old, Tensor) else input.trace.capture(old)
            decayed = F.mul(F.astype(old, str(new.dtype)), 1.0 - self.momentum)
            average = F.add(decayed, F.mul(new, self.momentum))
            self.update_buffer(name, F.astype(average, str(old.dtype)))
