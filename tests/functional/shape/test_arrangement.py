# SPDX-License-Identifier: Apache-2.0
"""Rearranged and repeated elements: flip, roll, tile, expand, triangles, meshgrid."""

import dpnp
import numpy as np
import pytest
from functional.case import Case, Spec
from functional.checks import checked
from functional.named import of_words
from functional.torch_functions import of_torch

import sycl_dnn
from sycl_dnn import functional as F

X = Spec((3, 4))


CASES = [
    of_words("flip", Spec((2, 3, 4)), (0, -1)),
    Case("flip-bf16", F.flip, (X, 1), dtype="bfloat16", torch=lambda x, d: x.flip(d)),
    of_words("roll", X, 2, 1),
    of_words("roll-flat", Spec((3, 4), layout="transposed"), -1),
    of_words("roll-two", X, (1, -2), (0, 1)),
    of_words("tril", X),
    of_words("triu", Spec((2, 3, 4)), 1),
    of_words("tile", X, (2, 3)),
    of_words("tile-more-axes", X, (2, 1, 1)),
    of_words("tile-less", X, (2,)),
    Case("expand", F.expand, (Spec((3, 1)), (2, -1, 4)), torch=lambda x, s: x.expand(s)),
    of_words("broadcast_to", Spec((4,)), (3, 4)),
    of_words("broadcast_to-bf16", Spec((4,)), (3, 4), dtype="bfloat16"),
    of_words("repeat_interleave", X, 2, dim=1),
    *(Case(f"repeat-interleave-{dim}", F.repeat_interleave,
           (Spec((2, 3, 4)), 3), {"dim": dim}, torch=of_torch("repeat_interleave"))
      for dim in (0, -1)),
    of_words("repeat_interleave-flat", X, 3),
    Case("meshgrid", F.meshgrid,
         (Spec((3,)), Spec((2,))), torch=of_torch("meshgrid", indexing="ij")),
    of_words("meshgrid-xy", Spec((3,)), Spec((2,)), indexing="xy"),
]  # fmt: skip
TestCases = checked(CASES, sweep=2, may_be_slow=True)


def test_repeat_counts_with_or_without_output_size(queue):
    x = dpnp.asarray(np.arange(6.0).reshape(3, 2), dtype="f4", sycl_queue=queue)
    counts = dpnp.asarray([2, 0, 3], sycl_queue=queue)
    expected = np.repeat(dpnp.asnumpy(x), [2, 0, 3], 0)
    np.testing.assert_array_equal(F.repeat_interleave(x, counts, 0).asnumpy(), expected)

    def repeated(x, counts):
        return F.repeat_interleave(x, counts, 0, output_size=5)

    y, pullback = sycl_dnn.vjp(sycl_dnn.compile(repeated), x, counts)
    np.testing.assert_array_equal(dpnp.asnumpy(y), expected)
    np.testing.assert_array_equal(
        dpnp.asnumpy(pullback(dpnp.ones_like(y))[0]), [[2, 2], [0, 0], [3, 3]]
    )
    report = sycl_dnn.compile(repeated).explain(x, counts)
    assert "dpnp" not in {part.way for part in report.parts}
    for dtype, few in (("int32", [0]), ("int64", [0, 2, 0, 0, 3, 0])):
        values = dpnp.arange(len(few), dtype="f4", sycl_queue=queue)
        times = dpnp.asarray(few, dtype=dtype, sycl_queue=queue)
        result = F.repeat_interleave(values, times, 0)
        np.testing.assert_array_equal(result.asnumpy(), np.repeat(np.arange(len(few)), few))
    longer = F.repeat_interleave(x, counts, 0, output_size=6)
    np.testing.assert_array_equal(longer.asnumpy(), np.vstack([expected, [[np.nan] * 2]]))
    with pytest.raises(TypeError, match="repeat_interleave: output_size must be given"):
        sycl_dnn.compile(lambda x, c: F.repeat_interleave(x, c, 0))(x, counts)
    y, _ = sycl_dnn.vjp(lambda x, c: F.repeat_interleave(x, c, 0), x, counts)
    np.testing.assert_array_equal(dpnp.asnumpy(y), expected)


def test_results_are_new_arrays_and_nan_is_cleared(queue):
    x = dpnp.asarray([[1.0, np.nan]], dtype="f4", sycl_queue=queue)
    result = F.flip(x, 0)
    result[...] = 0
    assert float(x[0, 0]) == 1
    np.testing.assert_array_equal(F.tril(x).asnumpy(), [[1, 0]])
    empty = dpnp.zeros((0, 3), dtype="f4", sycl_queue=queue)
    assert F.flip(empty, 0).shape == F.roll(empty, 1, 0).shape == (0, 3)
    assert F.tile(empty, (2, 2)).shape == (0, 6)


def test_tiles_of_many_axes(queue):
    """Only repeated axes are split: arrays may have 12."""
    x = np.arange(2.0, dtype="f4").reshape((1,) * 9 + (2,))
    array = dpnp.asarray(x, sycl_queue=queue)
    actual = F.tile(array, (2, 3))
    np.testing.assert_array_equal(dpnp.asnumpy(actual), np.tile(x, (2, 3)))
    mapped = sycl_dnn.vmap(lambda v: F.tile(v, (3, 2)))(array)
    np.testing.assert_array_equal(dpnp.asnumpy(mapped), np.tile(x, (3, 2)))
    unchanged = F.tile(array, (1, 1))
    unchanged[...] = 7
    np.testing.assert_array_equal(dpnp.asnumpy(array), x)
