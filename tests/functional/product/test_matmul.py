# SPDX-License-Identifier: Apache-2.0
import dpnp
import numpy as np
import pytest
from functional.case import Case, Spec
from functional.checks import checked
from functional.named import of_words
from functional.on_device import to_device
from functional.torch_functions import of_torch

from sycl_dnn import functional as F


def _name(*shapes):
    return "-".join("x".join(map(str, s)) for s in shapes)


def _matmul(a, b, dtype="float32", layouts=("plain", "plain")):
    specs = tuple(Spec(s, layout=how) for s, how in zip((a, b), layouts, strict=True))
    words = f"matmul-{_name(a, b)}-{'-'.join(layouts)}"
    return Case(words, F.matmul, specs, torch=of_torch("matmul"), dtype=dtype)


def _layer(x, w, *b, dtype="float32", layouts=("plain", "plain")):
    specs = [Spec(s, layout=how) for s, how in zip((x, w), layouts, strict=True)]
    specs += [Spec(s) for s in b]
    words = f"linear-{_name(x, w, *b)}-{'-'.join(layouts)}"
    return Case(words, F.linear, tuple(specs), torch="linear", dtype=dtype)


RANKS = [
    ((7,), (7,)),
    ((7,), (7, 5)),
    ((3, 7), (7,)),
    ((3, 7), (7, 5)),
    ((2, 3, 7), (7,)),
    ((7,), (2, 7, 5)),
    ((2, 3, 7), (7, 5)),
    ((3, 7), (2, 7, 5)),
    ((2, 3, 7), (2, 7, 5)),
    ((4, 1, 3, 7), (2, 7, 5)),
    ((1, 7), (7, 1)),
]
EMPTY = [((3, 0), (0, 5)), ((0, 7), (7, 5)), ((2, 3, 7), (2, 7, 0)), ((0,), (0,))]
LAYOUTS = [
    ("transposed", "plain"),
    ("plain", "transposed"),
    ("strided", "reversed"),
    ("transposed", "strided"),
]
A, B = Spec((3, 7)), Spec((7, 5))
BATCH_A, BATCH_B = Spec((2, 3, 7)), Spec((2, 7, 5))
CASES = [
    *(_matmul(*pair) for pair in RANKS + EMPTY),
    *(_matmul(*pair, dtype="bfloat16") for pair in RANKS[3:10]),
    *(_matmul((17, 19), (19, 13), layouts=how) for how in LAYOUTS),
    _matmul((2, 3, 5, 7), (2, 3, 7, 4), layouts=("channels_last", "transposed")),
    _layer((4, 7), (5, 7), (5,)),
    _layer((4, 7), (5, 7)),
    _layer((7,), (5, 7), (5,)),
    _layer((2, 3, 7), (5, 7), (5,)),
    _layer((4, 7), (7,)),
    _layer((2, 3, 7), (7,), ()),
    _layer((4, 0), (5, 0), (5,)),
    _layer((0, 7), (5, 7), (5,)),
    _layer((4, 7), (0, 7), (0,)),
    _layer((4, 7), (5, 7), (5,), dtype="bfloat16"),
    _layer((2, 3, 7), (5, 7), dtype="bfloat16"),
    *(_layer((17, 19), (13, 19), (13,), layouts=how) for how in LAYOUTS),
    of_words("mm", A, B),
    of_words("bmm", BATCH_A, BATCH_B),
    of_words("bmm-bf16", BATCH_A, BATCH_B, dtype="bfloat16"),
    of_words("addmm-bias", Spec((5,)), A, B),
    of_words("addmm", Spec((3, 5)), A, B, beta=0.5, alpha=2.0),
    of_words("baddbmm", Spec((2, 1, 5)), BATCH_A, BATCH_B, alpha=0.5),
    Case("bilinear", F.bilinear, (A, Spec((3, 4)), Spec((5, 7, 4)), Spec((5,))), torch="bilinear"),
    Case("bilinear-3d", F.bilinear, (BATCH_A, Spec((2, 3, 4)), Spec((5, 7, 4))), torch="bilinear"),
    Case(
        "bilinear-bf16",
        F.bilinear,
        (A, Spec((3, 4)), Spec((5, 7, 4)), Spec((5,))),
        torch="bilinear",
        dtype="bfloat16",
    ),
]
TestCases = checked(CASES, sweep=4)


def test_integers_are_exact(queue):
    a, b = np.arange(6).reshape(2, 3) * 2**40, np.arange(3)
    actual = F.matmul(to_device(a, "int64", queue), to_device(b, "int64", queue))
    np.testing.assert_array_equal(dpnp.asnumpy(actual), a @ b)


def test_linear_writes_to_out(queue):
    x, w = (to_device(np.ones(s), "float32", queue) for s in ((2, 3, 4), (5, 4)))
    out = dpnp.empty((2, 3, 5), dtype="float32", sycl_queue=queue)
    assert F.linear(x, w, out=out) is out
    assert (dpnp.asnumpy(out) == 4).all()


@pytest.mark.float64
def test_expanded_arrays_of_float64(queue):
    """dpnp's own product misreads them."""
    rows, columns = np.arange(3.0) + 0.1, np.arange(8.0).reshape(4, 2) / 3
    x = F.expand(to_device(rows, "float64", queue)[:, None], (3, 4))
    y = F.expand(to_device(columns, "float64", queue), (5, 4, 2))
    expected = np.broadcast_to(rows[:, None], (3, 4)) @ np.broadcast_to(columns, (5, 4, 2))
    np.testing.assert_allclose(dpnp.asnumpy(F.matmul(x, y)), expected, rtol=1e-15)
