# SPDX-License-Identifier: Apache-2.0
"""Record what a function does: primitives with the reorders they need, and calls of dpnp."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sycl_dnn import _core, errors
from sycl_dnn.dispatch import layout, policy
from sycl_dnn.dispatch.described import parameters_of, warn_of_reference
from sycl_dnn.dispatch.gpu_layouts import safe_softmax
from sycl_dnn.dispatch.record import ArrayStep, Entry, Layout, NeedsAnotherDevice, Out, Step
from sycl_dnn.dispatch.tensor import Storage, Tensor
from sycl_dnn.dispatch.trace_copies import CopyingTrace
from sycl_dnn.dispatch.widening import NARROW, wide_out, wide_post_ops, wide_values
from sycl_dnn.onednn import dtypes


class Trace(CopyingTrace):
    """The steps of one function, and the tape for its gradient.

    Parameters
    ----------
    engine : Engine
        Where the primitives are to run.
    training : bool
        Whether a gradient follows: forward primitives then write their workspaces.
    """

    def primitive(
        self,
        row: str,
        inputs: Mapping[str, Tensor],
        outputs: Mapping[str, Out],
        *,
        ask: Mapping[str, Layout] | None = None,
        attr: _core.PrimitiveAttr | None = None,
        prefer: str | None = None,
        composed: Callable[[Mapping[str, Tensor]], dict[str, Tensor]] | None = None,
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
        composed : callable, optional
            ``composed(inputs)`` returns the outputs, made of operations whose gradients have
            gradients; see ``closed``.
        **params
            The remaining parameters of the row.
        """
        ask = dict(ask or {})
        if row == "softmax_forward":
            outputs, ask = safe_softmax(self.engine, inputs, outputs, ask)
        try:
            given = parameters_of(row, inputs, outputs, ask, params)
            pd = self.descriptor(row, given, attr, prefer)
        except errors.Unimplemented as error:
            params = {**params, "composed": composed}
            return self._fall_back(row, inputs, outputs, ask, attr, params, error)
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
        self._add(Step(self.primitive_of(pd), args, made))
        entry = Entry(row, dict(inputs), made, params, args, pd)
        entry.has_post_ops = attr is not None and any(c[0] == "set_post_ops" for c in attr.calls)
        if composed is not None:
            entry.composed = lambda: composed(entry.inputs)
        self.tape.append(entry)
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
        narrow = {n for n, t in inputs.items() if t.dtype in NARROW}
        if self.policy.fallback == "error":
            raise error
        met = {t.dtype for t in inputs.values()} | {o.dtype for o in outputs.values()}
        kinds = sorted(met.intersection(NARROW))
        if not kinds:
            raise NeedsAnotherDevice(row, error)
        policy.warn_once(
            policy.FallbackWarning,
            (row, *kinds),
            f"{row}: this engine has no implementation for {', '.join(kinds)}; it computes in "
            "float32 and converts (set_fallback('error') refuses instead)",
        )
        wide = {n: self.convert(t, "float32") if n in narrow else t for n, t in inputs.items()}
        made = self.primitive(
            row,
            wide,
            {n: wide_out(o) for n, o in outputs.items()},
            ask=wide_values(ask),
            attr=wide_post_ops(attr),
            **wide_values(params),
        )
        return {
            n: self.convert(t, outputs[n].dtype) if n in outputs else t for n, t in made.items()
        }

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
