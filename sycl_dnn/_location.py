# SPDX-License-Identifier: Apache-2.0
"""Find the extension when Python runs from a source checkout.

The folder ``sycl_dnn/`` of a checkout hides an installed package of that name from programs that
start there, and has no extension module. The installed files are used instead.
"""

from __future__ import annotations

import importlib.machinery
import importlib.metadata
from collections.abc import Iterable
from pathlib import Path
from typing import Any

#: Compiled into the extension (CMakeLists.txt reads this line). Raised when what the extension
#: offers changes, so that Python files never meet an extension that was built from others.
INTERFACE = 22

_FOLDER = Path(__file__).resolve().parent


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


def install_command(folder: Path = _FOLDER.parent) -> str:
    """Return what to type if the package in ``folder`` is not installed properly."""
    is_checkout = (folder / "pyproject.toml").exists()
    return f"pip install {f'-e {folder}' if is_checkout else '--force-reinstall sycl_dnn'}"


def misfit(extension: Any) -> str | None:
    """Return why the extension does not belong to these Python files; None if it does."""
    built = getattr(extension, "_interface", 0)
    if built == INTERFACE:
        return None
    return (
        f"the extension {extension.__file__} was built from other sources than {_FOLDER} "
        f"(interface {built}, here {INTERFACE})"
    )


def require_fit(extension: Any) -> None:
    """Raise ImportError if the extension does not belong to these Python files."""
    problem = misfit(extension)
    if problem:
        raise ImportError(f"sycl_dnn: {problem}; type: {install_command()}")


def package_path(path: Iterable[str]) -> list[str]:
    """Return the folders in which the package's modules are searched for."""
    own = [Path(p) for p in path]
    if any(_has_extension(p) for p in own):
        return [str(p) for p in own]
    installed = _installed_folder()
    if installed is None:
        raise ImportError(
            f"sycl_dnn: its extension module is not in {own[0]} and the package is not installed; "
            f"type: {install_command(own[0].parent)}"
        )
    # An editable install has only the extension there; the Python files stay in the checkout.
    complete = (installed / "__init__.py").exists()
    return [str(installed)] if complete else [*map(str, own), str(installed)]
