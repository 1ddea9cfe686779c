# SPDX-License-Identifier: Apache-2.0
"""Concatenating and splitting arrays."""

import dpnp
import numpy as np
from comparing import slow_parts
from functional.case import Spec
from functional.checks import checked
from functional.named import LAYOUTS, X, named
from functional.on_device import to_device

import sycl_dnn
from sycl_dnn import functional as F


def images(*channels, layout="plain"):
    return [Spec((2, c, 5, 7), layout=layout) for c in channels]


CASES = [
    named("cat", F.cat, ([Spec((2, 3)), Spec((4, 3)), Spec((1, 3))],), on_gpu=True),
    named("cat-one", F.cat, ([X],)),
    named("cat-channels", F.cat, (images(3, 16, 1), 1)),
    named("cat-last", F.cat, ([Spec((2, 3)), Spec((2, 5))], -1)),
    named("cat-columns", F.cat, ([Spec((2, 3, 1))] * 4, -1)),
    named("cat-short-rows", F.cat, ([Spec((4, 3, 2)), Spec((4, 3, 2), layout="strided")], -1)),
    named("cat-short-inner-axes", F.cat, ([Spec((4, 2, 3))] * 2, 1)),
    named("cat-left-out", F.cat, ([Spec((0,)), Spec((2, 3))], 1)),
    named("cat-empty", F.cat, ([Spec((2, 0)), Spec((2, 3)), Spec((2, 0))], 1)),
    named("cat-all-empty", F.cat, ([Spec((2, 0)), Spec((2, 0))], 1)),
    named("cat-many", F.cat, ([Spec((1, 3))] * 20,)),
    named("stack", F.stack, ([X, X, X],)),
    named("stack-last", F.stack, ([X, X], -1)),
    named("stack-scalars", F.stack, ([Spec(()), Spec(())],)),
    named("split", F.split, (X, 2, 2)),
    named("split-sizes", F.split, (X, [3, 0, 1], 1)),
    named("split-strided", F.split, (Spec((6, 4), layout="strided"), 4)),
    named("chunk", F.chunk, (X, 3, 2)),
    named("chunk-few", F.chunk, (X, 7)),
    named("tensor_split", F.tensor_split, (X, 3, 2)),
    named("tensor_split-at", F.tensor_split, (X, (1, 3, 2, -1), 2)),
]
CASES += [named(f"cat-{layout}", F.cat, (images(3, 8, layout=layout), 1)) for layout in LAYOUTS[1:]]
CASES += [
    named(f"cat-few-{layout}", F.cat, (images(2, 2, layout=layout), 1)) for layout in LAYOUTS[1:]
]
NARROW = ("cat", "cat-channels", "cat-columns", "stack", "split")
CASES += [c.as_dtype(d) for c in CASES for d in ("bfloat16", "float16") if c.name in NARROW]
TestCases = checked(CASES, sweep=2)


def test_cat_promotes(queue):
    a = to_device(np.ones((2, 3)), "float32", queue)
    b = to_device(np.ones((2, 3)), "bfloat16", queue)
    assert F.cat([a, b]).dtype == "float32"
    assert F.cat([b, b]).dtype == "bfloat16"
    n = dpnp.ones((2, 3), dtype="int32", sycl_queue=queue)
    assert F.cat([n, n.astype("int64")]).dtype == "int64"


def test_slices_with_gaps_are_joined_without_the_slow_reference(queue):
    x = to_device(np.arange(2 * 4 * 6 * 6.0).reshape(2, 4, 6, 6), "float32", queue)

    def function(x):
        turned = F.permute(x, (0, 1, 3, 2))
        return F.cat([x[..., ::2], x[..., 1::2], turned[..., :3]], 1)

    compiled = sycl_dnn.compile(function)
    a = dpnp.asnumpy(x)
    expected = np.concatenate([a[..., ::2], a[..., 1::2], a.swapaxes(2, 3)[..., :3]], 1)
    np.testing.assert_array_equal(dpnp.asnumpy(compiled(x)), expected)
    assert not slow_parts(compiled.explain(x), queue)
    y, pullback = sycl_dnn.vjp(function, x)
    dy = np.arange(y.size).reshape(y.shape).astype("f4")
    slope = np.zeros_like(a)
    slope[..., ::2] += dy[:, :4]
    slope[..., 1::2] += dy[:, 4:8]
    slope.swapaxes(2, 3)[..., :3] += dy[:, 8:]
    gradient = pullback(dpnp.asarray(dy, sycl_queue=queue))[0]
    np.testing.assert_array_equal(dpnp.asnumpy(gradient), slope)
