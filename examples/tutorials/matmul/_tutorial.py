# SPDX-License-Identifier: Apache-2.0
"""What the tutorials share; see ``_example.py`` two folders up."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from _example import RELU, Example, desc, post_ops, run  # noqa: E402

__all__ = ["RELU", "Example", "desc", "post_ops", "run"]
