# SPDX-License-Identifier: Apache-2.0
"""docs/architecture.md holds: imports and includes point down, a file is one topic of one name."""

import ast
import functools
import re
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "sycl_dnn"
SOURCES = ROOT / "csrc"
PAGE = (ROOT / "docs" / "architecture.md").read_text()
#: Words for places or quantities rather than things.
VAGUE = {
    "chains", "common", "elsewhere", "ends", "frames", "hints", "instead", "misc", "noted", "ones",
    "parts", "pieces", "places", "staying", "utils",
}  # fmt: skip
#: Folders of tests that belong to no folder of the package.
OTHER_TESTS = {
    "conformance",
    "differential",
    "endurance",
    "fuzz",
    "gpu",
    "gpu_layer",
    "helpers",
    "simulated_level_zero",
    "two_gpus",
    "typed",
}


def _name(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


PATHS = {_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


@functools.cache
def _trees():
    return {name: ast.parse(path.read_text()) for name, path in PATHS.items()}


def _order(of):
    """Return the rank of each name in a list of the page; 0 is the lowest."""
    block = PAGE.split(f"<!-- order of {of} -->")[1].split("\n\n")[1]
    lines = [re.findall(r"\w+", line) for line in block.splitlines()]
    return {word: rank for rank, line in enumerate(reversed(lines)) for word in line}


RANKS = _order("imports")


def _rank(module):
    parts = module.split(".")
    return RANKS[parts[1] if len(parts) > 1 else "__init__"]


@functools.cache
def _imports():
    """Return the imports of each module, and whether they run at import time."""
    return {module: list(_imported(tree, module)) for module, tree in _trees().items()}


def _imported(tree, module):
    at_import = {
        id(node)
        for statement in tree.body
        if not isinstance(statement, ast.FunctionDef | ast.ClassDef | ast.If)
        for node in ast.walk(statement)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            # The package itself is there whatever is imported.
            names = [alias.name for alias in node.names if alias.name != "sycl_dnn"]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = module.split(".")
                is_package = PATHS[module].name == "__init__.py"
                parts = parts[: len(parts) - node.level + is_package]
                base = ".".join([*parts, *([node.module] if node.module else [])])
            names = [f"{base}.{alias.name}" for alias in node.names]
            names = [n if n in PATHS or n == "sycl_dnn._core" else base for n in names]
        else:
            continue
        for name in names:
            if name.split(".")[0] == "sycl_dnn":
                yield name, id(node) in at_import


def test_imports_point_down():
    upwards = [
        f"{module} imports {name}, which stands above it"
        for module, imported in _imports().items()
        for name, _ in imported
        if _rank(name) > _rank(module)
    ]
    assert upwards == []


def test_the_package_needs_nothing_of_the_tests():
    theirs = OTHER_TESTS | {path.stem for path in (ROOT / "tests" / "helpers").glob("*")}
    roots = {
        name.split(".")[0]: module
        for module, tree in _trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom) and not getattr(node, "level", 0)
        for name in [getattr(node, "module", None) or node.names[0].name]
    }
    assert not {n: m for n, m in roots.items() if n in theirs - sys.stdlib_module_names}


def test_imports_have_no_cycles():
    arrows = {
        module: {name for name, is_early in imported if is_early and name in PATHS}
        for module, imported in _imports().items()
    }
    done = set()

    def visit(module, path):
        assert module not in path, " > ".join([*path[path.index(module) :], module])
        if module not in done:
            for name in arrows[module] - {module}:
                visit(name, [*path, module])
            done.add(module)

    for module in PATHS:
        visit(module, [])


def test_circles_of_late_imports_are_few():
    arrows = {
        module: {name for name, _ in imported if name in PATHS} - {module}
        for module, imported in _imports().items()
    }
    in_circles = Counter()
    for module in PATHS:
        reached, open_ends = set(), [module]
        while open_ends:
            new = arrows[open_ends.pop()] - reached
            reached |= new
            open_ends += new
        in_circles[module.split(".")[1] if "." in module else module] += module in reached
    assert +in_circles <= Counter(trace=12, graph=8, nn=2, onednn=1, errors=1)


def test_every_part_has_its_place_in_the_order():
    parts = {module.split(".")[1] for module in PATHS if "." in module}
    assert parts <= set(RANKS), parts - set(RANKS)
    assert set(RANKS) - parts <= {"__init__", "_core"}


@pytest.fixture(scope="module")
def sources():
    """The files of the extension by their path below csrc/, which an installed package lacks."""
    if not SOURCES.exists():
        pytest.skip("the sources of the extension are not here")
    return {path.relative_to(SOURCES): path.read_text() for path in SOURCES.rglob("*.?pp")}


def test_includes_point_down(sources):
    order = _order("includes")
    folders = {path: path.parent.name or "csrc" for path in sources}
    assert set(folders.values()) == set(order)
    wrong = []
    for path, text in sources.items():
        for name in map(Path, re.findall(r'#include "(.+)"', text)):
            if name not in sources:
                assert name.suffix == ".inc" or name.parts[0] in ("dpctl", "syclinterface"), name
            elif folders[name] != folders[path] and order[folders[name]] >= order[folders[path]]:
                wrong.append((path.as_posix(), folders[name]))
    # It describes what ran: primitives, kernels, partitions.
    described = {("profile/profile_run.cpp", name) for name in ("primitives", "program", "graph")}
    assert set(wrong) == described


def test_a_file_is_one_topic():
    sizes = {name: len(path.read_text().splitlines()) for name, path in PATHS.items()}
    assert not {name: size for name, size in sizes.items() if size > 500}


def test_a_source_of_the_extension_is_one_topic(sources):
    assert not {path for path, text in sources.items() if text.count("\n") > 500}
    assert not [name for name, n in Counter(path.name for path in sources).items() if n > 1]


def test_every_folder_is_on_the_page():
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    folders |= {path.parent.name for path in (ROOT / "tests").glob("*/*.py")}
    assert not {folder for folder in folders if f"`{folder}`" not in PAGE}


def test_file_names_are_unique_and_specific():
    names = Counter(module.rsplit(".", 1)[-1] for module, path in PATHS.items()
                    if path.name != "__init__.py")  # fmt: skip
    twice = {name for name, count in names.items() if count > 1} - {"command"}
    assert not twice
    assert not VAGUE & set(names)


def test_no_folder_of_functional_hides_a_function():
    from sycl_dnn import functional as F

    folders = {path.parent.name for path in (PACKAGE / "functional").glob("*/__init__.py")}
    assert not folders & set(F.__all__)


def test_tests_mirror_the_package():
    folders = {
        path.parent.relative_to(ROOT / "tests").as_posix()
        for path in (ROOT / "tests").rglob("test_*.py")
    } - {"."}
    lost = {
        folder for folder in folders
        if folder.split("/")[0] not in OTHER_TESTS and not (PACKAGE / folder).is_dir()
    }  # fmt: skip
    assert not lost


def test_test_files_have_unique_names():
    """Those outside of packages are modules of one folder to pytest, which refuses the second."""
    names = Counter(
        path.name for path in (ROOT / "tests").rglob("test_*.py")
        if not (path.parent / "__init__.py").exists()
    )  # fmt: skip
    assert not [name for name, count in names.items() if count > 1]


def test_a_command_is_main_of_its_folder():
    from sycl_dnn.__main__ import COMMANDS

    for name, (module, function, _) in COMMANDS.items():
        if name != "report":
            assert re.fullmatch(r"sycl_dnn\.tools\.\w+\.command", module)
            assert function == "main"
            assert any(
                isinstance(n, ast.FunctionDef) and n.name == "main" for n in _trees()[module].body
            )
