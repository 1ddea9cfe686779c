# SPDX-License-Identifier: Apache-2.0
"""Write the stubs of the extension, and of the packages whose names are created at run time.

``python tests/helpers/stub_writing.py`` writes all of them; tests/test_stubs.py compares.
"""

import ast
import builtins
import copy
import inspect
import re
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import sycl_dnn

PACKAGE = Path(sycl_dnn.__file__).parent
CORE = PACKAGE / "_core.pyi"
HEADER = "# SPDX-License-Identifier: Apache-2.0\n# Written by tests/helpers/stub_writing.py.\n"

# --- the extension ---

#: What pybind11 writes for the numbers and lists that its casters accept.
_NUMBERS = {
    "typing.SupportsInt | typing.SupportsIndex": "int",
    "typing.SupportsFloat | typing.SupportsIndex": "float",
}
_EVENTS = "collections.abc.Sequence[dpctl.SyclEvent]"
#: What pybind11 calls "object": (class, function) -> annotations of arguments and result.
_OBJECTS = {
    ("Engine", "__init__"): {"queue": "dpctl.SyclQueue | dpctl.SyclDevice | engine_kind | str"},
    ("Engine", "sycl_queue"): {"return": "dpctl.SyclQueue"},
    ("Engine", "sycl_device"): {"return": "dpctl.SyclDevice"},
    ("Engine", "sycl_context"): {"return": "dpctl.SyclContext"},
    ("Stream", "__init__"): {"queue": "dpctl.SyclQueue | None"},
    ("Stream", "wait"): {"depends": _EVENTS},
    ("Stream", "sycl_queue"): {"return": "dpctl.SyclQueue"},
    ("Memory", "zero"): {"depends": _EVENTS, "return": "dpctl.SyclEvent"},
    ("Memory", "engine"): {"return": "Engine"},
    ("PrimitiveDesc", "flags"): {"return": "normalization_flags | rnn_flags"},
    ("PrimitiveDesc", "parameters"): {"return": "dict[str, typing.Any]"},
    ("Primitive", "execute"): {
        "args": "collections.abc.Mapping[typing.Any, Memory]",
        "depends": _EVENTS,
        "return": "dpctl.SyclEvent",
    },
    ("Primitive", "arguments"): {"return": "dict[str, dict[str, typing.Any]]"},
    ("CompiledPartition", "execute"): {"depends": _EVENTS, "return": "dpctl.SyclEvent"},
    ("LogicalTensor", "dims"): {"return": "tuple[int, ...]"},
    ("LogicalTensor", "strides"): {"return": "tuple[int, ...]"},
    ("CompiledPartition", "partition"): {"return": "Partition"},
    ("Kernel", "program_binary"): {"queue": "dpctl.SyclQueue"},
    ("Kernel", "program_of_binary"): {"queue": "dpctl.SyclQueue"},
    (None, "version"): {"return": "dict[str, typing.Any]"},
}
_PLAIN = {"dict": "dict[str, typing.Any]", "list": "list[typing.Any]"}
_PLAIN |= {"tuple": "tuple[typing.Any, ...]"}


def generate_core(folder):
    """Return pybind11-stubgen's stub of the extension, written into ``folder``."""
    command = [sys.executable, "-m", "pybind11_stubgen", "sycl_dnn._core", "-o", str(folder)]
    command += ["--ignore-all-errors", "--enum-class-locations", ".*:sycl_dnn._core"]
    subprocess.run(command, check=True, capture_output=True)
    return (folder / "sycl_dnn" / "_core.pyi").read_text()


def _expression(text):
    return ast.parse(text, mode="eval").body


class _Qualified(ast.NodeTransformer):
    """Qualifies names of module-level classes that are hidden by a member of the class."""

    def __init__(self, hidden):
        self.hidden = hidden

    def visit_Name(self, node):
        return _expression(f"_core.{node.id}") if node.id in self.hidden else node


def _members(cls):
    for node in cls.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.AnnAssign):
            yield node.target.id


def _improved(node, owner=None, hidden=()):
    """Correct the annotations of one function."""
    args = node.args
    every = [*args.posonlyargs, *args.args, *args.kwonlyargs]
    known = _OBJECTS.get((owner, node.name), {})
    defaults = [None] * (len(every) - len(args.defaults) - len(args.kw_defaults))
    defaults += [*args.defaults, *args.kw_defaults]
    for arg, default in zip(every, defaults, strict=True):
        if arg.annotation is None:
            continue
        if arg.arg in known:
            arg.annotation = _expression(known[arg.arg])
        text = ast.unparse(arg.annotation)
        is_none = isinstance(default, ast.Constant) and default.value is None
        if is_none and "None" not in text and text != "typing.Any":
            arg.annotation = _expression(f"{text} | None")
    if "return" in known:
        node.returns = _expression(known["return"])
    if node.name == "__eq__":
        node.returns = _expression("bool")
        every[-1].annotation = _expression("object")
    for part in (*every, node):
        name = "returns" if part is node else "annotation"
        found = getattr(part, name)
        if found is None:
            continue
        plain = _PLAIN.get(ast.unparse(found))
        setattr(part, name, _expression(plain) if plain else _Qualified(hidden).visit(found))


def _overloads(node):
    """Return both forms of a function for a descriptor: ``allow_empty`` may return None."""
    made = copy.deepcopy(node)
    for form, value in ((node, "False"), (made, "True")):
        form.decorator_list = [_expression("typing.overload")]
        arg = form.args.kwonlyargs[-1]
        arg.annotation = _expression(f"typing.Literal[{value}]")
    made.args.kw_defaults[-1] = None
    node.returns = _expression("PrimitiveDesc")
    made.returns = _expression("PrimitiveDesc | None")
    return [node, made]


def _enumeration(cls):
    """Write members as members: those with an annotation are attributes."""
    body = []
    for node in cls.body:
        if isinstance(node, ast.AnnAssign):
            body.append(ast.parse(f"{node.target.id} = ...").body[0])
        elif isinstance(node, ast.FunctionDef) and node.name in ("__new__", "__format__"):
            continue
        else:
            body.append(node)
    cls.body = body


def core_stub(text):
    """Return the stub of the extension with types in place of those that pybind11 writes."""
    for given, plain in _NUMBERS.items():
        text = text.replace(given, plain)
    tree = ast.parse(re.sub(r"tuple\[\.\.\., tuple\[type, \.\.\.\]\]", "tuple[Any, ...]", text))
    classes = {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
    body = []
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            if any(ast.unparse(b).startswith("enum.") for b in node.bases):
                _enumeration(node)
            hidden = classes & set(_members(node))
            for child in node.body:
                if isinstance(child, ast.FunctionDef):
                    _improved(child, node.name, hidden)
        elif isinstance(node, ast.FunctionDef):
            _improved(node)
            if [a.arg for a in node.args.kwonlyargs[-1:]] == ["allow_empty"]:
                body += _overloads(node)
                continue
        elif isinstance(node, ast.AnnAssign) and node.target.id in ("ARGUMENTS", "ROWS"):
            kinds = {"ARGUMENTS": "dict[str, int]", "ROWS": "dict[str, tuple[str, str]]"}
            node.annotation, node.value = _expression(kinds[node.target.id]), None
        body.append(node)
    tree.body = body
    made = ast.unparse(ast.fix_missing_locations(tree)).replace("tuple[Any, ...]", "tuple")
    imports = "import collections.abc\nimport dpctl\nfrom sycl_dnn import _core\n"
    made = made.replace("import collections.abc\n", imports, 1)
    return made + "\n"


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
        found = getattr(module, "__dict__", {}).get(name)
        if isinstance(found, type) and found.__module__.startswith("sycl_dnn"):
            return found
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
    given = {"Literal", "overload", *vars(builtins)}
    imports = {_import_of(name) for name in used - given - set(F.__all__)}
    typing = {"Literal", "TypeAlias", "TypeVar", "overload"} | ({"Any"} & used)
    imports -= {_IMPORTS["Any"]}
    imports.add(f"from typing import {', '.join(sorted(typing))}")
    top = [line for line in lines if line.startswith("from ")]
    rest = [line for line in lines if not line.startswith("from ")]
    return "\n".join([HEADER, *sorted({*imports, *top}), _GENERIC, *rest]) + "\n"


# --- sycl_dnn and sycl_dnn.onednn ---


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


def onednn_stub():
    """Return the stub of ``sycl_dnn.onednn``."""
    from sycl_dnn import _core
    from sycl_dnn import onednn as dnnl

    made = {"arg", "format_tag", "PRIMITIVES"}
    homes = {n: str(getattr(getattr(dnnl, n), "__module__", "")) for n in dnnl.__all__}
    own = sorted(n for n, home in homes.items() if home.startswith("sycl_dnn.onednn."))
    taken = sorted(n for n in dnnl.__all__ if n not in {*own, *made})
    assert all(hasattr(_core, n) for n in taken), set(taken) - set(dir(_core))
    lines = ["import enum"]
    lines += [f"from sycl_dnn._core import {n} as {n}" for n in taken]
    for name in own:
        lines.append(f"from {getattr(dnnl, name).__module__} import {name} as {name}")
    lines += ["", "PRIMITIVES: tuple[str, ...]"]
    for enumeration in (dnnl.arg, dnnl.format_tag):
        lines += ["", f"class {enumeration.__name__}(enum.IntEnum):"]
        lines += [
            f"    {name} = {int(member)}"
            for name, member in enumeration.__members__.items()
            if name.isidentifier() and name != "from"
        ]
    return "\n".join([HEADER, *lines]) + "\n"


# --- sycl_dnn.optim, whose optimisers get their options from a table ---

_OPTIONS = {
    "lr": "float | Callable[[Any], Any]", "decay_mask": "Callable[[str, Any], bool] | None",
    "groups": "Sequence[tuple[Callable[[str], bool], dict[str, Any]]]",
    "max_norm": "float | None", "master_weights": "bool", "adjust_lr_fn": "str | None",
}  # fmt: skip


def _option_type(name, default):
    """Return the type of an option of an optimiser."""
    if name in _OPTIONS:
        return _OPTIONS[name]
    if isinstance(default, tuple):
        return f"tuple[{', '.join(_option_type('', item) for item in default)}]"
    return "float | None" if default is None else type(default).__name__


def optim_stub():
    """Return the stub of ``sycl_dnn.optim``."""
    from sycl_dnn import optim

    lines = ["from collections.abc import Callable, Sequence", "from typing import Any"]
    lines.append("from sycl_dnn.optim import schedules as schedules")
    names = sorted(set(optim.__all__) - {"schedules"})
    rules = [n for n in names if getattr(getattr(optim, n), "defaults", None)]
    for name in sorted(set(names) - set(rules)):
        lines.append(f"from {getattr(optim, name).__module__} import {name} as {name}")
    for name in rules:
        kind = getattr(optim, name)
        signature = inspect.signature(kind.__init__)
        typed = [
            p.replace(annotation=_option_type(p.name, p.default))
            for p in list(signature.parameters.values())[1:]
        ]
        parts = [f"{p.name}: {p.annotation} = {p.default!r}" for p in typed]
        inside = ", ".join(["self", parts[0], "*", *parts[1:]])
        lines += ["", f"class {name}(Optimizer):", f"    def __init__({inside}) -> None: ..."]
    return "\n".join([HEADER, *lines]) + "\n"


#: Stub -> the function that returns it.
STUBS = {
    PACKAGE / "__init__.pyi": package_stub,
    PACKAGE / "onednn" / "__init__.pyi": onednn_stub,
    PACKAGE / "functional" / "__init__.pyi": functional_stub,
    PACKAGE / "optim" / "__init__.pyi": optim_stub,
}


def write():
    """Write all stubs, those of Python modules formatted by ruff."""
    with tempfile.TemporaryDirectory() as folder:
        CORE.write_text(core_stub(generate_core(Path(folder))))
    for path, make in STUBS.items():
        path.write_text(make())
    # That of functions is filled here: a formatter would give each parameter a line.
    paths = [str(path) for path in STUBS if path.parent.name != "functional"]
    for command in (["check", "-s", "--fix", "--exit-zero"], ["format", "-q"]):
        subprocess.run([sys.executable, "-m", "ruff", *command, *paths], check=True)


if __name__ == "__main__":
    write()
