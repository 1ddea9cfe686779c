# SPDX-License-Identifier: Apache-2.0
"""Warnings that point at the caller's line, not into this package."""

from __future__ import annotations

import os
import sys
import warnings

_PACKAGE = os.path.dirname(__file__) + os.sep


def warn(text: str, kind: type[Warning] = UserWarning) -> None:
    """Warn at the line outside this package that led here."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, kind, stacklevel=level)
