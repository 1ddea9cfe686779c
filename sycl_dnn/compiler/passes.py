# SPDX-License-Identifier: Apache-2.0
"""The rewrites of a graph in their order, and which of them can be switched."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sycl_dnn.compiler.cleaning import clean
from sycl_dnn.compiler.folding import fold, split_batch_norms
from sycl_dnn.compiler.fusing import fuse
from sycl_dnn.compiler.gates import merge_gates
from sycl_dnn.compiler.gathering import write_into_parts
from sycl_dnn.compiler.graph import Graph
from sycl_dnn.compiler.interleaving import read_in_place
from sycl_dnn.compiler.joining import join_products
from sycl_dnn.compiler.summing import sum_in_place

Pass = Callable[[Graph], None]
#: Rewrites of the graph, in order. Each leaves a graph that computes the same.
PASSES: tuple[Pass, ...] = (
    clean,
    merge_gates,
    clean,
    split_batch_norms,
    fold,
    fuse,
    join_products,
    read_in_place,
    clean,
)
#: Those that come behind what a caller adds.
LAST_PASSES: tuple[Pass, ...] = (write_into_parts, sum_in_place)
#: Rewrites that pay or not by shape and machine, and whether they are made unless told otherwise.
SWITCHES: dict[str, bool] = {"join_products": True, "write_into_parts": True}


def in_order(switches: Mapping[str, bool], extra: Sequence[Pass] = ()) -> tuple[Pass, ...]:
    """Return the rewrites to make, with those of the caller."""
    wanted = SWITCHES | dict(switches)
    chosen = (*PASSES, *extra, *LAST_PASSES)
    return tuple(p for p in chosen if wanted.get(getattr(p, "__name__", ""), True))


def check_switches(function: str, switches: Mapping[str, bool]) -> None:
    """Raise ValueError where a switch is unknown."""
    for name in switches:
        if name not in SWITCHES:
            known = ", ".join(SWITCHES)
            raise ValueError(f"{function}: passes must be among {known}, got {name!r}")
