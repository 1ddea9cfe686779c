# SPDX-License-Identifier: Apache-2.0
"""Losses with margins and of distributions, as functions and as modules, against torch."""

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn

_RNG = np.random.default_rng(0)


def _floats(*shape):
    return _RNG.standard_normal(shape).astype("f4")


def _signs(*shape):
    return np.sign(_RNG.standard_normal(shape)).astype("f4")


#: Function, module, arguments, how many of them have gradients, options.
_A, _B, _C = _floats(4, 5), _floats(4, 5), _floats(4, 5)
_SIZES = np.abs(_floats(4, 5))
_LABELS = np.array([[1, 3, -1, 0, 0], [0, 1, 2, 3, 4], [-1, 1, 1, 1, 1], [2, 2, -1, 4, 0]])
_ROWS = [
    ("margin_ranking_loss", "MarginRankingLoss", (_A, _B, _signs(4, 5)), 2,
     [{}, {"margin": 0.3, "reduction": "none"}]),
    ("hinge_embedding_loss", "HingeEmbeddingLoss", (_A, _signs(4, 5)), 1,
     [{}, {"margin": 0.3, "reduction": "sum"}]),
    ("cosine_embedding_loss", "CosineEmbeddingLoss", (_A, _B, _signs(4)), 2,
     [{}, {"margin": 0.1, "reduction": "none"}]),
    ("soft_margin_loss", "SoftMarginLoss", (_A, _signs(4, 5)), 1, [{}, {"reduction": "none"}]),
    ("multi_margin_loss", "MultiMarginLoss", (_A, np.array([0, 3, 4, 1])), 1,
     [{}, {"p": 2, "margin": 0.5}, {"reduction": "none", "weight": _floats(5)}]),
    ("multi_margin_loss", "MultiMarginLoss", (_A[0], np.array(2)), 1, [{"reduction": "none"}]),
    ("multilabel_margin_loss", "MultiLabelMarginLoss", (_A, _LABELS), 1,
     [{}, {"reduction": "none"}]),
    ("multilabel_margin_loss", "MultiLabelMarginLoss", (_A[0], _LABELS[0]), 1, [{}]),
    ("multilabel_soft_margin_loss", "MultiLabelSoftMarginLoss",
     (_A, (_signs(4, 5) > 0).astype("f4")), 1, [{}, {"reduction": "none", "weight": _floats(5)}]),
    ("triplet_margin_loss", "TripletMarginLoss", (_A, _B, _C), 3,
     [{}, {"swap": True, "p": 1.0}, {"margin": 2.0, "reduction": "none"}]),
    ("triplet_margin_with_distance_loss", "TripletMarginWithDistanceLoss", (_A, _B, _C), 3,
     [{}, {"swap": True, "reduction": "sum"}]),
    ("poisson_nll_loss", "PoissonNLLLoss", (_A, 3 * _SIZES), 1,
     [{}, {"full": True, "reduction": "none"}]),
    ("poisson_nll_loss", "PoissonNLLLoss", (_SIZES, 3 * _SIZES), 1,
     [{"log_input": False, "full": True}]),
    ("gaussian_nll_loss", "GaussianNLLLoss", (_A, _B, _SIZES), 3,
     [{}, {"full": True, "reduction": "none"}]),
    ("gaussian_nll_loss", "GaussianNLLLoss", (_A, _B, _SIZES[:, :1]), 3, [{}]),
    ("gaussian_nll_loss", "GaussianNLLLoss", (_A, _B, _SIZES[:, 0]), 3, [{"eps": 0.1}]),
]  # fmt: skip
_CASES = [(*row[:4], options) for row in _ROWS for options in row[4]]


def _close(actual, expected, limit=2e-6):
    actual, expected = dpnp.asnumpy(F.astype(actual, "float32")), expected.detach().float().numpy()
    assert actual.shape == expected.shape
    np.testing.assert_allclose(
        actual,
        expected,
        rtol=limit,
        atol=limit * np.abs(np.nan_to_num(expected, posinf=0)).max(initial=1),
    )


def _of_torch(torch, args, n_floats, dtype="float32"):
    results = [torch.tensor(a) for a in args]
    results = [t.to(getattr(torch, dtype)) if t.is_floating_point() else t for t in results]
    return [t.requires_grad_() if i < n_floats else t for i, t in enumerate(results)]


@pytest.mark.parametrize(("name", "module", "args", "n_floats", "options"), _CASES)
def test_value_and_gradients_match_torch(name, module, args, n_floats, options, queue):
    torch = pytest.importorskip("torch")
    theirs = _of_torch(torch, args, n_floats)
    arrays = {k: torch.tensor(v) if isinstance(v, np.ndarray) else v for k, v in options.items()}
    expected = getattr(torch.nn.functional, name)(*theirs, **arrays)
    slopes = torch.autograd.grad(expected.sum(), theirs[:n_floats])
    own = [dpnp.asarray(a, sycl_queue=queue) for a in args]
    arrays = {
        k: dpnp.asarray(v, sycl_queue=queue) if isinstance(v, np.ndarray) else v
        for k, v in options.items()
    }
    y, pullback = sycl_dnn.vjp(getattr(F, name), *own, **arrays)
    _close(y, expected)
    for actual, slope in zip(pullback(dpnp.ones_like(y)), slopes, strict=False):
        _close(actual, slope)
    layer = getattr(nn, module)(**arrays)
    assert repr(layer) == f"{module}()"
    _close(layer(*own), expected)
    _close(sycl_dnn.compile(lambda *a: layer(*a))(*own), expected)


@pytest.mark.parametrize(("name", "args"), [(r[0], r[2]) for r in _ROWS if r[2][0].ndim == 2])
def test_bfloat16(name, args, queue):
    torch = pytest.importorskip("torch")
    theirs = _of_torch(torch, args, 0, "bfloat16")
    expected = getattr(torch.nn.functional, name)(
        *(t.float() if t.is_floating_point() else t for t in theirs)
    )
    own = [dpnp.asarray(a, sycl_queue=queue) for a in args]
    own = [sycl_dnn.asarray(a, "bfloat16") if a.dtype == "f4" else a for a in own]
    actual = getattr(F, name)(*own)
    assert actual.dtype == "bfloat16"
    _close(actual, expected, 0.04)
    with sycl_dnn.autocast("bfloat16"):
        _close(getattr(F, name)(*own), expected, 0.04)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x: F.triplet_margin_loss(x, x, x, margin=0.0), "margin must be positive, got 0"),
        (lambda x: F.triplet_margin_loss(x, x, x[0]), "one number of axes"),
        (lambda x: F.gaussian_nll_loss(x, x, x[:3]), "var must have the shape of input"),
        (lambda x: F.gaussian_nll_loss(x, x, -1.0), "var must not be negative"),
        (lambda x: F.multi_margin_loss(x, dpnp.asarray([1])), "target must have shape"),
        (lambda x: F.cosine_embedding_loss(x, x, x), "inputs must be"),
        (lambda x: F.margin_ranking_loss(x, x[0], x), "one number of axes"),
        (lambda x: F.soft_margin_loss(x, x, reduction="all"), "reduction must be one of"),
    ],
)
def test_invalid_calls(call, text):
    with pytest.raises(ValueError, match=text):
        call(dpnp.asarray(_A))


@pytest.mark.parametrize("name", ["all", "any"])
def test_all_and_any(name, queue):
    torch = pytest.importorskip("torch")
    values = (_RNG.random((3, 4, 5)) > 0.4).astype("f4")
    for dtype in ("float32", "bool", "int64", "uint8"):
        x = dpnp.asarray(values.astype(dtype), sycl_queue=queue)
        theirs = torch.tensor(values.astype(dtype))
        for args in ((), (1,), (-1, True), ((0, 2),)):
            actual, expected = getattr(F, name)(x, *args), getattr(torch, name)(theirs, *args)
            assert str(actual.dtype) == str(expected.dtype).removeprefix("torch.")
            np.testing.assert_array_equal(dpnp.asnumpy(actual), expected)
    compiled = sycl_dnn.compile(lambda x: getattr(F, name)(x, 1))
    np.testing.assert_array_equal(dpnp.asnumpy(compiled(x)), getattr(torch, name)(theirs, 1))
