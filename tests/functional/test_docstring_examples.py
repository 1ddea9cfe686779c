# SPDX-License-Identifier: Apache-2.0
"""Every function has an example in its docstring, and it runs; parameters are entries."""

import doctest
import inspect
import re

import pytest

from sycl_dnn import functional as F
from sycl_dnn.functional import docstring_examples

FUNCTIONS = {name: getattr(F, name) for name in F.__all__} | {
    f"{part}.{name}": getattr(getattr(F, part), name)
    for part in ("fft", "linalg")
    for name in getattr(F, part).__all__
}


@pytest.mark.parametrize("module", [F, F.fft, F.linalg], ids=["functional", "fft", "linalg"])
def test_every_function_has_an_example(module):
    assert set(docstring_examples.read(module.__file__)) == set(module.__all__)


@pytest.mark.sweep(32)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_example_runs(name):
    (case,) = doctest.DocTestFinder(recurse=False).find(FUNCTIONS[name], name)
    assert len(case.examples) >= 3
    lines: list[str] = []
    assert not doctest.DocTestRunner().run(case, out=lines.append).failed, "".join(lines)


def test_parameter_sections_start_with_an_entry():
    for name, function in FUNCTIONS.items():
        found = re.search(r"^Parameters\n-+\n(.*)", inspect.getdoc(function), re.MULTILINE)
        assert not found or re.match(r"\*{0,2}\w+(, \*{0,2}\w+)*( : |$)", found[1]), name
