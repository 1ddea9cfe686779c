# SPDX-License-Identifier: Apache-2.0
"""Compiled functions of operands with axes in any memory order, compared with eager calls.

Eager calls copy such operands; compiled functions read them in place if they can. Many are drawn
with CI_LONG=1, otherwise a few for each function.
"""

import os
from random import Random

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F

LONG = bool(os.environ.get("CI_LONG"))
DRAWN = 150 if LONG else 5


def laid_out(draw, shape, queue):
    """Return random numbers whose axes have any order in memory, possibly with gaps."""
    order = list(range(len(shape)))
    draw.shuffle(order)
    numbers = np.random.default_rng(draw.randrange(1 << 30)).standard_normal(shape).astype("f4")
    memory = np.ascontiguousarray(numbers.transpose(order))
    if draw.random() < 0.25:
        wider = np.full((*memory.shape[:-1], memory.shape[-1] + 3), np.nan, "f4")
        wider[..., 1:-2] = memory
        array = dpnp.asarray(wider, sycl_queue=queue)[..., 1:-2]
    else:
        array = dpnp.asarray(memory, sycl_queue=queue)
    return array.transpose([int(i) for i in np.argsort(order)])


# --- functions, and the shapes of their operands: both random


def _product(draw):
    rows, inner, columns = (draw.choice((1, 2, 3, 6, 17)) for _ in range(3))
    batch = [draw.choice((1, 2, 4)) for _ in range(draw.randrange(3))]
    other = [n if draw.random() < 0.7 else 1 for n in batch][draw.randrange(len(batch) + 1) :]
    return F.matmul, [(*batch, rows, inner), (*other, inner, columns)]


def _product_and_more(draw):
    product, (a, b) = _product(draw)
    result = (*a[:-1], b[-1])
    spread = tuple(n if draw.random() < 0.5 else 1 for n in result)
    after = draw.choice((F.relu, F.gelu, lambda x: x))
    return (lambda x, y, z: after(product(x, y)) * z + z), [a, b, spread]


def _linear(draw):
    rows = [draw.choice((1, 3, 5)) for _ in range(draw.randrange(1, 4))]
    inner, columns = draw.choice((1, 4, 9)), draw.choice((1, 6, 16))
    return F.linear, [(*rows, inner), (columns, inner), (columns,)]


def _two_products(draw):
    """Weights of the second product are a result in the layout of the first one's operands."""
    batch, heads = draw.choice((1, 2)), draw.choice((1, 3, 4))
    n, k, m = (draw.choice((1, 2, 6)) for _ in range(3))

    def compute(p, v, w):
        return F.matmul(F.permute(F.matmul(p, v), (0, 1, 3, 2)), w)

    return compute, [(batch, heads, n, k), (batch, heads, k, m), (batch, heads, n, 5)]


def _attention(draw):
    batch, groups, heads = draw.choice((1, 1, 2)), draw.choice((1, 2, 3)), draw.choice((1, 2, 3))
    queries, keys = draw.choice((1, 4, 8)), draw.choice((1, 4, 8))
    size, value = draw.choice((2, 16, 64)), draw.choice((2, 16))
    causal, masked = draw.random() < 0.3, draw.random() < 0.3
    grouped = groups > 1
    shapes = [
        (batch, heads * groups, queries, size),
        (batch, heads, keys, size),
        (batch, heads, keys, value),
    ]
    if masked and not causal:
        shapes.append(draw.choice([(queries, keys), (1, 1, queries, keys), (batch, 1, 1, keys)]))

    def attend(q, k, v, mask=None):
        return F.scaled_dot_product_attention(
            q, k, v, attn_mask=mask, is_causal=causal, enable_gqa=grouped
        )

    return attend, shapes


def _convolution(draw):
    rank, groups = draw.choice((1, 2, 2, 3)), draw.choice((1, 1, 2, 4))
    channels, outputs = groups * draw.choice((1, 3, 4)), groups * draw.choice((1, 2, 8))
    kernel, stride = draw.choice((1, 1, 2, 3)), draw.choice((1, 1, 2))
    size = [draw.choice((1, 5, 8)) + kernel - 1 for _ in range(rank)]
    convolve = (F.conv1d, F.conv2d, F.conv3d)[rank - 1]
    padding = draw.choice((0, kernel // 2))
    after = draw.choice((F.relu, F.silu, lambda x: x))

    def compute(x, w, b):
        return after(convolve(x, w, b, stride=stride, padding=padding, groups=groups))

    x = (draw.choice((1, 1, 3)), channels, *size)
    return compute, [x, (outputs, channels // groups, *[kernel] * rank), (outputs,)]


def _transposed(draw):
    channels, outputs, groups = draw.choice((2, 16)), draw.choice((1, 3, 8)), draw.choice((1, 2))
    kernel, stride = draw.choice((1, 2, 3)), draw.choice((1, 2))

    def compute(x, w):
        return F.conv_transpose2d(x, w, stride=stride, groups=groups)

    x = (draw.choice((1, 2)), channels, draw.choice((1, 6)), 5)
    return compute, [x, (channels, outputs, kernel, kernel)]


def _rows_and_more(draw):
    """Normalized or softmaxed rows, or slopes, then operands that broadcast."""
    shape = draw.choice([(2, 12, 3, 16), (1, 5, 3, 8), (2, 1, 3, 8), (3, 8, 16), (2, 16, 1, 1)])
    axis = draw.randrange(len(shape))
    kind = draw.choice(("softmax", "log_softmax", "layer_norm", "rms_norm", "prelu", "max"))
    spread = tuple(n if draw.random() < 0.5 else 1 for n in shape)

    def compute(x, y):
        if kind == "softmax":
            result = F.softmax(x, axis)
        elif kind == "log_softmax":
            result = F.log_softmax(x, axis)
        elif kind == "prelu":
            result = F.prelu(x, F.flatten(F.sum(x, dim=[i for i in range(x.ndim) if i != 1])))
        elif kind == "max":
            result = F.maximum(x, y)
        else:
            result = getattr(F, kind)(x, shape[-1:])
        return F.relu(result * y) + y

    return compute, [shape, spread]


CASES = {
    f.__name__[1:]: f
    for f in (_product, _product_and_more, _linear, _two_products, _attention, _convolution,
              _transposed, _rows_and_more)
}  # fmt: skip


def close(got, wanted):
    scale = max(float(dpnp.abs(wanted).max()), 1e-3) if wanted.size else 1
    return wanted.size == 0 or float(dpnp.abs(got - wanted).max()) <= 5e-5 * scale


def told(arrays):
    return [(a.shape, tuple(s // 4 for s in a.strides)) for a in arrays]


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_compiled_functions_equal_eager_calls_in_any_layout(name, queue):
    wrong = []
    for number in range(DRAWN):
        draw = Random(f"{name} {number}")
        compute, shapes = CASES[name](draw)
        arrays = [laid_out(draw, shape, queue) for shape in shapes]
        eager = compute(*arrays)
        if not close(sycl_dnn.compile(lambda *a, f=compute: f(*a))(*arrays), eager):
            wrong.append((number, "value", told(arrays)))

        def total(*a, f=compute):
            return F.sum(F.square(f(*a)))

        step = sycl_dnn.grad(total, argnums=tuple(range(len(arrays))))
        found = sycl_dnn.compile(lambda *a, f=step: f(*a))(*arrays)
        for argument, (actual, right) in enumerate(zip(found, step(*arrays), strict=True)):
            if not close(actual, right):
                wrong.append((number, f"gradient {argument}", told(arrays)))
    assert not wrong, (len(wrong), wrong[:6])
