# SPDX-License-Identifier: Apache-2.0
"""Recording of a function: primitives with the reorders that they need, and calls of dpnp."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import dpnp

from sycl_dnn import _core, errors
from sycl_dnn.onednn import dtypes, reference_code
from sycl_dnn.onednn.avoidance import writes_transposed_into_gaps
from sycl_dnn.trace import functions, layout, policy
from sycl_dnn.trace.descriptors import (
    NARROW,
    parameters_of,
    refuse_inexact,
    wide_out,
    wide_post_ops,
    wide_values,
)
from sycl_dnn.trace.frozen import Seed, argument_of
from sycl_dnn.trace.gpu_layouts import safe_softmax
from sycl_dnn.trace.old_contents import set_apart
from sycl_dnn.trace.steps import (
    ArrayStep,
    Entry,
    Layout,
    NeedsAnotherDevice,
    Out,
    Planned,
    Step,
)
from sycl_dnn.trace.trace_state import TraceState
from sycl_dnn.trace.values import Storage, Tensor, alias

if TYPE_CHECKING:
    from sycl_dnn.trace.frozen import Seed


#: Dtypes whose bits oneDNN copies only as pairs of halves.
_IN_HALVES = frozenset({"int64", "float64", *dtypes.STAND_INS} - {"uint32"})


def _redescribed(tensor: Tensor, desc: _core.MemoryDesc) -> Tensor | None:
    """Return the same elements by another descriptor, if only strides of axes of size 1 differ."""
    t = tensor
    if not (t.desc.is_plain and desc.is_plain and t.desc.data_type == desc.data_type):
        return None
    sizes, pairs = t.desc.dims, zip(t.desc.strides, desc.strides, strict=True)
    if sizes != desc.dims or any(a != b for n, (a, b) in zip(sizes, pairs, strict=True) if n > 1):
        return None
    return Tensor(t.trace, t.storage, desc, t.dtype, t.shape, t.offset)


def _canonical(tensor: Tensor) -> Tensor:
    """Return a tensor in whose layout an axis of size 1 has the stride of a dense array."""
    if not tensor.desc.is_plain or 1 not in tensor.shape or tensor.shape != tensor.desc.dims:
        return tensor
    strides = layout.canonical_strides(tensor.shape, tensor.desc.strides)
    if strides == tuple(tensor.desc.strides):
        return tensor
    desc = layout.strided(tensor.shape, tensor.dtype, strides)
    return Tensor(tensor.trace, tensor.storage, desc, tensor.dtype, tensor.shape, tensor.offset)


class Trace(TraceState):
    """The steps of one function, and the tape for its gradient.

    ``engine``: where the primitives will run; ``training``: whether a gradient follows: forward
    primitives then write their workspaces.
    """

    def __init__(self, engine: _core.Engine, training: bool = False) -> None:
        super().__init__(engine, training)
        #: Copies so far, by storage, then by views of both. Those of different tensors share memory
        #: but no gradient.
        self._reordered: dict[Storage, dict[tuple[Any, ...], list[tuple[Tensor, Tensor]]]] = {}
        self._n_repeats = 0

    def recorded_apart(self, body: Callable[[], Any]) -> tuple[Any, list[Step | ArrayStep]]:
        """Return the result of ``body`` and the steps it records, which are not added to the trace.

        These may run before those recorded so far, so they cannot use earlier copies.
        """
        saved = self.steps, self._reordered
        self.steps, self._reordered = [], {}
        try:
            return body(), self.steps
        finally:
            self.steps, self._reordered = saved

    @contextlib.contextmanager
    def repeating(self, seeds: Sequence[Tensor]) -> Iterator[None]:
        """Record a function again without reading copies of the first time.

        It uses the same ``seeds``, and does not update the caller's arrays.
        """
        saved = self._reordered, self._repeated
        self._reordered, self._repeated = {}, iter(seeds)
        self._n_repeats += 1
        number, first = self._n_repeats, len(self.steps)
        try:
            yield
        finally:
            self._reordered, self._repeated = saved
            for step in self.steps[first:]:
                for tensor in step.outputs.values():
                    tensor.storage.repeat = number

    def reorder(self, tensor: Tensor, desc: _core.MemoryDesc, inserted: bool = True) -> Tensor:
        """Return the tensor in another layout or dtype of the same shape; not on the tape.

        ``inserted`` is false if the caller requested the copy; ``profile`` distinguishes the two.
        """
        key = (tensor.offset, tensor.desc, desc)
        copies = self._reordered.setdefault(tensor.storage, {}).setdefault(key, [])
        for source, copy in copies:
            if source is tensor:
                return copy
        copy = alias(copies[0][1]) if copies else self._reordered_once(tensor, desc, inserted)
        copies.append((tensor, copy))
        return copy

    def _reordered_once(self, tensor: Tensor, desc: _core.MemoryDesc, inserted: bool) -> Tensor:
        dtype = layout.dtype_of(desc, tensor.dtype)
        if dtype != tensor.dtype and (dtype == "float64" or tensor.dtype in dtypes.STAND_INS):
            # The other way is left to oneDNN, which refuses it: nothing narrows float64 unasked.
            return self._by_kernel(tensor, dtype, desc)
        copy = Tensor(self, Storage(desc), desc, dtype, tensor.shape)
        self.add_step(self.copy_step(tensor, copy, inserted=inserted))
        return copy

    def _by_kernel(self, tensor: Tensor, dtype: str, desc: _core.MemoryDesc) -> Tensor:
        """Return a tensor converted by a generated kernel, in a layout; not on the tape."""
        tape, self.tape = self.tape, []
        try:
            converted = functions.conversion_kernel(tensor, dtype)
        finally:
            self.tape = tape
        return converted if converted.desc == desc else self.reorder(converted, desc)

    def copy_of(self, tensor: Tensor, desc: _core.MemoryDesc) -> Tensor | None:
        """Return the copy that ``reorder`` recorded for a layout; None if there is none."""
        key = (tensor.offset, tensor.desc, desc)
        copies = self._reordered.get(tensor.storage, {}).get(key)
        return copies[0][1] if copies else None

    def joined(
        self,
        function: Any,
        body: Callable[..., Any],
        args: Sequence[Any],
        kwargs: dict[str, Any],
        is_taped: bool = True,
    ) -> Any:
        """Record a function: run its body over tensors.

        A compiled function has one recording for each ``function`` and arguments: it says what the
        body does. What is not ``is_taped`` is not differentiated.
        """
        return body(*args, **kwargs)

    def called(self, function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Record a function of the layer, with its name on the tape."""
        tape, start = self.tape, len(self.tape)
        try:
            result = self.joined(function, function.body, args, kwargs)
        except (IndexError, TypeError, ValueError) as error:
            errors.name_function(error, function.name)
            raise
        for entry in tape[start:]:
            # The outermost function comes last: that is the one that the user called.
            entry.function = function.name
        return result

    def copy_step(
        self,
        src: Tensor,
        dst: Tensor,
        attr: _core.PrimitiveAttr | None = None,
        inserted: bool = False,
    ) -> Step:
        """Return a reorder, not recorded yet; numbers that oneDNN lacks are copied as halves."""
        if dtypes.is_complex(src.dtype):
            src, dst = src.pairs(), dst.pairs()
        # Halves can be copied, not added.
        if attr is None and src.dtype == dst.dtype and src.dtype in _IN_HALVES:
            src, dst = src.halves(), dst.halves()
        is_on_cpu = self.engine.kind is _core.engine_kind.cpu
        if attr is None and is_on_cpu and writes_transposed_into_gaps(src.desc, dst.desc):
            attr = _of_any_order()
        try:
            pd = self.descriptor("reorder", {"src": src.desc, "dst": dst.desc}, attr)
        except errors.Unimplemented as error:
            raise NeedsAnotherDevice("reorder", error) from None
        return Step(Planned(pd, inserted), {"src": src}, {"dst": dst})

    def plain(self, tensor: Tensor) -> Tensor:
        """Return the tensor in a layout that arrays have; not on the tape."""
        if tensor.desc.is_plain:
            return tensor
        return self.reorder(tensor, layout.row_major(tensor.shape, tensor.dtype))

    def widened(self, tensor: Tensor) -> Tensor:
        """Return the float32 values of a tensor that the trace itself narrowed."""
        return tensor

    def convert(self, tensor: Tensor, dtype: str, inserted: bool = True) -> Tensor:
        """Return the tensor in another dtype, in the same order of axes."""
        if tensor.dtype == dtype:
            return tensor
        if dtypes.is_complex(tensor.dtype) or dtypes.is_complex(dtype):
            return functions.complex_conversion(tensor, dtype)  # type: ignore[no-any-return]
        desc = layout.like(tensor.desc, dtype)
        if dtype in dtypes.STAND_INS:  # which the descriptor does not tell
            converted = self._by_kernel(tensor, dtype, desc)
        else:
            converted = self.reorder(tensor, desc, inserted)
        self.tape.append(Entry("convert", {"src": tensor}, {"dst": converted}))
        return converted

    def zeros(
        self,
        desc: _core.MemoryDesc,
        shape: Sequence[int] | None = None,
        dtype: str | None = None,
    ) -> Tensor:
        """Return a tensor of zero bytes."""
        tensor = self.new(desc, shape, dtype)
        self.add_step(Step(None, {}, {"dst": tensor}))
        return tensor

    def update(
        self, argument: Tensor, value: Tensor, name: str, is_alone: bool = False,
        are_views_old: bool = False,
    ) -> None:  # fmt: skip
        """Record that a call writes ``value`` into the array passed as ``argument``.

        Steps recorded earlier and their gradients read the old content, later ones the new.
        ``name`` represents the array in errors: ``"<function>: <argument>"``. ``is_alone``:
        whether calls are refused in which another argument shares its memory. ``are_views_old``:
        whether views of the argument keep the old content.
        """
        storage = argument.storage
        if storage.argument is None or (storage.constant and not self.may_vary(storage)):
            raise ValueError(
                f"{name} must be an array of the caller with positive strides that is not frozen"
            )
        if self._repeated is not None:
            return
        set_apart(self, argument, are_views_old)
        self.steps.append(self.copy_step(value, argument))
        self.written.append((storage, name))
        self.alone |= {storage} if is_alone else set()
        # Copies in other layouts show the old content.
        self._reordered.pop(storage, None)

    def may_vary(self, storage: Storage) -> bool:
        """Whether a constant may be updated after all."""
        return False

    def written_into(self, whole: Tensor, place: Tensor, value: Tensor) -> Tensor:
        """Record a copy of ``value`` into ``place``, a view of ``whole``; not on the tape."""
        # Not constant even if ``value`` is: the rest of ``whole`` is computed at every call.
        self.steps.append(self.copy_step(value, place))
        return whole

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

        ``row``: name of the primitive, as in ``sycl_dnn.onednn``. ``inputs``, ``outputs``: by the
        names of execution arguments. A ``workspace`` is added automatically when training. ``ask``:
        layouts to request for inputs; by default an input's own. ``prefer``: part of the name of
        the implementation to use in place of oneDNN's choice. ``composed``: ``composed(inputs)``
        returns the outputs, computed by operations whose gradients have gradients; see ``closed``.
        ``**params``: the remaining parameters of the row.
        """
        ask = dict(ask or {})
        if row == "softmax_forward":
            outputs, ask = safe_softmax(self.engine, inputs, outputs, ask)
        try:
            parameters = parameters_of(row, inputs, outputs, ask, params)
            pd = self.descriptor(row, parameters, attr, prefer)
            refuse_inexact(pd)
        except errors.Unimplemented as error:
            params = {**params, "composed": composed}
            return self._fall_back(row, inputs, outputs, ask, attr, params, error)
        if "attr_dropout_seed" not in inputs:  # there is no other implementation of dropout
            reference_code.warn_of(pd)
        args = {name: self._fitted(t, pd.desc_of(name)) for name, t in inputs.items()}
        results = {
            name: self.new(self._desc_or(pd.desc_of(name), out), out.shape, out.dtype)
            for name, out in outputs.items()
        }
        workspace = pd.desc_of("workspace")
        if workspace and "workspace" not in args and "workspace" not in results:
            results["workspace"] = self._workspace(workspace)
        self.add_step(Step(Planned(pd), args, results))
        results = {name: _canonical(t) for name, t in results.items()}
        entry = Entry(row, dict(inputs), results, params, args, pd)
        entry.has_post_ops = attr is not None and any(c[0] == "set_post_ops" for c in attr.calls)
        entry.composed = composed
        self.tape.append(entry)
        return results

    def _workspace(self, desc: _core.MemoryDesc) -> Tensor:
        return Tensor(self, Storage(desc), desc, "uint8", desc.dims)

    @staticmethod
    def _desc_or(desc: _core.MemoryDesc, out: Out) -> _core.MemoryDesc:
        return desc if desc else out.desc()

    def _fitted(self, tensor: Tensor, desc: _core.MemoryDesc) -> Tensor:
        # Primitives have no descriptor of scales: they read them as contiguous.
        desc = desc or layout.row_major(tensor.shape, tensor.dtype)
        if tensor.desc == desc:
            return tensor
        return _redescribed(tensor, desc) or self.reorder(tensor, desc)

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
        """Compute in float32 if the engine lacks the narrower type."""
        narrow = {n for n, t in inputs.items() if t.dtype in NARROW}
        if self.policy.fallback == "error":
            raise error
        dtypes_used = {t.dtype for t in inputs.values()} | {o.dtype for o in outputs.values()}
        kinds = sorted(dtypes_used.intersection(NARROW))
        if not kinds:
            raise NeedsAnotherDevice(row, error)
        policy.warn_once(
            policy.FallbackWarning,
            (row, *kinds),
            f"{row}: this engine has no implementation for {', '.join(kinds)}; it computes in "
            "float32 and converts (set_fallback('error') refuses instead)",
        )
        wide = {n: self.convert(t, "float32") if n in narrow else t for n, t in inputs.items()}
        results = self.primitive(
            row,
            wide,
            {n: wide_out(o) for n, o in outputs.items()},
            ask=wide_values(ask),
            attr=wide_post_ops(attr),
            **wide_values(params),
        )
        return {
            n: self.convert(t, outputs[n].dtype) if n in outputs else t for n, t in results.items()
        }

    def array_call(
        self,
        function: Callable[..., Any],
        inputs: Sequence[Tensor],
        outs: Sequence[Out],
        rule: Callable[..., Any] | None = None,
        reads: Sequence[Tensor] | None = None,
        is_repeated: bool = False,
    ) -> list[Tensor]:
        """Record a call over dpnp arrays for what oneDNN lacks.

        ``function(*arrays)`` returns one array, or as many as there are ``outs``. If it has a true
        attribute ``takes_queue``, it also gets the ``queue`` of the call. ``rule(entry, grads)``
        returns the gradients by the names ``"0"``, ``"1"``... of the inputs. ``reads`` has the
        inputs in the layouts that it accepts. ``is_repeated`` calls it again even if they are
        constant.
        """
        named = {str(i): t for i, t in enumerate(inputs)}
        read = named if reads is None else {str(i): t for i, t in enumerate(reads)}
        results = {str(i): self._array_result(out) for i, out in enumerate(outs)}
        step = ArrayStep(function, {n: self._as_array(t) for n, t in read.items()}, results)
        self.add_step(step, is_repeated)
        self.tape.append(Entry("array_call", named, results, rule=rule))
        return list(results.values())

    def capture(self, value: Any) -> Tensor:
        """Return the tensor of an array that the traced function refers to itself."""
        if isinstance(value, Seed):
            return self._seed(value)
        if id(value) in self._capture_of:
            return self._capture_of[id(value)]
        self.check_place(value)
        return self.capture_as(value, lambda: argument_of(self, value))

    def _seed(self, value: Seed) -> Tensor:
        """Return the tensor of a seed; while a function is repeated, the first run's."""
        if self._repeated is not None:
            tensor = next(self._repeated)
        elif id(value) in self._capture_of:
            tensor = self._capture_of[id(value)]
        else:
            tensor = self.capture_as(value, lambda: self.scalar(str(value.dtype)))
        if self._drawn is not None:
            self._drawn.append(tensor)
        return tensor

    def capture_as(self, value: Any, make: Callable[[], Tensor]) -> Tensor:
        """Return ``make()``, the next argument, which represents a captured value."""
        index = len(self.arguments)
        argument = make()
        self.captured.append((index, value, argument))
        self._capture_of[id(value)] = tensor = self.described(argument)
        return tensor

    def described(self, tensor: Tensor) -> Tensor:
        """Return a copy of an argument whose strides oneDNN cannot describe; others unchanged."""
        if layout.is_describable(tensor.shape, tensor.strides):
            return tensor
        try:
            return functions.dense_copy(tensor)  # type: ignore[no-any-return]
        except NotImplementedError:  # so large that kernels do not index it
            dense = Out(tensor.shape, str(tensor.dtype))
            return self.array_call(dpnp.ascontiguousarray, [tensor], [dense], lambda *_: {})[0]

    def _as_array(self, tensor: Tensor) -> Tensor:
        """Return the tensor in a form that dpnp can read."""
        if tensor.storage.memory is not None:
            return self.reorder(tensor, tensor.desc)
        return self.plain(tensor)

    def _array_result(self, out: Out) -> Tensor:
        strides = layout.row_major_strides(out.shape)
        desc = out.desc()
        storage = Storage(desc)
        storage.dtype = str(out.dtype)
        return Tensor(self, storage, desc, out.dtype, out.shape, strides=strides)


def _of_any_order() -> _core.PrimitiveAttr:
    """Return an attribute without effect that only the general implementation of reorder has."""
    ops, attr = _core.PostOps(), _core.PrimitiveAttr()
    ops.append_sum(0.0)
    attr.set_post_ops(ops)
    return attr
