# SPDX-License-Identifier: Apache-2.0
"""The masks of dropout, which oneDNN leaves unwritten: where its results of ones are not 0."""

from __future__ import annotations

import functools
from typing import Any

import dpnp


@functools.lru_cache(64)
def _dropout_of_ones(graph_class: Any, shape: tuple[int, ...], queue: Any) -> Any:
    graph = graph_class("cpu" if queue.sycl_device.is_cpu else "gpu")
    ones = graph.leaky_relu(graph.input(shape), alpha=1.0)
    graph.dropout(ones, graph.scalar("s64"), graph.scalar("s64"), graph.scalar("f32"))
    return graph.compile(queue)


def dropout_mask(graph_class: Any, src: Any, seed: int, offset: int, probability: float) -> Any:
    """Return 1 where dropout keeps an element, else 0; depends only on seed and position."""
    ones = dpnp.ones(src.shape, dtype="f4", sycl_queue=src.sycl_queue)
    call = _dropout_of_ones(graph_class, tuple(src.shape), src.sycl_queue)
    return call(ones, seed, offset, probability) != 0
