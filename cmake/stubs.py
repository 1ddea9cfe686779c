# SPDX-License-Identifier: Apache-2.0
"""Write the stubs of the extension and of modules whose names it or tables define.

Done by each build, which has just linked the extension and may lack dpnp.
Usage: ``stubs.py EXTENSION PACKAGE_FOLDER OUTPUT_FOLDER``.
"""

import ast
import copy
import keyword
import re
import sys
from pathlib import Path

import pybind11_stubgen
import python_stubs
import without_dpnp

HEADER = "# SPDX-License-Identifier: Apache-2.0\n# Written by cmake/stubs.py.\n"

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
_PLAIN |= {"set": "set[typing.Any]", "tuple": "tuple[typing.Any, ...]"}


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
    annotations = _OBJECTS.get((owner, node.name), {})
    defaults = [None] * (len(every) - len(args.defaults) - len(args.kw_defaults))
    defaults += [*args.defaults, *args.kw_defaults]
    for arg, default in zip(every, defaults, strict=True):
        if arg.annotation is None:
            continue
        if arg.arg in annotations:
            arg.annotation = _expression(annotations[arg.arg])
        text = ast.unparse(arg.annotation)
        is_none = isinstance(default, ast.Constant) and default.value is None
        if is_none and "None" not in text and text != "typing.Any":
            arg.annotation = _expression(f"{text} | None")
    if "return" in annotations:
        node.returns = _expression(annotations["return"])
    if node.name == "__eq__":
        node.returns = _expression("bool")
        every[-1].annotation = _expression("object")
    for part in (*every, node):
        name = "returns" if part is node else "annotation"
        annotation = getattr(part, name)
        if annotation is None:
            continue
        plain = _PLAIN.get(ast.unparse(annotation))
        setattr(part, name, _expression(plain) if plain else _Qualified(hidden).visit(annotation))


def _overloads(node):
    """Return both forms of a function for a descriptor: ``allow_empty`` may return None."""
    copied = copy.deepcopy(node)
    for form, value in ((node, "False"), (copied, "True")):
        form.decorator_list = [_expression("typing.overload")]
        arg = form.args.kwonlyargs[-1]
        arg.annotation = _expression(f"typing.Literal[{value}]")
    copied.args.kw_defaults[-1] = None
    node.returns = _expression("PrimitiveDesc")
    copied.returns = _expression("PrimitiveDesc | None")
    return [node, copied]


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
    for numbers, plain in _NUMBERS.items():
        text = text.replace(numbers, plain)
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
    stub = ast.unparse(ast.fix_missing_locations(tree)).replace("tuple[Any, ...]", "tuple")
    imports = "import collections.abc\nimport dpctl\nfrom sycl_dnn import _core\n"
    stub = stub.replace("import collections.abc\n", imports, 1)
    return stub + "\n"


def generated(folder):
    """Return pybind11-stubgen's stub of the loaded extension."""
    options = ["--ignore-all-errors", "--enum-class-locations", ".*:sycl_dnn._core"]
    pybind11_stubgen.main(["sycl_dnn._core", "-o", str(folder), *options])
    return (folder / "sycl_dnn" / "_core.pyi").read_text()


def onednn_stub(core, source):
    """Return the stub of ``sycl_dnn.onednn``, with the names that its Python files add."""
    own, public = {}, {n for n in dir(core) if n[0].islower()}
    for node in ast.parse(source).body:
        if isinstance(node, ast.ImportFrom) and node.module.startswith("sycl_dnn.onednn."):
            own.update({alias.name: node.module for alias in node.names})
        elif isinstance(node, ast.Assign) and node.targets[0].id == "__all__":
            public |= {e.value for e in node.value.elts if isinstance(e, ast.Constant)}
    lines = ["import enum"]
    lines += [
        f"from {own.get(name, 'sycl_dnn._core')} import {name} as {name}"
        for name in sorted(public - {"PRIMITIVES", "arg", "format_tag"})
    ]
    lines += ["", "PRIMITIVES: tuple[str, ...]"]
    for name, members in (("arg", core.ARGUMENTS), ("format_tag", core.format_tags())):
        lines += ["", f"class {name}(enum.IntEnum):"]
        lines += [
            f"    {member} = {int(value)}"
            for member, value in dict(members).items()
            if member.isidentifier() and not keyword.iskeyword(member)
        ]
    return "\n".join([HEADER, *lines]) + "\n"


def main():
    """Write all stubs."""
    extension, package, output = map(Path, sys.argv[1:])
    core = without_dpnp.import_package(extension, package)
    source = (package / "onednn" / "__init__.py").read_text()
    stubs = {
        "_core.pyi": core_stub(generated(output / "generated")),
        "onednn/__init__.pyi": onednn_stub(core, source),
    }
    for name, write in python_stubs.STUBS.items():
        stubs[name] = HEADER + write()
    for name, text in stubs.items():
        (output / name).parent.mkdir(parents=True, exist_ok=True)
        (output / name).write_text(text)


if __name__ == "__main__":
    main()
