# SPDX-License-Identifier: Apache-2.0
"""What a kernel of reductions is compiled for."""

from __future__ import annotations

from typing import NamedTuple

from sycl_dnn.kernels.expression import Expression


class ReductionSchedule(NamedTuple):
    """How a device runs a kernel of reductions.

    Attributes
    ----------
    lanes : int
        The axis of vectors.
    width : int
        Elements of a vector, at most the size of that axis.
    unroll : int
        Vectors that an item processes side by side.
    n_items : int
        Items of a group.
    part : int
        The axis that counts parts of the reduced axis after it, of which the last may be shorter;
        -1 without one.
    """

    lanes: int
    width: int
    unroll: int
    n_items: int
    part: int = -1

    @property
    def step(self) -> int:
        """Elements along the axis of vectors that a group processes at a time."""
        return self.width * self.unroll * self.n_items


class ReductionForm(NamedTuple):
    """What a kernel is compiled for: no size and no stride, so new shapes need no compiler.

    Attributes
    ----------
    expression : Expression
    kinds : str
        Of each axis: kept (k) or reduced (r).
    classes : tuple of str
        Of inputs and results, by axis: stride 0, stride 1 of vectors (1), any (n).
    schedule : ReductionSchedule
    """

    expression: Expression
    kinds: str
    classes: tuple[str, ...]
    schedule: ReductionSchedule
