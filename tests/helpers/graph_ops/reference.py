# SPDX-License-Identifier: Apache-2.0
"""Results of a graph of the builder, by the references of `conformance` for each node."""

import numpy as np
from conformance.verify.graph.ops import compute, stored


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
            name: [values[v.id] for v in given] if isinstance(given, list) else values[given.id]
            for name, given in node.inputs.items()
        }
        if node.function is not None:
            made = node.function.in_numpy(*inputs["src"])
        else:
            wanted = [shapes[v.id] for v in node.outputs]
            made = compute(node.operation.name, inputs, node.attributes, wanted)
            made = [made[i] for i in node.slots]
        for v, value in zip(node.outputs, made, strict=True):
            values[v.id] = stored(value, v.dtype)
    return values
