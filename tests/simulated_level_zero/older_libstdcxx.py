# SPDX-License-Identifier: Apache-2.0
"""Let libraries that GCC 13 or 14 linked load with the C++ library of GCC 12.

They name version GLIBCXX_3.4.32 without using a function of it: GCC mentions one symbol in each
file that includes <iostream>. The version is marked as weak, which the dynamic linker lets pass.
"""

import struct
import sys
from pathlib import Path

VERSION = b"GLIBCXX_3.4.32"
SHT_GNU_VERNEED, VER_FLG_WEAK = 0x6FFFFFFE, 2


def sections(elf):
    """Yield type, offset and linked section of each section of a 64-bit ELF file."""
    (start,) = struct.unpack_from("<Q", elf, 0x28)
    size, count = struct.unpack_from("<HH", elf, 0x3A)
    for at in range(start, start + size * count, size):
        kind, offset, link = struct.unpack_from("<4xI16xQ8xI", elf, at)
        yield kind, offset, link


def needed_versions(elf):
    """Yield the offset and the name of each version that the file needs of a library."""
    found = list(sections(elf))
    file, strings = next((o, found[link][1]) for kind, o, link in found if kind == SHT_GNU_VERNEED)
    while True:
        count, first, next_file = struct.unpack_from("<2xH4xII", elf, file)
        at = file + first
        for _ in range(count):
            name, step = struct.unpack_from("<8xII", elf, at)
            yield at, bytes(elf[strings + name : elf.index(0, strings + name)])
            at += step
        if not next_file:
            return
        file += next_file


def weaken(path):
    """Mark the version as weak, in place."""
    elf = bytearray(path.read_bytes())
    for at, name in needed_versions(elf):
        if name == VERSION:
            struct.pack_into("<H", elf, at + 4, VER_FLG_WEAK)
    path.write_bytes(elf)


for argument in sys.argv[1:]:
    weaken(Path(argument).resolve())
