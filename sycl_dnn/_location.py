# SPDX-License-Identifier: Apache-2.0
"""Locates the extension when Python runs from a source checkout.

A checkout's ``sycl_dnn/`` folder shadows an installed package for programs that start there, but
has no extension module. The installed files are used instead.
"""

from __future__ import annotations

import importlib.machinery
from collections.abc import Iterable
from pathlib import Path
from typing import Any

#: Compiled into the extension (CMakeLists.txt reads this line). Raise it if the extension's
#: interface changes, so that Python files are never used with a mismatched extension.
INTERFACE = 63

_FOLDER = Path(__file__).resolve().parent


def _has_extension(folder: Path) -> bool:
    return any((folder / f"_core{s}").exists() for s in importlib.machinery.EXTENSION_SUFFIXES)


def _installed_folder() -> Path | None:
    import importlib.metadata  # takes as long to import as the rest of this package

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
    """Return the command to type if the package in ``folder`` is not installed properly."""
    is_checkout = (folder / "pyproject.toml").exists()
    return f"pip install {f'-e {folder}' if is_checkout else '--force-reinstall sycl_dnn'}"


def misfit(extension: Any) -> str | None:
    """Return why the extension does not match these Python files; None if it does."""
    built = getattr(extension, "_interface", 0)
    if built == INTERFACE:
        return None
    return (
        f"the extension {extension.__file__} was built from other sources than {_FOLDER} "
        f"(interface {built}, here {INTERFACE})"
    )


def require_fit(extension: Any) -> None:
    """Raise ImportError if the extension does not match these Python files."""
    problem = misfit(extension)
    if problem:
        raise ImportError(f"sycl_dnn: {problem}; type: {install_command()}")


def package_path(path: Iterable[str]) -> list[str]:
    """Return the search path of the package's modules."""
    own = [Path(p) for p in path]
    if any(_has_extension(p) for p in own):
        return [str(p) for p in own]
    installed = _installed_folder()
    if installed is None:
        raise ImportError(
            f"sycl_dnn: its extension module is not in {own[0]} and the package is not installed; "
            f"type: {install_command(own[0].parent)}"
        )
    # An editable install has only the extension there; Python files are in the checkout.
    complete = (installed / "__init__.py").exists()
    return [str(installed)] if complete else [*map(str, own), str(installed)]
