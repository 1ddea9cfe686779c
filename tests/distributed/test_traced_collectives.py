# SPDX-License-Identifier: Apache-2.0
"""Collectives as steps of programs, and layers in parts; two ranks."""

from rank_jobs import needs_oneccl, run_ranks


@needs_oneccl
def test_values_and_gradients_in_traces():
    lines = run_ranks(2, "traced_collectives.py")
    cases = ("sum", "mean", "broadcast", "gather", "scatter", "all_to_all", "buckets")
    assert sorted(lines) == sorted(f"[{r}] {case} right" for r in range(2) for case in cases)


@needs_oneccl
def test_layers_in_parts_are_whole_ones():
    lines = run_ranks(2, "parallel_layers.py")
    assert sorted(lines) == sorted(
        f"[{r}] {c} right" for r in range(2) for c in ("products", "norm")
    )
