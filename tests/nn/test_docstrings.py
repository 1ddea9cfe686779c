# SPDX-License-Identifier: Apache-2.0
"""The examples in the docstrings of modules and optimisers run."""

import doctest
import importlib

import pytest

from sycl_dnn import nn

MODULES = ["containers", "convolution_layers", "init", "linear_layers", "module",
           "normalization_layers", "parameter", "state"]  # fmt: skip


def failures(name):
    module = importlib.import_module(f"sycl_dnn.{name}")
    return doctest.testmod(module)


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_modules_run(name):
    found = failures(f"nn.{name}")
    assert not found.failed


@pytest.mark.parametrize("name", ["averages", "clipping", "optimizer", "update_rules", "schedules"])
def test_examples_of_optimisers_run(name):
    assert not failures(f"optim.{name}").failed


def test_examples_of_files_run():
    assert not failures("io.tree_files").failed


def test_examples_of_layers_run():
    runner = doctest.DocTestRunner()
    for name in nn.__all__:
        for case in doctest.DocTestFinder(recurse=False).find(getattr(nn, name), name):
            runner.run(case)
    assert not runner.failures
    assert runner.tries > 100
