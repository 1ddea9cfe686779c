# SPDX-License-Identifier: Apache-2.0
"""The examples in docstrings run, and every public name of the package and of ``nn`` has one."""

import doctest
import importlib
import inspect
import pkgutil

import pytest

import sycl_dnn
from sycl_dnn import distributed, graph, nn

PARTS = (
    "call", "compiler", "data", "distributed", "graph", "io", "nn", "optim", "sklearn", "trace",
    "tree",
)  # fmt: skip
#: Exceptions, and results of calls, which users do not create themselves.
RESULTS = {
    "Accuracy", "BoundCall", "BoundPlan", "Compiled", "CompiledCall", "Frozen", "Part", "Profile",
    "Pullback", "Record", "Report", "Summary", "TensorFacts",
}  # fmt: skip


def modules():
    """Yield the files whose docstrings have examples, but those of functions."""
    for part in PARTS:
        package = importlib.import_module(f"sycl_dnn.{part}")
        yield package.__name__
        for found in pkgutil.walk_packages(getattr(package, "__path__", ()), f"sycl_dnn.{part}."):
            yield found.name


def is_exception(value):
    return isinstance(value, type) and issubclass(value, Exception)


def callables(module):
    """Yield what users call: neither errors nor results."""
    for name in set(module.__all__) - RESULTS:
        value = getattr(module, name)
        if callable(value) and not is_exception(value):
            yield name, value


def run_examples(module):
    runner = doctest.DocTestRunner()
    for name, value in callables(module):
        for case in doctest.DocTestFinder(recurse=False).find(value, name):
            runner.run(case)
    assert not runner.failures
    return runner.tries


@pytest.mark.sweep(8)
@pytest.mark.parametrize("name", list(modules()))
def test_examples_of_a_file_run(name):
    sycl_dnn.manual_seed(0)
    assert not doctest.testmod(importlib.import_module(name)).failed


@pytest.mark.slow
@pytest.mark.parametrize(("module", "least"), [(nn, 300), (sycl_dnn, 100)])
def test_examples_of_layers_and_of_the_package_run(module, least):
    assert run_examples(module) > least


@pytest.mark.parametrize("module", [sycl_dnn, nn, distributed, sycl_dnn.tree])
def test_every_public_callable_has_an_example(module):
    described = {name: inspect.getdoc(value) or "" for name, value in callables(module)}
    assert sorted(name for name, text in described.items() if ">>>" not in text) == []


def test_results_are_named_in_the_package_and_are_types():
    assert set(sycl_dnn.__all__) >= RESULTS
    assert all(isinstance(getattr(sycl_dnn, name), type) for name in RESULTS)


def test_optimizers_files_and_data_have_examples():
    from sycl_dnn import data, optim

    for module in (optim, data, nn.utils):
        for name in set(module.__all__) - {"Optimizer"}:
            value = getattr(module, name)
            assert not callable(value) or ">>>" in value.__doc__, name


def test_graph_builders_have_examples():
    for value in (graph.Graph, graph.CompiledGraph, graph.Tensor, graph.Value):
        assert ">>>" in value.__doc__, value


def of_torch():
    """Yield the public functions of files with torch's names that have parameters."""
    for name in modules():
        is_listed = not name.endswith("_docstrings") and "distributions" not in name
        if name.startswith("sycl_dnn.nn.torch_") and is_listed:
            module = importlib.import_module(name)
            for key, value in vars(module).items():
                is_own = inspect.isfunction(value) and value.__module__ == name
                if is_own and not key.startswith("_") and inspect.signature(value).parameters:
                    yield f"{name}.{key}", value


#: Helpers of the package, and functions that do nothing or call others of the package.
UNDESCRIBED = {
    "autocast", "compile", "cosine_sum", "default_convert", "eye_like", "load",
    "once_differentiable", "permutation", "save", "sdpa_kernel", "set_default_dtype",
    "set_float32_matmul_precision", "set_printoptions", "stack_module_state", "Variable", "vmap",
}  # fmt: skip


def test_functions_with_names_of_torch_say_what_they_take():
    for name, function in of_torch():
        text = inspect.getdoc(function) or ""
        assert ": Any\n" not in text, name
        assert "\nParameters\n---" in text or name.rpartition(".")[2] in UNDESCRIBED, name
