# SPDX-License-Identifier: Apache-2.0
"""The matrix as a file, as a page, and compared; the command's exit status."""

import itertools
import json

import pytest

from conformance.matrix import command, families
from conformance.matrix import record as compare
from conformance.matrix.families import cells as cells_of_cells
from conformance.matrix.record import Record, load, state_of

FACTS = {"device": "a CPU", "kind": "cpu", "isa": "avx2"}


def record(**answers):
    result = Record({"cpu:avx2": FACTS})
    for name, text in answers.items():
        result.cases[f"--conv {name}"] = {"cpu:avx2": text}
    return result


def test_changes_are_classified_as_better_worse_or_equal():
    old = record(a="jit:avx2", b="ref:any", c="jit:avx2", d="refused: no", gone="ref:any")
    new = record(a="ref:any", b="refused: why", c="brgemm:avx2", d="simple:any", new="ref:any")
    difference = compare.compare(old, new)
    assert [c.line for c in difference.worse] == ["--conv a", "--conv b"]
    assert [c.line for c in difference.better] == ["--conv d"]
    assert dict(difference.other) == {("jit:avx2", "brgemm:avx2"): 1}
    assert (difference.compared, difference.only_old, difference.only_new) == (4, 1, 1)
    text = "\n".join(compare.lines(difference))
    assert "jit:avx2 -> ref:any" in text
    assert "2 worse, 1 better, 1 other" in text


def test_folding_preserves_the_set_of_cells():
    """Each row is a full product, and the products are all cells, each once."""
    answers_of = {}
    for i, cell in enumerate(cells_of_cells(["pool"])):
        place = (cell.kind, cell.types, cell.direction, cell.layout)
        answers_of[place] = (cell, ("ref" if i % 7 == 0 else cell.types, cell.layout[0]))
    rows = families.fold(answers_of.values())
    assert len(rows) < len(answers_of) / 2
    matches = [
        (place, row.answers)
        for row in rows
        for place in itertools.product(row.kind, row.types, row.direction, row.layout)
    ]
    assert len(matches) == len(answers_of)
    assert {place: answers for place, (_, answers) in answers_of.items()} == dict(matches)


@pytest.mark.slow
def test_the_command_writes_compares_and_reports_regressions(tmp_path, capsys):
    file, page_ = tmp_path / "m.json", tmp_path / "m.md"
    arguments = ["--device", "cpu", "--isa", "sse41", "--drivers", "sum,shuffle"]
    assert command.main([*arguments, "--json", str(file), "--markdown", str(page_)]) == 0
    record = load(file)
    assert set(record.targets) == {"cpu:sse41"}
    assert {state_of(a["cpu:sse41"]) for a in record.cases.values()} >= {"ref", "refused"}
    assert "## Sum (sum)" in page_.read_text()
    assert command.main([*arguments, "--compare", str(file)]) == 0
    data = json.loads(file.read_text())
    data["answers"] = ["jit:avx2" if a == "ref:any" else a for a in data["answers"]]
    file.write_text(json.dumps(data))
    capsys.readouterr()
    assert command.main([*arguments, "--compare", str(file)]) == 1
    assert "jit:avx2 -> ref:any" in capsys.readouterr().out
