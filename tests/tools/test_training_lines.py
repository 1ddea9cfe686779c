# SPDX-License-Identifier: Apache-2.0
"""Training takes no more lines of code than in torch: the table of benchmarks/README.md."""

import sys

import pytest
from rank_jobs import ROOT


@pytest.fixture
def counted(monkeypatch):
    """Return benchmarks/training_lines.py."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import training_lines

    yield training_lines
    del sys.modules["training_lines"]


def test_the_page_has_the_table_and_ours_keeps_the_goal(counted, capsys):
    counted.show()
    rows = capsys.readouterr().out.splitlines()
    assert len(rows) == 8
    page = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    assert [row for row in rows if row not in page] == []


def test_too_many_lines_fail(counted, monkeypatch):
    monkeypatch.setattr(counted, "GOAL", 0.5)
    with pytest.raises(SystemExit, match="more than 0.5 times"):
        counted.show()


def test_neither_comments_nor_docstrings_count(counted, tmp_path):
    file = tmp_path / "some.py"
    file.write_text(
        'def f():\n    """Of\n\n    lines."""\n    # Why.\n\n    return (\n        1)\n'
    )
    assert counted.Source(file).lines("f") == 3
