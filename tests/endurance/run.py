# SPDX-License-Identifier: Apache-2.0
"""The long versions of the tests in this folder, with their measurements.

python tests/endurance/run.py                  all
python tests/endurance/run.py threads shapes   some
"""

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from endurance.memory import KINDS  # noqa: E402
from endurance.processes import lines_of  # noqa: E402

#: kind -> how often
NUMBERS = {
    "engines": 10_000, "queues": 10_000, "shapes": 10_000, "small_calls": 1_000_000,
    "threads": 16_000, "profiles": 20_000, "training": 2_000,
}  # fmt: skip


def main():
    """Print a line for each kind: number, seconds, resident memory after each tenth."""
    for kind in sys.argv[1:] or KINDS:
        start = time.monotonic()
        (line,) = lines_of("memory", kind, NUMBERS[kind], longest=None)
        seconds = time.monotonic() - start
        print(
            f"{kind:12s} {NUMBERS[kind]:9,d} in {seconds:5.0f} s, resident MB: {line}", flush=True
        )


if __name__ == "__main__":
    main()
