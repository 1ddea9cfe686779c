# SPDX-License-Identifier: Apache-2.0
"""Quantized models multiply integers: the same numbers as ONNX's evaluator."""

import dpnp
import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

import sycl_dnn

RNG = np.random.default_rng(3)


def with_constants(model, **constants):
    for name, value in constants.items():
        model.graph.initializer.append(numpy_helper.from_array(np.asarray(value), name))
    return model


def host(made):
    return [dpnp.asnumpy(v) for v in (made if isinstance(made, tuple) else (made,))]


@pytest.fixture
def quantized(parsed):
    """A convolution and a product between Q and DQ, the last one in floats."""
    model = parsed("""g (uint8[N, 3, 8, 8] q) => (float[N, 5] y, uint8[N, 6, 8, 8] c) {
        x = DequantizeLinear(q, xs, xz)
        w = DequantizeLinear <axis = 0> (wq, ws, wz)
        b = DequantizeLinear <axis = 0> (bq, bs)
        a = Conv <pads = [1, 1, 1, 1]> (x, w, b)
        c = QuantizeLinear(a, cs, cz)
        d = DequantizeLinear(c, cs, cz)
        e = GlobalAveragePool(d)
        f = Flatten(e)
        g = QuantizeLinear(f, fs, fz)
        h = DequantizeLinear(g, fs, fz)
        v = DequantizeLinear(vq, vs)
        y = Gemm <transB = 1> (h, v)
    }""")
    scales = np.linspace(0.01, 0.02, 6, dtype="f4")
    return with_constants(
        model, xs=np.float32(0.03), xz=np.uint8(120), ws=scales, wz=np.zeros(6, "i1"),
        wq=RNG.integers(-127, 128, (6, 3, 3, 3)).astype("i1"), bs=scales * np.float32(0.03),
        bq=RNG.integers(-9999, 9999, 6).astype("i4"), cs=np.float32(0.2), cz=np.uint8(100),
        fs=np.float32(0.05), fz=np.uint8(128), vs=np.float32(0.02),
        vq=RNG.integers(-128, 128, (5, 6)).astype("i1"),
    )  # fmt: skip


def test_values_between_q_and_dq(quantized):
    q = RNG.integers(0, 256, (2, 3, 8, 8)).astype("u1")
    y, c = host(sycl_dnn.onnx.load(quantized)(q))
    expected_y, expected_c = ReferenceEvaluator(quantized).run(None, {"q": q})
    assert c.dtype == np.uint8
    assert np.abs(c.astype("i4") - expected_c).max() <= 1  # a half may be rounded either way
    assert (c != expected_c).mean() < 0.01
    np.testing.assert_allclose(y, expected_y, atol=0.02)


def test_products_are_of_integers(quantized):
    net = sycl_dnn.onnx.load(quantized)
    assert not list(net.parameters())
    q = dpnp.asarray(RNG.integers(0, 256, (2, 3, 8, 8)).astype("u1"))
    with sycl_dnn.profile() as profile:
        net(q)
    shown = profile.table()
    rows = [line.split() for line in shown.splitlines() if "weights:s8" in line]
    assert sorted(row[3] for row in rows) == ["convolution_forward", "matmul"], shown
    assert all(row[5].startswith("src:u8") for row in rows), shown


@pytest.mark.parametrize("zero", [0, 131, (3, 250, 128, 7)])
def test_integer_convolutions_are_exact(parsed, zero):
    model = parsed(
        "g (uint8[N, 40, 7, 7] x, uint8 z) => (int32[N, 4, 7, 7] y) {"
        " y = ConvInteger <pads = [1, 1, 1, 1]> (x, w, z, wz) }"
    )
    w = RNG.integers(0, 256, (4, 40, 3, 3)).astype("u1")
    with_constants(model, w=w, wz=np.uint8(zero))
    x, z = RNG.integers(0, 256, (2, 40, 7, 7)).astype("u1"), np.uint8(77)
    (result,) = host(sycl_dnn.onnx.load(model)(x, z))
    padded = np.pad(x.astype("i8") - 77, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    wide = w.astype("i8") - np.asarray(zero).reshape(-1, 1, 1, 1)
    assert (result == np.einsum("nchwij,ocij->nohw", windows, wide)).all()


@pytest.mark.parametrize("dtype", ["u1", "i1"])
@pytest.mark.parametrize("groups", [1, 2])
def test_integer_convolutions_in_groups(parsed, dtype, groups):
    limits = np.iinfo(dtype)
    model = parsed(
        f"g (uint8[N, 4, 5] x) => (int32[N, 6, 4] y) {{ y = ConvInteger <group = {groups}>"
        " (x, w, z, wz) }"
    )
    w = RNG.integers(limits.min, limits.max + 1, (6, 4 // groups, 2)).astype(dtype)
    with_constants(model, w=w, z=np.uint8(9), wz=np.asarray(limits.max - 20, dtype))
    x = RNG.integers(0, 256, (2, 4, 5)).astype("u1")
    (result,) = host(sycl_dnn.onnx.load(model)(x))
    (expected,) = ReferenceEvaluator(model).run(None, {"x": x})
    assert (result == expected).all()


@pytest.mark.parametrize("zero", [0, 128, (5, 250, 100)])
@pytest.mark.parametrize("shape", [(3, 4000), (2, 3, 4000)])
def test_integer_products_are_exact(parsed, zero, shape):
    axes = "2, 3" if len(shape) == 3 else "3"
    model = parsed(
        f"g (uint8[{axes}, 4000] x) => (int32[{axes}, 3] y) {{ y = MatMulInteger(x, w, z, wz) }}"
    )
    w = RNG.integers(200, 256, (4000, 3)).astype("u1")  # sums far beyond 2**24
    with_constants(model, w=w, z=np.uint8(3), wz=np.uint8(zero))
    x = RNG.integers(200, 256, shape).astype("u1")
    (result,) = host(sycl_dnn.onnx.load(model)(x))
    assert (result == (x.astype("i8") - 3) @ (w.astype("i8") - np.asarray(zero))).all()


def test_a_delayed_value_in_a_branch_and_as_a_result(parsed):
    model = parsed("""g (uint8[3] q, bool b) => (float[3] x, float[3] y) {
        x = DequantizeLinear(q, s)
        y = If(b) <then_branch = t () => (float[3] u) { u = Neg(x) },
                   else_branch = e () => (float[3] v) { v = Identity(x) }>
    }""")
    net = sycl_dnn.onnx.load(with_constants(model, s=np.float32(0.5)))
    x, y = host(net(np.array([1, 2, 3], "u1"), np.array(True)))
    assert x.tolist() == [0.5, 1.0, 1.5]
    assert y.tolist() == [-0.5, -1.0, -1.5]


def test_quantized_matrices_of_microsoft(parsed):
    model = onnx.parser.parse_model("""
        <ir_version: 9, opset_import: ["": 17, "com.microsoft": 1]>
        g (uint8[2, 8] x) => (uint8[2, 4] y, float[2, 4] z) {
            y = com.microsoft.QGemm <transB = 1> (x, s, k, w, t, n, b, u, o)
            z = com.microsoft.QGemm <transB = 1> (x, s, k, w, t, n, b)
        }""")
    w = RNG.integers(-128, 128, (4, 8)).astype("i1")
    b = RNG.integers(-500, 500, 4).astype("i4")
    with_constants(model, s=np.float32(0.1), k=np.uint8(7), w=w, t=np.float32(0.02),
                   n=np.int8(0), b=b, u=np.float32(0.3), o=np.uint8(128))  # fmt: skip
    x = RNG.integers(0, 256, (2, 8)).astype("u1")
    y, z = host(sycl_dnn.onnx.load(model)(x))
    total = ((x.astype("i8") - 7) @ w.astype("i8").T + b) * 0.002
    np.testing.assert_allclose(z, total, rtol=1e-5)
    assert np.abs(y - np.clip(np.rint(total / 0.3) + 128, 0, 255)).max() <= 1


# --- LSTM with weights of 8 bits


def rounded_to_8_bits(x):
    """Return numbers as DynamicQuantizeLinear keeps them."""
    low, high = min(x.min(), 0), max(x.max(), 0)
    scale = (high - low) / 255 or 1.0
    zero = np.clip(np.rint(-low / scale), 0, 255)
    return (np.clip(np.rint(x / scale) + zero, 0, 255) - zero) * scale


def lstm_in_float64(x, w, r, bias, rounded):
    """Return the results (T, D, N, H); ``rounded`` is what inputs and states go through."""

    def sigmoid(x):
        return 1 / (1 + np.exp(-x))

    result = np.zeros((len(x), len(w), x.shape[1], r.shape[1]))
    for d in range(len(w)):
        h = c = np.zeros(result.shape[2:])
        projected = rounded(x) @ w[d] + bias[d].reshape(2, -1).sum(0)
        for t in range(len(x))[:: -1 if d else 1]:
            i, o, f, g = np.split(projected[t] + rounded(h) @ r[d], 4, 1)
            c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
            result[t, d] = h = sigmoid(o) * np.tanh(c)
    return result


def test_an_lstm_with_weights_of_8_bits_does_not_round_inputs_and_states():
    """It is nearer to the same weights in float64 than an LSTM of products of 8-bit integers."""
    model = onnx.parser.parse_model("""
        <ir_version: 9, opset_import: ["": 17, "com.microsoft": 1]>
        g (float[T, N, 32] x) => (float[T, 2, N, 24] y) {
            y = com.microsoft.DynamicQuantizeLSTM <hidden_size = 24, direction = "bidirectional">
                (x, w, r, b, , , , , ws, wz, rs, rz)
        }""")
    rng = np.random.default_rng(0)  # largest errors differ by a factor of 3
    w, r = (rng.integers(-128, 128, (2, n, 96)).astype("i1") for n in (32, 24))
    ws, rs, bias = np.float32([0.002, 0.003]), np.float32([0.004, 0.003]), rng.random((2, 192))
    zeros = {"wz": np.int8([3, 0]), "rz": np.int8([0, -2])}
    with_constants(model, w=w, r=r, b=bias.astype("f4"), ws=ws, rs=rs, **zeros)
    x = (4 * rng.standard_normal((7, 3, 32))).astype("f4")
    x[0, 0, 0] = 40  # one large number makes the steps of 8 bits large
    wide = [
        (v - zeros[z].reshape(2, 1, 1).astype("f8")) * s.reshape(2, 1, 1)
        for v, z, s in ((w, "wz", ws), (r, "rz", rs))
    ]
    exact = lstm_in_float64(x, *wide, bias, lambda x: x)
    coarse = np.abs(lstm_in_float64(x, *wide, bias, rounded_to_8_bits) - exact)
    error = np.abs(host(sycl_dnn.onnx.load(model)(x))[0] - exact)
    assert error.max() < 0.02
    assert 3 * np.sqrt((error**2).mean()) < np.sqrt((coarse**2).mean())


@pytest.mark.parametrize("attributes", [
    "kernel_shape = [2, 3], strides = [2, 1]",
    "kernel_shape = [3, 3], pads = [1, 1, 1, 1], count_include_pad = 1",
    "kernel_shape = [3, 2], pads = [1, 0, 1, 1], strides = [2, 2], ceil_mode = 1",
])  # fmt: skip
@pytest.mark.parametrize("zero", [np.uint8(128), np.int8(-5)], ids=["uint8", "int8"])
@pytest.mark.sweep(2)
def test_average_pool_of_8_bits(attributes, zero):
    """It equals the pool of the dequantized numbers, quantized."""
    kind, info = zero.dtype.name, np.iinfo(zero.dtype)
    constants = {"s": np.float32(0.02), "z": zero, "t": np.float32(0.015), "o": zero}
    values = f"({kind}[N, 3, H, W] x) => ({kind}[N, 3, P, Q] y)"
    versions = '<ir_version: 9, opset_import: ["": 19, "com.microsoft": 1]>'
    quantized, plain = (
        with_constants(onnx.parser.parse_model(f"{versions} g {values} {{ {body} }}"), **constants)
        for body in (
            f"y = com.microsoft.QLinearAveragePool <{attributes}> (x, s, z, t, o)",
            f"a = DequantizeLinear(x, s, z) b = AveragePool <{attributes}> (a) "
            "y = QuantizeLinear(b, t, o)",
        )
    )
    fast, reference = sycl_dnn.onnx.load(quantized), ReferenceEvaluator(plain)
    for shape in ((1, 3, 8, 8), (2, 3, 7, 10)):
        x = RNG.integers(info.min, info.max, shape).astype(kind)
        (y,), (expected,) = host(fast(x)), reference.run(None, {"x": x})
        assert y.dtype == expected.dtype
        assert y.shape == expected.shape
        assert np.abs(y.astype("i4") - expected).max() <= 1  # a half may be rounded either way
        assert (y != expected).mean() < 0.02
