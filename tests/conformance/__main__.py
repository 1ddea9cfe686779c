# SPDX-License-Identifier: Apache-2.0
"""``python tests/conformance verify`` and ``matrix``; docs/verify.md and docs/support_matrix.md."""

import difflib
import json
import os
import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[1])

_USAGE = """\
usage: python tests/conformance {verify,matrix} ...

  verify  run benchdnn's cases, compare with NumPy
  matrix  what is optimized, reference or refused
"""


def main(words: list[str]) -> int:
    """Run the command that the first word names."""
    name = words[0] if words else ""
    if name == "verify":
        from conformance.verify import command
    elif name == "matrix":
        from conformance.matrix import command
    elif name == "worker":  # a process of `verify`
        from conformance.verify import runner

        runner.serve(words[1], json.loads(words[2]))
        return 0
    else:
        asked = name in ("-h", "--help")
        near = difflib.get_close_matches(name, ("verify", "matrix"), n=1)
        hint = f"there is no command {name!r}; did you mean {near[0]}?\n" if near else _USAGE
        print(hint, end="", file=sys.stdout if asked else sys.stderr)
        return 0 if asked else 2
    return command.main(words[1:])


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except BrokenPipeError:
        # The reader of the output is gone; Python must not write to it at exit.
        os._exit(1)
