# SPDX-License-Identifier: Apache-2.0
"""Attention and products as partitions of the Graph API: equal to primitives, and reported."""

import dpnp
import pytest
from comparing import assert_same, compiled_as_eager
from in_threads import in_threads

import sycl_dnn
from sycl_dnn import _core
from sycl_dnn import functional as F
from sycl_dnn.compiler.partitions import CLEARLY

TOLERANCE = {None: 2e-5, "bfloat16": 6e-2}
#: Options of attention over (2, 4, L, 16), the lengths of queries and keys, and heads of keys.
ATTENTION = {
    "plain": ({}, 32, 32, 4),
    "scaled": ({"scale": 0.3}, 32, 32, 4),
    "masked": ({"attn_mask": (32, 48)}, 32, 48, 4),
    "masked by head": ({"attn_mask": (1, 4, 32, 48)}, 32, 48, 4),
    "one query": ({}, 1, 48, 4),
    "causal": ({"is_causal": True}, 32, 32, 4),
    "causal, more keys": ({"is_causal": True}, 24, 40, 4),
    "causal, in blocks": ({"is_causal": True}, 300, 300, 4),
    "grouped": ({"enable_gqa": True}, 32, 32, 2),
    "one head of keys": ({"enable_gqa": True}, 32, 40, 1),
}


def partitions(report):
    return [part for part in report.parts if part.way == "partition"]


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("form", ATTENTION)
@pytest.mark.sweep(2)
def test_attention_is_one_partition(form, dtype, make):
    options, n_queries, n_keys, heads = ATTENTION[form]
    if "attn_mask" in options:
        options = {**options, "attn_mask": make(*options["attn_mask"])}
    q = make(2, 4, n_queries, 16)
    k, v = make(2, heads, n_keys, 16), make(2, heads, n_keys, 16)
    report = compiled_as_eager(
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, **options), q, k, v,
        dtype=dtype, lowering="partitions", tolerance=TOLERANCE[dtype],
    )  # fmt: skip
    result = partitions(report)
    isa = _core.get_effective_cpu_isa().name
    if dtype == "bfloat16" and "amx" in isa and form.startswith(("masked", "causal")):
        # oneDNN adds a mask of all heads wrongly in AMX tiles.
        assert bool(result) is (form == "masked by head")
        return
    assert result
    assert all(p.implementation.startswith("MatMul") for p in result)
    if dtype == "bfloat16" and not isa.startswith(("avx512_core_bf16", "avx10")):
        return  # products of bfloat16 add their mask separately without instructions for it
    assert all(p.implementation.endswith("SoftMax + MatMul") for p in result)
    assert not any(p.row in ("softmax_forward", "matmul") for p in report.parts)


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_interleaved_heads(dtype, make):
    """Queries, keys and values are parts of one product; the result has the layout of the next."""
    w, o = make(3 * 64, 64) / 8, make(64, 64) / 8

    def layer(x):
        parts = F.split(F.linear(x, w), 64, 2)
        q, k, v = (F.transpose(F.reshape(t, (2, 24, 4, 16)), 1, 2) for t in parts)
        y = F.transpose(F.scaled_dot_product_attention(q, k, v), 1, 2)
        return F.gelu(F.linear(F.reshape(y, (2, 24, 64)), o))

    report = compiled_as_eager(
        layer, make(2, 24, 64), dtype=dtype, lowering="partitions", tolerance=TOLERANCE[dtype]
    )
    assert [p.implementation for p in partitions(report)] == [
        "MatMul + Multiply + SoftMax + MatMul",
        "MatMul + GELU",
    ]


CHAINS = {
    "relu": F.relu,
    "leaky": lambda y: F.leaky_relu(y, 0.1),
    "tanh": F.tanh,
    "elu": lambda y: F.elu(y, 0.7),
    "gelu": F.gelu,
    "gelu by tanh": lambda y: F.gelu(y, approximate="tanh"),
    "sigmoid": F.sigmoid,
    "hard swish": F.hardswish,
    "hard sigmoid": F.hardsigmoid,
    "mish": F.mish,
    "bounded": F.relu6,
    "exponential": lambda y: F.exp(y * 0.1),
    "square root of a square": lambda y: F.sqrt(F.square(y)),
    "several": lambda y: F.tanh(F.relu(y) * 2.0 - 1.0),
}


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.sweep(2)
def test_product_with_post_ops_is_one_partition(chain, dtype, make):
    w, b = make(24, 32) / 6, make(24)
    report = compiled_as_eager(
        lambda x: CHAINS[chain](F.linear(x, w, b)), make(40, 32),
        dtype=dtype, lowering="partitions", tolerance=TOLERANCE[dtype],
    )  # fmt: skip
    (part,) = partitions(report)
    assert part.implementation.startswith("MatMul + Add + ")


@pytest.mark.parametrize("op", [F.add, F.sub, F.mul, F.div])
def test_post_op_operands_become_partition_inputs(op, make):
    w, row = make(24, 32), make(24) + 5.0
    function = lambda x, y: op(op(F.linear(x, w), row), y)  # noqa: E731
    report = compiled_as_eager(function, make(40, 32), make(40, 24) + 5.0, lowering="partitions")
    assert len(partitions(report)) == 1


def test_unsupported_steps_stay_primitives_and_are_reported(make):
    w, slopes = make(24, 32), make(24)
    told = {
        "matmul has a post-op of another kind": lambda x: F.prelu(F.linear(x, w), slopes),
        "oneDNN makes 2 partitions of it": lambda x: F.silu(F.linear(x, w, slopes)),
    }
    for words, function in told.items():
        report = compiled_as_eager(function, make(4, 32), lowering="partitions")
        assert not partitions(report)
        assert any(f"partition: {words}" in part.refused for part in report.parts), str(report)


def test_measured_reports_both_times_and_selects_the_faster(make):
    w = make(64, 64)

    def function(q, k, v):
        return F.scaled_dot_product_attention(q, k, v), F.gelu(F.linear(q, w))

    args = [make(2, 4, 32, 64) for _ in range(3)]
    report = compiled_as_eager(function, *args, lowering="measured")
    measured = [part for part in report.parts if part.milliseconds]
    assert len(measured) == 2
    for part in measured:
        primitives, partition = part.milliseconds["primitives"], part.milliseconds["partition"]
        assert min(primitives, partition) > 0
        assert (part.way == "partition") is (partition < CLEARLY * primitives)
        assert f"measured: primitives {primitives:.3f} ms" in str(part)


def test_primitives_are_the_default(make):
    q = make(2, 4, 8, 16)
    report = compiled_as_eager(lambda q: F.scaled_dot_product_attention(q, q, q), q)
    assert not partitions(report)
    with pytest.raises(ValueError, match="lowering must be one of primitives, partitions, meas"):
        sycl_dnn.compile(F.relu, lowering="graph")


def attend(q):
    return F.scaled_dot_product_attention(F.relu(q), q, q) * 2.0


def test_results_are_written_to_out(make):
    q = make(2, 4, 8, 16)
    function = sycl_dnn.compile(attend, lowering="partitions")
    for out in (dpnp.zeros_like(q), dpnp.zeros((2, 8, 4, 16), dtype="f4").transpose(0, 2, 1, 3)):
        given = dpnp.asarray(out, sycl_queue=q.sycl_queue)
        assert function(q, out=given) is given
        assert_same(given, attend(q))
    kept = dpnp.copy(q)
    assert_same(function(q, out=q), attend(kept))


def test_bound_calls_and_views(make):
    q = make(2, 4, 8, 16)
    function = sycl_dnn.compile(attend, lowering="partitions")
    bound = function.bind(q)
    for _ in range(3):
        q *= 0.5
        assert_same(bound(), attend(q))
    part = make(2, 8, 6, 32)[:, ::2, 1:, 16:]
    assert_same(function(part), attend(part))


def test_weights_that_are_arguments_are_read_at_each_call(make):
    function = sycl_dnn.compile(lambda x, w: F.gelu(F.linear(x, w)), lowering="partitions")
    x, w = make(8, 32), make(16, 32)
    for _ in range(3):
        assert_same(function(x, w), F.gelu(F.linear(x, w)))
        w *= -0.5
    assert len(partitions(function.explain(x, w))) == 1


def test_threads_share_a_partition(make):
    function = sycl_dnn.compile(attend, lowering="partitions")
    given = [make(2, 4, 16, 16) for _ in range(4)]
    expected = [attend(q) for q in given]
    result = [None] * len(given)

    def work(i):
        for _ in range(10):
            result[i] = function(given[i])
        sycl_dnn.synchronize(given[i].sycl_queue)

    in_threads(len(given), work)
    assert_same(result, expected)


def test_dpnp_calls_write_to_out(make):
    """A dpnp call once left its result in a separate array."""
    function = lambda x: F.pow(F.abs(x) + 0.5, F.abs(x))  # noqa: E731
    x = make(6, 7)
    out = dpnp.zeros_like(x)
    assert sycl_dnn.compile(function)(x, out=out) is out
    assert_same(out, function(x))
