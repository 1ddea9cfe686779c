# SPDX-License-Identifier: Apache-2.0
"""Reuse of the memory of donated arguments for results."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from sycl_dnn._dpnp import span
from sycl_dnn.program.step_order import AnyStep
from sycl_dnn.trace.steps import Step, is_kernel
from sycl_dnn.trace.values import Storage, Tensor

#: Primitives that may overwrite their first input.
IN_PLACE = ("eltwise_forward", "softmax_forward", "binary", "layer_normalization_forward")
#: Smaller results are cheap to allocate, and shapes () and (1,) share a descriptor.
_LEAST = 4096


#: By id of a storage: the tensors over it, with their names.
_Named = dict[int, list[tuple[str, Tensor]]]


class Uses:
    """When steps read and write each storage."""

    def __init__(self, steps: Sequence[AnyStep]) -> None:
        self.steps = steps
        #: By id of the storage.
        self.last_read: dict[int, int] = {}
        self.first_write: dict[int, int] = {}
        #: Storages used by calls over arrays.
        self.by_arrays: set[int] = set()
        self._named: dict[int, tuple[_Named, _Named]] = {}
        for i, step in enumerate(steps):
            read = [id(t.storage) for t in step.inputs.values()]
            written = [id(t.storage) for t in step.outputs.values()]
            self.last_read.update(dict.fromkeys(read, i))
            for key in written:
                self.first_write.setdefault(key, i)
            if not isinstance(step, Step):
                self.by_arrays.update(read, written)

    def may_take(self, result: Tensor, argument: Storage) -> bool:
        """Whether a result may be written into the memory of an argument."""
        result_id = id(result.storage)
        if (argument.desc, argument.dtype) != (result.desc, result.dtype):
            return False
        if id(argument) in self.first_write:
            return False
        if {id(argument), result_id} & self.by_arrays:
            return False
        write, read = self.first_write[result_id], self.last_read.get(id(argument), -1)
        return read < write or (read == write and self.is_replaced(result, argument))

    def beside(self, result_id: int) -> tuple[_Named, _Named]:
        """Return what the step that writes a result reads, and what it writes: often hundreds."""
        number = self.first_write[result_id]
        if number not in self._named:
            step = self.steps[number]
            self._named[number] = _by_storage(step.inputs), _by_storage(step.outputs)
        return self._named[number]

    def is_replaced(self, result: Tensor, argument: Storage) -> bool:
        """Whether the step that writes a result may overwrite an argument that it reads."""
        step = self.steps[self.first_write[id(result.storage)]]
        all_reads, all_writes = self.beside(id(result.storage))
        reads, writes = all_reads.get(id(argument), []), all_writes[id(result.storage)]
        if not isinstance(step, Step) or len(reads) != 1 or len(writes) != 1:
            return False
        ((source, old),), ((target, new),) = reads, writes
        if old.desc != new.desc or old.offset or new.offset:
            return False
        if is_kernel(step.primitive) and step.primitive.is_host:
            # A single operation of the host, by rows: sequences have another name.
            return source == "0:src_0" and step.primitive.name in IN_PLACE
        if is_kernel(step.primitive):
            (reading, _, source), (writing, _, target) = (
                source.rpartition(":"),
                target.rpartition(":"),
            )
            if reading != writing:
                return False  # another of the launches that the kernel joins
            is_elementwise = target.startswith("new_elements_") and source.startswith("elements_")
            return is_elementwise or target == f"new_{source}"
        is_first = next(iter(step.inputs)) == source
        return is_first and step.primitive is not None and step.primitive.name in IN_PLACE


def _by_storage(tensors: Mapping[str, Tensor]) -> _Named:
    named: _Named = {}
    for item in tensors.items():
        named.setdefault(id(item[1].storage), []).append(item)
    return named


def overwritten_arguments(
    steps: Sequence[AnyStep], finals: Iterable[Tensor], arguments: Iterable[Storage],
    saved: Collection[Storage],
) -> dict[int, Storage]:  # fmt: skip
    """Return the argument that each result overwrites, by id of the result's storage.

    ``steps``: in trace order; ``finals``: the results of a call; ``arguments``: arguments that may
    be overwritten; ``saved``: other storages that a call returns unchanged.
    """
    uses, returned = Uses(steps), list(finals)
    used = {id(s) for s in saved} | {id(t.storage) for t in returned}
    #: Free arguments by layout and id.
    alike: dict[Any, dict[int, Storage]] = {}
    for argument in arguments:
        if id(argument) not in used:
            alike.setdefault(argument.desc, {})[id(argument)] = argument
    results = {id(t.storage): t for t in returned if _is_whole_result(t, uses)}
    overwritten: dict[int, Storage] = {}
    # First arguments that the same step replaces, then any that are no longer needed.
    for is_replaced in (True, False):
        for key, result in results.items():
            if key in overwritten:
                continue
            candidates = alike.get(result.desc, {})
            read = uses.beside(key)[0] if is_replaced else candidates
            fits = (n for n in read if n in candidates and uses.may_take(result, candidates[n]))
            number = next(fits, None)
            if number is not None:
                overwritten[key] = candidates.pop(number)
    return overwritten


def _is_whole_result(tensor: Tensor, uses: Uses) -> bool:
    """Whether a result is a complete storage written by the steps."""
    storage = tensor.storage
    if storage.argument is not None or storage.constant:
        return False
    is_whole = not tensor.offset and tensor.desc.get_size() == storage.nbytes
    return is_whole and storage.nbytes >= _LEAST and id(storage) in uses.first_write


# --- Whether the arrays of a call may be overwritten


def are_alone(
    arrays: Sequence[Any], indices: Collection[int], others: Iterable[tuple[int, int]]
) -> bool:
    """Whether the arrays with these indices are writable and overlap no others.

    ``arrays``: arguments of a call: usm_ndarrays, and the bytes of seeds; ``others``: iterable of
    (int, int), spans of more arrays.
    """
    spans = [(*span(a), i) for i, a in enumerate(arrays) if a.__class__ is not bytes]
    spans += [(start, end, -1) for start, end in others]
    spans.sort()
    reached, reaching = -1, -1
    for start, end, i in spans:
        if start < reached and (i in indices or reaching in indices):
            return False
        if end > reached:
            reached, reaching = end, i
    return all(arrays[i].flags.writable for i in indices)
