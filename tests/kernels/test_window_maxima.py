# SPDX-License-Identifier: Apache-2.0
"""Max pools and their gradients by kernels: windows, leftovers, infinities, second derivatives."""

import itertools

import numpy as np
import pytest
from kernel_cases import both_passes, host, kernels_of, placed, torch_passes

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn.onednn import Engine
from sycl_dnn.onednn.fault import cpu_has_avx512
from sycl_dnn.trace.capabilities import multiplies

#: Shape, kernel, stride, padding: gaps and overlaps, leftovers, padding, sizes of each axis, 1-D.
CASES = [
    ((2, 16, 8, 10), (3, 3), (2, 2), (0, 0)),
    ((1, 24, 7, 6), (2, 2), (3, 2), (1, 0)),
    ((2, 8, 5, 6), (3, 4), (1, 1), (1, 2)),
    ((3, 16, 11), (4,), (2,), (2,)),
]
#: For row-major memory: channels left over, more rows than are kept, also with gaps of more rows.
ROW_CASES = [
    ((1, 3, 9, 10), (3, 3), (2, 2), (1, 1)),
    ((1, 18, 700, 7), (5, 2), (3, 1), (2, 1)),
    ((2, 1, 2600, 2), (2, 2), (1100, 2), (0, 0)),
    ((1, 5, 40), (3,), (3,), (1,)),
]
#: By the layout of what is pooled.
KERNELS = {"channels_last": "maxima_backward", "row_major": "maxima_backward_rows"}
EVERY = [
    *((layout, *case) for layout in KERNELS for case in CASES),
    *(("row_major", *case) for case in ROW_CASES),
]


def expected(x, dy, kernel, stride, padding):
    """Return both passes in float64: each window's gradient goes to the first of its largest."""
    widths = [(0, 0), (0, 0), *((p, p) for p in padding)]
    whole = np.pad(x, widths, constant_values=-np.inf)
    result, value = np.zeros_like(whole), np.zeros_like(dy)
    for place in itertools.product(*(range(n) for n in dy.shape[2:])):
        spans = [slice(i * s, i * s + k) for i, s, k in zip(place, stride, kernel, strict=True)]
        window = whole[(..., *spans)].reshape(*x.shape[:2], -1)
        value[(..., *place)] = window.max(2)
        first = window.argmax(2)[..., None]
        marks = np.arange(window.shape[2]) == first
        sums = marks * dy[(..., *place)][..., None]
        result[(..., *spans)] += sums.reshape(result[(..., *spans)].shape)
    inner = (slice(p, p + n) for p, n in zip(padding, x.shape[2:], strict=True))
    return value, result[(..., *inner)]


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize(("layout", "shape", "kernel", "stride", "padding"), EVERY)
def test_values_and_gradients(queue, layout, shape, kernel, stride, padding, dtype):
    pool = F.max_pool1d if len(shape) == 3 else F.max_pool2d

    def function(x):
        return pool(x, kernel, stride, padding)

    rng = np.random.default_rng(0)
    x = placed(rng.integers(-9, 9, shape), queue, layout, dtype)
    with sycl_dnn.kernel_mode("always"):
        y, pullback = sycl_dnn.vjp(function, x)
    dy = placed(rng.integers(-9, 9, y.shape), queue, "channels_last", dtype)
    is_own = layout == "channels_last"
    assert kernels_of(function, x) == (["maxima_forward"] if is_own else [])
    # GPUs' primitives number the elements of windows in their own way.
    is_known = is_own or queue.sycl_device.is_cpu
    assert kernels_of(pullback, dy) == ([KERNELS[layout]] if is_known else [])
    result = both_passes(function, [x], dy)
    for mine, reference in zip(
        result, expected(host(x), host(dy), kernel, stride, padding), strict=True
    ):
        assert np.array_equal(mine, reference)


@pytest.mark.slow
@pytest.mark.parametrize("layout", KERNELS)
def test_infinities_do_not_spread(queue, layout):
    x = np.zeros((1, 8, 4, 4))
    x[:, :, 1, 1] = 1
    dy = np.zeros((1, 8, 2, 2))
    dy[0, 0, 0, 0], dy[0, 1, 0, 0] = np.inf, np.nan
    images = (placed(a, queue, layout) for a in (x, dy))
    _, result = both_passes(lambda x: F.max_pool2d(x, 2), [next(images)], next(images))
    assert result[0, 0, 1, 1] == np.inf
    assert np.isnan(result[0, 1, 1, 1])
    result[0, :2, 1, 1] = 0
    assert not result.any()


@pytest.mark.parametrize("layout", KERNELS)
def test_nan_infinities_and_ties_match_torch(queue, layout):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(4)
    x = rng.choice([-np.inf, -1.0, 0.0, 0.0, 2.0, np.inf], (2, 8, 9, 11))
    x[0, 0] = -np.inf
    x[1, :, ::6, ::6] = np.nan  # of several in a window, torch takes the last
    dy = rng.integers(1, 9, (2, 8, 5, 6))
    theirs = torch_passes(lambda t: torch.nn.functional.max_pool2d(t, 3, 2, 1), [x], dy)
    with sycl_dnn.nan_mode("propagate"):
        result = both_passes(
            lambda x: F.max_pool2d(x, 3, 2, 1), [placed(x, queue, layout)], placed(dy, queue)
        )
    for mine, other in zip(result, theirs, strict=True):
        assert np.array_equal(mine, other, equal_nan=True)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_kernels_run_where_primitives_are_slower_or_missing(queue, dtype):
    x = placed(np.zeros((8, 64, 32, 32)), queue, "channels_last", dtype)
    expected, is_cpu = [], queue.sycl_device.is_cpu
    if is_cpu and not (cpu_has_avx512() and multiplies(Engine(queue), dtype)):
        expected = ["maxima_forward", "maxima_forward", "resized_forward"]

    def pooled(x):
        return F.max_pool2d(x, 3, 2)

    def both(x):
        return (
            pooled(x),
            F.max_pool2d(x, 2, return_indices=True),
            F.interpolate(x, scale_factor=2, mode="bilinear"),
        )

    def chosen(mode):
        """Return the kernels except the one that computes indices from a primitive's workspace."""
        return [name for name in kernels_of(both, x, mode=mode) if "gather" not in name]

    assert chosen("auto") == expected
    assert chosen("never") == []
    if dtype == "float32":  # as a primitive it can be joined with its neighbors
        assert kernels_of(sycl_dnn.compile(pooled), x, mode="auto") == []
