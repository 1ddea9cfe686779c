# SPDX-License-Identifier: Apache-2.0
"""Connectionist temporal classification loss."""

import dpnp
import numpy as np
import pytest
from functional.case import Case, Spec, queue_of
from functional.checks import checked

import sycl_dnn
from sycl_dnn import functional as F

TARGETS = np.array([[1, 1, 2], [3, 2, 0]])
STEPS, LENGTHS = (5, 4), (3, 2)


def ctc(x, reduction="mean"):
    provided = dpnp.asarray(np.array(TARGETS), sycl_queue=queue_of(x))
    return F.ctc_loss(F.log_softmax(x, 2), provided, STEPS, LENGTHS, reduction=reduction)


def by_torch(x, reduction="mean"):
    import torch

    logs = torch.log_softmax(x, 2)
    return torch.nn.functional.ctc_loss(
        logs, torch.tensor(TARGETS), STEPS, LENGTHS, reduction=reduction
    )


X = Spec((5, 2, 4))
CASES = [
    Case(f"ctc-{reduction}", ctc, (X, reduction), torch=by_torch, slack=5.0)
    for reduction in ("mean", "sum", "none")
]
TestCases = checked(CASES)


@pytest.mark.parametrize("zero_infinity", [True, False])
@pytest.mark.parametrize("form", ["padded", "joined"])
def test_lengths_on_the_device_and_too_long_targets(form, zero_infinity, queue):
    """The second target has more labels than steps, the third none."""
    torch = pytest.importorskip("torch")
    x = np.random.default_rng(0).standard_normal((6, 3, 5)).astype("f4")
    targets, steps, lengths = [[1, 2, 4, 1], [3, 3, 3, 1], [1, 1, 1, 1]], [6, 3, 2], [4, 4, 0]
    if form == "joined":
        targets = [n for row, k in zip(targets, lengths, strict=True) for n in row[:k]]
    args = [dpnp.asarray(v, sycl_queue=queue) for v in (targets, steps, lengths)]

    def loss(x):
        logs = F.log_softmax(x, 2)
        return F.ctc_loss(logs, *args, reduction="none", zero_infinity=zero_infinity)

    t = torch.tensor(x, requires_grad=True)
    logs = torch.log_softmax(t, 2)
    expected = torch.nn.functional.ctc_loss(
        logs, *map(torch.tensor, (targets, steps, lengths)), reduction="none",
        zero_infinity=zero_infinity,
    )  # fmt: skip
    expected.backward(torch.ones(3))
    actual, pullback = sycl_dnn.vjp(sycl_dnn.compile(loss), dpnp.asarray(x, sycl_queue=queue))
    np.testing.assert_allclose(dpnp.asnumpy(actual), expected.detach().numpy(), rtol=1e-4)
    gradient = dpnp.asnumpy(pullback(dpnp.ones_like(actual))[0])
    np.testing.assert_allclose(gradient, t.grad.numpy(), rtol=1e-3, atol=1e-5)


def test_kernels_and_their_definition_agree(queue):
    rng = np.random.default_rng(0)
    x = dpnp.asarray(rng.standard_normal((7, 4, 5)), dtype="f4", sycl_queue=queue)
    targets = dpnp.asarray(rng.integers(1, 5, (4, 3)), sycl_queue=queue)
    matches = []
    for mode in ("auto", "never"):
        with sycl_dnn.kernel_mode(mode):
            loss = sycl_dnn.value_and_grad(
                lambda x: F.ctc_loss(F.log_softmax(x, 2), targets, [7, 6, 5, 0], [3, 2, 0, 0])
            )
            matches.append([dpnp.asnumpy(v) for v in loss(x)])
    for own, defined in zip(*matches, strict=True):
        np.testing.assert_allclose(own, defined, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("mode", ["auto", "never"])
def test_second_derivative_is_that_of_finite_differences(mode, queue):
    rng = np.random.default_rng(0)
    x, direction = (
        dpnp.asarray(rng.standard_normal((5, 2, 4)), dtype="f4", sycl_queue=queue) for _ in range(2)
    )
    targets = dpnp.asarray([[1, 2], [3, 3]], sycl_queue=queue)
    with sycl_dnn.kernel_mode(mode):
        slope = sycl_dnn.grad(
            lambda x: F.ctc_loss(F.log_softmax(x, 2), targets, [5, 4], [2, 2], reduction="sum")
        )
        actual = sycl_dnn.grad(lambda x: F.sum(slope(x) * direction))(x)
        difference = (slope(x + direction * 0.01) - slope(x - direction * 0.01)) / 0.02
    np.testing.assert_allclose(dpnp.asnumpy(actual), dpnp.asnumpy(difference), atol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["padded", "joined"])
def test_lengths_and_classes_out_of_range_give_nan(form, queue):
    """They are on the device, and calls do not wait. Nothing outside of a target is read."""
    x = dpnp.asarray(np.random.default_rng(0).random((4, 3, 5)), dtype="f4", sycl_queue=queue)
    for targets, steps, lengths, wrong in (
        ([[1, 2], [3, 4], [1, 9]], [4, 4, 4], [2, 2, 1], []),
        ([[1, 2], [3, 5], [1, -1]], [4, 4, 4], [2, 2, 2], [1, 2]),
        ([[1, 2], [3, 4], [1, 2]], [5, -1, 4], [2, 2, 2], [0, 1]),
        ([[1, 2], [3, 4], [1, 2]], [4, 4, 4], [2, -1, 2], [1]),
        ([[1, 2], [3, 4], [1, 2]], [4, 4, 4], [2, 2, 7], [2]),
    ):
        if form == "joined":
            targets = [n for row, k in zip(targets, lengths, strict=True) for n in row[: abs(k)]]
        args = [dpnp.asarray(v, sycl_queue=queue) for v in (targets, steps, lengths)]
        result, pullback = sycl_dnn.vjp(lambda x: F.ctc_loss(x, *args, reduction="none"), x)  # noqa: B023
        assert np.flatnonzero(np.isnan(dpnp.asnumpy(result))).tolist() == wrong
        slope = dpnp.asnumpy(pullback(dpnp.ones_like(result))[0])
        assert np.isfinite(np.delete(slope, wrong, 1)).all()


def test_unused_probabilities_are_not_read(queue):
    """NaN of a class that is impossible in the first step; torch's value."""
    x = np.log(np.full((2, 1, 3), 1 / 3, "f4"))
    x[0, 0, 2] = np.nan
    provided = dpnp.asarray([[1, 2]], sycl_queue=queue)
    result = F.ctc_loss(dpnp.asarray(x, sycl_queue=queue), provided, [2], [2], reduction="sum")
    np.testing.assert_allclose(float(result), 2 * np.log(3), rtol=1e-6)


def test_one_sequence_without_a_batch(queue):
    x = dpnp.ones((5, 4), dtype="f4", sycl_queue=queue)
    target = dpnp.ones(3, dtype="i8", sycl_queue=queue)
    assert F.ctc_loss(F.log_softmax(x, 1), target, 5, 3, reduction="none").shape == ()
