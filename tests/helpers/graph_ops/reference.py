# SPDX-License-Identifier: Apache-2.0
"""Results of a builder's graph, computed node by node by `conformance`'s references."""

import numpy as np

from .in_numpy import compute, stored


def evaluate(graph, arrays, shapes):
    """Return the values of all tensors of a graph by id.

    ``arrays`` has the inputs by name, ``shapes`` the shapes of all tensors by id.
    """
    values = {v.id: np.asarray(arrays[n], np.float64) for n, v in graph.inputs.items()}
    for v in graph.constants:
        data = v._data
        values[v.id] = np.asarray(getattr(data, "values", None) if hasattr(data, "values")
                                  else data.asnumpy(), np.float64)  # fmt: skip
    for node in graph.nodes:
        inputs = {
            name: [values[v.id] for v in provided]
            if isinstance(provided, list)
            else values[provided.id]
            for name, provided in node.inputs.items()
        }
        if node.function is not None:
            actual = node.function.in_numpy(*inputs["src"])
        else:
            expected = [shapes[v.id] for v in node.outputs]
            actual = compute(node.operation.name, inputs, node.attributes, expected)
            actual = [actual[i] for i in node.slots]
        for v, value in zip(node.outputs, actual, strict=True):
            values[v.id] = stored(value, v.dtype)
    return values
