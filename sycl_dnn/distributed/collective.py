# SPDX-License-Identifier: Apache-2.0
"""One collective call: comparison with the other ranks' calls, and submission to oneCCL."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from sycl_dnn.distributed.group import Group, current
from sycl_dnn.onednn import dtypes

#: oneCCL's codes of the operations.
_NUMBERS = {
    "int8": 0, "uint8": 1, "int32": 2, "uint32": 3, "int64": 4, "uint64": 5,
    "float16": 6, "float32": 7, "float64": 8, "bfloat16": 9,
}  # fmt: skip
_BYTES = _NUMBERS["uint8"]
_OPS = {"sum": 0, "prod": 1, "max": 2, "min": 3}
#: Collectives that compute; the others transfer bytes of any dtype.
_REDUCING = ("all_reduce", "reduce", "reduce_scatter")


@dataclass(frozen=True)
class Collective:
    """One collective call on one rank.

    kind : oneCCL's name
    shape : of this rank's argument; for ``reduce_scatter``, of its result
    op : only for collectives that compute
    root : only for ``broadcast`` and ``reduce``
    written : number of elements of this rank's result
    name : the public function's name, if different
    of : what the array is, if ranks may have different ones of one shape
    """

    kind: str
    dtype: str
    shape: tuple[int, ...]
    written: int
    op: str = "sum"
    root: int = 0
    name: str = ""
    of: str = ""

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def words(self) -> str:
        """The description used in errors and comparisons; equal calls have equal descriptions."""
        details = f", {self.op}" if self.kind in _REDUCING else ""
        details += f", root {self.root}" if self.kind in ("broadcast", "reduce") else ""
        details += f", {self.of}" if self.of else ""
        size = "x".join(map(str, self.shape)) or 1
        return f"{self.name or self.kind}({self.dtype}, {size} elements{details})"

    def check(self) -> None:
        """Refuse a dtype or operation that oneCCL does not support.

        Raises TypeError if oneCCL does not support the operation for the dtype.
        """
        if self.kind not in _REDUCING:
            return
        as_bytes = self.dtype == "bool" and self.op in ("max", "min")
        if self.dtype not in _NUMBERS and not as_bytes:
            choices = ", ".join(_NUMBERS)
            raise TypeError(
                f"{self.kind}: dtype must be one of {choices} for {self.op!r}, got {self.dtype}"
            )

    def submit(
        self, group: Group, stream: Any, src: tuple[Any, int], dst: tuple[Any, int],
        starts: bool = False,
    ) -> Any:  # fmt: skip
        """Submit over memory, given as pairs of an object with ``_pointer`` and a byte offset.

        With ``starts``, later submissions may overlap with it until ``join`` is called on the
        returned object, which is None if there is nothing to do.

        Raises MismatchError if another rank called something else, and RuntimeError if a rank has
        ended, or a previous collective failed.
        """
        group.refuse_if_gone(self.words)
        group.check(self.words)
        if not self.size:
            return None
        itemsize = dtypes.bits_of(self.dtype) // 8
        reduces = self.kind in _REDUCING
        number = _NUMBERS.get(self.dtype, _BYTES) if reduces else _BYTES
        parts = group.size if self.kind == "all_to_all" else 1
        count = self.size // parts if reduces else self.size * itemsize // parts
        submit = group.communicator.start if starts else group.communicator.submit
        return submit(
            stream, self.kind, src, dst, count, number, _OPS[self.op], self.root,
            self.written * itemsize, self.words,
        )  # fmt: skip


def compare_words(words: str, group: Group | None = None) -> None:
    """Raise MismatchError on every rank unless all pass the same string.

    Parameters
    ----------
    words : str
        Whatever must agree: settings, versions, the number of steps.
    group : Group, optional

    Raises
    ------
    MismatchError
        They differ; the message lists the values.
    RuntimeError
        A rank has ended or does not arrive in time.

    Examples
    --------
    >>> import sycl_dnn
    >>> sycl_dnn.distributed.compare_words("batch 64")
    """
    group = current() if group is None else group
    if group.size > 1:
        group.compare(words)
