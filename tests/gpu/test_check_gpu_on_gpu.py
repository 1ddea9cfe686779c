# SPDX-License-Identifier: Apache-2.0
"""``check-gpu`` on a GPU: it reports the kind, and compares only executed work."""

import sycl_dnn
from sycl_dnn.device import is_simulated
from sycl_dnn.tools.check_gpu import device_checks, function_sample


def test_device_is_reported_by_its_kind(gpu):
    nature = device_checks.nature(gpu.sycl_device)
    assert (nature == "simulated gpu") == is_simulated("gpu")
    if nature != "gpu":
        assert device_checks.speed(gpu, 1.0)["status"] == "not run"


def test_a_function_is_compared_where_something_ran(gpu):
    simulated = is_simulated("gpu")
    reference = None if simulated else sycl_dnn.default_queue("cpu")
    row = function_sample.one("relu", "float32", gpu, reference)
    assert row["status"] == ("submitted" if simulated else "passed"), row
