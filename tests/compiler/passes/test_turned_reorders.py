# SPDX-License-Identifier: Apache-2.0
"""Copies between orders of axes by a kernel: bits, layouts, and what is left to oneDNN."""

import dpnp
import numpy as np
import pytest
from descriptors import require_isa

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn.trace import layout

RNG = np.random.default_rng(5)


def _bits(array):
    array = getattr(array, "data", array) if isinstance(array, sycl_dnn.Array) else array
    values = dpnp.asnumpy(array)
    return values.view(f"u{values.dtype.itemsize}")


def _turned(perm, **options):
    return sycl_dnn.compile(lambda x: F.reshape(F.permute(x, perm), (-1,)), **options)


def _kernels(compiled, *args):
    report = str(compiled.explain(*args))
    return "copy_" in report or "cast_" in report


@pytest.mark.parametrize("dtype", ["float32", "int32", "bfloat16", "float16"])
@pytest.mark.parametrize(
    ("shape", "perm"),
    [
        ((3, 65, 37, 41), (0, 2, 3, 1)),
        ((2, 71, 29, 97), (0, 3, 1, 2)),
        ((701, 509), (1, 0)),
        ((64, 4100), (1, 0)),
        ((2, 100, 3, 600), (2, 3, 0, 1)),
        ((5, 130, 4, 140), (0, 2, 3, 1)),
    ],
)
@pytest.mark.sweep(3)
def test_every_bit_of_any_order(dtype, shape, perm, queue):
    a = RNG.integers(-(1 << 31), 1 << 31, shape).astype("i4")
    if dtype in ("bfloat16", "float16"):
        a = RNG.standard_normal(shape, dtype=np.float32)
        a.flat[::7], a.flat[3::11] = np.nan, -np.inf
    if dtype == "float32":
        a = a.view("f4")  # all kinds of NaN among them
    x = sycl_dnn.asarray(a, dtype=dtype, sycl_queue=queue)
    turned = _turned(perm)
    np.testing.assert_array_equal(_bits(turned(x)), _bits(x).transpose(perm).ravel())
    if queue.sycl_device.is_cpu and (dtype.endswith("16") or min(shape) > 60):
        assert _kernels(turned, x)


@pytest.mark.parametrize(("given", "made"), [("float32", "bfloat16"), ("bfloat16", "float32")])
def test_conversions(given, made, queue):
    a = RNG.standard_normal((3, 70, 40, 43), dtype=np.float32)
    a.flat[:5] = np.inf, -np.inf, np.nan, 3.4e38, 1e-40
    x = sycl_dnn.asarray(a, dtype=given, sycl_queue=queue)
    expected = layout.channels_last(x.shape, made)
    compiled = sycl_dnn.compile(lambda x: F.add(x.trace.reorder(x, expected), 0))
    np.testing.assert_array_equal(
        dpnp.asnumpy(F.astype(compiled(x), "float32")),
        dpnp.asnumpy(F.astype(F.astype(x, made), "float32")),
    )


def test_a_strided_source_and_a_part_of_the_result(queue):
    a = RNG.standard_normal((6, 180, 700)).astype("f2")
    x = sycl_dnn.asarray(a, sycl_queue=queue)

    @sycl_dnn.compile
    def joined(x):
        parts = [F.permute(F.narrow(x, 0, n, 3), (2, 0, 1)) for n in (3, 0)]
        return F.cat([F.reshape(part, (-1,)) for part in parts])

    expected = np.concatenate([a[n : n + 3].transpose(2, 0, 1).ravel() for n in (3, 0)])
    np.testing.assert_array_equal(dpnp.asnumpy(joined(x)), expected)
    every = sycl_dnn.compile(lambda x: F.reshape(F.permute(x[:, ::2, :], (0, 2, 1)), (-1,)))
    np.testing.assert_array_equal(dpnp.asnumpy(every(x)), a[:, ::2, :].transpose(0, 2, 1).ravel())


@pytest.mark.parametrize(
    ("shape", "perm"),
    [((40, 50), (1, 0)), ((400_000, 3), (1, 0)), ((64, 64, 128), (1, 0, 2)), ((0, 64), (1, 0))],
)
def test_copies_that_are_left_to_onednn(shape, perm, queue):
    a = RNG.standard_normal(shape).astype("f2")
    x = sycl_dnn.asarray(a, sycl_queue=queue)
    turned = _turned(perm)
    np.testing.assert_array_equal(dpnp.asnumpy(turned(x)), a.transpose(perm).ravel())
    assert not _kernels(turned, x)


@pytest.mark.parametrize("dtype", [None, "bfloat16"])
def test_sources_of_primitives_are_turned_only_with_a_conversion(dtype, queue):
    require_isa("avx512_core_bf16")
    x, w = (
        sycl_dnn.asarray(RNG.standard_normal(shape).astype("f4"), sycl_queue=queue)
        for shape in ((8, 64, 56, 56), (8, 64, 1, 1))
    )
    compiled = sycl_dnn.compile(lambda x: F.conv2d(x, w), dtype=dtype)
    is_turned = any(part.implementation == "opencl" for part in compiled.explain(x).parts)
    assert is_turned == (dtype == "bfloat16")


def test_turned_copies_can_be_switched_off(queue):
    x = sycl_dnn.asarray(RNG.standard_normal((1024, 512)).astype("f2"), sycl_queue=queue)
    assert not _kernels(_turned((1, 0), passes={"turn_copies": False}), x)
