# SPDX-License-Identifier: Apache-2.0
"""Views, and common behavior of functions that move elements."""

import dpnp
import numpy as np
from functional.case import Spec
from functional.checks import checked
from functional.named import IMAGE, LAYOUTS, X, named
from functional.on_device import to_device

import sycl_dnn
from sycl_dnn import functional as F

CASES = [
    named("reshape", F.reshape, (X, (5, 12)), on_gpu=True),
    named("reshape-open", F.reshape, (X, (2, -1, 3))),
    named("reshape-empty", F.reshape, (Spec((0, 4)), (2, 0))),
    named("reshape-scalar", F.reshape, (Spec((1, 1)), ())),
    named("flatten", F.flatten, (X,)),
    named("flatten-1", F.flatten, (X,), start_dim=1),
    named("flatten-scalar", F.flatten, (Spec(()),)),
    named("unflatten", F.unflatten, (X, 1, (2, -1))),
    named("permute", F.permute, (X, (2, 0, 1))),
    named("permute-negative", F.permute, (X, (-1, 0, -2))),
    named("transpose", F.transpose, (X, 0, -1)),
    named("squeeze", F.squeeze, (Spec((1, 3, 1, 4)),)),
    named("squeeze-other", F.squeeze, (X, 1)),
    named("squeeze-one", F.squeeze, (Spec((1, 3, 1)), -1)),
    named("unsqueeze", F.unsqueeze, (X, -2)),
    named("narrow", F.narrow, (X, 1, 1, 2)),
    named("narrow-end", F.narrow, (X, -1, -2, 2)),
    named("narrow-nothing", F.narrow, (X, 0, 1, 0)),
]
CASES += [
    named(f"{f.__name__}-{layout}", f, (Spec(IMAGE, layout=layout), *more))
    for layout in LAYOUTS[1:]
    for f, more in (
        (F.reshape, ((4, 4, 35),)),
        (F.permute, ((0, 2, 3, 1),)),
        (F.flatten, (1,)),
        (F.narrow, (1, 2, 3)),
    )
]
NARROW = ("reshape", "permute")
CASES += [c.as_dtype(d) for c in CASES for d in ("bfloat16", "float16") if c.name in NARROW]
TestCases = checked(CASES, sweep=2)


def test_layouts_are_kept(queue):
    x = to_device(np.random.default_rng(0).standard_normal(IMAGE), "float32", queue,
                  "channels_last")  # fmt: skip
    for result in (
        F.channel_shuffle(x, 2), F.pixel_shuffle(x, 2), F.cat([x, x], 1), F.pad(x, (1, 1, 1, 1)),
        F.batch_norm(x, None, None, training=True),
    ):  # fmt: skip
        c = result.shape[1]
        assert result.strides[1] == 4
        assert result.strides[3] == 4 * c


def test_a_view_of_a_result_is_not_copied(queue):
    x = to_device(np.ones((2, 3)), "float32", queue)
    result = F.permute(F.stack([x, x, x, x]), (2, 0, 1))
    assert result.shape == (3, 4, 2)
    assert len(_steps(lambda v: F.permute(F.tanh(v), (1, 0)), x)) == 1


def _steps(function, x):
    from sycl_dnn.call.operation import operation
    from sycl_dnn.program.place import place_of

    plan = operation(function).operation.build(place_of(x.sycl_queue)[0], (x,), {})
    return plan.executable._keep[0].steps


def test_squeezing_the_only_axis_of_a_dpnp_result(queue):
    """Shapes () and (1,) have one descriptor."""
    x = dpnp.ones((1,), dtype="f4", sycl_queue=queue)
    for function in (lambda x: F.reshape(F.sin(x), ()), lambda x: F.cumsum(F.reshape(x, ()), 0)):
        for call in (sycl_dnn.compile(function), lambda x, f=function: sycl_dnn.vjp(f, x)[0]):
            assert call(x).shape == ()
