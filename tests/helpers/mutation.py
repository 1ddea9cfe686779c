# SPDX-License-Identifier: Apache-2.0
"""Mutation testing: change one place of the package at a time and run a test command.

    python tests/helpers/mutation.py --mutants 50 --seed 1 sycl_dnn/optim -- pytest -x {folder}

Operators, constants, conditions and calls whose result is not used are changed, a seeded choice.
``{folder}`` in the command becomes the folder of tests of the changed file, ``tests`` for the
files of the package itself. The file is restored after each run: use a checkout in which nothing
else runs. A mutant is killed if the command fails, or takes longer than ``--timeout`` seconds.
"""

import argparse
import ast
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "sycl_dnn"
_OPERATORS = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult, ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip


class Mutant(NamedTuple):
    """A place of a file, and the text that replaces what is there."""

    path: Path
    kind: str
    line: int
    start: int
    end: int
    text: str

    def __str__(self) -> str:
        before = self.path.read_bytes()[self.start : self.end].decode()
        place = f"{self.path.relative_to(ROOT)}:{self.line}"
        return f"{place} {self.kind}: {_short(before)} -> {_short(self.text)}"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) < 60 else line[:57] + "..."


def mutants(path: Path) -> Iterator[Mutant]:
    """Yield the mutants of a file."""
    source = path.read_bytes()
    begins = [0]
    for line in source.splitlines(keepends=True):
        begins.append(begins[-1] + len(line))
    tree = ast.parse(source)
    unseen = set(_not_executed(tree))
    for node in ast.walk(tree):
        if node not in unseen:
            for kind, at, text in _changes(node):
                start = begins[at.lineno - 1] + at.col_offset
                end = begins[at.end_lineno - 1] + at.end_col_offset
                yield Mutant(path, kind, at.lineno, start, end, text)


def _not_executed(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield code without testable effect: annotations, docstrings, error messages, ``__all__``."""
    for node in ast.walk(tree):
        annotations = [getattr(node, n, None) for n in ("annotation", "returns")]
        dropped = [a for a in annotations if isinstance(a, ast.AST)]
        if isinstance(node, (ast.JoinedStr, ast.Raise, ast.Import, ast.ImportFrom)):
            dropped.append(node)
        if isinstance(node, ast.keyword) and node.arg == "strict":  # of zip: equal lengths
            dropped.append(node)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            dropped.append(node)
        for part in dropped:
            yield from ast.walk(part)


def _changes(node: ast.AST) -> Iterator[tuple[str, ast.expr, str]]:
    """Yield kinds of mutations, the nodes to replace and their replacements."""
    if isinstance(node, (ast.BinOp, ast.BoolOp)) and type(node.op) in _OPERATORS:
        yield "operator", node, _with(node, op=_OPERATORS[type(node.op)]())
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        yield "operator", node, _with(node, ops=[_OPERATORS[type(node.ops[0])]()])
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield "constant", node, repr(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        yield "constant", node, repr(node.value + 1)
    elif isinstance(node, (ast.If, ast.IfExp, ast.While)):
        yield "condition", node.test, f"(not ({ast.unparse(node.test)}))"
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield "dropped call", node.value, "None"


def _with(node: ast.AST, **fields: object) -> str:
    values = {name: getattr(node, name) for name in node._fields} | fields
    return f"({ast.unparse(type(node)(**values))})"


def chosen(paths: list[Path], number: int, seed: int) -> list[Mutant]:
    """Return mutants of alternating kinds, from files drawn in proportion to their length."""
    files = sorted(f for p in paths for f in ([p] if p.is_file() else p.rglob("*.py")))
    by_kind: dict[str, list[Mutant]] = {}
    for mutant in (m for file in files for m in mutants(file)):
        by_kind.setdefault(mutant.kind, []).append(mutant)
    rng, kinds = random.Random(seed), sorted(by_kind)
    drawn = {kind: rng.sample(found, len(found)) for kind, found in sorted(by_kind.items())}
    turns = (drawn[kind].pop() for _ in range(number) for kind in kinds if drawn[kind])
    return [mutant for mutant, _ in zip(turns, range(number), strict=False)]


def folder_of_tests(path: Path) -> str:
    """Return the nearest folder of tests that has the name of a file's folder."""
    for parent in path.relative_to(PACKAGE).parents:
        if (ROOT / "tests" / parent).is_dir():
            return str(Path("tests") / parent)
    return "tests"


def outcome(mutant: Mutant, command: list[str], seconds: float) -> str:
    """Run the command with a mutant in its place; return "killed", "timeout" or "survived"."""
    source = mutant.path.read_bytes()
    words = [word.replace("{folder}", folder_of_tests(mutant.path)) for word in command]
    # No bytecode of a mutant is kept: of the same second and size it would be read for another.
    try:
        mutant.path.write_bytes(
            source[: mutant.start] + mutant.text.encode() + source[mutant.end :]
        )
        done = subprocess.run(
            words, cwd=ROOT, timeout=seconds, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return "timeout"
    finally:
        mutant.path.write_bytes(source)
    return "killed" if done.returncode else "survived"


def main() -> int:
    """Create mutants, run the command for each, and print outcomes and their shares."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mutants", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--timeout", type=float, default=600.0)
    parser.add_argument("paths", nargs="*", type=Path, default=[PACKAGE])
    own = sys.argv[1 : sys.argv.index("--")]
    command, options = sys.argv[len(own) + 2 :], parser.parse_args(own)
    counts: Counter[str] = Counter()
    for mutant in chosen([p.resolve() for p in options.paths], options.mutants, options.seed):
        words, begun = str(mutant), time.monotonic()
        ended = outcome(mutant, command, options.timeout)
        counts[ended] += 1
        print(f"{ended:8} {time.monotonic() - begun:5.0f} s  {words}", flush=True)
    total = sum(counts.values())
    print(f"{total - counts['survived']} of {total} mutants were killed: {dict(counts)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
