# SPDX-License-Identifier: Apache-2.0
"""How a trace copies: other layouts and dtypes, zeros, writes into what is there already."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from sycl_dnn import _core, errors
from sycl_dnn.dispatch import layout
from sycl_dnn.dispatch.record import ArrayStep, Entry, NeedsAnotherDevice, Step
from sycl_dnn.dispatch.tensor import Storage, Tensor
from sycl_dnn.dispatch.trace_state import TraceState
from sycl_dnn.onednn import dtypes


class CopyingTrace(TraceState):
    """A trace that knows reorders and fills; ``Trace`` adds the other primitives."""

    def __init__(self, engine: _core.Engine, training: bool = False) -> None:
        super().__init__(engine, training)
        #: Copies that were made so far: by storage, then by views of both.
        self._reordered: dict[Storage, dict[tuple[Any, ...], Tensor]] = {}
        self._n_repeats = 0

    def recorded_apart(self, body: Callable[[], Any]) -> tuple[Any, list[Step | ArrayStep]]:
        """Return what ``body`` returns, and the steps that it records, which are not kept here.

        Those may run before what was recorded so far, so no copy that was made before serves them.
        """
        known = self.steps, self._reordered
        self.steps, self._reordered = [], {}
        try:
            return body(), self.steps
        finally:
            self.steps, self._reordered = known

    @contextlib.contextmanager
    def drawing(self) -> Iterator[list[Tensor]]:
        """Note the seeds that are captured, in order."""
        outer, self._drawn = self._drawn, []
        try:
            yield self._drawn
        finally:
            if outer is not None:
                outer += self._drawn
            self._drawn = outer

    @contextlib.contextmanager
    def repeating(self, seeds: Sequence[Tensor]) -> Iterator[None]:
        """Record a function once more: nothing that it made the first time is read.

        It gets the same ``seeds``, and updates no array of the caller's.
        """
        known = self._reordered, self._repeated
        self._reordered, self._repeated = {}, iter(seeds)
        self._n_repeats += 1
        number, first = self._n_repeats, len(self.steps)
        try:
            yield
        finally:
            self._reordered, self._repeated = known
            for step in self.steps[first:]:
                for tensor in step.outputs.values():
                    tensor.storage.repeat = number

    def reorder(self, tensor: Tensor, wanted: _core.MemoryDesc, inserted: bool = True) -> Tensor:
        """Return the tensor in another layout or dtype of the same shape; not on the tape.

        ``inserted`` is false where the caller asked for the copy; ``profile`` tells them apart.
        """
        known = self._reordered.setdefault(tensor.storage, {})
        key = (tensor.offset, tensor.desc, wanted)
        found = known.get(key)
        if found is not None:
            return found
        name = dtypes.NAMES[wanted.data_type]
        dtype = tensor.dtype if tensor.dtype == "bool" and name == "uint8" else name
        made = Tensor(self, Storage(wanted), wanted, dtype, tensor.shape)
        self._add(self.copy_step(tensor, made, inserted=inserted))
        known[key] = made
        return made

    def copy_step(
        self,
        src: Tensor,
        dst: Tensor,
        attr: _core.PrimitiveAttr | None = None,
        inserted: bool = False,
    ) -> Step:
        """Return a reorder, not recorded yet; 64-bit numbers are copied as pairs of halves."""
        # Halves can be copied, not added.
        if attr is None and src.dtype == dst.dtype and src.dtype in ("int64", "float64"):
            src, dst = src.halves(), dst.halves()
        try:
            pd = self.descriptor("reorder", {"src": src.desc, "dst": dst.desc}, attr)
        except errors.Unimplemented as error:
            raise NeedsAnotherDevice("reorder", error) from None
        return Step(self.primitive_of(pd, inserted), {"src": src}, {"dst": dst})

    def plain(self, tensor: Tensor) -> Tensor:
        """Return the tensor in a layout that arrays have; not on the tape."""
        if tensor.desc is None or tensor.desc.is_plain:
            return tensor
        return self.reorder(tensor, layout.row_major(tensor.shape, tensor.dtype))

    def widened(self, tensor: Tensor) -> Tensor:
        """Return the float32 values of a tensor that the trace itself made narrower."""
        return tensor

    def convert(self, tensor: Tensor, dtype: str, inserted: bool = True) -> Tensor:
        """Return the tensor in another dtype, in the same order of axes."""
        if tensor.dtype == dtype:
            return tensor
        made = self.reorder(tensor, layout.like(tensor.desc, dtype), inserted)
        self.tape.append(Entry("convert", {"src": tensor}, {"dst": made}))
        return made

    def zeros(
        self,
        desc: _core.MemoryDesc,
        shape: Sequence[int] | None = None,
        dtype: str | None = None,
    ) -> Tensor:
        """Return a tensor of zero bytes."""
        made = self.new(desc, shape, dtype)
        self._add(Step(None, {}, {"dst": made}))
        return made

    def update(self, argument: Tensor, value: Tensor, name: str) -> None:
        """Record that a call writes ``value`` into the array that it gave as ``argument``.

        Steps recorded before read the old content, later ones the new. ``name`` stands for the
        array in errors: ``"<function>: <argument>"``.
        """
        storage = argument.storage
        if storage.argument is None or storage.constant:
            raise ValueError(f"{name} must be an array of the caller that is not frozen")
        if self._repeated is not None:
            return
        pd = self.descriptor("reorder", {"src": value.desc, "dst": argument.desc}, None)
        self.steps.append(Step(self.primitive_of(pd), {"src": value}, {"dst": argument}))
        self.written.append((storage, name))
        # Copies in other layouts show the old content.
        self._reordered.pop(storage, None)

    def written_into(self, whole: Tensor, place: Tensor, value: Tensor) -> Tensor:
        """Record a copy of ``value`` into ``place``, a view of ``whole``; not on the tape."""
        # Not constant even where ``value`` is: the rest of ``whole`` is made at every call.
        self.steps.append(self.copy_step(value, place))
        return whole

    def added_to(self, place: Tensor, value: Tensor) -> None:
        """Record that ``value`` is added to what ``place`` holds; not on the tape."""
        post_ops = _core.PostOps()
        post_ops.append_sum(1.0)
        attr = _core.PrimitiveAttr()
        attr.set_post_ops(post_ops)
        self.steps.append(self.copy_step(value, place, attr))
