# SPDX-License-Identifier: Apache-2.0
"""Record what a function does: primitives with their reorders, fills and calls of dpnp."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import dpnp
import numpy as np
from dpnp.exceptions import ExecutionPlacementError

from sycl_dnn import _core, errors
from sycl_dnn.dispatch import dtypes, layout, policy
from sycl_dnn.dispatch.described import described, go_on_to, warn_of_reference
from sycl_dnn.dispatch.record import (
    ArrayStep,
    Entry,
    Layout,
    NeedsAnotherDevice,
    Out,
    Step,
)
from sycl_dnn.dispatch.tensor import Storage, Tensor

_NARROW = ("float16", "bfloat16", "float8_e5m2", "float8_e4m3")


class Trace:
    """The steps of one function, and the tape for its gradient.

    Parameters
    ----------
    engine : Engine
        Where the primitives are to run.
    training : bool
        Whether a gradient follows: forward primitives then write their workspaces.
    """

    def __init__(self, engine: _core.Engine, training: bool = False) -> None:
        self.engine = engine
        self.training = training
        #: Whether values are kept narrower than the function says.
        self.is_lowered = False
        self.policy = policy.current()
        self.steps: list[Step | ArrayStep] = []
        self.tape: list[Entry] = []
        #: What a call gives, in order.
        self.arguments: list[Storage] = []
        #: Arrays and seeds that the function holds itself, with the number of the argument.
        self.captured: list[tuple[int, Any, Tensor]] = []
        #: Arguments that a call writes to, with the words that name them in errors.
        self.written: list[tuple[Storage, str]] = []
        self._reordered: dict[tuple[Any, ...], Tensor] = {}

    @property
    def forward_kind(self) -> _core.prop_kind:
        """The propagation kind of forward primitives."""
        kinds = _core.prop_kind
        return kinds.forward_training if self.training else kinds.forward_inference

    def argument(
        self,
        shape: tuple[int, ...],
        dtype: str,
        strides: tuple[int, ...],
        constant: bool = False,
        desc: _core.MemoryDesc | None = None,
    ) -> Tensor:
        """Return the tensor of the next array of the call."""
        if desc is None and dtype in dtypes.DATA_TYPES:
            desc = layout.strided(shape, dtype, strides)
        storage = self._argument_storage(desc, constant=constant)
        return Tensor(self, storage, desc, dtype, shape, strides=strides)

    def capture(self, value: Any) -> Tensor:
        """Return the tensor of an array that the traced function holds itself."""
        from sycl_dnn.dispatch.arguments import argument_of

        for _, known, tensor in self.captured:
            if known is value:
                return tensor
        array = value.get_array() if hasattr(value, "get_array") else value
        queue = getattr(array, "sycl_queue", None)
        if queue is not None and queue.sycl_context != self.engine.sycl_queue.sycl_context:
            raise ExecutionPlacementError(
                "an array that a traced function holds itself must be on the device of its "
                f"arguments, got {queue.sycl_device.filter_string}"
            )
        index = len(self.arguments)
        tensor = argument_of(self, value)
        self.captured.append((index, value, tensor))
        return tensor

    def scalar(self, dtype: str) -> Tensor:
        """Return a host scalar that each call gives anew."""
        desc = _core.MemoryDesc.host_scalar(dtypes.DATA_TYPES[dtype])
        storage = self._argument_storage(desc, scalar=True)
        return Tensor(self, storage, desc, dtype, (), strides=())

    def _argument_storage(self, desc: Any, **traits: bool) -> Storage:
        storage = Storage(desc, argument=len(self.arguments), **traits)
        self.arguments.append(storage)
        return storage

    def new(
        self,
        desc: _core.MemoryDesc,
        shape: Sequence[int] | None = None,
        dtype: str | None = None,
    ) -> Tensor:
        """Return a tensor that the next step writes; ``dtype`` tells bool from uint8."""
        shape = desc.dims if shape is None else tuple(shape)
        name = dtypes.NAMES[desc.data_type]
        name = "bool" if dtype == "bool" and name == "uint8" else name
        return Tensor(self, Storage(desc), desc, name, shape)

    def primitive(
        self,
        row: str,
        inputs: Mapping[str, Tensor],
        outputs: Mapping[str, Out],
        *,
        ask: Mapping[str, Layout] | None = None,
        attr: _core.PrimitiveAttr | None = None,
        prefer: str | None = None,
        **params: Any,
    ) -> dict[str, Tensor]:
        """Record a primitive and the reorders that it needs; return its outputs by name.

        Parameters
        ----------
        row : str
            Name of the primitive, as in ``sycl_dnn.onednn``.
        inputs, outputs : dict
            By the names of execution arguments. A ``workspace`` comes by itself when training.
        ask : dict, optional
            Layouts to ask for inputs; without, an input's own.
        prefer : str, optional
            Part of the name of the implementation to take, where oneDNN would take another.
        **params
            The remaining parameters of the row.
        """
        ask = dict(ask or {})
        try:
            pd = described(self.engine, row, inputs, outputs, ask, attr, params)
        except errors.Unimplemented as error:
            return self._fall_back(row, inputs, outputs, ask, attr, params, error)
        if prefer is not None and not go_on_to(pd, prefer):
            pd = described(self.engine, row, inputs, outputs, ask, attr, params)
        if "attr_dropout_seed" not in inputs:  # of dropout there is no other implementation
            warn_of_reference(row, pd)
        args = {name: self._fitted(t, pd.desc_of(name)) for name, t in inputs.items()}
        made = {
            name: self.new(self._given_or(pd.desc_of(name), out), out.shape, out.dtype)
            for name, out in outputs.items()
        }
        workspace = pd.desc_of("workspace")
        if workspace and "workspace" not in args and "workspace" not in made:
            made["workspace"] = self._workspace(workspace)
        self._add(Step(_core.Primitive(pd), args, made))
        self.tape.append(Entry(row, dict(inputs), made, params, args, pd))
        return made

    def _workspace(self, desc: _core.MemoryDesc) -> Tensor:
        return Tensor(self, Storage(desc), desc, "uint8", desc.dims)

    @staticmethod
    def _given_or(found: _core.MemoryDesc, out: Out) -> _core.MemoryDesc:
        return found if found else out.desc()

    def _fitted(self, tensor: Tensor, wanted: _core.MemoryDesc) -> Tensor:
        if not wanted or tensor.storage.scalar:
            return tensor
        if tensor.desc != wanted:
            return self.reorder(tensor, wanted)
        if wanted.is_plain and wanted.strides != tensor.desc.strides:
            # Axes of size 1 leave strides open, yet oneDNN tells layouts apart by them.
            shape = tensor.shape
            return Tensor(self, tensor.storage, wanted, tensor.dtype, shape, tensor.offset)
        return tensor

    def _fall_back(
        self,
        row: str,
        inputs: Mapping[str, Tensor],
        outputs: Mapping[str, Out],
        ask: Mapping[str, Layout],
        attr: _core.PrimitiveAttr | None,
        params: Mapping[str, Any],
        error: errors.Unimplemented,
    ) -> dict[str, Tensor]:
        """Compute in float32 what the engine lacks in a narrower type."""
        narrow = {n for n, t in inputs.items() if t.dtype in _NARROW}
        if self.policy.fallback == "error":
            raise error
        if not narrow and not any(o.dtype in _NARROW for o in outputs.values()):
            raise NeedsAnotherDevice(row, error)
        kinds = sorted({inputs[n].dtype for n in narrow})
        policy.warn_once(
            policy.FallbackWarning,
            (row, *kinds),
            f"{row}: this engine has no implementation for {', '.join(kinds)}; it computes in "
            "float32 and converts (set_fallback('error') refuses instead)",
        )
        wide = {n: self.convert(t, "float32") if n in narrow else t for n, t in inputs.items()}
        wider = {
            n: Out(o.shape, "float32" if o.dtype in _NARROW else o.dtype, o.layout)
            for n, o in outputs.items()
        }
        made = self.primitive(row, wide, wider, ask=ask, attr=attr, **params)
        return {
            n: self.convert(t, outputs[n].dtype) if n in outputs else t for n, t in made.items()
        }

    def reorder(self, tensor: Tensor, wanted: _core.MemoryDesc, inserted: bool = True) -> Tensor:
        """Return the tensor in another layout or dtype of the same shape; not on the tape.

        ``inserted`` is false where the caller asked for the copy; ``profile`` tells them apart.
        """
        key = (id(tensor.storage), tensor.offset, tensor.desc, wanted)
        found = self._reordered.get(key)
        if found is not None:
            return found
        name = dtypes.NAMES[wanted.data_type]
        dtype = tensor.dtype if tensor.dtype == "bool" and name == "uint8" else name
        made = Tensor(self, Storage(wanted), wanted, dtype, tensor.shape)
        self._add(self.copy_step(tensor, made, inserted=inserted))
        # The tensor is kept: its storage's id stays its own.
        self._reordered[key] = made
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
            pd = _core.reorder(self.engine, src=src.desc, dst=dst.desc, attr=attr)
        except errors.Unimplemented as error:
            raise NeedsAnotherDevice("reorder", error) from None
        return Step(_core.Primitive(pd, inserted), {"src": src}, {"dst": dst})

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

    def literal(self, values: np.ndarray) -> Tensor:
        """Return a tensor of float32 values that are known while tracing."""
        from sycl_dnn.onednn._memory import Memory

        dense = np.ascontiguousarray(values, np.float32)
        desc = layout.row_major(dense.shape, "float32")
        array = dpnp.asarray(dense, sycl_queue=self.engine.sycl_queue)
        storage = Storage(desc, memory=Memory(desc, self.engine, array))
        # Not among what is packed once: that is kept by a frozen array.
        storage.constant = False
        return Tensor(self, storage, desc, "float32", dense.shape)

    def update(self, argument: Tensor, value: Tensor, name: str) -> None:
        """Record that a call writes ``value`` into the array that it gave as ``argument``.

        Steps recorded before read the old content, later ones the new. ``name`` stands for the
        array in errors: ``"<function>: <argument>"``.
        """
        storage = argument.storage
        if storage.argument is None or storage.constant:
            raise ValueError(f"{name} must be an array of the caller that is not frozen")
        pd = _core.reorder(self.engine, src=value.desc, dst=argument.desc)
        self.steps.append(Step(_core.Primitive(pd), {"src": value}, {"dst": argument}))
        self.written.append((storage, name))
        # Copies in other layouts show the old content.
        self._reordered = {k: t for k, t in self._reordered.items() if k[0] != id(storage)}

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

    def view(self, tensor: Tensor, made: Tensor, rule: Callable[[Tensor], Tensor]) -> Tensor:
        """Put a view on the tape; ``rule`` maps the gradient of the view to that of ``tensor``."""
        self.tape.append(
            Entry("view", {"src": tensor}, {"dst": made}, rule=lambda e, g: {"src": rule(g["dst"])})
        )
        return made

    def closed(
        self,
        inputs: Mapping[str, Tensor],
        body: Callable[[], Tensor],
        rule: Callable[[Tensor], dict[str, Tensor]],
    ) -> Tensor:
        """Record what ``body`` does as one operation with a gradient of its own.

        ``rule(dy)`` returns the gradients of ``inputs`` by name.
        """
        known = len(self.tape)
        made = body()
        del self.tape[known:]
        entry = Entry("closed", dict(inputs), {"dst": made}, rule=lambda e, g: rule(g["dst"]))
        self.tape.append(entry)
        return made

    def array_call(
        self,
        function: Callable[..., Any],
        inputs: Sequence[Tensor],
        outs: Sequence[Out],
        rule: Callable[..., Any] | None = None,
    ) -> list[Tensor]:
        """Record a call over dpnp arrays for what oneDNN lacks.

        ``function(*arrays)`` returns one array, or as many as there are ``outs``; if it has a true
        attribute ``takes_queue`` it gets the ``queue`` of the call as well. ``rule(entry, grads)``
        gives the gradients by the names ``"0"``, ``"1"``... of the inputs.
        """
        named = {str(i): t for i, t in enumerate(inputs)}
        made = {str(i): self._array_result(out) for i, out in enumerate(outs)}
        self._add(ArrayStep(function, {n: self._as_array(t) for n, t in named.items()}, made))
        self.tape.append(Entry("array_call", named, made, rule=rule))
        return list(made.values())

    def _as_array(self, tensor: Tensor) -> Tensor:
        """Return the tensor where a call of dpnp's can read it; host scalars come as numbers."""
        if tensor.storage.scalar:
            return tensor
        if tensor.storage.memory is not None:
            return self.reorder(tensor, tensor.desc)
        return self.plain(tensor)

    def _array_result(self, out: Out) -> Tensor:
        strides = layout.row_major_strides(out.shape)
        desc = out.desc() if out.dtype in dtypes.DATA_TYPES else None
        return Tensor(self, Storage(desc), desc, out.dtype, out.shape, strides=strides)

    def _add(self, step: Step | ArrayStep) -> None:
        step.constant = bool(step.inputs) and all(t.storage.constant for t in step.inputs.values())
        for made in step.outputs.values():
            made.storage.constant = step.constant
        self.steps.append(step)
