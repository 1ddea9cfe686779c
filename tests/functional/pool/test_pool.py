# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import dpnp
import numpy as np
import pytest
from functional.case import Case, Spec
from functional.checks import FALLS_BACK, checked
from functional.on_device import to_numpy

import sycl_dnn
from sycl_dnn import functional as F

#: name: shape of the input, then the arguments of max_poolNd.
_MAX = {
    "1d": ((2, 3, 11), 3, 2, 1),
    "1d-single": ((4, 9), (2,)),
    "1d-dilated": ((2, 5, 23), 4, 2, 2, 3),
    "2d": ((2, 5, 9, 8), 3, 2, 1),
    "2d-default-stride": ((1, 16, 7, 7), 2),
    "2d-single": ((3, 8, 9), (3, 2), (1, 2), (1, 0)),
    "2d-ceil": ((2, 3, 8, 9), 3, 2, 0, 1, True),
    "2d-ceil-cut": ((1, 3, 7, 7), 2, 3, 1, 1, True),
    "2d-leftover": ((1, 3, 10, 11), 2, 4),
    "2d-dilated": ((2, 3, 9, 10), 3, 1, 1, 2),
    "2d-dilated-strided": ((1, 7, 13, 17), (2, 4), (2, 3), (1, 2), (3, 2)),
    "2d-dilated-even": ((1, 3, 16, 16), 2, 2, 0, 4),
    "2d-dilated-once": ((1, 3, 7, 7), 3, 1, 0, 3),
    "2d-ones": ((1, 1, 1, 1), 1),
    "2d-wide": ((1, 2, 20, 20), 17, 1, 3),
    "3d": ((1, 3, 5, 6, 7), 2, (1, 2, 2), 1),
    "3d-dilated": ((1, 2, 6, 7, 6), 2, 1, 0, 2),
}
#: name: shape of the input, then the arguments of avg_poolNd.
_AVG = {
    "1d": ((2, 3, 11), 3, 2, 1),
    "1d-ceil": ((2, 3, 10), 3, 2, 1, True),
    "2d": ((2, 5, 9, 8), 3, 2, 1),
    "2d-single": ((3, 8, 9), (3, 2), (1, 2), (1, 0)),
    "2d-excluding": ((2, 3, 8, 9), 3, 2, 1, False, False),
    "2d-ceil": ((2, 3, 8, 9), 3, 2, 1, True),
    "2d-ceil-excluding": ((2, 3, 8, 9), 3, 2, 1, True, False),
    "2d-leftover": ((1, 3, 10, 11), 2, 4),
    "2d-divisor": ((2, 3, 8, 9), (3, 2), 2, 1, True, True, 5),
    "2d-global": ((2, 16, 7, 7), 7),
    "3d": ((1, 3, 5, 6, 7), 2, (1, 2, 2), 1),
    "3d-divisor": ((1, 3, 5, 6, 7), 2, 2, 0, False, False, -3),
}
#: name: shape of the input, sizes of the result.
_ADAPTIVE = {
    "1d": ((2, 3, 12), 4),
    "1d-uneven": ((2, 3, 11), 4),
    "1d-larger": ((2, 3, 5), 7),
    "2d-one": ((2, 16, 7, 7), 1),
    "2d-even": ((2, 3, 12, 10), (4, 5)),
    "2d-uneven": ((1, 5, 13, 10), (7, 4)),
    "2d-mixed": ((2, 3, 12, 10), (4, 7)),
    "2d-none": ((2, 3, 9, 10), (None, 5)),
    "3d": ((1, 2, 4, 6, 8), 2),
    "3d-uneven": ((1, 3, 5, 6, 7), (2, 4, 3)),
}
_LP = {
    "1d": ((2, 3, 11), 2, 3, 2),
    "2d": ((2, 3, 9, 8), 2.0, 3),
    "2d-cubes": ((2, 3, 9, 8), 3.0, 2, 1),
    "2d-ceil": ((2, 3, 8, 8), 2.0, 3, 2, True),
    "3d": ((1, 2, 5, 6, 4), 1.5, 2),
}


def _case(kind, name, shape, *rest, values="normal", layout="plain", **kwargs):
    function = f"{kind}{name[:2]}"
    spec = Spec(shape, values, layout=layout)
    return Case(
        f"{kind}-{name}-{layout}", getattr(F, function), (spec, *rest), kwargs, function,
        on_gpu=name == "2d",
    )  # fmt: skip


_LAYOUTS = ("channels_last", "strided", "reversed", "transposed")
MAX = [_case("max_pool", n, *c, values="distinct") for n, c in _MAX.items()]
MAX += [
    _case("max_pool", "2d", *_MAX["2d"], values="distinct", layout=layout) for layout in _LAYOUTS
]
OTHERS = [_case("avg_pool", n, *c) for n, c in _AVG.items()]
OTHERS += [_case("avg_pool", "2d", *_AVG["2d"], layout=layout) for layout in _LAYOUTS]
OTHERS += [_case("adaptive_avg_pool", n, *c) for n, c in _ADAPTIVE.items()]
OTHERS += [_case("adaptive_max_pool", n, *c, values="distinct") for n, c in _ADAPTIVE.items()]
OTHERS += [_case("lp_pool", n, *c, values="positive") for n, c in _LP.items()]
_NARROW = ("max_pool-2d-plain", "max_pool-2d-dilated-plain", "max_pool-3d-plain",
           "avg_pool-2d-plain", "avg_pool-2d-ceil-plain", "avg_pool-1d-plain",
           "adaptive_avg_pool-2d-uneven-plain", "adaptive_avg_pool-2d-one-plain",
           "adaptive_max_pool-2d-uneven-plain", "lp_pool-2d-plain")  # fmt: skip
CASES = MAX + OTHERS
CASES += [case.as_dtype("bfloat16") for case in CASES if case.name in _NARROW]
_HALF = [c.as_dtype("float16") for c in CASES if c.name in _NARROW and c.dtype == "float32"][:5]


_INDEXED = [
    replace(c, name=f"{c.name}-indices", kwargs=c.kwargs | {"return_indices": True})
    for c in CASES
    if c.name.startswith(("max", "adaptive_max"))
]
TestCases = checked([*CASES, *_HALF, *_INDEXED], FALLS_BACK, sweep=12)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_first_of_equal_maxima(dtype, queue):
    torch = pytest.importorskip("torch")
    values = np.random.default_rng(3).integers(0, 3, (2, 17, 12, 11)).astype("f4")
    x = sycl_dnn.asarray(dpnp.asarray(values, sycl_queue=queue), dtype)
    for rest in [(3, 2, 1), (3, 1, 0, 2)]:
        actual, indices = F.max_pool2d(x, *rest, return_indices=True)
        expected = torch.nn.functional.max_pool2d(torch.tensor(values), *rest, return_indices=True)
        assert (to_numpy(actual) == expected[0].numpy()).all()
        assert (dpnp.asnumpy(indices) == expected[1].numpy()).all()


@pytest.mark.parametrize("order", [1.0, 2.0, 3.0, 1.5])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_windows_of_zeros_have_no_gradient_in_lp_pools(rank, order, queue):
    pool = getattr(F, f"lp_pool{rank}d")
    values = np.ones((1, 2, *[2] * (rank - 1), 6), "f4")
    values[..., :2] = 0
    x = dpnp.asarray(values, sycl_queue=queue)
    slope = sycl_dnn.grad(lambda x: pool(x, order, 2).sum())
    n = 2**rank
    expected = np.where(values == 0, 0, n ** (1 / order - 1))
    for gradient in (slope(x), sycl_dnn.compile(slope)(x)):
        np.testing.assert_allclose(dpnp.asnumpy(gradient), expected, rtol=1e-5)
    _, tangent = sycl_dnn.jvp(lambda x: pool(x, order, 2), (x,), (x,))
    assert (dpnp.asnumpy(tangent[..., 0]) == 0).all()


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32"])
@pytest.mark.parametrize("wants_indices", [False, True])
@pytest.mark.filterwarnings("ignore::sycl_dnn.ReferenceWarning")
def test_maxima_of_integers(dtype, wants_indices, queue):
    values = np.random.default_rng(5).integers(0, 100, (2, 5, 8, 9)).astype(dtype)
    x = dpnp.asarray(values, sycl_queue=queue)
    actual = F.max_pool2d(x, 3, 2, 1, return_indices=wants_indices)
    expected = F.max_pool2d(x.astype("f4"), 3, 2, 1, return_indices=True)
    actual = actual if wants_indices else (actual,)
    assert actual[0].dtype == dtype
    for array, truth in zip(actual, expected, strict=False):
        assert (array == truth).all()


def test_adaptive_indices_point_at_the_maxima(queue):
    values = np.random.default_rng(6).permutation(2 * 3 * 7 * 5).reshape(2, 3, 7, 5).astype("f4")
    x = dpnp.asarray(values, sycl_queue=queue)
    maxima, indices = map(dpnp.asnumpy, F.adaptive_max_pool2d(x, (3, 2), return_indices=True))
    there = np.take_along_axis(values.reshape(6, -1), indices.reshape(6, -1), 1)
    assert (there == maxima.reshape(6, -1)).all()


def test_indices_are_not_copied_by_dpnp(queue):
    x = dpnp.ones((1, 2, 4, 4), dtype="f4", sycl_queue=queue)
    report = sycl_dnn.compile(lambda x: F.max_pool2d(x, 2, return_indices=True)).explain(x)
    assert "dpnp" not in {part.way for part in report.parts}


@pytest.mark.parametrize("shape", [(2, 3, 11), (2, 3, 9, 7), (1, 2, 5, 6, 6)])
@pytest.mark.parametrize("kw", [{}, {"stride": 1, "padding": 1}, {"dilation": 2, "stride": 1}])
@pytest.mark.sweep(4)
def test_the_last_of_several_nan_is_the_maximum(shape, kw):
    """As in torch: indices and gradients are those of a window's last NaN."""
    rng, rank = np.random.default_rng(3), len(shape) - 2
    x = rng.standard_normal(shape).astype("f4")
    x[rng.random(shape) < 0.3] = np.nan
    pool = getattr(F, f"max_pool{rank}d")
    with sycl_dnn.nan_mode("propagate"):
        array = dpnp.asarray(x)
        result, pullback = sycl_dnn.vjp(lambda x: pool(x, 3, return_indices=True, **kw), array)
        (grad,) = pullback((F.ones(*result[0].shape), None))
    stride, left, step = kw.get("stride", 3), kw.get("padding", 0), kw.get("dilation", 1)
    flat, expected = x.reshape(*shape[:2], -1), np.zeros(x.shape, "f4").reshape(*shape[:2], -1)
    for at in np.ndindex(result[1].shape):
        axes = [
            [i for i in range(a * stride - left, a * stride - left + 3 * step, step) if 0 <= i < n]
            for a, n in zip(at[2:], shape[2:], strict=True)
        ]
        places = np.ravel_multi_index(np.meshgrid(*axes, indexing="ij"), shape[2:]).ravel()
        window = flat[at[:2]][places]
        missing = places[np.isnan(window)]
        place = missing[-1] if missing.size else places[np.argmax(window)]
        assert int(result[1][at]) == place
        expected[at[:2]][place] += 1
    np.testing.assert_array_equal(grad.asnumpy(), expected.reshape(shape))


POOLS = {
    "max": lambda x: F.max_pool2d(x, 2),
    "max with places": lambda x: F.max_pool2d(x, 2, return_indices=True)[0],
    "adaptive max": lambda x: F.adaptive_max_pool2d(x, 3),
    "unpooled": lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2),
    "average": lambda x: F.avg_pool2d(x, 2),
    "adaptive average": lambda x: F.adaptive_avg_pool2d(x, 3),
}


@pytest.mark.parametrize("mode", ["fast", "propagate"])
@pytest.mark.parametrize("name", POOLS)
@pytest.mark.sweep(2)
def test_second_derivatives_of_no_images(name, mode, queue):
    pool = POOLS[name]
    x = dpnp.zeros((0, 5, 7, 9), dtype="f4", sycl_queue=queue)
    gradient = sycl_dnn.grad(lambda x: F.sum(F.square(pool(x))))
    second = sycl_dnn.grad(lambda x: F.sum(F.square(gradient(x))))
    with sycl_dnn.nan_mode(mode):
        for function in (gradient, second, sycl_dnn.compile(gradient), sycl_dnn.compile(second)):
            assert function(x).shape == x.shape
