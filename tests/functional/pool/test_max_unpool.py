# SPDX-License-Identifier: Apache-2.0
import numpy as np
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


def test_indices_out_of_range_are_ignored(queue):
    x = to_device(np.arange(1, 5).reshape(1, 1, 2, 2), "float32", queue)
    indices = to_device(np.array([0, 16, -1, 5]).reshape(1, 1, 2, 2), "int64", queue)
    y, pullback = sycl_dnn.vjp(F.max_unpool2d, x, indices, 2)
    actual = to_numpy(y).ravel()
    assert (actual[0], actual[5]) == (1, 4)
    assert np.count_nonzero(actual) == 2
    grad = pullback(to_device(np.arange(16).reshape(1, 1, 4, 4) + 1, "float32", queue))[0]
    np.testing.assert_array_equal(to_numpy(grad).ravel(), [1, 0, 0, 6])
