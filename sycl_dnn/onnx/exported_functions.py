# SPDX-License-Identifier: Apache-2.0
"""The table of exported functions."""

from __future__ import annotations

from sycl_dnn.onnx import (
    exported_arithmetic,
    exported_layers,
    exported_recurrence,
    exported_reductions,
    exported_shapes,
    exported_windows,
)
from sycl_dnn.onnx.written_graph import Row

#: By function name: ``row(graph, arguments, outputs)`` writes its nodes and returns the names
#: of the results, whose shapes and dtypes ``outputs`` has.
ROWS: dict[str, Row] = {
    **exported_arithmetic.ROWS, **exported_layers.ROWS, **exported_recurrence.ROWS,
    **exported_reductions.ROWS, **exported_shapes.ROWS, **exported_windows.ROWS,
}  # fmt: skip
