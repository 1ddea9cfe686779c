# SPDX-License-Identifier: Apache-2.0
"""Passes over the kernels of gradients: the compiler's.

It is built on this layer, and registers them here when it is imported.
"""

from __future__ import annotations

from collections.abc import Callable

from sycl_dnn.lower.step_graph import Graph

_passes: tuple[Callable[[Graph], None], ...] = ()


def provide(*passes: Callable[[Graph], None]) -> None:
    """Use these passes from now on."""
    global _passes
    _passes = passes


def fuse(graph: Graph) -> None:
    """Let fewer kernels compute the same."""
    for rewrite in _passes:
        rewrite(graph)
