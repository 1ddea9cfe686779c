# SPDX-License-Identifier: Apache-2.0
"""Lines of code that a training takes in ours and in torch: network, loss, and what makes steps.

Networks and losses are one text for both (`models/training_nets.py`, `models/training_zoo.py`);
what makes a step of it is a class for each library in `training_workers.py`. Blank lines, comments
and docstrings are not counted. Nothing is imported that is counted.
"""

from __future__ import annotations

import ast
import io
import tokenize
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).parent
#: Tokens that make no line of code.
SILENT = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENDMARKER,
}  # fmt: skip
#: Ours may take so many times torch's lines.
GOAL = 1.1


class Row(NamedTuple):
    """Lines of code of one training."""

    name: str
    network: int
    loss: int
    ours: int
    torch: int

    @property
    def ratio(self) -> float:
        """Return all lines of ours over all of torch's."""
        shared = self.network + self.loss
        return (shared + self.ours) / (shared + self.torch)


class Source:
    """A file, with what it defines at the top and which of its lines are code."""

    def __init__(self, path: Path) -> None:
        text = path.read_text(encoding="utf-8")
        self._tree = ast.parse(text)
        self._code = {
            line
            for token in tokenize.generate_tokens(io.StringIO(text).readline)
            if token.type not in SILENT
            for line in range(token.start[0], token.end[0] + 1)
        } - _documented(self._tree)
        self.defined = {name: node for node in self._tree.body for name in _names(node)}

    def lines(self, *names: str) -> int:
        """Return the lines of code of definitions."""
        found = 0
        for name in names:
            node = self.defined[name]
            decorators = [d.lineno for d in getattr(node, "decorator_list", [])]
            first = min([node.lineno, *decorators])
            found += len(self._code & set(range(first, (node.end_lineno or first) + 1)))
        return found

    def needed(self, name: str) -> set[str]:
        """Return a definition and all definitions of this file that it uses."""
        found, new = set(), {name}
        while new:
            found |= new
            used = {n.id for d in new for n in ast.walk(self.defined[d]) if isinstance(n, ast.Name)}
            new = (used & set(self.defined)) - found
        return found


def _documented(tree: ast.Module) -> set[int]:
    """Return the lines of docstrings."""
    found: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            first = node.body[0]
            if ast.get_docstring(node) is not None:
                found |= set(range(first.lineno, (first.end_lineno or 0) + 1))
    return found


def _names(node: ast.stmt) -> list[str]:
    """Return what a statement at the top defines."""
    if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else []
    return [t.id for t in targets if isinstance(t, ast.Name)]


def table() -> list[Row]:
    """Return the rows of all networks."""
    nets = Source(FOLDER / "models" / "training_nets.py")
    zoo = Source(FOLDER / "models" / "training_zoo.py")
    steps = Source(FOLDER / "training_workers.py")
    ours, torch = steps.lines("Ours"), steps.lines("Torch")
    rows = []
    listed: Any = zoo.defined["_MODULES"]
    for key, pair in zip(listed.value.keys, listed.value.values, strict=True):
        network, loss = nets.lines(*nets.needed(pair.elts[0].attr)), zoo.lines(pair.elts[1].id)
        rows.append(Row(key.value, network, loss, ours, torch))
    return rows


def show() -> None:
    """Print the table; fail if ours takes too many lines."""
    print("| Network | network | loss | steps: ours, torch | all: ours, torch | ours / torch |")
    print("|---|---|---|---|---|---|")
    for row in table():
        shared = row.network + row.loss
        print(f"| `{row.name}` | {row.network} | {row.loss} | {row.ours}, {row.torch} "
              f"| {shared + row.ours}, {shared + row.torch} | {row.ratio:.2f} |")  # fmt: skip
    if max(row.ratio for row in table()) > GOAL:
        raise SystemExit(f"ours takes more than {GOAL} times torch's lines")
