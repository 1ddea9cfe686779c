# SPDX-License-Identifier: Apache-2.0
"""PyTorch where it is installed, and which tests compare with it: they have the mark ``torch``.

Tests with some parameters that need it give those the mark themselves.
"""

import functools
import importlib
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from types import CodeType, FunctionType

IS_INSTALLED = find_spec("torch") is not None
#: For tests to import; tests are deselected if it is None.
torch = importlib.import_module("torch") if IS_INSTALLED else None


def whole_file(path: Path) -> bool:
    """Whether a file of tests is nothing without torch: it looks for it before all else."""
    needs = '\ntorch = pytest.importorskip("torch")\n'
    return path.match("test_*.py") and needs in path.read_text(encoding="utf-8")


@functools.cache
def needs_torch(test: Callable) -> bool:
    """Whether a test, or a function of the tests that it calls by name, uses torch."""
    waiting, seen = [test], set()
    while waiting:
        function = waiting.pop()
        seen.add(function)
        known, names = function.__globals__, set()
        for code in _codes(function.__code__):
            if "importorskip" in code.co_names and "torch" in code.co_consts:
                return True
            names |= set(code.co_names)
        # Not names of this package that are imported as ``torch``.
        if "torch" in names and "torch" in known and known["torch"] is torch:
            return True
        called = (inner for name in names for inner in _of_tests(known.get(name)))
        waiting += (inner for inner in called if inner not in seen)
    return False


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _codes(inner)


def _of_tests(value: object) -> Iterator[Callable]:
    """Yield a function, or the methods of a class, unless it is the package's."""
    if str(getattr(value, "__module__", "sycl_dnn")).startswith("sycl_dnn"):
        return
    members = vars(value).values() if isinstance(value, type) else [value]
    yield from (member for member in members if isinstance(member, FunctionType))
