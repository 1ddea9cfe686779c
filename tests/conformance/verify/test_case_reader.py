# SPDX-License-Identifier: Apache-2.0
"""The reader of all cases: graphs are files, and oneDNN chooses what they run."""

import subprocess
import sys
from pathlib import Path

from conformance.verify.case_reader import Reader, key_of
from sycl_dnn.tools.cases.case_files import COMMAND_LINE, Word

PROGRAM = Path(__file__).parents[1]


def read(*texts):
    words = [Word(word, COMMAND_LINE) for word in texts]
    (case,) = Reader().cases(words, PROGRAM / "graph")
    return case


def test_implementations_of_graphs_are_not_chosen():
    case = read("--global-skip-impl=jit", "--graph", "--case=op/relu.json")
    assert "skip-impl" not in case.line


def test_data_of_a_graph_depends_on_the_name_of_its_file_only():
    case = read("--graph", "--mb=3", "--case=op/relu.json")
    assert key_of(case) == "--graph --mb=3 relu.json"
    assert key_of(read("--softmax", "2x3")) == "--softmax 2x3"


def test_a_mistyped_command_has_a_suggestion():
    done = subprocess.run([sys.executable, str(PROGRAM), "matix"], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == "there is no command 'matix'; did you mean matrix?\n"
