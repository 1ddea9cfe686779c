# SPDX-License-Identifier: Apache-2.0
"""Small primitives and kernels as one host task: values, what is left to oneDNN, reports."""

import time

import dpctl
import dpnp
import numpy as np
import pytest
from host_steps import compared, rows_of
from in_threads import in_threads

import sycl_dnn
from sycl_dnn import functional as F

pytestmark = pytest.mark.cpu  # host tasks are for CPUs

RNG = np.random.default_rng(11)


SIZES = [
    *[(1, 1, 1), (1, 5, 3), (2, 16, 17), (5, 63, 64), (9, 100, 129)],
    *[(14, 20, 48), (13, 7, 40), (50, 9, 72), (23, 33, 90)],
]


@pytest.mark.parametrize("sizes", SIZES)
def test_products_of_any_size(sizes, on_queue):
    rows, k, n = sizes
    first, second = (on_queue(n, k) / k, on_queue(n)), on_queue(4, n) / n
    report = compared(lambda x: F.linear(F.relu(F.linear(x, *first)), second), on_queue(rows, k))
    assert rows_of(report) == ["host_sequence"]


def test_step_of_an_lstm_is_one_host_task(on_queue):
    width = 32
    params = [on_queue(4 * width, width) / 4 for _ in range(2)]
    biases = [on_queue(4 * width) for _ in range(2)]

    def step(x, h, c):
        gates = F.linear(x, params[0], biases[0]) + F.linear(h, params[1], biases[1])
        i, f, g, o = F.chunk(gates, 4, 1)
        c = F.sigmoid(f) * c + F.sigmoid(i) * F.tanh(g)
        return F.sigmoid(o) * F.tanh(c), c

    report = compared(step, *(on_queue(2, width) for _ in range(3)))
    assert report.n_steps == 1


def test_sum_with_what_an_earlier_step_has_written(on_queue):
    w = [on_queue(*shape) / 20 for shape in ((256, 5000), (256, 64), (8, 256))]
    report = compared(
        lambda x, y: F.linear(F.linear(y, w[1]) + F.linear(x, w[0]), w[2]),
        on_queue(3, 5000),
        on_queue(3, 64),
        tolerance=1e-5,
    )
    assert rows_of(report) == ["matmul", "host_sequence"]


@pytest.mark.parametrize("is_first", [True, False])
def test_sources_of_which_an_earlier_step_has_written_a_part(is_first, on_queue):
    w = [on_queue(*shape) / 20 for shape in ((2000, 2000), (20, 20), (8, 2020))]

    def function(x, y):
        parts = [F.linear(x, w[0]), F.linear(y, w[1])]
        return F.linear(F.cat(parts if is_first else parts[::-1], 1), w[2])

    report = compared(function, on_queue(1, 2000), on_queue(1, 20), tolerance=1e-5)
    assert rows_of(report) == ["matmul", "host_sequence"]


@pytest.mark.parametrize("shape", [(64,), (4, 16), (1, 3)])
def test_small_kernels_alone_are_one_step(shape, on_queue):
    def diffused(x):
        for _ in range(6):
            x = x + 0.1 * (F.roll(x, 1, -1) - 2 * x + F.roll(x, -1, -1)) - 0.01 * x * x * x
        return x

    assert rows_of(compared(diffused, on_queue(*shape))) == ["host_sequence"]
    gradient = sycl_dnn.grad(lambda x: (diffused(x) ** 2).sum())
    assert "host_sequence" in rows_of(compared(gradient, on_queue(*shape)))


def test_kernels_that_visit_many_elements_are_compiled(on_queue):
    # The ranks of 256 elements: 65,536 comparisons for 256 results.
    report = compared(lambda x: F.sort(x * 2)[0] + F.cumsum(F.sort(x)[0], 0), on_queue(256))
    counted = [part for part in report.parts if "sum" in part.row or "joined" in part.row]
    assert counted
    assert all(part.implementation != "host" for part in counted)


@pytest.mark.parametrize(("rows", "k", "n"), [(1, 5, 3), (7, 1, 4), (16, 64, 1), (9, 33, 40)])
def test_transposed_sources(rows, k, n, on_queue):
    x, w = on_queue(k, rows), on_queue(k, n) / k
    report = compared(lambda x: F.relu(x.T @ w) + (x.T @ w), x)
    assert "host_sequence" in rows_of(report)
    several = on_queue(3, k, rows)
    report = compared(lambda x: F.relu(F.transpose(x, 1, 2) @ w), several)


@pytest.mark.parametrize("has_bias", [True, False])
@pytest.mark.parametrize("sizes", [(1, 4, 3), (64, 4, 16), (5, 17, 1), (33, 20, 40)])
def test_gradients_of_a_small_network_are_one_step(sizes, has_bias, on_queue):
    n, width, inner = sizes
    x, params = on_queue(n, width), [on_queue(inner, width) / width, on_queue(2, inner) / inner]
    biases = [on_queue(inner), on_queue(2)] if has_bias else [None, None]

    def loss(params, biases, x):
        (a, b), (c, d) = params, biases
        return (F.linear(F.tanh(F.linear(x, a, c)), b, d) ** 2).mean()

    def gradients(*arrays):
        params, biases = list(arrays[:2]), list(arrays[2:]) or [None, None]
        wrt = (0, 1) if has_bias else 0
        return tuple(sycl_dnn.tree.leaves(sycl_dnn.grad(loss, wrt)(params, biases, x)))

    report = compared(gradients, *params, *(b for b in biases if b is not None))
    assert rows_of(report) == ["host_sequence"]


ELEMENTWISE = {
    "abs": F.abs, "exp": F.exp, "expm1": F.expm1, "erf": F.erf, "gelu": F.gelu, "neg": F.neg,
    "mish": F.mish, "reciprocal": lambda x: F.reciprocal(F.abs(x) + 0.5),
    "rsqrt": lambda x: F.rsqrt(F.abs(x) + 1),
    "log": lambda x: F.log(F.abs(x) + 1), "log1p": lambda x: F.log1p(F.abs(x)),
    "softplus": F.softplus, "sqrt": lambda x: F.sqrt(F.abs(x)), "square": F.square,
    "clamp": lambda x: F.clamp(x, -0.4, 0.3), "elu": F.elu, "logsigmoid": F.logsigmoid,
    "where": lambda x: F.where((x > 0) & (x <= 0.5), x * 2, x - 3),
    "other comparisons": lambda x: F.where((x < -0.1) | (x >= 0.7) | (x == 0) | ~(x != x), x, 0.5),
    "extremes": lambda x: F.maximum(F.minimum(x, x * x), -x),
    "flip": lambda x: F.flip(x, (1,)) * 2, "roll": lambda x: F.roll(x, 3, 1) + 1,
    "pad": lambda x: F.pad(x, (2, 3), "reflect") * 2, "triangle": lambda x: F.tril(x, -1) + x,
    "turned": lambda x: F.exp(x.T[:4]) * 2,
}  # fmt: skip


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise_functions_after_a_product(name, on_queue):
    w, function = on_queue(9, 9) / 4, ELEMENTWISE[name]
    x = on_queue(6, 9)
    last = on_queue(3, function(F.linear(x, w)).shape[1]) / 3
    report = compared(lambda x: F.linear(function(F.linear(x, w)), last), x, tolerance=1e-5)
    assert "host_sequence" in rows_of(report)


@pytest.mark.parametrize("number", [2**53 + 1, -(2**63), 2**63 - 2])
def test_large_integers_are_exact(number, on_queue):
    w, x = on_queue(9, 9) / 4, on_queue(6, 9)
    i = dpnp.arange(1, 5, dtype="i8", sycl_queue=w.sycl_queue)[None]
    function = lambda x, i: (F.linear(x, w), F.pad(i * 2, (1, 2), value=number) + 1)  # noqa: E731
    compiled = sycl_dnn.compile(function)
    assert rows_of(compiled.explain(x, i)) == ["host_sequence"]
    expected = [number + 1, 3, 5, 7, 9, number + 1, number + 1]
    np.testing.assert_array_equal(dpnp.asnumpy(compiled(x, i)[1])[0], expected)


def test_nan_and_infinity_pass(on_queue):
    w = dpnp.eye(20, dtype="f4", sycl_queue=on_queue(1).sycl_queue)
    compiled = sycl_dnn.compile(lambda x: F.relu(F.linear(F.hardtanh(F.linear(x, w)), w)))
    values = np.zeros((1, 20), "f4")
    values[0, 3], values[0, 5] = np.inf, -2
    x = dpnp.asarray(values, sycl_queue=w.sycl_queue)
    assert "host_sequence" in rows_of(compiled.explain(x))
    # 0 * inf: the other elements are NaN, as in the product.
    eye = np.eye(20, dtype="f4")
    expected = np.maximum(np.clip(values @ eye, -1, 1) @ eye, 0)
    np.testing.assert_array_equal(np.isnan(dpnp.asnumpy(compiled(x))), np.isnan(expected))


@pytest.mark.parametrize("value", [-1.0, -np.inf, -1e-40, 0.0])
def test_relu_of_negative_numbers_is_positive_zero(value, on_queue):
    w, x = dpnp.ones_like(on_queue(5, 1)), dpnp.full_like(on_queue(1, 1), value)
    compiled = sycl_dnn.compile(lambda x: (F.relu(F.linear(x, w)), F.linear(x, w)))
    assert rows_of(compiled.explain(x)) == ["host_sequence"]
    result = dpnp.asnumpy(compiled(x)[0])
    np.testing.assert_array_equal(result, 0)
    assert not np.signbit(result).any()


@pytest.mark.parametrize(("rows", "width"), [(90, 512), (1, 2048)])
def test_large_products_are_left_to_onednn(rows, width, on_queue):
    w, x = on_queue(width, width), on_queue(rows, width)
    compiled = sycl_dnn.compile(lambda x: F.linear(F.relu(F.linear(x, w)), w))
    assert "host_sequence" not in rows_of(compiled.explain(x))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_products_of_other_dtypes_have_the_results_of_onednn(dtype, on_queue):
    w, x = (F.astype(on_queue(*s), dtype) for s in ((16, 16), (2, 16)))
    tolerance = {"float16": 2e-3, "bfloat16": 2e-2}[dtype]
    compared(lambda x: F.linear(F.relu(F.linear(x, w)), w), x, tolerance=tolerance)


@pytest.mark.parametrize("n", [8, 20_000])
def test_kernels_that_visit_many_elements_of_small_arrays_are_left_to_the_driver(n, on_queue):
    first, second = on_queue(20, 20) / 5, on_queue(20, 1)
    indices = dpnp.asarray(RNG.integers(0, 20, n), sycl_queue=first.sycl_queue)

    def function(x):
        y = F.index_select(F.linear(x, first), 1, indices)
        return F.linear(F.sum(y, 1, keepdim=True), second)

    rows = rows_of(compared(function, on_queue(20, 20) / n, tolerance=1e-5))
    assert (rows == ["host_sequence"]) == (n == 8)


@pytest.mark.parametrize("n", [5, 40])
def test_weights_that_are_arguments_are_read_as_they_are(n, on_queue):
    function = lambda x, w, v: F.matmul(F.relu(F.linear(x, w)), v)  # noqa: E731
    report = compared(function, on_queue(3, 9), on_queue(n, 9) / 4, on_queue(n, 33) / 4)
    assert rows_of(report) == ["host_sequence"]


@pytest.mark.parametrize("n", [5, 20])
def test_converted_weights_are_not_read_before_the_conversion(n, on_queue):
    def function(x, w, half, v):
        rounded = F.astype(F.astype(w, "bfloat16"), "float32")
        return tuple(
            F.conv1d(F.relu(F.conv1d(x, weights)), v)
            for weights in (rounded, F.astype(half, "float32"))
        )

    w = on_queue(n, 20, 1)
    compared(function, on_queue(1, 20, 4), w, F.astype(w, "bfloat16"), on_queue(n, n, 1))


@pytest.mark.parametrize("rows", [2, 9])
def test_weights_of_any_strides_are_read_as_they_are(rows, on_queue):
    function = lambda x, w: F.linear(F.relu(F.linear(x, w[:, ::2])), w[:, ::2])  # noqa: E731
    report = compared(function, on_queue(rows, 8), on_queue(8, 16) / 4)
    assert rows_of(report) == ["host_sequence"]


def test_new_values_of_weights_count(on_queue):
    w, x = on_queue(8, 8), on_queue(2, 8)
    compiled = sycl_dnn.compile(lambda x, w: F.linear(F.relu(F.linear(x, w)), w))
    first = dpnp.asnumpy(compiled(x, w))
    w *= 2
    np.testing.assert_allclose(dpnp.asnumpy(compiled(x, w)), 4 * first, 1e-6)


def test_setting_leaves_everything_to_onednn(on_queue):
    w = on_queue(8, 8)
    compiled = sycl_dnn.compile(lambda x: F.linear(F.relu(F.linear(x, w)), w))
    sycl_dnn.set_kernels("never")
    try:
        assert "host_sequence" not in rows_of(compiled.explain(on_queue(2, 8)))
    finally:
        sycl_dnn.set_kernels("auto")


def test_profiles_name_each_step(on_queue):
    w, x = on_queue(8, 8), on_queue(2, 8)
    compiled = sycl_dnn.compile(lambda x: F.linear(F.relu(F.linear(x, w)), w))
    compiled(x)
    with sycl_dnn.profile(wait=True) as profile:
        compiled(x)
    records = [(r.name, r.implementation) for r in profile.records]
    assert records == [("matmul", "host+relu"), ("matmul", "host")]
    assert [t.argument for t in profile.records[0].tensors] == ["src", "weights", "dst"]


def test_several_threads_share_a_program(on_queue):
    w = on_queue(24, 24) / 4
    compiled = sycl_dnn.compile(lambda x: F.linear(F.sigmoid(F.linear(F.relu(x) * 2, w)), w))
    arrays = [on_queue(3, 24) for _ in range(8)]
    expected = [dpnp.asnumpy(compiled(x)) for x in arrays]
    wrong = []

    def work(number):
        for _ in range(50):
            result = sycl_dnn.asnumpy(compiled(arrays[number]))
            if not np.array_equal(result, expected[number]):
                wrong.append(number)

    in_threads(8, work)
    assert not wrong


def test_each_size_of_a_batch_has_its_program(on_queue):
    first, second = (on_queue(20, 12) / 3, on_queue(20)), on_queue(2, 20) / 3
    function = lambda x: F.tanh(F.linear(F.silu(F.linear(x, *first)), second))  # noqa: E731
    compiled = sycl_dnn.compile(function)
    for n in (1, 2, 4, 7, 33):
        x = on_queue(n, 12)
        np.testing.assert_allclose(dpnp.asnumpy(compiled(x)), dpnp.asnumpy(function(x)), 1e-5, 1e-6)


@pytest.mark.parametrize("n_keys", [1, 8, 40])
def test_attention_of_one_query_is_one_step(n_keys, on_queue):
    table = on_queue(5000, 32)
    ids = F.asarray(np.array([4321]), sycl_queue=table.sycl_queue)
    project, out = on_queue(32, 32) / 6, on_queue(16, 32) / 6

    def attended(ids, keys):
        query = F.unsqueeze(F.linear(F.embedding(ids, table), project), 0)
        weights = F.softmax(query @ keys.mT / 6, -1)
        return F.linear(weights @ keys, out)

    keys = on_queue(1, n_keys, 32)
    report = compared(attended, ids, keys)
    assert len([p for p in report.parts if p.row != "reorder"]) <= 2
    (part,) = [p for p in report.parts if p.row == "host_sequence"]
    assert part.fused.count("matmul") == 4


@pytest.mark.parametrize("rows", [3, 8, 17])
@pytest.mark.parametrize("width", [5, 24])
def test_products_of_several_matrices(rows, width, on_queue):
    w = on_queue(3, width, width) / 4
    report = compared(lambda x: F.relu((x @ w) @ w.mT), on_queue(3, rows, width))
    assert rows_of(report) == ["host_sequence"]
    report = compared(lambda x: F.relu((x @ w) @ w[0]), on_queue(2, 3, rows, width))
    assert rows_of(report) == ["host_sequence"]


@pytest.mark.parametrize(("length", "heads", "width"), [(9, 2, 20), (16, 4, 16), (3, 3, 7)])
def test_attention_and_layer_norm_are_one_step(length, heads, width, on_queue):
    size = heads * width
    w = [on_queue(size, size) / size**0.5 for _ in range(4)]
    scale, shift = on_queue(size), on_queue(size)

    def block(x):
        q, k, v = (
            F.transpose(F.reshape(F.linear(x, a), (1, length, heads, width)), 1, 2) for a in w[:3]
        )
        y = F.softmax(q @ k.mT, -1) @ v
        y = F.reshape(F.transpose(y, 1, 2), (1, length, size))
        return F.gelu(F.linear(F.layer_norm(x + y, (size,), scale, shift), w[3]))

    report = compared(block, on_queue(1, length, size), tolerance=1e-5)
    (part,) = [p for p in report.parts if p.row == "host_sequence"]
    assert {"softmax_forward", "layer_normalization_forward"} <= set(part.fused)


@pytest.mark.parametrize("mask", [(1, 1, 9, 9), (2, 1, 1, 9), (2, 1, 9, 9), (1, 3, 9, 9), (9,)])
def test_attention_with_a_mask_is_one_step(mask, on_queue):
    bias, w = on_queue(*mask), on_queue(60, 60) / 8

    def attended(x):
        q = F.transpose(F.reshape(F.linear(x, w), (2, 9, 3, 20)), 1, 2)
        return F.softmax(q @ q.mT / 4 + bias, -1) @ q

    report = compared(attended, on_queue(2, 9, 60), tolerance=1e-5)
    assert rows_of(report) == ["host_sequence"]


def test_larger_products_of_several_matrices_are_copied(on_queue):
    w, copied = on_queue(64, 64) / 8, on_queue(4, 130, 64) / 8

    def function(x):
        y = F.relu(x @ w)
        for _ in range(2):
            y = F.relu(F.relu(y @ copied.mT) @ copied)
        return y @ w

    report = compared(function, on_queue(4, 130, 64), tolerance=1e-5)
    assert "host_sequence" in rows_of(report)


@pytest.mark.parametrize("shape", [(1, 64, 40), (3, 50, 40), (2, 64, 16)])
def test_means_of_rows_between_products(shape, on_queue):
    w = on_queue(40, shape[2]) / 6, on_queue(8, 40) / 6

    def function(x):
        return F.linear(F.mean(F.relu(F.linear(x, w[0])), 1), w[1])

    report = compared(function, on_queue(*shape))
    assert rows_of(report) == ["host_sequence"]


def test_sums_that_do_not_depend_on_each_other_are_between_products(on_queue):
    w = [on_queue(16, 16) / 4 for _ in range(3)]

    def function(x):
        y = F.linear(x, w[0])
        first, second = y[:, :8] + y[:, 8:], y[:, ::2] * y[:, 1::2]
        return F.linear(F.cat([first, second], 1), w[1]), F.linear(y, w[2])

    assert rows_of(compared(function, on_queue(500, 16))) == ["host_sequence"]


@pytest.mark.parametrize("size", [5, 16, 24, 100, 333])
@pytest.mark.parametrize("value", [47.120514, 0.1, -3.3e7])
def test_equal_elements_have_their_value_as_the_mean(value, size, on_queue):
    """Else the difference, a last place, would be divided by the square root of eps."""

    def normalized(x, w):
        return F.layer_norm(F.linear(x, w), (size,), eps=1e-12)

    compiled = sycl_dnn.compile(normalized)
    x, w = on_queue(2, 1) * 0 + value, on_queue(size, 1) * 0 + 1
    (part,) = compiled.explain(x, w).parts
    assert "layer_normalization_forward" in part.fused
    assert not compiled(x, w).asnumpy().any()


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_copies_between_layouts(dtype, on_queue):
    w, x = on_queue(12, 12) / 4, F.astype(on_queue(2, 5, 12), dtype)

    def function(x):
        y = F.linear(F.astype(F.flip(F.transpose(x, 1, 2), (0,)), "float32")[:, :, :3].mT, w)
        return F.astype(F.linear(y, w), dtype)

    compared(function, x, tolerance={"float32": 1e-6, "float16": 2e-3, "bfloat16": 2e-2}[dtype])


def test_a_first_sequence_runs_in_the_callers_thread(on_queue):
    w, x = on_queue(9, 9) / 4, on_queue(3, 9)
    compiled = sycl_dnn.compile(lambda x: F.linear(F.relu(F.linear(x, w)), w))
    expected = dpnp.asnumpy(compiled(x))
    sycl_dnn.synchronize(x.sycl_queue)
    time.sleep(0.3)  # the host lane of the first call ends
    n_lanes = sycl_dnn.onednn.host_lane()[0]
    np.testing.assert_array_equal(dpnp.asnumpy(compiled(x)), expected)
    assert sycl_dnn.onednn.host_lane()[0] == n_lanes


@pytest.mark.parametrize("is_in_order", [True, False])
def test_a_sequence_waits_for_earlier_work(is_in_order, on_queue):
    device = on_queue(1).sycl_device
    queue = dpctl.SyclQueue(device, property=["in_order"] if is_in_order else [])
    large = dpnp.asarray(RNG.random((700, 700), "f4"), sycl_queue=queue)
    w = dpnp.asarray(RNG.random((700, 8), "f4"), sycl_queue=queue)
    compiled = sycl_dnn.compile(lambda x: F.relu(x[:4] @ w) @ w[:8])
    for _ in range(3):
        product = dpnp.sort(large @ large, axis=0)
        result = dpnp.asnumpy(compiled(product))
        rows, columns = dpnp.asnumpy(product)[:4], dpnp.asnumpy(w)
        expected = np.maximum(rows @ columns, 0) @ columns[:8]
        np.testing.assert_allclose(result, expected, rtol=1e-4)


@pytest.mark.parametrize("shape", [(4, 30, 50), (1, 30, 50), (1, 1, 50)])
def test_sums_with_arrays_that_repeat(shape, on_queue):
    w, other = on_queue(50, 50) / 7, on_queue(*shape)

    def function(x):
        return F.linear((F.linear(x, w) + 0.5 * x) * other + x, w)

    compared(function, on_queue(4, 30, 50), tolerance=1e-5)


@pytest.mark.parametrize(("rows", "k", "n"), [(1, 90, 700), (20, 100, 530), (61, 40, 256)])
def test_products_in_panels_of_columns(rows, k, n, on_queue):
    first, second, bias = on_queue(n, k) / 10, on_queue(k, n) / 10, on_queue(n)
    x = on_queue(rows, k)

    def function(x):
        y = F.sigmoid(F.linear(x, first, bias))
        return F.relu(F.linear(y * y, second) + x)

    assert rows_of(compared(function, x, tolerance=1e-5)) == ["host_sequence"]
