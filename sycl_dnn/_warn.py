# SPDX-License-Identifier: Apache-2.0
"""Warnings attributed to the caller's line outside this package."""

from __future__ import annotations

import os
import sys
import warnings

_PACKAGE = os.path.dirname(__file__) + os.sep


def is_in_package(path: str) -> bool:
    """Whether a source file belongs to this package."""
    return path.startswith(_PACKAGE)


def warn(text: str, kind: type[Warning] = UserWarning) -> None:
    """Warn at the innermost line outside this package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and is_in_package(frame.f_code.co_filename):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, kind, stacklevel=level)
