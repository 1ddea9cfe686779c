# SPDX-License-Identifier: Apache-2.0
"""Each operation and pattern that the tests of graphs have, as a file in benchdnn's JSON."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from pathlib import Path

from graph_ops import CASES, build
from graph_ops.patterns import PATTERNS

from conformance.verify.graph.document import text
from sycl_dnn.graph import Graph

FOLDER = Path(__file__).parents[2] / "graph"


def _graphs() -> Iterator[tuple[str, Graph]]:
    for case in CASES:
        yield f"op/{case}", build(case, case.dtypes[0])[0]
    for name, build_pattern, dtypes, options in PATTERNS:
        for dtype in dtypes:
            graph = Graph("cpu")
            build_pattern(graph, dtype, **options)
            yield f"pattern/{name}" + (f"-{dtype}" if dtype != dtypes[0] else ""), graph


@functools.cache
def written() -> Path:
    """Write the files that are missing or old, and return their folder."""
    for name, graph in _graphs():
        path, expected = FOLDER / f"{name}.json", text(graph)
        if not path.exists() or path.read_text(encoding="utf-8") != expected:
            path.parent.mkdir(parents=True, exist_ok=True)
            # Other processes may read or write it.
            new = path.with_suffix(f".{os.getpid()}")
            new.write_text(expected, encoding="utf-8")
            new.replace(path)
    return FOLDER
