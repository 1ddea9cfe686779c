# SPDX-License-Identifier: Apache-2.0
"""Regenerate the stored answers of PyTorch: functions, complex numbers, autocast, optimizers.

PYTHONPATH=<folder with PyTorch> python tests/helpers/store_answers.py
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))

from functional import answers, test_autocast  # noqa: E402
from functional.complex_numbers import test_complex_values  # noqa: E402
from optim import test_update_rules  # noqa: E402

if __name__ == "__main__":
    answers.write()
    test_autocast.write()
    test_complex_values.write()
    test_update_rules.write()
