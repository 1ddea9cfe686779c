# SPDX-License-Identifier: Apache-2.0
from dataclasses import replace

import dpnp
import fresh_process
import numpy as np
import pytest
from arrays import to_float32
from comparing import compiled_as_eager, slow_parts
from descriptors import require_isa
from functional.case import Case, Spec
from functional.checks import FALLS_BACK, checked

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn.onednn.fault import cpu_has_avx512

#: name: function, shapes of input, weight, bias, then the remaining arguments.
_CALLS = {
    "signal": (F.conv1d, (2, 3, 17), (5, 3, 3), (5,), 2, 1),
    "signal-dilated": (F.conv1d, (2, 4, 19), (6, 2, 3), None, 1, 2, 2, 2),
    "signal-single": (F.conv1d, (3, 11), (2, 3, 5), (2,)),
    "image": (F.conv2d, (2, 3, 9, 7), (8, 3, 3, 3), (8,), 1, 1),
    "image-1x1": (F.conv2d, (2, 16, 5, 5), (32, 16, 1, 1), None),
    "image-single": (F.conv2d, (3, 8, 9), (4, 3, 3, 2), (4,), (2, 1), (1, 0)),
    "image-primes": (F.conv2d, (1, 7, 13, 11), (5, 7, 3, 5), (5,), (3, 2), (2, 1), (2, 1)),
    "image-ones": (F.conv2d, (1, 1, 1, 1), (1, 1, 1, 1), (1,)),
    "image-of-one-channel": (F.conv2d, (2, 1, 9, 8), (12, 1, 3, 3), (12,), 1, 1),
    "image-to-one-channel": (F.conv2d, (2, 5, 9, 8), (1, 5, 3, 3), (1,), 2, 1),
    "signal-of-one-channel": (F.conv1d, (2, 1, 90), (6, 1, 33), (6,), 8),
    "volume-of-one-channel": (F.conv3d, (1, 1, 5, 6, 7), (4, 1, 3, 3, 2), (4,)),
    "image-groups": (F.conv2d, (2, 6, 8, 8), (9, 2, 3, 3), (9,), 1, 1, 1, 3),
    "image-depthwise": (F.conv2d, (2, 16, 9, 9), (16, 1, 3, 3), (16,), 2, 1, 1, 16),
    "image-depth-x2": (F.conv2d, (1, 5, 7, 7), (10, 1, 3, 3), None, 1, 1, 1, 5),
    "image-depthwise-5": (F.conv2d, (2, 24, 9, 8), (24, 1, 5, 4), (24,), 2, 2, 1, 24),
    "image-depthwise-dilated": (F.conv2d, (2, 16, 9, 8), (16, 1, 3, 3), (16,), 1, 2, 2, 16),
    "image-many-channels": (F.conv2d, (2, 64, 5, 6), (72, 64, 3, 3), (72,), 1, 1),
    "image-many-strided": (F.conv2d, (2, 80, 9, 9), (64, 80, 3, 2), None, 2, (1, 0)),
    "image-many-dilated": (F.conv2d, (2, 64, 8, 7), (64, 64, 3, 3), None, 1, 2, 2),
    "image-same": (F.conv2d, (2, 3, 8, 9), (4, 3, 4, 3), None, 1, "same", (1, 2)),
    "image-valid": (F.conv2d, (2, 3, 8, 9), (4, 3, 3, 3), None, 2, "valid"),
    "image-few-wide": (F.conv2d, (2, 3, 23, 23), (16, 3, 7, 7), (16,), 2, 3),
    "image-over-padded": (F.conv2d, (1, 1, 5, 5), (1, 1, 3, 3), None, 1, 3),
    "image-leftover": (F.conv2d, (1, 4, 10, 10), (4, 4, 2, 2), None, 3, 0),
    "volume": (F.conv3d, (1, 3, 5, 6, 7), (4, 3, 3, 3, 2), (4,), (1, 2, 1), (1, 1, 0)),
    "volume-groups": (F.conv3d, (2, 4, 4, 4, 4), (4, 2, 2, 2, 2), None, 2, 0, 1, 2),
    "volume-over-padded": (F.conv3d, (1, 1, 4, 4, 4), (1, 1, 3, 3, 3), None, 1, 3),
    "volume-small": (F.conv3d, (1, 17, 3, 5, 4), (16, 17, 5, 5, 4), None, (1, 2, 2), (2, 1, 0)),
    "image-lone-window": (F.conv2d, (2, 1, 2, 2), (17, 1, 2, 2), None, 3),
    "volume-single": (F.conv3d, (2, 4, 5, 4), (3, 2, 1, 3, 3), None, 1, (0, 1, 1)),
}


def _case(name, function, x, w, b, *rest, layouts=("plain", "plain")):
    specs = [Spec(x, layout=layouts[0]), Spec(w, layout=layouts[1]), b and Spec(b)]
    traits = {"torch": function.__name__, "on_gpu": name in ("image", "volume")}
    return Case(name, function, (*specs, *rest), **traits)


_PADS = ((0, 1), (2, 0))
CASES = [_case(name, *call) for name, call in _CALLS.items()]
CASES += [
    _case(f"image-{a}-{b}", *_CALLS["image"], layouts=(a, b))
    for a, b in [
        ("channels_last", "plain"),
        ("strided", "reversed"),
        ("transposed", "strided"),
        ("reversed", "channels_last"),
    ]  # fmt: skip
]


def _padded(x, w, b, stride, pads):
    """torch pads both sides equally."""
    from torch.nn import functional

    (top, bottom), (left, right) = pads
    return functional.conv2d(functional.pad(x, (left, right, top, bottom)), w, b, stride)


CASES.append(
    Case("image-pairs", F.conv2d, (Spec((2, 3, 6, 7)), Spec((4, 3, 2, 3)), None, 1, _PADS),
         torch=_padded)
)  # fmt: skip
_NARROW = ("signal", "image", "image-1x1", "image-groups", "image-depthwise", "image-few-wide",
           "image-depthwise-5", "image-depthwise-dilated", "image-many-channels",
           "image-many-strided", "image-many-dilated", "volume",
           "volume-over-padded", "volume-small", "image-lone-window")  # fmt: skip
CASES += [case.as_dtype("bfloat16") for case in CASES if case.name in _NARROW]
_HALF = CASES[3].as_dtype("float16")
_EMPTY = _case("image-no-batch", F.conv2d, (0, 3, 5, 5), (4, 3, 3, 3), (4,), 1, 1)
TestCases = checked([*CASES, replace(_EMPTY, has_gradient=False), _HALF], FALLS_BACK, sweep=4)


def test_result_is_channels_last(queue):
    x, w = (
        dpnp.ones((2, 3, 5, 6), dtype="f4", sycl_queue=queue),
        dpnp.ones((4, 3, 3, 3), dtype="f4", sycl_queue=queue),
    )
    assert F.conv2d(x, w).get_array().strides == (3 * 4 * 4, 1, 4 * 4, 4)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("function", [F.conv1d, F.conv_transpose1d])
def test_depthwise_convolutions_of_signals_are_those_of_images(function, dtype, queue):
    """oneDNN computes each channel of a signal by itself."""
    x, w, b = (
        F.astype(dpnp.ones(s, dtype="f4", sycl_queue=queue), dtype)
        for s in ((2, 32, 40), (32, 1, 4), (32,))
    )
    with sycl_dnn.profile() as profile:
        y = function(x, w, b, 2, 1, groups=32)
    names = [r.implementation for r in profile.records if "convolution" in r.name]
    if queue.sycl_device.is_cpu and cpu_has_avx512():
        assert all("dw" in n or n == "host" for n in names)
    assert float(F.astype(y, "float32").asnumpy()[0, 0, 5]) == (5 if function is F.conv1d else 3)


def test_the_faster_implementation_of_depthwise_convolutions_is_chosen(queue):
    """Compiled functions keep the choice when they append to it."""
    shapes = (1, 32, 159, 159), (32, 1, 3, 3)  # too many elements for the host's loops
    x, w = (dpnp.ones(s, dtype="f4", sycl_queue=queue) for s in shapes)
    frozen = sycl_dnn.freeze(w)
    run = sycl_dnn.compile(lambda x: F.relu(F.conv2d(x, frozen, groups=32)))
    with sycl_dnn.profile() as profile:
        ys = F.conv2d(x, w, groups=32), run(x)
    runs = [r for r in profile.records if "convolution" in r.name and r.kind == "primitive"]
    names = [r.implementation for r in runs]
    if queue.sycl_device.is_cpu:
        assert [n.startswith("jit_dw") for n in names] == [True, True]
    for y in ys:
        np.testing.assert_array_equal(y.asnumpy(), 9)


WIDE = """
import dpnp, sycl_dnn
from sycl_dnn import functional as F
queue = sycl_dnn.default_queue("cpu")
x, w = (dpnp.ones(s, dtype="f4", sycl_queue=queue) for s in ((1, 32, 20, 20), (32, 32, 3, 3)))
with sycl_dnn.profile() as profile:
    y, pullback = sycl_dnn.vjp(lambda x: F.conv2d(x, w, dilation=2, padding=2), x)
    pullback(y)
print({r.implementation for r in profile.records if "convolution" in r.name}, float(y[0, 0, 4, 4]))
"""


def test_wide_windows_are_computed_directly_with_avx2():
    require_isa("avx2")
    assert fresh_process.output(WIDE, ONEDNN_MAX_CPU_ISA="AVX2") == "{'jit:avx2'} 288.0"


#: Shape of an image, outputs, stride, padding, groups.
_POINTWISE = [
    ((2, 24, 7, 9), 6, (2, 3), 0, 1),
    ((2, 20, 6, 6), 4, 3, 0, 1),
    ((2, 4, 6, 6), 4, 2, 1, 1),
    ((2, 12, 7, 8), 18, 2, 0, 6),
    ((1, 32, 5, 6), 7, 1, 0, 1),
    ((3, 32, 1, 1), 8, 2, 0, 4),
    ((2, 6, 15), 24, 4, 0, 3),
    ((2, 6, 3, 4, 5), 7, (1, 2, 1), 0, 1),
    # oneDNN's gradient for few channels without AVX-512 reads uninitialized memory.
    *(((2, n, 8, 8), 4, 2, 0, 1) for n in (1, 3, 7, 8)),
]


def _pointwise(x, w, dy, key, padding, groups):
    """Return values and gradients of weights that multiply the visited elements, exactly."""
    whole = np.pad(x, [(0, 0), (0, 0), *[(padding, padding)] * (x.ndim - 2)])
    slopes, result = np.zeros_like(whole), []
    axes = [0, *range(2, x.ndim)]
    parts = [np.split(a, groups, n) for a, n in ((whole, 1), (w, 0), (slopes, 1), (dy, 1))]
    for of_x, of_w, of_slopes, of_dy in zip(*parts, strict=True):
        y = np.einsum("oi,ni...->no...", of_w, of_x[key])
        result.append((y, np.tensordot(of_dy, of_x[key], (axes, axes))))
        of_slopes[key] = np.einsum("oi,no...->ni...", of_w, of_dy)
    crop = tuple(slice(padding, padding + n) for n in x.shape[2:])
    y, dw = (np.concatenate([pair[n] for pair in result], 1 - n) for n in (0, 1))
    return y, slopes[(slice(None), slice(None), *crop)], dw


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("is_last", [False, True])
@pytest.mark.parametrize("case", _POINTWISE, ids=str)
@pytest.mark.sweep(3)
def test_windows_of_one_element(case, is_last, dtype, queue):
    """How they are computed depends on layout, stride and groups; what, does not."""
    shape, n_out, stride, padding, groups = case
    rank = len(shape) - 2
    steps = stride if isinstance(stride, tuple) else (stride,) * rank
    key = (slice(None), slice(None), *[slice(None, None, s) for s in steps])
    counts = [(n + 2 * padding - 1) // s + 1 for n, s in zip(shape[2:], steps, strict=True)]
    rng = np.random.default_rng(len(shape))
    shapes = (shape, (n_out, shape[1] // groups), (shape[0], n_out, *counts))
    x, w, dy = (rng.integers(-1, 2, s).astype("f4") for s in shapes)
    expected = _pointwise(x, w, dy, key, padding, groups)

    images, weight, slopes = (
        sycl_dnn.asarray(a, dtype=dtype, sycl_queue=queue)
        for a in (np.moveaxis(x, 1, -1).copy() if is_last else x, w, dy)
    )
    order = (0, rank + 1, *range(1, rank + 1)) if is_last else range(rank + 2)
    convolve = (F.conv1d, F.conv2d, F.conv3d)[rank - 1]

    def function(images, weight):
        kernel = F.reshape(weight, (*w.shape, *[1] * rank))
        x = F.permute(images, order)
        return convolve(x, kernel, None, stride, padding, groups=groups)

    y, pullback = sycl_dnn.vjp(function, images, weight)
    dx, dw = pullback(slopes)
    actual = [to_float32(a) for a in (y, dx, dw)]
    actual[1] = np.moveaxis(actual[1], -1, 1) if is_last else actual[1]
    for a, b in zip(actual, expected, strict=True):
        np.testing.assert_array_equal(a, b)


def test_few_products_of_row_major_positions_are_not_copied(queue):
    """A copy to channels-last would take longer than the products."""
    x, w = (dpnp.ones(s, dtype="f4", sycl_queue=queue) for s in ((2, 32, 8, 8), (4, 32, 1, 1)))
    with sycl_dnn.profile() as profile:
        y = F.conv2d(x, w)
    copies = [r for r in profile.records if r.name == "reorder"]
    if queue.sycl_device.is_cpu and cpu_has_avx512():
        assert not [r for r in copies if any(t.shape == x.shape for t in r.tensors)]
    np.testing.assert_array_equal(y.asnumpy(), 32)


def test_gradient_of_an_empty_batch_is_zero(queue):
    x, w = (dpnp.ones(s, dtype="f4", sycl_queue=queue) for s in ((0, 3, 5, 5), (4, 3, 3, 3)))
    y, pullback = sycl_dnn.vjp(F.conv2d, x, w)
    dx, dw = pullback(y)
    assert dx.shape == x.shape
    assert not dpnp.asnumpy(dw).any()


@pytest.mark.parametrize("n", [1, 2])
def test_one_pixel_is_computed_by_compiled_code(n, queue):
    rng = np.random.default_rng(n)
    shapes = (2, 16, *[2] * n), (32, 16, *[3] * n)
    x, w = (dpnp.asarray(rng.normal(size=s).astype("f4"), sycl_queue=queue) for s in shapes)
    convolve = (F.conv1d, F.conv2d)[n - 1]

    def function(x, w):
        return F.relu(convolve(x, w, stride=2, padding=1))

    fused = sycl_dnn.compile(function, constants="w", passes={"run_on_host": False})
    report = compiled_as_eager(function, x, w)
    inner = (slice(None), slice(None), *[slice(1, 3)] * n)  # the rest reads the padding
    sums = np.tensordot(x.asnumpy(), w.asnumpy()[inner], [list(range(1, n + 2))] * 2)
    np.testing.assert_allclose(
        function(x, w).asnumpy().reshape(2, 32), np.maximum(sums, 0), rtol=1e-4, atol=1e-4
    )
    assert not slow_parts(report, queue)
    assert [part.fused for part in fused.explain(x, w).parts if part.fused] == [("relu",)]
    grads = sycl_dnn.compile(sycl_dnn.grad(lambda x, w: F.sum(function(x, w)), argnums=(0, 1)))
    assert not slow_parts(grads.explain(x, w), queue)


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("pads", [(20000, 1), (1, 3000), (2000, 2000)])
def test_long_padding_costs_no_more_than_as_many_zeros(pads, groups, queue):
    rng = np.random.default_rng(3)
    x, w = (rng.standard_normal(s).astype("f4") for s in ((2, 4, 5), (6, 4 // groups, 3)))
    x, w = (dpnp.asarray(v, sycl_queue=queue) for v in (x, w))
    y, pull = sycl_dnn.vjp(lambda x, w: F.conv1d(x, w, None, 2, (pads,), groups=groups), x, w)
    whole = F.pad(x, pads)
    expected, pull_whole = sycl_dnn.vjp(
        lambda x, w: F.conv1d(x, w, None, 2, groups=groups), whole, w
    )
    np.testing.assert_allclose(dpnp.asnumpy(y), dpnp.asnumpy(expected), rtol=1e-5, atol=1e-5)
    dx, dw = pull(y)
    dx_whole, dw_whole = pull_whole(expected)
    inside = dpnp.asnumpy(dx_whole)[..., pads[0] : pads[0] + 5]
    np.testing.assert_allclose(dpnp.asnumpy(dx), inside, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(dpnp.asnumpy(dw), dpnp.asnumpy(dw_whole), rtol=1e-4, atol=1e-4)
