# SPDX-License-Identifier: Apache-2.0
"""Compile-time properties of generated kernels, and the names they give."""

from __future__ import annotations

import functools
import hashlib
from typing import NamedTuple

from sycl_dnn.kernels.elementwise_schedule import Schedule
from sycl_dnn.kernels.expression import Expression

#: Vectors of a block, by default.
BLOCK = 64


class ReductionSchedule(NamedTuple):
    """The work distribution of a reduction kernel.

    lanes : the vectorized axis
    width : elements per vector, at most the size of that axis
    unroll : number of vectors processed side by side
    n_items : work-items per group
    part : the axis that counts parts of the reduced axis after it (the last part may be shorter);
        -1 if there is none
    row : maximum number of elements along the reduced axes of which local memory keeps a term; 0 if
        none is kept there
    block : vectors, or rows of vectors, whose sum is not compensated; sums of blocks are. 0 if
        there is one block.
    span : maximum number of elements along a kept vectorized axis that a group reads in the order
        of memory, some rows at a time, with their states in local memory; 0 for ``step`` of them,
        in registers. Launches pass theirs.
    n_rows : rows of a span that are read at a time; or, along a reduced axis, short rows of a
        block, 0 for blocks of vectors of one row
    tile : elements along the last reduced axis that are read at once and transposed, of arrays that
        are contiguous there and not along a kept vectorized axis; 0 for single ones
    has_rest : whether that axis may have single elements after the last tile
    """

    lanes: int
    width: int
    unroll: int
    n_items: int
    part: int = -1
    row: int = 0
    block: int = BLOCK
    span: int = 0
    n_rows: int = 0
    tile: int = 0
    has_rest: bool = True

    @property
    def has_run(self) -> bool:
        """Whether a run of gathered neighbors is apart: never."""
        return False

    @property
    def has_span(self) -> bool:
        """Whether launches pass a span."""
        return self.span > 0

    @property
    def step(self) -> int:
        """Elements along the vectorized axis that a group processes at a time."""
        return self.width * self.unroll * self.n_items

    @property
    def unit(self) -> int:
        """Elements along a kept vectorized axis of a work unit."""
        return self.span or self.step


class Form(NamedTuple):
    """Compile-time properties of an element-wise kernel; sizes and strides are passed at launch.

    ``classes`` and ``schedule`` are as those of a ``ReductionForm``.
    """

    expression: Expression
    classes: tuple[str, ...]
    schedule: Schedule


class ReductionForm(NamedTuple):
    """Compile-time properties of a kernel of reductions.

    expression : its arrays are inputs, sources, coordinates, results
    kinds : of each axis: kept (k) or reduced (r)
    classes : of all arrays, by axis: stride 0, stride 1 along vectors (1) or tiles (t), any (n)
    """

    expression: Expression
    kinds: str
    classes: tuple[str, ...]
    schedule: ReductionSchedule


class ScanForm(NamedTuple):
    """Compile-time properties of a scan kernel, as ``ReductionForm``; scans run along axis "r".

    expression, kinds, classes, schedule : the arrays are inputs, sources, coordinates, results, and
        states of parts
    is_reversed : whether the last element comes first
    wide : the type that floats are combined in
    stage : {"whole", "states", "parts"}, whether the axis is split; then whether the kernel stores
        the states of parts or reads them
    """

    expression: Expression
    kinds: str
    classes: tuple[str, ...]
    schedule: ReductionSchedule
    is_reversed: bool
    wide: str
    stage: str


AnyForm = Form | ReductionForm | ScanForm


@functools.lru_cache(maxsize=1024)
def name_of(form: AnyForm) -> str:
    """Return a unique kernel name that contains its last operations."""
    digest = hashlib.sha256(repr(form).encode()).hexdigest()[:12]
    operations = "_".join(t.operation for t in form.expression.terms[-3:])
    return f"{operations or 'copy'}_{digest}"
