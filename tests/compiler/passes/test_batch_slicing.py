# SPDX-License-Identifier: Apache-2.0
"""Batches whose values exceed the cache run through their steps slice by slice."""

import pytest
from comparing import assert_same, compiled_as_eager

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn.compiler.passes import batch_slicing

pytestmark = pytest.mark.cpu  # batches are cut for the caches of CPUs

TOLERANCE = {None: 2e-5, "bfloat16": 5e-2}


@pytest.fixture
def small_cache(monkeypatch):
    """Make the assumed cache so small that small examples exceed it."""
    monkeypatch.setattr(batch_slicing, "cache_bytes", lambda device: 64 << 10)


def _times(report):
    return [p.times for p in report.parts]


def _block(make, channels=16):
    w = [make(channels, channels, 1, 1), make(channels, 1, 3, 3), make(channels, channels, 1, 1)]
    b = make(channels)

    def function(x):
        y = F.relu(F.conv2d(x, w[0], b))
        y = F.relu(F.conv2d(y, w[1], padding=1, groups=channels))
        return F.relu(F.conv2d(y, w[2], b) + x) * 0.5

    return function


@pytest.mark.parametrize("dtype", [None, "bfloat16"])
@pytest.mark.parametrize(("batch", "times"), [(8, 8), (12, 12), (5, 5)])
@pytest.mark.sweep(2)
def test_slicing_gives_equal_results_in_less_memory(batch, times, dtype, small_cache, make):
    function, x = _block(make), make(batch, 16, 24, 24)
    options, passes = {"dtype": dtype, "tolerance": TOLERANCE[dtype]}, {"run_on_host": False}
    report = compiled_as_eager(function, x, **options, passes=passes)
    whole = compiled_as_eager(function, x, **options, passes={"slice_batches": False, **passes})
    assert max(_times(report)) == times, str(report)
    assert f"x {times} parts of the batch" in str(report)
    assert set(_times(whole)) == {1}
    assert report.arena_bytes < whole.arena_bytes
    assert len(report.parts) == len(whole.parts)
    assert report.n_steps == sum(_times(report)) > whole.n_steps


def test_parts_are_as_large_as_the_cache_allows(monkeypatch, make):
    monkeypatch.setattr(batch_slicing, "cache_bytes", lambda device: 1 << 20)
    report = compiled_as_eager(_block(make), make(12, 16, 24, 24))
    assert max(_times(report)) in (4, 6), str(report)


@pytest.mark.parametrize(("batch", "sizes"), [(13, [4, 4, 4, 1]), (11, [4, 4, 3]), (12, [4] * 3)])
def test_the_last_part_may_be_shorter(batch, sizes, monkeypatch, make):
    # Three quarters of a step's values fit, of four images.
    monkeypatch.setattr(batch_slicing, "cache_bytes", lambda device: 4 * (4 * 2 * 16 * 24 * 24 * 4))
    function, x = _block(make), make(batch, 16, 24, 24)
    report = compiled_as_eager(function, x)
    assert max(_times(report)) == len(sizes), str(report)
    plan = sycl_dnn.compile(function)._program((x,), {})
    cut = [n for n in plan.graph.nodes if n.part[1] > 1]
    result = {n.part[0]: n.dst.desc.dims[0] for n in cut}
    assert [result[i] for i in range(len(sizes))] == sizes


@pytest.mark.parametrize(
    ("batch", "most", "size"),
    [(397, 13, 13), (397, 1, 1), (12, 5, 4), (12, 100, 6), (2, 1, 1), (14, 6, 5), (5, 4, 3)],
)
def test_parts_are_even_or_nearly_of_the_maximum_size(batch, most, size):
    found = batch_slicing.size_of_parts(batch, most)
    assert found == size
    assert -(-batch // found) <= 2 * -(-batch // most)


@pytest.mark.slow
def test_a_prime_batch_is_not_split_into_single_images(monkeypatch, make):
    # Three quarters of a step's values fit, of 13 images.
    monkeypatch.setattr(batch_slicing, "cache_bytes", lambda device: 4 * (13 * 2 * 16 * 8 * 8 * 4))
    report = compiled_as_eager(_block(make), make(397, 16, 8, 8))
    assert max(_times(report)) == -(-397 // 13), str(report)
    assert sum(n for n in _times(report) if n > 1) == 3 * 31


def test_one_image_and_small_batches_stay_whole(small_cache, make):
    function = _block(make)
    assert set(_times(compiled_as_eager(function, make(1, 16, 24, 24)))) == {1}
    assert set(_times(compiled_as_eager(function, make(2, 16, 4, 4)))) == {1}


@pytest.mark.slow
def test_values_needed_elsewhere_are_written_whole(small_cache, make):
    function = _block(make)

    def two(x):
        y = function(x)
        z = F.max_pool2d(F.relu(F.interpolate(y, scale_factor=2)), 2)
        return y, z, F.mean(z, (2, 3)), F.softmax(y, 0)

    report = compiled_as_eager(two, make(8, 16, 24, 24))
    assert max(_times(report)) == 8, str(report)


@pytest.mark.slow
def test_statistics_over_the_batch_are_not_sliced(small_cache, make):
    def function(x):
        y = F.relu(F.max_pool2d(x, 3, 1, 1))
        return F.relu(F.max_pool2d(F.batch_norm(y, None, None, training=True), 3, 1, 1))

    report = compiled_as_eager(function, make(8, 16, 24, 24), tolerance=1e-4)
    assert all(p.times == 1 for p in report.parts if p.row.startswith("batch_norm"))


def test_channels_as_many_as_the_batch(small_cache, make):
    w, c = make(8, 8, 3, 3), make(8, 1, 1)
    function = lambda x: F.relu(F.conv2d(F.relu(F.conv2d(x, w, padding=1)), w, padding=1) * c)  # noqa: E731
    compiled_as_eager(function, make(8, 8, 40, 40))


def test_integers_in_parts(small_cache, make):
    function, x = _block(make), make(8, 16, 24, 24)
    result, accuracy = sycl_dnn.quantize(sycl_dnn.compile(function), [x])
    whole = sycl_dnn.compile(function, passes={"slice_batches": False})
    assert accuracy[0].relative < 0.05
    assert max(_times(result.explain(x))) > 1, str(result.explain(x))
    assert_same(result(x), sycl_dnn.quantize(whole, [x])[0](x), 1e-5)


def test_another_batch_size_is_sliced_separately(small_cache, make):
    function = _block(make)
    compiled = sycl_dnn.compile(function)
    for batch in (8, 3, 8, 1):
        x = make(batch, 16, 24, 24)
        assert_same(compiled(x), function(x))
    out = function(make(8, 16, 24, 24))
    x = make(8, 16, 24, 24)
    assert compiled(x, out=out) is out
    assert_same(out, function(x))


@pytest.mark.slow
def test_depthwise_convolutions_are_sliced_with_those_around_them(make, monkeypatch):
    monkeypatch.setattr(batch_slicing, "cache_bytes", lambda device: 2 << 20)
    w, d = make(96, 16, 1, 1) / 4, make(96, 1, 3, 3) / 3
    after = make(16, 96, 1, 1) / 10

    def function(x):
        y = F.relu(F.conv2d(F.relu(F.max_pool2d(x, 3, 1, 1)), w))
        return F.relu(F.conv2d(F.relu(F.conv2d(y, d, stride=2, padding=1, groups=96)), after))

    report = compiled_as_eager(function, make(12, 16, 112, 112))
    assert [p for p in report.parts if p.times > 1], str(report)


def test_in_place_results_are_not_sliced(small_cache, make):
    w = make(16, 16, 3, 3) / 12
    function = lambda x: F.conv2d(F.relu(F.max_pool2d(x, 3, 1, 1)), w, padding=1)  # noqa: E731
    x = make(8, 16, 24, 24)
    expected = function(x)
    compiled = sycl_dnn.compile(function)
    assert compiled(x, out=x) is x
    assert_same(x, expected)
