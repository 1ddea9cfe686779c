# SPDX-License-Identifier: Apache-2.0
"""Views of values that are known while a function is traced."""

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn.program import place, segments
from sycl_dnn.trace import layout
from sycl_dnn.trace.recording import Trace
from sycl_dnn.trace.values import Tensor


@pytest.mark.parametrize(("shape", "offset"), [((24,), 0), ((2, 3), 20)])
def test_views_of_known_values_need_no_arrays(shape, offset, monkeypatch):
    trace = Trace(place.place_of(sycl_dnn.default_queue())[0].engine)
    known = trace.literal(np.arange(24).reshape(4, 6))
    desc = layout.row_major(shape, "float32")
    view = Tensor(trace, known.storage, desc, "float32", shape, offset)
    monkeypatch.setattr(dpnp, "reshape", None)
    memory, whole = segments._memory_in_layout(view), known.storage.memory
    assert memory.desc == desc
    assert memory.owner[0] is whole.owner[0]
    assert memory.get_data_handle() - whole.get_data_handle() == offset
