# SPDX-License-Identifier: Apache-2.0
"""The stubs, which the build writes, say what the package has."""

import ast
import sys
import zlib
from pathlib import Path

import pytest

import sycl_dnn
from sycl_dnn import _core, _location
from sycl_dnn import functional as F
from sycl_dnn import onednn as dnnl

sys.path.append(str(Path(__file__).parents[1] / "cmake"))
import python_stubs

PACKAGE = Path(sycl_dnn.__file__).parent
CORE = PACKAGE / "_core.pyi"


def outline(source):
    """Every public name: functions with their argument names, classes with their members."""
    found = set()

    def visit(node, prefix):
        # The methods of enumerations are Python's own and differ between its versions.
        is_enum = any(ast.unparse(b).startswith("enum.") for b in getattr(node, "bases", ()))
        for child in node.body:
            if isinstance(child, ast.ClassDef):
                found.add(prefix + child.name)
                visit(child, prefix + child.name + ".")
            elif isinstance(child, ast.FunctionDef) and not is_enum:
                provided = child.args
                names = [
                    a.arg for a in (*provided.posonlyargs, *provided.args, *provided.kwonlyargs)
                ]
                found.add(f"{prefix}{child.name}({', '.join(names)})")
            elif isinstance(child, (ast.Assign, ast.AnnAssign)):
                target = getattr(child, "target", None) or child.targets[0]
                found.update({prefix + target.id} - {"__all__"})

    visit(ast.parse(source), "")
    return found


def test_stub_has_what_the_extension_has():
    """The build that linked the extension wrote it; a stale one was left by an older build."""
    assert CORE.exists(), "install again: pip install -e ."
    names = {name.partition("(")[0].partition(".")[0] for name in outline(CORE.read_text())}
    assert {name for name in dir(_core) if not name.startswith("__")} <= names


def test_stub_of_onednn_has_every_public_name():
    names = {
        alias.asname
        for node in ast.walk(ast.parse((PACKAGE / "onednn" / "__init__.pyi").read_text()))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    } | {"PRIMITIVES", "arg", "format_tag"}
    assert set(dnnl.__all__) == names


def test_interface_number_goes_with_the_interface():
    """A stale extension is only recognized if the number is raised with each change."""
    digest = zlib.crc32("\n".join(sorted(outline(CORE.read_text()))).encode())
    assert (_location.INTERFACE, f"{digest:08x}") == (63, "1947c1a2"), (
        "the extension offers something else than before: raise INTERFACE in "
        "sycl_dnn/_location.py, then write both values here"
    )


@pytest.mark.parametrize("name", python_stubs.STUBS)
def test_stub_of_python_module_matches_the_package(name):
    """The build imported the package over a stand-in for dpnp."""
    stub = (PACKAGE / name).read_text()
    assert stub.endswith(python_stubs.STUBS[name]()), "install again: pip install -e ."


def test_package_is_typed():
    assert (PACKAGE / "py.typed").exists()


def test_lazy_names_are_listed():
    assert {"compile", "vjp", "graph", "functional", "onednn"} <= set(dir(sycl_dnn))
    assert set(dir(sycl_dnn)) == set(sycl_dnn.__all__)
    assert all(getattr(sycl_dnn, name) is not None for name in dir(sycl_dnn))


def test_functional_lists_functions_only():
    assert dir(F) == sorted(F.__all__)
