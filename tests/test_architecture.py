# SPDX-License-Identifier: Apache-2.0
"""docs/architecture.md holds: the order of imports, the tree, one topic a file, one name a file."""

import ast
import functools
import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "sycl_dnn"
PAGE = (ROOT / "docs" / "architecture.md").read_text()
#: Words that name a place or a quantity and not a thing.
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
    "typing",
}


def _name(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


PATHS = {_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


@functools.cache
def _trees():
    return {name: ast.parse(path.read_text()) for name, path in PATHS.items()}


def _order():
    """Return the rank of each name in the list of the page; 0 is the lowest."""
    block = PAGE.split("<!-- order of imports -->")[1].split("\n\n")[1]
    lines = [re.findall(r"\w+", line) for line in block.splitlines()]
    return {word: rank for rank, line in enumerate(reversed(lines)) for word in line}


RANKS = _order()


def _rank(module):
    parts = module.split(".")
    return RANKS[parts[1] if len(parts) > 1 else "__init__"]


def _imported(tree, module):
    """Yield the modules that a tree imports, and whether at import."""
    inside = {
        id(n) for f in ast.walk(tree) if isinstance(f, ast.FunctionDef) for n in ast.walk(f)
    } | {id(n) for i in tree.body if isinstance(i, ast.If) for n in ast.walk(i)}
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
                yield name, id(node) not in inside


def test_imports_point_down():
    upwards = [
        f"{module} imports {name}, which stands above it"
        for module, tree in _trees().items()
        for name, _ in _imported(tree, module)
        if _rank(name) > _rank(module)
    ]
    assert upwards == []


def test_no_circles_at_import():
    arrows = {
        module: {name for name, is_early in _imported(tree, module) if is_early and name in PATHS}
        for module, tree in _trees().items()
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


def test_every_part_has_its_place_in_the_order():
    parts = {module.split(".")[1] for module in PATHS if "." in module}
    assert parts <= set(RANKS), parts - set(RANKS)
    assert set(RANKS) - parts <= {"__init__", "_core"}


def test_the_page_lists_every_file():
    tree = PAGE.split("    sycl_dnn/\n")[1].split("    tests/")[0]
    listed = Counter(re.findall(r"[\w.]+\.py\b", tree))
    there = Counter(path.name for path in PATHS.values() if path.name != "__init__.py")
    missing = {name for name in there if listed[name] < there[name]}
    gone = {name for name in listed if name not in there and name != "__init__.py"}
    assert not missing, f"write them into docs/architecture.md: {sorted(missing)}"
    assert not gone, f"docs/architecture.md lists what is gone: {sorted(gone)}"


def test_a_file_is_one_topic():
    sizes = {name: len(path.read_text().splitlines()) for name, path in PATHS.items()}
    assert not {name: size for name, size in sizes.items() if size > 500}


def test_names_say_the_thing_and_once():
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


def test_a_command_is_main_of_its_folder():
    from sycl_dnn.__main__ import COMMANDS

    for name, (module, function, _) in COMMANDS.items():
        if name != "report":
            assert re.fullmatch(r"sycl_dnn\.tools\.\w+\.command", module)
            assert function == "main"
            assert any(
                isinstance(n, ast.FunctionDef) and n.name == "main" for n in _trees()[module].body
            )
