# SPDX-License-Identifier: Apache-2.0
"""Windows of images as columns, and columns as images."""

import math

import dpnp
import numpy as np
from functional.case import Spec
from functional.checks import checked
from functional.named import named
from functional.on_device import to_device

import sycl_dnn
from sycl_dnn import functional as F


def _pairs(*values):
    return [v if isinstance(v, tuple) else (v, v) for v in values]


#: Windows with gaps between them: their stride exceeds them, so that the last one's step ends
#: after the image.
APART = [
    ("single", (2, 4, 7, 7), ((1, 1), 1, 0, 2)), ("single-3", (1, 2, 7, 8), ((1, 1), 1, 0, 3)),
    ("rows", (1, 3, 8, 5), ((2, 1), 1, 0, (3, 1))), ("columns", (2, 1, 5, 8), ((1, 2), 1, 0, 3)),
    ("dilated", (2, 3, 9, 9), ((2, 2), 2, 0, 4)), ("padded", (1, 3, 6, 6), ((1, 1), 1, 1, 3)),
    ("far", (2, 3, 5, 5), ((1, 1), 1, 0, 9)), ("all", (1, 2, 7, 6), ((2, 1), (3, 1), (0, 1), 5)),
]  # fmt: skip


def _windows_of(shape, args):
    axes = zip(shape[-2:], *_pairs(*args), strict=True)
    return math.prod((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, d, p, s in axes)


COLUMNS = [(name, shape, args, _windows_of(shape, args)) for name, shape, args in APART]

CASES = [
    named(f"unfold-{name}", F.unfold, (Spec(shape, layout=layout), *args), "unfold")
    for name, shape, layout, args in (
        ("plain", (2, 3, 6, 5), "plain", (3,)),
        ("all", (2, 3, 8, 7), "plain", ((3, 2), (2, 1), (1, 2), (2, 3))),
        ("one", (2, 3, 4, 4), "plain", (1,)),
        ("whole", (1, 2, 3, 5), "plain", ((3, 5),)),
        ("alone", (3, 6, 5), "plain", (2, 1, 1)),
        ("channels_last", (2, 3, 6, 5), "channels_last", (3, 1, 1)),
        ("strided", (2, 3, 6, 5), "strided", (3, 1, 0, 2)),
        ("no_batch", (0, 3, 6, 5), "plain", (3,)),
        *(
            (f"{layout}-{name}", shape, layout, args)
            for layout in ("plain", "channels_last", "strided")
            for name, shape, args in APART
        ),
    )
]
CASES += [
    named(f"fold-{name}", F.fold, (Spec(shape, layout=layout), *args), "fold")
    for name, shape, layout, args in (
        ("plain", (2, 27, 12), "plain", ((6, 5), 3)),
        ("all", (2, 18, 15), "plain", ((8, 7), (3, 2), (2, 1), (1, 2), (2, 2))),
        ("square", (2, 8, 9), "plain", (4, 2)),
        ("alone", (8, 9), "plain", (4, 2)),
        ("transposed", (2, 27, 12), "transposed", ((6, 5), 3)),
        *(
            (f"{layout}-{name}", (s[0], s[1] * k[0] * k[1], n), layout, (s[2:], k, *rest))
            for layout in ("plain", "transposed")
            for name, s, (k, *rest), n in COLUMNS
        ),
    )
]
NARROW = ("unfold-all", "fold-all")
CASES += [c.as_dtype(d) for c in CASES for d in ("bfloat16", "float16") if c.name in NARROW]
TestCases = checked(CASES, sweep=6)


def test_windows_that_read_only_padding_have_zero_gradients(queue):
    x = to_device(np.ones((1, 1, 1, 16)), "float32", queue)
    y, pullback = sycl_dnn.vjp(lambda v: F.unfold(v, 2, dilation=2, padding=1, stride=2), x)
    assert not dpnp.asnumpy(y).any()
    (dx,) = pullback(to_device(np.ones(y.shape), "float32", queue))
    assert dx.shape == x.shape
    assert not dpnp.asnumpy(dx).any()
