# SPDX-License-Identifier: Apache-2.0
"""Locating, configuring and loading the oneCCL library that pip installed."""

from __future__ import annotations

import contextlib
import ctypes
import os
from pathlib import Path

from sycl_dnn import _core
from sycl_dnn._runtime import distribution_file

#: Dependencies of oneCCL that its libraries do not find by themselves.
_PRELOADED = (
    ("intel-cmplr-lib-rt", "libintlc.so.5"),
    ("intel-cmplr-lib-rt", "libimf.so"),
    ("intel-cmplr-lib-rt", "libirng.so"),
    ("intel-cmplr-lib-rt", "libsvml.so"),
    ("impi-rt", "libfabric.so.1"),
)
_LIBRARY, _OLDER_LIBRARY = "libccl.so.2", "libccl.so.1"
_CPU_PLUGIN = "libccl_legacy_cpu.so"
INSTALL = 'pip install "oneccl>=2022.1,<2022.2"'


class NoOneCcl(ImportError):
    """oneCCL is not installed or cannot be loaded."""


def library_path() -> Path:
    """Return the path of oneCCL's library.

    Raises NoOneCcl if it is not installed; the message says how to install it.
    """
    library = distribution_file("oneccl", _LIBRARY)
    if library is None:
        raise NoOneCcl(f"several ranks need oneCCL, which is not installed; type: {INSTALL}")
    return library


def remove_shared_memory() -> None:
    """Remove the shared-memory files of this process, which oneCCL does not clean up.

    They exist only if the user has set CCL_ATL_SHM=1.
    """
    for path in Path("/dev/shm").glob(f"{os.getpid()}:*"):
        with contextlib.suppress(OSError):
            path.unlink()


def open_oneccl(on_gpu: bool) -> None:
    """Load oneCCL, once.

    ``on_gpu``: whether collectives use GPU memory. Raises NoOneCcl if it is not installed or cannot
    be loaded.
    """
    library = library_path()
    _set_defaults(library.parent, on_gpu)
    try:
        for distribution, name in _PRELOADED:
            path = distribution_file(distribution, name) or library.parent / name
            ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
        # Its plugins are linked to the older library, which needs the newer one.
        for name in (_LIBRARY, _OLDER_LIBRARY):
            ctypes.CDLL(str(library.parent / name), mode=ctypes.RTLD_GLOBAL)
        _core.Communicator.open_oneccl(str(library))
    except (OSError, RuntimeError) as error:
        raise NoOneCcl(f"oneCCL is installed but cannot be opened: {error}") from error


def _set_defaults(folder: Path, on_gpu: bool) -> None:
    """Set the environment variables that oneCCL reads at start-up, unless the user has.

    By default oneCCL busy-waits, which costs tens of milliseconds per collective if there are fewer
    cores than threads.
    """
    defaults = {
        "CCL_ATL_TRANSPORT": "ofi",
        "CCL_PROCESS_LAUNCHER": "none",
        "CCL_LOG_LEVEL": "error",
        "CCL_YIELD": "sched_yield",
        "CCL_WORKER_OFFLOAD": "0",
    }
    if not on_gpu:
        defaults["CCL_PLUGIN"] = str(folder / _CPU_PLUGIN)
    for name, value in defaults.items():
        os.environ.setdefault(name, value)
    if not os.environ.get("FI_PROVIDER_PATH", "set"):
        del os.environ["FI_PROVIDER_PATH"]  # oneCCL fails to start if it is empty
