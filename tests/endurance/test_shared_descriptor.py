# SPDX-License-Identifier: Apache-2.0
"""A primitive has the layouts of its own implementation, even if its descriptor changes."""

import pytest

from endurance.processes import lines_of

pytestmark = pytest.mark.slow


def test_descriptors_advanced_while_primitives_are_created():
    """oneDNN does not guard them: one thread read memory that the other was freeing."""
    assert lines_of("shared_descriptor", 25) == ["True set()"]
