# SPDX-License-Identifier: Apache-2.0
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sycl_dnn.device import usable_devices

EXAMPLES = Path(__file__).parents[1] / "examples"
PROGRAMS = sorted(
    p.stem
    for p in EXAMPLES.glob("[!_]*.py")
    if 'if __name__ == "__main__":' in p.read_text(encoding="utf-8")
)
KINDS = [kind for kind in ("gpu", "cpu") if usable_devices(kind)]

# Options that make it short, and a line of the output that shows the values were checked.
QUICK = {
    "cnn_training_bf16": ("--steps 1", "results are NumPy's within"),
    "cnn_training_f32": ("--steps 1", "results are NumPy's within"),
    "rnn_training_f32": ("--steps 1", "results are NumPy's within"),
    "train_digits": ("--epochs 20", "train_digits: passed"),
}


def run(name, *options, folder):
    """Run an example in a folder of its own; return exit status, output and errors."""
    command = [sys.executable, str(EXAMPLES / f"{name}.py"), *options]
    environment = {**os.environ, "MPLCONFIGDIR": str(folder)}
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=folder, env=environment, timeout=300
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("kind", KINDS or ["none"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_runs_and_checks_itself(name, kind, tmp_path):
    options, line = QUICK.get(name, ("", f"{name}: passed"))
    status, output, errors = run(name, "--device", kind, *options.split(), folder=tmp_path)
    assert status == 0, errors
    assert line in output


@pytest.mark.parametrize("name", PROGRAMS)
def test_help(name, tmp_path):
    status, output, errors = run(name, "--help", folder=tmp_path)
    assert status == 0, errors
    assert output.startswith(f"usage: {name}.py")
    assert "--device" in output
    assert "--no-check" in output


@pytest.mark.parametrize("name", PROGRAMS)
def test_unknown_device_is_named(name, tmp_path):
    status, _, errors = run(name, "--device", "abacus", folder=tmp_path)
    assert status == 1
    assert "'abacus'" in errors
    assert "Traceback" not in errors


def test_quick_names_only_programs():
    assert set(QUICK) <= set(PROGRAMS)


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
