# SPDX-License-Identifier: Apache-2.0
"""Several threads wait for one queue."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

WAITS = """
import threading
import dpnp, sycl_dnn
import sycl_dnn.functional as F
from sycl_dnn import onednn as dnnl

queue = sycl_dnn.default_queue("cpu")
stream = dnnl.Stream(dnnl.Engine(queue), queue, ordered=True)
F.relu(dpnp.ones((64, 64), dtype="f4", sycl_queue=queue))

def work():
    for _ in range(300_000):
        stream.wait()

threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("end", flush=True)
"""


def test_threads_that_wait_for_one_queue_do_not_end_the_process():
    """OpenCL's clFinish, called by two threads at once, crashed within some 400,000 waits."""
    done = subprocess.run([sys.executable, "-c", WAITS], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "end\n"), done.stderr
