# SPDX-License-Identifier: Apache-2.0
"""The JSON files of graph cases, and their options as strings."""

from conformance.verify.graph.document import read
from conformance.verify.graph.graph_driver import OPTIONS
from conformance.verify.graph.own_graphs import written
from conformance.verify.graph.rewriting import rewrite

from sycl_dnn.tools.cases.case_files import Case

FOLDER = written()
FILES = sorted(FOLDER.glob("*/*.json"))
MATMUL = FOLDER / "op" / "matmul.json"
CHAIN = FOLDER / "pattern" / "matmul_bias-relu.json"


def options(**provided):
    values = {o.name: o.read(o.default) for o in OPTIONS}
    return values | {name.replace("_", "-"): value for name, value in provided.items()}


def rewritten(path, **texts):
    readers = {o.name.replace("-", "_"): o.read for o in OPTIONS}
    provided = {name: readers[name](value) for name, value in texts.items()}
    return rewrite(read(path), options(**provided))


def case(path, **texts):
    return Case("graph", f"--case={path}", {n.replace("_", "-"): t for n, t in texts.items()})
