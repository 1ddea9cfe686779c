# SPDX-License-Identifier: Apache-2.0
"""Networks in one library; `compile_models.py` starts one process for each.

Each waits for a request (name, dtype) on its standard input, measures a block of every variant
that it has, and answers with one line of JSON: times in ms and the first results.
"""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path
from typing import Any

import numpy as np
from layer_workers import block
from model_calls import first
from model_onnx import OnnxRuntime, OpenVino
from model_ours import Ours
from model_torch import Torch
from models import zoo

#: Number of results that are sent for comparison.
N_SHOWN = 64
LIBRARIES = {"ours": Ours, "torch": Torch, "onnxruntime": OnnxRuntime, "openvino": OpenVino}


def answer(library: Any, name: str, dtype: str) -> dict[str, Any]:
    """Return times in ms by variant, results, time to compile, peak memory and mapped files."""
    found: dict[str, Any] = {"times": {}, "results": {}}
    for variant, call in library.calls(name, dtype).items():
        values = library.numpy(first(call())).astype(np.float64).ravel()
        found["results"][variant] = values[:N_SHOWN].tolist()
        found["times"][variant] = block(call)
    found["compile_ms"] = library.compile_ms.pop(dtype, None)
    found["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    found["files_mb"] = mapped_files_mb()
    return found


def mapped_files_mb() -> float:
    """Return how much resident memory is code and data of files, shared by processes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("RssFile")) / 1024


def main() -> None:
    """Serve requests until standard input ends."""
    name, folder, kind = sys.argv[1:4]
    entries = zoo.TINY if kind == "tiny" else zoo.ENTRIES
    try:
        library = LIBRARIES[name](entries, Path(folder))
    except ImportError as error:
        print(json.dumps(None), flush=True)
        print(f"{name}: {error}", file=sys.stderr)
        return
    print(json.dumps(library.version), flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(library, *json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
