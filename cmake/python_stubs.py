# SPDX-License-Identifier: Apache-2.0
"""Stubs of Python modules whose names come from tables: ``graph.methods`` and ``optim``.

A build writes them without the package's dependencies: the table of operations imports nothing
else, and the optimizers' options are read from the source.
"""

import ast
import sys
import types

# --- sycl_dnn.graph.methods

_METHODS = """import inspect
from collections.abc import Sequence
from typing import Literal, overload

from sycl_dnn.graph.table import Operation
from sycl_dnn.graph.nodes import Value

def signature_of(row: Operation) -> inspect.Signature: ...
def shared_names(row: Operation) -> set[str]: ...
def docstring_of(row: Operation) -> str: ...

class Operations:
"""


def methods_stub(package):
    """Return the stub of ``sycl_dnn.graph.methods``; ``package`` is the folder of ``sycl_dnn``."""
    graph = types.ModuleType("sycl_dnn.graph")
    graph.__path__ = [str(package / "graph")]
    sys.modules["sycl_dnn.graph"] = graph
    from sycl_dnn.graph import methods, rows

    lines = []
    for row in rows.OPERATIONS.values():
        if row.infer is not None:
            forms = _forms(row, methods.result_of(row))
            mark = "    @overload\n" if len(forms) > 1 else ""
            lines += [mark + _method(row.name, methods.signature_of(row), *f) for f in forms]
    return _METHODS + "\n".join(lines) + "\n"


def _forms(row, usual_result):
    """Return the overloads of a method: the deciding flag, its annotation, the result."""
    sure = [o for o in row.outputs if o.when is None]
    flags = {o.when for o in row.outputs if o.when is not None}
    flag = next((a for a in row.attributes if {a.name} == flags and a.kind == "bool"), None)
    if flag is None:
        return [("", "", usual_result)]
    few = "Value" if len(sure) == 1 else f"tuple[{', '.join(['Value'] * len(sure))}]"
    many = f"tuple[{', '.join(['Value'] * len(row.outputs))}]"
    usual, other = (True, False) if flag.default else (False, True)
    result = {True: many, False: few}
    return [
        (flag.name, f"Literal[{usual}] = {usual}", result[usual]),
        (flag.name, f"Literal[{other}]", result[other]),
        (flag.name, f"bool = {usual}", f"{few} | {many}"),
    ]


def _method(name, signature, flag, annotation, result):
    parts, is_named = [], False
    for p in signature.parameters.values():
        if p.kind is p.KEYWORD_ONLY and not is_named:
            parts.append("*")
            is_named = True
        default = "" if p.default is p.empty else f" = {p.default!r}"
        typed = annotation if p.name == flag else f"{p.annotation}{default}"
        parts.append(p.name if p.name == "self" else f"{p.name}: {typed}")
    return f"    def {name}({', '.join(parts)}) -> {result}: ..."


# --- sycl_dnn.optim

_OPTIM = """from collections.abc import Callable, Sequence
from typing import Any

from sycl_dnn.optim import schedules as schedules
"""
_TYPES = {
    "lr": "float | Callable[[Any], Any]", "decay_mask": "Callable[[str, Any], bool] | None",
    "groups": "Sequence[tuple[Callable[[str], bool], dict[str, Any]]]",
    "max_norm": "float | None", "master_weights": "bool", "adjust_lr_fn": "str | None",
}  # fmt: skip


def _type(name, default):
    if name in _TYPES:
        return _TYPES[name]
    if isinstance(default, tuple):
        return f"tuple[{', '.join(_type('', item) for item in default)}]"
    return "float | None" if default is None else type(default).__name__


def _options(tree):
    """Yield the classes that ``rule`` decorates, with their options and defaults."""
    for node in tree.body:
        for call in getattr(node, "decorator_list", ()):
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "rule":
                named = {k.arg: ast.literal_eval(k.value) for k in call.keywords}
                yield node.name, {"lr": ast.literal_eval(call.args[0])} | named


def optim_stub(package):
    """Return the stub of ``sycl_dnn.optim``; ``package`` is the folder of ``sycl_dnn``."""

    def parsed(name):
        return ast.parse((package / "optim" / f"{name}.py").read_text())

    common = next(
        ast.literal_eval(node.value)
        for node in parsed("rule").body
        if isinstance(node, ast.AnnAssign) and node.target.id == "_COMMON"
    )
    lines, classes = [], []
    for node in parsed("__init__").body:
        if isinstance(node, ast.ImportFrom) and node.module.startswith("sycl_dnn.optim."):
            rules = dict(_options(parsed(node.module.rpartition(".")[2])))
            for name in sorted({alias.name for alias in node.names} - set(rules)):
                lines.append(f"from {node.module} import {name} as {name}")
            for name, options in rules.items():
                parts = [f"{n}: {_type(n, v)} = {v!r}" for n, v in (options | common).items()]
                inside = ", ".join(["self", parts[0], "*", *parts[1:]])
                classes += ["", f"class {name}(Optimizer):"]
                classes.append(f"    def __init__({inside}) -> None: ...")
    return "\n".join([_OPTIM, *lines, *classes]) + "\n"
