# SPDX-License-Identifier: Apache-2.0
"""Recording of kernel launches as steps of a trace."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sycl_dnn import _core, errors
from sycl_dnn._core import MemoryDesc
from sycl_dnn.kernels.building import Module, compiled
from sycl_dnn.kernels.forms import Form, ReductionForm
from sycl_dnn.kernels.joined_kernels import Launch, facts_of, forms_of, joined_module, joined_name
from sycl_dnn.kernels.source import beginning
from sycl_dnn.trace import layout, policy
from sycl_dnn.trace.steps import Entry, Out, Step
from sycl_dnn.trace.values import Storage, Tensor

Tensors = dict[str, Tensor]
#: Work-items per group on a GPU.
_ON_GPU = 64


class Kernels:
    """The kernels of one source for one dtype and device.

    source : the part after the common prelude
    dtype : element dtype
    vector : elements per vector of a work-item, 8 or 16
    defined : macros to define
    """

    def __init__(
        self, trace: Any, source: str, dtype: str, vector: int = 16, defined: Sequence[str] = ()
    ) -> None:
        self._trace = trace
        self._queue = trace.engine.sycl_queue
        self.n_items = 1 if trace.is_on_cpu else _ON_GPU
        macros = "".join(f"#define {name}\n" for name in defined)
        self._source = macros + beginning(dtype, vector, self.n_items) + source

    def can_run(self, name: str) -> bool:
        """Whether the device has a compiler that accepts the source."""
        if compiled(self._queue, self._source, name) is not None:
            return True
        policy.warn_once(
            policy.FallbackWarning,
            ("kernel", name, self._queue.sycl_device),
            f"{name}: the device cannot compile this kernel; oneDNN's primitives run instead",
        )
        return False

    def record(
        self,
        name: str,
        inputs: Mapping[str, Tensor],
        outputs: Mapping[str, Out],
        numbers: Sequence[int | float],
        n_groups: int,
        is_repeated: bool = False,
    ) -> dict[str, Tensor]:
        """Record the kernel and return its outputs by name; not differentiable.

        The kernel's parameters are inputs and outputs in order, then numbers. ``is_repeated`` runs
        it at each call even if its inputs are constant.
        """
        kernel = kernel_of(self._trace, self._source, name, numbers, n_groups, self.n_items)
        results = {n: _new_tensor(self._trace, out) for n, out in outputs.items()}
        self._trace.add_step(Step(kernel, dict(inputs), results), is_repeated)
        return results


def launched(
    trace: Any,
    write: Callable[[], bytes],
    name: str,
    inputs: Sequence[Tensor],
    outs: Sequence[Out],
    numbers: Sequence[int],
    n_groups: int,
    n_items: int,
    replaced: int | None = None,
    n_elementwise: int = 0,
    form: Any = None,
    n_visited: int = 0,
    places: Sequence[Tensor | None] = (),
) -> list[Tensor]:
    """Record a SPIR-V kernel and return its outputs; not differentiable.

    ``write()`` returns its module. The kernel's parameters are inputs, outputs, then numbers. The
    first output may overwrite the input with index ``replaced``; any may overwrite one of the first
    ``n_elementwise`` inputs in the same layout, whose elements are read before theirs are written.
    ``n_visited`` is the number of elements that it visits, 0 if it is not known. ``places`` are
    existing tensors that outputs are written into, None for new ones.

    Raises Unimplemented if the device's compiler rejects the module.
    """
    source = Module(name, write)
    kernel = kernel_of(trace, source, name, numbers, n_groups, n_items, form, n_visited)
    results = new_results(trace, outs)
    if any(place is not None for place in places):
        pairs = zip(results, places, strict=True)
        results = [new if place is None else place for new, place in pairs]
        n_elementwise = 0
    named = {f"elements_{n}" if n < n_elementwise else f"src_{n}": t for n, t in enumerate(inputs)}
    named_results = {
        f"new_elements_{n}" if n_elementwise else f"dst_{n}": t for n, t in enumerate(results)
    }
    if replaced is not None:
        named_results = {f"new_src_{replaced}": results[0]} | dict(list(named_results.items())[1:])
    trace.add_step(Step(kernel, named, named_results))
    return results


#: By device, name and numbers: equal launches are one object, so constants are computed once.
_launches: weakref.WeakValueDictionary[Any, _core.Kernel] = weakref.WeakValueDictionary()
os.register_at_fork(after_in_child=_launches.clear)
#: Launches that can be joined, by kernel.
_of_forms: weakref.WeakKeyDictionary[_core.Kernel, Launch] = weakref.WeakKeyDictionary()


#: The launches that joined kernels were made of.
_joined: weakref.WeakKeyDictionary[_core.Kernel, tuple[Launch, ...]] = weakref.WeakKeyDictionary()
#: Arguments of the functions that built kernels, to build them again in another process.
_recipes: weakref.WeakKeyDictionary[_core.Kernel, tuple[Any, ...]] = weakref.WeakKeyDictionary()


def recipe_of(kernel: _core.Kernel) -> tuple[Any, ...] | None:
    """Return data from which ``rebuilt`` creates the same kernel; None if there is none."""
    return _recipes.get(kernel)


def module_of(kernel: _core.Kernel) -> bytes | None:
    """Return the SPIR-V module of a kernel, written now if it was not; None if it has none."""
    source, *_ = recipe_of(kernel) or (None,)
    source = source.content if isinstance(source, Module) else source
    return source if isinstance(source, bytes) else None


def rebuilt(trace: Any, recipe: tuple[Any, ...]) -> _core.Kernel:
    """Return the kernel of a recipe."""
    source, name, numbers, n_groups, n_items, facts, n_visited = recipe
    if isinstance(source, tuple):
        return host_sequence(source, name, numbers)
    if facts:
        return _kernel_of_facts(trace, source, name, n_groups, n_items, facts, n_visited)
    return kernel_of(trace, source, name, numbers, n_groups, n_items, n_visited=n_visited)


def launch_of(kernel: _core.Kernel) -> Launch | None:
    """Return the launch of a kernel; None if it cannot be joined with others."""
    return _of_forms.get(kernel)


def launches_of(kernel: _core.Kernel) -> tuple[Launch, ...]:
    """Return the launch of a kernel, or those that were joined to it; empty for other kernels."""
    launch = launch_of(kernel)
    return _joined.get(kernel, ()) if launch is None else (launch,)


def joined_kernel(trace: Any, launches: Sequence[Launch]) -> _core.Kernel:
    """Return one kernel for several launches, with groups of the same size.

    Its arguments are the inputs of all launches in order, then the results of all.
    """
    n_groups, forms = sum(launch.n_groups for launch in launches), forms_of(launches)
    name, n_items = joined_name(forms), forms[0].schedule.n_items
    module = Module(name, lambda: joined_module(forms))
    n_visited = sum(launch.n_visited for launch in launches)
    facts = facts_of(launches)
    kernel = _kernel_of_facts(trace, module, name, n_groups, n_items, facts, n_visited)
    _joined[kernel] = tuple(launches)
    return kernel


def host_sequence(
    operations: Sequence[tuple[Any, ...]], name: str, parts: Sequence[tuple[Any, ...]]
) -> _core.Kernel:
    """Return a host task for arguments of ``_core.Kernel.sequence``."""
    kernel = _core.Kernel.sequence(operations, name, parts)
    _recipes[kernel] = tuple(operations), name, tuple(parts), 1, 1, (), 0
    return kernel


def _kernel_of_facts(
    trace: Any, module: Module, name: str, n_groups: int, n_items: int, facts: Sequence[int],
    n_visited: int,
) -> _core.Kernel:  # fmt: skip
    handle = compiled(trace.engine.sycl_queue, module, name)
    if handle is None:
        raise errors.Unimplemented(f"{name}: the device's compiler refuses this kernel")
    kernel = _core.Kernel(handle, name, (), n_groups * n_items, n_items, facts, n_visited)
    _recipes[kernel] = module, name, (), n_groups, n_items, tuple(facts), n_visited
    return kernel


def kernel_of(
    trace: Any, source: str | bytes | Module, name: str, numbers: Sequence[int | float],
    n_groups: int, n_items: int, form: Form | ReductionForm | None = None, n_visited: int = 0,
) -> _core.Kernel:  # fmt: skip
    """Return a launch of a kernel of OpenCL C, or of a SPIR-V module.

    A compiled function may join launches whose ``form`` is given.

    A compiled function builds a module after the passes that may replace it by another kernel.
    """
    queue = trace.engine.sycl_queue
    # Module names are unique.
    text = source if isinstance(source, str) else ""
    key = (queue.sycl_context, queue.sycl_device, name, text, *numbers, n_groups, n_items)
    kernel = _launches.get(key)
    if kernel is None:
        handle = compiled(queue, source, name)
        if handle is None:
            raise errors.Unimplemented(f"{name}: the device's compiler refuses this kernel")
        kernel = _core.Kernel(
            handle, name, numbers, n_groups * n_items, n_items, n_visited=n_visited
        )
        _launches[key] = kernel
        _recipes[kernel] = source, name, tuple(numbers), n_groups, n_items, (), n_visited
        if text and isinstance(handle, _core.ProgramBuild):
            # No pass joins what is written by hand, so its build need not wait for them.
            _core.Kernel.start_together([kernel], [0])
    if form is not None:
        _of_forms[kernel] = Launch(form, tuple(map(int, numbers)), n_groups, n_visited)
    return kernel


def new_results(trace: Any, outs: Sequence[Out]) -> list[Tensor]:
    """Return new tensors for the outputs of a step."""
    return [_new_tensor(trace, out) for out in outs]


def _new_tensor(trace: Any, out: Out) -> Tensor:
    desc = out.desc()
    return Tensor(trace, Storage(desc), desc, out.dtype, out.shape)


def units(tensor: Tensor) -> int:
    """Return the number of compute units of the device."""
    return int(tensor.trace.engine.sycl_queue.sycl_device.max_compute_units)


def shares(tensor: Tensor, n: int) -> tuple[int, int]:
    """Split ``n`` parts over groups: parts per group and number of groups, 4 per processor."""
    share = -(-n // (units(tensor) * 4))
    return share, -(-n // share)


def of_image(sizes: Sequence[int], missing: int = 1) -> Sequence[int]:
    """Return the values for the two axes of an image; a signal has a single row."""
    return (*(missing for _ in range(2 - len(sizes))), *sizes)


def in_layout(tensor: Tensor, desc: MemoryDesc) -> Tensor:
    """Return the tensor in the layout that a kernel requires, copied if necessary."""
    if tensor.desc == desc:
        return tensor
    copy = tensor.trace.reorder(tensor, desc)
    # The copy must be differentiable.
    tensor.trace.tape.append(Entry("convert", {"src": tensor}, {"dst": copy}))
    return copy


def dense(tensor: Tensor) -> Tensor:
    """Return the tensor in its own row-major memory, as kernels require of vectors."""
    return in_layout(tensor, layout.row_major(tensor.shape, tensor.dtype))
