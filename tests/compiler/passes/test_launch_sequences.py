# SPDX-License-Identifier: Apache-2.0
"""Kernels of OpenCL C that follow each other are launched once, and compute the same."""

from collections import OrderedDict

import dpnp
import numpy as np
import pytest
from in_threads import in_threads

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn.compiler.passes import launch_sequences
from sycl_dnn.kernels import building, launches_in_sequence, launching
from sycl_dnn.kernels.attention_to_slots import Scores
from sycl_dnn.kernels.launches_in_sequence import Launch, Source, facts_of, sequence_source
from sycl_dnn.llm.cached_attention import cached_attention
from sycl_dnn.llm.key_value_slots import Places
from sycl_dnn.llm.packed_matrices import packed_linears
from sycl_dnn.nn.key_value_cache import slots_from

#: Rows and columns of matrices in blocks of "Q8_0", each of which reads what another one makes.
SIZES = [(96, 64), (32, 96), (160, 32), (64, 160), (7, 64)]


def blocks(n, k, seed):
    """Return the matrix with small numbers in blocks."""
    rng = np.random.default_rng(seed)
    result = rng.integers(-128, 128, (n, k // 32, 34)).astype("i1")
    result[..., :2] = np.full((n, k // 32, 1), 0.01, "f2").view("i1")
    return dpnp.asarray(result.reshape(n, -1).view("u1"))


@pytest.fixture(scope="module")
def matrices():
    return [blocks(n, k, seed) for seed, (n, k) in enumerate(SIZES)]


def chain(x, matrices):
    """Return all products."""
    result = []
    for matrix in matrices:
        result.append(packed_linears(result[-1] if result else x, [matrix], "Q8_0")[0])
    return result


def compiled(is_on=True, function=chain, donate=()):
    return sycl_dnn.compile(function, passes={"launch_sequences": is_on}, donate=donate)


@pytest.fixture(params=[1, 2, 7], ids=lambda n: f"{n} processors")
def processors(request, monkeypatch):
    monkeypatch.setattr(launch_sequences, "units", lambda _: request.param)


def test_one_launch_computes_what_many_do(matrices, processors):
    x = F.randn(3, 64)
    one, many = compiled(), compiled(False)
    report = one.explain(x, matrices)
    assert [part.row for part in report.parts] == [launches_in_sequence.NAME]
    assert many.explain(x, matrices).n_steps == len(SIZES)
    for _ in range(50):
        x = F.add(x, 1.0)
        for a, b in zip(one(x, matrices), many(x, matrices), strict=True):
            np.testing.assert_array_equal(dpnp.asnumpy(a), dpnp.asnumpy(b))


def test_a_group_that_waits_leaves_the_rest_to_others(matrices, monkeypatch):
    text = launches_in_sequence._DRIVER.replace(str(launches_in_sequence._PATIENCE), "1")
    monkeypatch.setattr(launches_in_sequence, "_DRIVER", text)
    monkeypatch.setattr(launch_sequences, "units", lambda _: 4)
    sequence_source.cache_clear()
    x, one = F.randn(2, 64), compiled()
    expected = [dpnp.asnumpy(y) for y in compiled(False)(x, matrices)]
    for _ in range(200):
        result = one(x, matrices)
        for a, b in zip(result, expected, strict=True):
            np.testing.assert_array_equal(dpnp.asnumpy(a), b)
    sequence_source.cache_clear()


def test_threads_share_a_program(matrices):
    one, many = compiled(), compiled(False)
    given = [F.randn(2, 64) for _ in range(4)]
    expected = [dpnp.asnumpy(many(x, matrices)[-1]) for x in given]
    one(given[0], matrices)
    wrong = []

    def run(i):
        for _ in range(30):
            if not np.array_equal(dpnp.asnumpy(one(given[i], matrices)[-1]), expected[i]):
                wrong.append(i)

    in_threads(4, run)
    assert not wrong


def test_few_launches_stay_apart(matrices):
    x = F.randn(3, 64)
    assert compiled().explain(x, matrices[:3]).n_steps == 3


def test_other_steps_divide_sequences(matrices):
    def twice(x, matrices):
        result = F.sort(chain(x, matrices[:4])[-1])[0]
        return chain(result, matrices[:4])[-1]

    x = F.randn(3, 64)
    rows = [part.row for part in compiled(function=twice).explain(x, matrices).parts]
    assert rows.count(launches_in_sequence.NAME) == 2
    a, b = (compiled(is_on, twice)(x, matrices) for is_on in (True, False))
    np.testing.assert_array_equal(dpnp.asnumpy(a), dpnp.asnumpy(b))


def test_what_is_kept_alive_is_limited(matrices, monkeypatch):
    monkeypatch.setattr(launch_sequences, "MOST_KEPT", 3 * 4 * (96 + 32 + 160 + 64) - 1)
    x = F.randn(3, 64)
    last = compiled(function=lambda x, matrices: chain(x, matrices)[-1])
    assert last.explain(x, matrices).n_steps == len(SIZES)
    assert compiled().explain(x, matrices).n_steps == 1  # results are kept in any case


def test_constants_are_computed_once(matrices):
    def last(x, y, matrices):
        return F.add(chain(x, matrices)[-1], y)

    x, y = F.randn(3, 64), F.randn(3, 7)
    frozen = sycl_dnn.compile(last, constants=("x", "matrices"))
    expected = dpnp.asnumpy(compiled(False, last)(x, y, matrices))
    np.testing.assert_array_equal(dpnp.asnumpy(frozen(x, y, matrices)), expected)
    with sycl_dnn.profile() as found:
        frozen(x, y, matrices)
    assert [r.name for r in found.records] == ["binary"]


def test_caches_are_overwritten_in_place():
    """Attention of five layers, each with its own donated cache."""

    def step(x, caches, places):
        result = []
        for cache in caches:
            heads = [x, x, x]
            mask = F.zeros((2, 1, 1, 32))
            x, cache = cached_attention(heads, None, cache, places, mask, Scores(0.25), "")
            result.append(cache)
        return x, result

    def caches():
        return [tuple(F.add(zeros, float(i)) for i in (1, 2)) for _ in range(5)]

    zeros, x = F.zeros((2, 2, 32, 16)), F.randn(2, 1, 2, 16)
    runs = [compiled(is_on, step, donate="caches") for is_on in (True, False)]
    given = [caches() for _ in runs]
    rows = [part.row for part in runs[0].explain(x, given[0], places_at(0)).parts]
    assert launches_in_sequence.NAME in rows
    for first in range(8):
        places = places_at(first)
        found = []
        for i, run in enumerate(runs):
            where = [a.get_array()._pointer for pair in given[i] for a in pair]
            y, given[i] = run(x, given[i], places)
            assert [a.get_array()._pointer for pair in given[i] for a in pair] == where
            found.append([dpnp.asnumpy(a) for a in (y, *sum(map(tuple, given[i]), ()))])
        for a, b in zip(*found, strict=True):
            np.testing.assert_array_equal(a, b)


def places_at(first):
    first, starts = dpnp.asarray(np.int32(first)), dpnp.asarray(np.array([0, 1], "i4"))
    return Places(first, starts, slots_from(first, 1))


def test_sources_with_the_same_names():
    text = "#define N {}\ntypedef float16 wide;\nint twice(int x) {{\n    return N * x;\n}}\n"
    text += "__kernel void run(__global int *y, int n) {{\n    y[get_group_id(0)] = twice(n);\n}}\n"
    sources = [Source(text.format(n), "run", 1, 1) for n in (2, 3)]
    launches = [Launch(source, (i,), (5,), 3) for i, source in enumerate(sources)]
    result = sequence_source(tuple(sources))
    assert result.count("#undef N\n") == result.count("#undef wide\n") == 2
    assert "void run_1" not in result  # a macro renames it
    assert "#define run run_1" in result
    assert facts_of(launches) == [2, 6, 0, 0, 0, 3, 0, 12, 1, 6, 0, 14, 0, 5, 1, 5]


def test_kernels_in_a_sequence_are_not_built_alone(matrices, tmp_path, monkeypatch):
    monkeypatch.setenv("SYCL_DNN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(building, "_made", OrderedDict())
    monkeypatch.setattr(building, "_with_compiler", {})
    monkeypatch.setattr(launching, "_launches", {})
    names = []

    def noted(queue, text, build):
        names.extend(n for n in (launches_in_sequence.NAME, "packed_products") if n in text)
        return "", b""

    monkeypatch.setattr(building, "_found", noted)
    x = F.randn(3, 64)
    one, many = compiled(), compiled(False)
    actual, expected = one(x, matrices), many(x, matrices)
    for a, b in zip(actual, expected, strict=True):
        np.testing.assert_array_equal(dpnp.asnumpy(a), dpnp.asnumpy(b))
    assert names == [launches_in_sequence.NAME, "packed_products", "packed_products"]
