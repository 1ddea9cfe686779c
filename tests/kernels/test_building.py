# SPDX-License-Identifier: Apache-2.0
"""Programs of kernels that another thread builds: refusals, threads, forks, exit."""

import subprocess
import sys
import threading
from pathlib import Path

import dpctl
import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import _core, errors
from sycl_dnn import onednn as dnnl
from sycl_dnn.kernels import building
from sycl_dnn.kernels.spirv import Kernel

#: A fresh process that starts more builds than it waits for; ``module(n)`` differs by ``n``.
STARTED = f"""
import os, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import sycl_dnn
from test_building import module
from sycl_dnn import _core
queue = sycl_dnn.default_queue()
kept = []
builds = [_core.ProgramBuild(queue, module(n), b"", kept.append) for n in range(20)]
"""


def module(number):
    """A kernel ``filled`` that writes a number to 16 elements."""
    k = Kernel("filled", [("pointer", "f32")], 1)
    k.store(k.parameters[0], k.constant(0, "i64"), k.constant(float(number), "f32", 16))
    return k.module()


def program(queue, build, x):
    """A program of one launch that writes ``x``."""
    kernel = _core.Kernel(build, "filled", [], 1, 1)
    engine = dnnl.Engine(queue)
    desc = dnnl.MemoryDesc(x.shape, "f32", "a")
    return _core.Program(engine, [("array", 0, 0, desc)], [(kernel, [(0, 0)])], 1, 0), engine


def filled(queue, build):
    """What the kernel of a build writes."""
    x = dpnp.zeros(16, dtype="f4", sycl_queue=queue)
    made, engine = program(queue, build, x)
    stream = dnnl.Stream(engine, queue, ordered=True)
    made.run(stream, [x.get_array().usm_data]).wait()
    return dpnp.asnumpy(x)


@pytest.fixture
def queue():
    found = sycl_dnn.default_queue()
    if found.backend != dpctl.backend_type.opencl:
        pytest.fail("the default device is not OpenCL's")
    return found


def test_the_binary_is_kept_once_and_read(queue):
    kept = []
    build = _core.ProgramBuild(queue, module(3), b"", kept.append)
    assert (filled(queue, build) == 3).all()
    assert (filled(queue, build) == 3).all()
    (binary,) = kept
    again = _core.ProgramBuild(queue, b"not SPIR-V", binary, kept.append)
    assert (filled(queue, again) == 3).all()
    assert len(kept) == 1


def test_a_wrong_binary_is_replaced(queue):
    kept = []
    build = _core.ProgramBuild(queue, module(4), b"not a binary", kept.append)
    assert (filled(queue, build) == 4).all()
    assert len(kept) == 1


def test_a_refusal_names_the_kernel_before_anything_runs(queue):
    build = building.compiled(queue, b"not SPIR-V", "filled")
    x = dpnp.zeros(16, dtype="f4", sycl_queue=queue)
    for _ in range(2):
        with pytest.raises(errors.Unimplemented, match=r"filled: .*refuses this kernel"):
            program(queue, build, x)


def test_threads_wait_for_one_build(queue):
    kept, made = [], []
    build = _core.ProgramBuild(queue, module(5), b"", kept.append)
    threads = [threading.Thread(target=lambda: made.append(filled(queue, build))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_array_equal(made, np.full((8, 16), 5, "f4"))
    assert len(kept) == 1


def test_exit_does_not_wait_for_what_was_not_begun():
    run = subprocess.run([sys.executable, "-c", STARTED], capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (0, "")


def test_forked_processes_refuse():
    script = f"""{STARTED}
if not os.fork():
    try:
        _core.ProgramBuild(queue, module(30), b"", kept.append)
    except RuntimeError:
        print("refused", flush=True)
    os._exit(0)
os.wait()
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert run.stdout == "refused\n", run.stderr
