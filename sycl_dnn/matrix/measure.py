# SPDX-License-Identifier: Apache-2.0
"""Fill a record: which targets a command means, and all cells on each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from sycl_dnn.matrix.cells import Cell
from sycl_dnn.matrix.record import Record
from sycl_dnn.matrix.worker import ProbeError, Prober

#: Levels of the instruction set, oneDNN's names, from the oldest on.
LEVELS = (
    *("sse41", "avx2", "avx2_vnni", "avx2_vnni_2"),
    *("avx512_core", "avx512_core_vnni", "avx512_core_bf16"),
    *("avx10_1_512", "avx10_1_512_amx", "avx10_1_512_amx_fp16", "avx10_2", "avx10_2_amx_2"),
)
#: The highest level that the machine has.
NATIVE = "native"
#: What devices are called whose driver knows only a number.
_NAMES = {"0x56a0": "Arc A770", "0x4905": "DG1", "0x9a49": "Tiger Lake"}


def target_name(facts: dict[str, Any]) -> str:
    """Return a target's name: ``cpu:avx2``, or the GPU's."""
    if facts["kind"] == "cpu":
        return f"cpu:{facts['isa']}"
    device = facts["device"]
    return next((name for number, name in _NAMES.items() if number in device), device)


def check_levels(names: Iterable[str]) -> tuple[str, ...]:
    """Return levels as a tuple; the highest one of the machine is an empty text.

    Raises
    ------
    ValueError
        A name is no level.
    """
    found = tuple(names)
    for name in found:
        if name not in (*LEVELS, NATIVE):
            raise ValueError(f"isa must be of {', '.join(LEVELS)}, {NATIVE}, got {name!r}")
    return tuple("" if name == NATIVE else name for name in found)


def _is_meant(prober: Prober, absent: list[str]) -> bool:
    """Whether the process has the level it was asked for; keep the level if not."""
    if prober.isa in ("", prober.facts["isa"]) or prober.facts["kind"] != "cpu":
        return True
    absent.append(prober.isa)
    return False


def _probers(device: str, levels: tuple[str, ...], absent: list[str]) -> Iterator[Prober]:
    """Iterate over processes: one for a GPU, one for each level of the CPU that there is."""
    first, *rest = levels or LEVELS
    with Prober(device, first) as prober:
        if _is_meant(prober, absent):
            yield prober
        if prober.facts["kind"] != "cpu":
            return
    for level in rest:
        with Prober(device, level) as prober:
            if _is_meant(prober, absent):
                yield prober


def measure(
    devices: Iterable[str],
    levels: tuple[str, ...],
    cells: list[Cell],
    tell: Callable[[str], None],
) -> Record:
    """Return the matrix of these cells on these devices.

    Parameters
    ----------
    devices : filter strings of dpctl's
    levels : of the CPU; empty for all that the machine has
    cells : what to ask
    tell : takes a line for each target

    Raises
    ------
    ProbeError
        There is no such device, or the machine has none of the levels.
    """
    record = Record()
    for device in devices:
        for prober in _probers(device, levels, record.absent):
            name = target_name(prober.facts)
            record.targets[name] = prober.facts
            for cell in cells:
                record.put(name, cell.line, prober.ask(cell.case))
            tell(f"{name}: {len(cells)} descriptors asked for")
    if not record.targets:
        raise ProbeError(f"this machine has none of the levels {', '.join(levels)}")
    return record
