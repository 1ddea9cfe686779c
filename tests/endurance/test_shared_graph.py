# SPDX-License-Identifier: Apache-2.0
"""Several threads may use one graph, of which oneDNN lets only one at a time change it."""

import pytest

from endurance.processes import lines_of

pytestmark = pytest.mark.slow


def test_a_graph_built_and_partitioned_by_several_threads():
    """Without a turn for each this ends the process within some hundred rounds."""
    assert lines_of("shared_graph", 100) == ["60"]
