# SPDX-License-Identifier: Apache-2.0
"""Stubs of Python modules whose names or signatures are created at run time."""

import ast
import builtins
import inspect
import re
import sys
import textwrap

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


def methods_stub():
    """Return the stub of ``sycl_dnn.graph.methods``."""
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
_SCHEDULED = "float | Callable[[Any], Any]"
_TYPES = {
    "lr": _SCHEDULED, "momentum": _SCHEDULED, "betas": f"tuple[{_SCHEDULED}, {_SCHEDULED}]",
    "decay_mask": "Callable[[str, Any], bool] | None",
    "groups": "Sequence[tuple[Callable[[str], bool], dict[str, Any]]]",
    "max_norm": "float | None", "master_weights": "bool", "adjust_lr_fn": "str | None",
}  # fmt: skip


def _type(name, default):
    if name in _TYPES:
        return _TYPES[name]
    if isinstance(default, tuple):
        return f"tuple[{', '.join(_type('', item) for item in default)}]"
    return "float | None" if default is None else type(default).__name__


def _optimizer(cls):
    """Return the stub of an optimizer: its options after ``lr`` are passed by name."""
    options = list(inspect.signature(cls.__init__).parameters.values())[1:]
    parts = [f"{p.name}: {_type(p.name, p.default)} = {p.default!r}" for p in options]
    inside = ", ".join(["self", parts[0], "*", *parts[1:]])
    return ["", f"class {cls.__name__}(Optimizer):", f"    def __init__({inside}) -> None: ..."]


def optim_stub():
    """Return the stub of ``sycl_dnn.optim``."""
    from sycl_dnn import optim

    lines, classes = [], []
    for name in sorted(optim.__all__):
        member = getattr(optim, name)
        is_rule = isinstance(member, type) and "defaults" in vars(member)
        if is_rule and member is not optim.Optimizer:
            classes += _optimizer(member)
        elif not inspect.ismodule(member):
            lines.append(f"from {member.__module__} import {name} as {name}")
    return "\n".join([_OPTIM, *lines, *classes]) + "\n"


# --- sycl_dnn.functional

_BOTH = "dpnp.ndarray | Array"
_RECURRENT = ("gru", "lstm", "rnn_relu", "rnn_tanh")
_IMPORTS = {
    "Any": "from typing import Any",
    "Callable": "from collections.abc import Callable",
    "Sequence": "from collections.abc import Sequence",
    "dpnp": "import dpnp",
    "np": "import numpy as np",
}
_GENERIC = '''
#: Results are dpnp arrays for dpnp arrays, and ``Array`` for ``Array``.
A = TypeVar("A", bound=dpnp.ndarray | Array)
#: What operands beside the first may be.
Operand: TypeAlias = dpnp.ndarray | Array | Frozen
'''  # fmt: skip


def _class_named(name):
    for module in list(sys.modules.values()):
        result = getattr(module, "__dict__", {}).get(name)
        if isinstance(result, type) and result.__module__.startswith("sycl_dnn"):
            return result
    raise LookupError(name)


def _import_of(name):
    if name in _IMPORTS:
        return _IMPORTS[name]
    return f"from {_class_named(name).__module__} import {name}"


def _overloads(name, signature):
    """Yield the forms of a function as (changed parameters, result)."""
    parameters, result = signature.parameters, str(signature.return_annotation)
    first = next(iter(parameters.values()))
    if not re.search(rf"^(Sequence\[)?{re.escape(_BOTH)}( \| float)?\]?$", str(first.annotation)):
        yield {}, result
        return
    # Two operands that may be numbers determine the result together.
    deciding = [p for p in parameters.values() if str(p.annotation) == str(first.annotation)]
    deciding = deciding if "float" in str(first.annotation) else [first]
    kept = {p.name: str(p.annotation).replace(_BOTH, "A") for p in deciding}
    if "out" in parameters:
        kept["out"] = "A | None"
    generic = result.replace(_BOTH, "A")
    if name in _RECURRENT:
        kept["hx"] = str(parameters["hx"].annotation).replace(_BOTH, "A")
        generic = result.replace("Any", "A")
    if "return_indices" in parameters:
        yield {**kept, "return_indices": "Literal[False] = False"}, "A"
        yield {**kept, "return_indices": "* Literal[True]"}, "tuple[A, dpnp.ndarray]"
        yield {**kept, "return_indices": "bool = False"}, "A | tuple[A, dpnp.ndarray]"
    elif "ValuesAndIndices" in result and parameters["dim"].default is None:
        yield {**kept, "dim": "None = None"}, "A"
        yield {**kept, "dim": "int"}, "ValuesAndIndices"
    elif "dtype" in parameters and generic == "A":
        yield {**kept, "dtype": "None = None"}, "A"
        yield {**kept, "dtype": "Any"}, _BOTH
    else:
        yield kept, generic


def _parameters(signature, changed):
    parts, named = [], False
    for p in signature.parameters.values():
        annotation = str(p.annotation).replace(_BOTH, "Operand") if p.name != "out" else _BOTH
        annotation = annotation if p.name != "out" else f"{_BOTH} | None"
        annotation = annotation.replace("Operand | Frozen", "Operand")
        default = "" if p.default is p.empty else f" = {p.default!r}"
        if p.name in changed:
            annotation, _, rest = changed[p.name].partition(" = ")
            # A form's own parameter has its own default or none; the others keep theirs.
            own = p.name in ("return_indices", "dtype", "dim")
            default = (f" = {rest}" if rest else "") if own else default
        only_named = p.kind is p.KEYWORD_ONLY or annotation.startswith("* ")
        if only_named and not named:
            parts.append("*")
            named = True
        named = named or p.kind is p.VAR_POSITIONAL
        stars = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        parts.append(f"{stars}{p.name}: {annotation.removeprefix('* ')}{default}")
    return parts


def _wrapped(name, parts, result):
    """Return a function on one line, or with its parameters on separate lines, filled."""
    whole = f"def {name}({', '.join(parts)}) -> {result}: ..."
    if len(whole) <= 100:
        return whole
    filled = textwrap.wrap(", ".join(part.replace(" ", "~") for part in parts), 96)
    inside = "\n".join("    " + line.replace("~", " ") for line in filled)
    return f"def {name}(\n{inside}\n) -> {result}: ..."


def functional_stub():
    """Return the stub of ``sycl_dnn.functional``."""
    from sycl_dnn import functional as F

    lines = [f"from sycl_dnn.functional import {part} as {part}" for part in ("fft", "linalg")]
    used = {"Array", "Frozen", "dpnp"}
    for name in sorted(F.__all__):
        function = getattr(F, name)
        if isinstance(function, type):
            lines.append(f"from {function.__module__} import {name} as {name}")
            continue
        signature = inspect.signature(function)
        forms = [
            _wrapped(name, _parameters(signature, changed), result)
            for changed, result in _overloads(name, signature)
        ]
        mark = "@overload\n" if len(forms) > 1 else ""
        lines += [mark + form for form in forms]
        for form in forms:
            used |= {
                node.id
                for node in ast.walk(ast.parse(form))
                if isinstance(node, ast.Name) and node.id not in ("A", "Operand", name)
            }
    predefined = {"Literal", "overload", *vars(builtins)}
    imports = {_import_of(name) for name in used - predefined - set(F.__all__)}
    typing = {"Literal", "TypeAlias", "TypeVar", "overload"} | ({"Any"} & used)
    imports -= {_IMPORTS["Any"]}
    imports.add(f"from typing import {', '.join(sorted(typing))}")
    top = [line for line in lines if line.startswith("from ")]
    rest = [line for line in lines if not line.startswith("from ")]
    return "\n".join([*sorted({*imports, *top}), _GENERIC, *rest]) + "\n"


# --- sycl_dnn


def package_stub():
    """Return the stub of ``sycl_dnn``, whose names are mostly loaded on first use."""
    import sycl_dnn

    lines = []
    for name in sorted(sycl_dnn.__all__):
        if name in sycl_dnn._SUBMODULES:
            module = sycl_dnn._SUBMODULES[name].rpartition(".")[0]
            lines.append(f"from {module} import {name} as {name}")
        elif name in sycl_dnn._LAZY:
            lines.append(f"from {sycl_dnn._LAZY[name]} import {name} as {name}")
        elif not name.startswith("__"):
            lines.append(f"from {getattr(sycl_dnn, name).__module__} import {name} as {name}")
    return "\n".join([*sorted(lines), "", "__version__: str"]) + "\n"


#: Stub -> the function that returns it.
STUBS = {
    "__init__.pyi": package_stub,
    "functional/__init__.pyi": functional_stub,
    "graph/methods.pyi": methods_stub,
    "optim/__init__.pyi": optim_stub,
}
