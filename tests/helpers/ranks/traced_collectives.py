# SPDX-License-Identifier: Apache-2.0
"""Collectives inside vjp, value_and_grad and compiled functions: values and gradients."""

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import distributed as dist
from sycl_dnn import functional as F


def close(actual, want):
    np.testing.assert_allclose(dpnp.asnumpy(actual), want, rtol=2e-5, atol=1e-5)


def main():
    group = dist.init(timeout=600, checking="always")
    rank, n, queue = group.rank, group.size, group.queue
    rng = np.random.default_rng(0)
    parts = [rng.standard_normal((n, 3)).astype("f4") for _ in range(n)]
    seeds = [rng.standard_normal((n, 3)).astype("f4") for _ in range(n)]
    wide = [rng.standard_normal((n * n, 3)).astype("f4") for _ in range(n)]

    def array(values):
        return dpnp.asarray(values, sycl_queue=queue)

    x, total = array(parts[rank]), sum(parts)
    rows = slice(n * rank, n * rank + n)
    swap = [np.concatenate([p[r : r + 1] for p in parts]) for r in range(n)]
    cases = {
        "sum": (lambda v: dist.all_reduce(v), total, seeds, sum(seeds)),
        "mean": (lambda v: dist.all_reduce(v, "mean"), total / n, seeds, sum(seeds) / n),
        "broadcast": (lambda v: dist.broadcast(v, root=1), parts[1], seeds,
                      sum(seeds) * (rank == 1)),
        "gather": (dist.all_gather, np.concatenate(parts), wide, sum(w[rows] for w in wide)),
        "scatter": (dist.reduce_scatter, total[rank : rank + 1], [s[:1] for s in seeds],
                    np.concatenate([s[:1] for s in seeds])),
        "all_to_all": (dist.all_to_all, swap[rank], seeds,
                       np.concatenate([s[rank : rank + 1] for s in seeds])),
    }  # fmt: skip
    for name, (function, value, dy, grad) in cases.items():
        # oneDNN computes before and after it: the collective is a step between two programs.
        def around(v, function=function):
            return F.mul(function(F.mul(v, 2.0)), 0.5)

        for call in (around, sycl_dnn.compile(around)):
            close(call(x), value)
        for _ in range(3):
            result, pull = sycl_dnn.vjp(around, x)
            close(result, value)
            close(pull(array(dy[rank]))[0], grad)
        step = sycl_dnn.compile(lambda v, dy, f=around: sycl_dnn.vjp(f, v)[1](dy)[0])
        for _ in range(2):
            close(step(x, array(dy[rank])), grad)
        group.barrier()
        print(f"{name} right")

    slanted = array(parts[rank].T.copy()).T
    close(sycl_dnn.compile(lambda v: dist.all_reduce(v))(slanted), total)

    def held(v):
        return dist.all_reduce(v, group=group)

    close(sycl_dnn.vjp(held, x)[0], total)
    misses = sycl_dnn.cache.info().misses
    for _ in range(3):
        close(sycl_dnn.vjp(held, x)[0], total)
    assert sycl_dnn.cache.info().misses == misses, "a function that holds a group is traced once"

    frozen, again = sycl_dnn.freeze(x), sycl_dnn.compile(lambda f, v: dist.all_reduce(f) + v)
    for _ in range(3):  # constant, and yet a collective of every call
        close(again(frozen, x), total + parts[rank])
    double = x.astype("float64")
    result, pull = sycl_dnn.vjp(lambda v: dist.all_reduce(v, "mean"), double)
    close(result, total / n)
    close(pull(dpnp.ones_like(double))[0], np.ones((n, 3)))
    with pytest.raises(NotImplementedError, match="has no gradient"):
        sycl_dnn.grad(lambda v: F.sum(dist.all_reduce(v, "max")))(x)
    with pytest.raises(NotImplementedError, match="reduce: x must not be traced"):
        sycl_dnn.compile(dist.reduce)(x)

    # A rank without samples takes part in collectives that its own results do not need.
    own, weight = x[:0] if rank == n - 1 else x, array(np.ones(3, "f4"))

    def of_samples(w, v):
        return F.sum(F.square(F.mul(v, dist.all_reduce(F.mul(w, 1.0)))))

    squares = sum((p**2).sum(0) for p in parts[:-1])
    for call in (sycl_dnn.grad(of_samples), sycl_dnn.compile(sycl_dnn.grad(of_samples))):
        close(call(weight, own), 2 * n * squares)
    norm = dist.SyncBatchNorm(3).to(queue)
    gradient = sycl_dnn.grad(lambda v: F.sum(F.square(norm(v))))
    for call in (gradient, sycl_dnn.compile(gradient)):
        assert call(own).shape == own.shape
    group.barrier()

    tree = {"a": x, "b": [None, F.asarray(x + 1, dtype="bfloat16"), x[0] * 3], "c": double}
    for bucket_bytes in (0, 30, 1 << 20):
        result = dist.average_gradients(tree, bucket_bytes)
        close(result["a"], total / n)
        close(result["b"][2], total[0] * 3 / n)
        close(result["c"], total / n)
        assert result["b"][0] is None
        rounded = dpnp.asnumpy(result["b"][1].astype("float32"))
        np.testing.assert_allclose(rounded, total / n + 1, rtol=0.05, atol=0.05)
    print("buckets right")


main()
