# SPDX-License-Identifier: Apache-2.0
"""Newton's method without a Hessian: its products with vectors, by a gradient of a gradient.

A regularized logistic regression is fitted by conjugate gradients on Hessian-vector products.
NumPy computes the whole Hessian in float64 for comparison.
"""

from __future__ import annotations

import dpnp
import numpy as np
from _common import finish, make_parser, open_queue

import sycl_dnn
from sycl_dnn import functional as F

ROWS, WIDTH, STRENGTH = 400, 20, 0.1


def loss(w, x, target):
    """Return the mean logistic loss of targets 0 and 1, with a penalty on the weights."""
    logits = F.matmul(x, w)
    penalty = 0.5 * STRENGTH * F.sum(w * w)
    return F.binary_cross_entropy_with_logits(logits, target) + penalty


@sycl_dnn.compile
def hessian_vector_product(w, v, x, target):
    """Return the gradient, and the Hessian's product with ``v``."""
    return sycl_dnn.jvp(lambda w: sycl_dnn.grad(loss)(w, x, target), (w,), (v,))


def newton_step(w, x, target, steps: int = 20):
    """Return the solution of ``Hessian @ step = -gradient`` by conjugate gradients."""
    grad, _ = hessian_vector_product(w, w, x, target)
    step, residual = dpnp.zeros_like(w), -grad
    direction, size = residual, float((residual * residual).sum())
    for _ in range(steps):
        _, curved = hessian_vector_product(w, direction, x, target)
        length = size / float((direction * curved).sum())
        step = step + length * direction
        residual = residual - length * curved
        size, before = float((residual * residual).sum()), size
        if size < 1e-14:
            break
        direction = residual + (size / before) * direction
    return step


def numpy_hessian(w, x):
    """Return the whole Hessian in float64."""
    share = 1 / (1 + np.exp(-x @ w))
    return (x * (share * (1 - share))[:, None]).T @ x / len(x) + STRENGTH * np.eye(len(w))


def main() -> None:
    """Compare one product with NumPy's, then fit."""
    options = make_parser(__doc__).parse_args()
    queue = open_queue(options.device)
    rng = np.random.default_rng(0)
    x = rng.standard_normal((ROWS, WIDTH)).astype("f4")
    truth, v = rng.standard_normal((2, WIDTH)).astype("f4")
    target = (x @ truth + rng.standard_normal(ROWS) > 0).astype("f4")
    on_device = dpnp.asarray(x, sycl_queue=queue), dpnp.asarray(target, sycl_queue=queue)
    w = dpnp.asarray(0.1 * truth, sycl_queue=queue)
    _, product = hessian_vector_product(w, dpnp.asarray(v, sycl_queue=queue), *on_device)
    expected = numpy_hessian(0.1 * truth.astype("f8"), x.astype("f8")) @ v
    error = np.abs(dpnp.asnumpy(product) - expected).max() / np.abs(expected).max()
    print(f"Hessian times a vector: off by {error:.1e} of its largest element")
    assert options.no_check or error < 1e-5
    if not options.no_check:
        for number in range(6):
            grad, _ = hessian_vector_product(w, w, *on_device)
            print(f"step {number}: largest slope {float(dpnp.abs(grad).max()):.1e}")
            w = w + newton_step(w, *on_device)
        grad, _ = hessian_vector_product(w, w, *on_device)
        assert float(dpnp.abs(grad).max()) < 1e-6
    finish(options, "hessian_vector_product")


if __name__ == "__main__":
    main()
