# SPDX-License-Identifier: Apache-2.0
"""Run examples one after the other in one process: no start-up for each.

python tests/run_examples.py FILE... [-- OPTION...]   the options are passed to every example

Prints each example's output under ``== <name>``, then a line for each that failed; the exit status
is 0 if none did. Modules that examples share stay loaded; what an example defines does not.
"""

import runpy
import sys
import time
import traceback
from pathlib import Path


def run(path: Path, options: list[str]) -> int:
    """Run an example as if it had been started by itself; return its exit status."""
    folder, arguments = str(path.resolve().parent), sys.argv
    sys.argv = [str(path), *options]
    sys.path.insert(0, folder)
    try:
        runpy.run_path(str(path), run_name="__main__")
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code)
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except Exception:
        traceback.print_exc(file=sys.stdout)
        return 1
    finally:
        sys.argv = arguments
        sys.path.remove(folder)
    return 0


def main(arguments: list[str]) -> int:
    """Run the files before ``--`` with the options behind it."""
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    files, options = [Path(name) for name in arguments[:cut]], arguments[cut + 1 :]
    failed = []
    for path in files:
        started = time.perf_counter()
        print(f"== {path}", flush=True)
        if run(path, options):
            failed.append(path)
        print(f"-- {time.perf_counter() - started:.1f} s", flush=True)
    for path in failed:
        print(f"FAILED: {path}")
    print(f"{len(files) - len(failed)} of {len(files)} examples ran")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
