# SPDX-License-Identifier: Apache-2.0
"""``Batches`` and ``Metrics``: rows stay together, order by seed; means equal NumPy's."""

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import data
from sycl_dnn import functional as F


def arrays(kind):
    x, y = np.arange(22, dtype="f4").reshape(11, 2), np.arange(11)
    if kind == "numpy":
        return {"x": x, "y": y}
    x, y = (dpnp.asarray(v, sycl_queue=sycl_dnn.default_queue()) for v in (x, y))
    return {"x": F.astype(x, "bfloat16") if kind == "bfloat16" else x, "y": y}


def rows(batches):
    results = []
    for batch in batches:
        x, y = (v.asnumpy() if hasattr(v, "asnumpy") else v for v in (batch["x"], batch["y"]))
        np.testing.assert_array_equal(x[:, 0], 2 * y)
        results.append(y.tolist())
    return results


@pytest.mark.parametrize("kind", ["numpy", "dpnp", "bfloat16"])
def test_rows_stay_together_and_appear_exactly_once(kind):
    provided = arrays(kind)
    assert rows(data.Batches(provided, 4)) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10]]
    shuffled = data.Batches(provided, 4, shuffle=True, seed=3)
    first, second = rows(shuffled), rows(shuffled)
    assert first != second
    assert shuffled.epoch == 2
    for epoch in (first, second):
        assert [len(batch) for batch in epoch] == [4, 4, 3]
        assert sorted(sum(epoch, [])) == list(range(11))
    # The order depends on the seed and the epoch alone, on all devices.
    again = data.Batches(arrays("numpy"), 4, shuffle=True, seed=3)
    again.epoch = 1
    assert rows(again) == second
    whole = data.Batches(provided, 4, drop_last=True)
    assert [len(batch) for batch in rows(whole)] == [4, 4]
    assert (len(whole), len(shuffled)) == (2, 3)


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("kind", ["numpy", "dpnp", "bfloat16"])
def test_writes_to_batches_do_not_change_the_arrays(kind, shuffle):
    provided = arrays(kind)
    for batch in data.Batches(provided, 4, shuffle=shuffle):
        for name in batch:
            batch[name][...] = 0
    assert sum(rows([provided]), []) == list(range(11))


def test_without_a_seed_orders_follow_manual_seed():
    matches = []
    for _ in range(2):
        sycl_dnn.manual_seed(5)
        batches = data.Batches(arrays("numpy"), 3, shuffle=True)
        matches.append([rows(batches), rows(batches)])
    assert matches[0] == matches[1]
    assert matches[0][0] != matches[0][1]


def test_batches_can_be_prefetched():
    for kind in ("numpy", "dpnp"):
        batches = data.Batches(arrays(kind), 4, shuffle=True, seed=1)
        expected = rows(batches)
        batches.epoch = 0
        assert rows(data.Prefetcher(batches)) == expected


def test_means_equal_numpy_for_any_number_of_values():
    rng = np.random.default_rng(0)
    losses = rng.standard_normal(300).astype("f4")
    weights = rng.integers(1, 9, 300)
    metrics, plain = data.Metrics(), data.Metrics()
    result = dpnp.asarray(losses, sycl_queue=sycl_dnn.default_queue())
    for number in range(300):
        metrics.add(weight=int(weights[number]), loss=result[number])
        plain.add(loss=result[number : number + 1], fixed=2)
    assert metrics.result()["loss"] == pytest.approx(np.average(losses, weights=weights), rel=1e-5)
    found = plain.result(reset=True)
    assert found == {"loss": pytest.approx(losses.mean(), rel=1e-5), "fixed": 2.0}
    # 300 values are four sums of 64 and a remainder.
    assert [len(level) for level in metrics._sums["loss"].levels] == [300 % 64, 4]
    assert plain.result() == {}


def test_nonfinite_values_are_kept():
    metrics = data.Metrics()
    metrics.add(loss=F.full((), float("nan")))
    assert np.isnan(metrics.result()["loss"])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: data.Batches((np.ones(3), np.ones(4)), 2), "same number of rows, got {'0': 3"),
        (lambda: data.Batches({"x": 3}, 2), r"x must be an array \(N, \*\), got int"),
        (lambda: data.Batches(np.ones(3), 0), "batch_size must be at least 1, got 0"),
        (lambda: data.Batches([], 2), "same number of rows, got {}"),
        (lambda: data.Metrics().add(loss=F.ones(3)), r"loss must be one number, got shape \(3,\)"),
    ],
)
def test_wrong_use_is_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()
