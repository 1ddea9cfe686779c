# SPDX-License-Identifier: Apache-2.0
import dpnp
import numpy as np
import pytest
from functional.case import Spec
from functional.checks import checked
from functional.losses import make
from functional.on_device import to_device
from kernel_cases import kernels_of

import sycl_dnn
from sycl_dnn import functional as F


def classes(shape, high, dtype=None, **kwargs):
    return Spec(shape, "integer", high, dtype, **kwargs)


WEIGHT = Spec((5,), "positive", differentiable=False)
FLAT = (Spec((7, 5)), classes((7,), 5))
DEEP = (Spec((3, 5, 2, 7)), classes((3, 2, 7), 5))
REDUCTIONS = ("none", "mean", "sum")
SHAPES = [
    (Spec((5,)), classes((), 5)),
    (Spec((1, 1)), classes((1,), 1)),
    (Spec((7, 1)), classes((7,), 1)),
    (Spec((3, 5, 7)), classes((3, 7), 5)),
    (Spec((2, 5, 3, 1), layout="channels_last"), classes((2, 3, 1), 5)),
    (Spec((7, 5), layout="strided"), classes((7,), 5, layout="strided")),
    (Spec((7, 5), layout="transposed"), classes((7,), 5, layout="reversed")),
    (Spec((67, 131)), classes((67,), 131)),
]
FUNCTIONS = ("nll_loss", "cross_entropy")
CASES = [make(n, s, reduction=r) for n in FUNCTIONS for s in (FLAT, DEEP) for r in REDUCTIONS]
CASES += [make(n, s, reduction=r) for n in FUNCTIONS for s in SHAPES for r in ("none", "mean")]
CASES += [
    make(n, (*s, WEIGHT), reduction=r, ignore_index=i)
    for n in FUNCTIONS
    for s in (FLAT, DEEP)
    for r in REDUCTIONS
    for i in (-100, 2)
]
CASES += [make(n, FLAT, reduction=r, ignore_index=3) for n in FUNCTIONS for r in REDUCTIONS]
CASES += [
    make(
        "cross_entropy", (*FLAT, *w), reduction=r, label_smoothing=e, ignore_index=1
    )
    for w in ((), (WEIGHT,))
    for r in REDUCTIONS
    for e in (0.1, 1.0)
]  # fmt: skip
CASES += [
    make("cross_entropy", (x, Spec(x.shape, "unit"), *w), reduction=r,
         label_smoothing=e)
    for x, w in [(Spec((7, 5)), ()), (Spec((7, 5)), (WEIGHT,)), (Spec((3, 5, 2)), (WEIGHT,)),
                 (Spec((5,)), ())]
    for r in REDUCTIONS
    for e in (0.0, 0.2)
]  # fmt: skip
CASES += [make("nll_loss", (FLAT[0], classes((7,), 5, "uint8")), reduction="mean")]
CASES += [
    make(n, s, dtype, reduction="mean")
    for n in FUNCTIONS
    for s, dtype in ((FLAT, "bfloat16"), (DEEP, "bfloat16"), (FLAT, "float16"))
]
TestCases = checked(CASES, sweep=24)


def test_empty_batch(queue):
    x = to_device(np.ones((0, 5)), "float32", queue)
    t = to_device(np.ones(0), "int64", queue)
    assert F.cross_entropy(x, t, reduction="none").shape == (0,)
    assert float(F.cross_entropy(x, t, reduction="sum")) == 0
    assert np.isnan(float(F.nll_loss(x, t)))
    y, pullback = sycl_dnn.vjp(F.cross_entropy, x, t, reduction="sum")
    assert pullback(y)[0].shape == (0, 5)


def test_targets_out_of_range_give_nan(queue):
    x = to_device(np.zeros((5, 3)), "float32", queue)
    t = to_device(np.array([0, 3, -1, 255, -100]), "int64", queue)
    y = dpnp.asnumpy(F.cross_entropy(x, t, reduction="none"))
    np.testing.assert_array_equal(np.isnan(y), [False, True, True, True, False])
    assert y[4] == 0
    y = dpnp.asnumpy(F.cross_entropy(x, t, ignore_index=255, reduction="none"))
    np.testing.assert_array_equal(np.isnan(y), [False, True, True, False, True])


def test_new_values_do_not_retrace(queue):
    x = to_device(np.zeros((5, 3)), "float32", queue)
    t = to_device(np.zeros(5), "int64", queue)
    sycl_dnn.cache.clear()
    F.cross_entropy(x, t)
    F.cross_entropy(x + 1, t)
    assert sycl_dnn.cache.info()[:2] == (1, 1)


@pytest.mark.parametrize("far", [2**32, 2**40 + 2, -(2**32), 2**31, 2**63 - 1, -(2**63), 2**24 + 1])
@pytest.mark.sweep(2)
def test_classes_do_not_wrap_at_32_bits(far, queue):
    x = dpnp.asarray(np.log([[0.2, 0.3, 0.5]] * 2), dtype="f4", sycl_queue=queue)
    target = dpnp.asarray([1, far], dtype="i8", sycl_queue=queue)
    for loss in (F.nll_loss, F.cross_entropy):
        result = dpnp.asnumpy(loss(x, target, reduction="none"))
        assert np.isnan(result[1])
        np.testing.assert_allclose(result[0], -np.log(0.3), rtol=1e-5)
        ignored = dpnp.asnumpy(loss(x, target, ignore_index=far, reduction="none"))
        assert ignored[1] == 0


def test_classes_beyond_float32_precision(queue):
    x = dpnp.zeros((1, 2**24 + 2), dtype="f4", sycl_queue=queue)
    x[0, 2**24 + 1] = -3.0
    for at, expected in ((2**24 + 1, 3.0), (2**24, 0.0)):
        target = dpnp.asarray([at], dtype="i8", sycl_queue=queue)
        assert float(F.nll_loss(x, target)) == expected


@pytest.mark.parametrize("weighted", [False, True])
def test_gradient_is_0_where_all_targets_are_ignored(weighted, queue):
    x = dpnp.ones((3, 4), dtype="f4", sycl_queue=queue)
    target = dpnp.full(3, -100, sycl_queue=queue)
    weight = dpnp.ones(4, dtype="f4", sycl_queue=queue) if weighted else None
    for loss in (F.nll_loss, F.cross_entropy):
        value, pullback = sycl_dnn.vjp(lambda x, loss=loss: loss(x, target, weight), x)
        assert np.isnan(float(value))
        assert not pullback(1.0)[0].any()


@pytest.mark.parametrize("ignored", [-1, -100, 255])
@pytest.mark.parametrize("loss", [F.nll_loss, F.cross_entropy])
def test_weighted_means_exclude_ignored_targets_out_of_range(loss, ignored, queue):
    rng = np.random.default_rng(3)
    x, weight = rng.standard_normal((5, 4)).astype("f4"), rng.random(4).astype("f4")
    provided, kept = (dpnp.asarray(v, sycl_queue=queue) for v in (x, x[:4]))
    weight = dpnp.asarray(weight, sycl_queue=queue)
    target = np.array([0, 3, 1, 1, ignored])
    whole, part = (dpnp.asarray(t, sycl_queue=queue) for t in (target, target[:4]))
    result, pullback = sycl_dnn.vjp(
        lambda x: loss(x, whole, weight, ignore_index=ignored), provided
    )
    np.testing.assert_allclose(float(result), float(loss(kept, part, weight)), rtol=1e-5)
    (slope,) = pullback(dpnp.ones((), dtype="f4", sycl_queue=queue))
    assert not slope[4].any()
    assert dpnp.isfinite(slope).all()


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_the_mean_of_a_small_loss_is_one_kernel(dtype, queue):
    """The sum of the weights is not one of its own, in the order that narrow results have."""
    scores = to_device(np.zeros((64, 10)), dtype, queue)
    target = to_device(np.arange(64) % 10, "int64", queue)
    assert len(kernels_of(F.cross_entropy, scores, target)) == 1


def test_probabilities_have_no_class_to_ignore(queue):
    x = dpnp.zeros((2, 3), dtype="f4", sycl_queue=queue)
    with pytest.raises(ValueError, match="ignore_index must be left out .* got 1"):
        F.cross_entropy(x, x, ignore_index=1)
