# SPDX-License-Identifier: Apache-2.0
"""Models' use of shapes, axes, dtypes and elements, traced as on arrays."""

from pathlib import Path

import dpnp
import numpy as np
import pytest
from comparing import assert_same

import sycl_dnn
from sycl_dnn import functional as F

SAME = {
    "first size and the rest": lambda x: x.reshape(x.shape[0], -1),
    "list of sizes": lambda x: F.reshape(x, [-1, *x.shape[2:]]),
    "sizes put together": lambda x: x.reshape(x.shape[:-1] + (2, x.shape[-1] // 2)),
    "sizes in arithmetic": lambda x: x / x.shape[-1] ** 0.5 + x.size / (x.ndim * len(x)),
    "unpacked sizes": lambda x: (lambda b, c, h, w: x.reshape(b * c, h * w))(*x.shape),
    "sizes of NumPy": lambda x: F.softmax(x.reshape(np.int64(2), -1), np.int64(-1)),
    "negative axes": lambda x: x.swapaxes(-1, -2).transpose(0, -2, 1, -1),
    "axes as a tuple": lambda x: x.transpose((0, 2, 3, 1)).mean(axis=(-1, -2), keepdims=True),
    "axes as a list": lambda x: F.mean(F.permute(x, [0, 2, 3, 1]), [-1, -2]),
    "matrices transposed": lambda x: x @ x.mT,
    "half of an axis": lambda x: F.split(x, x.shape[1] // 2, 1),
    "rows by number": lambda x: x[:, np.array([2, 0, -1, 2])][..., np.array([1])],
    "statistics": lambda x: (x.var(axis=-1), x.std(), x.prod(axis=1), x.argmax(axis=-1)),
    "sums in a dtype": lambda x: x.sum(axis=1, dtype="float32"),
    "limits": lambda x: x.clip(-0.5, 0.5) + x.clip(max=0.0),
    "dtype of NumPy": lambda x: x * 2.0 if x.dtype == np.float32 else -x,
    "dtype of dpnp": lambda x: x * 2.0 if x.dtype == dpnp.float32 else -x,
    "dtype by name": lambda x: x * 2.0 if x.dtype != "float16" and x.dtype.kind == "f" else -x,
    "least number": lambda x: F.where(x > 0, x, float(np.finfo(x.dtype).min)),
    "size like another": lambda x: F.interpolate(x, size=x[:, :, :2, :3].shape[2:]),
    "corners": lambda x: F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=True),
    "nearest-exact": lambda x: F.interpolate(x, scale_factor=1.5, mode="nearest-exact"),
    "bicubic": lambda x: F.interpolate(x, size=[5, 9], mode="bicubic"),
    "pooled to a size": lambda x: F.adaptive_avg_pool2d(x, (1, None)).flatten(),
    "attributes": lambda x: (x[0], x[-1, ..., None], x.T, getattr(x, "nothing", x)),
}


@pytest.mark.parametrize("name", SAME)
def test_models_read_shapes_and_axes(name, make):
    x = make(2, 4, 6, 8)
    compiled = sycl_dnn.compile(SAME[name])
    for _ in range(2):
        assert_same(compiled(x), SAME[name](x))


def test_sizes_are_specialized_on_each_shape(make):
    function = sycl_dnn.compile(lambda x: x.reshape(x.shape[0], -1) * (1.0 / x.shape[1]))
    for shape in ((2, 3, 4), (5, 2, 4), (2, 3, 4)):
        x = make(*shape)
        assert_same(function(x), x.reshape(shape[0], -1) / shape[1])


TOLD = {
    "sum() > 0": (lambda x: F.relu(x) if x.sum() > 0 else x, r"bool\(\).*not known"),
    "range of a value": (lambda x: [x for _ in range(x.argmax())], "use as an index.*not known"),
    "size of a value": (lambda x: x.reshape(x.max(), -1), "not known|use as an index"),
    "rows above": (lambda x: x[x[:, 0] > 0], "shape depends on values.*where"),
    "method of torch": (lambda x: x.permute(1, 0), "use sycl_dnn.functional.permute"),
    "size of torch": (lambda x: x.dim(), "use the attribute ndim"),
    "unknown method": (lambda x: x.frobnicate(), "no attribute 'frobnicate'"),
    "halves as index": (lambda x: x[np.ones(2)], "must hold integers, got float64"),
}


@pytest.mark.parametrize("name", TOLD)
def test_value_dependent_code_is_reported_with_its_line(name, make):
    function, words = TOLD[name]
    with pytest.raises(TypeError, match=words) as error:
        sycl_dnn.compile(function)(make(3, 4))
    assert Path(__file__).name in str(error.value)


def test_indices_out_of_range_are_refused(make):
    with pytest.raises(IndexError, match="4 is out of range for axis 1 of size 4"):
        sycl_dnn.compile(lambda x: x[:, np.array([0, 4])])(make(3, 4))


def test_names_of_dtypes_compare_as_dtypes_do(make):
    seen = []
    sycl_dnn.compile(lambda x: seen.append(x.dtype) or x)(make(2, 3))
    (dtype,) = seen
    assert dtype == "float32" == dtype
    assert dtype == np.dtype("f4")
    assert dtype != np.float64
    assert dtype not in (None, "int8", object())
    assert (dtype.name, dtype.itemsize, dtype.kind) == ("float32", 4, "f")
    assert {dtype: 1}["float32"] == 1
