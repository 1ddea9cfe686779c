# SPDX-License-Identifier: Apache-2.0
"""Compile the C++ twins of the benchmarks, once for each source and oneDNN version.

Headers and libraries are those of the wheels. Programs are kept in the user's own folder inside
the system's temporary one.
"""

from __future__ import annotations

import hashlib
import importlib.metadata as metadata
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from required import require_package

__all__ = ["compile_twin", "find_file"]

SOURCES = Path(__file__).resolve().parent / "cpp"
FLAGS = ("-std=c++17", "-O2")


def find_file(distribution: str, tail: str) -> Path:
    """Path of the installed file of ``distribution`` whose path ends with ``tail``."""
    for file in metadata.files(distribution) or ():
        if file.as_posix().endswith(tail):
            return Path(os.path.abspath(file.locate()))
    raise FileNotFoundError(f"{tail} not found in the package {distribution}")


def compiler() -> str:
    """Path of the C++ compiler: ``$CXX``, else g++."""
    expected = os.environ.get("CXX", "g++")
    found = shutil.which(expected)
    if found is None:
        raise FileNotFoundError(f"compile_twin: no C++17 compiler: {expected} not found; set $CXX")
    return found


def compiler_arguments() -> tuple[list[str], list[str]]:
    """Arguments before and after the source file: flags and headers, libraries and their path."""
    require_package("onednn-devel")
    headers = {
        find_file("onednn-devel", "include/oneapi/dnnl/dnnl.hpp").parents[2],
        find_file("intel-sycl-rt", "include/sycl/sycl.hpp").parents[1],
    }
    libraries = {
        find_file("onednn", "/libdnnl.so").parent,
        find_file("intel-sycl-rt", "/libsycl.so").parent,
    }
    before = [*FLAGS, *(f"-isystem{path}" for path in sorted(headers))]
    # Unlike a RUNPATH, an RPATH also applies to the libraries that libdnnl needs.
    after = [f"-L{path}" for path in sorted(libraries)]
    after += ["-ldnnl", "-lsycl", "-pthread", "-Wl,--disable-new-dtags"]
    after += [f"-Wl,-rpath,{path}" for path in sorted(libraries)]
    return before, after


def cache_folder() -> Path:
    """Create the user's own folder for compiled twins inside the system's temporary folder."""
    folder = Path(tempfile.gettempdir()) / f"sycl_dnn-twins-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_uid != os.getuid():
        raise PermissionError(f"compile_twin: {folder} belongs to somebody else")
    return folder


def compile_twin(name: str) -> Path:
    """Compile ``cpp/<name>.cpp`` unless that was done before; return the path of the program."""
    source = SOURCES / f"{name}.cpp"
    before, after = compiler_arguments()
    cxx = compiler()
    key = hashlib.sha256(repr((before, after, metadata.version("onednn-devel"))).encode())
    key.update(subprocess.run([cxx, "--version"], check=True, capture_output=True).stdout)
    for part in (source, *sorted(SOURCES.glob("*.hpp"))):
        key.update(part.read_bytes())
    program = cache_folder() / f"{name}-{key.hexdigest()[:16]}"
    if not program.exists():
        fresh = program.with_suffix(f".{os.getpid()}")
        subprocess.run([cxx, *before, str(source), "-o", str(fresh), *after], check=True)
        fresh.replace(program)
    return program
