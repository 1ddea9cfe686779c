# SPDX-License-Identifier: Apache-2.0
"""Each example of the Graph API runs and checks itself."""

from pathlib import Path

import pytest
from run_examples import run_all

from sycl_dnn.device import usable_devices

FOLDER = Path(__file__).parents[2] / "examples" / "graph"
PROGRAMS = sorted(p.stem for p in FOLDER.glob("[!_]*.py"))
KINDS = [kind for kind in ("gpu", "cpu") if usable_devices(kind)]


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
