# SPDX-License-Identifier: Apache-2.0
"""The runner detects wrong results, limits memory, gives reasons and writes files."""

import csv
import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from conformance.verify import expected_results, runner
from conformance.verify.case_reader import replay
from conformance.verify.command import _settings, parser
from conformance.verify.outcomes import Limits
from conformance.verify.runner import run_case
from sycl_dnn.tools.cases import options
from sycl_dnn.tools.cases.case_files import Case

PROGRAM = Path(__file__).parents[1]


def command(*words):
    call = [sys.executable, str(PROGRAM), "verify", *words]
    return subprocess.run(call, capture_output=True, text=True, timeout=900)


WATCHED = {
    "conv": ("ic4oc4ih5kh3", "dst"),
    "matmul": ("5x8:8x3", "dst"),
    "softmax": ("4x9", "dst"),
    "reorder": ("2x3x4x5", "dst"),
    "bnorm": ("ic4ih3", "dst"),
    "rnn": ("t2sic4", "dst_layer"),
}


@pytest.mark.parametrize("driver", WATCHED)
def test_wrong_results_are_detected(driver, cpu_stream, monkeypatch):
    problem, output = WATCHED[driver]
    case = Case(driver, problem)
    assert run_case(case, cpu_stream).status == "PASSED"
    right = expected_results.expected

    def off_by_a_little(call, arrays):
        results = {name: np.array(value) for name, value in right(call, arrays).items()}
        results[output].flat[1] += 0.01 + abs(results[output].flat[1]) * 0.01
        return results

    monkeypatch.setattr(expected_results, "expected", off_by_a_little)
    result = run_case(case, cpu_stream)
    assert (result.status, output in result.reason) == ("FAILED", True)


def test_too_much_memory_is_refused_before_allocation(cpu_stream):
    case = Case("softmax", "1099511627776x1024")
    result = run_case(case, cpu_stream)
    assert result.status == "LIMITS"
    assert "a case must need at most" in result.reason


def test_too_much_work_is_refused(cpu_stream):
    case = Case("matmul", "512x512:512x512")
    result = run_case(case, cpu_stream, Limits(operations=1000))
    assert (result.status, "products" in result.reason) == ("LIMITS", True)


def test_known_faults_are_listed(cpu_stream):
    result = run_case(Case("lnorm", "3x4x33", {"dir": "BWD_D", "flags": "M"}), cpu_stream)
    assert (result.status, "docs/onednn_in_python.md" in result.reason) == ("KNOWN", True)


@pytest.mark.slow
def test_command_runs_cases_and_writes_reports(tmp_path):
    names = [str(tmp_path / name) for name in ("r.json", "r.csv")]
    words = ["--conv", "mb1ic3ih7oc4kh3", "--alg=DIRECT,WINO", "--dt=f32,bf16", "--jobs=2"]
    done = command(*words, f"--json={names[0]}", f"--csv={names[1]}")
    assert done.returncode == 0, done.stdout + done.stderr
    refusal = done.stdout.split("--conv --alg=WINO mb1ic3ih7oc4kh3")
    assert refusal[0].split("\n")[-1].strip() == "UNIMPLEMENTED"
    reasons = refusal[1].split("PASSED")[0].splitlines()
    assert sum("bad algorithm" in line for line in reasons) > 1, "each implementation's reason"
    assert "4 cases in" in done.stdout
    with open(names[0]) as file:
        results = json.load(file)["results"]
    assert sorted(r["status"] for r in results)[-1] == "UNIMPLEMENTED"
    with open(names[1]) as file:
        assert len(list(csv.DictReader(file))) == 4


@pytest.mark.slow
def test_command_reports_the_location_of_an_invalid_line(tmp_path):
    (tmp_path / "a.in").write_text("--conv\n\nic3oc4ih5kh9")
    done = command(f"--batch={tmp_path / 'a.in'}", "--conv")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    done = command("--conv", f"--batch={tmp_path / 'a.in'}")
    assert done.stderr.startswith(f"{tmp_path / 'a.in'}:3: the output must not be empty")


def test_a_dead_process_is_a_failed_case(monkeypatch):
    """The worker's program is one that ends at once."""
    monkeypatch.setattr(runner.sys, "executable", "/bin/false")
    pool = runner.Pool("cpu", Limits(), 10.0)
    (result,) = pool.run([Case("softmax", "2x3")], 1)
    assert result["status"] == "FAILED"
    assert "the process died" in result["reason"]


@pytest.mark.parametrize("names", [{"impl": "ref"}, {"skip-impl": "brg,gemm"}])
def test_implementations_are_selected_by_name(names, cpu_stream):
    result = run_case(Case("matmul", "5x8:8x3", names), cpu_stream)
    assert (result.status, result.impl) == ("PASSED", "ref:any")


def test_no_implementation_of_that_name(cpu_stream):
    result = run_case(Case("matmul", "5x8:8x3", {"impl": "zebra"}), cpu_stream)
    assert result.status == "SKIPPED"
    assert "--impl and --skip-impl must leave one of" in result.reason


def test_lines_that_repeat_a_case_name_device_and_limits():
    words = ["--device=cpu", "--max-operations=1k", "--matmul", "64x64:64x64"]
    options, rest = parser().parse_known_args(words)
    line = replay(" ".join(rest), _settings(options))
    assert line == (
        "python tests/conformance verify --device=cpu --max-operations=1024 --matmul 64x64:64x64"
    )


DYNAMIC = {
    "mx": ("mx:e8m0:1x32", 448.0 * 64, 64.0),
    "mx of less than a power": ("mx:e8m0:1x32", 448.0 * 33, 32.0),
    "others": ("dynamic_fp:f8_e4m3:1x32", 448.0 * 3, 3.0),
    "others of nothing": ("dynamic_fp:f8_e4m3:1x32", 0.0, 1.0),
}


@pytest.mark.parametrize(("policy", "largest", "scale"), DYNAMIC.values(), ids=DYNAMIC)
def test_scales_computed_by_onednn(policy, largest, scale):
    (quantity,) = options.scales(f"dst:{policy}")
    values = np.zeros((2, 64))
    values[1, 40] = -largest
    scales = expected_results.scales(quantity, values, "f8_e4m3")
    assert scales.shape == (2, 2)
    assert scales[1, 1] == scale


def test_dropout_with_tag_undef_has_no_mask(cpu_stream):
    case = Case("matmul", "5x8:8x3", {"attr-dropout": "0.5:12345:undef"})
    assert case.call().attr.dropout.tag == ""
    result = run_case(case, cpu_stream)
    assert result.status == "PASSED", result.reason


@pytest.mark.slow
def test_a_broken_rule_gives_exit_status_1_unless_expected(tmp_path):
    (tmp_path / "outside.in").write_text("--matmul --attr-scales=src:9 5x8:8x3")
    words = ["--matmul", f"--batch={tmp_path / 'outside.in'}"]
    done = command(*words)
    assert (done.returncode, "INVALID" in done.stdout) == (1, True), done.stdout + done.stderr
    assert command("--expect-invalid", *words).returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_run_prints_the_table_and_writes_json(number, status, tmp_path):
    """The first case finishes at once; the signal arrives during the second, which sleeps."""
    path = tmp_path / "r.json"
    code = (
        f"import sys, time; sys.path[:0] = {[str(PROGRAM.parent / n) for n in ('', 'helpers')]!r}\n"
        "from conformance.verify import command, runner\n"
        "def run(self, cases, count):\n"
        "    from conformance.verify.runner import run_case\n"
        "    yield run_case(cases[0], runner.stream_on('')).as_dict()\n"
        "    print('one', file=sys.stderr, flush=True)\n"
        "    time.sleep(100)\n"
        "runner.Pool.run = run\n"
        f"sys.exit(command.main(['--json={path}', '--softmax', '2x3', '2x4']))\n"
    )
    run = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    while "one" not in (line := run.stderr.readline()):
        assert line, run.stdout.read()
    run.send_signal(number)
    printed, _ = run.communicate()
    assert run.returncode == status
    assert "after 1 of 2 cases" in printed
    assert "softmax           1" in printed
    assert [r["status"] for r in json.loads(path.read_text())["results"]] == ["PASSED"]
