# SPDX-License-Identifier: Apache-2.0
"""The operations of the Graph API as data, with their references, and helpers to run them."""

from .cases import CASES, Case, T, rounded
from .reference import evaluate
from .run import as_it_runs, assert_close, build, download, execute, expected, is_close, upload

__all__ = [
    "CASES",
    "Case",
    "T",
    "as_it_runs",
    "assert_close",
    "build",
    "download",
    "evaluate",
    "execute",
    "expected",
    "is_close",
    "rounded",
    "upload",
]
