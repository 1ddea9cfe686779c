# SPDX-License-Identifier: Apache-2.0
"""A progress bar on a terminal."""

from __future__ import annotations

import shutil
from typing import TextIO


class Progress:
    """A progress bar on a terminal; does nothing without one."""

    def __init__(self, total: int | None, out: TextIO) -> None:
        self.total, self.out, self.done = total, out, 0
        self.shown = out.isatty()
        self.bad = 0

    def clear(self) -> None:
        """Clear the bar before other output."""
        if self.shown:
            self.out.write("\r\x1b[K")

    def step(self, is_bad: bool) -> None:
        """Count a case and redraw the bar."""
        self.done += 1
        self.bad += is_bad
        if not self.shown:
            return
        width = max(min(shutil.get_terminal_size().columns - 40, 50), 10)
        share = self.done / max(self.total or 1, 1)
        bar = "#" * int(share * width)
        self.out.write(f"\r[{bar:<{width}}] {self.done}/{self.total} failed {self.bad}\x1b[K")
        self.out.flush()
