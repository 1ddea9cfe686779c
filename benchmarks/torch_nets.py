# SPDX-License-Identifier: Apache-2.0
"""The seed networks in PyTorch on the CPU, for the comparison in `seed_nets.py`.

Imported only if torch is installed. Arrays and outputs are those of ``examples/_training_data.py``,
``_alexnet_head.py`` and ``_gnmt_lstm.py``.
"""

from __future__ import annotations

import numpy as np
import torch
from torch.nn import functional


class AlexNetHead:
    """Convolution, ReLU, LRN, max pooling and back; bf16 by autocast, as is usual in torch."""

    def __init__(self, data_type: str, data) -> None:
        src, weights, bias, diff_dst = map(torch.from_numpy, data)
        self._autocast = torch.autocast("cpu", torch.bfloat16, enabled=data_type == "bf16")
        self._src, self._diff_dst = src, diff_dst
        self._weights, self._bias = weights.requires_grad_(), bias.requires_grad_()
        self.outputs: dict[str, np.ndarray] = {}

    def step(self) -> None:
        """Forward and backward once."""
        self._weights.grad = self._bias.grad = None
        with self._autocast:
            x = functional.conv2d(self._src, self._weights, self._bias, stride=4)
            # LRN is not one of autocast's operations; it runs in the type of its input.
            x = functional.local_response_norm(x.relu(), 5, alpha=1e-4, beta=0.75, k=1.0)
            dst = functional.max_pool2d(x, 3, 2)
        dst.backward(self._diff_dst.to(dst.dtype))
        results = {
            "dst": dst.detach().float(),
            "diff_weights": self._weights.grad,
            "diff_bias": self._bias.grad,
        }
        self.outputs = {name: tensor.numpy() for name, tensor in results.items()}


class GnmtLstm:
    """An LSTM layer over sentences of two lengths, run in two calls as the oneDNN programs do."""

    def __init__(self, data) -> None:
        src, weights_layer, weights_iter, bias, diff_dst = map(torch.from_numpy, data[:5])
        channels = src.shape[2]
        self._lstm = torch.nn.LSTM(channels, channels)
        rows = {"weight_ih_l0": weights_layer, "weight_hh_l0": weights_iter}
        state = {name: w.reshape(channels, -1).T.contiguous() for name, w in rows.items()}
        state |= {"bias_ih_l0": bias.reshape(-1), "bias_hh_l0": torch.zeros(4 * channels)}
        self._lstm.load_state_dict(state)
        self._src, self._diff_dst = src.requires_grad_(), diff_dst
        self._n_long, self._short = data.n_long, data.short
        self.outputs: dict[str, np.ndarray] = {}

    def step(self) -> None:
        """Forward and backward once."""
        self._lstm.zero_grad(set_to_none=True)
        self._src.grad = None
        n, short = self._n_long, self._short
        left, (h, c) = self._lstm(self._src[:short])
        state = (h[:, :n].contiguous(), c[:, :n].contiguous())
        right, _ = self._lstm(self._src[short:, :n], state)
        torch.autograd.backward([left, right], [self._diff_dst[:short], self._diff_dst[short:, :n]])
        self._keep(left, right)

    def _keep(self, left: torch.Tensor, right: torch.Tensor) -> None:
        """Keep the results, without copies."""
        results = {"dst_left": left, "dst_right": right, "diff_src": self._src.grad}
        results["diff_weights_layer"] = self._lstm.weight_ih_l0.grad.T
        results["diff_weights_iter"] = self._lstm.weight_hh_l0.grad.T
        results["diff_bias"] = self._lstm.bias_ih_l0.grad
        self.outputs = {name: tensor.detach().numpy() for name, tensor in results.items()}
