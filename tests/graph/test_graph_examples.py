# SPDX-License-Identifier: Apache-2.0
"""Each example of the Graph API runs and checks itself; oneDNN's own have a counterpart each."""

from pathlib import Path

import pytest
from run_examples import run_all

from sycl_dnn.device import usable_devices

FOLDER = Path(__file__).parents[2] / "examples" / "graph"
PROGRAMS = sorted(p.stem for p in FOLDER.glob("[!_]*.py"))
KINDS = [kind for kind in ("gpu", "cpu") if usable_devices(kind)]
#: oneDNN 3.13's examples/graph.
THEIRS = """
cpu_getting_started cpu_inference_int8 cpu_single_op_partition gated_mlp gated_mlp_int4
gated_mlp_wei_combined gpu_opencl_getting_started gqa gqa_training mqa sdpa
sdpa_bottom_right_causal_mask sdpa_quantized sdpa_stacked_qkv sycl_getting_started
sycl_single_op_partition
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS or ["none"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_graph_example_checks_itself(name, kind):
    ended = run_all(tuple(FOLDER / f"{n}.py" for n in PROGRAMS), "--device", kind)
    status, output = ended[FOLDER / f"{name}.py"]
    assert status == 0, output
    assert f"{name}: passed" in output
    # Attention and gated layers are one partition; there are no fallbacks.
    assert "oneDNN partition" in output or name == "single_op_partition"


@pytest.mark.parametrize("theirs", THEIRS.split())
def test_example_of_onednn_has_a_counterpart(theirs):
    assert any(theirs in (FOLDER / f"{n}.py").read_text().split('"""')[1] for n in PROGRAMS)
