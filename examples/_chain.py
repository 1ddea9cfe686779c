# SPDX-License-Identifier: Apache-2.0
"""A list of oneDNN primitives with their arguments: prepared once, submitted many times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dpnp

from sycl_dnn import onednn as dnnl


class Chain:
    """Primitives with their arguments, run in the order in which they were added.

    Parameters
    ----------
    queue : dpctl.SyclQueue
        Where everything runs. The ordered stream chains the primitives and what dpnp submits to
        the queue into one sequence by events.

    Attributes
    ----------
    implementations : list of (str, str, str)
        Name, primitive and oneDNN's implementation of each step, in order of execution.
    """

    def __init__(self, queue: Any) -> None:
        self.engine = dnnl.Engine(queue)
        self.stream = dnnl.Stream(self.engine, queue, ordered=True)
        self.implementations: list[tuple[str, str, str]] = []
        self._submissions: list[Callable[[], Any]] = []
        self._queue = queue

    # --- tensors ---

    def tensor(self, values: Any) -> dnnl.Memory:
        """Copy float32 ``values`` to the device, row-major."""
        array = dpnp.asarray(values, dtype="f4", order="C", sycl_queue=self._queue)
        return dnnl.Memory.from_array(array, self.engine)

    def zeros(self, desc: dnnl.MemoryDesc) -> dnnl.Memory:
        """Return a tensor of zeros in any layout, padding included."""
        memory = dnnl.Memory(desc, self.engine)
        memory.zero(self.stream)
        return memory

    def space(self, desc: dnnl.MemoryDesc) -> dnnl.Memory:
        """Allocate a tensor of ``desc``."""
        return dnnl.Memory(desc, self.engine)

    def space_if_used(self, desc: dnnl.MemoryDesc) -> dnnl.Memory | None:
        """Allocate a tensor of ``desc``; None if the implementation does not use it."""
        return None if desc.is_zero else self.space(desc)

    def place_for(self, user: dnnl.Memory, desc: dnnl.MemoryDesc) -> dnnl.Memory:
        """Return the tensor that a primitive writes in the layout ``desc`` for ``user``."""
        return user if user.desc == desc else dnnl.Memory(desc, self.engine)

    # --- steps ---

    def add(self, name: str, pd: dnnl.PrimitiveDesc, **arguments: dnnl.Memory | None) -> None:
        """Run a primitive as the next step; arguments that are None are left out."""
        primitive = dnnl.Primitive(pd)
        present = {key: memory for key, memory in arguments.items() if memory is not None}
        self._submissions.append(lambda: primitive.execute(self.stream, present))
        self.implementations.append((name, pd.name, pd.impl_info))

    def zero(self, name: str, memory: dnnl.Memory) -> None:
        """Fill a tensor with zeros as the next step."""
        self._submissions.append(lambda: memory.zero(self.stream))
        self.implementations.append((name, "Memory.zero", "memset"))

    def reordered(self, name: str, memory: dnnl.Memory, desc: dnnl.MemoryDesc) -> dnnl.Memory:
        """Return ``memory`` in the layout ``desc``: itself, or a copy that the next step makes."""
        copy = self.place_for(memory, desc)
        self.copy_back(name, copy=memory, user=copy)
        return copy

    def copy_back(self, name: str, copy: dnnl.Memory, user: dnnl.Memory) -> None:
        """Reorder ``copy`` into ``user`` as the next step, unless they are the same."""
        if copy is not user:
            pd = dnnl.reorder(self.engine, src=copy.desc, dst=user.desc)
            self.add(name, pd, src=copy, dst=user)

    def submit(self) -> None:
        """Submit all steps and return immediately."""
        for submit in self._submissions:
            submit()

    def run(self) -> None:
        """Submit all steps, then wait for the last one."""
        self.submit()
        self.stream.wait()
