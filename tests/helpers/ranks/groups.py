# SPDX-License-Identifier: Apache-2.0
"""Splits, pairs, trees, barriers and refusals, on four ranks."""

import dpnp
import numpy as np
import pytest

from sycl_dnn import distributed as dist
from sycl_dnn import functional as F


def refused(kind, words, call):
    with pytest.raises(kind, match=words):
        call()


def check_trees(group):
    """Every collective accepts a tree, and returns the same as for each array."""
    row = dpnp.arange(4, dtype="float32", sycl_queue=group.queue) + 10 * group.rank
    nested = {"b": (row, row.astype("int32")), "a": 2 * row}

    def plain(result):
        return {"b": tuple(v.tolist() for v in result["b"]), "a": result["a"].tolist()}

    for function in (dist.all_reduce, dist.reduce, dist.broadcast, dist.all_gather,
                     dist.reduce_scatter, dist.all_to_all):  # fmt: skip
        first, second = (function(v) for v in nested["b"])
        one_by_one = {"b": (first, second), "a": function(nested["a"])}
        assert plain(function(nested)) == plain(one_by_one), function
    if group.rank == 0:
        dist.send(nested, to=1)
    elif group.rank == 1:
        empty = {"b": (row * 0, (row * 0).astype("int32")), "a": row * 0}
        received = plain(dist.recv(empty, source=0))
        assert received == {"b": ([0.0, 1.0, 2.0, 3.0], [0, 1, 2, 3]), "a": [0.0, 2.0, 4.0, 6.0]}


def check_parts_of_the_data(group):
    """Each sample is on one rank at most, and only the remainder of the division on none."""
    for seed in (None, 3):
        parts = group.exchange(f"part {seed}", dist.own_part(43, seed).tobytes(), "parts")
        numbers = np.concatenate([np.frombuffer(part, "int64") for part in parts])
        assert len(numbers) == len(set(numbers.tolist())) == 40
        assert set(numbers.tolist()) <= set(range(43))
    batches = [b.tobytes() for b in dist.own_batches(43, 8)]
    assert len(batches) == 5
    said = group.exchange("batches", b"".join(batches), "batches")
    numbers = np.concatenate([np.frombuffer(part, "int64") for part in said])
    assert len(numbers) == len(set(numbers.tolist())) == 40


def main():
    group = dist.init(timeout=600, checking="always")
    rank, queue = group.rank, group.queue
    assert dist.init() is group
    assert group.size == 4
    assert group.local_rank == rank
    assert group.is_main == (rank == 0)

    halves = group.split(rank // 2, key=-rank)
    assert halves.size == 2
    assert halves.rank == 1 - rank % 2
    assert halves.members == ((1, 0) if rank < 2 else (3, 2))
    x = dpnp.full(3, rank, dtype="float32", sycl_queue=queue)
    assert dist.all_reduce(x, group=halves).tolist() == [1.0 if rank < 2 else 5.0] * 3
    assert dist.broadcast(x, root=0, group=halves).tolist() == [1.0 if rank < 2 else 3.0] * 3
    assert dist.all_reduce(x).tolist() == [6.0] * 3
    alone = halves.split(halves.rank)
    assert alone.size == 1
    assert dist.all_reduce(x, group=alone).tolist() == x.tolist()
    third = group.split(0 if rank < 3 else None)
    assert third.size == 3 if rank < 3 else third is None

    y = dpnp.full(5, 10 * rank, dtype="int16", sycl_queue=queue)
    if rank == 0:
        dist.send(y, to=3)
    elif rank == 3:
        assert dist.recv(y, source=0) is y
        assert y.tolist() == [0] * 5

    tree = {"b": (x, x + 1), "a": F.asarray(x, dtype="bfloat16")}
    total = dist.all_reduce(tree)
    assert list(total) == ["b", "a"]
    assert total["b"][1].tolist() == [10.0] * 3
    assert total["a"].astype("float32").tolist() == [6.0] * 3
    check_trees(group)
    slanted = dpnp.arange(6, dtype="float32", sycl_queue=queue).reshape(2, 3).T
    assert dist.all_reduce(slanted).tolist() == (4 * slanted).tolist()
    assert dist.all_gather(dpnp.asarray(rank, sycl_queue=queue)).tolist() == [0, 1, 2, 3]
    check_parts_of_the_data(group)
    group.barrier()

    refused(TypeError, "float32", lambda: dist.all_reduce(x.astype("complex64")))
    refused(TypeError, "'mean'", lambda: dist.all_reduce(dpnp.ones(2, dtype="int32"), "mean"))
    refused(TypeError, "object", lambda: dist.all_reduce(object()))
    refused(ValueError, "avg", lambda: dist.all_reduce(x, "avg"))
    refused(ValueError, "divisible by 4", lambda: dist.reduce_scatter(x))
    refused(ValueError, "below 4, got 7", lambda: dist.broadcast(x, root=7))
    refused(ValueError, "another rank", lambda: dist.send(x, to=rank))
    refused(ValueError, "out must have shape", lambda: dist.all_reduce(x, out=y))
    group.barrier()
    print("groups right")


main()
