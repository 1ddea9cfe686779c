# SPDX-License-Identifier: Apache-2.0
"""PyTorch under the names of ``sycl_dnn.functional``, in float64 or float32."""

from __future__ import annotations

from typing import Any

import torch


def turned(x: Any, dim: int) -> Any:
    return torch.flip(x, (dim,))


class TorchFunctions:
    """The ``F`` of reference programs; a program's float32 is ``float_dtype`` here."""

    def __init__(self, float_dtype: torch.dtype) -> None:
        self._float = float_dtype

    def __getattr__(self, name: str) -> Any:
        for module in (torch.nn.functional, torch, torch.Tensor, torch.special):
            if hasattr(module, name):
                return getattr(module, name)
        raise AttributeError(name)

    def dtype(self, name: str) -> torch.dtype:
        return self._float if name == "float32" else getattr(torch, name)

    def astype(self, x: Any, dtype: str) -> Any:
        if dtype in ("float16", "bfloat16"):
            return x.to(getattr(torch, dtype)).to(self._float)
        return x.to(self.dtype(dtype))

    # torch.nn.functional has other functions under these names.
    def max(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        return torch.max(x, *args, **kwargs)

    def norm(self, x: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False) -> Any:
        return torch.norm(x, p, dim, keepdim)

    def rms_norm(self, x: Any, shape: Any, weight: Any = None, eps: Any = None) -> Any:
        eps = torch.finfo(torch.float32).eps if eps is None else eps
        return torch.nn.functional.rms_norm(x, shape, weight, eps)

    # PyTorch folds mean and weight of a normalization into one factor and one summand, which turns
    # infinite weights into NaN.
    def batch_norm(
        self, x: Any, running_mean: Any, running_var: Any, weight: Any = None, bias: Any = None,
        training: bool = False, momentum: float = 0.1, eps: float = 1e-5,
    ) -> Any:  # fmt: skip
        mean, var = running_mean, running_var
        if training or mean is None:
            axes = [0, *range(2, x.ndim)]
            mean, var = x.mean(axes), x.var(axes, correction=0)
        return self._normalized(x, mean, var, weight, bias, eps)

    def instance_norm(
        self, x: Any, running_mean: Any = None, running_var: Any = None, weight: Any = None,
        bias: Any = None, use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-5,
    ) -> Any:  # fmt: skip
        mean, var = running_mean, running_var
        if use_input_stats:
            axes = [*range(2, x.ndim)]
            mean, var = x.mean(axes), x.var(axes, correction=0)
        return self._normalized(x, mean, var, weight, bias, eps)

    def group_norm(
        self, x: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5
    ) -> Any:
        groups = x.reshape(x.shape[0], num_groups, -1)
        mean, var = groups.mean(2, keepdim=True), groups.var(2, correction=0, keepdim=True)
        result = ((groups - mean) / torch.sqrt(var + eps)).reshape(x.shape)
        weight, bias = (
            None if t is None else t.reshape(-1, *[1] * (x.ndim - 2)) for t in (weight, bias)
        )
        result = result if weight is None else result * weight
        return result if bias is None else result + bias

    @staticmethod
    def _normalized(x: Any, mean: Any, var: Any, weight: Any, bias: Any, eps: float) -> Any:
        mean, var, weight, bias = (
            None if t is None else t.reshape(*t.shape, *[1] * (x.ndim - 2))
            for t in (mean, var, weight, bias)
        )
        result = (x - mean) / torch.sqrt(var + eps)
        result = result if weight is None else result * weight
        return result if bias is None else result + bias

    def scaled_dot_product_attention(
        self, query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0,
        is_causal: bool = False, scale: Any = None, enable_gqa: bool = False,
    ) -> Any:  # fmt: skip
        """Attention by its definition: PyTorch's blocked code turns NaN into numbers."""
        # PyTorch raises for inconsistent shapes.
        torch.nn.functional.scaled_dot_product_attention(
            query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
        )
        if enable_gqa:
            groups = query.shape[-3] // key.shape[-3]
            key, value = (t.repeat_interleave(groups, -3) for t in (key, value))
        scale = query.shape[-1] ** -0.5 if scale is None else scale
        scores = (query * scale) @ key.transpose(-2, -1)
        if attn_mask is not None:
            is_bool = attn_mask.dtype == torch.bool
            hidden = torch.zeros((), dtype=scores.dtype).masked_fill(~attn_mask, -torch.inf)
            scores = scores + (hidden if is_bool else attn_mask)
        if is_causal:
            # Keys that no query sees are not read, whatever their values.
            count = min(scores.shape[-2:])
            scores, value = scores[..., :count], value[..., :count, :]
            seen = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
            scores = scores.masked_fill(~seen, -torch.inf)
        sees_none = (scores == -torch.inf).all(-1, keepdim=True)
        weights = scores.masked_fill(sees_none, 0.0).softmax(-1)
        return weights.masked_fill(sees_none, 0.0) @ value

    # Equal elements keep their order, which PyTorch guarantees only for stable sorts.
    def argsort(self, x: Any, dim: int = -1, descending: bool = False) -> Any:
        return torch.argsort(x, dim=dim, descending=descending, stable=True)

    def sort(self, x: Any, dim: int = -1, descending: bool = False) -> Any:
        return torch.sort(x, dim=dim, descending=descending, stable=True)

    def permute(self, x: Any, dims: Any) -> Any:
        return torch.permute(x, dims)

    def expand(self, x: Any, size: Any) -> Any:
        return x.expand(size)

    def unflatten(self, x: Any, dim: int, sizes: Any) -> Any:
        return x.unflatten(dim, sizes)

    def zeros(self, size: Any) -> Any:
        return torch.zeros(size, dtype=self._float)

    def ones(self, size: Any) -> Any:
        return torch.ones(size, dtype=self._float)

    def full(self, size: Any, value: float) -> Any:
        return torch.full(size, value, dtype=self._float)

    def eye(self, n: int, m: int | None = None) -> Any:
        return torch.eye(n, m or n, dtype=self._float)

    def arange(self, *args: Any, dtype: str) -> Any:
        return torch.arange(*args, dtype=self.dtype(dtype))

    def linspace(self, *args: Any) -> Any:
        return torch.linspace(*args, dtype=self._float)

    def std_mean(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        return self._with_mean(torch.std, x, *args, **kwargs)

    def var_mean(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        return self._with_mean(torch.var, x, *args, **kwargs)

    def _with_mean(self, function: Any, x: Any, dim: Any = None, **given: Any) -> Any:
        # PyTorch's own update of the mean turns infinities into NaN.
        mean = torch.mean(x, dim, given.get("keepdim", False))
        return function(x, dim, **given), mean

    def interpolate(self, x: Any, **given: Any) -> Any:
        if not given.get("antialias"):
            interpolate = torch.nn.functional.interpolate
            if given.get("mode") != "bicubic" or not x.numel():
                return interpolate(x, **given)
            # PyTorch's gradient is wrong where a scale keeps the size of an axis.
            height, width = x.shape[2:]
            each = torch.eye(height * width, dtype=x.dtype).reshape(-1, 1, height, width)
            matrix = interpolate(each, **given)
            return (x.flatten(2) @ matrix.flatten(1)).unflatten(2, matrix.shape[2:])
        # Antialiased images whose result has one column are misread by PyTorch, and its gradients
        # are wrong where there is one channel or a scale that the sizes do not have: each axis by
        # itself, as rows of an image that has several of both.
        for axis in (2, 3):
            x = self._antialiased(x.movedim(axis, -1), axis - 2, given).movedim(-1, axis)
        return x

    @staticmethod
    def _antialiased(x: Any, number: int, given: dict[str, Any]) -> Any:
        expected = {**given}
        for name, other in (("size", 2), ("scale_factor", 1.0)):
            if name in given:
                of_axis = given[name]
                of_axis = of_axis[number] if isinstance(of_axis, tuple) else of_axis
                expected[name] = (of_axis, other)

        def resized(rows: Any) -> Any:
            channels = torch.cat([rows, torch.zeros_like(rows[:1])])
            image = channels[None, :, :, None].expand(-1, -1, -1, 2).contiguous()
            return torch.nn.functional.interpolate(image, **expected)[0, : len(rows), :, 0]

        rows = x.reshape(-1, x.shape[-1])
        if bool(torch.isfinite(rows).all()):
            result = rows @ resized(torch.eye(x.shape[-1], dtype=x.dtype))
        else:
            result = resized(rows)
        return result.reshape(*x.shape[:-1], -1)

    def affine_grid(self, theta: Any, size: Any, align_corners: bool = False) -> Any:
        return torch.nn.functional.affine_grid(theta, list(size), align_corners)

    def _recurrent(self, name: str, x: Any, hx: Any, params: Any, states: int, **given: Any) -> Any:
        layers, both = given.get("num_layers", 1), given.get("bidirectional", False)
        batch_first, bias = given.get("batch_first", False), given.get("bias", True)
        hidden = params[1].shape[1]
        if hx is None:
            batch = x.shape[0 if batch_first else 1]
            hx = torch.zeros(layers * (1 + both), batch, hidden, dtype=x.dtype)
            hx = (hx, hx) if states == 2 else hx
        return getattr(torch._VF, name)(
            x, hx, list(params), bias, layers, 0.0, False, both, batch_first
        )

    def lstm(self, x: Any, hx: Any, params: Any, **given: Any) -> Any:
        y, h, c = self._recurrent("lstm", x, hx, params, 2, **given)
        return y, (h, c)

    def gru(self, x: Any, hx: Any, params: Any, **given: Any) -> Any:
        return self._recurrent("gru", x, hx, params, 1, **given)

    def rnn_tanh(self, x: Any, hx: Any, params: Any, **given: Any) -> Any:
        return self._recurrent("rnn_tanh", x, hx, params, 1, **given)

    def rnn_relu(self, x: Any, hx: Any, params: Any, **given: Any) -> Any:
        return self._recurrent("rnn_relu", x, hx, params, 1, **given)
