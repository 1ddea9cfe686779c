# SPDX-License-Identifier: Apache-2.0
"""Run mypy and pyright as a user of the package would.

Over revealed.py, whose comments say what both must tell; over README's programs; over the examples.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
REVEALED = HERE / "revealed.py"
FOLDERS = ("", "graph", "primitives", "tutorials/matmul")
#: What pyright says of other packages: dpnp's sources let it think that ``linspace`` returns a
#: pair; an example reads files of a package that need not be installed.
NOT_OURS = ('for class "tuple[dpnp_array, dpnp_array]"', 'Import "safetensors')


def expected():
    """Return the types that revealed.py names, by line."""
    found = {}
    for number, line in enumerate(REVEALED.read_text().splitlines(), 1):
        if "reveal_type(" in line and "import" not in line:
            found[number] = line.rpartition("  # ")[2]
    return found


def bare(text):
    """Return a type's text without modules, as both checkers can be compared by."""
    text = re.sub(r"\b(?:\w+\.)+(\w+)", r"\1", text.removesuffix("?").replace('"', ""))
    text = re.sub(r"tuple\[.*, fallback=(\w+)\]", r"\1", text)
    return re.sub(r"\[\[(.*)\], ", r"[(\1), ", text)


def by_mypy(*paths, path=()):
    """Return the notes by line, and the errors, of mypy."""
    command = ["-m", "mypy", "--config-file", HERE / "mypy.ini", "--no-error-summary", *paths]
    environment = {**os.environ, "MYPYPATH": os.pathsep.join(path)}
    run = subprocess.run(
        [sys.executable, *command], cwd=ROOT, text=True, capture_output=True, env=environment
    )
    notes = re.findall(r"revealed\.py:(\d+): note: Revealed type is \"(.*)\"", run.stdout)
    errors = [line for line in run.stdout.splitlines() if ": error: " in line]
    return {int(line): bare(text) for line, text in notes}, errors + run.stderr.splitlines()


def by_pyright(*paths):
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable]
    run = subprocess.run(
        [*command, *map(str, paths)], cwd=ROOT, text=True, capture_output=True, timeout=900
    )
    notes, errors = {}, []
    for found in json.loads(run.stdout)["generalDiagnostics"]:
        line = found["range"]["start"]["line"] + 1
        told = re.search(r'^Type of ".*" is "(.*)"$', found["message"], re.DOTALL)
        if told and found["file"].endswith("revealed.py"):
            notes[line] = bare(told[1])
        elif found["severity"] == "error" and not any(n in found["message"] for n in NOT_OURS):
            errors.append(f"{found['file']}:{line}: {found['message']}")
    return notes, errors


def examples():
    """Return the errors of mypy in examples."""
    found, root = [], ROOT / "examples"
    for name in FOLDERS:
        # Modules of one name lie in several folders; each is checked as it is run, from its own.
        path = [str(ROOT), str(root), str(root / name)]
        found += by_mypy(*sorted((root / name).glob("*.py")), path=path)[1]
    return found


def programs(folder):
    """Write README's Python programs into ``folder``; return their paths."""
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    paths = [folder / f"readme_{n}.py" for n in range(len(blocks))]
    for path, text in zip(paths, blocks, strict=True):
        path.write_text(text)
    return paths


def main():
    """Print what is wrong; return how much."""
    wrong = examples()
    with tempfile.TemporaryDirectory() as folder:
        readme = programs(Path(folder))
        # [tool.pyright] tells it where each example finds its modules, so one run does for all.
        every = sorted(p for p in (ROOT / "examples").rglob("*.py") if p.parent.name != "port")
        for check, more in ((by_mypy, ()), (by_pyright, every)):
            notes, errors = check(REVEALED, *readme, *more)
            wrong += [f"{check.__name__}: {e}" for e in errors]
            for line, text in expected().items():
                if notes.get(line) != text:
                    wrong.append(
                        f"{check.__name__}: revealed.py:{line}: {notes.get(line)}, not {text}"
                    )
    print(*wrong, sep="\n")
    return len(wrong)


if __name__ == "__main__":
    sys.exit(bool(main()))
