# SPDX-License-Identifier: Apache-2.0
"""The recorded number of cases per implementation of oneDNN; other devices are not recorded.

``python tests/helpers/matrix_counts.py docs/support_matrix.json`` records what the site's build
wrote, after an update of oneDNN.
"""

import json
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1]))

from conformance.matrix.record import counts, load  # noqa: E402

FILE = Path(__file__).parents[1] / "conformance" / "matrix" / "counts.json"


def changed_counts(found):
    """Return the numbers of a measured matrix that are not as recorded."""
    recorded = json.loads(FILE.read_text())
    for target, facts in found.targets.items():
        if target not in recorded["counts"]["conv"] or facts["commit"] != recorded["commit"]:
            pytest.skip(f"{FILE.name} has no {target} of this oneDNN")
    return {
        (driver, target): (recorded["counts"][driver][target], numbers)
        for driver, targets in counts(found).items()
        for target, numbers in targets.items()
        if numbers != recorded["counts"][driver][target]
    }


def write(path):
    """Record the numbers of a matrix, a line for each driver."""
    found = load(path)
    (commit,) = {facts["commit"] for facts in found.targets.values()}
    rows = ",\n".join(f"  {json.dumps(d)}: {json.dumps(n)}" for d, n in counts(found).items())
    FILE.write_text(f'{{\n"commit": {json.dumps(commit)},\n"counts": {{\n{rows}\n}}\n}}\n')


if __name__ == "__main__":
    write(Path(sys.argv[1]))
