# SPDX-License-Identifier: Apache-2.0
"""Items of arrays with torch's methods, and of arrays of dtypes that dpnp lacks."""

import dpnp
import numpy as np
import pytest

from sycl_dnn import functional as F
from sycl_dnn.functional.index import keys_with_arrays
from sycl_dnn.trace.module_arrays import handed

_I, _J = np.array([[2, 0, -1], [1, 1, -2]]), np.array([0, -4, 3])
_EVERY = slice(None)
#: Of an array (3, 4, 5).
KEYS = [
    (_I,), (_I.astype("i4"), ..., _J), (_EVERY, _J), (..., _J, None), (1, _J),
    (slice(2, 0, -1), slice(1, None, 2), _J), (np.array([True, False, True]),),
    (_EVERY, np.arange(4) > 1), (np.array([False, True, True]), 3), (np.zeros(0, int),),
    (_EVERY, _J[1:], np.arange(5) > 2), (None, _I, 2, _J), (np.array(1), _J),
    ((np.arange(60) % 7 > 3).reshape(3, 4, 5),), ((np.arange(12) % 5 > 1).reshape(3, 4), _J[:1]),
]  # fmt: skip


@pytest.fixture(params=["few", "many"])
def limit(request, monkeypatch):
    if request.param == "many":
        monkeypatch.setattr(keys_with_arrays, "_FEW", 0)


@pytest.mark.parametrize("dtype", ["float32", "int8", "bool", "complex64", "bfloat16"])
def test_items_are_those_of_numpy(dtype, queue, limit):
    values = (np.arange(60).reshape(3, 4, 5) % 13).astype("f4" if dtype == "bfloat16" else dtype)
    x = F.asarray(values, dtype, sycl_queue=queue)
    x = x if dtype == "bfloat16" else handed(x)
    for key in KEYS:
        items = [dpnp.asarray(i, sycl_queue=queue) if hasattr(i, "shape") else i for i in key]
        found = x[tuple(items)]
        actual = dpnp.asnumpy(found.astype("float32") if dtype == "bfloat16" else found)
        np.testing.assert_array_equal(actual, values[key], str(key))


@pytest.mark.parametrize("dtype", ["float32", "int8", "complex64", "bfloat16"])
def test_writes_are_those_of_numpy(dtype, queue):
    values = (np.arange(60).reshape(3, 4, 5) % 13).astype("f4" if dtype == "bfloat16" else dtype)
    for key in [*KEYS, (1, slice(1, 3)), (..., 2), (_EVERY, None, 1)]:
        x = F.asarray(values, dtype, sycl_queue=queue)
        x = x if dtype == "bfloat16" else handed(x)
        items = [dpnp.asarray(i, sycl_queue=queue) if hasattr(i, "shape") else i for i in key]
        expected = values.copy()
        for factor in (1, 2):  # an array, and a number
            new = (
                np.arange(expected[key].size).reshape(expected[key].shape) % 7 if factor == 1 else 9
            )
            expected[key] = new
            given = dpnp.asarray(new, dtype="f4", sycl_queue=queue) if factor == 1 else new
            given = given.astype(dtype) if dtype in ("int8", "complex64") and factor == 1 else given
            x[tuple(items)] = given
            actual = dpnp.asnumpy(x.astype("float32") if dtype == "bfloat16" else x)
            np.testing.assert_array_equal(actual, expected, str(key))


def test_indices_out_of_range_and_masks_of_other_sizes_are_refused(queue, limit):
    x = handed(dpnp.ones((3, 4), sycl_queue=queue))
    for key in ([3], [-4], (slice(None), [0, 4]), ([0, 1], [1, -5])):
        with pytest.raises(IndexError, match=r"index: -?\d is out of range for axis \d of size"):
            x[key]
        with pytest.raises(IndexError, match=r"index: -?\d is out of range for axis \d of size"):
            x[key] = 1.0
    with pytest.raises(IndexError, match="a mask must have the sizes of its axes"):
        x[dpnp.ones(4, dtype=bool, sycl_queue=queue)]
