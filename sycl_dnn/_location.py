# SPDX-License-Identifier: Apache-2.0
"""Find the compiled half of the package when Python runs from a source checkout.

The folder ``sycl_dnn/`` of a checkout hides an installed package of that name from programs that
start there, and has no extension module. The installed files are used instead.
"""

from __future__ import annotations

import importlib.machinery
import importlib.metadata
from collections.abc import Iterable
from pathlib import Path


def _has_extension(folder: Path) -> bool:
    return any((folder / f"_core{s}").exists() for s in importlib.machinery.EXTENSION_SUFFIXES)


def _installed_folder() -> Path | None:
    try:
        files = importlib.metadata.files("sycl_dnn") or ()
    except importlib.metadata.PackageNotFoundError:
        return None
    for file in files:
        folder = Path(str(file.locate())).parent
        if file.name.startswith("_core.") and _has_extension(folder):
            return folder
    return None


def _what_to_install(folder: Path) -> str:
    is_checkout = (folder / "pyproject.toml").exists()
    return f"-e {folder}" if is_checkout else "--force-reinstall sycl_dnn"


def package_path(path: Iterable[str]) -> list[str]:
    """Return the folders in which the package's modules are to be looked for."""
    own = [Path(p) for p in path]
    if any(_has_extension(p) for p in own):
        return [str(p) for p in own]
    installed = _installed_folder()
    if installed is None:
        raise ImportError(
            f"sycl_dnn: its extension module is not in {own[0]} and the package is not installed; "
            f"type: pip install {_what_to_install(own[0].parent)}"
        )
    # An editable install has only the extension there; the Python files stay in the checkout.
    complete = (installed / "__init__.py").exists()
    return [str(installed)] if complete else [*map(str, own), str(installed)]
