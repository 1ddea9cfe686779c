# SPDX-License-Identifier: Apache-2.0
"""Generated kernels of several stages, each of which reads results of the previous ones.

All stages are computed for one slab, such as a group of channels of a sample, before the next
slab begins: the arrays of a stage are still in the cache when the next stage reads them.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

from sycl_dnn.kernels.expression import Expression
from sycl_dnn.kernels.expression_kernel import array_types, n_numbers
from sycl_dnn.kernels.forms import ReductionForm, name_of
from sycl_dnn.kernels.fused_reduction import ReductionWriter
from sycl_dnn.kernels.spirv import Kernel, Value


class ChainForm(NamedTuple):
    """Compile-time properties of a kernel.

    ``arrays``: of each stage, the numbers of its arrays among those of the kernel.
    """

    stages: tuple[ReductionForm, ...]
    arrays: tuple[tuple[int, ...], ...]

    @property
    def expression(self) -> Expression:
        """The expression of the last stage."""
        return self.stages[-1].expression


@functools.lru_cache(maxsize=1024)
def chain_module(form: ChainForm) -> bytes:
    """Return the SPIR-V of a kernel.

    Its parameters: arrays; slabs per group and number of slabs; the numbers of each stage, with the
    units of a slab instead of those of a group.
    """
    types: dict[int, str] = {}
    for stage, numbers in zip(form.stages, form.arrays, strict=True):
        types |= zip(numbers, array_types(stage), strict=True)
    declared = [("pointer", types[n]) for n in range(len(types))]
    n_values = 2 + sum(map(n_numbers, form.stages))
    k = Kernel(name_of(form), [*declared, *[("value", "i32")] * n_values], 1)
    arrays, (share, n_slabs, *values) = k.parameters[: len(types)], k.parameters[len(types) :]
    writers = []
    for stage, numbers in zip(form.stages, form.arrays, strict=True):
        stage_numbers, values = values[: n_numbers(stage)], values[n_numbers(stage) :]
        pointers = [
            _of_type(k, arrays[n], name)
            for n, name in zip(numbers, array_types(stage), strict=True)
        ]
        writers.append(ReductionWriter(stage, k, [*pointers, *stage_numbers]))
    first = k.call("mul", k.number_of("group"), share)
    last = k.call("min", k.call("add", first, share), n_slabs)
    with k.loop(first, last, k.constant(1, "i32")) as slab:
        for writer in writers:
            writer.at_slab(slab)
    return k.module()


def _of_type(k: Kernel, pointer: Value, name: str) -> Value:
    """Return a pointer to elements of a type: one stage may move the bits that another reads."""
    return pointer if pointer.type == name else k.pointer_of(k.number_of_address(pointer), name)
