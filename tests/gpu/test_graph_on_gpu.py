# SPDX-License-Identifier: Apache-2.0
"""Each operation of the Graph API alone on a GPU: built, partitioned, compiled, submitted."""

import pytest
from graph_ops import CASES, build, upload

CASES_BY_TYPE = [(case, dtype) for case in CASES for dtype in case.dtypes]


@pytest.mark.parametrize(("case", "dtype"), CASES_BY_TYPE, ids=lambda v: str(v))
def test_operation_is_submitted(case, dtype, gpu):
    graph, arrays = build(case, dtype, "gpu")
    compiled = graph.compile(gpu)
    made = compiled(**{n: upload(arrays[n], v.dtype, gpu) for n, v in graph.inputs.items()})
    results = made if isinstance(made, tuple) else (made,)
    for value, array in zip(graph.outputs, results, strict=True):
        assert tuple(array.shape) == compiled.plans[-1].shapes[value.id]
