# SPDX-License-Identifier: Apache-2.0
"""The committed stub of the extension says what the extension has."""

import ast
import subprocess
import sys
import zlib
from pathlib import Path

import sycl_dnn
from sycl_dnn import _location

STUB = Path(sycl_dnn.__file__).parent / "_core.pyi"


def generate(folder):
    """Write a fresh stub into ``folder`` and return its text."""
    command = [sys.executable, "-m", "pybind11_stubgen", "sycl_dnn._core", "-o", str(folder)]
    command += ["--ignore-all-errors", "--enum-class-locations", ".*:sycl_dnn._core"]
    subprocess.run(command, check=True, capture_output=True)
    return (folder / "sycl_dnn" / "_core.pyi").read_text()


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
                given = child.args
                names = [a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
                found.add(f"{prefix}{child.name}({', '.join(names)})")
            elif isinstance(child, ast.AnnAssign) and child.target.id != "__all__":
                found.add(prefix + child.target.id)

    visit(ast.parse(source), "")
    return found


def test_stub_is_in_step(tmp_path):
    """Names are compared, not text: the generator's wording depends on the Python version."""
    missing = outline(generate(tmp_path)) ^ outline(STUB.read_text())
    assert not missing, "the stub is out of step; type: python tests/test_stubs.py"


def test_interface_number_goes_with_the_interface():
    """A stale extension is only recognised if the number is raised with each change."""
    digest = zlib.crc32("\n".join(sorted(outline(STUB.read_text()))).encode())
    assert (_location.INTERFACE, f"{digest:08x}") == (9, "ebfd3180"), (
        "the extension offers something else than before: raise INTERFACE in "
        "sycl_dnn/_location.py, then write both values here"
    )


def test_package_is_typed():
    assert (STUB.parent / "py.typed").exists()


if __name__ == "__main__":
    import tempfile

    STUB.write_text(generate(Path(tempfile.mkdtemp())))
