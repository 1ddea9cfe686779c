# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
from functional.case import Case, Spec
from functional.checks import checked
from functional.on_device import to_device, to_numpy

import sycl_dnn
from sycl_dnn import functional as F

#: name: shape of the input, sizes of the result, arguments after the indices.
WINDOWS = {
    "1d": ((2, 3, 5), (10,), (2,)),
    "1d-single": ((3, 5), (10,), ((2,),)),
    "1d-size": ((2, 3, 5), (11,), (2, 2, 0, (11,))),
    "2d": ((2, 3, 4, 5), (8, 10), (2,)),
    "2d-overlap": ((2, 3, 4, 5), (7, 9), (3, 2, 1)),
    "2d-size": ((1, 3, 4, 5), (8, 10), (3, 2, 1, (1, 3, 8, 10))),
    "2d-single": ((3, 4, 5), (8, 10), ((2, 2),)),
    "3d": ((1, 2, 2, 3, 4), (4, 6, 4), ((2, 2, 1),)),
}


def case(name, dtype="float32", layout="plain"):
    shape, sizes, rest = WINDOWS[name]
    function = f"max_unpool{name[:2]}"
    places = Spec(shape, "places", high=int(np.prod(sizes)), layout=layout)
    args = (Spec(shape, layout=layout), places, *rest)
    name = f"max_unpool-{name}-{layout}"
    return Case(name, getattr(F, function), args, torch=function, dtype=dtype)


CASES = [case(n) for n in WINDOWS]
CASES += [case("2d", layout=how) for how in ("channels_last", "strided", "reversed")]
CASES += [case("2d", dtype) for dtype in ("bfloat16", "float16")]
TestCases = checked(CASES, sweep=2)


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_after_max_pool(rank, dtype, queue):
    """The maxima are where they were, and pooling again finds them."""
    values = np.random.default_rng(0).permutation(2 * 3 * 6**rank).reshape(2, 3, *[6] * rank) % 251
    x = to_device(values, dtype, queue)
    pool, unpool = (getattr(F, f"{n}{rank}d") for n in ("max_pool", "max_unpool"))
    y, indices = pool(x, 2, return_indices=True)
    back = to_numpy(unpool(y, indices, 2))
    at = back != 0
    np.testing.assert_array_equal(back[at], values[at])
    assert at.sum() == (to_numpy(y) != 0).sum()


def test_indices_out_of_range_are_ignored(queue):
    x = to_device(np.arange(1, 5).reshape(1, 1, 2, 2), "float32", queue)
    indices = to_device(np.array([0, 16, -1, 5]).reshape(1, 1, 2, 2), "int64", queue)
    y, pullback = sycl_dnn.vjp(F.max_unpool2d, x, indices, 2)
    actual = to_numpy(y).ravel()
    assert (actual[0], actual[5]) == (1, 4)
    assert np.count_nonzero(actual) == 2
    grad = pullback(to_device(np.arange(16).reshape(1, 1, 4, 4) + 1, "float32", queue))[0]
    np.testing.assert_array_equal(to_numpy(grad).ravel(), [1, 0, 0, 6])


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"indices": ((1, 1, 2, 2), "int32")}, TypeError, "indices must have dtype int64, got"),
        ({"indices": ((1, 1, 2, 3), "int64")}, ValueError, "indices must have the shape of input"),
        ({"output_size": (6, 4)}, ValueError, r"output_size must differ from \(4, 4\) by less"),
        ({"output_size": (4,)}, ValueError, "output_size must be 2 sizes"),
        ({"kernel_size": 0}, ValueError, "kernel_size must be an int or 2 of them"),
        ({"padding": 3}, ValueError, "output_size must be positive"),
        ({"input": ((2, 2), "float32")}, ValueError, "input must have shape"),
    ],
)
def test_refused(change, error, words, queue):
    provided = {"input": ((1, 1, 2, 2), "float32"), "indices": ((1, 1, 2, 2), "int64"),
             "kernel_size": 2} | change  # fmt: skip
    provided |= {
        n: to_device(np.zeros(provided[n][0]), provided[n][1], queue) for n in ("input", "indices")
    }
    with pytest.raises(error, match=f"max_unpool2d: {words}"):
        F.max_unpool2d(**provided)
