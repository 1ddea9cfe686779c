# SPDX-License-Identifier: Apache-2.0
"""Resizing whose factor keeps or doubles a size by rounding: values and gradients of PyTorch."""

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F

#: Spatial sizes, the factor, the elements that values have along the last axis, and how often the
#: gradient takes each element.
ROWS = [
    ((5,), 1.1, [0, 0, 1, 2, 3], [1, 1, 1, 1, 1]), ((5,), 1.0, [0, 1, 2, 3, 4], [1] * 5),
    ((5,), 2.1, [0, 0, 0, 1, 1, 2, 2, 3, 3, 4], [2] * 5),
    ((3, 5), (1.0, 1.1), [0, 1, 2, 3, 4], [1] * 5),
    ((3, 5), (1.0, 2.1), [0, 0, 1, 1, 2, 2, 3, 3, 4, 4], [2] * 5),
    ((200, 5), (1.0, 1.1), [0, 0, 1, 2, 3], [1] * 5),
    ((2, 3, 5), (1.0, 1.0, 1.1), [0, 0, 1, 2, 3], [1] * 5),
    ((1,), 1.9, [0], [1]), ((4, 1), 1.0, [0], [1]),
]  # fmt: skip
LAYOUTS = {
    "dense": lambda x: x, "reversed": lambda x: dpnp.flip(dpnp.flip(x, -1).copy(), -1),
    "last": lambda x: dpnp.moveaxis(dpnp.moveaxis(x, 1, -1).copy(), -1, 1),
    "sparse": lambda x: dpnp.repeat(x, 2, -1)[..., ::2],
}  # fmt: skip


@pytest.mark.parametrize(("sizes", "factor", "taken", "counts"), ROWS, ids=str)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("way", ["eager", "compiled"])
@pytest.mark.sweep(8)
def test_nearest_with_kept_or_doubled_size(sizes, factor, taken, counts, layout, way):
    values = np.random.default_rng(0).standard_normal((2, 4, *sizes)).astype("f4")
    x = LAYOUTS[layout](F.asarray(values))
    call = lambda x: F.interpolate(x, scale_factor=factor)  # noqa: E731
    gradient = sycl_dnn.grad(lambda x: F.sum(call(x)))
    if way == "compiled":
        call, gradient = sycl_dnn.compile(call), sycl_dnn.compile(gradient)
    np.testing.assert_array_equal(dpnp.asnumpy(call(x)), values[..., taken])
    np.testing.assert_allclose(dpnp.asnumpy(gradient(x)), np.broadcast_to(counts, values.shape))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "uint8", "int8", "int32"])
@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
def test_every_dtype_is_copied(dtype, mode):
    values = np.arange(2 * 3 * 5, dtype="f4").reshape(1, 2, 3, 5)
    x = F.astype(F.asarray(values), dtype)
    for options in ({"size": (3, 5)}, {"scale_factor": 1.0}, {"scale_factor": 1.1}):
        result = F.interpolate(x, mode=mode, **options)
        np.testing.assert_array_equal(dpnp.asnumpy(F.astype(result, "float32")), values)


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "bilinear", "bicubic", "area"])
@pytest.mark.parametrize("options", [{"size": (5, 4)}, {"scale_factor": 1.0}], ids=str)
def test_the_same_size_is_a_copy_in_every_mode(mode, options):
    values = np.random.default_rng(0).standard_normal((1, 2, 5, 4)).astype("f4")
    x = F.asarray(values)
    result = F.interpolate(x, mode=mode, **options)
    np.testing.assert_allclose(dpnp.asnumpy(result), values, rtol=1e-6)
    result[...] = 0.0
    np.testing.assert_array_equal(dpnp.asnumpy(x), values)


@pytest.mark.parametrize("sizes", [(5,), (4, 6), (3, 2, 5)], ids=str)
@pytest.mark.parametrize("factor", [1.0, 1.1, 1.19, 2.0, 2.1])
@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
def test_second_derivatives_match_torch(sizes, factor, mode):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    values = rng.standard_normal((2, 3, *sizes)).astype("f4")
    call = lambda module, x: module.interpolate(x, scale_factor=factor, mode=mode)  # noqa: E731
    t = torch.tensor(values, requires_grad=True)
    y = call(torch.nn.functional, t)
    weight = rng.standard_normal(tuple(y.shape)).astype("f4")
    (g,) = torch.autograd.grad((y * torch.tensor(weight)).pow(2).sum(), t, create_graph=True)
    (expected,) = torch.autograd.grad((g * g).sum(), t)
    w = F.asarray(weight)
    first = sycl_dnn.grad(lambda x: F.sum(F.square(call(F, x) * w)))
    second = sycl_dnn.grad(lambda x: F.sum(F.square(first(x))))
    x = F.asarray(values)
    for function, value in ((first, g), (second, expected), (sycl_dnn.compile(second), expected)):
        np.testing.assert_allclose(
            dpnp.asnumpy(function(x)), value.detach().numpy(), rtol=1e-4, atol=1e-3
        )


#: Calls that change nothing; torch's functions of these names return new arrays.
UNCHANGED = {
    "cat": lambda x: F.cat([x]), "tile": lambda x: F.tile(x, (1, 1)),
    "repeat_interleave": lambda x: F.repeat_interleave(x, 1, 0),
    "sum": lambda x: F.sum(x, 1, True), "mean": lambda x: F.mean(x, 1, True),
    "amax": lambda x: F.amax(x, 1, True), "pad": lambda x: F.pad(x, (0, 0)),
    "avg_pool1d": lambda x: F.avg_pool1d(x, 1), "max_pool1d": lambda x: F.max_pool1d(x, 1),
    "interpolate": lambda x: F.interpolate(x, size=(4,)), "roll": lambda x: F.roll(x, 0, 0),
    "add": lambda x: F.add(x, 0.0), "mul": lambda x: F.mul(x, 1.0), "flip": lambda x: F.flip(x, []),
    "adaptive_avg_pool1d": lambda x: F.adaptive_avg_pool1d(x, 4),
}  # fmt: skip


@pytest.mark.parametrize("name", UNCHANGED)
def test_results_that_equal_an_argument_have_their_own_memory(name):
    x = F.ones(2, 1, 4)
    result = UNCHANGED[name](x)
    result[...] = 5.0
    assert (x == 1.0).all()
