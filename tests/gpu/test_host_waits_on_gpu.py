# SPDX-License-Identifier: Apache-2.0
"""Driver calls of one call, counted in SYCL's trace: kernels, and no host waits."""

import sys
from pathlib import Path

import pytest
from driver_calls import traced

from sycl_dnn.device import executes_on_cpu

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))

import gpu_networks  # noqa: E402

#: Two calls of a function; nothing else is requested from oneDNN.
CHAIN = """
import os
import sys
sys.path.append({helpers!r})
import dpnp
import sycl_dnn
from driver_calls import mark
from sycl_dnn import functional as F

queue = sycl_dnn.default_queue("gpu")
x = dpnp.ones((1, 8, 16, 16), dtype="f4", sycl_queue=queue)
w = dpnp.ones((8, 8, 3, 3), dtype="f4", sycl_queue=queue)
for phase in ("first", "repeated"):
    mark(phase)
    y = F.max_pool2d(F.relu(F.conv2d(x, w, padding=1)), 2)
    mark("after " + phase)
    queue.wait()
os._exit(0)  # a simulated driver may abort on its way out
"""


@pytest.mark.parametrize("network", ["resnet50-1", "gpt-step"])
def test_a_network_runs_from_input_to_result_without_a_wait(network, gpu):
    if executes_on_cpu(gpu.sycl_device):
        pytest.skip("oneDNN has no machine code for this GPU, so other steps are its reference")
    # ResNet-50 operation by operation is another set of convolutions to generate.
    alone = ["--compiled-alone"] if network == "resnet50-1" else []
    counted = gpu_networks.counted(network, "--tiny", *alone)
    assert counted["fallbacks"] == []
    # oneDNN has nothing else for the last pool of a network so small, over 2 x 2 pixels.
    assert set(counted["reference"]) <= {"pooling_forward ocl:ref:any"}
    compiled = counted["compiled"]
    assert compiled["waits"] == compiled["copies"] == 0
    # The trace shows waits where there are some.
    assert counted["after compiled"]["waits"] >= 1
    # Some of oneDNN's implementations consist of several kernels.
    assert counted["steps"] <= compiled["kernels"] <= 1.5 * counted["steps"]
    assert alone or compiled["kernels"] < counted["operations"]["kernels"]
    # A call allocates at most its results: here two caches and the logits.
    assert compiled["allocations"] <= 3


@pytest.mark.usefixtures("gpu")
def test_a_repeated_chain_of_functions_does_not_wait():
    helpers = str(Path(__file__).resolve().parents[1] / "helpers")
    code = CHAIN.format(helpers=helpers)
    phases, _ = traced("-c", code)
    assert phases["repeated"].waits == 0
    assert phases["repeated"].kernels <= 6
    assert phases["after repeated"].waits >= 1
