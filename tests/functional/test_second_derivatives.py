# SPDX-License-Identifier: Apache-2.0
"""Second derivatives that PyTorch's samples do not cover, against PyTorch in float64."""

import re
import zlib
from math import inf, nan

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F

#: Functions that torch's samples lack or do not differentiate twice, and those that ``nan_mode``
#: changes, over u (3, 4), i (1, 2, 4, 4), s (1, 2, 6), positive p (3, 4) and t, classes of rows.
CALLS = [
    "hardsigmoid(u)", "dropout(u * u, 0.0)", "alpha_dropout(u * u, 0.0, False)",
    "swapaxes(u * u, 0, 1)", "cdist(u, p)", "cdist(u, p, 1.0)", "cdist(u, p, 3.0)",
    "lp_pool1d(s, 2.0, 2)", "lp_pool2d(i * i, 3.0, 2)", "lp_pool2d(i, 2.0, 2)",
    "fold(reshape(i * i, (1, 8, 4)), (3, 3), 2)",
    "affine_grid(u[:2, :3].reshape(1, 2, 3) ** 2, (1, 1, 2, 2), False)",
    "multi_margin_loss(u * u, t)", "multi_margin_loss(u, t, 2)",
    "multi_margin_loss(u, t, 2, 1.0, c)",
    "max_pool1d(s * s, 2)", "max_pool2d(i * i, 3, 1, 1)", "adaptive_max_pool2d(i * i, 3)",
    "scaled_dot_product_attention(i, i * 0.5, i)",
    "scaled_dot_product_attention(i, i, i, is_causal=True)",
]  # fmt: skip
#: Other functions, for those whose second derivatives PyTorch lacks.
EQUIVALENT = {
    "hardsigmoid(u)": "clamp(u / 6 + 0.5, 0, 1)",
    "cdist(u, p)": "norm(u[:, None] - p, 2.0, -1)",
    "cdist(u, p, 1.0)": "norm(u[:, None] - p, 1.0, -1)",
    "cdist(u, p, 3.0)": "norm(u[:, None] - p, 3.0, -1)",
    "scaled_dot_product_attention(i, i * 0.5, i)":
    "softmax(i @ transpose(i, 2, 3) / 4, -1) @ i",
    "scaled_dot_product_attention(i, i, i, is_causal=True)":
    "softmax(masked_fill(i @ transpose(i, 2, 3) / 2, triu(ones(4, 4), 1) > 0, -inf), -1) @ i",
    "multi_margin_loss(u * u, t)":
    "sum(clamp_min(1 - (u * u)[arange(3), t][:, None] + u * u, 0) * o) / 12",
    "multi_margin_loss(u, t, 2)":
    "sum(clamp_min(1 - u[arange(3), t][:, None] + u, 0) ** 2 * o) / 12",
    "multi_margin_loss(u, t, 2, 1.0, c)":
    "sum(clamp_min(1 - u[arange(3), t][:, None] + u, 0) ** 2 * o * c[t][:, None]) / 12",
}  # fmt: skip
_SHAPES = {"u": (3, 4), "p": (3, 4), "i": (1, 2, 4, 4), "s": (1, 2, 6)}
_CLASSES = [2, 0, 1]
#: Other operands of calls: weights, class indices, and wrong classes of rows.
_CONSTANTS = {"c": np.array([0.7, 1.1, 0.4, 0.9]), "o": 1.0 - np.eye(4)[_CLASSES],
              "t": np.array(_CLASSES)}  # fmt: skip
TOLERANCE = 3e-4


def values(call):
    """Return the numbers of the operands that a call reads, by name."""
    rng = np.random.default_rng(zlib.crc32(call.encode()))
    result = {}
    for name, shape in _SHAPES.items():
        drawn = rng.uniform(0.2, 1.4, shape)
        # Away from 0, 0.5 and other kinks, and from each other.
        signs = np.where(rng.random(shape) < 0.5, -1, 1)
        result[name] = drawn if name == "p" else drawn * signs * 1.1
    words = set(re.findall(r"\b[a-z]\b", call))
    return {n: a for n, a in result.items() if n in words}


def weights(shape, number):
    """Return factors that make a sum of an array depend on each element."""
    return np.cos(np.arange(int(np.prod(shape))) * (1 + number)).reshape(shape) + 0.3


def function_of(call, names, operands):
    return eval(f"lambda {', '.join(operands)}: {call}", {**names, "inf": float("inf")})


# --- What PyTorch gives


def names_of_torch(torch, dtype):
    """Return what calls use: functions, and constants of a dtype."""
    constants = {n: torch.tensor(a) for n, a in _CONSTANTS.items()}
    return {
        **{n: getattr(torch, n) for n in dir(torch) if callable(getattr(torch, n))},
        **{n: getattr(torch.nn.functional, n) for n in dir(torch.nn.functional)},
        "norm": torch.norm, "transpose": torch.transpose,
        **{n: t.to(dtype) if t.is_floating_point() else t for n, t in constants.items()},
        "inf": inf,
    }  # fmt: skip


def by_torch(torch, call):
    """Return the first and second derivatives by operand."""
    names = names_of_torch(torch, torch.float64)
    provided = {n: torch.tensor(a, requires_grad=True) for n, a in values(call).items()}
    y = function_of(EQUIVALENT.get(call, call), names, provided)(*provided.values())
    loss = (y * torch.tensor(weights(tuple(y.shape), 0))).sum()
    operands = list(provided.values())
    first = torch.autograd.grad(loss, operands, create_graph=True, materialize_grads=True)
    slopes = [(g * torch.tensor(weights(tuple(g.shape), 1))).sum() for g in first]
    total = sum(slopes)
    if total.requires_grad:
        second = torch.autograd.grad(total, operands, materialize_grads=True)
    else:
        second = [torch.zeros_like(a) for a in operands]
    return [[g.detach().numpy(force=True) for g in part] for part in (first, second)]


# --- What this library gives


def ours(call, queue):
    """Return the function of a call and its operands."""
    names = {name: getattr(F, name) for name in dir(F)}
    for name, numbers in _CONSTANTS.items():
        dtype = "f4" if numbers.dtype == "f8" else None
        names[name] = dpnp.asarray(numbers, dtype=dtype, sycl_queue=queue)
    provided = {n: dpnp.asarray(a, dtype="f4", sycl_queue=queue) for n, a in values(call).items()}
    return function_of(call, names, provided), list(provided.values())


def _array(numbers, like):
    return dpnp.asarray(numbers, dtype="f4", sycl_queue=like.sycl_queue)


def derivatives(call, queue):
    """Return the first and the second derivatives by operand."""
    function, operands = ours(call, queue)
    every = tuple(range(len(operands)))
    shape = function(*operands).shape
    outer, inner = (
        _array(weights(shape, 0), operands[0]),
        [_array(weights(a.shape, 1), a) for a in operands],
    )

    def loss(*args):
        return F.sum(F.mul(function(*args), outer))

    def slope(*args):
        slopes = sycl_dnn.grad(loss, argnums=every)(*args)
        parts = [F.sum(F.mul(g, w)) for g, w in zip(slopes, inner, strict=True) if g is not None]
        total = parts[0]
        for part in parts[1:]:
            total = F.add(total, part)
        return total

    first = sycl_dnn.grad(loss, argnums=every)
    second = sycl_dnn.grad(slope, argnums=every)
    return first, second, operands


def alike(actual, expected, what):
    for number, (mine, other) in enumerate(zip(actual, expected, strict=True)):
        received = np.zeros(np.shape(other)) if mine is None else dpnp.asnumpy(mine)
        limit = TOLERANCE * max(np.abs(other).max(), 1)
        assert np.abs(received - other).max() < limit, (
            f"{what} of operand {number}:\n{received.tolist()}\ntorch\n{other}"
        )


def check(call, queue):
    """Compare with PyTorch, eager and compiled."""
    expected = by_torch(pytest.importorskip("torch"), call)
    first, second, operands = derivatives(call, queue)
    alike(first(*operands), expected[0], "first")
    for run in (second, sycl_dnn.compile(lambda *a: second(*a))):
        alike(run(*operands), expected[1], "second")


@pytest.mark.parametrize("call", CALLS)
def test_second_derivatives(queue, call):
    check(call, queue)


#: What ``nan_mode("propagate")`` computes in another way.
_OTHERWISE = ("adaptive_max", "max_pool", "scaled_dot")


@pytest.mark.parametrize("call", [c for c in CALLS if c.startswith(_OTHERWISE)])
def test_second_derivatives_with_nan(queue, call):
    with sycl_dnn.nan_mode("propagate"):
        check(call, queue)


#: Of a function at numbers: the gradient of a sum weighted by 1, 2, 3..., and that of its sum.
AT_THE_EDGE = {
    "pow(u, 3.0)": ([inf, -inf, 2.0], [inf, inf, 36.0], [inf, -inf, 36.0]),
    "pow(u, 4.0)": ([inf, -inf, 2.0], [inf, -inf, 96.0], [inf, inf, 144.0]),
    "cumprod(u, 0)": ([-1.0, 0.0, 2.0], [1.0, -8.0, 0.0], [8.0, 5.0, -3.0]),
    "elu(u)": ([0.0, -1.0, 2.0], [1.0, 0.7357589, 3.0], [0.0, 0.7357589, 0.0]),
    "celu(u, 2.0)": ([-0.0, -1.0, 2.0], [1.0, 1.2130613, 3.0], [0.0, 0.6065307, 0.0]),
    "selu(u)": ([0.0, -1.0, 2.0], [1.7580993, 1.2935313, 3.152103], [0.0, 1.2935313, 0.0]),
    "linear_recurrence(u, u, 0, full((1,), inf))": (
        [0.5, 0.25, 1.0], [inf, inf, inf], [inf, inf, nan],
    ),
}  # fmt: skip


@pytest.mark.parametrize("mode", ["fast", "propagate"])
@pytest.mark.parametrize("call", AT_THE_EDGE)
@pytest.mark.sweep(2)
def test_unselected_values_produce_no_nan(call, mode, queue):
    values, *expected = AT_THE_EDGE[call]
    u, w = (dpnp.asarray(v, dtype="f4", sycl_queue=queue) for v in (values, [1, 2, 3]))
    names = {name: getattr(F, name) for name in dir(F)} | {"inf": inf}
    function = eval(f"lambda u: {call}", names)
    slope = sycl_dnn.grad(lambda u: F.sum(function(u) * w))
    curve = sycl_dnn.grad(lambda u: F.sum(slope(u)))
    with sycl_dnn.nan_mode(mode):
        for derivative, values in zip((slope, curve), expected, strict=True):
            np.testing.assert_allclose(dpnp.asnumpy(derivative(u)), values, rtol=1e-5)
