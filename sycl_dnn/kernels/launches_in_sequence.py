# SPDX-License-Identifier: Apache-2.0
"""One kernel for consecutive launches on a CPU.

A launch often costs more than its kernel: threads wake up and wait for each other. Here one group
per processor runs the groups of all launches in order, each launch once the previous one is
complete. Unfinished groups always run somewhere, so a waiting group can rely on them, or end and
leave them the rest.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import NamedTuple

#: OpenCL C: beginnings of lines that define a macro, a type, a kernel and a function.
_MACRO = re.compile(r"^#define (\w+)", re.MULTILINE)
_TYPE = re.compile(r"^typedef [^;]*?(\w+)(?: __attribute__[^;]*)?;", re.MULTILINE)
_KERNEL = re.compile(r"^(?:ONE_ITEM\n)?__kernel void (\w+)\(", re.MULTILINE)
_FUNCTION = re.compile(r"^[A-Za-z_][^\n;={#]*?\b(\w+)\([^(){};]*\) \{", re.MULTILINE)

NAME = "launches_in_sequence"
#: Numbers of ``facts`` before those of a launch: launches, groups of all, then what groups count:
#: those that were taken, and processors' groups that have ended. And of each launch: its source,
#: groups of it and of all before, groups that are finished, the place of its parameters.
_HEAD, _ROW = 4, 4
#: Number of times that a group polls for the completion of previous ones before it ends.
_PATIENCE = 20000
_DRIVER = f"""
#define COUNTER(i) ((volatile __global atomic_int *)(facts + (i)))
#define ADD(i, order) atomic_fetch_add_explicit(COUNTER(i), 1, order, memory_scope_device)
#define READ(i, order) atomic_load_explicit(COUNTER(i), order, memory_scope_device)
/* Else the driver tries to compute several groups at once, which takes it many seconds. */
__attribute__((intel_reqd_sub_group_size(1)))
__kernel void {NAME}(__global const ulong *addresses, __global int *facts) {{
    int row = {_HEAD}, first = 0, n_before = 0, patience = {_PATIENCE};
    const int n_groups = get_num_groups(0);
    int taken = READ(2, memory_order_relaxed);
    while (taken < facts[1]) {{
        for (; taken >= facts[row + 1]; row += {_ROW}) {{
            n_before = facts[row + 1] - first;
            first = facts[row + 1];
        }}
        if (row > {_HEAD} && READ(row - 2, memory_order_acquire) < n_before) {{
            /* The thread of another group seems not to run: do not use its processor's time. */
            if (!--patience) {{
                int ended = READ(3, memory_order_relaxed);
                while (ended + 1 < n_groups)
                    if (atomic_compare_exchange_strong_explicit(
                            COUNTER(3), &ended, ended + 1, memory_order_acq_rel,
                            memory_order_relaxed, memory_scope_device))
                        return;
                patience = {_PATIENCE};
            }}
            taken = READ(2, memory_order_relaxed);
            continue;
        }}
        if (!atomic_compare_exchange_strong_explicit(COUNTER(2), &taken, taken + 1,
                                                     memory_order_relaxed, memory_order_relaxed,
                                                     memory_scope_device))
            continue;
        patience = {_PATIENCE};
        __global const int *p = facts + facts[row + 3];
        switch (facts[row]) {{
%s
        }}
        ADD(row + 2, memory_order_acq_rel);
        taken = READ(2, memory_order_relaxed);
    }}
    if (ADD(3, memory_order_acq_rel) + 1 < n_groups) return;
    for (int i = 0; i < facts[0]; ++i) facts[{_HEAD} + i * {_ROW} + 2] = 0;
    facts[2] = facts[3] = 0;
}}
"""


class Source(NamedTuple):
    """OpenCL C of a kernel whose groups have one work-item each."""

    text: str
    name: str
    n_arrays: int
    n_numbers: int


class Launch(NamedTuple):
    """A launch: its source, the places of its arrays among all, its numbers and its groups."""

    source: Source
    arrays: tuple[int, ...]
    numbers: tuple[int, ...]
    n_groups: int


def facts_of(launches: Sequence[Launch]) -> list[int]:
    """Return the integers that the kernel reads besides addresses, including its counters."""
    sources = sources_of(launches)
    rows: list[int] = []
    parameters: list[int] = []
    last, start = 0, _HEAD + _ROW * len(launches)
    for launch in launches:
        last += launch.n_groups
        rows += [sources.index(launch.source), last, 0, start + len(parameters)]
        parameters += [*launch.arrays, *launch.numbers]
    return [len(launches), last, 0, 0, *rows, *parameters]


def sources_of(launches: Sequence[Launch]) -> tuple[Source, ...]:
    """Return the different sources, in order."""
    return tuple(dict.fromkeys(launch.source for launch in launches))


@functools.lru_cache(maxsize=64)
def sequence_source(sources: tuple[Source, ...]) -> str:
    """Return the OpenCL C of the kernel for launches of several sources."""
    parts = [_renamed(source.text, i) for i, source in enumerate(sources)]
    calls = "\n".join(_call(source, i) for i, source in enumerate(sources))
    return "".join(parts) + _DRIVER % calls


def _renamed(text: str, number: int) -> str:
    """Return a source with unique names, and with its kernels as functions."""
    defined = dict.fromkeys([*_TYPE.findall(text), *_FUNCTION.findall(text)])
    text = _KERNEL.sub(r"__attribute__((noinline)) void \1(const int of_launch, ", text)
    text = text.replace("get_group_id(0)", "of_launch")
    names = "".join(f"#define {n} {n}_{number}\n" for n in defined)
    ends = "".join(f"#undef {n}\n" for n in dict.fromkeys([*defined, *_MACRO.findall(text)]))
    return f"{names}{text}\n{ends}"


def _call(source: Source, number: int) -> str:
    arrays = [f"(__global void *)addresses[p[{i}]]" for i in range(source.n_arrays)]
    numbers = [f"p[{source.n_arrays + i}]" for i in range(source.n_numbers)]
    args = ", ".join(["taken - first", *arrays, *numbers])
    return f"        case {number}: {source.name}_{number}({args}); break;"
