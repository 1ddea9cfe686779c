# SPDX-License-Identifier: Apache-2.0
"""Losses of arrays whose dtypes differ: promoted or refused as by torch."""

import numpy as np
import pytest
from functional.case import TOLERANCE, rounded
from functional.on_device import to_device, to_numpy

import sycl_dnn
from sycl_dnn import functional as F

PAIRS = [("float32", "bfloat16"), ("bfloat16", "float32"), ("float16", "bfloat16"),
         ("float32", "int64")]  # fmt: skip
PROMOTED = dict.fromkeys(PAIRS, "float32")
FLOATS = dict.fromkeys(PAIRS[:3], "float32")
#: By loss: the dtype of the result; the rest is refused.
RESULTS = {
    "mse_loss": PROMOTED,
    "l1_loss": PROMOTED,
    "smooth_l1_loss": PROMOTED,
    "huber_loss": {},
    "kl_div": FLOATS,
    "cross_entropy": FLOATS,
    "binary_cross_entropy": {},
    # As torch: the target's.
    "binary_cross_entropy_with_logits": {pair: pair[1] for pair in PAIRS[:3]},
}
ACCEPTED = [(n, *p, result) for n, rows in RESULTS.items() for p, result in rows.items()]
REFUSED = [(n, *p) for n, rows in RESULTS.items() for p in PAIRS if p not in rows]
#: torch's own cross_entropy and huber_loss accept such targets, without a gradient.
REFUSED_HERE_ONLY = ("huber_loss",)


def _values(*dtypes):
    rng = np.random.default_rng(0)
    results = [rng.uniform(0.1, 0.9, (4, 5)), rng.uniform(0.1, 0.9, (4, 5))]
    return [np.rint(v) if d in ("int64", "bool") else rounded(v, d)
            for v, d in zip(results, dtypes, strict=True)]  # fmt: skip


@pytest.mark.parametrize(("name", "first", "second", "result"), ACCEPTED)
@pytest.mark.parametrize("reduction", ["none", "sum"])
def test_promoted(name, first, second, result, reduction, queue):
    torch = pytest.importorskip("torch")
    values = _values(first, second)
    arrays = [to_device(v, d, queue) for v, d in zip(values, (first, second), strict=True)]
    y, pullback = sycl_dnn.vjp(getattr(F, name), *arrays, reduction=reduction)
    actual = y.dtype if isinstance(y.dtype, str) else y.dtype.name
    x, t = (torch.tensor(v, dtype=getattr(torch, d))
            for v, d in zip(values, (first, second), strict=True))  # fmt: skip
    x.requires_grad_()
    truth = getattr(torch.nn.functional, name)(x, t, reduction=reduction)
    assert actual == result == str(truth.dtype).removeprefix("torch.")
    exact = getattr(torch.nn.functional, name)(*map(torch.tensor, values), reduction=reduction)
    limit = 4 * max(TOLERANCE[first], TOLERANCE[result])
    np.testing.assert_allclose(to_numpy(y), exact.numpy(), limit, limit)
    dx = pullback(to_device(np.ones(y.shape), result, queue))[0]
    (expected,) = torch.autograd.grad(truth.sum(), x)
    assert (dx.dtype if isinstance(dx.dtype, str) else dx.dtype.name) == first
    np.testing.assert_allclose(to_numpy(dx), expected.float().numpy(), limit, limit)


@pytest.mark.parametrize(("name", "first", "second"), REFUSED)
def test_refused_pairs(name, first, second, queue):
    values = _values(first, second)
    arrays = [to_device(v, d, queue) for v, d in zip(values, (first, second), strict=True)]
    with pytest.raises((TypeError, ValueError), match=f"{name}: target must have"):
        getattr(F, name)(*arrays)
    torch = pytest.importorskip("torch")
    if name not in REFUSED_HERE_ONLY:
        x, t = (torch.tensor(v, dtype=getattr(torch, d))
                for v, d in zip(values, (first, second), strict=True))  # fmt: skip
        with pytest.raises((RuntimeError, ValueError)):
            getattr(torch.nn.functional, name)(x, t)


@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "binary_cross_entropy_with_logits",
                                  "binary_cross_entropy"])  # fmt: skip
def test_weights_of_another_dtype(name, queue):
    x, t = (to_device(v, "float32", queue) for v in _values("float32", "float32"))
    weight = to_device(np.full((4, 5), 0.5), "bfloat16", queue)
    actual = getattr(F, name)(x, t, weight=weight, reduction="sum")
    assert actual.dtype == np.float32
    np.testing.assert_allclose(
        to_numpy(actual), to_numpy(getattr(F, name)(x, t, reduction="sum")) / 2, 1e-6
    )
