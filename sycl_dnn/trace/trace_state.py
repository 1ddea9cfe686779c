# SPDX-License-Identifier: Apache-2.0
"""The state of a trace: the arguments of a call, its tensors, its steps and the tape."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any

import numpy as np
from dpnp.exceptions import ExecutionPlacementError

from sycl_dnn import _core
from sycl_dnn._dpnp import array_in
from sycl_dnn.onednn import dtypes, shared_descriptors
from sycl_dnn.onednn.memory import Memory
from sycl_dnn.trace import layout, policy
from sycl_dnn.trace.slices import Slice
from sycl_dnn.trace.steps import ArrayStep, Entry, Step
from sycl_dnn.trace.values import Storage, Tensor


def placement_error(queue: Any, required: Any) -> ExecutionPlacementError:
    """Return the error for an array on another queue that a function refers to itself."""
    expected, other = (q.sycl_device.filter_string for q in (required, queue))
    which = f"{other}, not {expected}" if expected != other else f"another queue of {other}"
    return ExecutionPlacementError(
        "an array that a traced function refers to itself must be on the queue of its arguments, "
        f"got one on {which}; copy it with dpnp.asarray(x, sycl_queue=...)"
    )


#: The trace whose function is running, for functions without array arguments.
_running: ContextVar[Any] = ContextVar("sycl_dnn_trace", default=None)


def running_trace() -> Any:
    """Return the trace of the function that is being traced; None outside."""
    return _running.get()


class running:
    """A context in which ``running_trace`` returns a trace, while its function runs."""

    __slots__ = ("_token", "_trace")

    def __init__(self, trace: Any) -> None:
        self._trace = trace

    def __enter__(self) -> None:
        self._token = _running.set(self._trace)

    def __exit__(self, *error: object) -> None:
        _running.reset(self._token)


class TapePart:
    """A part of the tape of a trace: the entries recorded between two moments.

    ``training``: whether a gradient follows until the end; unchanged if omitted. ``is_apart``:
    whether the entries are separate from the tape of the trace. ``entries``: complete at the end;
    ``seeds``: those drawn by a part that is apart.
    """

    __slots__ = (
        "_drawn",
        "_is_apart",
        "_start",
        "_tape",
        "_trace",
        "_training",
        "entries",
        "seeds",
    )

    def __init__(
        self, trace: TraceState, training: bool | None = None, is_apart: bool = False
    ) -> None:
        # The tape of a trace may lead to its parts.
        self._trace = weakref.ref(trace)
        self._tape, self._start, self._training = trace.tape, len(trace.tape), trace.training
        self._is_apart, self._drawn = is_apart, trace._drawn
        self.entries: list[Entry] = []
        self.seeds: list[Tensor] = []
        if training is not None:
            trace.training = training
        if is_apart:
            trace.tape, trace._drawn = self.entries, self.seeds

    @property
    def trace(self) -> Any:
        """The trace."""
        return self._trace()

    def end(self) -> None:
        """End the part and restore the previous state."""
        trace = self.trace
        trace.training = self._training
        if not self._is_apart:
            self.entries = self._tape[self._start :]
            return
        trace.tape, trace._drawn = self._tape, self._drawn
        if self._drawn is not None:
            self._drawn += self.seeds

    def rejoin(self) -> None:
        """Append the entries of a separate part to the tape after all."""
        self._tape += self.entries

    def select_gradients(self, has_gradients: bool) -> None:
        """End a block that sets whether the operations inside have gradients."""
        self.end()
        kept_ids = self.trace.kept_entries
        if has_gradients:
            kept_ids |= {id(entry) for entry in self.entries}
        else:
            self._tape[self._start :] = [e for e in self.entries if id(e) in kept_ids]


class TraceState:
    """Arguments, steps and the tape; ``Trace`` adds the recording."""

    #: Whether a block without gradients is running.
    is_gradient_free = False
    #: Number of ``vmap`` inside one another whose values the trace has.
    depth = 0
    batching: Any = None

    def contains(self, trace: Any) -> bool:
        """Whether values of another trace may join this one."""
        return False

    def __init__(self, engine: _core.Engine, training: bool = False) -> None:
        self.engine = engine
        #: The queue of the call's arrays: ``argument_of`` sets it at the first array.
        self.queue = engine.sycl_queue
        self.has_queue = False
        #: Whether the function has returned: its tensors are invalid then.
        self.is_ended = False
        self.training = training
        #: Whether steps are rewritten before they run.
        self.is_compiled = False
        #: Whether kernels are fused before they run.
        self.fuses_kernels = False
        #: Whether values are stored in a narrower dtype than that of the function.
        self.is_lowered = False
        self.policy = policy.current()
        #: Whether NaN and infinities must propagate as in PyTorch where that takes more passes.
        self.keeps_nan = self.policy.nan == "propagate"
        self.steps: list[Step | ArrayStep] = []
        self.tape: list[Entry] = []
        #: The arguments of a call, in order.
        self.arguments: list[Storage] = []
        #: Arrays and seeds that the function refers to itself, with the number of the argument.
        self.captured: list[tuple[int, Any, Tensor]] = []
        #: Arguments that a call writes to, with the words that name them in errors.
        self.written: list[tuple[Storage, str]] = []
        #: Those of them that no other argument of a call may share memory with.
        self.alone: set[Storage] = set()
        #: Ids of modules without arrays whose forward runs.
        self.modules: set[int] = set()
        #: By module and name: buffers that a forward assigned, whose memory is not updated yet.
        self.buffers: dict[Any, Any] = {}
        #: Tensors by id of the captured array, which ``captured`` keeps alive.
        self._capture_of: dict[int, Tensor] = {}
        #: Results of calls over arrays, by id.
        self._by_calls: dict[int, Tensor] = {}
        #: By id: the names of trainable parameters that modules among the arguments represent, and
        #: whether code without gradients may read them.
        self.represented: dict[int, tuple[str, bool]] = {}
        #: Entries of the tape, by id, that were recorded in a block with gradients.
        self.kept_entries: set[int] = set()
        self._written_by_calls: set[Storage] = set()
        #: Seeds that were captured, if a caller needs them.
        self._drawn: list[Tensor] | None = None
        #: Seeds to return again while a function is repeated.
        self._repeated: Iterator[Tensor] | None = None

    @property
    def is_on_cpu(self) -> bool:
        """Whether the engine is a CPU's."""
        return self.engine.kind is _core.engine_kind.cpu

    @property
    def forward_kind(self) -> _core.prop_kind:
        """The propagation kind of forward primitives."""
        kinds = _core.prop_kind
        return kinds.forward_training if self.training else kinds.forward_inference

    def constant_storages(self) -> dict[int, Storage]:
        """Return the arguments that no call changes by id."""
        return {id(s): s for s in self.arguments if s.constant}

    def argument(
        self,
        shape: tuple[int, ...],
        dtype: str,
        strides: tuple[int, ...],
        constant: bool = False,
    ) -> Tensor:
        """Return the tensor of the next array of the call.

        If oneDNN cannot describe the strides, its descriptor is that of one byte: the address.
        """
        if layout.is_describable(shape, strides):
            strides = layout.canonical_strides(tuple(shape), tuple(strides))
            desc = layout.strided(shape, dtype, strides)
        else:
            desc = layout.row_major((), "uint8")
        storage = self._argument_storage(desc, constant=constant)
        storage.dtype = str(dtype)
        return Tensor(self, storage, desc, dtype, shape, strides=strides)

    def descriptor(
        self,
        row: str,
        params: Mapping[str, Any],
        attr: _core.PrimitiveAttr | None,
        prefer: str | None = None,
    ) -> _core.PrimitiveDesc:
        """Return a new descriptor: of the implementation with ``prefer`` in its name, if any.

        Raises DnnlError if oneDNN has none.
        """
        return shared_descriptors.new(self.engine, row, params, attr, prefer)

    def check_place(self, value: Any) -> None:
        """Raise ExecutionPlacementError for an array that is not on the queue of the call."""
        array = value.get_array() if hasattr(value, "get_array") else value
        queue = getattr(array, "sycl_queue", None)
        if self.has_queue and queue is not None and queue != self.queue:
            raise placement_error(queue, self.queue)

    def logged(self, body: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call a function over tensors, which a ``Recording`` notes as a call of the function."""
        return body(*args, **kwargs)

    def tape_part(self, training: bool | None = None, is_apart: bool = False) -> TapePart:
        """Begin a part of the tape."""
        return TapePart(self, training, is_apart)

    def end(self) -> None:
        """Note that the function has returned, which invalidates its tensors."""
        self.is_ended = True
        self.represented = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Reject ``array.trace()``: the attribute ``trace`` of a traced array is its recorder."""
        raise TypeError("trace(): a traced array has no such method; use diagonal().sum(-1)")

    def renumber(self, storages: Sequence[Storage], first: int) -> None:
        """Renumber the arguments of a call from ``first``."""
        numbers = {s.argument: first + i for i, s in enumerate(storages)}
        for storage in storages:
            storage.argument = numbers[storage.argument]
        moved = {id(s) for s in storages}
        self.captured = [
            (numbers.get(i, i) if id(t.storage) in moved else i, v, t) for i, v, t in self.captured
        ]

    def scalar(self, dtype: str) -> Tensor:
        """Return the tensor of a number that is passed at each call."""
        desc = layout.row_major((), dtype)
        storage = self._argument_storage(desc, scalar=True)
        storage.dtype = str(dtype)
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
        """Return a tensor that the next step writes; ``dtype`` tells bool and complex numbers."""
        shape = desc.dims if shape is None else tuple(shape)
        return Tensor(self, Storage(desc), desc, layout.dtype_of(desc, dtype or ""), shape)

    def literal(self, values: np.ndarray, dtype: str = "float32") -> Tensor:
        """Return a tensor of values that are available during tracing.

        It is of the dtype, but of float32 for narrower floating-point numbers.
        """
        dtype = dtypes.wide(dtype) if dtypes.is_float(dtype) else dtype
        dense = np.ascontiguousarray(values, dtype)
        desc = layout.row_major(dense.shape, dtype)
        bits = dense.view(dtypes.described_dtype(dtype))
        array = array_in(bits, None, sycl_queue=self.engine.sycl_queue)
        storage = Storage(desc, memory=Memory(desc, self.engine, array))
        # Not packed once: only frozen arrays keep packed copies.
        storage.constant = False
        return Tensor(self, storage, desc, dtype, dense.shape)

    def view(
        self,
        tensor: Tensor,
        view: Tensor,
        rule: Callable[[Tensor], Tensor] | Slice,
    ) -> Tensor:
        """Put a view on the tape; ``rule`` maps the view's gradient to the gradient of ``tensor``.

        A ``functools.partial`` over shapes and similar values can be replayed, a closure cannot.
        """
        self.tape.append(Entry("view", {"src": tensor}, {"dst": view}, {"rule": rule}))
        return view

    def closed(
        self,
        inputs: Mapping[str, Tensor],
        body: Callable[[], Tensor],
        rule: Callable[[Tensor], dict[str, Tensor]],
        composed: Callable[[], Tensor] | None = None,
    ) -> Tensor:
        """Record ``body`` as one operation with its own gradient.

        ``rule(dy)`` returns the gradients of ``inputs`` by name. If its operations do not all have
        gradients themselves, ``composed`` records the same as ``body`` from such
        operations; second derivatives are those of ``composed``.
        """
        start = len(self.tape)
        result = body()
        del self.tape[start:]
        entry = Entry("closed", dict(inputs), {"dst": result}, rule=lambda e, g: rule(g["dst"]))
        if composed is not None:
            entry.composed = lambda inputs: {"dst": composed()}
        self.tape.append(entry)
        return result

    def add_step(self, step: Step | ArrayStep, is_repeated: bool = False) -> None:
        """Record a step; not on the tape. ``is_repeated`` as for ``array_call``."""
        is_constant = all(t.storage.constant for t in step.inputs.values())
        step.is_repeated = is_repeated
        step.constant = bool(step.inputs) and is_constant and not is_repeated
        for output in step.outputs.values():
            output.storage.constant = step.constant
        self.steps.append(step)
        if isinstance(step, ArrayStep):
            self._by_calls |= {id(t): t for t in step.outputs.values()}
            self._written_by_calls |= {t.storage for t in step.outputs.values()}

    def extend_step(self, step: Step, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> None:
        """Extend a kernel's step; no later step may have written its new inputs."""
        step.inputs = {f"src_{n}": t for n, t in enumerate(inputs)}
        step.outputs = {f"dst_{n}": t for n, t in enumerate(outputs)}
        for output in outputs:
            output.storage.constant = step.constant

    def is_by_call(self, tensor: Tensor) -> bool:
        """Whether a tensor is itself the result of a call over arrays."""
        return id(tensor) in self._by_calls

    def is_written_by_call(self, storage: Storage) -> bool:
        """Whether a call over arrays writes a storage."""
        return storage in self._written_by_calls
