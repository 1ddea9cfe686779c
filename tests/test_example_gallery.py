# SPDX-License-Identifier: Apache-2.0
"""The gallery of examples: what it shows is there, and notebooks run."""

import ast
import json

import example_gallery
import pytest
from run_examples import start

SHOWN = sorted(example_gallery.SHOWN)
MAGIC = "%%writefile "


def code_of(name):
    """The text of each code cell, after a round trip through the file's format."""
    cells = json.loads(json.dumps(example_gallery.notebook(name)))["cells"]
    return [cell["source"] for cell in cells if cell["cell_type"] == "code"]


@pytest.mark.parametrize("name", SHOWN)
def test_notebook_has_every_statement_of_its_example_once(name):
    own = [text for text in code_of(name) if not text.startswith(MAGIC)]
    *texts, run, picture = own
    _, tree = example_gallery.parsed(name)
    statements = [ast.dump(node) for node in tree.body[1:-1]]
    assert [ast.dump(node) for text in texts for node in ast.parse(text).body] == statements
    assert [ast.dump(n) for n in ast.parse(run).body[2:]] == [
        ast.dump(n) for n in tree.body[-1].body
    ]
    assert "__file__" not in "".join(texts)
    assert example_gallery.SHOWN[name][1] in picture


@pytest.mark.slow
@pytest.mark.parametrize("name", ["train_digits_nn", "vae"])
def test_notebook_runs_in_an_empty_folder(name, tmp_path):
    *cells, _ = code_of(name)
    for cell in cells:
        if cell.startswith(MAGIC):
            head, _, text = cell.partition("\n")
            (tmp_path / head.removeprefix(MAGIC)).write_text(text)
    own = "\n".join(cell for cell in cells if not cell.startswith(MAGIC))
    options = f'sys.argv = ["{name}"'
    assert options in own
    (tmp_path / "cells.py").write_text(
        own.replace(options, options + ', "--steps", "3", "--no-check", "--device", "cpu"')
    )
    status, output, errors = start(["cells.py"], tmp_path, 300)
    assert status == 0, output + errors
    assert (tmp_path / "out" / f"{name}_loss.png").exists()


def test_output_has_no_progress_bars():
    output = "device: opencl:cpu:0\ntraining:   0%\rtraining: 100%\nloss 1 to 2\n\nvae: passed\n"
    assert example_gallery.last_lines(output) == ["loss 1 to 2", "vae: passed"]
