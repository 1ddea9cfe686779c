# SPDX-License-Identifier: Apache-2.0
"""Fallbacks where oneDNN has no partition: functions, dropout, half precision, float8."""

import dpnp
import numpy as np
import pytest
from arithmetic import lacks
from graph_ops import download, upload

import sycl_dnn
from sycl_dnn import FallbackWarning, Unimplemented
from sycl_dnn.graph import Graph
from sycl_dnn.graph.fallbacks import ArraysStep
from sycl_dnn.graph.partition_plan import PartitionStep


def test_user_function_between_partitions(queue, kind):
    g = Graph(kind)
    x = g.relu(g.input((4, 5)))
    (y,) = g.wildcard(lambda a: dpnp.cumsum(a, axis=1), x, shapes=[(4, 5)], dtypes=["f32"])
    g.sqrt(y)
    compiled = g.compile(queue)
    a = np.random.default_rng(0).standard_normal((4, 5)).astype("f4")
    actual = compiled(dpnp.asarray(a, sycl_queue=queue))
    assert np.allclose(dpnp.asnumpy(actual), np.sqrt(np.cumsum(np.maximum(a, 0), 1)), atol=1e-5)
    kinds = [type(step) for step in compiled.plans[0].steps]
    assert kinds == [PartitionStep, ArraysStep, PartitionStep]


def test_wrong_result_of_a_function_is_named(queue, kind):
    g = Graph(kind)
    g.wildcard(lambda a: a[:2], g.input((4, 5)), shapes=[(4, 5)], dtypes=["f32"])
    with pytest.raises(ValueError, match=r"shape \(4, 5\), got \(2, 5\)"):
        g.compile(queue)(dpnp.ones((4, 5), dtype="f4", sycl_queue=queue))


def test_reductions_over_axes_of_one_element(queue, kind):
    values = np.array([[-3.0, 2.0, 0.5]], "f4")
    changed = {"l1": np.abs, "l2": np.abs}
    for name in ("l1", "l2", "max", "mean", "min", "prod", "sum"):
        for keeps in (True, False):
            g = Graph(kind)
            getattr(g, f"reduce_{name}")(g.input((1, 3)), axes=[0], keep_dims=keeps)
            actual = g.compile(queue)(dpnp.asarray(values, sycl_queue=queue))
            expected = changed.get(name, np.copy)(values if keeps else values[0])
            np.testing.assert_array_equal(dpnp.asnumpy(actual), expected)


@pytest.mark.parametrize("behind", [None, "relu", "matmul"])
def test_dropout_alone_and_fused(queue, kind, behind):
    """oneDNN never writes the mask; the same random numbers over ones give it."""
    g = Graph(kind)
    x = g.input((64, 64), name="x")
    seed, offset = g.scalar("s64", name="seed"), g.scalar("s64", name="offset")
    p = g.scalar("f32", name="p")
    before = {"relu": lambda: g.relu(x), "matmul": lambda: g.matmul(x, x), None: lambda: x}
    y, mask = g.dropout(before[behind](), seed, offset, p, with_mask=True)
    g.output(y), g.output(mask)
    compiled = g.compile(queue)
    ones = dpnp.ones((64, 64), dtype="f4", sycl_queue=queue)
    results = [compiled(ones, seed=s, offset=0, p=0.25) for s in (1, 1, 2)]
    (first, mask), (again, _), (other, _) = [[download(a) for a in r] for r in results]
    assert set(np.unique(first)) <= {
        0.0,
        float(np.float32((64 if behind == "matmul" else 1) / 0.75)),
    }
    assert ((first != 0) == (mask != 0)).all()
    assert 0.15 < 1 - mask.mean() < 0.35
    assert (first == again).all()
    assert (first != other).any()
    assert isinstance(compiled.plans[0].steps[0], PartitionStep if behind else ArraysStep)


@pytest.mark.parametrize("dtype", ["bf16", "f16"])
def test_unsupported_types_are_computed_in_f32(queue, kind, dtype):
    """As one graph, so that oneDNN fuses it; with a warning, or refused on request."""
    g = Graph(kind)
    x, w = g.input((None, 6), dtype), g.input((6, 6), dtype)
    wide = g.matmul(x, w, dtype="f32")
    g.output(wide), g.output(g.hard_swish(g.mish(g.type_cast(wide, dtype=dtype))))
    rng = np.random.default_rng(0)
    a, b = rng.integers(-2, 3, (5, 6)), rng.integers(-2, 3, (6, 6))
    # Columns of x are adjacent.
    args = upload(a.T, dtype, queue).transpose(1, 0), upload(b, dtype, queue)
    compiled, is_lacking = g.compile(queue), lacks(queue, dtype)
    if is_lacking:
        with sycl_dnn.fallback("error"), pytest.raises(Unimplemented):
            g.compile(queue)(*args)
        with pytest.warns(FallbackWarning, match=f"no instructions for {dtype}"):
            compiled(*args)
    results = compiled(*args)
    assert ("runs in f32" in compiled.summary()) is is_lacking
    product = a @ b
    mish = product * np.tanh(np.log1p(np.exp(product)))
    for actual, expected in zip(
        results, (product, mish * np.clip(mish / 6 + 0.5, 0, 1)), strict=True
    ):
        assert np.abs(download(actual) - expected).max() < 2e-2 * np.abs(expected).max()


@pytest.mark.parametrize("op", ["relu", "exp", "matmul", "type_cast"])
def test_half_precision_runs_on_every_device(queue, kind, op):
    """CPUs without f16 instructions compute in f32."""
    g = Graph(kind)
    x = g.input((6, 6), "f16")
    {"matmul": lambda: g.matmul(x, x), "type_cast": lambda: g.type_cast(x, dtype="f32"),
     "relu": lambda: g.relu(x), "exp": lambda: g.exp(x)}[op]()  # fmt: skip
    a = np.linspace(-1, 1, 36).reshape(6, 6).astype("f2")
    compute = {"matmul": lambda a: a @ a, "type_cast": lambda a: a, "exp": np.exp,
               "relu": lambda a: np.maximum(a, 0)}[op]  # fmt: skip
    actual = g.compile(queue)(upload(a, "f16", queue))
    assert actual.dtype == ("float32" if op == "type_cast" else "float16")
    assert np.allclose(download(actual), compute(a.astype("f8")), atol=5e-3)


def test_f16_and_partitions_meet_in_one_graph(queue, kind):
    g = Graph(kind)
    x = g.input((4, 5), "f16")
    g.tanh(g.type_cast(g.relu(x), dtype="f32"))
    a = np.linspace(-1, 1, 20).reshape(4, 5).astype("f2")
    actual = g.compile(queue)(upload(a, "f16", queue))
    assert np.allclose(download(actual), np.tanh(np.maximum(a, 0)), atol=1e-3)


@pytest.mark.parametrize("dtype", ["f8_e4m3", "f8_e5m2"])
def test_float8_round_trip(queue, kind, dtype):
    g = Graph(kind)
    y = g.quantize(g.input((4, 6)), dtype=dtype, scales=(0.5,))
    g.dequantize(y, scales=(0.5,))
    a = np.array([0.25, 0.5, 1, 2, -1, -4] * 4, "f4").reshape(4, 6)
    actual = g.compile(queue)(upload(a, "f32", queue))
    assert np.allclose(download(actual), a)


@pytest.mark.parametrize("reflected", [False, True])
@pytest.mark.parametrize("op", ["add", "subtract", "multiply", "divide"])
def test_arithmetic_with_a_host_scalar(queue, kind, op, reflected):
    """oneDNN has no partition for it, and its cache keeps a broken promise."""
    g = Graph(kind)
    operands = [g.input((2, 3), name="x"), g.scalar("f32", name="s")]
    getattr(g, op)(*(operands[::-1] if reflected else operands))
    x = np.arange(1, 7, dtype="f4").reshape(2, 3)
    values = (4.0, x) if reflected else (x, 4.0)
    compiled = g.compile(queue)
    for _ in range(2):
        actual = compiled(x=upload(x, "f32", queue), s=4.0)
        assert actual.shape == (2, 3)
        if kind == "cpu":
            np.testing.assert_allclose(download(actual), getattr(np, op)(*values), rtol=1e-6)


def test_unsupported_operations_are_refused_by_name(queue, kind):
    g = Graph(kind)
    g.interpolate(
        g.input((1, 4, 4, 2)), mode="nearest", sizes=(8, 8),
        coordinate_transformation_mode="align_corners",
    )  # fmt: skip
    with pytest.raises(Unimplemented, match="^interpolate: "):
        g.compile(queue)
