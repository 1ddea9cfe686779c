# SPDX-License-Identifier: Apache-2.0
"""``python -m sycl_dnn`` reports versions, devices, fixes and what is missing."""

import importlib.metadata
import json

import fresh_process
import linked_venv
import pytest

import sycl_dnn
from sycl_dnn import __main__ as command
from sycl_dnn import _runtime
from sycl_dnn import onednn as dnnl
from sycl_dnn.device import usable_devices
from sycl_dnn.tools import environment

RENDER_NODE = {"dev/dri/renderD128": ""}
GPU = {"sys/bus/pci/devices/3/vendor": "0x8086\n", "sys/bus/pci/devices/3/class": "0x030000\n"}
OPENCL = {"usr/lib/x86_64-linux-gnu/intel-opencl/libigdrcl.so": ""}
LEVEL_ZERO = {"usr/lib64/libze_intel_gpu.so.1": ""}


@pytest.fixture(scope="module")
def data():
    return environment.collect()


def test_versions(data):
    names = ("sycl_dnn", "dpctl", "dpnp", "numpy", "intel-sycl-rt", "intel-opencl-rt")
    for name in names:
        assert data["versions"][name] == importlib.metadata.version(name)
    version = dnnl.version()
    number = f"{version['major']}.{version['minor']}.{version['patch']}"
    assert data["versions"]["oneDNN"] == number
    assert data["versions"]["oneDNN commit"] == version["hash"]
    assert data["cpu_isa"] == dnnl.get_effective_cpu_isa().name


def test_devices(data):
    engines = {d["filter_string"] for d in data["devices"] if d["engine"]}
    usable = {d.filter_string for kind in ("gpu", "cpu") for d in usable_devices(kind)}
    assert engines == usable
    assert all((d["refusal"] is None) == d["engine"] for d in data["devices"])
    defaults = [d["filter_string"] for d in data["devices"] if d["default"]]
    assert defaults == [data["default"]]
    assert data["default"] == sycl_dnn.default_queue().sycl_device.filter_string


def test_aspects(data):
    device = next(d for d in data["devices"] if d["default"])
    found = sycl_dnn.default_queue().sycl_device
    assert device["aspects"] == {
        "fp16": found.has_aspect_fp16,
        "fp64": found.has_aspect_fp64,
        "usm_device": found.has_aspect_usm_device_allocations,
        "usm_shared": found.has_aspect_usm_shared_allocations,
        "usm_host": found.has_aspect_usm_host_allocations,
    }


def test_gpu_driver_version_is_that_of_the_gpus(data):
    gpus = [d["driver_version"] for d in data["devices"] if d["kind"] == "gpu"]
    found = data["versions"]["GPU driver"]
    assert (found is None) == (not gpus)
    assert all(version in found for version in gpus)


def test_json_is_the_data(data, capsys):
    assert command.main(["--json"]) == 0
    assert json.loads(capsys.readouterr().out) == data


def test_text_has_all_data(data, capsys):
    assert command.main([]) == 0
    text = capsys.readouterr().out
    facts = [v for v in data["versions"].values() if v]
    facts += [*data["location"], *data["fixes"], *data["settings"], data["cpu_isa"]]
    facts += [d[key] for d in data["devices"] for key in ("filter_string", "name", "backend")]
    facts += [m[key] for m in data["missing"] for key in ("what", "next")]
    assert [fact for fact in facts if fact not in text] == []
    assert text.count("<- default_queue()") == 1


def test_text_names_refusal_and_lacking_aspects(data):
    device = data["devices"][0] | {"engine": False, "refusal": "no luck", "default": False}
    device["aspects"] = dict.fromkeys(device["aspects"], False) | {"fp16": True}
    text = command.format_report(data | {"devices": [device], "missing": []})
    assert "oneDNN engine  no: no luck" in text
    assert "fp16; not fp64, usm_device, usm_shared, usm_host" in text
    assert text.endswith("Missing\n  nothing")


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["--json"]], ids=["text", "json"])
def test_status_is_1_without_device(options):
    done = fresh_process.run("-m", "sycl_dnn", *options, ONEAPI_DEVICE_SELECTOR="level_zero:cpu")
    assert done.returncode == 1, done.stderr
    assert done.stderr == ""
    assert "unset ONEAPI_DEVICE_SELECTOR" in done.stdout
    if options:
        found = json.loads(done.stdout)
        assert (found["devices"], found["default"]) == ([], None)
        assert found["versions"]["oneDNN"]


@pytest.mark.slow
def test_fixes_are_reported():
    done = fresh_process.run("-m", "sycl_dnn", "--json", ONEAPI_DEVICE_SELECTOR="opencl:cpu")
    found = json.loads(done.stdout)
    assert done.returncode == 0
    assert [fix.split()[0] for fix in found["fixes"]] == ["set", "registered", "preloaded"]
    assert found["default"] == "opencl:cpu:0"
    assert found["settings"]["ONEAPI_DEVICE_SELECTOR"] == "opencl:cpu"


@pytest.mark.slow
def test_dpnp_is_not_imported():
    code = "import sys; from sycl_dnn.tools import environment; environment.collect(); "
    code += "print('dpnp' in sys.modules)"
    assert fresh_process.output(code) == "False"


@pytest.mark.slow
def test_devices_listed_before_the_import_are_reported():
    code = "import dpctl; dpctl.get_devices(); from sycl_dnn.tools import environment; "
    code += "print(environment.collect()['missing'][0]['what'])"
    found = fresh_process.output(code, ONEAPI_DEVICE_SELECTOR="opencl:cpu")
    assert found.endswith("import sycl_dnn first")


@pytest.mark.slow
def test_report_where_onednn_does_not_load_and_the_driver_is_missing(tmp_path):
    site = linked_venv.make(tmp_path, without=["intel_opencl_rt"])
    linked_venv.copy_sources(site)
    linked_venv.install_extension(site).write_bytes(b"")
    arguments = ("-m", "sycl_dnn", "--json")
    variables = {"ONEAPI_DEVICE_SELECTOR": "opencl:*"}
    python = linked_venv.python(site)
    done = fresh_process.run(*arguments, python=python, cwd=tmp_path, **variables)
    assert done.returncode == 1
    found = json.loads(done.stdout)
    assert (found["versions"]["oneDNN"], found["cpu_isa"]) == (None, None)
    assert found["missing"][0]["what"].startswith("oneDNN does not load: ")
    assert [m["next"] for m in found["missing"][:2]] == [
        "pip install --force-reinstall onednn",
        "pip install intel-opencl-rt",
    ]


@pytest.mark.parametrize(
    ("files", "why", "next_command"),
    [
        ({}, "none on the PCI bus", ""),
        (GPU | {"sys/bus/pci/devices/3/class": "0x020000"}, "none on the PCI bus", ""),
        (GPU | {"sys/bus/pci/devices/3/vendor": "0x10de"}, "none on the PCI bus", ""),
        (GPU, "no /dev/dri/renderD*", "modprobe i915 || modprobe xe"),
        (GPU | RENDER_NODE, "driver missing", "apt-get install intel-opencl-icd"),
        (GPU | RENDER_NODE | OPENCL, "libigdrcl.so", "apt-get install --only-upgrade"),
        (GPU | RENDER_NODE | LEVEL_ZERO, "libze_intel_gpu.so.1", "apt-get install --only-upgrade"),
        ({"dev/dxg": ""}, "driver missing", "apt-get install intel-opencl-icd"),
    ],
    ids=["none", "not display", "not Intel", "no node", "no driver", "OpenCL", "Level Zero", "WSL"],
)
def test_gpu_advice(files, why, next_command, tmp_path, monkeypatch):
    monkeypatch.delenv("ONEAPI_DEVICE_SELECTOR", raising=False)
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    found, advised = _runtime.advice(tmp_path)
    assert found.startswith("no Intel GPU")
    assert why in found
    assert advised.startswith(next_command)
    assert bool(advised) == bool(next_command)


def put_files(root, files):
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def loader(root, version):
    """A Level Zero loader of this version, linked as packages do it."""
    folder = root / "usr/lib/x86_64-linux-gnu"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"libze_loader.so.{version}").write_text("")
    (folder / "libze_loader.so.1").symlink_to(f"libze_loader.so.{version}")
    return folder


@pytest.fixture
def real_gpu(tmp_path, monkeypatch):
    """The files of a machine with an Intel GPU and its Level Zero driver, and nothing else."""
    for variable in ("ONEAPI_DEVICE_SELECTOR", "LD_LIBRARY_PATH", "NEOReadDebugKeys"):
        monkeypatch.delenv(variable, raising=False)
    put_files(tmp_path, GPU | LEVEL_ZERO)
    return tmp_path


@pytest.mark.parametrize(
    ("version", "selector", "warned"),
    [
        ("1.8.0", None, True),
        ("1.15.8", None, True),
        ("1.8.0", "*:cpu;level_zero:gpu", True),
        ("1.8.0", "*:gpu", True),
        ("1.8.0", "opencl:*", False),
        ("1.8.0", "!level_zero:*", False),
        ("1.16.1", None, False),
        ("1.20.6", None, False),
        ("1.32.0", None, False),
        ("of-unknown-version", None, False),
    ],
)
def test_old_level_zero_loader_is_reported(version, selector, warned, real_gpu, monkeypatch):
    loader(real_gpu, version)
    if selector:
        monkeypatch.setenv("ONEAPI_DEVICE_SELECTOR", selector)
    problem = _runtime.level_zero_problem(real_gpu)
    assert bool(problem) == warned
    if warned:
        number = ".".join(version.split(".")[:2])
        assert f"libze_loader.so.1 ({number}) is older than 1.16" in problem
        assert "ONEAPI_DEVICE_SELECTOR=opencl:*" in problem


def test_the_first_level_zero_loader_counts(real_gpu, tmp_path, monkeypatch):
    loader(real_gpu, "1.8.0")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(loader(tmp_path / "newer", "1.20.6")))
    assert _runtime.level_zero_problem(real_gpu) == ""


@pytest.mark.parametrize("without", ["sys/bus/pci/devices/3/vendor", *LEVEL_ZERO])
def test_an_old_loader_does_no_harm_without_a_gpu_and_its_driver(without, real_gpu):
    loader(real_gpu, "1.8.0")
    (real_gpu / without).unlink()
    assert _runtime.level_zero_problem(real_gpu) == ""


def test_the_report_leaves_out_level_zero_where_it_would_crash(real_gpu, monkeypatch):
    problem = _runtime.level_zero_problem
    loader(real_gpu, "1.8.0")
    monkeypatch.setattr(_runtime, "level_zero_problem", lambda: problem(real_gpu))
    monkeypatch.setenv("ONEAPI_DEVICE_SELECTOR", "*:*")
    _runtime.avoid_crash()
    assert environment.os.environ["ONEAPI_DEVICE_SELECTOR"] == "opencl:*"
    assert problem(real_gpu) == ""


@pytest.mark.parametrize("registered", [True, False])
def test_the_driver_that_onednn_compiles_with(registered, tmp_path, monkeypatch):
    monkeypatch.setenv("OCL_ICD_VENDORS", str(tmp_path))
    put_files(tmp_path, OPENCL)
    driver = tmp_path / next(iter(OPENCL))
    monkeypatch.setenv("OCL_ICD_FILENAMES", str(driver if registered else tmp_path / "libother.so"))
    assert _runtime.has_gpu_compiler() == registered


def test_help_lists_every_command_and_each_can_be_called(capsys):
    with pytest.raises(SystemExit):
        command.main(["--help"])
    text = capsys.readouterr().out
    for name, (_, _, what) in command.COMMANDS.items():
        assert [name, *what.split()] in [line.split() for line in text.splitlines()]
        assert callable(command.command(name))
