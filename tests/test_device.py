# SPDX-License-Identifier: Apache-2.0
"""default_queue() selects a GPU, else the CPU, else says what to install."""

import dpctl
import dpnp
import fresh_process
import linked_venv
import pytest

import sycl_dnn
from sycl_dnn import _runtime
from sycl_dnn import functional as F
from sycl_dnn import onednn as dnnl
from sycl_dnn.device import usable_devices

DRIVER = str(_runtime.driver_in_wheel())
NOTHING = "no SYCL device that oneDNN can use (an Intel GPU or the CPU)\n  dpctl lists: nothing\n"
ASK = """
import sycl_dnn
try:
    print(sycl_dnn.default_queue().sycl_device.filter_string)
except sycl_dnn.NoDeviceError as error:
    print(error)
"""


def test_gpu_comes_before_cpu():
    kinds = [kind for kind in ("gpu", "cpu") if usable_devices(kind)]
    assert sycl_dnn.default_queue().sycl_device.device_type.name == kinds[0]


def test_queue_is_the_same_at_each_call_and_out_of_order():
    queue = sycl_dnn.default_queue()
    assert queue == sycl_dnn.default_queue()
    assert queue == dpctl.get_device_cached_queue(queue.sycl_device)
    assert not queue.is_in_order


def test_devices_of_arrays_and_queues_name_their_queue(queue):
    x = dpnp.ones(3, dtype="f4", sycl_queue=queue)
    for device in (queue, x.device, x):
        assert sycl_dnn.default_queue(device) is queue
        assert F.zeros(2, device=device).sycl_queue == queue
    with pytest.raises(TypeError, match="device must be a filter string.*got int"):
        F.zeros(2, device=0)


def test_usable_devices_are_those_with_an_engine():
    for kind in ("gpu", "cpu"):
        engines = [dnnl.Engine(device) for device in usable_devices(kind)]
        assert [engine.kind.name for engine in engines] == [kind] * len(engines)


@pytest.mark.slow
def test_cpu_selector_gives_the_cpu():
    assert fresh_process.output(ASK, ONEAPI_DEVICE_SELECTOR="opencl:cpu") == "opencl:cpu:0"


@pytest.mark.slow
@pytest.mark.parametrize("selector", ["level_zero:cpu", "level_zero:gpu"])
def test_selector_without_device_is_named(selector):
    found = fresh_process.output(ASK, ONEAPI_DEVICE_SELECTOR=selector)
    gpus = dpctl.get_devices(backend="level_zero", device_type="gpu")
    if selector == "level_zero:gpu" and gpus:
        assert found == "level_zero:gpu:0"
        return
    assert found.startswith(f"{NOTHING}  ONEAPI_DEVICE_SELECTOR={selector}\n")
    why, command = found.splitlines()[-2:]
    assert why.startswith("  ONEAPI_DEVICE_SELECTOR leaves out ")
    assert "opencl:cpu:0" in why
    assert command == "  type: unset ONEAPI_DEVICE_SELECTOR"


@pytest.mark.slow
@pytest.mark.parametrize("before", ["dpctl.get_devices()", "dpctl.has_cpu_devices()"])
def test_devices_listed_before_the_import(before):
    code = f"import dpctl; {before}\n{ASK}"
    assert fresh_process.output(code, ONEAPI_DEVICE_SELECTOR="opencl:cpu") == (
        f"{NOTHING}  ONEAPI_DEVICE_SELECTOR=opencl:cpu\n  OCL_ICD_FILENAMES={DRIVER}\n"
        "  devices were listed in this process before sycl_dnn was imported, and drivers are "
        "looked for only then; import sycl_dnn first"
    )


@pytest.mark.slow
def test_queue_refused_before_the_import():
    code = "import dpctl\ntry: dpctl.SyclQueue()\nexcept dpctl.SyclQueueCreationError: pass\n"
    found = fresh_process.output(code + ASK, ONEAPI_DEVICE_SELECTOR="opencl:cpu")
    assert found.endswith("import sycl_dnn first")


@pytest.mark.slow
def test_listing_before_the_import_does_no_harm_where_the_driver_is_registered():
    code = f"import dpctl; dpctl.get_devices()\n{ASK}"
    variables = {"ONEAPI_DEVICE_SELECTOR": "*:cpu", "OCL_ICD_FILENAMES": DRIVER}
    assert fresh_process.output(code, **variables) == "opencl:cpu:0"


@pytest.mark.slow
def test_driver_removed_after_the_import():
    code = f"import os, sycl_dnn; del os.environ['OCL_ICD_FILENAMES']\n{ASK}"
    found = fresh_process.output(code, ONEAPI_DEVICE_SELECTOR="opencl:*")
    assert "ONEAPI_DEVICE_SELECTOR leaves out" not in found
    assert found.endswith(f"OCL_ICD_FILENAMES was changed since sycl_dnn put {DRIVER} there")


@pytest.mark.slow
def test_driver_that_is_not_installed(tmp_path):
    site = linked_venv.make(tmp_path, without=["intel_opencl_rt"])
    linked_venv.copy_sources(site)
    linked_venv.install_extension(site)
    python = linked_venv.python(site)
    done = fresh_process.run(
        "-c", ASK, python=python, cwd=tmp_path, ONEAPI_DEVICE_SELECTOR="opencl:*"
    )
    assert done.stdout == (
        f"{NOTHING}  ONEAPI_DEVICE_SELECTOR=opencl:*\n  the CPU driver is not installed\n"
        "  type: pip install intel-opencl-rt\n"
    )
