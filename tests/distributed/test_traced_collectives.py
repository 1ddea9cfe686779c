# SPDX-License-Identifier: Apache-2.0
"""Collectives as steps of programs, and partitioned layers."""

import pytest
from rank_jobs import needs_oneccl


@needs_oneccl
@pytest.mark.parametrize("ranks", [pytest.param(2, marks=pytest.mark.smoke), 3])
def test_values_and_gradients_in_traces(ranks, in_ranks):
    lines = in_ranks(ranks, "traced_collectives.py")
    cases = ("sum", "mean", "broadcast", "gather", "scatter", "all_to_all", "buckets")
    assert sorted(lines) == sorted(f"[{r}] {case} right" for r in range(ranks) for case in cases)


@needs_oneccl
@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_partitioned_layers_equal_whole_ones(ranks, in_ranks):
    lines = in_ranks(ranks, "parallel_layers.py")
    assert sorted(lines) == sorted(
        f"[{r}] {c} right" for r in range(ranks) for c in ("products", "norm")
    )
