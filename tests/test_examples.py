# SPDX-License-Identifier: Apache-2.0
import functools
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from sycl_dnn.device import usable_devices

EXAMPLES = Path(__file__).parents[1] / "examples"
RUNNER = Path(__file__).parent / "helpers" / "run_examples.py"
# Paths in the folder of examples, without ".py".
EVERY = tuple(
    p.relative_to(EXAMPLES).with_suffix("").as_posix()
    for p in sorted(EXAMPLES.rglob("[!_]*.py"))
    if 'if __name__ == "__main__":' in p.read_text(encoding="utf-8")
)
# tests/graph runs those of graphs.
PROGRAMS = [name for name in EVERY if not name.startswith("graph/")]
KINDS = [kind for kind in ("gpu", "cpu") if usable_devices(kind)]

# Options that make it short, and a line of the output that shows the values were checked.
QUICK = {
    "cnn_training_bf16": ("--steps 1", "results are NumPy's within"),
    "cnn_training_f32": ("--steps 1", "results are NumPy's within"),
    "rnn_training_f32": ("--steps 1", "results are NumPy's within"),
    "train_digits": ("--epochs 20", "train_digits: passed"),
}
#: What some devices do not have: bfloat16, 8-bit floats and packed weights (without AMX), and on
#: GPUs int8 LSTM, AUGRU and CSR.
MAY_LACK = {
    "cnn_training_bf16",
    "matmul_csr",
    "matmul_f8_quantization",
    "matmul_weights_compression",
    "primitives/augru",
    "rnn_inference_int8",
    "tutorials/matmul/mxfp_matmul",
}


def start(command, folder, timeout):
    """Run a Python command in a folder; return exit status, output and errors."""
    done = subprocess.run(
        [sys.executable, *map(str, command)],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "MPLCONFIGDIR": str(folder)},
        timeout=timeout,
    )
    return done.returncode, done.stdout, done.stderr


def run(name, *options, folder):
    """Run an example in a process and a folder of its own."""
    return start([EXAMPLES / f"{name}.py", *options], folder, 300)


@functools.cache
def run_all(names, *options):
    """Run examples in one process; return the exit status and the output of each."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        files = {name: str(EXAMPLES / f"{name}.py") for name in names}
        command = [RUNNER, "--report", report, *files.values(), "--", *options]
        _, _, errors = start(command, folder, 900)
        assert report.exists(), f"the process ended early: {errors}"
        ended = json.loads(report.read_text(encoding="utf-8"))
    return {name: ended[file] for name, file in files.items()}


@pytest.mark.parametrize("kind", KINDS or ["none"])
@pytest.mark.parametrize("name", sorted(QUICK))
def test_runs_and_checks_itself(name, kind, tmp_path):
    options, line = QUICK[name]
    status, output, errors = run(name, "--device", kind, *options.split(), folder=tmp_path)
    assert status == 0, errors
    assert line in output or (name in MAY_LACK and "not on this device: " in output), output


@pytest.mark.parametrize("kind", KINDS or ["none"])
@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in QUICK])
def test_runs_and_checks_itself_among_others(name, kind):
    folder = Path(name).parent
    names = tuple(n for n in PROGRAMS if n not in QUICK and Path(n).parent == folder)
    status, output = run_all(names, "--device", kind)[name]
    assert status == 0, output
    passed = f"{Path(name).name}: passed" in output
    assert passed or (name in MAY_LACK and "not on this device: " in output), output


@pytest.mark.parametrize("name", EVERY)
def test_help(name):
    status, output = run_all(EVERY, "--help")[name]
    assert status == 0, output
    assert output.startswith(f"usage: {Path(name).name}.py")
    assert "--device" in output
    assert "--no-check" in output


@pytest.mark.parametrize("name", EVERY)
def test_unknown_device_is_named(name):
    status, output = run_all(EVERY, "--device", "abacus")[name]
    assert status == 1
    assert "'abacus'" in output
    assert "Traceback" not in output


@pytest.mark.parametrize("name", ["getting_started", "primitives/eltwise"])
def test_unknown_device_by_itself(name, tmp_path):
    status, _, errors = run(name, "--device", "abacus", folder=tmp_path)
    assert status == 1
    assert "'abacus'" in errors


def test_a_failing_example_fails_the_run(tmp_path):
    (tmp_path / "wrong.py").write_text("print('before')\nassert not 'values'\n")
    (tmp_path / "right.py").write_text("import sys\nprint(sys.argv[1:])\n")
    command = [RUNNER, "wrong.py", "right.py", "--", "--no-check"]
    status, output, _ = start(command, tmp_path, 60)
    assert status == 1
    assert "AssertionError" in output
    assert "FAILED: wrong.py, exit status 1" in output
    assert "['--no-check']" in output
    assert output.endswith("1 of 2 examples ran\n")


def test_tables_name_only_programs():
    assert set(QUICK) | MAY_LACK <= set(PROGRAMS)


def test_train_digits_fails_below_its_goal(tmp_path):
    status, output, errors = run("train_digits", "--steps", "2", folder=tmp_path)
    assert status == 1
    assert "accuracy must be at least" in errors
    assert "passed" not in output


def test_train_digits_repeats_itself(tmp_path):
    options = ("--steps", "30", "--no-check", "--device", KINDS[-1])
    losses = set()
    for _ in range(2):
        status, output, errors = run("train_digits", *options, folder=tmp_path)
        assert status == 0, errors
        losses.add(next(line for line in output.splitlines() if line.startswith("loss ")))
    assert len(losses) == 1


def test_train_digits_writes_its_figure(tmp_path):
    figure = tmp_path / "a" / "b.png"
    options = ("--steps", "1", "--no-check", "--output", str(figure))
    status, _, errors = run("train_digits", *options, folder=tmp_path)
    assert status == 0, errors
    assert figure.read_bytes().startswith(b"\x89PNG")
