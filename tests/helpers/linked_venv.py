# SPDX-License-Identifier: Apache-2.0
"""Create virtual environments without chosen packages or libraries."""

import importlib.machinery
import importlib.metadata
import shutil
import sys
import venv
from pathlib import Path

import dpctl
import numpy

from sycl_dnn import _core, _runtime


def make(folder, without=()):
    """Link all installed packages and libraries into a new environment, without sycl_dnn.

    ``without`` has prefixes of additional names to leave out. Returns its site-packages.
    """
    venv.create(folder, symlinks=True, with_pip=False)
    site = next(Path(folder).glob("lib/python*/site-packages"))
    left_out = ("sycl_dnn", "_editable", "_sycl_dnn", "__pycache__", "python", *without)
    for source in {Path(module.__file__).parents[1] for module in (dpctl, numpy)}:
        _link(source, site, left_out)
    libraries = _runtime.distribution_file("onednn", "libdnnl.so.3").parent
    _link(libraries, Path(folder, "lib"), left_out)
    return site


def _link(source, target, left_out):
    for entry in source.iterdir():
        if not entry.name.startswith(left_out) and entry.suffix != ".pth":
            link = target / entry.name
            if not link.exists():
                link.symlink_to(entry)


def python(site):
    """Return the interpreter of the environment."""
    return site.parents[2] / "bin" / Path(sys.executable).name


def copy_sources(folder):
    """Copy the package's Python files to ``folder/sycl_dnn``, as in a checkout."""
    source = Path(_runtime.__file__).parent
    shutil.copytree(
        source, folder / "sycl_dnn", ignore=shutil.ignore_patterns("*.so", "__pycache__")
    )


def install_extension(site):
    """Install the extension and the package's record, as pip does; return the extension."""
    extension = site / "sycl_dnn" / f"_core{importlib.machinery.EXTENSION_SUFFIXES[0]}"
    extension.parent.mkdir(exist_ok=True)
    shutil.copy(_core.__file__, extension)
    version = importlib.metadata.version("sycl_dnn")
    info = site / f"sycl_dnn-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: sycl_dnn\nVersion: {version}\n", encoding="utf-8"
    )
    (info / "RECORD").write_text(f"sycl_dnn/{extension.name},,\n", encoding="utf-8")
    return extension
