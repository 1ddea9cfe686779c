# SPDX-License-Identifier: Apache-2.0
"""Shapes and parameters drawn by hypothesis: right by the reference, or refused clearly."""

from dataclasses import replace

import numpy as np
import pytest
from functional.case import Case, Spec
from functional.checks import check_gradient, check_value
from functional.windows import avg_pool, conv, conv_transpose, max_pool, pooled_size
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sycl_dnn import functional as F

FEW = settings(
    max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
LAYOUTS = st.sampled_from(["plain", "channels_last", "strided", "reversed", "transposed"])
SMALL = st.integers(1, 4)


def run(case, queue):
    check_value(case, queue)
    # A gradient may be a small difference of large terms.
    check_gradient(replace(case, slack=20.0), queue)


@st.composite
def convolutions(draw, rank):
    groups = draw(st.sampled_from([1, 1, 2, 3]))
    inputs, outputs = groups * draw(SMALL), groups * draw(SMALL)
    kernel = tuple(draw(st.integers(1, 3)) for _ in range(rank))
    size = tuple(draw(st.integers(1, 9)) for _ in range(rank))
    options = [
        tuple(draw(st.integers(low, high)) for _ in range(rank))
        for low, high in ((1, 3), (0, 2), (1, 2))
    ]
    x = Spec((draw(st.integers(1, 3)), inputs, *size), layout=draw(LAYOUTS))
    w = Spec((outputs, inputs // groups, *kernel), layout=draw(LAYOUTS))
    bias = Spec((outputs,)) if draw(st.booleans()) else None
    return x, w, bias, *options, groups


def fits(x, w, stride, padding, dilation):
    spans = [
        n + 2 * p - d * (k - 1)
        for n, k, p, d in zip(x.shape[2:], w.shape[2:], padding, dilation, strict=True)
    ]
    return min(spans) > 0


@pytest.mark.slow
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_conv(rank, queue):
    function = (F.conv1d, F.conv2d, F.conv3d)[rank - 1]

    @FEW
    @given(convolutions(rank))
    def check(args):
        case = Case("drawn", function, conv, args)
        if fits(args[0], args[1], *args[3:6]):
            run(case, queue)
        else:
            with pytest.raises(ValueError, match="must"):
                check_value(case, queue)

    check()


@pytest.mark.slow
@FEW
@given(data=st.data())
def test_conv_transpose(data, queue):
    x, w, bias, stride, padding, dilation, groups = data.draw(convolutions(2))
    # (I, O / groups, *K): the weights of the convolution that it is the gradient of.
    turned = Spec((w.shape[0], w.shape[1], *w.shape[2:]), layout=w.layout)
    source = Spec((x.shape[0], w.shape[0], *x.shape[2:]), layout=x.layout)
    bias = bias and Spec((w.shape[1] * groups,))
    args = (source, turned, bias, stride, padding, 0, groups, dilation)
    sizes = [
        (n - 1) * s - 2 * p + d * (k - 1) + 1
        for n, s, p, d, k in zip(x.shape[2:], stride, padding, dilation, w.shape[2:], strict=True)
    ]
    case = Case("drawn", F.conv_transpose2d, conv_transpose, args)
    if min(sizes) > 0:
        run(case, queue)
    else:
        with pytest.raises(ValueError, match="must"):
            check_value(case, queue)


@pytest.mark.slow
@FEW
@given(data=st.data())
def test_pools(data, queue):
    draw = data.draw
    kernel, stride = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    padding = draw(st.integers(0, kernel // 2))
    ceil_mode = draw(st.booleans())
    shape = (
        draw(SMALL),
        draw(st.integers(1, 17)),
        draw(st.integers(1, 9)),
        draw(st.integers(1, 9)),
    )
    sizes = [pooled_size(n, kernel, stride, padding, 1, ceil_mode) for n in shape[2:]]
    for function, reference in ((F.max_pool2d, max_pool), (F.avg_pool2d, avg_pool)):
        x = Spec(shape, "distinct", layout=draw(LAYOUTS))
        kwargs = {"stride": stride, "padding": padding, "ceil_mode": ceil_mode}
        case = Case("drawn", function, reference, (x, kernel), kwargs)
        if min(sizes) > 0:
            run(case, queue)
        else:
            with pytest.raises(ValueError, match="must"):
                check_value(case, queue)


@pytest.mark.slow
@FEW
@given(data=st.data())
def test_matmul(data, queue):
    draw = data.draw
    m, k, n = (draw(st.integers(0, 7)) for _ in range(3))
    batch = draw(st.lists(st.integers(1, 3), max_size=2))
    ones = [draw(st.sampled_from([size, 1])) for size in batch]
    a = Spec((*batch, m, k), layout=draw(LAYOUTS))
    b = Spec((*ones[draw(st.integers(0, len(ones))) :], k, n), layout=draw(LAYOUTS))
    run(Case("drawn", F.matmul, np.matmul, (a, b)), queue)


@pytest.mark.slow
@FEW
@given(data=st.data())
def test_softmax(data, queue):
    draw = data.draw
    shape = tuple(draw(st.lists(st.integers(1, 6), min_size=1, max_size=5)))
    axis = draw(st.integers(-len(shape), len(shape) - 1))

    def reference(x, dim):
        powers = np.exp(x - x.max(axis=dim, keepdims=True))
        return powers / powers.sum(axis=dim, keepdims=True)

    run(Case("drawn", F.softmax, reference, (Spec(shape, layout=draw(LAYOUTS)), axis)), queue)


@pytest.mark.slow
@FEW
@given(data=st.data())
def test_broadcasting(data, queue):
    draw = data.draw
    shape = draw(st.lists(st.integers(1, 5), min_size=1, max_size=5))
    other = [draw(st.sampled_from([n, 1])) for n in shape][draw(st.integers(0, len(shape))) :]
    function, reference = draw(
        st.sampled_from([(F.add, np.add), (F.mul, np.multiply), (F.sub, np.subtract)])
    )
    a = Spec(tuple(shape), layout=draw(LAYOUTS))
    b = Spec(tuple(other), layout=draw(LAYOUTS))
    pair = (a, b) if draw(st.booleans()) else (b, a)
    run(Case("drawn", function, reference, pair), queue)
