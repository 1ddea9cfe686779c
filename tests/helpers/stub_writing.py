# SPDX-License-Identifier: Apache-2.0
"""Write the stubs of the packages whose names are created at run time.

``python tests/helpers/stub_writing.py`` writes all of them; tests/test_stubs.py compares.
"""

import ast
import builtins
import inspect
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import sycl_dnn

PACKAGE = Path(sycl_dnn.__file__).parent
HEADER = "# SPDX-License-Identifier: Apache-2.0\n# Written by tests/helpers/stub_writing.py.\n"

# --- sycl_dnn.functional ---

_BOTH = "dpnp.ndarray | Array"
_RECURRENT = ("gru", "lstm", "rnn_relu", "rnn_tanh")
_IMPORTS = {
    "Any": "from typing import Any",
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


def _forms(name, signature):
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

    lines, used = [], {"Array", "Frozen", "dpnp"}
    for name in sorted(F.__all__):
        function = getattr(F, name)
        if isinstance(function, type):
            lines.append(f"from {function.__module__} import {name} as {name}")
            continue
        signature = inspect.signature(function)
        forms = [
            _wrapped(name, _parameters(signature, changed), result)
            for changed, result in _forms(name, signature)
        ]
        mark = "@overload\n" if len(forms) > 1 else ""
        lines += [mark + form for form in forms]
        for form in forms:
            used |= {
                node.id
                for node in ast.walk(ast.parse(form))
                if isinstance(node, ast.Name) and node.id not in ("A", "Operand", name)
            }
    provided = {"Literal", "overload", *vars(builtins)}
    imports = {_import_of(name) for name in used - provided - set(F.__all__)}
    typing = {"Literal", "TypeAlias", "TypeVar", "overload"} | ({"Any"} & used)
    imports -= {_IMPORTS["Any"]}
    imports.add(f"from typing import {', '.join(sorted(typing))}")
    top = [line for line in lines if line.startswith("from ")]
    rest = [line for line in lines if not line.startswith("from ")]
    return "\n".join([HEADER, *sorted({*imports, *top}), _GENERIC, *rest]) + "\n"


# --- sycl_dnn ---


def package_stub():
    """Return the stub of ``sycl_dnn``, whose names are mostly loaded on first use."""
    lines = []
    for name in sorted(sycl_dnn.__all__):
        if name in sycl_dnn._SUBMODULES:
            module = sycl_dnn._SUBMODULES[name].rpartition(".")[0]
            lines.append(f"from {module} import {name} as {name}")
        elif name in sycl_dnn._LAZY:
            lines.append(f"from {sycl_dnn._LAZY[name]} import {name} as {name}")
        elif not name.startswith("__"):
            lines.append(f"from {getattr(sycl_dnn, name).__module__} import {name} as {name}")
    return "\n".join([HEADER, *sorted(lines), "", "__version__: str"]) + "\n"


#: Stub -> the function that returns it.
STUBS = {
    PACKAGE / "__init__.pyi": package_stub,
    PACKAGE / "functional" / "__init__.pyi": functional_stub,
}


def write():
    """Write all stubs, formatted by ruff."""
    for path, make in STUBS.items():
        path.write_text(make())
    # That of functions is filled here: a formatter would give each parameter a line.
    paths = [str(path) for path in STUBS if path.parent.name != "functional"]
    for command in (["check", "-s", "--fix", "--exit-zero"], ["format", "-q"]):
        subprocess.run([sys.executable, "-m", "ruff", *command, *paths], check=True)


if __name__ == "__main__":
    write()
