# SPDX-License-Identifier: Apache-2.0
"""The list of upstream fixes: which commits of a later revision it contains."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[1] / "helpers" / "upstream_fixes.py"
IDENTITY = ("-c", "user.name=a", "-c", "user.email=a@b")


def git(folder, *words):
    subprocess.run(["git", "-C", folder, *IDENTITY, *words], check=True, capture_output=True)


def commit(folder, path, title):
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text((file.read_text() if file.exists() else "") + title + "\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", title)


@pytest.fixture
def history(tmp_path):
    """A branch of a release, and what came after it."""
    git(tmp_path, "init", "-qb", "main")
    commit(tmp_path, "src/cpu/a.cpp", "cpu: begin")
    git(tmp_path, "branch", "release")
    for path, title in (
        ("src/cpu/a.cpp", "cpu: fix a product"),
        ("src/cpu/b.cpp", "cpu: add a feature"),
        ("src/cpu/c.cpp", "cpu: aarch64: fix a product"),
        ("src/gpu/d.cpp", "gpu: prevent a crash"),
        ("doc/e.md", "doc: fix a sentence"),
        ("src/graph/f.cpp", "graph: fix what the release has as well"),
    ):
        commit(tmp_path, path, title)
    git(tmp_path, "switch", "-q", "release")
    commit(tmp_path, "src/graph/other.cpp", "graph: fix what the release has as well")
    return tmp_path


def listed(history, page):
    command = [sys.executable, SCRIPT, history, "release", "main", "--page", page]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


@pytest.mark.slow
def test_lists_fixes_that_the_release_lacks(history):
    page = history / "page.md"
    page.write_text("")
    run = listed(history, page)
    assert run.returncode == 1, run.stderr
    rows = [line.split("|")[3:5] for line in run.stdout.splitlines()]
    assert rows == [[" GPU ", " gpu: prevent a crash "], [" CPU ", " cpu: fix a product "]]
    assert run.stdout.count("new") == 2


@pytest.mark.slow
def test_is_content_with_a_page_that_judges_all(history):
    page = history / "page.md"
    page.write_text("")
    page.write_text(listed(history, page).stdout.replace("new ", ""))
    run = listed(history, page)
    assert run.returncode == 0
    assert "new" not in run.stdout
