# SPDX-License-Identifier: Apache-2.0
"""Situations in which ranks could go different ways, against one process with everything."""

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import distributed as dist
from sycl_dnn import functional as F
from sycl_dnn import nn, optim, tree

RNG = np.random.default_rng(0)


def close(actual, want):
    np.testing.assert_allclose(dpnp.asnumpy(actual), dpnp.asnumpy(want), rtol=1e-5, atol=1e-6)


def all_close(actual, want):
    for a, b in zip(tree.leaves(actual), tree.leaves(want), strict=True):
        close(a, b)


def equal_on_ranks(group, array):
    return len(set(group.exchange("equal", dpnp.asnumpy(array).tobytes(), "comparing"))) == 1


def array(group, values, dtype="float32"):
    return dpnp.asarray(values, dtype=dtype, sycl_queue=group.queue)


def own(group, n):
    return slice(group.rank * n // group.size, (group.rank + 1) * n // group.size)


def check_drawn_layers(group):
    """Equal seeds give parts of one layer, not copies of one part."""
    options = {"device": group.queue}
    kinds = [
        (nn.Linear, dist.ColumnParallelLinear, lambda w: w[own(group, 6)]),
        (nn.Linear, dist.RowParallelLinear, lambda w: w[:, own(group, 6)]),
        (nn.Embedding, dist.VocabularyParallelEmbedding, lambda w: w[own(group, 6)]),
    ]
    for whole, part, of in kinds:
        drawn = []
        for kind in (whole, part):
            sycl_dnn.manual_seed(3)
            drawn.append(kind(6, 6, **options))
        close(drawn[1].weight, of(drawn[0].weight))
    sycl_dnn.manual_seed(group.rank)
    assert equal_on_ranks(group, dist.RowParallelLinear(6, 6, **options).bias)


def check_parts_of_layers(group):
    """Parts do what the layer does: padding, frequencies, indices out of range, frozen arrays."""
    sycl_dnn.manual_seed(0)
    table = nn.Embedding(6, 3, padding_idx=4, scale_grad_by_freq=True, device=group.queue)
    part = dist.VocabularyParallelEmbedding.of(table)
    x = array(group, [4, 1, 1, -1, 5, 9, 5], "int32")
    close(part(x), table(x))
    gradient = sycl_dnn.grad(lambda net, x: F.sum(net(x)))
    close(gradient(part, x).weight, gradient(table, x).weight[own(group, 6)])
    frozen = nn.Linear(4, 4, device=group.queue).freeze(lambda name: name == "bias")
    for kind in (dist.ColumnParallelLinear, dist.RowParallelLinear):
        trained = [name for name, _ in kind.of(frozen).named_parameters(trainable=True)]
        assert trained == ["weight"]
    with pytest.raises(TypeError, match=r"VocabularyParallelEmbedding.of: the layer must be a pl"):
        dist.VocabularyParallelEmbedding.of(nn.EmbeddingBag(6, 3))
    with pytest.raises(TypeError, match=r"ColumnParallelLinear.of: the layer must be a plain"):
        dist.ColumnParallelLinear.of(nn.utils.weight_norm(nn.Linear(4, 4)))


def check_norms_of_parts(group):
    """Gradients are clipped by one norm on all ranks, or replicated parameters would differ."""
    sycl_dnn.manual_seed(0)
    first, second = (nn.Linear(*n, device=group.queue) for n in ((4, 6), (6, 2)))
    whole = nn.Sequential(first, nn.Tanh(), second)
    parts = nn.Sequential(
        dist.ColumnParallelLinear.of(first), nn.Tanh(), dist.RowParallelLinear.of(second)
    )
    x = array(group, RNG.standard_normal((5, 4)))
    gradient = sycl_dnn.grad(lambda net, x: F.sum(F.square(net(x))))
    want, found = gradient(whole, x), gradient(parts, x)
    for norm_type in (2.0, 1.0, float("inf"), float("-inf")):
        close(*(optim.global_norm(g, norm_type) for g in (found, want)))
    close(nn.utils.get_total_norm({"net": found}), optim.global_norm(want))
    replicas = group.split(group.rank)
    for compiles in (False, True):
        for make in (lambda o: o, lambda o: dist.ShardedOptimizer(o, replicas)):
            plain, opt = optim.SGD(0.1, max_norm=0.5), make(optim.SGD(0.1, max_norm=0.5))
            update = sycl_dnn.compile(opt.update) if compiles else opt.update
            new, _ = update(found, opt.init(parts), parts)
            moved, _ = plain.update(want, plain.init(whole), whole)
            close(new[2].bias, moved[2].bias)
            close(new[0].weight, moved[0].weight[own(group, 6)])
    scaler = optim.GradScaler(init_scale=8.0)
    if group.rank == 1:
        found[0].weight[0, 0] = float("inf")
    _, is_finite = scaler.unscale(found, scaler.init(group.queue))
    assert not bool(is_finite)
    for function in (
        dist.DataParallel, dist.average_gradients, dist.ShardedOptimizer(optim.SGD(0.1)).init
    ):  # fmt: skip
        with pytest.raises(ValueError, match="ranks of group world have different parts"):
            function(parts)
    for rule in (optim.LAMB, optim.LBFGS):
        with pytest.raises(TypeError, match=f"{rule.__name__}: params must not have tensor para"):
            rule(0.1).init(parts)


def check_gradients_of_gradients(group):
    """A penalty on the gradient of the input, in which partitioned layers appear twice."""
    sycl_dnn.manual_seed(0)
    layers = [nn.Linear(*n, device=group.queue) for n in ((4, 6), (6, 4), (4, 2))]
    first, second, third = layers
    parts = nn.Sequential(
        dist.ColumnParallelLinear.of(first), nn.Tanh(), dist.RowParallelLinear.of(second),
        dist.ColumnParallelLinear.of(third, gather_output=True),
    )  # fmt: skip
    whole = nn.Sequential(first, nn.Tanh(), second, third)
    x = array(group, RNG.standard_normal((5, 4)))

    def penalty(net, x):
        inner = sycl_dnn.grad(lambda net, x: F.sum(F.square(net(x))), argnums=1)
        return F.sum(F.square(inner(net, x)))

    want, found = (sycl_dnn.grad(penalty, argnums=(0, 1))(net, x) for net in (whole, parts))
    close(found[1], want[1])
    close(found[0][0].weight, want[0][0].weight[own(group, 6)])
    close(found[0][2].weight, want[0][2].weight[:, own(group, 6)])
    close(found[0][2].bias, want[0][2].bias)
    close(found[0][3].weight, want[0][3].weight[own(group, 2)])


def check_sharded_steps(group):
    """Decay masks see parameters, overflow on one rank is known to all, shapes and ties matter."""
    params = {"w": array(group, RNG.standard_normal((3, 5))), "b": array(group, [1.0, 2.0])}
    options = {"weight_decay": 0.5, "decay_mask": lambda name, p: p.ndim > 1}
    plain, opt = optim.AdamW(0.1, **options), dist.ShardedOptimizer(optim.AdamW(0.1, **options))
    want, state, plain_state, found = params, opt.init(params), plain.init(params), params
    for _ in range(3):
        want, plain_state = plain.update(params, plain_state, want)
        found, state = opt.update(params, state, found)
    all_close(found, want)
    with pytest.raises(ValueError, match=r"the gradient of w must have shape \(3, 5\)"):
        opt.update({"w": params["w"].T, "b": params["b"]}, state, params)
    one, other = (nn.Linear(3, 3, device=group.queue) for _ in range(2))
    other.weight = one.weight
    with pytest.raises(ValueError, match=r"params has one array as a.weight and as b.weight"):
        opt.init({"a": one, "b": other})

    scaler, grads = optim.GradScaler(init_scale=8.0), dict(params)
    if group.rank == 1:
        grads["b"] = array(group, [1.0, float("inf")])
    for update in (scaler.update, sycl_dnn.compile(scaler.update)):
        scale = scaler.init(group.queue)
        new, _, scale = update(opt, grads, opt.init(params), params, scale)
        all_close(new, params)
        assert float(scale["scale"]) == 4.0


def check_conversions(group):
    """Synchronized layers are what the converted ones were."""
    shared = nn.BatchNorm2d(3).freeze(lambda name: name == "weight")
    net = nn.Sequential(shared, nn.InstanceNorm2d(3, track_running_stats=True), shared)
    net = dist.SyncBatchNorm.convert(net)
    assert isinstance(net[0], dist.SyncBatchNorm)
    assert net[2] is net[0]
    assert isinstance(net[1], nn.InstanceNorm2d)
    assert [name for name, _ in net.named_parameters(trainable=True)] == ["0.bias"]

    class Own(nn.BatchNorm2d):
        def forward(self, input):
            return F.relu(super().forward(input))

    with pytest.raises(TypeError, match="Own is not a plain batch normalization"):
        dist.SyncBatchNorm.convert(nn.Sequential(Own(3)))
    double = {"device": group.queue, "dtype": "float64"}
    x = array(group, RNG.standard_normal((8, 3)) + 1e6, "float64")
    alone, together = nn.BatchNorm1d(3, **double), dist.SyncBatchNorm(3, **double)
    close(together(x[own(group, 8)]), alone(x)[own(group, 8)])
    close(together.running_var, alone.running_var)


def check_few_values(group):
    """One value per channel over all ranks is refused by all of them, as by one."""
    norm = dist.SyncBatchNorm(3).to(group.queue)
    step = sycl_dnn.grad(lambda net, x: F.sum(F.square(net(x))))
    forward = sycl_dnn.compile(lambda net, x: net(x))
    for run in (norm, lambda x: step(norm, x), lambda x: forward(norm, x)):
        for n in (0, group.rank):
            with pytest.raises(ValueError, match="more than 1 value per channel over all ranks"):
                run(array(group, np.ones((n, 3))))
    alone, x = nn.BatchNorm1d(3).to(group.queue), array(group, RNG.standard_normal((2, 3)))
    for rows in (own(group, 2), slice(0, 2 * group.rank)):
        close(norm(x[rows]), alone(x)[rows])
        close(norm.running_var, alone.running_var)


def check_equal_sizes(group):
    """Ranks with other arrays of the same size are told apart."""
    x, rank = array(group, RNG.standard_normal((2, 3))), group.rank
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2)).to(group.queue)
    wrapped = dist.DataParallel(net)
    net[rank].freeze()
    params = {"ab"[rank]: x}
    for call in (
        lambda: dist.all_reduce(x.T if rank else x), lambda: dist.all_gather(x.T if rank else x),
        lambda: dist.average_gradients({"a": x if rank else None, "b": None if rank else x}),
        lambda: sycl_dnn.grad(lambda net, x: F.sum(net(x)))(wrapped, x[:, :2]),
        lambda: dist.ShardedOptimizer(optim.SGD(0.1)).update(params, {"step": x[0, 0]}, params),
    ):  # fmt: skip
        with pytest.raises(dist.MismatchError, match=r"elements"):
            call()


def check_captured_results(group):
    """Compiled functions see what collectives write to the weights that they capture."""
    x = array(group, np.ones((4, 64)))

    def sent(weight):
        dist.send(weight, 1) if group.rank == 0 else dist.recv(weight, 0)

    for write in (
        sent,
        lambda w: dist.broadcast([w], out=[w]),
        lambda w: dist.all_reduce(w, out=w),
    ):
        sycl_dnn.manual_seed(group.rank)
        net = nn.Sequential(nn.Linear(64, 64), nn.BatchNorm1d(64)).to(group.queue).eval()
        compiled = sycl_dnn.compile(net)
        compiled(x), compiled(x)
        write(net[0].weight)
        np.testing.assert_allclose(*map(dpnp.asnumpy, (compiled(x), net(x))), rtol=1e-3, atol=1e-4)


def check_narrow_means(group):
    x = array(group, [60000.0, -6e-8], "float16")

    def mean(x):
        return dist.all_reduce(x, "mean")

    for function in (
        mean, sycl_dnn.compile(mean), lambda x: dist.all_reduce(x, "mean", dpnp.empty_like(x)),
        lambda x: dist.reduce(x, op="mean"), dist.average_gradients,
        lambda x: dist.all_gather(dist.reduce_scatter(x, "mean")),
    ):  # fmt: skip
        result = function(x)
        assert (dpnp.asnumpy(result) == dpnp.asnumpy(x)).all()
        assert result.dtype == x.dtype


def main():
    group = dist.init(timeout=600, checking="always")
    for check in (
        check_drawn_layers, check_parts_of_layers, check_norms_of_parts,
        check_gradients_of_gradients, check_sharded_steps,
        check_conversions, check_few_values, check_equal_sizes, check_captured_results,
        check_narrow_means,
    ):  # fmt: skip
        check(group)
        print(f"{check.__name__} right")


main()
