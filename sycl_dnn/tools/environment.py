# SPDX-License-Identifier: Apache-2.0
"""Data for the report of ``python -m sycl_dnn``: versions, devices, fixes, missing parts."""

from __future__ import annotations

import ctypes
import importlib.metadata
import os
import platform
from typing import Any

import dpctl

import sycl_dnn
from sycl_dnn import _location, _runtime, device
from sycl_dnn.errors import NoDeviceError

_DISTRIBUTIONS = ("sycl_dnn", "dpctl", "dpnp", "numpy", "intel-sycl-rt", "intel-opencl-rt")
_ASPECTS = ("fp16", "fp64", "usm_device", "usm_shared", "usm_host")
_SETTINGS = ("ONEAPI_", "OCL_ICD_", "SYCL_", "ONEDNN_", "DNNL_", "ZE_", "UR_")


def collect() -> dict[str, Any]:
    """Collect the report's data as plain lists, dictionaries, strings and numbers.

    Devices are listed, and an engine is created for each that oneDNN accepts.

    ``versions``: by name, None if not installed or not found; ``location``: the package's folders;
    ``devices``: one dictionary each; ``cpu_isa``: the instruction set that oneDNN uses;
    ``default``: filter string of the device of ``default_queue()``, or None; ``settings``:
    environment variables; ``fixes``: what importing sycl_dnn changed; ``missing``: dictionaries
    with ``what``, and in ``next`` the command to type.
    """
    onednn, isa, problem = _onednn()
    default = _default_device()
    devices = [_describe(d, default) for d in dpctl.get_devices()]
    return {
        "versions": {**onednn, **_versions(), "GPU driver": _gpu_driver_version(devices)},
        "location": list(sycl_dnn.__path__),
        "devices": devices,
        "cpu_isa": isa,
        "default": default and default.filter_string,
        "settings": {k: v for k, v in sorted(os.environ.items()) if k.startswith(_SETTINGS)},
        "fixes": list(_runtime.fixes),
        "missing": [*problem, *_missing(devices, default)],
    }


def _versions() -> dict[str, str | None]:
    versions: dict[str, str | None] = {"python": platform.python_version()}
    for name in _DISTRIBUTIONS:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = None
    return versions


def _onednn() -> tuple[dict[str, str | None], str | None, list[dict[str, str]]]:
    """Return oneDNN's version and commit, its CPU instruction set, and why it does not load."""
    try:
        from sycl_dnn import _core
    except ImportError as error:
        command = "pip install --force-reinstall onednn"
        problem = {"what": f"oneDNN does not load: {error}", "next": command}
        return {"oneDNN": None, "oneDNN commit": None}, None, [problem]
    misfit = _location.misfit(_core)
    problems = [{"what": misfit, "next": _location.install_command()}] if misfit else []
    version = _core.version()
    number = ".".join(str(version[part]) for part in ("major", "minor", "patch"))
    isa = _core.get_effective_cpu_isa().name
    return {"oneDNN": number, "oneDNN commit": version["hash"]}, isa, problems


def _default_device() -> dpctl.SyclDevice | None:
    try:
        return device.default_queue().sycl_device
    except NoDeviceError:
        return None


def _describe(device: dpctl.SyclDevice, default: dpctl.SyclDevice | None) -> dict[str, Any]:
    refusal = _refusal(device)
    return {
        "filter_string": device.filter_string,
        "name": device.name,
        "kind": device.device_type.name,
        "backend": device.backend.name,
        "vendor": device.vendor,
        "driver_version": device.driver_version,
        "memory_bytes": device.global_mem_size,
        "aspects": {name: _has_aspect(device, name) for name in _ASPECTS},
        "engine": refusal is None,
        "refusal": refusal,
        "default": device == default,
    }


def _has_aspect(device: dpctl.SyclDevice, name: str) -> bool:
    suffix = "_allocations" if name.startswith("usm") else ""
    return bool(getattr(device, f"has_aspect_{name}{suffix}"))


def _refusal(device: dpctl.SyclDevice) -> str | None:
    """Return why oneDNN cannot create an engine for the device; None if it can."""
    try:
        from sycl_dnn import _core

        _core.Engine(device)
    except Exception as error:  # any failure belongs in the report
        return (str(error).splitlines() or [type(error).__name__])[0]
    return None


def _gpu_driver_version(devices: list[dict[str, Any]]) -> str | None:
    gpus = (d for d in devices if d["kind"] == "gpu")
    return ", ".join(dict.fromkeys(f"{d['driver_version']} ({d['backend']})" for d in gpus)) or None


def _missing(
    devices: list[dict[str, Any]], default: dpctl.SyclDevice | None
) -> list[dict[str, str]]:
    missing = [{"what": text, "next": ""} for text in _runtime.problems]
    if default is None:
        problem, command = device.next_step()
        missing.append({"what": problem, "next": command} if problem else _no_cpu())
    elif not any(d["kind"] == "cpu" for d in devices):
        missing.append(_no_cpu())
    if device.lacks_compiler(dpctl.get_devices(device_type="gpu")):
        missing.append({"what": device.NO_COMPILER, "next": "apt-get install intel-opencl-icd"})
    if not any(d["kind"] == "gpu" and d["engine"] for d in devices):
        problem, command = _runtime.advice()
        missing.append({"what": problem, "next": command})
    return missing


def _no_cpu() -> dict[str, str]:
    driver = _runtime.driver_in_wheel()
    if driver is None:
        return {"what": "the CPU driver is not installed", "next": "pip install intel-opencl-rt"}
    try:
        ctypes.CDLL(str(driver))
    except OSError as error:
        command = "pip install --force-reinstall intel-opencl-rt"
        return {"what": f"the CPU driver does not load: {error}", "next": command}
    problem = f"the CPU driver {driver} loads, but no CPU device appears"
    return {
        "what": problem,
        "next": "unset ONEAPI_DEVICE_SELECTOR OCL_ICD_FILENAMES OCL_ICD_VENDORS",
    }
