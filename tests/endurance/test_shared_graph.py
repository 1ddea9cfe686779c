# SPDX-License-Identifier: Apache-2.0
"""Several threads may use one graph, of which oneDNN lets only one at a time change it."""

import pytest

from endurance.processes import lines_of

pytestmark = pytest.mark.slow


def test_a_graph_that_threads_build_and_split_together():
    """Without a turn for each this ends the process within some hundred rounds."""
    assert lines_of("shared_graph", 100) == ["60"]
