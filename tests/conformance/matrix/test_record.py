# SPDX-License-Identifier: Apache-2.0
"""The matrix as a file, as a page, and compared; the command's exit status."""

import itertools
import json

import pytest

from conformance.matrix import command, families
from conformance.matrix import record as compare
from conformance.matrix.families import cells as cells_of_cells
from conformance.matrix.page import short, table
from conformance.matrix.record import Record, RecordError, load, state_of
from sycl_dnn.tools.explain import probe
from sycl_dnn.tools.explain.probe import Answer, Attempt

FACTS = {"device": "a CPU", "kind": "cpu", "isa": "avx2"}


def record(**answers):
    found = Record({"cpu:avx2": FACTS})
    for name, text in answers.items():
        found.cases[f"--conv {name}"] = {"cpu:avx2": text}
    return found


@pytest.mark.parametrize(
    ("impl", "family", "state"),
    [
        ("brg_conv_fwd:avx512_core", "brgemm", "optimised"),
        ("x64:gemm:jit", "gemm", "optimised"),
        ("jit_uni_ncsp:conv+ref:any", "ref", "ref"),
        ("ncsp_bnorm:any", "simple", "simple"),
        ("conv:any+ocl:ref:any", "ref", "ref"),
        ("ocl:xe", "ocl", "optimised"),
        ("gpu:direct_copy", "reorder", "optimised"),
        ("something new", "other", "optimised"),
    ],
)
def test_families(impl, family, state):
    assert (probe.family(impl), probe.state(impl)) == (family, state)
    assert short(impl) in (family, f"*{family}*")


def test_a_record_round_trips_through_a_file(tmp_path):
    first = record(a="jit:avx2", b="refused: unsupported datatype: f64")
    first.absent = ["avx10_2"]
    second = Record({"Arc A770": {"simulated": True}})
    answer = Answer("refused", attempts=(Attempt("ref:any", "bad | luck"),))
    second.put("Arc A770", "--conv b", answer)
    first.add(second)
    first.save(tmp_path / "m.json")
    again = load(tmp_path / "m.json")
    assert again == first
    assert again.cases["--conv b"]["Arc A770"] == "refused: bad | luck"
    assert "Arc A770" not in again.cases["--conv a"]


def test_changes_on_another_device_are_shown_but_are_not_failures():
    old, new = record(a="jit:avx2"), record(a="ref:any")
    assert len(compare.compare(old, new).failures) == 1
    new.targets["cpu:avx2"] = FACTS | {"device": "another CPU"}
    found = compare.compare(old, new)
    assert (len(found.worse), found.failures) == (1, [])
    assert "cpu:avx2: measured on a CPU, now on another CPU" in "\n".join(compare.lines(found))
    del old.targets["cpu:avx2"]
    assert compare.compare(old, new).unknown == ["cpu:avx2"]


def test_existing_targets_are_not_replaced():
    first, second = record(a="jit:avx2"), record(a="ref:any")
    first.add(second)
    assert first.cases["--conv a"]["cpu:avx2"] == "jit:avx2"


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{", '{"schema": 1}', '{"schema": 99, "targets": {}}',
     '{"schema": 1, "absent": [], "targets": {"a": {}}, "answers": [], "cases": {"x": [3]}}'],
)  # fmt: skip
def test_invalid_files_are_refused(text, tmp_path):
    path = tmp_path / "bad.json"
    path.write_text(text)
    with pytest.raises(RecordError, match="bad.json: "):
        load(path)


def test_changes_are_classified_as_better_worse_or_equal():
    old = record(a="jit:avx2", b="ref:any", c="jit:avx2", d="refused: no", gone="ref:any")
    new = record(a="ref:any", b="refused: why", c="brgemm:avx2", d="simple:any", new="ref:any")
    found = compare.compare(old, new)
    assert [c.line for c in found.worse] == ["--conv a", "--conv b"]
    assert [c.line for c in found.better] == ["--conv d"]
    assert dict(found.other) == {("jit:avx2", "brgemm:avx2"): 1}
    assert (found.compared, found.only_old, found.only_new) == (4, 1, 1)
    text = "\n".join(compare.lines(found))
    assert "jit:avx2 -> ref:any" in text
    assert "2 worse, 1 better, 1 other" in text


def test_targets_of_one_side_only_are_not_compared():
    other = Record({"DG1": {}}, {"--conv a": {"DG1": "jit:ir"}})
    found = compare.compare(record(a="jit:avx2"), other)
    assert (found.compared, found.changes, found.only_old) == (0, [], 0)


def test_folding_preserves_the_set_of_cells():
    """Each row is a full product, and the products are all cells, each once."""
    given = {}
    for i, cell in enumerate(cells_of_cells(["pool"])):
        place = (cell.kind, cell.types, cell.direction, cell.layout)
        given[place] = (cell, ("ref" if i % 7 == 0 else cell.types, cell.layout[0]))
    rows = families.fold(given.values())
    assert len(rows) < len(given) / 2
    found = [
        (place, row.answers)
        for row in rows
        for place in itertools.product(row.kind, row.types, row.direction, row.layout)
    ]
    assert len(found) == len(given)
    assert {place: answers for place, (_, answers) in given.items()} == dict(found)


def test_table_cells_are_escaped():
    assert table(["a"], [["x|y"]])[-1] == "| x\\|y |"


@pytest.mark.slow
def test_the_command_writes_compares_and_reports_regressions(tmp_path, capsys):
    file, page_ = tmp_path / "m.json", tmp_path / "m.md"
    arguments = ["--device", "cpu", "--isa", "sse41", "--drivers", "sum,shuffle"]
    assert command.main([*arguments, "--json", str(file), "--markdown", str(page_)]) == 0
    found = load(file)
    assert set(found.targets) == {"cpu:sse41"}
    assert {state_of(a["cpu:sse41"]) for a in found.cases.values()} >= {"ref", "refused"}
    assert "## Sum (sum)" in page_.read_text()
    assert command.main([*arguments, "--compare", str(file)]) == 0
    data = json.loads(file.read_text())
    data["answers"] = ["jit:avx2" if a == "ref:any" else a for a in data["answers"]]
    file.write_text(json.dumps(data))
    capsys.readouterr()
    assert command.main([*arguments, "--compare", str(file)]) == 1
    assert "jit:avx2 -> ref:any" in capsys.readouterr().out


@pytest.mark.slow
def test_another_file_adds_its_targets(tmp_path):
    other, file = tmp_path / "other.json", tmp_path / "m.json"
    Record({"DG1": {"simulated": True}}, {"--sum x": {"DG1": "ocl:xe"}}).save(other)
    arguments = ["--device", "cpu", "--isa", "sse41", "--drivers", "sum"]
    assert command.main([*arguments, "--with", str(other), "--json", str(file)]) == 0
    found = load(file)
    assert list(found.targets) == ["DG1", "cpu:sse41"]
    assert found.cases["--sum x"] == {"DG1": "ocl:xe"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--isa", "avx3"], "isa must be of sse41"),
        (["--drivers", "convolution"], "drivers must be of conv"),
        (["--compare", "no-such-file"], "no-such-file: "),
        (["--device", "nonsense", "--drivers", "sum"], "device must be one of"),
    ],
)
def test_invalid_arguments_are_refused(arguments, message, capsys):
    assert command.main(arguments) == 2
    assert message in capsys.readouterr().err
