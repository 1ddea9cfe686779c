# SPDX-License-Identifier: Apache-2.0
"""An assembler for SPIR-V 1.0 modules with a single kernel.

Both OpenCL and Level Zero devices compile SPIR-V, including CPUs. Source: the Khronos
specifications "SPIR-V" and "OpenCL Extended Instruction Set".
"""

from __future__ import annotations

import contextlib
import math
import struct
from array import array
from collections.abc import Iterator, Sequence
from typing import NamedTuple

#: Types: bits per element, and whether they are floats, signed or unsigned integers, or bools.
TYPES = {
    "f16": (16, "f"), "f32": (32, "f"), "f64": (64, "f"), "bool": (1, "b"),
    **{f"{kind}{bits}": (bits, kind) for kind in "iu" for bits in (8, 16, 32, 64)},
}  # fmt: skip
_ADDRESSES, _LINKAGE, _KERNEL, _VECTOR16 = 4, 5, 6, 7
#: Capabilities required by types.
_NEEDS = {"f16": 9, "f64": 10, "i64": 11, "u64": 11, "i16": 22, "u16": 22, "i8": 39, "u8": 39}
#: Opcodes by name, for floats, signed integers, unsigned integers and bools; 0 for none. Intel's
#: GPU compiler of 2022 crashes when vectors of bools are compared or negated.
PLAIN = {
    "add": (129, 128, 128, 0), "sub": (131, 130, 130, 0), "mul": (133, 132, 132, 0),
    "div": (136, 135, 134, 0), "rem": (140, 138, 137, 0), "neg": (127, 126, 126, 0),
    "and": (0, 199, 199, 167), "or": (0, 197, 197, 166), "xor": (0, 198, 198, 0),
    "not": (0, 200, 200, 0), "shl": (0, 196, 196, 0), "shr": (0, 195, 194, 0),
}  # fmt: skip
#: Instructions with bool results; comparisons of floats are false for NaN.
TESTS = {
    "lt": (184, 177, 176, 0), "le": (188, 179, 178, 0), "gt": (186, 173, 172, 0),
    "ge": (190, 175, 174, 0), "eq": (180, 170, 170, 0), "ne": (183, 171, 171, 0),
    "isnan": (156, 0, 0, 0), "isinf": (157, 0, 0, 0),
}  # fmt: skip
#: OpenCL.std instructions, for floats, signed and unsigned integers.
EXTENDED = {
    "acos": (0, 0, 0), "acosh": (1, 0, 0), "asin": (3, 0, 0), "asinh": (4, 0, 0),
    "atan": (6, 0, 0), "atan2": (7, 0, 0), "atanh": (8, 0, 0), "ceil": (12, 0, 0),
    "cos": (14, 0, 0), "cosh": (15, 0, 0), "erfc": (17, 0, 0), "erf": (18, 0, 0),
    "exp": (19, 0, 0), "exp2": (20, 0, 0), "expm1": (22, 0, 0), "abs": (23, 141, 201),
    "floor": (25, 0, 0), "fma": (26, 0, 0), "fmod": (29, 0, 0), "log": (37, 0, 0),
    "hypot": (32, 0, 0), "lgamma": (35, 0, 0), "log2": (38, 0, 0),
    "log10": (39, 0, 0), "log1p": (40, 0, 0),
    "pow": (48, 0, 0), "rint": (53, 0, 0), "rsqrt": (56, 0, 0), "sin": (57, 0, 0),
    "sinh": (59, 0, 0), "sqrt": (61, 0, 0), "tan": (62, 0, 0), "tanh": (63, 0, 0),
    "trunc": (66, 0, 0),
}  # fmt: skip
#: Comparisons that select the first operand as the extreme of integers: functions of OpenCL.std
#: cost milliseconds each in the CPU's compiler.
_EXTREMES = {"max": "gt", "min": "lt"}
_KINDS = "fiub"
_INPUT, _WORKGROUP, _GLOBAL, _FUNCTION = 1, 4, 5, 7
_BUILT_IN = {"group": 26, "item": 27}


class Value(NamedTuple):
    """A value in the kernel: id, type and number of lanes; a pointer has no lanes."""

    id: int
    type: str
    width: int = 1


class Kernel:
    """The assembler of one kernel.

    ``parameters``: sequence of (kind, type), the kind is ``"pointer"`` to global memory, or
    ``"value"``; ``n_items``: work-items per group, along one axis.
    """

    def __init__(self, name: str, parameters: Sequence[tuple[str, str]], n_items: int) -> None:
        self._name, self._n_items, self._last = name, n_items, 0
        self._capabilities = {_ADDRESSES, _LINKAGE, _KERNEL, _VECTOR16}
        self._types: dict[tuple[object, ...], int] = {}
        self._constants: dict[tuple[int, bytes], int] = {}
        self._built_in: dict[str, int] = {}
        self._globals: list[list[int]] = []
        self._variables: list[list[int]] = []
        #: Lengths of arrays in local memory.
        self._group_arrays: dict[Value, int] = {}
        self._code: list[list[int]] = []
        self._extended, void, self._function, signature = (self._new() for _ in range(4))
        self._globals.append([19, void])
        types = [
            self._pointer_type(_GLOBAL, t) if kind == "pointer" else self._type(t)
            for kind, t in parameters
        ]
        self._globals.append([33, signature, void, *types])
        #: The parameters, in order.
        self.parameters = [
            Value(self._new(), t, 0 if kind == "pointer" else 1) for kind, t in parameters
        ]
        self._head = [[54, void, self._function, 0, signature]]
        self._head += [[55, t, p.id] for t, p in zip(types, self.parameters, strict=True)]
        self._head.append([248, self._new()])

    def _new(self) -> int:
        self._last += 1
        return self._last

    # --- Types and constants

    def _type(self, name: str, width: int = 1) -> int:
        bits, kind = TYPES[name]
        key = ("f" if kind == "f" else "i", bits, width)
        if key not in self._types:
            self._capabilities.add(_NEEDS.get(name, _KERNEL))
            element = self._type(name) if width > 1 else 0
            new_id = self._types[key] = self._new()
            if width > 1:
                self._globals.append([23, new_id, element, width])
            elif kind == "b":
                self._globals.append([20, new_id])
            else:
                self._globals.append([22, new_id, bits] if kind == "f" else [21, new_id, bits, 0])
        return self._types[key]

    def _pointer_type(self, storage: int, name: str, width: int = 1) -> int:
        pointee = self._type(name, width)
        key = ("pointer", storage, pointee)
        if key not in self._types:
            self._types[key] = self._new()
            self._globals.append([32, self._types[key], storage, pointee])
        return self._types[key]

    def constant(self, value: float, name: str, width: int = 1) -> Value:
        """Return a constant, the same in all lanes."""
        bits, kind = TYPES[name]
        if kind == "f":
            form = {16: "<e2x", 32: "<f", 64: "<d"}[bits]
            try:
                content = struct.pack(form, value)
            except OverflowError:  # infinity, as of a conversion
                content = struct.pack(form, math.copysign(math.inf, value))
        else:
            n_bytes = 8 if bits == 64 else 4
            content = (int(value) & ((1 << max(bits, 8)) - 1)).to_bytes(n_bytes, "little")
        key = (self._type(name, width), content)
        if key not in self._constants:
            lane = self.constant(value, name).id if width > 1 else 0
            new_id = self._constants[key] = self._new()
            if width > 1:
                self._globals.append([44, key[0], new_id, *[lane] * width])
            elif kind == "b":
                self._globals.append([41 if value else 42, key[0], new_id])
            else:
                words = struct.unpack(f"<{len(content) // 4}I", content)
                self._globals.append([43, key[0], new_id, *words])
        return Value(self._constants[key], name, width)

    def counting(self, name: str, width: int) -> Value:
        """Return the lane indices 0, 1, 2..."""
        if width == 1:
            return self.constant(0, name)
        lanes = [self.constant(lane, name).id for lane in range(width)]
        key = (self._type(name, width), b"counting")
        if key not in self._constants:
            self._constants[key] = self._new()
            self._globals.append([44, key[0], self._constants[key], *lanes])
        return Value(self._constants[key], name, width)

    # --- Arithmetic

    def _emit(self, opcode: int, name: str, width: int, *operands: int) -> Value:
        result_id = self._new()
        self._code.append([opcode, self._type(name, width), result_id, *operands])
        return Value(result_id, name, width)

    def call(self, instruction: str, *operands: Value) -> Value:
        """Emit a named instruction and return its result; scalars are broadcast to lanes."""
        width = max(v.width for v in operands)
        ids = [self.repeated(v, width).id for v in operands]
        name = operands[0].type
        kind = _KINDS.index(TYPES[name][1])
        if instruction in _EXTREMES:
            return self.select(self.call(_EXTREMES[instruction], *operands), *operands)
        if instruction in EXTENDED:
            number = EXTENDED[instruction][kind] if kind < 3 else 0
            if kind and not number:
                raise TypeError(f"{instruction}: there is no such instruction of {name}")
            return self._emit(12, name, width, self._extended, number, *ids)
        result = "bool" if instruction in TESTS else name
        opcode = (TESTS.get(instruction) or PLAIN[instruction])[kind]
        if not opcode:
            raise TypeError(f"{instruction}: there is no such instruction of {name}")
        return self._emit(opcode, result, width, *ids)

    def select(self, condition: Value, a: Value, b: Value) -> Value:
        """Return ``a`` in lanes where the condition is true, else ``b``."""
        width = max(condition.width, a.width, b.width)
        ids = [self.repeated(v, width).id for v in (condition, a, b)]
        return self._emit(169, a.type, width, *ids)

    def holds_in_all(self, condition: Value) -> Value:
        """Return whether a condition is true in every lane."""
        return self._emit(155, "bool", 1, condition.id) if condition.width > 1 else condition

    def repeated(self, v: Value, width: int) -> Value:
        """Broadcast a scalar to all lanes."""
        return v if v.width == width else self._emit(80, v.type, width, *[v.id] * width)

    def joined(self, lanes: Sequence[Value]) -> Value:
        """Combine scalars into a vector."""
        if len(lanes) == 1:
            return lanes[0]
        return self._emit(80, lanes[0].type, len(lanes), *[v.id for v in lanes])

    def lane(self, v: Value, index: int) -> Value:
        """Return one lane."""
        return v if v.width == 1 else self._emit(81, v.type, 1, v.id, index)

    def half(self, v: Value, which: int) -> Value:
        """Return the first (0) or second (1) half of the lanes."""
        n = v.width // 2
        if n == 1:
            return self.lane(v, which)
        lanes = range(which * n, which * n + n)
        return self._emit(79, v.type, n, v.id, v.id, *lanes)

    def shuffled(self, a: Value, b: Value, lanes: Sequence[int]) -> Value:
        """Return lanes of two vectors; those of the second one are counted after the first's."""
        return self._emit(79, a.type, len(lanes), a.id, b.id, *lanes)

    def concatenated(self, a: Value, b: Value) -> Value:
        """Return the lanes of two vectors, one after the other."""
        return self.shuffled(a, b, range(2 * a.width))

    def shifted(self, v: Value, fill: Value, by: int) -> Value:
        """Shift lanes by ``by``, backward if negative; ``fill`` replaces missing lanes."""
        lanes = [lane - by if 0 <= lane - by < v.width else v.width for lane in range(v.width)]
        return self._emit(79, v.type, v.width, v.id, fill.id, *lanes)

    def turned(self, v: Value) -> Value:
        """Return the lanes in the opposite order."""
        return self._emit(79, v.type, v.width, v.id, v.id, *reversed(range(v.width)))

    def converted(self, v: Value, name: str) -> Value:
        """Convert to another type: floats are truncated to integers, integers wrap."""
        (bits, kind), (source_bits, source_kind) = TYPES[name], TYPES[v.type]
        if name == v.type:
            return v
        if source_kind == "b":
            return self.select(v, self.constant(1, name, v.width), self.constant(0, name, v.width))
        if kind == "b":
            return self.call("ne", v, self.constant(0, v.type, v.width))
        if kind != "f" and source_kind != "f" and bits == source_bits:
            return Value(v.id, name, v.width)
        if source_kind == "f":
            opcode = {"f": 115, "i": 110, "u": 109}[kind]
        elif kind == "f":
            opcode = {"i": 111, "u": 112}[source_kind]
        else:
            opcode = {"i": 114, "u": 113}[source_kind]
        return self._emit(opcode, name, v.width, v.id)

    def reinterpreted(self, v: Value, name: str) -> Value:
        """Reinterpret the bits as another type of the same size."""
        if "f" not in (TYPES[name][1], TYPES[v.type][1]):
            return Value(v.id, name, v.width)
        return self._emit(124, name, v.width, v.id)

    # --- Memory

    def _address(self, pointer: Value, index: Value, width: int) -> int:
        element, kind = self._new(), self._pointer_type(_GLOBAL, pointer.type)
        self._code.append([70, kind, element, pointer.id, index.id])
        if width == 1:
            return element
        vector = self._new()
        self._code.append([124, self._pointer_type(_GLOBAL, pointer.type, width), vector, element])
        return vector

    def number_of_address(self, pointer: Value) -> Value:
        """Return the address of a pointer as u64."""
        return self._emit(117, "u64", 1, pointer.id)

    def pointer_of(self, address: Value, name: str) -> Value:
        """Return a pointer to elements of a type at an address, u64."""
        pointer_id = self._new()
        self._code.append([120, self._pointer_type(_GLOBAL, name), pointer_id, address.id])
        return Value(pointer_id, name, 0)

    def load(self, pointer: Value, index: Value, width: int = 1) -> Value:
        """Load elements, starting at an index."""
        address, size = self._address(pointer, index, width), TYPES[pointer.type][0] // 8
        return self._emit(61, pointer.type, width, address, 2, size)

    def store(self, pointer: Value, index: Value, v: Value) -> None:
        """Store the lanes of a value, starting at an index."""
        address, size = self._address(pointer, index, v.width), TYPES[pointer.type][0] // 8
        self._code.append([62, address, v.id, 2, size])

    def variable(self, start: Value) -> Value:
        """Declare a private variable and initialize it."""
        variable_id = self._new()
        kind = self._pointer_type(_FUNCTION, start.type, start.width)
        self._variables.append([59, kind, variable_id, _FUNCTION])
        self.assign(Value(variable_id, start.type, start.width), start)
        return Value(variable_id, start.type, start.width)

    def assign(self, variable: Value, v: Value) -> None:
        """Assign to a variable."""
        self._code.append([62, variable.id, v.id])

    def current(self, variable: Value) -> Value:
        """Return the value of a variable."""
        return self._emit(61, variable.type, variable.width, variable.id)

    def group_memory(self, name: str, length: int) -> Value:
        """Declare an array in local memory, shared by the group."""
        memory = Value(self._new(), name, 0)
        self._group_arrays[memory] = length
        return memory

    def _declarations_of_group_arrays(self) -> list[list[int]]:
        """Return the lines that declare the arrays in local memory, with their types."""
        lines = []
        for memory, length in self._group_arrays.items():
            kind, pointer = self._new(), self._new()
            lines.append([28, kind, self._type(memory.type), self.constant(length, "u32").id])
            lines.append([32, pointer, _WORKGROUP, kind])
            lines.append([59, pointer, memory.id, _WORKGROUP])
        return lines

    def _shared_address(self, memory: Value, index: Value, width: int) -> int:
        element = self._new()
        kind = self._pointer_type(_WORKGROUP, memory.type)
        self._code.append([66, kind, element, memory.id, index.id])
        if width == 1:
            return element
        vector = self._new()
        kind = self._pointer_type(_WORKGROUP, memory.type, width)
        self._code.append([124, kind, vector, element])
        return vector

    def shared(self, memory: Value, index: Value, width: int = 1) -> Value:
        """Load elements of local memory, starting at an index."""
        size = TYPES[memory.type][0] // 8
        address = self._shared_address(memory, index, width)
        return self._emit(61, memory.type, width, address, 2, size)

    def share(self, memory: Value, index: Value, v: Value) -> None:
        """Store the lanes of a value in local memory, starting at an index."""
        size = TYPES[memory.type][0] // 8
        self._code.append([62, self._shared_address(memory, index, v.width), v.id, 2, size])

    def barrier(self) -> None:
        """Synchronize the group; stores to local memory become visible."""
        group = self.constant(2, "u32").id
        # Sequentially consistent (0x10), for local memory (0x100).
        self._code.append([224, group, group, self.constant(0x110, "u32").id])

    # --- Control flow

    def number_of(self, index_of: str) -> Value:
        """Return the index of this ``"group"``, or of this ``"item"`` in it, as i32."""
        if index_of == "item" and self._n_items == 1:
            # Given an index, Intel's CPU compiler would vectorize over items that do not exist.
            return self.constant(0, "i32")
        if index_of not in self._built_in:
            variable_id = self._built_in[index_of] = self._new()
            self._globals.append([59, self._pointer_type(_INPUT, "u64", 3), variable_id, _INPUT])
        all_axes = self._emit(61, "u64", 3, self._built_in[index_of])
        return self.converted(self.lane(all_axes, 0), "i32")

    @contextlib.contextmanager
    def loop(self, start: Value, stop: Value, step: Value) -> Iterator[Value]:
        """Generate a loop; yields the counter while it is less than ``stop``."""
        counter = self.variable(start)
        head, body, continue_label, end = (self._new() for _ in range(4))
        self._code += [[249, head], [248, head]]
        now = self._emit(61, counter.type, 1, counter.id)
        goes_on = self.call("lt", now, stop)
        self._code += [[246, end, continue_label, 0], [250, goes_on.id, body, end], [248, body]]
        yield now
        self._code += [[249, continue_label], [248, continue_label]]
        self._code.append([62, counter.id, self.call("add", now, step).id])
        self._code += [[249, head], [248, end]]

    @contextlib.contextmanager
    def when(self, condition: Value) -> Iterator[None]:
        """Generate code that runs only if a scalar condition is true."""
        body, end = self._new(), self._new()
        self._code += [[247, end, 0], [250, condition.id, body, end], [248, body]]
        yield
        self._code += [[249, end], [248, end]]

    def module(self) -> bytes:
        """Return the finished module."""
        arrays = self._declarations_of_group_arrays()
        interface = list(self._built_in.values())
        lines = [[17, c] for c in sorted(self._capabilities)]
        lines.append([11, self._extended, *_words("OpenCL.std")])
        lines.append([14, 2, 2])  # 64-bit addresses, OpenCL
        lines.append([15, 6, self._function, *_words(self._name), *interface])
        lines.append([16, self._function, 17, self._n_items, 1, 1])
        for name, variable in self._built_in.items():
            lines += [[71, variable, 11, _BUILT_IN[name]], [71, variable, 22]]
        lines += [*self._globals, *arrays, *self._head, *self._variables]
        lines += [*self._code, [253], [56]]
        words = array("I", [0x07230203, 0x00010000, 0, self._last + 1, 0])
        for line in lines:
            words.append(len(line) << 16 | line[0])
            words.extend(line[1:])
        return words.tobytes()


def _words(text: str) -> tuple[int, ...]:
    content = text.encode() + b"\0"
    content = content.ljust(-(-len(content) // 4) * 4, b"\0")
    return struct.unpack(f"<{len(content) // 4}I", content)
