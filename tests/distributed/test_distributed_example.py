# SPDX-License-Identifier: Apache-2.0
"""Examples under the launcher."""

import re
import subprocess
import sys

import pytest
from rank_jobs import ROOT, environment, needs_oneccl


def trained_by_two(name, folder, *options):
    """Return the output of an example, each line prefixed with its rank."""
    example = ROOT / "examples" / f"{name}.py"
    command = [sys.executable, "-m", "sycl_dnn", "launch", "-n", "2", str(example)]
    done = subprocess.run(
        [*command, "--distributed", *options, "--no-check"],
        capture_output=True, text=True, timeout=900, cwd=folder, env=environment(),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@needs_oneccl
def test_two_ranks_learn_digits_with_sharded_state(tmp_path):
    text = trained_by_two("train_digits_distributed", tmp_path, "--sharded", "--steps", "20")
    assert "[0] 2 ranks, loss " in text


def losses(text):
    """Return the loss at the start and later ones."""
    found = re.search(r"loss ([\d.]+)(?: to ([\d.]+))?(?:, then to ([\d.]+) and ([\d.]+))?", text)
    return [float(number) for number in found.groups() if number]


@needs_oneccl
@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("train_digits", []),
        ("train_digits_functional", []),
        ("lstm_text", []),
        ("train_digits_nn", ["--dropout", "0"]),
        ("resume", ["--dropout", "0"]),
        ("resnet_cifar_like", []),
        pytest.param("transfer_from_torch", [], marks=pytest.mark.torch),
    ],
)
def test_losses_of_two_ranks_equal_those_of_one_process(name, more, tmp_path):
    """Batch statistics too; dropout draws masks for each rank's own rows."""
    options = ["--steps", "4", *more]
    command = [sys.executable, str(ROOT / "examples" / f"{name}.py"), *options, "--no-check"]
    alone = subprocess.run(
        command, capture_output=True, text=True, timeout=900, cwd=tmp_path, env=environment()
    )
    assert alone.returncode == 0, alone.stderr
    text = trained_by_two(name, tmp_path, *options)
    for rank in range(2):
        lines = "\n".join(line for line in text.splitlines() if line.startswith(f"[{rank}]"))
        # A pretrained network with many batch norms amplifies rounding differences.
        tolerance = 1e-2 if name == "transfer_from_torch" else 1.1e-3
        assert losses(lines) == pytest.approx(losses(alone.stdout), abs=tolerance)


@needs_oneccl
def test_another_number_of_ranks_resumes_from_a_checkpoint(tmp_path):
    options = ["--dropout", "0", "--checkpoint", str(tmp_path / "file.safetensors"), "--steps", "4"]
    text = trained_by_two("resume", tmp_path, *options, "--every", "2")
    assert "[1] from step 0 of 4" in text
    command = [sys.executable, str(ROOT / "examples" / "resume.py"), *options[:-1], "6"]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=900, cwd=tmp_path, env=environment()
    )
    assert done.returncode == 0, done.stderr
    assert "from step 4 of 6" in done.stdout


@needs_oneccl
@pytest.mark.parametrize("name", ["vae", "lstm_sequence", "gpt_text", "diffusion_digits"])
def test_both_ranks_print_the_loss_over_all_rows(name, tmp_path):
    short = ["--letters", "5"] if name == "gpt_text" else []
    text = trained_by_two(name, tmp_path, "--steps", "3", *short)
    first = dict(
        re.findall(r"\[(\d)\] (?:loss|squared error|error of the noise)\D* ([\d.]+) to", text)
    )
    assert sorted(first) == ["0", "1"], text
    assert first["0"] == first["1"]
