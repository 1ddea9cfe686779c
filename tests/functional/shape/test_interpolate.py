# SPDX-License-Identifier: Apache-2.0
import dpnp
import numpy as np
import pytest
from functional.case import Case, Spec
from functional.checks import FALLS_BACK, checked
from functional.on_device import to_numpy

import sycl_dnn
from sycl_dnn import functional as F

#: name: shape of the input, keywords.
_CALLS = {
    "nearest-up-1d": ((2, 3, 7), {"size": 21}),
    "nearest-up": ((2, 3, 5, 4), {"scale_factor": 2.0}),
    "nearest-down": ((2, 3, 12, 9), {"size": (4, 3)}),
    "nearest-crop": ((1, 3, 7, 9), {"scale_factor": 0.5}),
    "nearest-uneven": ((2, 5, 7, 9), {"size": (10, 4)}),
    "nearest-mixed": ((1, 5, 6, 7, 4), {"size": (3, 9, 8)}),
    "nearest-factor": ((1, 3, 7, 5), {"scale_factor": (1.5, 2.5)}),
    "nearest-same": ((1, 3, 7, 5), {"size": (7, 5)}),
    "exact-up": ((1, 3, 4, 5), {"scale_factor": 3.0, "mode": "nearest-exact"}),
    "exact-uneven": ((1, 3, 7, 5), {"size": (4, 13), "mode": "nearest-exact"}),
    "exact-down": ((1, 3, 9, 12), {"size": (3, 4), "mode": "nearest-exact"}),
    "linear": ((2, 3, 7), {"size": 11, "mode": "linear"}),
    "bilinear": ((2, 5, 7, 6), {"size": (13, 4), "mode": "bilinear"}),
    "bilinear-one": ((2, 1, 5, 6), {"scale_factor": 2.0, "mode": "bilinear"}),
    "bilinear-corners": ((2, 5, 7, 6), {"size": (13, 4), "mode": "bilinear",
                                        "align_corners": True}),
    "bilinear-factor": ((2, 3, 7, 6), {"scale_factor": (1.7, 0.6), "mode": "bilinear"}),
    "bilinear-recompute": ((2, 3, 7, 6), {"scale_factor": 1.7, "mode": "bilinear",
                                          "recompute_scale_factor": True}),
    "trilinear": ((1, 3, 3, 4, 5), {"size": (5, 3, 9), "mode": "trilinear"}),
    "trilinear-corners": ((1, 3, 3, 4, 5), {"size": (5, 1, 9), "mode": "trilinear",
                                            "align_corners": True}),
    "bicubic": ((2, 3, 7, 6), {"size": (11, 4), "mode": "bicubic"}),
    "bicubic-corners": ((2, 1, 7, 6), {"size": (11, 4), "mode": "bicubic",
                                       "align_corners": True}),
    "area": ((2, 3, 9, 8), {"size": (3, 5), "mode": "area"}),
}  # fmt: skip


def _case(name, shape, kwargs, layout="plain"):
    args = (Spec(shape, layout=layout),)
    return Case(
        f"{name}-{layout}", F.interpolate, args, kwargs, "interpolate",
        on_gpu=name in ("bilinear", "nearest-up"),
    )  # fmt: skip


CASES = [_case(name, *call) for name, call in _CALLS.items()]
CASES += [
    _case(name, *_CALLS[name], layout)
    for name in ("bilinear", "nearest-uneven", "nearest-down", "bicubic")
    for layout in ("channels_last", "strided", "reversed", "transposed")
]
_NARROW = ("nearest-up-plain", "nearest-down-plain", "nearest-uneven-plain", "bilinear-plain",
           "bilinear-corners-plain", "bicubic-plain", "linear-plain")  # fmt: skip
CASES += [case.as_dtype("bfloat16") for case in CASES if case.name in _NARROW]
_HALF = [c.as_dtype("float16") for c in CASES if c.name in _NARROW and c.dtype == "float32"]
CASES += [
    _case(f"antialias-{mode}-{size}", (2, 3, 13, 11), {"size": size, "mode": mode,
                                                       "antialias": True, "align_corners": corners})
    for mode, size, corners in [("bilinear", (5, 17), False), ("bicubic", (5, 17), True),
                                ("bicubic", (13, 4), None)]
]  # fmt: skip
TestCases = checked([*CASES, *_HALF], FALLS_BACK, sweep=6)


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
def test_nearest_matches_torch_for_many_sizes(mode, queue):
    torch = pytest.importorskip("torch")
    for n, t in [
        (2, 41),
        (2, 61),
        (8, 41),
        (49, 7),
        (3, 49),
        (14, 23),
        (23, 14),
        (100, 99),
        (1, 9),
    ]:
        values = np.arange(n, dtype="f4").reshape(1, 1, n)
        actual = F.interpolate(dpnp.asarray(values, sycl_queue=queue), t, mode=mode)
        expected = torch.nn.functional.interpolate(torch.tensor(values), t, mode=mode)
        assert (dpnp.asnumpy(actual) == expected.numpy()).all(), (n, t)


def test_nearest_does_not_mix_infinities(queue):
    values = np.array([[[1.0, np.inf, 3.0]]], "f4")
    result = F.interpolate(dpnp.asarray(values, sycl_queue=queue), 5)
    assert dpnp.asnumpy(result).tolist() == [[[1, 1, np.inf, np.inf, 3]]]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32"])
@pytest.mark.parametrize("size", [(10, 12), (7, 3), (5, 2)])
def test_nearest_of_integers(dtype, size, queue):
    values = np.random.default_rng(5).integers(0, 100, (2, 3, 5, 4)).astype(dtype)
    result = F.interpolate(dpnp.asarray(values, sycl_queue=queue), size)
    assert result.dtype == dtype
    assert (result == F.interpolate(dpnp.asarray(values, dtype="f4", sycl_queue=queue), size)).all()


def test_empty_batch(queue):
    x = dpnp.ones((0, 3, 4, 4), dtype="f4", sycl_queue=queue)
    for rest in [
        {"size": 8},
        {"size": 7},
        {"size": 6, "mode": "bilinear"},
        {"size": 6, "mode": "bicubic"},
    ]:
        y, pullback = sycl_dnn.vjp(F.interpolate, x, **rest)
        assert y.shape == (0, 3, rest["size"], rest["size"])
        assert pullback(y)[0].shape == x.shape


def test_nearest_of_large_integers_is_exact(queue):
    numbers = np.array([[[2**24 + 1, -(2**24) - 1, 2**31 - 1]]])
    x = dpnp.asarray(numbers, dtype="i4", sycl_queue=queue)
    for call in (F.interpolate, sycl_dnn.compile(lambda x, **k: F.interpolate(x, **k))):
        result = call(x, scale_factor=2, mode="nearest")
        np.testing.assert_array_equal(dpnp.asnumpy(result), numbers.repeat(2, -1))


@pytest.mark.float64
@pytest.mark.parametrize("layout", ["row_major", "channels_last"])
def test_repeated_elements_have_derivatives_in_float64(layout, queue):
    values = np.random.default_rng(4).standard_normal((2, 8, 3, 4))
    x = dpnp.asarray(values, dtype="f8", sycl_queue=queue)
    if layout == "channels_last":
        x = dpnp.moveaxis(dpnp.ascontiguousarray(dpnp.moveaxis(x, 1, -1)), -1, 1)

    def cubes(x):
        y = F.interpolate(x, scale_factor=(2, 3))
        return F.sum(y * y * y)

    first = sycl_dnn.grad(cubes)
    second = sycl_dnn.grad(lambda x: F.sum(first(x) * x))
    np.testing.assert_allclose(to_numpy(first(x)), 18 * values**2, rtol=1e-12)
    np.testing.assert_allclose(to_numpy(second(x)), 54 * values**2, rtol=1e-12)


@pytest.mark.parametrize(
    ("mode", "size", "expected"),
    [("bilinear", 1, [0.0]), ("bicubic", 1, [-0.625]), ("bilinear", (1, 2), [1.25, 8 / 3])],
)
def test_antialiasing_of_one_element_with_aligned_corners(mode, size, expected, queue):
    """It is that of the first corner, as in torch: the scale is zero."""
    x = F.reshape(dpnp.arange(20, dtype="f4", sycl_queue=queue), (1, 1, 5, 4))
    y = F.interpolate(x, size, mode=mode, align_corners=True, antialias=True)
    np.testing.assert_allclose(to_numpy(y).ravel(), expected, rtol=1e-6)
