# SPDX-License-Identifier: Apache-2.0
"""Makes the devices of the pip wheels visible, and diagnoses missing GPUs.

The wheels ship Intel's OpenCL CPU driver but do not register it. OCL_ICD_FILENAMES is read when
devices are first listed in a process, so it is set when the package is imported.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

from sycl_dnn._warn import warn

_DRIVER = "libintelocl.so"
#: Dependencies of the wheel's libOpenCL and CPU driver, which have no run path to them.
_PRELOADED = ("libintlc.so.5", "libimf.so", "libirng.so", "libsvml.so")

#: Actions of ``prepare``, one sentence each, for ``python -m sycl_dnn``.
fixes: list[str] = []
#: Failures of ``prepare``, one sentence each.
problems: list[str] = []
_prepared = False


def _distribution_files(distribution: str, names: Iterable[str]) -> dict[str, Path]:
    record = _record(distribution)
    if record is None:
        return {}
    name_set = set(names)
    recorded = (line.split(",", 1)[0] for line in record.read_text().splitlines())
    paths = {p.rpartition("/")[2]: p for p in recorded if p.rpartition("/")[2] in name_set}
    located = {name: (record.parents[1] / p).resolve() for name, p in paths.items()}
    return {name: path for name, path in located.items() if path.exists()}


def _record(distribution: str) -> Path | None:
    """Return the list of an installed distribution's files."""
    # Not by importlib.metadata: importing it takes as long as importing this package.
    pattern = f"{distribution.replace('-', '_')}-*.dist-info/RECORD"
    return next((record for folder in sys.path for record in Path(folder).glob(pattern)), None)


def distribution_file(distribution: str, name: str) -> Path | None:
    """Return the path of a file called ``name`` in an installed distribution, or None."""
    return _distribution_files(distribution, [name]).get(name)


def driver_in_wheel() -> Path | None:
    """Return the CPU driver that pip installed with oneDNN, or None."""
    return distribution_file("intel-opencl-rt", _DRIVER)


def icd_entries() -> list[str]:
    """Return the registered OpenCL drivers, from OCL_ICD_FILENAMES or the system."""
    entries = os.environ.get("OCL_ICD_FILENAMES", "").split(os.pathsep)
    vendors = Path(os.environ.get("OCL_ICD_VENDORS") or "/etc/OpenCL/vendors")
    for icd in sorted(vendors.glob("*.icd")):
        try:
            entries += icd.read_text(errors="replace").splitlines()[:1]
        except OSError:
            continue
    return [entry.strip() for entry in entries if entry.strip()]


def _exists(library: str) -> bool:
    if "/" in library:
        return Path(library).exists()
    folders = os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)
    return any(Path(folder, library).exists() for folder in folders if folder)


def driver_registered() -> bool:
    """Whether OCL_ICD_FILENAMES or the system names an existing CPU driver."""
    return any(_DRIVER in entry and _exists(entry) for entry in icd_entries())


def _register_driver() -> None:
    driver = None if driver_registered() else driver_in_wheel()
    if driver is None:
        return
    drivers = [p for p in os.environ.get("OCL_ICD_FILENAMES", "").split(os.pathsep) if p]
    os.environ["OCL_ICD_FILENAMES"] = os.pathsep.join([*drivers, str(driver)])
    fixes.append(f"registered the CPU driver of the wheels (OCL_ICD_FILENAMES += {driver})")


def _preload() -> None:
    files = _distribution_files("intel-cmplr-lib-rt", _PRELOADED)
    loaded = []
    for name in (n for n in _PRELOADED if n in files):
        try:
            ctypes.CDLL(str(files[name]))
            loaded.append(name)
        except OSError as error:
            problems.append(f"could not preload {name} for the CPU driver: {error}")
    if loaded:
        fixes.append(f"preloaded {', '.join(loaded)} for the CPU driver")


def prepare() -> None:
    """Register the CPU driver and preload its libraries. Lists no devices; idempotent."""
    global _prepared
    if _prepared:
        return
    _prepared = True
    if "SYCL_QUEUE_THREAD_POOL_SIZE" not in os.environ:
        # dpnp sets the same at import; oneDNN's CPU primitives run in this pool.
        os.environ["SYCL_QUEUE_THREAD_POOL_SIZE"] = "6"
        fixes.append("set SYCL_QUEUE_THREAD_POOL_SIZE=6, as dpnp does")
    _register_driver()
    _preload()
    if problem := level_zero_problem():
        problems.append(problem)
        warn(problem)


# --- First calls of dpnp's extension modules, made while a single thread runs

_TAKES_ARRAYS = re.compile(r"\w+\((?P<parameters>.*usm_ndarray.*)\) ->")


def use_dpnp_once() -> None:
    """Call each of dpnp's extension modules once, since first calls are not thread-safe.

    dpnp 0.20 may deadlock: the first thread initializes a static variable and releases the GIL
    meanwhile; the second waits for that variable while holding the GIL. The calls pass only None
    and are refused; they take some 15 ms in total.
    """
    switching = sys.getswitchinterval()
    sys.setswitchinterval(10.0)  # other threads may already be running
    try:
        for name, module in list(sys.modules.items()):
            if name.startswith("dpnp.") and name.endswith("_impl"):
                _call_with_none(module)
    finally:
        sys.setswitchinterval(switching)


def _call_with_none(module: ModuleType) -> None:
    """Call the first function of a module that takes arrays, with None for all arguments."""
    for function in vars(module).values():
        match = _TAKES_ARRAYS.search(getattr(function, "__doc__", None) or "")
        if not match:
            continue
        required = [p for p in match["parameters"].split(", ") if ": " in p and " = " not in p]
        with contextlib.suppress(Exception):
            function(*[None] * len(required))
        return


# --- Why an Intel GPU is not among the SYCL devices, determined from files

_INTEL, _DISPLAY = "0x8086", "0x03"
_GPU_OPENCL, _GPU_LEVEL_ZERO = "intel-opencl/libigdrcl.so", "libze_intel_gpu.so.1"
#: Debian has the former (22.43, GPUs up to 2022); Ubuntu and Intel's repository have both.
_PACKAGES = {_GPU_OPENCL: "intel-opencl-icd", _GPU_LEVEL_ZERO: "libze-intel-gpu1"}
_INSTALL = f"apt-get install {_PACKAGES[_GPU_OPENCL]}"
_NEWER = "see https://dgpu-docs.intel.com"


def advice(root: Path = Path("/")) -> tuple[str, str]:
    """Return why SYCL lists no Intel GPU, and the next command to type.

    ``root``: root of the file system with ``sys/bus/pci``, ``dev/dri`` and the drivers' files.
    """
    if not _intel_gpus(root) and not (root / "dev/dxg").exists():
        return "no Intel GPU: none on the PCI bus", ""
    nodes = [*(root / "dev/dri").glob("renderD*"), *(root / "dev").glob("dxg")]
    drivers = _gpu_drivers(root)
    if not nodes:
        why = "no Intel GPU: no /dev/dri/renderD* (in a container: docker run --device /dev/dri)"
        return why, "modprobe i915 || modprobe xe"
    if not any(os.access(node, os.R_OK | os.W_OK) for node in nodes):
        why = f"no Intel GPU: this user may not open {nodes[0]} (log in again after the command)"
        return why, "sudo usermod -aG render $USER"
    if not drivers:
        return f"no Intel GPU: driver missing (GPUs since 2023: {_NEWER})", _INSTALL
    if "ONEAPI_DEVICE_SELECTOR" in os.environ:
        why = "no Intel GPU: ONEAPI_DEVICE_SELECTOR may hide it"
        return why, "unset ONEAPI_DEVICE_SELECTOR"
    why = f"no Intel GPU: the driver does not support it ({drivers[0]}; newer ones: {_NEWER})"
    installed = [p for name, p in _PACKAGES.items() if any(str(d).endswith(name) for d in drivers)]
    return why, f"apt-get install --only-upgrade {' '.join(installed)}"


def _intel_gpus(root: Path) -> list[Path]:
    """Return the PCI devices of Intel that are GPUs."""
    gpus = []
    for pci in (root / "sys/bus/pci/devices").glob("*"):
        try:
            vendor, kind = ((pci / name).read_text().strip() for name in ("vendor", "class"))
        except OSError:
            continue
        if vendor == _INTEL and kind.startswith(_DISPLAY):
            gpus.append(pci)
    return gpus


def _library_folders(root: Path) -> list[Path]:
    return [root / "usr/lib", root / "usr/lib64", *(root / "usr/lib").glob("*-linux-gnu")]


def _gpu_drivers(root: Path) -> list[Path]:
    paths = (f / name for f in _library_folders(root) for name in (_GPU_OPENCL, _GPU_LEVEL_ZERO))
    return [path for path in paths if path.exists()]


# --- Requirements of Level Zero: a recent loader, and the OpenCL driver

_SELECTOR = "ONEAPI_DEVICE_SELECTOR"
_LOADER = "libze_loader.so.1"
#: With a GPU, SYCL 2026 crashes with loader 1.8 but not 1.16; versions in between are untested.
_OLDEST_LOADER = (1, 16)
#: Variables that make Debian's driver simulate a GPU (tests/simulated_gpu.sh).
_SIMULATION = {"NEOReadDebugKeys": "1", "SetCommandStreamReceiver": "1"}


def level_zero_problem(root: Path = Path("/")) -> str:
    """Return why listing devices would crash this process; "" if no reason is known.

    If there is a GPU, SYCL calls functions that old Level Zero loaders (``libze1``) lack.
    """
    loader = _level_zero_loader(root)
    version = _version_of(loader) if loader else None
    if version is None or version >= _OLDEST_LOADER or not _may_take_level_zero():
        return ""
    has_gpu = _intel_gpus(root) or (root / "dev/dxg").exists() or is_simulating()
    if not has_gpu or not any(path.name == _GPU_LEVEL_ZERO for path in _gpu_drivers(root)):
        return ""
    oldest, own = (".".join(map(str, v)) for v in (_OLDEST_LOADER, version))
    return (
        f"the Level Zero loader {loader} ({own}) is older than {oldest}: SYCL may crash when it "
        f"lists the GPU through it; install libze1 {oldest} or newer, or set {_SELECTOR}=opencl:*"
    )


def _level_zero_loader(root: Path) -> Path | None:
    """Return the loader that a process would load."""
    paths = os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)
    folders = [Path(f) for f in paths if f] + [Path(sys.prefix, "lib"), root / "usr/local/lib"]
    folders += _library_folders(root)
    return next((f / _LOADER for f in folders if (f / _LOADER).exists()), None)


def _version_of(library: Path) -> tuple[int, ...] | None:
    """Return the version in the file name that a library's symlink points to."""
    numbers = library.resolve().name.partition(".so.")[2].split(".")
    is_version = len(numbers) > 1 and all(number.isdecimal() for number in numbers)
    return tuple(map(int, numbers[:2])) if is_version else None


def _may_take_level_zero() -> bool:
    """Whether ONEAPI_DEVICE_SELECTOR admits Level Zero."""
    terms = os.environ.get(_SELECTOR, "").lower().split(";")
    backends = [term.partition(":")[0] for term in terms if term and not term.startswith("!")]
    return "!level_zero:*" not in terms and (
        not backends or any(backend in ("*", "level_zero") for backend in backends)
    )


def is_simulating() -> bool:
    """Whether Debian's driver simulates a GPU in this environment."""
    return all(os.environ.get(name) == value for name, value in _SIMULATION.items())


def avoid_crash() -> None:
    """Hide Level Zero from this process if listing its devices would crash."""
    if level_zero_problem():
        os.environ[_SELECTOR] = "opencl:*"


def has_gpu_compiler() -> bool:
    """Whether the OpenCL driver for GPUs is registered.

    oneDNN uses it to compile OpenCL C kernels, for Level Zero too; ONEAPI_DEVICE_SELECTOR does not
    hide it.
    """
    return any("libigdrcl" in entry and _exists(entry) for entry in icd_entries())
