# SPDX-License-Identifier: Apache-2.0
"""The guides on several processes: their programs run on two ranks and print what pages show."""

import re
import subprocess
import sys

import pytest
from rank_jobs import ROOT, environment, needs_oneccl

from sycl_dnn import distributed as dist

DOCS = ROOT / "docs"
NUMBER = r"\d+\.\d+"


def program_of(page):
    """Return the programs of a page as one; ``init`` returns the same group in all of them."""
    text = (DOCS / page).read_text()
    blocks = re.findall(r"(?<!<!-- fragment -->\n)^```python\n(.*?)^```$", text, re.M | re.S)
    return "\n".join(blocks)


def run_by_two(folder, page):
    """Run the program of a page on two ranks; return the lines of each."""
    path = folder / "program.py"
    path.write_text(program_of(page))
    done = subprocess.run(
        [sys.executable, "-m", "sycl_dnn", "launch", "-n", "2", str(path)],
        capture_output=True, text=True, timeout=900, cwd=folder, env=environment(),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return by_rank(done.stdout)


def by_rank(text):
    """Return the output lines of each rank in order, without oneCCL's messages."""
    lines = [line for line in text.splitlines() if "|CCL_" not in line]
    return [[line for line in lines if line.startswith(f"[{rank}] ")] for rank in range(2)]


def assert_shown(actual, shown):
    """Compare words exactly and numbers up to rounding."""
    for lines, target in zip(actual, shown, strict=True):
        assert [re.sub(NUMBER, "#", v) for v in lines] == [re.sub(NUMBER, "#", v) for v in target]
        numbers, expected = (
            [float(v) for v in re.findall(NUMBER, "\n".join(part))] for part in (lines, target)
        )
        assert numbers == pytest.approx(expected, rel=5e-3)


@needs_oneccl
def test_the_tutorial_prints_its_documented_output(tmp_path):
    text = (DOCS / "two_processes.md").read_text().partition("## 3. Run it twice")[2]
    shown = by_rank(re.search(r"^```text\n(.*?)^```$", text, re.M | re.S)[1])
    assert [len(lines) for lines in shown] == [6, 2]
    assert_shown(run_by_two(tmp_path, "two_processes.md"), shown)


@needs_oneccl
def test_programs_of_the_guide_run_on_two_ranks(tmp_path):
    first, second = run_by_two(tmp_path, "distributed.md")
    for rank, lines in enumerate((first, second)):
        assert re.fullmatch(rf"\[{rank}\] rank {rank} of 2 on .*: \[3\. 3\. 3\.\]", lines[0])
    shown = re.search(r"`(loss \d+\.\d+)`", (DOCS / "distributed.md").read_text())[1]
    assert_shown([first[1:], second[1:]], [[f"[0] {shown}"], []])
    assert (tmp_path / "net.safetensors").is_file()


def test_the_reference_shows_only_the_methods_of_groups_for_users():
    text = (DOCS / "api" / "distributed.md").read_text()
    left_out = re.search(r":exclude-members: (.*)", text)[1].split(", ")
    documented = [n for n, v in vars(dist.Group).items() if n[0] != "_" and v.__doc__]
    shown = set(documented) - set(left_out)
    assert shown == {"barrier", "is_main", "queue", "split", "timeout"}
