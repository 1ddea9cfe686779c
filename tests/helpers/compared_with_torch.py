# SPDX-License-Identifier: Apache-2.0
"""Which tests compare with PyTorch as it is installed: without it they are not collected."""

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

IS_INSTALLED = find_spec("torch") is not None
_IN_A_MODULE = '\ntorch = pytest.importorskip("torch")\n'


def whole_file(path: Path) -> bool:
    """Whether every test of a file needs torch, which the file imports."""
    return path.match("test_*.py") and _IN_A_MODULE in path.read_text(encoding="utf-8")


def needs_torch(test: Callable, parameters: dict[str, Any]) -> bool:
    """Whether a test, a function that it calls by name, or one it is given imports torch."""
    code, known = test.__code__, test.__globals__
    called = [known.get(name) for name in code.co_names]
    functions = [v for v in (*called, *parameters.values()) if isinstance(v, FunctionType)]
    return _imports(code) or any(_imports(function.__code__) for function in functions)


def _imports(code: CodeType) -> bool:
    return "importorskip" in code.co_names and "torch" in code.co_consts
