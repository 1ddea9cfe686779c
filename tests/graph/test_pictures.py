# SPDX-License-Identifier: Apache-2.0
"""Pictures and tables show every operation, every edge and the partitions."""

import shutil
import subprocess
import xml.etree.ElementTree as ET

import dpnp
import pytest
from graph_ops import as_it_runs

from sycl_dnn import InvalidArguments
from sycl_dnn.graph import Graph


@pytest.fixture
def g():
    """Two partitions and an operation outside of them."""
    g = Graph("cpu")
    x, w = g.input((8, 16), name="x<1>"), g.input((16, 16), name="w")
    y = g.relu(g.matmul(x, w), name="hidden")
    g.matmul(g.pow(y, beta=2.0), w)
    return g


def test_dot_has_boxes_edges_and_clusters(g):
    assert "cluster" not in g.to_dot()
    g.finalize()
    text = g.to_dot()
    assert text.count("->") == 6
    assert text.count("subgraph cluster_") == 2
    assert text.count("[label=") == 2 + 4 + 6
    for word in ("MatMul", "ReLU\\nhidden", "Pow", "f32 8x16"):
        assert word in text
    if shutil.which("dot"):
        subprocess.run(["dot", "-Tsvg"], input=text.encode(), check=True, capture_output=True)


def test_mermaid_has_subgraphs(g):
    g.finalize()
    text = g.to_mermaid()
    assert text.startswith("flowchart TD\n")
    assert text.count("subgraph") == text.count("    end\n") == 2
    assert text.count("-->") == 6
    assert text.count("style n") == 4


def test_svg_is_well_formed_and_boxes_do_not_overlap(g):
    g.finalize()
    root = ET.fromstring(g.to_svg())
    space = "{http://www.w3.org/2000/svg}"
    boxes = [(int(r.get("x")), int(r.get("y"))) for r in root.iter(space + "rect")]
    assert len(boxes) == len(set(boxes)) == 2 + 4
    assert len(list(root.iter(space + "path"))) == 6
    fills = {r.get("fill") for r in root.iter(space + "rect")}
    assert len(fills) == 4
    assert all(x < int(root.get("width")) and y < int(root.get("height")) for x, y in boxes)


def test_summary_of_a_graph_lists_partitions(g):
    lines = g.summary().splitlines()
    assert len(lines) == 2 + 3
    assert "MatMul + ReLU" in lines[2]
    assert [line.split()[-1] for line in lines[2:]] == ["yes", "no", "yes"]


def test_summary_of_a_compiled_graph_reports_implementations_and_times(g, cpu_queue):
    compiled = g.compile(cpu_queue)
    lines = compiled.summary().splitlines()
    assert "oneDNN partition" in lines[2]
    assert "eltwise primitive" in lines[3]
    x = dpnp.ones((8, 16), dtype="f4", sycl_queue=cpu_queue)
    w = dpnp.ones((16, 16), dtype="f4", sycl_queue=cpu_queue)
    lines = compiled.summary(x, w).splitlines()
    assert lines[0].split()[-1] == "ms"
    assert all(float(line.split()[-1]) > 0 for line in lines[2:])


def test_summary_needs_shapes(cpu_queue):
    g = Graph("cpu")
    g.relu(g.input((None, 4)))
    with pytest.raises(InvalidArguments, match="arrays must be given"):
        g.compile(cpu_queue).summary()


def test_summary_lists_operations_outside_partitions(cpu_queue):
    """Groups of 8 are too small for oneDNN's products of 4-bit weights."""
    g = Graph("cpu", "bf16")
    g.set_fpmath_mode("bf16", True)
    x = g.input((4, 16), "bf16")

    def weights(rows, columns):
        of = (rows, columns // 8)
        args = g.input((rows, columns), "u4"), g.input(of, "bf16"), g.input(of, "u8")
        return g.dynamic_dequantize(*args, qtype="per_group", group_shape=(1, 8), axis=-1)

    a, b = (g.matmul(x, weights(16, 24), dtype="f32") for _ in range(2))
    hidden = g.multiply(g.multiply(a, g.sigmoid(a)), b)
    g.matmul(g.type_cast(hidden, dtype="bf16"), weights(24, 16))
    compiled = g.compile(cpu_queue)
    lines = compiled.summary().splitlines()
    assert lines[-1].startswith("not compiled as one: DynamicDequantize + MatMul")
    # In f32 there is no conversion in between, but a line for the whole.
    assert len(lines) == 2 + 10 + 1, lines
    assert ("runs in f32" in lines[2]) is (as_it_runs(compiled) is not compiled)
