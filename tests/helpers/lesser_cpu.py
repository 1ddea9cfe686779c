# SPDX-License-Identifier: Apache-2.0
"""Functions and their gradients against NumPy, on a CPU limited by ONEDNN_MAX_CPU_ISA.

    ONEDNN_MAX_CPU_ISA=AVX2 python tests/helpers/lesser_cpu.py

Prints the instruction set in use and what it checked; the exit status is 1 if a value is wrong.
"""

import dpnp
import numpy as np

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import onednn as dnnl
from sycl_dnn.functional import QuantizedTensor

QUEUE = sycl_dnn.default_queue("cpu")
RNG = np.random.default_rng(0)
#: Largest error relative to the largest value.
TOLERANCE = {"float32": 2e-5, "bfloat16": 3e-2}


def drawn(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def softmaxed(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def normed(x, weight, bias):
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * weight + bias


def convolved(x, w, bias):
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], (2, 3))
    return np.einsum("ncijhw,ochw->noij", windows, w) + bias[:, None, None]


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def lstm_states(x, w_ih, w_hh):
    """Return the states of an LSTM over (T, N, C) that starts from zeros."""
    h = c = np.zeros((x.shape[1], w_hh.shape[1]))
    states = []
    for step in x:
        i, f, g, o = np.split(step @ w_ih.T + h @ w_hh.T, 4, axis=1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        states.append(h)
    return np.stack(states)


def attended(q, k, v):
    return softmaxed(q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])) @ v


def network(x, w, b, v):
    """Return a small network, compiled below."""
    return F.softmax(F.linear(F.relu(F.conv2d(x, w, b)).reshape(2, -1), v), -1)


def network_in_numpy(x, w, b, v):
    return softmaxed(np.maximum(convolved(x, w, b), 0).reshape(2, -1) @ v.T)


#: name: function, the same in NumPy, arguments
CASES = {
    "conv2d": (F.conv2d, convolved, (drawn(2, 6, 7, 9), drawn(8, 6, 3, 3), drawn(8))),
    "linear": (F.linear, lambda x, w, b: x @ w.T + b, (drawn(5, 24), drawn(7, 24), drawn(7))),
    "matmul": (F.matmul, np.matmul, (drawn(2, 5, 9), drawn(2, 9, 4))),
    "softmax": (lambda x: F.softmax(x, -1), softmaxed, (drawn(4, 17),)),
    "log_softmax": (
        lambda x: F.log_softmax(x, -1), lambda x: np.log(softmaxed(x)), (drawn(4, 17),),
    ),
    "layer_norm": (
        lambda x, w, b: F.layer_norm(x, (12,), w, b), normed, (drawn(5, 12), drawn(12), drawn(12)),
    ),
    "celu": (F.celu, lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))), (drawn(3, 5),)),
    "attention": (
        F.scaled_dot_product_attention, attended, tuple(drawn(2, 3, 6, 8) for _ in range(3)),
    ),
    "lstm": (
        lambda x, a, b: F.lstm(x, None, [a, b], bias=False)[0], lstm_states,
        (drawn(4, 3, 5), drawn(24, 5), drawn(24, 6)),
    ),
    "compiled": (
        sycl_dnn.compile(network), network_in_numpy,
        (drawn(2, 3, 6, 6), drawn(4, 3, 3, 3), drawn(4), drawn(5, 64)),
    ),
}  # fmt: skip


def to_device(values, dtype="float32"):
    plain = dpnp.asarray(values, sycl_queue=QUEUE)
    return plain if values.dtype.name == dtype else sycl_dnn.asarray(plain, dtype)


def to_numpy(array):
    return dpnp.asnumpy(array.astype("float32")).astype(np.float64)


def check(name, actual, expected, dtype="float32"):
    error = np.abs(to_numpy(actual) - expected).max() / max(np.abs(expected).max(), 1e-3)
    assert error < TOLERANCE[dtype], f"{name}, {dtype}: off by {error:.2g} of the largest value"


def check_function(name, dtype):
    """Compare values, and gradients with central differences along a random direction."""
    function, reference, arguments = CASES[name]
    args = [to_device(a, dtype) for a in arguments]
    wide = [to_numpy(a) for a in args]
    expected = reference(*wide)
    check(name, function(*args), expected, dtype)
    seed = to_device(RNG.standard_normal(expected.shape).astype(np.float32), dtype)
    gradients = sycl_dnn.vjp(function, *args)[1](seed)
    for place, gradient in enumerate(gradients):
        direction = RNG.standard_normal(wide[place].shape)
        near = [
            reference(*wide[:place], wide[place] + step * direction, *wide[place + 1 :])
            for step in (1e-6, -1e-6)
        ]
        slope = (to_numpy(seed) * (near[0] - near[1])).sum() / 2e-6
        found = to_numpy(gradient)
        error = abs((found * direction).sum() - slope)
        error /= np.linalg.norm(found) * np.linalg.norm(direction)
        assert error < TOLERANCE[dtype], f"{name}, {dtype}: gradient {place} is off by {error:.2g}"


def quantized(values, scale):
    return QuantizedTensor(to_device(values, values.dtype.name), to_device(np.float32(scale)))


def check_integers(source):
    """Compare products whose sums of pairs exceed 16 bits."""
    top = np.iinfo(source).max
    x = np.full((3, 64), top, source)
    w = RNG.integers(100, 128, (5, 64)).astype(np.int8)
    actual = F.quantized_linear(quantized(x, 0.5), quantized(w, 0.25))
    expected = 0.125 * (x.astype(int) @ w.astype(int).T)
    np.testing.assert_array_equal(to_numpy(actual), expected, err_msg=f"quantized_linear, {source}")
    image, kernel = x.reshape(3, 4, 4, 4), w.reshape(5, 4, 4, 4)
    actual = F.quantized_conv2d(quantized(image, 0.5), quantized(kernel, 0.25))
    np.testing.assert_array_equal(
        to_numpy(actual)[:, :, 0, 0], expected, err_msg=f"quantized_conv2d, {source}"
    )


def check_shifted_weights():
    """Check weights with zero points, for which CPUs without AVX-512 support only one order."""
    x, w = drawn(3, 32), drawn(6, 32)
    for dtype, axis, group in (("uint8", 0, None), ("uint4", 1, 16)):
        weight = F.quantize_dynamic(to_device(w), dtype, axis, group)
        expected = x @ to_numpy(F.dequantize(weight)).T
        constant = weight._replace(data=sycl_dnn.freeze(weight.data))
        for form in (weight, constant, constant):
            check(f"linear, {dtype}", F.linear(to_device(x), form), expected)


def main():
    """Check all files."""
    print(dnnl.get_effective_cpu_isa().name)
    for name in CASES:
        for dtype in TOLERANCE:
            check_function(name, dtype)
    for source in ("uint8", "int8"):
        check_integers(source)
    check_shifted_weights()
    print(", ".join([*CASES, "quantized_linear", "quantized_conv2d"]))


if __name__ == "__main__":
    main()
