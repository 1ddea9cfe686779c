# SPDX-License-Identifier: Apache-2.0
"""Collectives in several processes, and in one."""

import re

import dpnp
import pytest
from rank_jobs import ROOT, needs_oneccl, run_ranks

import sycl_dnn
from sycl_dnn import distributed as dist
from sycl_dnn import functional as F

#: Ranks, kinds of memory, and how many results each rank compares.
VALUES = [(2, "device shared host", 2040), (3, "device", 628)]


@needs_oneccl
@pytest.mark.parametrize(("ranks", "kinds", "count"), VALUES)
def test_values_match_numpy(ranks, kinds, count, in_ranks):
    lines = in_ranks(ranks, "collective_values.py", kinds)
    assert sorted(lines) == [f"[{rank}] {count} right" for rank in range(ranks)]


def test_the_guide_states_the_number_of_compared_values():
    text = (ROOT / "docs" / "distributed.md").read_text()
    assert re.findall(r"([\d,]+)\s+(?:results )?on each", text) == [f"{v[2]:,}" for v in VALUES]


@needs_oneccl
def test_collectives_run_in_queue_order():
    lines = run_ranks(2, "collective_order.py")
    grown = [float(line.split()[2]) for line in lines if "growth" in line]
    assert sorted(line for line in lines if "growth" not in line) == [
        "[0] beside: 14.778", "[0] control: 100000 wrong", "[0] ordered: 0 wrong",
        "[1] ordered: 0 wrong",
    ]  # fmt: skip
    assert len(grown) == 2
    assert max(grown) < 2


@needs_oneccl
def test_groups_trees_and_refusals(in_ranks):
    lines = in_ranks(4, "groups.py")
    assert sorted(lines) == [f"[{rank}] groups right" for rank in range(4)]


def test_collectives_of_one_rank_are_the_identity(monkeypatch):
    for name in ("RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"):
        monkeypatch.delenv(name, raising=False)
    group = dist.init()
    assert (group.rank, group.size, group.local_rank, group.is_main) == (0, 1, 0, True)
    group.barrier()
    x = {"a": dpnp.arange(4.0, dtype="float32"), "b": F.asarray(dpnp.ones(2), dtype="bfloat16")}
    for function in (dist.all_reduce, dist.reduce, dist.broadcast, dist.all_gather,
                     dist.reduce_scatter, dist.all_to_all):  # fmt: skip
        result = function(x)
        assert result["a"] is not x["a"]
        assert result["a"].tolist() == x["a"].tolist()
        assert result["b"].dtype == "bfloat16"
    assert dist.all_reduce(x["a"], out=x["a"]) is x["a"]
    loss = lambda v: F.sum(dist.all_reduce(v * v, "mean"))  # noqa: E731
    assert sycl_dnn.grad(loss)(x["a"]).tolist() == (2 * x["a"]).tolist()
    with pytest.raises(ValueError, match="below 1, got 1"):
        dist.send(x, to=1)


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
