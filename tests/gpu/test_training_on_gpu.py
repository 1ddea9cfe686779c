# SPDX-License-Identifier: Apache-2.0
"""Training on a GPU: modules, optimizers, loss scales, caches, data; values as on the CPU."""

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import data, nn, optim
from sycl_dnn import functional as F


@pytest.fixture
def close(has_values):
    def check(actual, expected, tolerance=1e-4):
        actual, expected = (dpnp.asnumpy(F.astype(v, "float32")) for v in (actual, expected))
        assert actual.shape == expected.shape
        if has_values:
            np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)

    return check


def pair(make, gpu, cpu):
    """Return a module on the GPU and the same on the CPU."""
    net = make()
    values = {n: dpnp.asnumpy(v) for n, v in net.state_dict().items()}
    twin = make().to(cpu)
    twin.load_state_dict(values)
    return net.to(gpu), twin


def inputs(gpu, cpu, *shape):
    x = np.random.default_rng(0).standard_normal(shape).astype("f4")
    return [dpnp.asarray(x, sycl_queue=queue) for queue in (gpu, cpu)]


def test_a_scaled_step_of_a_normalized_net(gpu, cpu, close, has_values):
    def network():
        net = nn.Sequential(nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU())
        return net.append(nn.Flatten()).append(nn.utils.weight_norm(nn.Linear(144, 3)))

    def loss(net, x):
        return F.mean(F.square(net(x)))

    opt, scaler = optim.AdamW(1e-3, max_norm=1.0), optim.GradScaler()

    @sycl_dnn.compile
    def step(net, state, scale, x):
        value, grads = sycl_dnn.value_and_grad(lambda net: scaler.scale(loss(net, x), scale))(net)
        nn.utils.clip_grad_norm_(grads, 1e6)
        return value, *scaler.update(opt, grads, state, net, scale)

    results = []
    for net, x in zip(pair(network, gpu, cpu), inputs(gpu, cpu, 4, 2, 6, 6), strict=True):
        queue = x.sycl_queue
        value, net, state, scale = step(net, opt.init(net), scaler.init(queue), x)
        results.append((value, net, state))
        assert net[4].weight_g.sycl_queue == queue
        if has_values:
            assert float(state["step"]) == float(scale["growth_tracker"]) == 1
    (value, net, _), (expected, twin, _) = results
    close(value, expected, 1e-3)
    for name, p in net.state_dict().items():
        close(p, twin.state_dict()[name], 1e-3)


def test_packed_sequences_and_cells(gpu, cpu, close):
    own, twin = pair(lambda: nn.LSTM(3, 4, bidirectional=True), gpu, cpu)
    x, y = inputs(gpu, cpu, 5, 2, 3)
    actual, expected = (
        net(nn.utils.rnn.pack_padded_sequence(v, [2, 5], enforce_sorted=False))
        for net, v in ((own, x), (twin, y))
    )
    close(actual[0].data, expected[0].data)
    for a, b in zip(actual[1], expected[1], strict=True):
        close(a, b)
    own, twin = pair(lambda: nn.GRUCell(3, 4), gpu, cpu)
    close(own(x[0]), twin(y[0]))


def test_generation_with_a_cache(gpu, cpu, close):
    own, twin = pair(lambda: nn.MultiheadAttention(8, 2, batch_first=True), gpu, cpu)
    x, y = inputs(gpu, cpu, 1, 4, 8)
    step = sycl_dnn.compile(lambda net, x, cache: net.step(x, cache))
    cache, other = own.new_cache(1, 6), twin.new_cache(1, 6)
    assert cache.keys.sycl_queue == gpu
    for first, n in ((0, 3), (3, 1)):
        actual, cache = step(own, x[:, first : first + n], cache)
        expected, other = step(twin, y[:, first : first + n], other)
        close(actual, expected)


def test_batches_come_to_the_gpu_and_files_back(gpu, tmp_path, has_values):
    values = np.arange(12, dtype="f4").reshape(6, 2)
    found = list(data.Prefetcher(data.Batches(values, 4), device=gpu))
    assert [batch.shape for batch in found] == [(4, 2), (2, 2)]
    assert all(batch.sycl_queue == gpu for batch in found)
    metrics = data.Metrics()
    for batch in found:
        metrics.add(total=F.sum(batch))
    path = tmp_path / "run.npz"
    net = nn.Linear(2, 3).to(gpu)
    sycl_dnn.save_checkpoint(path, net=net, batch=found[0])
    again = sycl_dnn.load_checkpoint(path, net=nn.Linear(2, 3).to(gpu), batch=found[0])
    assert again["net"].weight.sycl_queue == gpu
    if has_values:
        assert metrics.result() == {"total": 33.0}
        np.testing.assert_array_equal(dpnp.asnumpy(found[0]), values[:4])
        np.testing.assert_array_equal(dpnp.asnumpy(again["batch"]), values[:4])
