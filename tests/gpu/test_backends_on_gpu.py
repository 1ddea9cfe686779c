# SPDX-License-Identifier: Apache-2.0
"""Differences between OpenCL and Level Zero: devices, contexts, queues, tiles, the compiler.

The other files of this folder run on both backends as they are: see docs/backends.md.
"""

import json
import os
import subprocess
import sys

import dpctl
import dpnp
import pytest

from sycl_dnn import InvalidArguments
from sycl_dnn import functional as F
from sycl_dnn import onednn as dnnl
from sycl_dnn.device import is_simulated

PRINT = "import json, os, warnings, dpctl, dpnp, sycl_dnn\nfrom sycl_dnn import functional as F\n"


#: The simulated driver (22.43) has tiles on a Tiger Lake; on an Arc it crashes.
TWO_TILES = {
    "CreateMultipleSubDevices": "2", "ProductFamilyOverride": "tgllp", "ForceDeviceId": "0x9a49",
    "HardwareInfoOverride": "",
}  # fmt: skip


def told(code, **variables):
    """Run code in a separate process; return the JSON in its last output line."""
    code = f"{PRINT}{code}\nprint(json.dumps(told), flush=True)\nos._exit(0)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=900,
        env={name: value for name, value in (os.environ | variables).items() if value},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture
def through_level_zero(gpu):
    if gpu.sycl_device.backend is not dpctl.backend_type.level_zero:
        pytest.skip("the GPU comes through OpenCL; see tests/simulated_gpu.sh --backend")
    return gpu


@pytest.mark.usefixtures("through_level_zero")
def test_level_zero_comes_before_opencl():
    code = "from sycl_dnn.device import usable_devices\n"
    code += "told = [sycl_dnn.default_queue().sycl_device.filter_string, "
    code += "*(d.filter_string for d in usable_devices('gpu'))]"
    found = told(code, ONEAPI_DEVICE_SELECTOR="*:gpu")
    assert found == ["level_zero:gpu:0", "level_zero:gpu:0", "opencl:gpu:0"]


@pytest.mark.usefixtures("through_level_zero")
def test_arrays_of_the_same_gpu_through_the_other_backend_are_refused():
    code = "q = [dpctl.SyclQueue(f'{b}:gpu:0') for b in ('level_zero', 'opencl')]\n"
    code += "x = [dpnp.ones((2, 8), dtype='f4', sycl_queue=i) for i in q]\n"
    code += "F.softmax(x[0], 1), F.softmax(x[1], 1)\n"
    code += "try: F.add(*x); told = ''\n"
    code += "except Exception as error: told = type(error).__name__"
    assert told(code, ONEAPI_DEVICE_SELECTOR="*:gpu") == "ExecutionPlacementError"


@pytest.mark.usefixtures("through_level_zero")
def test_missing_opencl_driver_is_reported():
    """oneDNN compiles its OpenCL C kernels with it on Level Zero, too."""
    cpu_only = os.environ["OCL_ICD_FILENAMES"].split(os.pathsep)[0]
    code = "from sycl_dnn.tools import environment\n"
    code += "with warnings.catch_warnings(record=True) as caught:\n"
    code += "    warnings.simplefilter('always')\n"
    code += "    found = environment.collect()\n"
    code += "told = [[str(w.message) for w in caught], [m['what'] for m in found['missing']]]"
    warned, missing = told(code, OCL_ICD_FILENAMES=cpu_only)
    assert any("libigdrcl.so) is not registered" in text for text in warned)
    assert any("libigdrcl.so) is not registered" in text for text in missing)


def test_queues_of_either_order(gpu):
    context, device = gpu.sycl_context, gpu.sycl_device
    for order in ("default", "in_order"):
        queue = dpctl.SyclQueue(context, device, property=order)
        x = dpnp.ones((1, 8, 8, 8), dtype="f4", sycl_queue=queue)
        w = dpnp.ones((8, 8, 3, 3), dtype="f4", sycl_queue=queue)
        for _ in range(3):
            x = F.relu(F.conv2d(x, w, padding=1))
        assert x.sycl_queue.is_in_order == (order == "in_order")
        stream = dnnl.Stream(dnnl.Engine(queue), queue)
        stream.wait()
        assert stream.pending == 0


def test_each_context_has_its_engine(gpu):
    first = dnnl.Engine(gpu)
    assert first == dnnl.Engine(dpctl.SyclQueue(gpu.sycl_context, gpu.sycl_device))
    other = dpctl.SyclQueue(dpctl.SyclContext([gpu.sycl_device]), gpu.sycl_device)
    second = dnnl.Engine(other)
    assert first != second
    desc = dnnl.MemoryDesc((4, 4), dnnl.data_type.f32)
    relu = dnnl.Primitive(
        dnnl.eltwise_forward(
            first, prop_kind=dnnl.prop_kind.forward_inference,
            algorithm=dnnl.algorithm.eltwise_relu, src=desc, dst=desc, alpha=0.0, beta=0.0,
        )
    )  # fmt: skip
    theirs = dnnl.Memory(desc, second)
    with pytest.raises(InvalidArguments, match="must be in memory of the primitive's engine"):
        relu.execute(dnnl.Stream(first, gpu), {"src": theirs, "dst": theirs})


@pytest.mark.skipif(not is_simulated("gpu"), reason="needs a GPU of several tiles")
@pytest.mark.usefixtures("through_level_zero")  # the simulated OpenCL driver crashes with two
def test_a_tile_is_a_device():
    """A GPU of two tiles is one device; queues on its tiles compute on those, or SYCL refuses."""
    code = "gpu, = dpctl.get_devices(device_type='gpu')\n"
    code += "tiles = gpu.create_sub_devices(partition='next_partitionable')\n"
    code += "told = []\n"
    code += "for tile in [gpu, *tiles]:\n"
    code += "    queue = dpctl.SyclQueue(tile)\n"
    code += "    try: x = dpnp.ones((2, 8), dtype='f4', sycl_queue=queue)\n"
    code += (
        "    except RuntimeError as error: told.append('INVALID_DEVICE' in str(error)); continue\n"
    )
    code += "    y = F.softmax(F.linear(x, dpnp.ones((8, 8), dtype='f4', sycl_queue=queue)), 1)\n"
    code += "    told.append(y.sycl_device == tile and 'computed')\n"
    code += "    queue.wait()"
    # The v2 adapter takes no kernel for a tile of a GPU, dpnp's own included.
    tile = True if os.environ.get("UR_LOADER_USE_LEVEL_ZERO_V2") == "1" else "computed"
    assert told(code, **TWO_TILES) == ["computed", tile, tile]


#: What a newer driver shows of two tiles: each as a device, whose GPU COMBINED tells; or the GPU.
HIERARCHIES = {"FLAT": 2, "COMBINED": 2, "COMPOSITE": 1}

ON_BOTH = """
from sycl_dnn import onednn as dnnl
from sycl_dnn.device import usable_devices

devices = usable_devices("gpu")
queues = [dpctl.SyclQueue(device) for device in devices]
layer = sycl_dnn.compile(lambda x, w: F.softmax(F.linear(x, w), 1))


def on(queue):
    x, w = (dpnp.ones(n, dtype="f4", sycl_queue=queue) for n in ((2, 8), (8, 8)))
    return x, [layer(x, w), sycl_dnn.vjp(F.linear, x, w)[0], F.softmax(F.linear(x, w), 1)]


given, results = zip(*map(on, queues))
told = {
    "names": [device.filter_string for device in devices],
    "default": sycl_dnn.default_queue().sycl_device == devices[0],
    "stays": [y.sycl_queue == q for q, found in zip(queues, results) for y in found],
    "engines": len({dnnl.Engine(queue) for queue in queues}),
    "moved": given[0].to_device(queues[-1]).sycl_device == devices[-1],
}
try:
    told["together"] = F.add(given[0], given[-1]).sycl_queue == queues[0]
except Exception as error:
    told["together"] = type(error).__name__
for queue in queues:
    queue.wait()
"""


@pytest.mark.skipif(not is_simulated("gpu"), reason="needs a GPU of several tiles")
@pytest.mark.usefixtures("through_level_zero")
@pytest.mark.parametrize("hierarchy", HIERARCHIES)
def test_tiles_as_devices_of_their_own(hierarchy):
    n = HIERARCHIES[hierarchy]
    assert told(ON_BOTH, ZE_FLAT_DEVICE_HIERARCHY=hierarchy, **TWO_TILES) == {
        "names": [f"level_zero:gpu:{i}" for i in range(n)],
        "default": True,
        "stays": [True] * 3 * n,
        "engines": n,
        "moved": True,
        "together": True if n == 1 else "ExecutionPlacementError",
    }


@pytest.mark.skipif(not is_simulated("gpu"), reason="needs a GPU of several tiles")
@pytest.mark.usefixtures("through_level_zero")
@pytest.mark.parametrize("mask", ["0.1", "1"])
def test_affinity_mask_hides_tiles_and_gpus(mask):
    code = "gpus = dpctl.get_devices(device_type='gpu')\n"
    code += "told = []\n"
    code += "for gpu in gpus:\n"
    code += "    queue = dpctl.SyclQueue(gpu)\n"
    code += "    told.append(F.softmax(dpnp.ones((2, 8), dtype='f4', sycl_queue=queue), 1).shape)\n"
    code += "    try: gpu.create_sub_devices(partition='next_partitionable')\n"
    code += "    except dpctl.SyclSubDeviceCreationError: told.append('whole')\n"
    code += "    queue.wait()"
    expected = {"0.1": [[2, 8], "whole"], "1": []}[mask]
    assert told(code, ZE_AFFINITY_MASK=mask, **TWO_TILES) == expected
