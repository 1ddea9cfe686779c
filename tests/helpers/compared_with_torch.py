# SPDX-License-Identifier: Apache-2.0
"""Which tests compare with PyTorch as it is installed: they have the mark ``torch``.

Tests with some parameters that need it give those the mark themselves.
"""

import functools
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from types import CodeType, FunctionType

IS_INSTALLED = find_spec("torch") is not None
_IN_A_MODULE = '\ntorch = pytest.importorskip("torch")\n'


@functools.cache
def whole_file(path: Path) -> bool:
    """Whether every test of a file needs torch, which the file imports."""
    return path.match("test_*.py") and _IN_A_MODULE in path.read_text(encoding="utf-8")


def needs_torch(test: Callable) -> bool:
    """Whether a test, or a function that it calls by name, imports torch."""
    code, known = test.__code__, test.__globals__
    functions = [v for n in code.co_names if isinstance(v := known.get(n), FunctionType)]
    return _imports(code) or any(_imports(function.__code__) for function in functions)


def _imports(code: CodeType) -> bool:
    return "importorskip" in code.co_names and "torch" in code.co_consts
