# SPDX-License-Identifier: Apache-2.0
"""Custom memory allocators for oneDNN's graphs."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import dpctl

from sycl_dnn import _core

__all__ = ["Allocator", "make_allocator", "make_engine_with_allocator"]

#: ``void *(*)(size_t nbytes, size_t alignment, const void *device, const void *context)``
_ALLOCATE = ctypes.CFUNCTYPE(
    ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p
)
#: ``void (*)(void *pointer, const void *device, const void *context, void *event)``
_DEALLOCATE = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p
)
#: Never released: oneDNN's engines live as long as the process.
_KEPT: list[Any] = []


class Allocator:
    """A pair of allocation functions; see ``make_allocator``."""

    def __init__(self, allocate: int, deallocate: int) -> None:
        self.allocate, self.deallocate = allocate, deallocate

    def __repr__(self) -> str:
        return f"<Allocator {self.allocate:#x} {self.deallocate:#x}>"


def _of_python(allocate: Callable[..., Any], deallocate: Callable[..., Any]) -> tuple[Any, Any]:
    def give(nbytes: int, alignment: int, device: int, context: int) -> int:
        address = allocate(nbytes, alignment)
        return address.__index__() if address else 0

    def take(pointer: int | None, device: int, context: int, event: int | None) -> None:
        deallocate(pointer or 0, _core._event_at(event) if event else None)

    return _ALLOCATE(give), _DEALLOCATE(take)


def make_allocator(
    allocate: Callable[[int, int], int] | int,
    deallocate: Callable[[int, dpctl.SyclEvent | None], None] | int,
) -> Allocator:
    """Make an allocator from two functions.

    Parameters
    ----------
    allocate : callable or int
        ``allocate(nbytes, alignment)`` returns the USM address of that many bytes, or 0 on failure.
        Alternatively the address of a C function ``void *(size_t nbytes, size_t alignment, const
        void *device, const void *context)`` with SYCL's device and context, which is called without
        Python.
    deallocate : callable or int
        ``deallocate(pointer, event)`` frees the memory, which is in use until ``event`` is
        complete; None if it is unused. Alternatively the address of a C function ``void (void
        *pointer, const void *device, const void *context, void *event)``.

    Returns
    -------
    Allocator

    Notes
    -----
    They serve oneDNN's own allocations, such as cached constants. Scratchpads are passed to
    ``CompiledPartition.execute`` or taken from this package's pool. The functions may be called
    from any thread, and during executions. An exception in ``allocate`` means that no memory is
    available. Source: oneDNN ``dnnl::graph::sycl_interop::make_allocator``.
    """
    both = {"allocate": allocate, "deallocate": deallocate}
    is_number = [isinstance(f, int) for f in both.values()]
    for name, function in both.items():
        if not isinstance(function, int) and not callable(function):
            raise TypeError(
                f"make_allocator: {name} must be callable or an address, got "
                f"{type(function).__name__}"
            )
    if all(is_number):
        return Allocator(allocate, deallocate)  # type: ignore[arg-type]
    if any(is_number):
        raise TypeError("make_allocator: allocate and deallocate must be of one kind, got two")
    result = _of_python(allocate, deallocate)  # type: ignore[arg-type]
    _KEPT.append(result)
    addresses = (ctypes.cast(f, ctypes.c_void_p).value or 0 for f in result)
    return Allocator(*addresses)


def make_engine_with_allocator(queue: Any, allocator: Allocator) -> _core.Engine:
    """Make an engine whose graphs use a custom allocator.

    Parameters
    ----------
    queue : dpctl.SyclQueue, dpctl.SyclDevice or str
        As for ``Engine``.
    allocator : Allocator

    Returns
    -------
    Engine
        Not equal to any other engine on the device; objects of different engines cannot be mixed.

    Notes
    -----
    Source: oneDNN ``dnnl::graph::sycl_interop::make_engine_with_allocator``.
    """
    if not isinstance(allocator, Allocator):
        raise TypeError(
            "make_engine_with_allocator: allocator must be an Allocator, got "
            f"{type(allocator).__name__}"
        )
    return _core._engine_with_functions(queue, allocator.allocate, allocator.deallocate)
