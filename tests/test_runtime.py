# SPDX-License-Identifier: Apache-2.0
"""Importing sycl_dnn makes the wheels' CPU driver visible, and lists no device."""

import json
import os
import subprocess
import sys
from pathlib import Path

import fresh_process
import pytest

from sycl_dnn import _runtime

DRIVER = str(_runtime.driver_in_wheel())
CPUS = "[d.filter_string for d in dpctl.get_devices(device_type='cpu')]"
#: Names of OpenCL drivers and SYCL adapters among the libraries of the process.
MAPPED = (
    "[n for n in ('intelocl', 'OpenCL.so', 'ur_adapter') if n in open('/proc/self/maps').read()]"
)


@pytest.mark.slow
@pytest.mark.parametrize(
    "order",
    [("sycl_dnn", "dpctl", "dpnp"), ("dpctl", "sycl_dnn", "dpnp"), ("dpnp", "dpctl", "sycl_dnn")],
    ids=" ".join,
)
def test_every_import_order_finds_the_cpu(order):
    code = f"import {order[0]}, {order[1]}, {order[2]}, json, os; print(json.dumps({CPUS}))\n"
    code += "print(dpnp.ones(3).sycl_queue == sycl_dnn.default_queue())\n"
    code += "print(os.environ['SYCL_QUEUE_THREAD_POOL_SIZE'])"
    assert fresh_process.output(code).splitlines() == ['["opencl:cpu:0"]', "True", "6"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("provided", "expected"),
    [
        ("", DRIVER),
        ("/nonexistent/libother.so", f"/nonexistent/libother.so:{DRIVER}"),
        ("/nonexistent/libintelocl.so", f"/nonexistent/libintelocl.so:{DRIVER}"),
        ("libintelocl.so", f"libintelocl.so:{DRIVER}"),
        (DRIVER, DRIVER),
        (f"/nonexistent/libother.so:{DRIVER}", f"/nonexistent/libother.so:{DRIVER}"),
    ],
    ids=["empty", "other", "stale", "bare name", "same", "other and same"],
)
def test_user_drivers_are_kept_and_the_cpu_appears_once(provided, expected):
    code = f"import os, sycl_dnn, dpctl; print(os.environ['OCL_ICD_FILENAMES'], {CPUS})"
    assert fresh_process.output(code, OCL_ICD_FILENAMES=provided) == f"{expected} ['opencl:cpu:0']"


@pytest.mark.slow
def test_driver_registered_with_the_system_is_left_alone(tmp_path):
    (tmp_path / "intel_cpu.icd").write_text(DRIVER + "\n")
    code = f"import os, sycl_dnn, dpctl; print('OCL_ICD_FILENAMES' in os.environ, {CPUS})"
    found = fresh_process.output(code, OCL_ICD_VENDORS=str(tmp_path))
    assert found == "False ['opencl:cpu:0']"


@pytest.mark.slow
def test_opencl_cpu_selector_finds_the_cpu():
    code = f"import sycl_dnn, dpctl; print(sycl_dnn._runtime.fixes[-1], {CPUS})"
    assert fresh_process.output(code, ONEAPI_DEVICE_SELECTOR="opencl:cpu") == (
        "preloaded libintlc.so.5, libimf.so, libirng.so, libsvml.so for the CPU driver "
        "['opencl:cpu:0']"
    )


def test_without_sycl_dnn_there_is_no_cpu():
    """If this fails, the wheels register their driver themselves and _runtime can go."""
    assert fresh_process.output(f"import dpctl; print({CPUS})") == "[]"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("listing", "expected"),
    [("", "['opencl:cpu:0']"), ("dpctl.get_devices()", "[]")],
    ids=["import alone", "import and listing"],
)
def test_import_lists_no_device(listing, expected):
    """Drivers are read at the first listing: after the import, a change still takes effect."""
    code = "import os, sycl_dnn, dpctl; from sycl_dnn import onednn\n"
    code += f"os.environ['OCL_ICD_FILENAMES'] = ''; {listing}\n"
    code += f"os.environ['OCL_ICD_FILENAMES'] = '{DRIVER}'; print({CPUS}, {MAPPED})"
    drivers = "['intelocl', 'OpenCL.so']" if not listing else "['OpenCL.so']"
    variables = {"ONEAPI_DEVICE_SELECTOR": "opencl:*"}
    assert fresh_process.output(code, **variables) == f"{expected} {drivers}"


@pytest.mark.slow
def test_import_maps_no_driver():
    code = f"import sycl_dnn; from sycl_dnn import onednn; print({MAPPED})"
    assert fresh_process.output(code) == "[]"


@pytest.mark.slow
def test_import_loads_neither_onednn_nor_dpnp():
    code = "import sys, sycl_dnn; print('libdnnl' in open('/proc/self/maps').read(), "
    code += "sorted({'dpnp', 'sycl_dnn._core'} & set(sys.modules)))"
    assert fresh_process.output(code) == "False []"


@pytest.mark.slow
def test_thread_pool_size_of_the_user_is_kept():
    code = "import os, sycl_dnn; print(os.environ['SYCL_QUEUE_THREAD_POOL_SIZE'], "
    code += "any('THREAD_POOL' in fix for fix in sycl_dnn._runtime.fixes))"
    assert fresh_process.output(code, SYCL_QUEUE_THREAD_POOL_SIZE="3") == "3 False"


@pytest.mark.slow
def test_prepare_can_be_repeated():
    code = "import json, os, sycl_dnn; from sycl_dnn import _runtime as r\n"
    code += "before = [*r.fixes], dict(os.environ); r.prepare()\n"
    code += "print(before == (r.fixes, dict(os.environ)), json.dumps(r.problems))"
    assert fresh_process.output(code) == "True []"


@pytest.mark.slow
def test_children_of_a_process_see_the_cpu():
    code = "import subprocess, sys, sycl_dnn; "
    code += f'subprocess.run([sys.executable, "-c", "import dpctl; print({CPUS})"])'
    assert fresh_process.output(code) == "['opencl:cpu:0']"


def test_distribution_file():
    assert Path(DRIVER).is_absolute()
    assert Path(DRIVER).exists()
    assert _runtime.distribution_file("intel-opencl-rt", "no_such_file.so") is None
    assert _runtime.distribution_file("no-such-distribution", "libintelocl.so") is None


def test_icd_entries_come_from_variable_and_system(tmp_path, monkeypatch):
    (tmp_path / "b.icd").write_text("/lib/b.so\n")
    (tmp_path / "a.icd").write_text("a.so")
    (tmp_path / "folder.icd").mkdir()
    (tmp_path / "c.txt").write_text("c.so")
    monkeypatch.setenv("OCL_ICD_VENDORS", str(tmp_path))
    monkeypatch.setenv("OCL_ICD_FILENAMES", os.pathsep.join(["/x.so", "", "y.so"]))
    assert _runtime.icd_entries() == ["/x.so", "y.so", "a.so", "/lib/b.so"]


def test_bare_driver_name_counts_where_the_loader_finds_it(monkeypatch):
    monkeypatch.setenv("OCL_ICD_VENDORS", "/dev/null")
    monkeypatch.setenv("OCL_ICD_FILENAMES", "libintelocl.so")
    monkeypatch.setenv("LD_LIBRARY_PATH", json.dumps("nowhere"))
    assert not _runtime.driver_registered()
    monkeypatch.setenv("LD_LIBRARY_PATH", str(Path(DRIVER).parent))
    assert _runtime.driver_registered()


def test_packages_can_be_imported_without_docstrings():
    packages = ("functional", "graph", "nn.torch_names", "onednn", "optim")
    code = "import sycl_dnn, " + ", ".join(f"sycl_dnn.{package}" for package in packages)
    code += "\nfor name in sycl_dnn.__all__: getattr(sycl_dnn, name)"
    subprocess.run([sys.executable, "-OO", "-c", code], check=True)
