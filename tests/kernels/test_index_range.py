# SPDX-License-Identifier: Apache-2.0
"""Arrays that are too large for 32-bit indices are refused before memory is allocated."""

import dpnp
import pytest

from sycl_dnn import functional as F
from sycl_dnn.kernels.elementwise_schedule import grid_of
from sycl_dnn.kernels.index_range import MAX_SPAN
from sycl_dnn.kernels.reduction_schedule import reduction_grid

SCATTERED = {
    "index_fill": lambda x, i: F.index_fill(x, 0, i, 7),
    "index_add": lambda x, i: F.index_add(x, 0, i, F.astype(i, "int8")),
}


def repeated(queue, size):
    return dpnp.broadcast_to(dpnp.zeros(1, dtype="int8", sycl_queue=queue), (size,))


@pytest.mark.parametrize("size", [2**31 - 1, MAX_SPAN + 1])
def test_loops_cannot_step_beyond_the_range(queue, size):
    for call in (F.neg, F.sum, F.argmax, lambda x: F.eq(x, 0)):
        with pytest.raises(NotImplementedError, match="span"):
            call(repeated(queue, size))


@pytest.mark.parametrize("size", [MAX_SPAN + 1, 2**31 + 5])
@pytest.mark.parametrize("call", SCATTERED.values(), ids=SCATTERED)
def test_scatters_along_a_long_axis(queue, call, size):
    index = dpnp.asarray([0, 3], sycl_queue=queue)
    with pytest.raises(NotImplementedError, match="span"):
        call(repeated(queue, size), index)


def test_largest_arrays_are_accepted():
    grid_of((MAX_SPAN,), [(1,)]).check("add")
    reduction_grid((MAX_SPAN,), "r", [(1,)]).check("sum")
