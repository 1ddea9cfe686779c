# SPDX-License-Identifier: Apache-2.0
"""What the inputs of a graph hold."""

from __future__ import annotations

import numpy as np

from sycl_dnn.verify import encoding
from sycl_dnn.verify.fill import generator
from sycl_dnn.verify.graph.document import Document
from sycl_dnn.verify.graph.evaluate import Dropped, Evaluation, Values
from sycl_dnn.verify.graph.suited import Place, drawn


def held(values: np.ndarray, dtype: str) -> np.ndarray:
    """Return values as a tensor of the data type holds them."""
    return encoding.rounded(values, "u8" if dtype == "boolean" else dtype)


def inputs(document: Document, key: str, dropped: Dropped | None = None) -> Values:
    """Return the values of all inputs of a graph, the same for the same key.

    Values that have to fit others, such as statistics, are computed from those on the way.
    """
    evaluation = Evaluation(document, {}, dropped=dropped)
    made = document.producers()
    for op in document.ops:
        waiting = []
        for port, given in op.ports():
            for number in given if isinstance(given, list) else [given]:
                if number not in evaluation.values and number not in made:
                    waiting.append((port, document.tensors[number]))
        # Statistics and the like are computed from what stands before or behind them.
        for port, tensor in sorted(waiting, key=lambda w: w[0] in ("mean", "variance")):
            rng = generator(key, str(tensor.id))
            place = Place(op, port, tensor, evaluation.values, document, rng)
            evaluation.values[tensor.id] = held(drawn(place), tensor.dtype)
        evaluation.run(op)
    return {number: evaluation.values[number] for number in document.inputs()}
