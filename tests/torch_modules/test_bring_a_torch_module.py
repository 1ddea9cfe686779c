# SPDX-License-Identifier: Apache-2.0
"""The guide "Bring a torch module": its program runs and prints what the page shows."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

pytestmark = [pytest.mark.torch, pytest.mark.slow]

PAGE = Path(__file__).parents[2] / "docs" / "bring_a_torch_module.md"
BLOCK = re.compile(r"(<!-- varies -->\n)?^```(python|text)\n(.*?)^```$", re.M | re.S)


def test_the_guide_prints_its_documented_output(tmp_path):
    blocks = [match.groups() for match in BLOCK.finditer(PAGE.read_text())]
    program = tmp_path / "guide.py"
    program.write_text("\n".join(text for _, kind, text in blocks if kind == "python"))
    done = subprocess.run(
        [sys.executable, program], capture_output=True, text=True, check=False, timeout=280
    )
    assert done.returncode == 0, done.stderr
    shown = "".join(text for varies, kind, text in blocks if kind == "text" and not varies)
    printed = done.stdout.splitlines()
    assert [line for line in shown.splitlines() if line not in printed] == []
    assert "if x.mean() > 0:" in done.stdout
