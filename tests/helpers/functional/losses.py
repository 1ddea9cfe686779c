# SPDX-License-Identifier: Apache-2.0
"""Shared parts of loss tests."""

from __future__ import annotations

from typing import Any

from functional.case import Case, Spec

from sycl_dnn import functional as F


def make(name: str, specs: tuple[Any, ...], dtype: str = "float32",
         **kwargs: Any) -> Case:  # fmt: skip
    """Return the case of a loss, named after its shapes and parameters."""
    shapes = [f"{'x'.join(map(str, s.shape))}{s.layout[:3]}" for s in specs if isinstance(s, Spec)]
    shapes += [s.dtype for s in specs if isinstance(s, Spec) and s.dtype]
    words = [str(s) for s in specs if not isinstance(s, Spec)]
    words += [f"{k}={v}" for k, v in kwargs.items()]
    return Case("-".join([name, *shapes, *words]), getattr(F, name), specs, kwargs,
                torch=name, dtype=dtype)  # fmt: skip
