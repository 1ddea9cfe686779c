# SPDX-License-Identifier: Apache-2.0
"""Padding in every mode, including cropping."""

import dpnp
import numpy as np
import pytest
from functional.case import Spec
from functional.checks import checked
from functional.named import IMAGE, LAYOUTS, X, named
from functional.on_device import to_device
from kernel_cases import kernels_of

import sycl_dnn
from sycl_dnn import functional as F

MODES = ("constant", "reflect", "replicate", "circular")


CASES = [
    named(f"pad-{mode}-{name}", F.pad, (Spec(shape), widths, mode), "pad")
    for mode in MODES
    for name, shape, widths in (
        ("1d", (2, 3, 7), (2, 1)),
        ("2d", (2, 3, 7, 5), (2, 1, 0, 3)),
        ("3d", (1, 2, 3, 4, 5), (1, 2, 3, 0, 2, 1)),
        ("alone", (3, 5), (4, 4)),
        ("one_side", (2, 3, 5), (0, 3)),
        ("crop", (2, 3, 7), (-2, -1)),
        ("crop_left", (2, 3, 7), (-2, 3)),
        ("crop_right", (2, 3, 7, 5), (3, -1, -1, 2)),
        ("no_batch", (0, 3, 7), (2, 1)),
        ("nothing", (2, 3, 7), (0, 0)),
    )
]
CASES += [
    named(f"pad-{mode}-{layout}", F.pad, (Spec(IMAGE, layout=layout), (2, 1, 1, 3), mode),
           "pad", on_gpu=mode == "constant")
    for mode in MODES
    for layout in LAYOUTS[1:]
]  # fmt: skip
CASES += [
    named(f"pad-{mode}-wide{layout}", F.pad, (Spec((2, 3, 7, 8), layout=layout or "plain"),
          (5, 6, 6, 2), mode), "pad")
    for mode, layout in (("reflect", ""), ("reflect", "channels_last"), ("replicate", ""))
]  # fmt: skip
CASES += [
    named("pad-value", F.pad, (X, (1, 2)), "pad", value=-2.5),
    named("pad-all_axes", F.pad, (X, (1, 0, -1, 2, 3, 4)), "pad", value=1.0),
    named("pad-from_nothing", F.pad, (Spec((2, 0)), (1, 2)), "pad", value=3.0),
    named("pad-to_nothing", F.pad, (X, (-3, -2)), "pad"),
    named("pad-no_axes", F.pad, (X, ()), "pad"),
]
NARROW = (
    "pad-reflect-wide",
    "pad-constant-2d",
    "pad-reflect-2d",
    "pad-replicate-2d",
    "pad-circular-2d",
    "pad-value",
)
CASES += [c.as_dtype(d) for c in CASES for d in ("bfloat16", "float16") if c.name in NARROW]
TestCases = checked(CASES, sweep=12)


@pytest.mark.parametrize("value", [None, 2.0])
def test_array_without_axes_is_unchanged(value, queue):
    x = dpnp.asarray(3.0, dtype="f4", sycl_queue=queue)
    actual, pullback = sycl_dnn.vjp(lambda x: F.pad(x, (), value=value), x)
    assert actual.shape == ()
    assert float(actual) == 3.0
    (grad,) = pullback(2 * actual)
    assert float(grad) == 6.0


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
def test_wide_borders_take_few_steps(mode, queue):
    """It was one for each row and column."""
    x = to_device(np.arange(2 * 3 * 64 * 64).reshape(2, 3, 64, 64), "float32", queue)
    compiled = sycl_dnn.compile(lambda x: F.pad(x, (40, 40, 40, 40), mode))
    in_numpy = {"replicate": "edge", "circular": "wrap"}.get(mode, mode)
    expected = np.pad(dpnp.asnumpy(x), ((0, 0), (0, 0), (40, 40), (40, 40)), in_numpy)
    np.testing.assert_array_equal(dpnp.asnumpy(compiled(x)), expected)
    assert compiled.explain(x).n_steps <= 5
    gradient = sycl_dnn.compile(sycl_dnn.grad(lambda x: F.sum(F.pad(x, (40, 40, 40, 40), mode))))
    assert float(gradient(x).sum()) == 2 * 3 * 144 * 144
    assert gradient.explain(x).n_steps <= 20


@pytest.mark.parametrize(
    ("mode", "width"), [("reflect", 2), ("reflect", 1), ("circular", 2), ("replicate", 1)]
)
def test_the_gradient_of_a_border_is_one_kernel_per_axis(mode, width, queue):
    """Not one more for each border."""
    x = to_device(np.zeros((2, 3, 90, 80)), "float32", queue)
    y, pullback = sycl_dnn.vjp(lambda x: F.pad(x, (width,) * 4, mode), x)
    assert len(kernels_of(pullback, y)) == 2
