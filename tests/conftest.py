# SPDX-License-Identifier: Apache-2.0
"""Fixtures: each device of the machine, its engine and streams on its queue."""

import gc
import os
import sys
import zlib
from pathlib import Path

# Hundreds of processes import the package: without bytecode each compiles a second's worth of it.
if sys.dont_write_bytecode and not sys.pycache_prefix:
    sys.dont_write_bytecode = False
    sys.pycache_prefix = str(Path(__file__).parents[1] / "build" / "bytecode")
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# dpnp's kernels are cached across processes. Set before dpctl is imported, which reads it;
# simulated GPUs and layers over a driver have their own compilers.
if not {"SetCommandStreamReceiver", "EXECUTING_GPU"} & set(os.environ):
    os.environ.setdefault("SYCL_CACHE_PERSISTENT", "1")
    # SYCL's keys do not tell binaries for other instructions apart.
    folder = Path(__file__).parents[1] / "build" / "kernels"
    target = os.environ.get("CL_CONFIG_CPU_TARGET_ARCH", "native")
    os.environ.setdefault("SYCL_CACHE_DIR", str(folder / target))

# So are the kernels of this package, separately from the user's own.
os.environ.setdefault("SYCL_DNN_CACHE_DIR", str(Path(__file__).parents[1] / "build" / "kept"))

# Tests are of compiled kernels; those of interpreted ones say so, or a stage of CI.
os.environ.setdefault("SYCL_DNN_INTERPRET", "never")

import compared_with_torch
import dpctl
import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import onednn as dnnl
from sycl_dnn.device import usable_devices

KINDS = [kind for kind in ("gpu", "cpu") if usable_devices(kind)]

# dpnp's kernels are compiled at their first use, which takes a third of a second each; optimizing
# them is most of that, and no test needs it. This package's own kernels are compiled as ever.
if KINDS == ["cpu"] and not {"SetCommandStreamReceiver", "EXECUTING_GPU"} & set(os.environ):
    os.environ.setdefault("SYCL_PROGRAM_COMPILE_OPTIONS", "-cl-opt-disable")


def pytest_addoption(parser):
    """Which of the tests run, and how many of those that are generated."""
    parser.addoption("--device", choices=["cpu", "gpu"], help="only tests of this kind of device")
    parser.addoption("--part", help="K/N: the K-th of N parts, drawn by the tests' names")
    parser.addoption("--cases", help="what tests/conformance runs instead of its files")
    parser.addoption("--calls", type=int, default=2000, help="of tests/fuzz")
    parser.addoption("--programs", type=int, default=5, help="of tests/differential")
    parser.addoption("--samples", type=int, default=3, help="of each operator and dtype of torch's")
    parser.addoption("--seed", type=int, default=0, help="of calls and programs")


def _is_wanted(item, device, part, parts):
    of = getattr(getattr(item, "callspec", None), "params", {})
    kinds = of.get("queue"), of.get("kind")
    if (device and device not in kinds) or ("gpu" in kinds and item.get_closest_marker("cpu")):
        return False
    return zlib.crc32(item.nodeid.encode()) % parts == part - 1


def _lacks_float64(item):
    """Whether a test of float64 runs on a device without it, such as Arc and Tiger Lake."""
    of = getattr(getattr(item, "callspec", None), "params", {})
    kind = of.get("queue") or of.get("kind")
    if kind not in KINDS or usable_devices(kind)[0].has_aspect_fp64:
        return False
    names = {v if isinstance(v, str) else str(getattr(v, "dtype", "")) for v in of.values()}
    return bool(names & {"float64", "f64"}) or item.get_closest_marker("float64") is not None


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config):
    """Run all tests in two processes, but tests named on the command line in one."""
    of = config.option
    # Each of the processes calls this, too, with the same arguments.
    is_first = not hasattr(config, "workerinput")
    is_whole = is_first and config.args_source is config.ArgsSource.TESTPATHS
    if is_whole and config.pluginmanager.hasplugin("xdist") and not (of.usepdb or of.device):
        of.numprocesses = 2 if of.numprocesses is None else of.numprocesses
        # Programs, processes and compiled kernels of a file are created once.
        of.dist = "loadfile" if of.dist == "no" else of.dist


def pytest_itemcollected(item):
    """Mark all but a part of a sweep as slow, and tests that need PyTorch installed."""
    sweep = item.get_closest_marker("sweep")
    if sweep is not None and zlib.crc32(item.name.encode()) % sweep.args[0]:
        item.add_marker(pytest.mark.slow)
    if compared_with_torch.needs_torch(item.function):
        item.add_marker(pytest.mark.torch)


def pytest_ignore_collect(collection_path):
    if not compared_with_torch.IS_INSTALLED and compared_with_torch.whole_file(collection_path):
        return True
    return None


def _leave_out(config, items, is_left_out):
    chosen, left_out = [], []
    for item in items:
        (left_out if is_left_out(item) else chosen).append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = chosen


def pytest_collection_modifyitems(config, items):
    """Deselect what the options exclude, and skip what the devices do not support."""
    for item in items:
        if _lacks_float64(item):
            item.add_marker(pytest.mark.skip(reason="dpnp refuses float64 on this device"))
    device = config.getoption("--device")
    part, parts = (int(n) for n in (config.getoption("--part") or "1/1").split("/"))
    _leave_out(config, items, lambda item: not _is_wanted(item, device, part, parts))
    if not compared_with_torch.IS_INSTALLED:
        _leave_out(config, items, lambda item: item.get_closest_marker("torch"))


def pytest_collection_finish():
    """Keep the garbage collector from traversing the tests themselves."""
    gc.collect()
    gc.freeze()


@pytest.fixture(params=KINDS or ["none"])
def queue(request):
    """An out-of-order queue on each kind of device; without any device tests fail."""
    assert KINDS, sycl_dnn.device.explain_absence()
    return dpctl.SyclQueue(usable_devices(request.param)[0])


@pytest.fixture
def engine(queue):
    return dnnl.Engine(queue)


@pytest.fixture
def stream(engine, queue):
    return dnnl.Stream(engine, queue)


@pytest.fixture(scope="session")
def cpu_stream():
    queue = sycl_dnn.default_queue("cpu")
    return dnnl.Stream(dnnl.Engine(queue), queue)


@pytest.fixture(scope="session")
def prober():
    """The process that tells why oneDNN refuses, on the CPU."""
    from sycl_dnn.tools.explain.probe import Prober

    with Prober("cpu") as found:
        yield found


@pytest.fixture
def make(queue):
    """Return a function that creates random float32 arrays of a shape."""
    rng = np.random.default_rng(0)
    return lambda *shape: dpnp.asarray(rng.standard_normal(shape).astype("f4"), sycl_queue=queue)


@pytest.fixture
def clean_cache():
    """Clear the caches before and after the test."""
    sycl_dnn.cache.clear()
    yield
    sycl_dnn.cache.resize(1024)
    sycl_dnn.cache.clear()
