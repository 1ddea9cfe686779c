# SPDX-License-Identifier: Apache-2.0
import re
from importlib.util import find_spec
from pathlib import Path

import pytest
from run_examples import run_all, start

from sycl_dnn.device import usable_devices

EXAMPLES = Path(__file__).parents[1] / "examples"
RUNNER = Path(__file__).parent / "helpers" / "run_examples.py"
# Paths in the folder of examples, without ".py"; test_ported_training.py runs port/.
EVERY = tuple(
    p.relative_to(EXAMPLES).with_suffix("").as_posix()
    for p in sorted(EXAMPLES.rglob("[!_]*.py"))
    if 'if __name__ == "__main__":' in p.read_text(encoding="utf-8") and p.parent.name != "port"
)
# tests/graph runs those of graphs.
PROGRAMS = [name for name in EVERY if not name.startswith("graph/")]
KINDS = [kind for kind in ("gpu", "cpu") if usable_devices(kind)]

# Not an import: the example's own process loads torch.
FROM_TORCH = "passed" if find_spec("torch") else "skipped"

# With options that make it short, and a line of the output that shows the values were checked.
QUICK = {
    "cnn_training_bf16 --steps 1": "results are NumPy's within",
    "cnn_training_f32 --steps 1": "results are NumPy's within",
    "cnn_training_f32 --steps 0 --data guide": "results are NumPy's within",
    "rnn_training_f32 --steps 1": "results are NumPy's within",
    "compiled_resnet50 --repeats 1": "compiled_resnet50: passed",
    "lstm_text --steps 60": "lstm_text: passed",
    "train_digits --epochs 5": "train_digits: passed",
    "train_digits_distributed --steps 100": "train_digits_distributed: passed",
    "train_digits_nn --steps 100": "train_digits_nn: passed",
    "diffusion_digits --steps 100 --no-check": "drawn digits in",
    "gpt_text --steps 20 --letters 10": "gpt_text: passed",
    "finetune_language_model --steps 120": "finetune_language_model: passed",
    "finetune_ocr --steps 60 --no-check": "new words read",
    "lstm_sequence --steps 40": "lstm_sequence: passed",
    "resnet_cifar_like --steps 30": "resnet_cifar_like: passed",
    "ported_training": "ported_training: passed",
    "resume --steps 20": "resume: passed",
    "serve --requests 320": "serve: passed",
    "sklearn_pipeline --steps 10": "sklearn_pipeline: passed",
    "transfer_from_torch --steps 100": f"transfer_from_torch: {FROM_TORCH}",
    "vae --steps 200": "vae: passed",
    "train_digits_functional --steps 150": "train_digits_functional: passed",
    "gpt_text --steps 20 --letters 10 --dtype bfloat16": "gpt_text: passed",
    "train_digits_distributed --steps 100 --dtype bfloat16": "train_digits_distributed: passed",
    "train_digits_nn --steps 100 --no-compile": "train_digits_nn: passed",
}
#: Last lines of the programs with a loop over steps; train_digits draws its own figure.
CURVES = {
    *(["transfer_from_torch"] if FROM_TORCH == "passed" else []),
    *(
        "diffusion_digits",
        "finetune_language_model",
        "finetune_ocr",
        "gpt_text",
        "lstm_sequence",
        "lstm_text",
    ),
    *("gradient_penalty", "ported_training", "resnet_cifar_like", "resume"),
    *("sklearn_pipeline", "train_digits_distributed", "train_digits_functional"),
    *("train_digits_nn", "vae"),
}
ALONE = {command.split()[0] for command in QUICK}
#: What some devices do not have: 8-bit floats and packed weights (without AMX), and on
#: GPUs int8 LSTM, AUGRU and CSR.
MAY_LACK = {
    "matmul_sparse",
    "matmul_f8_quantization",
    "matmul_weights_compression",
    "primitives/augru",
    "rnn_inference_int8",
    "tutorials/matmul/mxfp_matmul",
}


def run(name, *options, folder):
    """Run an example in a separate process and folder."""
    return start([EXAMPLES / f"{name}.py", *options], folder, 900)


def ended(name, names, *options):
    """Return exit status and output of an example that ran in one process with others."""
    paths = {n: EXAMPLES / f"{n}.py" for n in names}
    return run_all(tuple(paths.values()), *options)[paths[name]]


#: Of the slow ones: training to a goal, one program of each folder.
SMOKE = ("train_digits --epochs 5",)
ONE_OF_EACH = ("getting_started", "graph/sdpa", "primitives/convolution",
               "tutorials/matmul/matmul_quantization")  # fmt: skip


def quick():
    """Return the commands of QUICK as parameters."""
    return [pytest.param(c, marks=[pytest.mark.smoke] if c in SMOKE else []) for c in QUICK]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS or ["none"])
@pytest.mark.parametrize("command", quick())
def test_runs_and_checks_itself(command, kind):
    name, *options = command.split()
    others = [other.split() for other in QUICK]
    names = tuple(n for n, *args in others if args == options)
    status, output = ended(name, names, "--device", kind, *options)
    assert status == 0, output
    is_lacking = name in MAY_LACK and "not on this device: " in output
    assert QUICK[command] in output or is_lacking, output
    assert (f"curve of the loss: out/{name}_loss.png" in output) == (name in CURVES), output
    if name == "lstm_text":
        first, last = map(float, re.search(r"loss ([\d.]+) to ([\d.]+)", output).groups())
        assert last < 0.75 * first


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS or ["none"])
@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in ALONE])
def test_runs_and_checks_itself_among_others(name, kind):
    folder = Path(name).parent
    names = tuple(n for n in PROGRAMS if n not in ALONE and Path(n).parent == folder)
    status, output = ended(name, names, "--device", kind)
    assert status == 0, output
    passed = f"{Path(name).name}: passed" in output
    assert passed or (name in MAY_LACK and "not on this device: " in output), output


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_one_of_each_kind_checks_itself(name):
    status, output = ended(name, ONE_OF_EACH, "--device", KINDS[-1])
    assert status == 0, output
    assert f"{Path(name).name}: passed" in output


@pytest.mark.slow
@pytest.mark.parametrize("name", EVERY)
def test_help(name):
    status, output = ended(name, EVERY, "--help")
    assert status == 0, output
    assert output.startswith(f"usage: {Path(name).name}.py")
    assert "--device" in output
    assert "--no-check" in output


@pytest.mark.slow
@pytest.mark.parametrize("name", EVERY)
def test_unknown_device_is_named(name):
    status, output = ended(name, EVERY, "--device", "abacus")
    assert status == 1
    assert "'abacus'" in output
    assert "Traceback" not in output


@pytest.mark.slow
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
    assert set(PROGRAMS) >= ALONE | MAY_LACK


@pytest.mark.slow
def test_train_digits_fails_below_its_goal(tmp_path):
    status, output, errors = run("train_digits", "--steps", "2", folder=tmp_path)
    assert status == 1
    assert "accuracy must be at least" in errors
    assert "passed" not in output


@pytest.mark.slow
def test_train_digits_repeats_itself_and_writes_its_figure(tmp_path):
    options = ["--steps", "30", "--no-check", "--device", KINDS[-1], "--output", ""]
    losses = set()
    for name in ("a", "b"):
        figure = tmp_path / name / "c.png"
        options[-1] = str(figure)
        status, output, errors = run("train_digits", *options, folder=tmp_path)
        assert status == 0, errors
        losses.add(next(line for line in output.splitlines() if line.startswith("loss ")))
        assert figure.read_bytes().startswith(b"\x89PNG")
    assert len(losses) == 1


@pytest.mark.slow
def test_the_curve_of_the_loss_is_a_picture(tmp_path):
    options = ["--steps", "3", "--no-check", "--no-compile", "--device", KINDS[-1]]
    status, _, errors = run("train_digits_nn", *options, folder=tmp_path)
    assert status == 0, errors
    for name in ("train_digits_nn_loss.png", "train_digits_nn.safetensors"):
        assert (tmp_path / "out" / name).stat().st_size > 1000
    picture = (tmp_path / "out" / "train_digits_nn_loss.png").read_bytes()
    assert picture.startswith(b"\x89PNG")


@pytest.mark.slow
def test_estimators_have_no_option_for_steps_that_are_not_theirs(tmp_path):
    _, output, _ = run("sklearn_pipeline", "--help", folder=tmp_path)
    assert "--dtype" in output
    assert "--compile" not in output


def test_runner_continues_in_a_new_process(tmp_path):
    """What ends its process runs once more; what does so twice has failed."""
    ending = "import os, pathlib\ncount = pathlib.Path(__file__ + '.count')\n" \
        "n = int(count.read_text()) if count.exists() else 0\ncount.write_text(str(n + 1))\n" \
        "if n < {}: os.abort()\nprint('ended', n)"  # fmt: skip
    texts = {"first": "print(1)", "once": ending.format(1), "twice": ending.format(2), "last": ""}
    files = [tmp_path / f"{name}.py" for name in texts]
    for file, text in zip(files, texts.values(), strict=True):
        file.write_text(text)
    status, output, _ = start([RUNNER, "--once-more", 600, *files, "--"], tmp_path, 900)
    ran = re.findall(r"(\w+)\.py: (?:\d+\.\d+ s|ended)", output)
    assert ran == ["first", "once", "once", "twice", "twice", "last"]
    assert status == 1


#: One image is enough for values; the programs have 32.
STORED_IN_BF16 = """
import sys
sys.path.insert(0, sys.argv[1])
import _numpy_check, _program, cnn_training_bf16, cnn_training_f32, sycl_dnn
from _alexnet_head import AlexNetHead
from _functional_head import FunctionalHead
data = cnn_training_f32.inputs("random")
data = data._replace(src=data.src[:1], diff_dst=data.diff_dst[:1])
expected = _numpy_check.alexnet_head(data, cnn_training_bf16.MARGIN)
data = data._replace(diff_dst=data.diff_dst * expected["clear"])
queue = sycl_dnn.default_queue("cpu")
for network in (
    AlexNetHead(queue, data, data_type="bf16", computes="f32"),
    AlexNetHead(queue, data, data_type="bf16", bias_type="bf16", computes="f32"),
    FunctionalHead(queue, data, "bf16"),
):
    network.step()
    _program.compare(network.outputs, expected, cnn_training_bf16.TOLERANCE)
"""


@pytest.mark.slow
def test_bfloat16_storage_on_devices_without_bfloat16_arithmetic(tmp_path):
    status, output, errors = start(["-c", STORED_IN_BF16, EXAMPLES], tmp_path, 300)
    assert status == 0, errors
    assert output.count("results are NumPy's within 0.01") == 3
