# SPDX-License-Identifier: Apache-2.0
"""NaN and infinities in norms of samples, as in PyTorch."""

import numpy as np
import pytest
from compared_with_torch import torch
from functional.on_device import to_device, to_numpy

import sycl_dnn
from sycl_dnn import functional as F

#: name: shape of the input and the vectors, the function.
NORMS = {
    "group_norm": ((3, 6, 2, 3), (6,), lambda f, x, w, b: f.group_norm(x, 3, w, b)),
    "layer_norm": ((4, 2, 3), (2, 3), lambda f, x, w, b: f.layer_norm(x, (2, 3), w, b)),
    "rms_norm": ((4, 6), (6,), lambda f, x, w, b: f.rms_norm(x, (6,), w, 1e-5) + b),
}


def _data(shape, vector):
    rng = np.random.default_rng(7)
    x, mark = (rng.standard_normal(shape) for _ in range(2))
    w, b = (rng.uniform(0.5, 1.5, vector) for _ in range(2))
    return (x, w, b), mark


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("name", NORMS)
def test_values_do_not_leak_between_rows(queue, name, dtype):
    """NaN and infinities in values and gradients, as in torch."""
    shape, vector, function = NORMS[name]
    (x, w, b), mark = _data(shape, vector)
    x[1].flat[2], x[2].flat[0] = np.nan, np.inf
    kind = getattr(torch, dtype)
    args = [torch.tensor(a).to(kind).requires_grad_() for a in (x, w, b)]
    value = function(torch.nn.functional, *args)
    expected = [value, *torch.autograd.grad(value, args, torch.tensor(mark).to(kind))]
    placed = [to_device(a, dtype, queue) for a in (x, w, b)]
    value, pullback = sycl_dnn.vjp(lambda *a: function(F, *a), *placed)
    for ours, theirs in zip(
        (value, *pullback(to_device(mark, dtype, queue))), expected, strict=True
    ):
        ours, theirs = to_numpy(ours).astype(float), theirs.detach().float().numpy()
        assert (np.isnan(ours) == np.isnan(theirs)).all()
