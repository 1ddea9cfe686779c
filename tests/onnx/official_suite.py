# SPDX-License-Identifier: Apache-2.0
"""ONNX's own backend tests: run in this process, compared with a table.

python tests/onnx/official_suite.py                   # run all and compare with the table
python tests/onnx/official_suite.py --write           # write the table again
python tests/onnx/official_suite.py --only softmax    # print what fails, by name
python tests/onnx/official_suite.py --operators       # print the counts of each operator
"""

import argparse
import contextlib
import io
import json
import re
import sys
import time
import unittest
import warnings
from collections import Counter
from pathlib import Path

import onnx.backend.test

from sycl_dnn.errors import UnsupportedOperator
from sycl_dnn.onnx.backend import Backend

#: Cases whose expected values no other implementation can have, and why.
NOT_COMPARABLE = {
    "bernoulli": "NumPy's random numbers",
    "training_dropout_default": "NumPy's random numbers",
    "training_dropout": "NumPy's random numbers",
    "training_dropout_mask": "NumPy's random numbers",
    "attention_4d_causal_fp16": "sums that NumPy rounds to float16 at each step",
}
TABLE = Path(__file__).with_name("official_suite.json")


def cases(only=""):
    """Yield names and tests of the suite, those for the CPU."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        suite = onnx.backend.test.BackendTest(Backend, __name__)
    for category, items in suite._test_items.items():
        for name, item in items.items():
            if name.endswith("_cpu") and only in name:
                yield f"{category}/{name.removeprefix('test_').removesuffix('_cpu')}", item


def outcome(item_name, item):
    """Return ``passed``, ``refused``, ``not comparable`` or ``wrong``, and the message."""
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            item.func(None)
    except UnsupportedOperator as error:
        return "refused", str(error).splitlines()[0]
    except unittest.SkipTest as error:
        return "skipped", str(error)
    except AssertionError as error:
        name = item_name.split("/")[1].removesuffix("_expanded").removesuffix("_opset19")
        plain = name.removesuffix("_mask").removesuffix("_seed").removesuffix("_double")
        is_known = plain in NOT_COMPARABLE and "shape" not in str(error)
        return "not comparable" if is_known else "wrong", f"AssertionError: {error}"
    except Exception as error:
        return "wrong", f"{type(error).__name__}: {error}"
    return "passed", ""


def operator_of(item):
    """Return the operator that a test is about."""
    model = item.proto[0] if item.proto else None
    nodes = getattr(getattr(model, "graph", None), "node", [])
    return nodes[-1].op_type if len(nodes) == 1 else "several nodes"


def run(only="", show=False):
    """Return the outcome of each case, with its operator."""
    found = {}
    for name, item in cases(only):
        start = time.perf_counter()
        state, message = outcome(name, item)
        found[name] = (state, operator_of(item))
        if show and state != "passed":
            print(f"{state:8} {name} [{time.perf_counter() - start:.1f} s]: {message[:300]}")
    return found


def by_operator(found):
    """Return the number of cases by operator and outcome."""
    counts = {}
    for state, operator in found.values():
        counts.setdefault(operator, Counter())[state] += 1
    return {name: dict(counts[name]) for name in sorted(counts)}


def table(found):
    """Return counts, and the names of what does not pass."""
    others = {name: state for name, (state, _) in found.items() if state != "passed"}
    return {
        "onnx": onnx.__version__,
        "total": dict(Counter(state for state, _ in found.values())),
        "not passed": {state: sorted(n for n, s in others.items() if s == state)
                       for state in sorted(set(others.values()))},
    }  # fmt: skip


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--operators", action="store_true")
    options = parser.parse_args(arguments)
    found = run(options.only, show=bool(options.only) or options.write)
    result = table(found)
    print(json.dumps(result["total"]))
    for name, counts in by_operator(found).items() if options.operators else ():
        print(name, json.dumps(counts))
    if options.only:
        return 0
    if options.write:
        text = json.dumps(result, indent=1, sort_keys=True)
        # Innermost lists and objects are on one line.
        text = re.sub(r"[\[{][^\[\]{}]*[\]}]", lambda inner: " ".join(inner[0].split()), text)
        TABLE.write_text(text + "\n")
        return 0
    kept = json.loads(TABLE.read_text())
    for key in result:
        if result[key] != kept[key]:
            print(f"{key} differs from {TABLE.name}")
    for name in result["not passed"].get("wrong", []):
        print(f"wrong: {name}")
    return int(result != kept)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
