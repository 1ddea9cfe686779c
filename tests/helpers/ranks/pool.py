# SPDX-License-Identifier: Apache-2.0
"""A rank that runs the programs listed in a folder, one after another."""

import contextlib
import io
import itertools
import json
import runpy
import sys
import time
import traceback
from pathlib import Path

from sycl_dnn import distributed as dist


def ended(program, arguments):
    """Run a program; return its output and its error text."""
    said = io.StringIO()
    sys.argv = [program, *arguments]
    try:
        with contextlib.redirect_stdout(said):
            runpy.run_path(program, run_name="__main__")
    except SystemExit as end:
        return said.getvalue(), f"exit {end.code}" if end.code else ""
    except BaseException:
        return said.getvalue(), traceback.format_exc()
    return said.getvalue(), ""


def main():
    folder, group = Path(sys.argv[1]), dist.init(timeout=600, checking="always")
    for number in itertools.count():
        path = folder / f"{number}.json"
        while not path.exists():
            time.sleep(0.01)
        job = json.loads(path.read_text())
        if job is None:
            return
        part = folder / f"{number}.{group.rank}.part"
        part.write_text(json.dumps(ended(*job)))
        part.rename(folder / f"{number}.{group.rank}")


main()
