# SPDX-License-Identifier: Apache-2.0
"""The examples in the docstrings of modules and optimisers run."""

import doctest
import importlib
import pkgutil

import pytest

import sycl_dnn
from sycl_dnn import nn


def modules():
    """Yield the files of the layer above the functions."""
    for part in ("nn", "optim", "io", "data", "sklearn"):
        package = importlib.import_module(f"sycl_dnn.{part}")
        for found in pkgutil.walk_packages(package.__path__, f"sycl_dnn.{part}."):
            yield found.name


@pytest.mark.parametrize("name", list(modules()))
def test_examples_of_a_file_run(name):
    sycl_dnn.manual_seed(0)
    assert not doctest.testmod(importlib.import_module(name)).failed


def test_examples_of_layers_run():
    runner = doctest.DocTestRunner()
    for name in nn.__all__:
        for case in doctest.DocTestFinder(recurse=False).find(getattr(nn, name), name):
            runner.run(case)
    assert not runner.failures
    assert runner.tries > 100


def test_optimisers_files_and_data_have_examples():
    from sycl_dnn import data, optim

    for module in (optim, data, nn.utils):
        for name in set(module.__all__) - {"Optimizer"}:
            value = getattr(module, name)
            assert not callable(value) or ">>>" in value.__doc__, name
    for name in ("save", "load", "save_checkpoint", "load_checkpoint", "get_rng_state"):
        assert ">>>" in getattr(sycl_dnn, name).__doc__, name
