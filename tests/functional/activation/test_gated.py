# SPDX-License-Identifier: Apache-2.0

import numpy as np
import pytest
from arrays import to_float32
from functional.case import Case, Spec
from functional.checks import checked
from functional.on_device import to_device

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn.call.operation import operation
from sycl_dnn.lower.node_lowering import computed
from sycl_dnn.ops.selection import narrow

GLU = [
    (Spec((3, 8)), -1), (Spec((3, 8, 5)), 1), (Spec((6, 5)), 0), (Spec((0, 4)), 1),
    (Spec((2, 6, 3, 5), layout="channels_last"), 1), (Spec((4, 6), layout="strided"), 1),
    (Spec((4, 6), layout="transposed"), 1), (Spec((8,), layout="reversed"), 0),
    (Spec((2, 1, 3, 2, 2, 3)), 3), (Spec((3, 0)), 1),
]  # fmt: skip
PRELU = [
    (Spec((3, 5, 7), "distinct"), Spec((5,))), (Spec((3, 5), "distinct"), Spec((5,))),
    (Spec((3, 5, 3, 7), "distinct", layout="channels_last"), Spec((5,))),
    (Spec((3, 5, 7), "distinct"), Spec((1,))), (Spec((3, 5, 7), "distinct"), Spec(())),
    (Spec((3, 1, 7), "distinct"), Spec((1,))), (Spec((11,), "distinct"), Spec((1,))),
    (Spec((15,), "distinct", layout="reversed"), Spec((1,))), (Spec(()), Spec((1,))),
    (Spec((1, 1)), Spec((1,))), (Spec((0, 3)), Spec((3,))), (Spec((0, 3)), Spec((1,))),
    (Spec((3, 5, 3, 1, 1, 7), "distinct"), Spec((5,))),
    (Spec((3, 5, 3, 1, 1, 7), "distinct"), Spec((1,))),
    (Spec((5, 7), "distinct", layout="strided"), Spec((7,), layout="strided")),
    (Spec((5, 7), "distinct", layout="transposed"), Spec((7,))),
]  # fmt: skip


def make(name, args, dtype="float32"):
    words = "-".join(
        f"{'x'.join(map(str, a.shape)) or 'scalar'}-{a.layout}" if isinstance(a, Spec) else str(a)
        for a in args
    )
    return Case(f"{name}-{words}", getattr(F, name), args, torch=name, dtype=dtype)


CASES = [make("glu", args) for args in GLU]
CASES += [make("prelu", args) for args in PRELU]
CASES += [make("glu", args, "bfloat16") for args in GLU[:2]]
CASES += [make("prelu", args, "bfloat16") for args in PRELU[:4]]
CASES += [make("glu", GLU[0], "float16"), make("prelu", PRELU[0], "float16")]
TestCases = checked(CASES, sweep=8)


def test_prelu_without_channels(queue):
    """One slope per channel, of which there are none."""
    x, slopes = (to_device(np.ones(shape), "float32", queue) for shape in ((4, 0, 1, 8), (0,)))
    y, pullback = sycl_dnn.vjp(F.prelu, x, slopes)
    assert y.shape == (4, 0, 1, 8)
    assert [g.shape for g in pullback(y)] == [(4, 0, 1, 8), (0,)]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize(("shape", "axis"), [((5, 70), 1), ((4, 6, 3, 5), 1), ((2, 3, 64), 2)])
def test_the_gradient_of_both_halves_takes_few_kernels(shape, axis, dtype, queue):
    x = to_device(np.random.default_rng(0).standard_normal(shape), dtype, queue)
    y, pullback = sycl_dnn.vjp(lambda x: F.glu(x, axis), x)
    with sycl_dnn.profile() as profile:
        (grad,) = pullback(y)
    assert len([r for r in profile.records if r.kind == "primitive"]) <= 2
    a, b = np.split(to_float32(x).astype("f8"), 2, axis)
    gate, dy = 1 / (1 + np.exp(-b)), to_float32(y).astype("f8")
    expected = np.concatenate([dy * gate, dy * a * gate * (1 - gate)], axis)
    tolerance = 1e-5 if dtype == "float32" else 2e-2
    np.testing.assert_allclose(to_float32(grad).astype("f8"), expected, tolerance, tolerance)


def test_parts_of_a_gradient_that_exist_are_copied_to_their_places(queue):
    """Halves that are added up as they are have the same gradient, which one place holds."""
    x = to_device(np.arange(12.0).reshape(2, 6), "float32", queue)

    def halves(node):
        return narrow(node, 1, 0, 3) + narrow(node, 1, 3, 3)

    _, pullback = sycl_dnn.vjp(operation(lambda x: computed(halves, x)), x)
    dy = to_device(np.arange(6.0).reshape(2, 3), "float32", queue)
    (grad,) = pullback(dy)
    np.testing.assert_array_equal(to_float32(grad), np.tile(to_float32(dy), (1, 2)))
