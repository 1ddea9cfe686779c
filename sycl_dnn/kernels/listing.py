# SPDX-License-Identifier: Apache-2.0
"""Kernel dumps for debugging: SPIR-V or OpenCL C, and a listing of SPIR-V."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path

from sycl_dnn.kernels.spirv import EXTENDED, PLAIN, TESTS

_VARIABLE = "SYCL_DNN_KERNELS_DIR"
#: Names of the other instructions that the assembler emits, by opcode.
_NAMES = {
    12: "call", 44: "vector", 55: "parameter", 59: "variable", 61: "load", 62: "store",
    66: "address", 70: "address", 79: "shuffle", 80: "joined", 81: "lane", 109: "to_unsigned",
    110: "to_signed", 111: "to_float", 112: "to_float", 113: "to_integer", 114: "to_integer",
    115: "to_float", 117: "number_of_address", 124: "as", 155: "all", 169: "select",
    224: "barrier", 246: "loop", 247: "if", 248: "label", 249: "go_to", 250: "branch",
    253: "return",
}  # fmt: skip
for _table in (PLAIN, TESTS):
    for _name, _opcodes in _table.items():
        _NAMES |= dict.fromkeys(filter(None, _opcodes), _name)
_FUNCTIONS = {number: name for name, of in EXTENDED.items() for number in of}
#: Instructions without a result.
_EFFECTS = frozenset((62, 224, 246, 247, 249, 250, 253))


def is_wanted() -> bool:
    """Whether ``SYCL_DNN_KERNELS_DIR`` is set."""
    return bool(os.environ.get(_VARIABLE))


def write(name: str, source: str | bytes) -> None:
    """Write a kernel to the folder ``SYCL_DNN_KERNELS_DIR``, if that variable is set.

    ``name.cl`` has OpenCL C; ``name.spv`` has SPIR-V, and ``name.txt`` its listing.
    """
    path = os.environ.get(_VARIABLE)
    if not path:
        return
    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    if isinstance(source, str):
        (folder / f"{name}.cl").write_text(source)
        return
    (folder / f"{name}.spv").write_bytes(source)
    (folder / f"{name}.txt").write_text("\n".join(lines_of(source)) + "\n")


def lines_of(module: bytes) -> Iterator[str]:
    """Yield the instructions of a module, one per line, with the values of constants."""
    listing = _Listing()
    for opcode, words in _instructions(module):
        line = listing.line(opcode, words)
        if line:
            yield line


def _instructions(module: bytes) -> Iterator[tuple[int, tuple[int, ...]]]:
    words = struct.unpack(f"<{len(module) // 4}I", module)
    at = 5
    while at < len(words):
        length = words[at] >> 16
        yield words[at] & 0xFFFF, words[at + 1 : at + length]
        at += length


class _Listing:
    """Names of the types and values of a module."""

    def __init__(self) -> None:
        self._types: dict[int, str] = {}
        self._values: dict[int, str] = {}

    def _value(self, number: int) -> str:
        return self._values.get(number, f"%{number}")

    def line(self, opcode: int, words: tuple[int, ...]) -> str:
        """Return the text of one instruction; empty for declarations."""
        if opcode in (20, 21, 22, 23, 28, 32):
            self._types[words[0]] = self._type(opcode, words[1:])
        elif opcode in (41, 42, 43):
            kind = self._types[words[0]]
            self._values[words[1]] = str(opcode == 41) if opcode < 43 else _number(kind, words[2:])
        elif opcode == 54:
            return "kernel"
        elif opcode in _NAMES:
            return self._instruction(opcode, words)
        return ""

    def _type(self, opcode: int, words: tuple[int, ...]) -> str:
        if opcode == 20:
            return "bool"
        if opcode in (21, 22):
            return f"{'if'[opcode - 21]}{words[0]}"
        if opcode == 32:
            return f"{self._types[words[1]]}*"
        return f"{self._types[words[0]]}x{words[1] if opcode == 23 else self._value(words[1])}"

    def _instruction(self, opcode: int, words: tuple[int, ...]) -> str:
        name = _NAMES[opcode]
        if opcode in _EFFECTS:
            values = map(self._value, words[: 2 if opcode == 62 else None])
            return f"    {name} {' '.join(values)}".rstrip()
        if opcode == 248:
            return f"  {self._value(words[0])}:"
        kind, result, *rest = words
        if opcode == 12:
            name, rest = _FUNCTIONS[rest[1]], rest[2:]
        numbers = {61: 1, 79: 2, 81: 1, 59: 0}.get(opcode, len(rest))
        operands = [self._value(n) for n in rest[:numbers]]
        operands += map(str, rest[numbers:] if opcode in (79, 81) else ())
        if opcode in (44, 80) and len(set(operands)) == 1:
            operands = [f"{operands[0]} in all"]
        return f"    {self._types[kind]} %{result} = {name} {' '.join(operands)}".rstrip()


def _number(kind: str, words: tuple[int, ...]) -> str:
    letter = {"f16": "<e2x", "f32": "<f", "f64": "<d", "i64": "<q"}.get(kind, "<i")
    (value,) = struct.unpack(letter, struct.pack(f"<{len(words)}I", *words))
    return f"{value:.9g}"
