# SPDX-License-Identifier: Apache-2.0
"""Run conformance cases on a GPU; faults of oneDNN's GPU kernels that are known do not count.

    tests/executing_gpu.sh python tests/helpers/gpu_conformance.py --sample=1500 --batch=FILE

The arguments are those of ``python -m sycl_dnn verify``. Known faults are listed by name; the exit
status is 1 if another case failed. docs/gpu_tests.md describes the faults.
"""

import json
import sys
import tempfile
from collections import Counter
from fnmatch import fnmatchcase
from pathlib import Path

from sycl_dnn.tools.verify.command import main

#: Fault, and the cases that meet it: words of the line, part of the implementation's name.
KNOWN = (
    ("convolution: type of a sum post-op", "--conv *sum:*:u8*", "ocl:ref"),
    ("matmul: weights blocked twice along K", "--matmul *--wtag=BA16a16b[24]a *", "ocl:ref"),
    ("lrn: padding of a blocked result", "--lrn *--tag=aBx*b *", "ocl:ref"),
    ("sum: factors of many inputs", "--sum *--scales=*:* *", "ocl:many_inputs"),
    ("sum: in place over another layout", "--sum *--inplace=true *", "ocl"),
    ("rnn: overwritten gradients with gaps", "--rnn *--flags=O *", "ocl"),
    ("lstm: 8-bit integers", "--rnn *--cfg=*u8* --alg=VANILLA_LSTM *", "ocl"),
    ("graph: select that broadcasts", "--graph *select-broadcast.json", ""),
    ("graph: attention of 8-bit integers", "--graph *sdpa_int8.json", ""),
    ("softmax: layout that is not row-major", "--graph *[*]bac *softmax.json", ""),
)


def known_fault(result):
    """Return the name of the fault that a failed case meets, or None."""
    line, implementation = result["line"], result["impl"] or ""
    found = (n for n, words, part in KNOWN if fnmatchcase(line, words) and part in implementation)
    return next(found, None)


def run(arguments):
    """Return how often each known fault was met, and the other failed cases."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "results.json")
        status = main(["--device=gpu", f"--json={report}", "--quiet", *arguments])
        if not report.exists():
            sys.exit(status or 2)
        results = json.loads(report.read_text())["results"]
    failed = [r for r in results if r["status"] in ("FAILED", "MISTRUSTED")]
    names = Counter(known_fault(r) for r in failed)
    return names, [r for r in failed if known_fault(r) is None]


if __name__ == "__main__":
    met, others = run(sys.argv[1:])
    for name, count in sorted((n, c) for n, c in met.items() if n):
        print(f"known fault, {count} cases: {name}")
    for result in others:
        print(f"unknown failure: {result['line']} [{result['impl']}] {result['reason']}")
    sys.exit(bool(others))
