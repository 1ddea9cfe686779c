# SPDX-License-Identifier: Apache-2.0
"""Compilation of kernels, cached per context and source; failures are cached too.

Kernels for OpenCL CPUs are compiled by another thread during tracing; the SPIR-V modules of a
compiled function are compiled together.
"""

from __future__ import annotations

import functools
import os
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dpctl
from dpctl.program import (
    SyclProgramCompilationError,
    create_program_from_source,
    create_program_from_spirv,
)

from sycl_dnn import _core
from sycl_dnn.kernels import kept_binaries, listing

#: Maximum number of cached programs of some hundred kilobytes each.
_MOST = 256
_OPTIONS = "-cl-std=CL2.0 -cl-mad-enable"
_lock = threading.Lock()
_made: OrderedDict[Any, Any] = OrderedDict()
#: Programs built from a binary of several kernels, by context, device and file.
_of_files: weakref.WeakValueDictionary[Any, Any] = weakref.WeakValueDictionary()


class Module:
    """A SPIR-V module that is written when it is needed: most kernels become parts of others.

    ``name``: of its kernel; modules of a name are equal. ``write``: returns the module.
    """

    def __init__(self, name: str, write: Callable[[], bytes]) -> None:
        self.name, self._write = name, write

    @functools.cached_property
    def content(self) -> bytes:
        """The bytes."""
        module = self._write()
        listing.write(self.name, module)
        return module


def compiled(queue: Any, source: str | bytes | Module, name: str) -> Any:
    """Compile OpenCL C or SPIR-V for a queue's device; return kernel ``name``, or None.

    ``source``: OpenCL C, supported only by OpenCL devices, or a SPIR-V module. None if there is no
    compiler, or it rejects the source. What another thread compiles may not be finished: programs
    of its kernels wait, and raise an error if it is rejected.
    """
    if isinstance(source, str) and queue.backend != dpctl.backend_type.opencl:
        return None
    content = (name,) if isinstance(source, Module) else source
    key = (queue.sycl_context, queue.sycl_device, content)
    with _lock:
        if key not in _made:
            if not isinstance(source, Module):
                listing.write(name, source)
            _made[key] = _built(queue, source)
            while len(_made) > _MOST:
                _made.popitem(last=False)
        _made.move_to_end(key)
        program = _made[key]
    if program is None or isinstance(program, _core.ProgramBuild):
        return program
    return program.get_sycl_kernel(name)


def _built(queue: Any, source: str | bytes | Module) -> Any:
    is_opencl = queue.backend == dpctl.backend_type.opencl
    if is_opencl and (not isinstance(source, str) or _is_cpu_with_compiler(queue.sycl_device)):
        find = functools.partial(_found, queue, source)
        options = _OPTIONS if isinstance(source, str) else None
        keep = kept_binaries.keep_together
        return _core.ProgramBuild(queue, lambda: _bytes(source), find, keep, options)
    name = _key(queue, source) if is_opencl else ""
    binary = kept_binaries.load(name)
    program = None if binary is None else _core.Kernel.program_of_binary(queue, binary)
    if program is None:
        try:
            program = _from_compiler(queue, source)
        except SyclProgramCompilationError:
            return None
        if name:
            kept_binaries.keep(name, _core.Kernel.program_binary(program, queue))
    return program


def _is_cpu_with_compiler(device: Any) -> bool:
    return bool(device.is_cpu and device.has_aspect_online_compiler)


def _bytes(source: str | bytes | Module) -> bytes:
    if isinstance(source, Module):
        return source.content
    return source if isinstance(source, bytes) else source.encode()


def _key(queue: Any, source: str | bytes | Module) -> str:
    """Return the name of the file of a kernel, for which no module needs to be written."""
    if isinstance(source, Module):
        text = f"{source.name} {_generator()}"
    else:
        text = source.hex() if isinstance(source, bytes) else source
    return kept_binaries.key(queue, text, _OPTIONS)


@functools.cache
def _generator() -> str:
    """Return a digest of the files that write modules."""
    return kept_binaries.digest_of(Path(__file__).parent)


def _found(queue: Any, source: str | bytes | Module, build: Any) -> tuple[str, Any]:
    """Return the key of a module, and its binary: bytes, or a build of the file that has it."""
    name = _key(queue, source)
    if isinstance(source, Module) and listing.is_wanted():
        _bytes(source)  # although there may be a binary
    content = kept_binaries.load(name) or b""
    file = kept_binaries.file_in(content)
    if not file:
        return name, content
    place = queue.sycl_context, queue.sycl_device, file
    other = _of_files.get(place)
    if other is not None and other is not build:
        return name, other
    binary = kept_binaries.load(file)
    if binary is None:
        return name, b""
    _of_files[place] = build
    return name, binary


def _from_compiler(queue: Any, source: str | bytes | Module) -> Any:
    if isinstance(source, str):
        return create_program_from_source(queue, source, _OPTIONS)
    return create_program_from_spirv(queue, _bytes(source))


def _forget() -> None:
    """Drop objects of the parent process's devices without destroying them."""
    global _made, _of_files, _lock
    _of_parent.extend((_made, _of_files))
    _made, _of_files, _lock = OrderedDict(), weakref.WeakValueDictionary(), threading.Lock()


_of_parent: list[Any] = []
os.register_at_fork(after_in_child=_forget)
