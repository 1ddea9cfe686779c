# SPDX-License-Identifier: Apache-2.0
"""The kernel cache, several processes at a time, and the end of a process."""

import os
import subprocess
import sys

import pytest

# Compiles this many kernels and runs each.
COMPILE = """
import sys, dpctl, dpnp, sycl_dnn
from dpctl.program import create_program_from_source
queue = sycl_dnn.default_queue()
assert "executed by the CPU" in queue.sycl_device.name
array = dpnp.zeros(64, dtype="i4", sycl_queue=queue)
for i in range({count}):
    source = "kernel void add%d(global int *p) {{ p[get_global_id(0)] += %d; }}" % (i, i + 1)
    kernel = create_program_from_source(queue, source).get_sycl_kernel("add%d" % i)
    queue.wait()
    queue.submit(kernel, [array.get_array().usm_data], [64], [8])
assert (array.asnumpy() == {count} * ({count} + 1) // 2).all(), array
"""

BUSY = """
import sycl_dnn
from sycl_dnn import onednn as dnnl
engine = dnnl.Engine(sycl_dnn.default_queue())
stream = dnnl.Stream(engine)
d = dnnl.MemoryDesc((256, 256), dnnl.data_type.f32)
matmul = dnnl.Primitive(dnnl.matmul(engine, src=d, weights=d, dst=d))
args = {n: dnnl.Memory(d, engine) for n in ("src", "weights", "dst")}
for _ in range(20):
    matmul.execute(stream, args)
"""


@pytest.fixture
def traced(python, tmp_path):
    """Run code with its own empty cache; return how many programs were compiled."""

    def run(code, **variables):
        variables = {"EXECUTING_GPU_CACHE": str(tmp_path), **variables}
        return python(code, EXECUTING_GPU_TRACE="1", **variables)[1].count("compiled in")

    return run


def test_kernels_are_compiled_once(traced, tmp_path):
    code = COMPILE.format(count=3)
    assert traced(code) == 3
    assert traced(code) == 0
    for path in tmp_path.iterdir():
        path.write_bytes(path.read_bytes()[:1000])
    assert traced(code) == 3, "damaged files"


def test_without_a_cache(traced, tmp_path):
    code = COMPILE.format(count=2)
    assert [traced(code, EXECUTING_GPU_CACHE="") for _ in range(2)] == [2, 2]
    assert list(tmp_path.iterdir()) == []


def test_the_cache_is_bounded(traced, tmp_path):
    limit = 100_000
    assert traced(COMPILE.format(count=16), EXECUTING_GPU_CACHE_BYTES=str(limit)) == 16
    sizes = [path.stat().st_size for path in tmp_path.iterdir()]
    assert limit - max(sizes) < sum(sizes) <= limit
    assert len(sizes) < 16
    # Those used last are left.
    last = COMPILE.format(count=16).replace("range(16)", "range(15, 16)")
    assert traced(last.replace("16 * (16 + 1) // 2", "16")) == 0


def test_two_processes_at_a_time(tmp_path):
    environment = os.environ | {"EXECUTING_GPU_CACHE": str(tmp_path)}
    command = [sys.executable, "-c", COMPILE.format(count=4)]
    running = [
        subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    for process in running:
        assert process.communicate(timeout=900)[1] == ""
        assert process.returncode == 0
    assert len(list(tmp_path.iterdir())) == 4


@pytest.mark.parametrize("code", ["import sycl_dnn; sycl_dnn.default_queue()", BUSY])
def test_a_process_ends_well(code, python):
    for _ in range(3):
        assert python(code) == ("", "")
