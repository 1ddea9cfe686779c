# SPDX-License-Identifier: Apache-2.0
"""Products of one source become one product, whose parts are read in place."""

from dataclasses import replace

import pytest
from comparing import assert_in_integers, assert_same, compiled_as_eager
from models import bert

import sycl_dnn
from sycl_dnn import functional as F

BERT = bert.Config(layers=1, width=64, heads=4, inner=128)
TOLERANCE = {None: 2e-5, "bfloat16": 5e-2}


def _joined(report):
    return [p for p in report.parts if any("products of one source" in t for t in p.fused)]


@pytest.mark.parametrize("shape", [(2, 16, 64), (1, 128, 64), (3, 1, 64)], ids=str)
@pytest.mark.parametrize("dtype", [None, "bfloat16"])
@pytest.mark.sweep(2)
def test_queries_keys_and_values_are_one_product(shape, dtype, make, on_device):
    p, x = on_device(bert.random_parameters(BERT)), make(*shape)
    function = lambda a: bert.forward(p, BERT, a)  # noqa: E731
    options = {"dtype": dtype, "tolerance": TOLERANCE[dtype]}
    by_step = {"run_on_host": False}
    report = compiled_as_eager(function, x, **options, passes=by_step)
    apart = compiled_as_eager(function, x, **options, passes={"join_products": False} | by_step)
    (part,) = _joined(report)
    assert part.shape == (shape[0] * shape[1], 3 * 64)
    assert "3 products of one source (64, 64, 64 outputs)" in str(report)
    assert report.n_steps == apart.n_steps - 2
    assert report.n_reorders == apart.n_reorders
    assert not _joined(apart)


def test_int8_outputs_keep_their_own_scales(make, on_device, queue):
    p, x = on_device(bert.random_parameters(BERT)), make(2, 16, 64)
    # Weights of three magnitudes: a common scale would lose the smallest.
    for name, factor in (("query", 1.0), ("key", 1e-3), ("value", 30.0)):
        p[f"layer.0.attention.self.{name}.weight"] *= factor
    function = lambda a: bert.forward(p, BERT, a)  # noqa: E731
    result, accuracy = sycl_dnn.quantize(sycl_dnn.compile(function), [x])
    assert accuracy[0].relative < 0.03, str(accuracy[0])
    report = result.explain(x)
    (part,) = _joined(report)
    assert_in_integers(replace(report, parts=(part,)), queue)


def test_joined_int8_products_equal_separate_ones(make):
    w = [make(n, 32) * size for n, size in ((8, 1.0), (24, 1e-3), (16, 50.0))]
    b, x = make(24), make(5, 32)

    def function(a):
        return F.relu(F.linear(a, w[0])) + 0.0, F.linear(a, w[1], b)[:, ::2], F.linear(a, w[2])

    results = []
    for is_on in (True, False):
        compiled = sycl_dnn.compile(function, passes={"join_products": is_on})
        results.append(sycl_dnn.quantize(compiled, [x])[0](x))
    for actual, expected in zip(*results, strict=True):
        assert_same(actual, expected, 1e-6)


@pytest.mark.parametrize("dtype", [None, "bfloat16"])
def test_a_step_of_a_decoder_appends_parts_to_its_cache(dtype, make):
    w, heads = [make(64, 64) / 8 for _ in range(3)], (2, 1, 4, 16)

    def step(x, keys, values):
        q, k, v = (F.transpose(F.reshape(F.linear(x, m), heads), 1, 2) for m in w)
        keys, values = F.cat([keys, k], 2), F.cat([values, v], 2)
        return F.scaled_dot_product_attention(q, keys, values), keys, values

    args = make(2, 1, 64), make(2, 4, 7, 16), make(2, 4, 7, 16)
    report = compiled_as_eager(step, *args, dtype=dtype, tolerance=TOLERANCE[dtype])
    assert len(_joined(report)) == 1, str(report)


def _three(x, w, b):
    return [F.softmax(F.linear(x, w[i], b[i])[:, :7] * 2.0, -1) for i in range(3)]


def _with_one_bias(x, w, b):
    return F.linear(x, w[0])[:, 2:5] + 1.0, F.linear(x, w[1], b[1])[1:, 3:6] * 2.0


def _read_twice(x, w, b):
    q, k = F.linear(x, w[0]), F.linear(x, w[1])
    return F.matmul(q, k.T), F.matmul(k.T, q), F.softmax(q, -1)


def _returned(x, w, b):
    return F.linear(x, w[0]), F.linear(x, w[1])


def _gated(x, w, b):
    return F.silu(F.linear(x, w[0])) * F.linear(x, w[1])


def _flattened(x, w, b):
    return F.softmax(F.linear(x, w[0]).reshape(-1), 0), F.softmax(F.linear(x, w[1]), -1)


@pytest.mark.parametrize(
    ("function", "n_joined"),
    [(_three, 3), (_with_one_bias, 2), (_read_twice, 2), (_returned, 0), (_gated, 0),
     (_flattened, 0)],
)  # fmt: skip
@pytest.mark.parametrize("rows", [1, 2, 9])
@pytest.mark.parametrize("dtype", [None, "bfloat16"])
@pytest.mark.sweep(4)
def test_products_are_joined_depending_on_their_readers(function, n_joined, rows, dtype, make):
    w, b = [make(16, 32) / 6 for _ in range(3)], [make(16) for _ in range(3)]
    x = make(rows, 32)
    expected = function(x, w, b)
    compiled = sycl_dnn.compile(lambda a: function(a, w, b), dtype=dtype)
    for _ in range(2):
        assert_same(compiled(x), expected, TOLERANCE[dtype])
    found = _joined(compiled.explain(x))
    # A single row is dense anywhere; several may not be where no fast kernel reads them.
    assert len(found) <= 1
    if not n_joined and rows > 1:
        assert not found
    if found:
        assert f"{n_joined} products" in str(compiled.explain(x)) or rows == 1


def test_operands_are_computed_before_the_one_product(make):
    """The second bias is computed after the first product, which the one product replaces."""

    def function(x, w, b):
        found = []
        for i in range(2):
            bias = F.cat([F.narrow(b[i], 0, 0, 8) + F.narrow(b[i], 0, 4, 8), b[i][8:]], 0)
            result = F.matmul(x, w[i]) + bias
            found.append(result[:, :6] * result[:, 6:])
        return found

    x, w, b = make(15, 2), make(2, 2, 12), make(2, 12)
    frozen = sycl_dnn.freeze(w), sycl_dnn.freeze(b)
    compiled = sycl_dnn.compile(function)
    assert_same(compiled(x, *frozen), function(x, w, b))
    assert _joined(compiled.explain(x, *frozen))


def test_a_source_that_changes_in_between_is_read_again(make):
    w, x = make(16, 16) / 4, make(4, 16)

    def function(a, mean, variance):
        before = F.linear(mean[None], w)[:, :3] * 2.0
        F.batch_norm(a, mean, variance, training=True, momentum=0.5)
        return before, F.linear(mean[None], w)[:, 3:] * 2.0

    start, variance = make(16), make(16) * 0 + 1.0
    expected = function(x, start.copy(), variance.copy())
    compiled = sycl_dnn.compile(function)
    assert_same(compiled(x, start.copy(), variance.copy()), expected)
    assert not _joined(compiled.explain(x, start, variance))


def test_switches_are_checked():
    with pytest.raises(ValueError, match="passes must be among .*join_products.*got 'join'"):
        sycl_dnn.compile(lambda x: x, passes={"join": True})
