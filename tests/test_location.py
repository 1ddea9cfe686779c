# SPDX-License-Identifier: Apache-2.0
"""The folder sycl_dnn/ of a checkout does not hide the installed package."""

import json
import types
from pathlib import Path

import fresh_process
import linked_venv
import pytest

from sycl_dnn import _core, _location


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    folder = tmp_path_factory.mktemp("checkout")
    linked_venv.copy_sources(folder)
    (folder / "pyproject.toml").touch()
    return folder


@pytest.fixture(scope="module")
def no_install(tmp_path_factory):
    return linked_venv.make(tmp_path_factory.mktemp("no_install"))


@pytest.fixture(scope="module")
def install(tmp_path_factory):
    """The result of ``pip install .``."""
    site = linked_venv.make(tmp_path_factory.mktemp("install"))
    linked_venv.copy_sources(site)
    linked_venv.install_extension(site)
    return site


@pytest.fixture(scope="module")
def editable_install(tmp_path_factory):
    """The result of ``pip install -e .``, without the finder for the Python files."""
    site = linked_venv.make(tmp_path_factory.mktemp("editable_install"))
    linked_venv.install_extension(site)
    return site


def report(site, folder):
    done = fresh_process.run(
        "-m", "sycl_dnn", "--json", python=linked_venv.python(site), cwd=folder
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_checkout_uses_an_install(install, checkout):
    found = report(install, checkout)
    assert found["location"] == [str(install / "sycl_dnn")]
    assert found["default"]


@pytest.mark.slow
def test_checkout_uses_its_own_files_with_an_editable_install(editable_install, checkout):
    found = report(editable_install, checkout)
    assert found["location"] == [str(checkout / "sycl_dnn"), str(editable_install / "sycl_dnn")]
    assert found["default"]


@pytest.mark.slow
def test_install_works_elsewhere(install, tmp_path):
    assert report(install, tmp_path)["location"] == [str(install / "sycl_dnn")]


@pytest.mark.slow
def test_low_level_comes_from_the_install(install, checkout):
    code = "from sycl_dnn import onednn as d; print(d.__file__, d.Memory.__module__)"
    done = fresh_process.run("-c", code, python=linked_venv.python(install), cwd=checkout)
    file = install / "sycl_dnn" / "onednn" / "__init__.py"
    assert done.stdout.split() == [str(file), "sycl_dnn.onednn.memory"], done.stderr


def test_checkout_without_install_says_how_to_install(no_install, checkout):
    done = fresh_process.run("-m", "sycl_dnn", python=linked_venv.python(no_install), cwd=checkout)
    assert done.returncode == 1
    assert done.stderr.rstrip().endswith(
        f"sycl_dnn: its extension module is not in {checkout / 'sycl_dnn'} and the package is not "
        f"installed; type: pip install -e {checkout}"
    )


@pytest.mark.slow
def test_this_checkout_finds_the_extension():
    top = Path(__file__).resolve().parents[1]
    done = fresh_process.run("-c", "from sycl_dnn import _core; print(_core.__file__)", cwd=top)
    assert done.stdout.strip() == _core.__file__, done.stderr


@pytest.fixture
def newer_checkout(tmp_path):
    """As after ``git pull``: its Python files require another extension than the installed one."""
    linked_venv.copy_sources(tmp_path)
    (tmp_path / "pyproject.toml").touch()
    file = tmp_path / "sycl_dnn" / "_location.py"
    own = f"INTERFACE = {_location.INTERFACE}\n"
    assert own in file.read_text()
    file.write_text(file.read_text().replace(own, "INTERFACE = 1000\n"))
    return tmp_path


@pytest.mark.slow
def test_python_files_of_another_version_say_how_to_install(editable_install, newer_checkout):
    python = linked_venv.python(editable_install)
    done = fresh_process.run("-c", "import sycl_dnn.onednn", python=python, cwd=newer_checkout)
    error = done.stderr.splitlines()[-1]
    assert error.startswith(f"ImportError: sycl_dnn: the extension {editable_install}")
    assert error.endswith(
        f"was built from other sources than {newer_checkout / 'sycl_dnn'} (interface "
        f"{_location.INTERFACE}, here 1000); type: pip install -e {newer_checkout}"
    )


@pytest.mark.slow
def test_report_names_an_extension_of_another_version(editable_install, newer_checkout):
    missing = report(editable_install, newer_checkout)["missing"]
    assert f"pip install -e {newer_checkout}" in [entry["next"] for entry in missing]


def test_extension_from_before_there_was_a_number_does_not_fit():
    old = types.SimpleNamespace(__file__="_core.so")
    assert "interface 0" in _location.misfit(old)
    assert _location.misfit(_core) is None


def test_package_with_its_extension_stays_where_it_is(install):
    assert _location.package_path([str(install / "sycl_dnn")]) == [str(install / "sycl_dnn")]


def test_damaged_install_says_how_to_repair_it(no_install, tmp_path):
    site = tmp_path / "site-packages"
    linked_venv.copy_sources(site)
    python = linked_venv.python(no_install)
    done = fresh_process.run(
        "-c", "import sycl_dnn", python=python, cwd=tmp_path, PYTHONPATH=str(site)
    )
    assert "type: pip install --force-reinstall sycl_dnn" in done.stderr
