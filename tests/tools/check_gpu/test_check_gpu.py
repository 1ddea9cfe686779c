# SPDX-License-Identifier: Apache-2.0
"""``check-gpu``: checks give verdicts, crashes and hangs are rows, the verdict names the device."""

import json
import os
import signal
import sys
import zipfile

import numpy as np
import pytest

import sycl_dnn
from sycl_dnn.tools.cases.case_files import case_of
from sycl_dnn.tools.cases.drivers import DRIVERS
from sycl_dnn.tools.check_gpu import (
    command,
    device_checks,
    function_sample,
    primitive_sample,
    report_page,
)


def device(nature, backend="level_zero"):
    return {"name": "Some GPU", "nature": nature, "backend": backend}


def result(status, check="functions"):
    return device_checks.outcome(status, "said") | {"check": check, "device": "d", "seconds": 1.0}


@pytest.mark.parametrize(
    ("nature", "statuses", "word", "status"),
    [
        ("gpu", ["passed", "passed"], "PASSED", 0),
        ("gpu", ["passed", "hung"], "FAILED", 1),
        ("gpu", ["passed", "crashed"], "FAILED", 1),
        ("gpu", ["passed", "not run"], "INCOMPLETE", 0),
        ("simulated gpu", ["submitted", "not run"], "SUBMITTED, NOTHING EXECUTED", 0),
        ("executing gpu", ["passed", "passed"], "PASSED", 0),
        ("cpu", ["passed", "passed"], "NO GPU", 3),
    ],
)
def test_verdict(nature, statuses, word, status):
    data = {"results": [result(s) for s in statuses], "checked": [device(nature)], "asked": None}
    said = report_page.verdict(data)
    assert (said["word"], said["status"]) == (word, status)
    assert ("NOT A" in said["text"]) == (nature != "gpu")


def test_without_any_device_the_status_says_so():
    said = report_page.verdict({"results": [result("failed")], "checked": [], "asked": None})
    assert said["status"] == 1
    assert report_page.verdict({"results": [], "checked": [], "asked": None})["status"] == 3


def test_both_backends_of_a_gpu_are_checked_and_level_zero_first():
    rows = [
        {"filter_string": f, "engine": e, "kind": f.split(":")[1], "backend": f.split(":")[0]}
        for f, e in (("opencl:gpu:0", True), ("opencl:cpu:0", True), ("level_zero:gpu:0", True),
                     ("cuda:gpu:0", False))
    ]  # fmt: skip
    chosen = [d["filter_string"] for d in command._chosen(rows, None)]
    assert chosen == ["level_zero:gpu:0", "opencl:gpu:0"]
    assert [d["filter_string"] for d in command._chosen(rows[1:2], None)] == ["opencl:cpu:0"]
    assert [d["filter_string"] for d in command._chosen(rows, "cpu")] == ["opencl:cpu:0"]


def test_results_of_crashed_and_hanging_processes(monkeypatch, tmp_path):
    programs = {
        "crashes": "import os; print('last words', flush=True); os.abort()",
        "hangs": "import time; time.sleep(600)",
    }
    for name, text in programs.items():
        program = tmp_path / name
        program.write_text(f"#!{sys.executable}\n{text}\n")
        program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "crashes"))
    found, log = command.run("functions", "d", 1, 60)
    assert (found["status"], found["summary"]) == ("crashed", "crashed: SIGABRT")
    assert "last words" in log
    assert "last words" in found["rows"][0]["last lines"]
    monkeypatch.setattr(sys, "executable", str(tmp_path / "hangs"))
    found, _ = command.run("functions", "d", 1, 0.5)
    assert found["status"] == "hung"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("last_act", "status", "said"),
    [
        ("os.abort()", "crashed", "crashed: SIGABRT"),
        ("os._exit(3)", "crashed", "ended with status 3"),
        ("print('going', flush=True), time.sleep(600)", "hung", "hung"),
    ],
)
def test_a_result_outlives_its_process(last_act, status, said, monkeypatch, tmp_path):
    text = f"import atexit, os, time\natexit.register(lambda: ({last_act}))\n"
    (tmp_path / "sitecustomize.py").write_text(text)
    monkeypatch.setattr(command, "_PATIENCE", 2)
    folders = [str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]
    found, _ = command.run("devices", "", 30, 300, PYTHONPATH=os.pathsep.join(folders))
    assert found["status"] == status
    assert f"oneDNN can use 1; after that its process {said}" in found["summary"]
    assert found["figures"]["found"] == "passed"
    assert found["figures"]["environment"]["devices"]


def test_a_wrong_value_stays_a_failure_where_its_process_crashes():
    kept = command._amended(
        device_checks.outcome("failed", "3 wrong", [{"a": 1}]), -11, "first\nlast"
    )
    assert kept["status"] == "failed"
    assert kept["summary"] == "3 wrong; after that its process crashed: SIGSEGV"
    assert kept["rows"] == [{"a": 1}]
    assert "last" in report_page._section(kept | {"check": "c", "device": "d", "seconds": 1.0})


def test_a_wrong_value_is_a_failure(monkeypatch):
    queue = sycl_dnn.default_queue("cpu")
    assert function_sample.one("relu", "float32", queue, queue)["status"] == "passed"
    right = function_sample.results
    calls = []

    def wrong(name, values, queue):
        calls.append(name)
        return [a + 1 if len(calls) == 1 else a for a in right(name, values, queue)]

    monkeypatch.setattr(function_sample, "results", wrong)
    assert function_sample.one("relu", "float32", queue, queue)["status"] == "failed"


def test_nan_is_no_agreement():
    good, bad = np.ones(3, "f4"), np.array([1, np.nan, 1], "f4")
    off = function_sample.difference([bad], [good])
    assert not off <= function_sample.TOLERANCE["float32"]


def test_drawn_digits_are_distinguished():
    images, labels = device_checks._drawn_digits(np.random.default_rng(0), 50)
    assert images.shape == (50, 1, 8, 8)
    assert set(labels) <= set(range(10))
    assert len(set(device_checks._FONT.split())) == 10


@pytest.mark.slow
def test_report_of_the_cpu(tmp_path, capsys):
    path = tmp_path / "out.zip"
    words = ["--device=cpu", "--only=memory", "--minutes=10", f"--report={path}"]
    assert command.main(words) == 0
    assert "NOT A GPU" in capsys.readouterr().out
    with zipfile.ZipFile(path) as file:
        data = json.loads(file.read("report.json"))
        page = file.read("report.html").decode()
        assert {"logs/opencl_cpu_0_memory.txt", "report.html"} <= set(file.namelist())
    assert [r["status"] for r in data["results"]] == ["passed"] * 2
    assert data["verdict"]["text"].replace("&", "&amp;") in page
    assert "src=" not in page
    assert "href=" not in page
    home = os.path.expanduser("~")
    assert home not in page or len(home) < 2


@pytest.mark.parametrize(
    "words",
    [
        ["--only=speed,colour"],
        ["--minutes=0"],
        ["--report=no/such/folder/x.zip"],
        ["--report=."],
        ["--report=/proc/x.zip"],
    ],
)
def test_wrong_options(words, capsys):
    with pytest.raises(SystemExit) as end:
        command.main(words)
    assert end.value.code == 2
    assert "must" in capsys.readouterr().err


def listed(session):
    session.check("devices", "", 1)
    return [{"filter_string": "opencl:cpu:0", "name": "c", "kind": "cpu", "backend": "opencl",
             "engine": True, "nature": "cpu"}]  # fmt: skip


def test_unknown_device_names_those_that_exist(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(
        command, "run", lambda *a, **k: (device_checks.outcome("passed", "said"), "")
    )
    monkeypatch.setattr(command, "_devices", listed)
    with pytest.raises(SystemExit) as end:
        command.main(["--device=gpu:7", f"--report={tmp_path / 'x.zip'}"])
    assert end.value.code == 2
    assert "--device must be one of opencl:cpu:0, got gpu:7" in capsys.readouterr().err


def test_report_after_ctrl_c_has_the_finished_checks(monkeypatch, capsys, tmp_path):
    def run(name, *_, **__):
        if name == "functions":
            raise KeyboardInterrupt
        return device_checks.outcome("passed", "said"), ""

    monkeypatch.setattr(command, "run", run)
    monkeypatch.setattr(command, "_devices", listed)
    assert command.main([f"--report={tmp_path / 'name'}"]) == 130
    assert "ended by Ctrl-C" in capsys.readouterr().out
    with zipfile.ZipFile(tmp_path / "name.zip") as file:
        data = json.loads(file.read("report.json"))
    assert [r["check"] for r in data["results"]] == ["devices", "conformance"]
    assert data["verdict"]["word"] == "INCOMPLETE"


#: A backward case of a primitive with a workspace, and narrow types: the CPU computes in float32.
SAMPLE = (
    "--pool --dir=BWD_D --alg=max mb2ic16ih14oh7kh3sh2ph1",
    "--matmul --dt=bf16 64x128:128x96",
    "--conv --dir=FWD_I --dt=u8:s8:s8 --attr-scales=wei:common:0.25 mb2ic16ih10oc32kh3ph1",
)


@pytest.fixture(scope="module")
def cpu_stream():
    return primitive_sample.stream_on("cpu")


@pytest.mark.parametrize("line", SAMPLE)
def test_a_primitive_agrees_with_the_cpu_engine(line, cpu_stream):
    row = primitive_sample.one(case_of(line), cpu_stream, cpu_stream)
    assert (row["status"], row["what"]) == ("passed", ""), row
    assert row["impl"]


@pytest.mark.parametrize("line", SAMPLE)
@pytest.mark.parametrize("number", [2.0, np.nan])
def test_one_wrong_element_of_a_primitive_is_detected(line, number, cpu_stream):
    done, _ = primitive_sample.executed(case_of(line).call(), cpu_stream, line, {})
    expected = done.results()[0]
    assert primitive_sample.wrong(done, expected) == ""
    for values in expected.values():
        values.flat[7] += number * max(1.0, 0.05 * np.abs(values).max())
    assert "is off by" in primitive_sample.wrong(done, expected)


def test_the_sample_has_every_primitive_and_what_is_refused_says_so(cpu_stream):
    assert {case.driver for case in primitive_sample.cases()} == DRIVERS.keys()
    row = primitive_sample.one(case_of("--pool --dt=f64 mb2ic64ih14kh3"), cpu_stream, cpu_stream)
    assert (row["status"], row["what"]) == ("refused", "pooling_forward: unimplemented")


@pytest.mark.slow
def test_a_case_that_kills_its_process_is_a_row_and_the_next_one_runs():
    first, second = (case_of(f"--softmax {n}x5") for n in (2, 3))
    worker = primitive_sample.Worker("cpu", "cpu")
    assert worker.ask(first, 100)["status"] == "passed"
    worker.process.kill()
    dead = worker.ask(first, 100)
    assert (dead["status"], dead["what"]) == ("crashed", "the process died: SIGKILL")
    assert worker.ask(second, 100)["status"] == "passed"
    os.kill(worker.process.process.pid, signal.SIGSTOP)
    assert worker.ask(first, 1)["status"] == "hung"
    assert worker.ask(second, 100)["status"] == "passed"
    worker.close()
