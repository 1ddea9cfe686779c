# SPDX-License-Identifier: Apache-2.0
"""Several threads may use one graph, although oneDNN allows only one at a time to change it."""

import pytest

from endurance.processes import lines_of

pytestmark = pytest.mark.slow


def test_a_graph_built_and_partitioned_by_several_threads():
    """Without a lock this crashes within some hundred rounds."""
    assert lines_of("shared_graph", 100) == ["60"]
