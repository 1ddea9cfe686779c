# SPDX-License-Identifier: Apache-2.0
"""Values computed once from constant arrays, such as packed weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sycl_dnn.program.segments import Segment
from sycl_dnn.trace import allocation
from sycl_dnn.trace.steps import Step, is_kernel
from sycl_dnn.trace.values import Storage, Tensor

#: Short ids of recipes, since each call looks up results by them.
_NUMBERS: dict[Any, int] = {}


class Constants:
    """The steps that depend only on constant arguments, run if their results are missing.

    Results are attached to the frozen arrays that they derive from, and have the same lifetime; a
    plain reorder is shared by all functions that use the same layout.
    """

    def __init__(
        self,
        executable: Any,
        engine: Any,
        live: Sequence[Any],
        saved: Sequence[Storage],
    ) -> None:
        self._slots: list[tuple[int, Any, int, tuple[int, ...]]] = []
        self._segment: Segment | None = None
        #: The steps with constant results.
        self.steps = steps = _constant_steps(live, executable)
        if not steps:
            return
        written = {id(t.storage): (s, t) for s in steps for t in s.outputs.values()}
        constant_ids = {id(s) for s in steps}
        read = {id(t.storage) for s in live if id(s) not in constant_ids for t in s.inputs.values()}
        read |= {id(s) for s in saved}
        for key, (_, tensor) in written.items():
            if key in read:
                register = executable.register(tensor.storage)
                recipe, sources = _recipe(tensor, written)
                number = _NUMBERS.setdefault(recipe, len(_NUMBERS))
                self._slots.append((register, allocation.blank_of(tensor), number, sources))
        self._segment = Segment(engine, steps, executable._registers, 0)

    def __bool__(self) -> bool:
        return bool(self._slots)

    @property
    def slots(self) -> list[tuple[int, int, int]] | None:
        """Register, recipe and source of each result, if each derives from one frozen array."""
        if any(len(sources) > 1 for *_, sources in self._slots):
            return None
        return [(register, recipe, sources[0]) for register, _, recipe, sources in self._slots]

    def fill(
        self, registers: list[Any], queue: Any, stream: Any, frozen: Mapping[int, Any]
    ) -> None:
        """Put the cached results into their registers, computing them first if necessary."""
        if not self._slots:
            return
        missing = False
        for register, _, recipe, sources in self._slots:
            registers[register] = frozen[sources[0]].packed.get(_key(recipe, sources, frozen))
            missing |= registers[register] is None
        if not missing:
            return
        for register, blank, _, _ in self._slots:
            registers[register] = blank.new(queue, pooled=False)
        # Other threads may use the copies too, without any ordering.
        assert self._segment is not None  # implied by missing results
        self._segment.run(registers, queue, stream).wait()
        for register, _, recipe, sources in self._slots:
            frozen[sources[0]].packed[_key(recipe, sources, frozen)] = registers[register]


def _key(recipe: int, sources: tuple[int, ...], frozen: Mapping[int, Any]) -> Any:
    """Return the key of a result in the cache of its first source."""
    return (recipe, *(frozen[s] for s in sources[1:])) if len(sources) > 1 else recipe


def _constant_steps(live: Sequence[Any], executable: Any) -> list[Any]:
    """Return the steps that depend only on frozen arguments."""
    steps: list[Any] = []
    computed: set[int] = set()

    def stands(storage: Storage) -> bool:
        # Packed copies from a forward pass are not arguments of the caller.
        is_passed = storage.argument is not None and executable.is_argument(storage)
        is_frozen = storage.constant and is_passed
        return is_frozen or id(storage) in computed or storage.memory is not None

    for step in live:
        inputs = step.inputs.values()
        if isinstance(step, Step) and step.constant and all(stands(t.storage) for t in inputs):
            steps.append(step)
            computed |= {id(t.storage) for t in step.outputs.values()}
    return steps


def _recipe(tensor: Tensor, written: Mapping[int, Any]) -> tuple[Any, tuple[int, ...]]:
    """Return the key of this value among those of its sources, and the sources."""
    if tensor.storage.argument is not None:
        return (tensor.desc, tensor.offset), (tensor.storage.argument,)
    step, _ = written[id(tensor.storage)]
    inputs = [t for t in step.inputs.values() if t.storage.memory is None]
    parts = [_recipe(t, written) for t in inputs]
    sources = tuple(sorted({n for _, numbers in parts for n in numbers}))
    if step.primitive is not None and len(inputs) == len(step.inputs):
        # The order of the sources distinguishes a - b from b - a.
        return (_work(step), *((r, *map(sources.index, n)) for r, n in parts)), sources
    # Anything else is specific to this function.
    return (object(), tensor.storage.desc), sources


def _work(step: Step) -> tuple[Any, ...]:
    """Return the key of a primitive's computation, regardless of its inputs."""
    assert step.primitive is not None
    layouts = [t.desc for t in (*step.inputs.values(), *step.outputs.values())]
    if is_kernel(step.primitive):  # equal launches are one object
        return (step.primitive, *layouts)
    pd = step.primitive.primitive_desc
    return (pd.name, repr(pd.parameters), repr(pd.primitive_attr), *layouts)
