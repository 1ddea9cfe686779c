# SPDX-License-Identifier: Apache-2.0
"""Vectors across short rows: tiles of memory, transposed in registers."""

from __future__ import annotations

from collections.abc import Sequence

from sycl_dnn.kernels.spirv import Kernel, Value


def columns_of(k: Kernel, rows: Sequence[Value]) -> list[Value]:
    """Return the columns of rows, as vectors of as many elements as there are rows.

    Rows have fewer elements than there are rows; both numbers are powers of two.
    """
    n = rows[0].width
    vectors = list(rows)
    while len(vectors) > n:
        # Neighbors in the result are rows n apart.
        by_pair = [(at, at + n) for at in range(len(vectors)) if at // n % 2 == 0]
        vectors = [k.concatenated(vectors[a], vectors[b]) for a, b in by_pair]
    return _turned(k, vectors)


def rows_of(k: Kernel, columns: Sequence[Value]) -> list[Value]:
    """Return the rows of columns: the inverse of ``columns_of``."""
    n = len(columns)
    vectors = _turned(k, columns)
    while vectors[0].width > n:
        halves = [[k.half(v, which) for v in vectors] for which in (0, 1)]
        groups = [half[at : at + n] for at in range(0, len(vectors), n) for half in halves]
        vectors = [v for group in groups for v in group]
    return vectors


def _turned(k: Kernel, vectors: Sequence[Value]) -> list[Value]:
    """Transpose squares side by side: exchange the bits of an element's row and column."""
    turned, width, step = list(vectors), vectors[0].width, 1
    while step < len(turned):
        for n in range(len(turned)):
            if n & step:
                continue
            a, b = turned[n], turned[n + step]
            low = [i + (width - step if i & step else 0) for i in range(width)]
            high = [i + (width if i & step else step) for i in range(width)]
            turned[n], turned[n + step] = k.shuffled(a, b, low), k.shuffled(a, b, high)
        step *= 2
    return turned
