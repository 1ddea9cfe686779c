# SPDX-License-Identifier: Apache-2.0
"""``python tests/conformance verify`` and ``matrix``; docs/verify.md and docs/support_matrix.md."""

import difflib
import importlib
import json
import os
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[:1] = [str(TESTS), str(TESTS / "helpers")]

_COMMANDS = ("verify", "matrix")
_USAGE = """\
usage: python tests/conformance {verify,matrix} ...

  verify  run benchdnn's cases, compare with NumPy
  matrix  what is optimized, reference or refused
"""


def main(words: list[str]) -> int:
    """Run the command that the first word names."""
    name = words[0] if words else ""
    if name in _COMMANDS:
        return importlib.import_module(f"conformance.{name}.command").main(words[1:])
    if name == "worker":  # a process of `verify`
        importlib.import_module("conformance.verify.runner").serve(words[1], json.loads(words[2]))
        return 0
    if name in ("-h", "--help"):
        print(_USAGE, end="")
        return 0
    near = difflib.get_close_matches(name, _COMMANDS, n=1)
    hint = f"there is no command {name!r}; did you mean {near[0]}?\n" if near else _USAGE
    print(hint, end="", file=sys.stderr)
    return 2


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except BrokenPipeError:
        # The reader of the output has gone; Python must not write to it at exit.
        os._exit(1)
