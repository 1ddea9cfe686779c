# SPDX-License-Identifier: Apache-2.0
"""End with instructions if a benchmark lacks a package."""

from __future__ import annotations

import importlib.metadata as metadata
import importlib.util

_HOW = "pip install 'sycl_dnn[bench]'"


def require(*modules: str) -> None:
    """End the program unless all modules can be imported."""
    for name in modules:
        if importlib.util.find_spec(name) is None:
            raise SystemExit(f"{name} is missing; install what benchmarks need: {_HOW}")


def require_package(name: str) -> None:
    """End the program unless a distribution is installed, which may contain only headers."""
    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:
        raise SystemExit(f"{name} is missing; install what benchmarks need: {_HOW}") from None
