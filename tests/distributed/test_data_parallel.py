# SPDX-License-Identifier: Apache-2.0
"""Training in several processes equals training in one; features of a single process."""

import dpnp
import numpy as np
import pytest
from rank_jobs import needs_oneccl, run_ranks

from sycl_dnn import distributed as dist
from sycl_dnn import functional as F
from sycl_dnn import nn, optim, tree
from sycl_dnn.distributed.gradient_buckets import buckets


@pytest.fixture(scope="module")
def by_one(tmp_path_factory, in_ranks):
    """Return losses and parameters of a single process that runs operation by operation."""
    path = tmp_path_factory.mktemp("trained") / "one.npz"
    in_ranks(1, "trained_networks.py", "digits:eager gpt:eager lstm:eager", path)
    return np.load(path)


@needs_oneccl
@pytest.mark.parametrize(
    ("ranks", "cases"),
    [
        (2, "digits:wrapped digits:sharded gpt:wrapped gpt:compiled lstm:sharded lstm:compiled"),
        (4, "digits:compiled gpt:sharded lstm:wrapped"),
    ],
)
def test_ranks_train_like_one_process(ranks, cases, by_one, tmp_path, in_ranks):
    """The program itself compares the parameters of all ranks bit by bit."""
    path = tmp_path / "several.npz"
    in_ranks(ranks, "trained_networks.py", cases, path)
    found = np.load(path)
    for case in cases.split():
        alone = case.split(":")[0] + ":eager"
        losses, parameters = (found[f"{case}:{key}"] for key in ("losses", "parameters"))
        np.testing.assert_allclose(losses, by_one[f"{alone}:losses"], rtol=3e-6, err_msg=case)
        np.testing.assert_allclose(
            parameters, by_one[f"{alone}:parameters"], rtol=1e-4, atol=1e-5, err_msg=case
        )
        assert losses[-1] < losses[0], case


@needs_oneccl
def test_sharded_state_resumes_with_another_number_of_ranks(by_one, tmp_path, in_ranks):
    path, file, losses = tmp_path / "part.npz", tmp_path / "state.safetensors", []
    for ranks, first, end in ((2, 0, 4), (4, 4, 8), (1, 8, 12)):
        in_ranks(ranks, "trained_networks.py", "digits:sharded", path, first, end, file)
        found = np.load(path)
        losses.extend(found["digits:sharded:losses"])
    np.testing.assert_allclose(losses, by_one["digits:eager:losses"], rtol=3e-6)
    parameters = by_one["digits:eager:parameters"]
    np.testing.assert_allclose(found["digits:sharded:parameters"], parameters, rtol=1e-4, atol=1e-5)


@needs_oneccl
def test_a_job_that_lost_a_rank_resumes_from_its_last_checkpoint(tmp_path):
    def last_words(file, dying, *options):
        lines = run_ranks(2, "restarted_training.py", tmp_path / file, dying, options=options)
        return next(line for line in lines if "began at" in line).partition("began at ")[2].split()

    begun, *whole = last_words("whole.safetensors", 0)
    again, *resumed = last_words("lost.safetensors", 3, "--max-restarts", "1")
    assert (begun, again) == ("0", "3")
    assert resumed == whole


def sizes(*shapes, dtype="float32"):
    return [None if s is None else dpnp.zeros(s, dtype=dtype) for s in shapes]


def test_buckets_hold_the_last_arrays_first():
    arrays = sizes(10, 20, None, 5, 100, 1)
    assert list(buckets(arrays, 120)) == [[5], [4], [3, 1], [0]]
    assert list(buckets(arrays, 0)) == [[5], [4], [3], [1], [0]]
    assert list(buckets(arrays, 1 << 20)) == [[5, 4, 3, 1, 0]]
    mixed = [*sizes(2), F.zeros(3, dtype="bfloat16"), *sizes(4)]
    assert list(buckets(mixed, 1 << 20)) == [[2, 0], [1]]


def test_averages_refuse_arrays_without_a_mean():
    with pytest.raises(TypeError, match="grads must be floating-point, got int32"):
        dist.average_gradients({"a": dpnp.ones(2, dtype="int32")})
    with pytest.raises(ValueError, match="bucket_bytes must not be negative"):
        dist.average_gradients({}, -1)


def test_parts_of_the_data():
    assert dist.own_part(4).tolist() == [0, 1, 2, 3]
    first, second = (dist.own_part(50, seed=3, epoch=e) for e in (0, 1))
    assert sorted(first) == sorted(second) == list(range(50))
    assert list(first) != list(second)
    batches = list(dist.own_batches(10, 4, seed=5))
    assert [len(b) for b in batches] == [4, 4]
    assert len(set(np.concatenate(batches))) == 8
    with pytest.raises(ValueError, match="n must be at least 1"):
        dist.own_part(0)


def test_a_sharded_optimizer_on_one_rank_equals_the_optimizer():
    params = {"w": F.ones(3, 5), "b": F.ones(2), "h": F.ones(3, dtype="bfloat16")}
    grads = tree.map(lambda p: F.mul(p, 0.5), params)
    chosen = {"groups": [(lambda name: name == "b", {"lr": 0.5})], "max_norm": 0.7}
    plain, opt = (optim.AdamW(0.1, **chosen) for _ in range(2))
    sharded = dist.ShardedOptimizer(opt)
    states = [plain.init(params), sharded.init(params)]
    results = [params, params]
    for lr in (None, 0.3, None):
        for i, way in enumerate((plain, sharded)):
            results[i], states[i] = way.update(grads, states[i], results[i], lr=lr)
    for a, b in zip(*map(tree.leaves, results), strict=True):
        a, b = (dpnp.asnumpy(v.astype("float32")) for v in (a, b))
        np.testing.assert_allclose(a, b, rtol=1e-6)
    whole = sharded.whole_state(states[1], params)
    assert tree.names(whole) == tree.names(states[0])
    again = sharded.own_state(whole, params)
    assert tree.names(again) == tree.names(states[1])


@needs_oneccl
def test_a_sharded_optimizer_shards_rows_with_empty_parameters(in_ranks):
    lines = in_ranks(3, "empty_parameters.py")
    assert sorted(lines) == [f"[{rank}] 5 right" for rank in range(3)]


@needs_oneccl
def test_ranks_do_not_go_different_ways(in_ranks):
    lines = in_ranks(2, "disagreements.py")
    assert len(lines) == 20
    assert all(line.endswith(" right") for line in lines)


def test_a_sharded_optimizer_refuses_unshardable_states():
    with pytest.raises(TypeError, match="Muon reads whole arrays"):
        dist.ShardedOptimizer(optim.Muon(0.1))
    opt, params = dist.ShardedOptimizer(optim.SGD(0.1)), {"w": F.ones(3), "v": F.ones(2)}
    with pytest.raises(ValueError, match="v must have a gradient, got None"):
        opt.update({"w": F.ones(3), "v": None}, opt.init(params), params)


def test_parallel_modules_on_one_rank_equal_ordinary_ones():
    net = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Linear(6, 2))
    x = dpnp.asarray(np.random.default_rng(0).standard_normal((5, 4)), dtype="float32")
    expected = dpnp.asnumpy(net(x))
    parts = nn.Sequential(
        dist.ColumnParallelLinear.of(net[0]), dist.SyncBatchNorm.convert(net[1]),
        dist.RowParallelLinear.of(net[2]),
    )  # fmt: skip
    np.testing.assert_allclose(dpnp.asnumpy(dist.DataParallel(parts)(x)), expected, rtol=1e-5)
    assert "ranks=1" in repr(parts)
