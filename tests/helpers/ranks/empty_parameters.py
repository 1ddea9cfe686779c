# SPDX-License-Identifier: Apache-2.0
"""`ShardedOptimizer` with empty parameters against the optimizer alone."""

import dpnp
import numpy as np

import sycl_dnn
from sycl_dnn import distributed as dist
from sycl_dnn import optim, tree

#: Rows whose first, last or only parameters are empty; for 3 ranks 4 and 5 lack 2 and 1.
ROWS = (((0, 4), (4,)), ((0,), (5,)), ((5,), (0, 2)), ((0, 3), (0,)), ((0,), (2, 3), (0,)))


def filled(shapes, start, queue):
    """Return parameters by name, with numbers that differ."""
    return {
        f"p{i}": dpnp.asarray(
            np.arange(start, start + np.prod(shape)).reshape(shape), dtype="f4", sycl_queue=queue
        )
        for i, shape in enumerate(shapes)
    }


def check(group, shapes, compiles):
    plain = optim.AdamW(0.1)
    opt = dist.ShardedOptimizer(plain)
    found = expected = filled(shapes, 1.0, group.queue)
    state, plain_state = opt.init(found), plain.init(expected)
    update = sycl_dnn.compile(opt.update) if compiles else opt.update
    for number in range(2):
        own, mean = (
            filled(shapes, number + start, group.queue)
            for start in (group.rank, (group.size - 1) / 2)
        )
        found, state = update(own, state, found)
        expected, plain_state = plain.update(mean, plain_state, expected)
    whole = opt.whole_state(state, found)
    for actual, want in ((found, expected), (whole, plain_state)):
        for a, b in zip(tree.leaves(actual), tree.leaves(want), strict=True):
            np.testing.assert_allclose(dpnp.asnumpy(a), dpnp.asnumpy(b), rtol=1e-5, atol=1e-7)
    again = opt.own_state(whole, found)
    for a, b in zip(tree.leaves(again), tree.leaves(state), strict=True):
        assert (dpnp.asnumpy(a) == dpnp.asnumpy(b)).all()


def main():
    group = dist.init(timeout=600, checking="always")
    for shapes in ROWS:
        check(group, shapes, compiles=shapes is ROWS[0])
    print(f"{len(ROWS)} right")


main()
