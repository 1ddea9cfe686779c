# SPDX-License-Identifier: Apache-2.0
"""Layers split across ranks against whole ones: values, gradients, running statistics."""

import dpnp
import numpy as np

import sycl_dnn
from sycl_dnn import distributed as dist
from sycl_dnn import functional as F
from sycl_dnn import nn


def close(actual, want):
    np.testing.assert_allclose(dpnp.asnumpy(actual), dpnp.asnumpy(want), rtol=1e-4, atol=2e-5)


def loss(net, x):
    return F.mean(F.square(net(x)))


def check_products(group, queue):
    first, second = nn.Linear(6, 12).to(queue), nn.Linear(12, 4).to(queue)
    table = nn.Embedding(12, 6).to(queue)
    whole = nn.Sequential(table, first, nn.Tanh(), second)
    parts = nn.Sequential(
        dist.VocabularyParallelEmbedding.of(table), dist.ColumnParallelLinear.of(first), nn.Tanh(),
        dist.RowParallelLinear.of(second),
    )  # fmt: skip
    x = dpnp.asarray(np.random.default_rng(1).integers(0, 12, (3, 5)), sycl_queue=queue)
    close(parts(x), whole(x))
    value, want = sycl_dnn.value_and_grad(loss)(whole, x)
    for call in (sycl_dnn.value_and_grad(loss), sycl_dnn.compile(sycl_dnn.value_and_grad(loss))):
        found, actual = call(parts, x)
        close(found, value)
        n = 12 // group.size
        own = slice(group.rank * n, group.rank * n + n)
        close(actual[0].weight, want[0].weight[own])
        close(actual[1].weight, want[1].weight[own])
        close(actual[1].bias, want[1].bias[own])
        close(actual[3].weight, want[3].weight[:, own])
        close(actual[3].bias, want[3].bias)
    gathered = dist.ColumnParallelLinear.of(first, gather_output=True)
    y = table(x)
    close(gathered(y), first(y))
    dy = dpnp.ones((3, 5, 12), dtype="float32", sycl_queue=queue)
    pulls = [sycl_dnn.vjp(lambda v, f=f: f(v), y)[1] for f in (gathered, first)]
    close(*(pull(dy)[0] for pull in pulls))
    result = dist.ColumnParallelLinear(4, 2 * group.size, device=queue)
    assert result.weight.shape == (2, 4)
    assert dist.RowParallelLinear(2 * group.size, 4, device=queue).weight.shape == (4, 2)


def check_norm(group, queue):
    rng = np.random.default_rng(2)
    x = rng.standard_normal((4 * group.size, 3, 2, 2)).astype("f4") * 3 + 5
    dy = rng.standard_normal(x.shape).astype("f4")
    own = slice(4 * group.rank, 4 * group.rank + 4)
    whole = nn.BatchNorm2d(3).to(queue)
    whole.weight[...] = dpnp.asarray([1.0, 2.0, 3.0], dtype="float32", sycl_queue=queue)
    actual = nn.Sequential(nn.BatchNorm2d(3)).to(queue)
    actual[0].weight[...] = whole.weight
    actual = dist.SyncBatchNorm.convert(actual)
    assert isinstance(actual[0], dist.SyncBatchNorm)
    run = lambda net, x: sycl_dnn.vjp(lambda net, v: net(v), net, x)  # noqa: E731
    want, back = run(whole, dpnp.asarray(x, sycl_queue=queue))
    received, pull = run(actual, dpnp.asarray(x[own], sycl_queue=queue))
    close(received, want[own])
    expected, grads = (
        back(dpnp.asarray(dy, sycl_queue=queue)),
        pull(dpnp.asarray(dy[own], sycl_queue=queue)),
    )
    close(grads[1], expected[1][own])
    close(dist.all_reduce(grads[0][0].weight), expected[0].weight)
    close(actual[0].running_mean, whole.running_mean)
    close(actual[0].running_var, whole.running_var)
    assert float(actual[0].num_batches_tracked) == 1
    actual.eval(), whole.eval()
    close(actual(dpnp.asarray(x, sycl_queue=queue)), whole(dpnp.asarray(x, sycl_queue=queue)))


def main():
    group = dist.init(timeout=600, checking="always")
    sycl_dnn.manual_seed(0)
    check_products(group, group.queue)
    print("products right")
    check_norm(group, group.queue)
    print("norm right")


main()
