# SPDX-License-Identifier: Apache-2.0
"""Disk cache of compiled kernels; failures are ignored.

The files' contents are executed, so the folder must belong to the user and not be writable by
others. Each file has a checksum; corrupt ones are ignored and replaced.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import secrets
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from sycl_dnn import _location

_VARIABLE = "SYCL_DNN_CACHE_DIR"
_MAGIC = b"sycl_dnn kernel 1\n"
_HEAD = len(_MAGIC) + hashlib.sha256().digest_size
_SUFFIX, _UNFINISHED = ".kernel", ".part"
#: Prefix of a file that refers to a file with the binary of several kernels.
_ELSEWHERE = b"in "
#: Maximum total size in bytes; the least recently used files are deleted.
_LIMIT = 64 << 20
#: Processor properties that CPU binaries depend on, since machines may share the folder.
_OF_PROCESSOR = ("vendor_id", "model", "flags", "CPU", "Features")
#: Environment variables that change the output of Intel's compilers.
_SETTINGS = ("CL_CONFIG_", "IGC_")


def folder() -> Path | None:
    """Return the cache folder: ``SYCL_DNN_CACHE_DIR``, or a folder in the user's cache.

    None if the variable is empty or the user has no home directory: nothing is cached.
    """
    path = os.environ.get(_VARIABLE)
    if path is None:
        cache = os.environ.get("XDG_CACHE_HOME", "")
        cache = cache if os.path.isabs(cache) else os.path.expanduser("~/.cache")
        path = os.path.join(cache, "sycl_dnn") if os.path.isabs(cache) else ""
    return Path(path, "kernels") if path else None


def key(queue: Any, source: str, options: str) -> str:
    """Return the file name for a source compiled for a device; empty if it is not cached.

    ``source``, ``options``: input of the compiler.
    """
    processor = _processor()
    if folder() is None or not processor:
        return ""
    settings = sorted((n, v) for n, v in os.environ.items() if n.startswith(_SETTINGS))
    facts = [_location.INTERFACE, source, options, settings, processor, _device_facts(queue)]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def digest_of(folder: Path) -> str:
    """Return a digest of the files of a folder of code, by their sizes and times of change."""
    return hashlib.sha256("\n".join(sorted(_files(str(folder)))).encode()).hexdigest()


def _files(root: str) -> Iterator[str]:
    """Yield path, size and time of change of each file of a folder of code, in no order."""
    folders = [root]
    for folder in folders:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.endswith((".py", ".so")):
                    facts = entry.stat()
                    yield f"{entry.path[len(root) :]} {facts.st_size} {facts.st_mtime_ns}"
                elif entry.name != "__pycache__" and entry.is_dir():
                    folders.append(entry.path)


def load(name: str) -> bytes | None:
    """Read a cached binary; None if there is no intact file."""
    if not name:
        return None
    with contextlib.suppress(OSError), _open_folder() as folder_fd:
        path = os.open(name + _SUFFIX, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder_fd)
        with open(path, "rb") as file:
            header, binary = file.read(_HEAD), file.read(_LIMIT)
            with contextlib.suppress(OSError):
                os.utime(file.fileno())  # marks it as recently used
        if header == _header(name, binary):
            return binary
        os.unlink(name + _SUFFIX, dir_fd=folder_fd)  # so that ``has`` need not read it
    return None


def has(name: str, n_bytes: int) -> bool:
    """Whether there is a file of a binary of this size, which may be corrupt."""
    with contextlib.suppress(OSError), _open_folder() as folder_fd:
        facts = os.stat(name + _SUFFIX, dir_fd=folder_fd, follow_symlinks=False)
        return facts.st_size == _HEAD + n_bytes
    return False


def keep(name: str, binary: bytes) -> None:
    """Write a binary atomically, and delete the least recently used files."""
    if not name or not 0 < len(binary) < _LIMIT - _HEAD:
        return
    with contextlib.suppress(OSError), _open_folder(create=True) as folder_fd:
        unfinished = f"{name}.{secrets.token_hex(8)}{_UNFINISHED}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        path = os.open(unfinished, flags, 0o600, dir_fd=folder_fd)
        try:
            with open(path, "wb") as file:
                file.write(_header(name, binary))
                file.write(binary)
            os.rename(unfinished, name + _SUFFIX, src_dir_fd=folder_fd, dst_dir_fd=folder_fd)
        except BaseException:
            os.unlink(unfinished, dir_fd=folder_fd)
            raise
        _check_total_size(len(binary), folder_fd)


def keep_together(names: Sequence[str], binary: bytes) -> None:
    """Write a binary of several kernels, and a reference to it for each."""
    if len(names) == 1:
        keep(names[0], binary)
    elif all(names):
        file = hashlib.sha256("".join(names).encode()).hexdigest()
        keep(file, binary)
        for name in names:
            keep(name, _ELSEWHERE + file.encode())


def file_in(content: bytes) -> str:
    """Return the file name that a reference contains; empty if these bytes are a binary."""
    has = content.startswith(_ELSEWHERE)
    return content[len(_ELSEWHERE) :].decode("ascii", "replace") if has else ""


def _check_total_size(size: int, folder_fd: int) -> None:
    """Check the total size once in an eighth of the limit on average: there are many files.

    At random, so that the files of short processes count, too.
    """
    if secrets.randbelow(_LIMIT // 8) < size:
        _drop_oldest(folder_fd)


def _header(name: str, binary: bytes) -> bytes:
    digest = hashlib.sha256(name.encode())
    digest.update(binary)
    return _MAGIC + digest.digest()


@contextlib.contextmanager
def _open_folder(create: bool = False) -> Iterator[int]:
    """Open the folder; the descriptor pins the folder whose owner was checked."""
    path = folder()
    if path is None:
        raise FileNotFoundError(f"{_VARIABLE} is empty")
    if create:
        path.mkdir(0o700, parents=True, exist_ok=True)
    folder_fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        facts = os.fstat(folder_fd)
        if facts.st_uid != os.geteuid() or facts.st_mode & 0o022:
            raise PermissionError(f"{path} belongs to another user, or is writable by others")
        yield folder_fd
    finally:
        os.close(folder_fd)


def _drop_oldest(folder_fd: int) -> None:
    files = []
    with os.scandir(folder_fd) as entries:
        for entry in entries:
            if entry.name.endswith((_SUFFIX, _UNFINISHED)):
                with contextlib.suppress(FileNotFoundError):
                    facts = entry.stat(follow_symlinks=False)
                    files.append((facts.st_mtime_ns, facts.st_size, entry.name))
    too_much = sum(size for _, size, _ in files) - _LIMIT
    for _, size, name in sorted(files):
        if too_much <= 0:
            return
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder_fd)
        too_much -= size


def _device_facts(queue: Any) -> list[str]:
    device = queue.sycl_device
    platform = device.sycl_platform
    return [platform.name, platform.version, device.vendor, device.name, device.driver_version]


@functools.cache
def _processor() -> str:
    """Return the first processor's model and features; empty if unavailable."""
    lines = []
    with contextlib.suppress(OSError), open("/proc/cpuinfo") as file:
        for line in file:
            if not line.strip():
                break
            if line.startswith(_OF_PROCESSOR):
                lines.append(line)
    return "".join(lines)
