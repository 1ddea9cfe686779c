# SPDX-License-Identifier: Apache-2.0
"""PyTorch under the names of ``sycl_dnn.functional``, in float64 or float32."""

from __future__ import annotations

from typing import Any

import torch


def turned(x: Any, dim: int) -> Any:
    return torch.flip(x, (dim,))


class TorchFunctions:
    """What programs call as ``F``; the program's float32 is ``float_dtype`` here."""

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

    # Of these torch.nn.functional has others under the name.
    def max(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        return torch.max(x, *args, **kwargs)

    def norm(self, x: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False) -> Any:
        return torch.norm(x, p, dim, keepdim)

    def rms_norm(self, x: Any, shape: Any, weight: Any = None, eps: Any = None) -> Any:
        eps = torch.finfo(torch.float32).eps if eps is None else eps
        return torch.nn.functional.rms_norm(x, shape, weight, eps)

    def batch_norm(self, *args: Any, **kwargs: Any) -> Any:
        # Running statistics are written in place.
        copied = [a.detach().clone() if i in (1, 2) and a is not None else a
                  for i, a in enumerate(args)]  # fmt: skip
        return torch.nn.functional.batch_norm(*copied, **kwargs)

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
        # PyTorch's own update of the mean makes NaN of infinities.
        mean = torch.mean(x, dim, given.get("keepdim", False))
        return function(x, dim, **given), mean

    def interpolate(self, x: Any, **given: Any) -> Any:
        if not given.get("antialias"):
            return torch.nn.functional.interpolate(x, **given)
        # Antialiased images whose result has one column are misread by PyTorch, and its gradients
        # are wrong where there is one channel or a scale that the sizes do not have: each axis by
        # itself, as rows of an image that has several of both.
        for axis in (2, 3):
            x = self._antialiased(x.movedim(axis, -1), axis - 2, given).movedim(-1, axis)
        return x

    @staticmethod
    def _antialiased(x: Any, number: int, given: dict[str, Any]) -> Any:
        wanted = {**given}
        for name, other in (("size", 2), ("scale_factor", 1.0)):
            if name in given:
                of_axis = given[name]
                of_axis = of_axis[number] if isinstance(of_axis, tuple) else of_axis
                wanted[name] = (of_axis, other)

        def resized(rows: Any) -> Any:
            channels = torch.cat([rows, torch.zeros_like(rows[:1])])
            image = channels[None, :, :, None].expand(-1, -1, -1, 2).contiguous()
            return torch.nn.functional.interpolate(image, **wanted)[0, : len(rows), :, 0]

        rows = x.reshape(-1, x.shape[-1])
        if bool(torch.isfinite(rows).all()):
            made = rows @ resized(torch.eye(x.shape[-1], dtype=x.dtype))
        else:
            made = resized(rows)
        return made.reshape(*x.shape[:-1], -1)

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
