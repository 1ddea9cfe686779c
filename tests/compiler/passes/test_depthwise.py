# SPDX-License-Identifier: Apache-2.0
"""Depthwise convolutions fused into the preceding 1x1 convolutions, and where they are not."""

import pytest
from comparing import assert_same, compiled_as_eager
from descriptors import require_isa

import sycl_dnn
from sycl_dnn import functional as F

FUSED = "depthwise 3x3"
TOLERANCE = {None: 2e-5, "bfloat16": 5e-2}


@pytest.fixture
def on_avx512():
    """Only with AVX-512 does oneDNN take the post-op in 1x1 convolutions of all these shapes."""
    require_isa("avx512_core")


def block(make, inputs=16, inner=96, kernel=3, biased=True):
    """Return the weights of an expanding and a depthwise convolution."""
    bias = (lambda: make(inner)) if biased else (lambda: None)
    depth = make(inner, 1, kernel, kernel) / kernel
    return make(inner, inputs, 1, 1) / inputs**0.5, bias(), depth, bias()


def run(x, p, first=F.relu, second=F.relu, **options):
    w, b, d, e = p
    y = first(F.conv2d(x, w, b))
    options = {"padding": d.shape[-1] // 2, "groups": d.shape[0]} | options
    return second(F.conv2d(y, d, e, **options))


FORMS = {
    "relu": ({}, {}),
    "stride": ({}, {"stride": 2}),
    "two activations": ({}, {"first": F.hardswish, "second": F.silu}),
    "clamped": ({}, {"first": F.relu6, "second": lambda y: F.leaky_relu(y, 0.1) * 2.0}),
    "no activation": ({}, {"first": lambda y: y, "second": lambda y: y}),
    "no bias": ({"biased": False}, {"stride": 2, "second": lambda y: y}),
    "more channels": ({"inputs": 40, "inner": 240}, {"stride": 2}),
}


@pytest.mark.sweep(3)
@pytest.mark.parametrize(("size", "dtype"), [((53, 64), None), ((56, 55), "bfloat16")])
@pytest.mark.parametrize("form", FORMS)
def test_depthwise_is_fused(form, size, dtype, make, on_avx512):
    sizes, options = FORMS[form]
    p = block(make, **sizes)
    x = make(10, p[0].shape[1], *size)
    for is_on in (True, False) if form == "relu" else (True,):
        report = compiled_as_eager(
            lambda x: run(x, p, **options), x, dtype=dtype, tolerance=TOLERANCE[dtype],
            passes={"fuse_depthwise": is_on},
        )  # fmt: skip
        # Some kernels of 1x1 convolutions, such as those in AMX tiles, have no such post-op.
        is_lacking = any("ref_fused" in text for part in report.parts for text in part.refused)
        assert any(FUSED in part.fused for part in report.parts) is (is_on and not is_lacking)


def both(x, p):
    w, b, d, e = p
    y = F.relu(F.conv2d(x, w, b))
    return F.conv2d(y, d, e, padding=1, groups=d.shape[0]), y


def residual(x, p):
    y = F.relu(F.conv2d(x, p[0]))
    return run(y, p, second=lambda z: z) + y


APART = {
    "kernel of 5": ({"kernel": 5}, run),
    "many channels": ({"inputs": 64}, run),
    "dilated": ({}, lambda x, p: run(x, p, dilation=2, padding=2)),
    "unequal strides": ({}, lambda x, p: run(x, p, stride=(1, 2))),
    "without padding": ({}, lambda x, p: run(x, p, padding=0)),
    "read twice": ({}, both),
    "not a group each": ({}, lambda x, p: run(x, (*p[:2], F.cat([p[2]] * 2, 1), p[3]), groups=48)),
    "a residual": ({"inputs": 48, "inner": 48}, residual),
    "a strided 1x1": (
        {}, lambda x, p: F.conv2d(F.conv2d(x, p[0], stride=2), p[2], padding=1, groups=96),
    ),
}  # fmt: skip


@pytest.mark.sweep(3)
@pytest.mark.parametrize("form", APART)
def test_depthwise_convolutions_that_the_post_op_cannot_do_are_not_fused(form, make):
    sizes, function = APART[form]
    p = block(make, **sizes)
    x = make(10, p[0].shape[1], 53, 64)
    report = compiled_as_eager(lambda x: function(x, p), x)
    assert not any(FUSED in part.fused for part in report.parts)


def test_small_images_are_not_fused(make):
    p = block(make)
    x = make(1, 16, 7, 7)
    report = compiled_as_eager(lambda x: run(x, p), x)
    refused = [text for part in report.parts for text in part.refused]
    assert any(text.startswith("depthwise: ") for text in refused)


@pytest.mark.slow
def test_int8_convolutions_are_not_fused(make):
    p = block(make)
    x = make(10, 16, 53, 64)
    fast, _ = sycl_dnn.quantize(sycl_dnn.compile(lambda x: run(x, p)), [x])
    report = fast.explain(x)
    assert not any(FUSED in part.fused for part in report.parts)
    assert sum(part.row == "convolution_forward" for part in report.parts) == 2
    assert_same(fast(x), run(x, p), 0.1)
