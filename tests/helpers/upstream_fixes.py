# SPDX-License-Identifier: Apache-2.0
"""Bug fixes in a later oneDNN that the installed one lacks.

    python tests/helpers/upstream_fixes.py CLONE INSTALLED LATER

CLONE is a clone of oneDNN; INSTALLED and LATER are revisions of it, such as a release's branch and
`main`. Prints a table row for each fix of code for x86-64 CPUs, Intel GPUs or graphs, by what the
commits say of themselves. docs/onednn_upstream_fixes.md judges them: the exit status is 1 if it
lacks one, which is then marked with "new".
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).resolve().parents[2] / "docs" / "onednn_upstream_fixes.md"
#: Words that mark a commit as a bug fix.
FIXES = re.compile(
    r"fix|bug|incorrect|wrong|crash|overflow|race\b|leak|segfault|hang\b|prevent|avoid|disable|"
    r"restrict|reject|guard|invalid|missing|saturate|clamp|preserve|miscompile|out-of-bound|"
    r"properly|enforce|correct",
    re.IGNORECASE,
)
#: Parts of the library that the wheels do not have, and changes without effect on results.
OTHERS = re.compile(
    r"aarch64|\barm\b|acl\b|ppc64|powerpc|riscv|rv64|s390|nvidia|amd\b|loongarch|zen64|zendnn|"
    r"narrowing|spelling|typo|header|build:|gtests?:|benchdnn|\bverbose\b|logging|visibility|revert",
    re.IGNORECASE,
)
#: Where the code is, by the folder that most of a commit's files are in.
PARTS = {"src/cpu": "CPU", "src/gpu": "GPU", "src/xpu": "GPU", "src/graph": "graph"}


class Commit(NamedTuple):
    """A commit: abbreviated hash, date, first line, part of the library that it changes."""

    hash: str
    date: str
    title: str
    part: str


def _git(clone, *words):
    return subprocess.run(
        ["git", "-C", clone, *words], capture_output=True, text=True, check=True
    ).stdout


def _part(files):
    """Return the part that most files belong to; "all" for what several parts share."""
    matches = [PARTS.get("/".join(f.split("/")[:2]), "all") for f in files if f.startswith("src/")]
    return max(set(matches), key=matches.count) if matches else ""


def commits(clone, installed, later):
    """Yield the commits of ``later`` that ``installed`` has neither itself nor as a copy."""
    # A cherry-pick to a release branch often has a different context but the same title.
    base = _git(clone, "merge-base", installed, later).strip()
    copied = set(_git(clone, "log", "--format=%s", f"{base}..{installed}").splitlines())
    log = _git(
        clone, "log", "--cherry-pick", "--right-only", "--no-merges", "--name-only",
        "--format=%x00%h%x1f%cs%x1f%s", f"{installed}...{later}",
    )  # fmt: skip
    for block in log.split("\0")[1:]:
        head, *files = block.splitlines()
        hash, date, title = head.split("\x1f")
        part = _part(files)
        if part and title not in copied:
            yield Commit(hash, date, title, part)


def fixes(clone, installed, later):
    """Return the commits among them that fix what users of the wheels could meet."""
    found = commits(clone, installed, later)
    return [c for c in found if FIXES.search(c.title) and not OTHERS.search(c.title)]


def main(arguments=None):
    """Print the fixes, those that the page lacks marked; return the exit status."""
    parser = argparse.ArgumentParser(description="Fixes of oneDNN after the installed version.")
    for name in ("clone", "installed", "later"):
        parser.add_argument(name)
    parser.add_argument("--page", type=Path, default=PAGE, help="where they are judged")
    provided = parser.parse_args(arguments)
    judged = set(re.findall(r"`([0-9a-f]{7,40})`", provided.page.read_text()))
    status = 0
    for commit in fixes(provided.clone, provided.installed, provided.later):
        is_known = any(commit.hash.startswith(h) or h.startswith(commit.hash) for h in judged)
        status |= not is_known
        mark = "" if is_known else "new "
        print(f"| {mark}`{commit.hash}` | {commit.date} | {commit.part} | {commit.title} |")
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
