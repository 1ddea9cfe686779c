"""Derivatives of orders 1 to 3 of every operation, by differences in float64."""

import zlib

import numpy as np
import pytest
from node_values import pushforward, values_of

from sycl_dnn.ir.derivation import pullback
from sycl_dnn.ir.node import OPERATIONS, leaf, number
from sycl_dnn.ops import activation as a
from sycl_dnn.ops import arithmetic as e
from sycl_dnn.ops import bessel_functions as bessel
from sycl_dnn.ops import creation as c
from sycl_dnn.ops import elementwise_losses as pairs
from sycl_dnn.ops import losses as n
from sycl_dnn.ops import normalization as b
from sycl_dnn.ops import number_parts as parts
from sycl_dnn.ops import probability_functions as likely
from sycl_dnn.ops import products as p
from sycl_dnn.ops import reduction as r
from sycl_dnn.ops import scan as q
from sycl_dnn.ops import selection as t
from sycl_dnn.ops import shape as s
from sycl_dnn.ops import special_functions as special

STEP, TOLERANCE = 1e-4, 2e-5


def draw(*shape, low=-2.0, high=2.0):
    """Random numbers of a shape within bounds; drawn when the case runs."""
    return lambda rng: rng.uniform(low, high, shape)


X, POSITIVE = draw(3, 4), draw(3, 4, low=0.3)
INSIDE = draw(3, 4, low=-0.9, high=0.9)
ROW = draw(4)
#: Far enough from 0 on both sides that steps do not cross it.
APART = lambda rng: rng.uniform(0.3, 2.0, (3, 4)) * rng.choice([-1, 1], (3, 4))  # noqa: E731
DISTINCT = lambda rng: rng.permutation(12).reshape(3, 4) * 0.37 - 2.0  # noqa: E731
IMAGE = draw(2, 3, 4)


def _cut(x):
    return t.part(x, [(2, -2, 2), (1, 2, 2)])


def _bordered(x, mode):
    return t.BORDER(x * x, widths=((1, 2), (2, 1)), mode=mode)


def _coordinates(last):
    """Return indices of shape (2, 2, 3), some of them outside of axes of 3 and 4 elements."""
    return t.iota(2, 0, 3) + t.iota(2, 1, 3) * 2 - t.iota(3, 2, 3) + last


def _where(x, y):
    return e.where(e.GT(x, number(0.0, "float64")), x * x, y * x)


def _scanned(operation, *nodes, is_reversed=False):
    return operation(*nodes, axis=1, is_reversed=is_reversed)


def _normalized(x, weight, bias, *, axes, groups):
    vectors = [s.reshape(v, (1, 4, 1)) for v in (weight, bias)]
    return b.normalized(x, *vectors, axes=axes, groups=groups, eps=0.1, has_weight=True)[0]


def _loss_of_classes(x, weight=None, **settings):
    """Targets 0, 1 and 2 of three rows."""
    target = c.iota(3, 0, 2, "int64")
    settings = {"axis": 1, "ignore_index": -100, "smoothing": 0.0, "reduction": "none"} | settings
    weight = None if weight is None else s.reshape(weight, (1, 4))
    return n.loss_of_indices(n.Scores(x, 1, is_normalized=False), target, weight, **settings)[0]


def _loss_of_shares(x, shares, weight):
    scores = n.Scores(x, 1, is_normalized=False)
    return n.loss_of_shares(scores, shares, weight, smoothing=0.1, reduction="mean")[0]


#: By name: the function of nodes, and what draws each operand.
CASES = {
    "neg": (e.NEG, X), "square": (e.SQUARE, X), "sqrt": (e.SQRT, POSITIVE),
    "rsqrt": (e.RSQRT, POSITIVE), "reciprocal": (e.RECIPROCAL, APART), "exp": (e.EXP, X),
    "exp2": (e.EXP2, X), "expm1": (e.EXPM1, X), "log": (e.LOG, POSITIVE),
    "log2": (e.LOG2, POSITIVE), "log10": (e.LOG10, POSITIVE), "log1p": (e.LOG1P, POSITIVE),
    "sin": (e.SIN, X), "cos": (e.COS, X), "cos_of_small": (e.COS_OF_SMALL, X),
    "tan": (e.TAN, INSIDE), "asin": (e.ASIN, INSIDE),
    "acos": (e.ACOS, INSIDE), "atan": (e.ATAN, X), "sinh": (e.SINH, X), "cosh": (e.COSH, X),
    "tanh": (e.TANH, X), "asinh": (e.ASINH, X), "acosh": (e.ACOSH, draw(3, 4, low=1.4, high=3)),
    "atanh": (e.ATANH, INSIDE), "sigmoid": (e.SIGMOID, X), "erf": (e.ERF, X),
    "erfc": (e.ERFC, X), "erfinv": (special.ERFINV, draw(3, 4, low=-0.6, high=0.6)),
    "lgamma": (special.LGAMMA, draw(3, 4, low=0.4, high=3.0)),
    "digamma": (special.DIGAMMA, draw(3, 4, low=0.6, high=3.0)),
    "digamma of negative numbers": (special.DIGAMMA, draw(3, 4, low=-1.7, high=-1.3)),
    "polygamma": (lambda x: special.POLYGAMMA(x, n=1), draw(3, 4, low=0.6, high=3.0)),
    "polygamma of negative numbers": (lambda x: special.POLYGAMMA(x, n=2),
                                      draw(3, 4, low=-1.7, high=-1.3)),
    "i0": (bessel.I0, X), "i0e": (bessel.I0E, APART), "i1": (bessel.I1, X),
    "i1e": (bessel.I1E, APART), "i0e of large numbers": (bessel.I0E, draw(3, 4, low=9, high=12)),
    "erfcx": (likely.ERFCX, draw(3, 4, low=-2.0, high=2.5)),
    "erfcx of large numbers": (likely.ERFCX, draw(3, 4, low=3.5, high=9.0)),
    "erfcx_slope": (likely._SLOPE, draw(3, 4, low=-1.0, high=2.5)),
    "log_ndtr": (likely.LOG_NDTR, APART), "ndtri": (likely.NDTRI, draw(3, 4, low=0.2, high=0.8)),
    "mantissa": (lambda x: parts.MANTISSA(x) * x, draw(3, 4, low=0.55, high=0.95)),
    "nextafter": (lambda x, y: parts.NEXTAFTER(x, y, step=1) * x, APART, APART),
    "sinc": (special.SINC, draw(3, 4, low=-1.0, high=1.0)),
    "copysign": (lambda x, y: special.COPYSIGN(x, y) * x, APART, APART),
    "hypot": (special.HYPOT, APART, APART), "modulus": (special.MODULUS, APART, APART),
    "xlogy": (special.XLOGY, X, POSITIVE),
    "xlog1py": (special.XLOG1PY, X, INSIDE),
    "entr": (special.ENTR, POSITIVE),
    "ldexp": (special.ldexp, X, X),
    "logaddexp2": (special.LOGADDEXP2, X, ROW),
    "maximum of numbers": (lambda x, y: special.fmax(x, y) * x, DISTINCT,
                           draw(3, 4, low=0, high=0.1)),
    "minimum of numbers": (lambda x, y: special.fmin(x, y) * x, DISTINCT,
                           draw(3, 4, low=0, high=0.1)),
    "abs": (lambda x: e.ABS(x) * x, APART),
    "cast": (lambda x: e.cast(e.cast(x, "float32"), "float64") * x, X),
    "add": (lambda x, y: (x + y) * x, X, ROW), "sub": (lambda x, y: (x - y) * y, X, ROW),
    "mul": (e.MUL, X, ROW), "div": (e.DIV, X, draw(4, low=0.4)),
    "remainder": (lambda x, y: e.REMAINDER(x, y) * y, draw(3, 4, low=0.6, high=0.9),
                  draw(4, low=0.4, high=0.5)),
    "fmod": (lambda x, y: e.FMOD(x, y) * y, draw(3, 4, low=-0.9, high=-0.6),
             draw(4, low=0.4, high=0.5)),
    "pow": (e.POW, POSITIVE, X),
    "pow of a number": (lambda x: e.POW(x, number(2.5, "float64")), POSITIVE),
    "atan2": (e.ATAN2, APART, APART),
    "maximum": (lambda x, y: e.MAXIMUM(x, y) * x, DISTINCT, draw(3, 4, low=0.0, high=0.1)),
    "minimum": (lambda x, y: e.MINIMUM(x, y) * x, DISTINCT, draw(3, 4, low=0.0, high=0.1)),
    "where": (_where, APART, X),
    "clamp_between": (lambda x, y, z: e.CLAMP_BETWEEN(x * 2, y, y + z * z) * x, DISTINCT, ROW, X),
    "lerp": (e.LERP, X, ROW, draw(3, 4, low=-0.4, high=0.4)),
    "logaddexp": (e.LOGADDEXP, X, ROW), "logaddexp of equals": (lambda x: e.LOGADDEXP(x, x), X),
    "logit": (lambda p: e.LOGIT(p, eps=None), draw(3, 4, low=0.2, high=0.8)),
    "exp_nonpositive": (e.EXP_NONPOSITIVE, draw(3, 4, low=-2.0, high=-0.1)),
    "clamp": (lambda x: e.CLAMP(x, low=-0.2, high=0.2) * x, APART),
    "reshape": (lambda x: s.reshape(x * x, (2, 6)), X),
    "transpose": (lambda x: s.transpose(x * x, (2, 0, 1)), IMAGE),
    "broadcast_to": (lambda x: e.EXP(s.broadcast_to(x, (2, 3, 4))), ROW),
    "slice": (lambda x: e.EXP(_cut(x)), X), "flip": (lambda x: t.flip(x, 1) * x, X),
    "roll": (lambda x: t.roll(x, -1, 1) * x, X),
    "place": (lambda x: e.EXP(t.pad(x * x, [(1, 0), (2, 1)], 0.3)), X),
    "gather": (lambda x: e.EXP(t.gather(x * x, [t.iota(6, 1, 2) - 1], (1,))), X),
    "gather of two axes": (lambda x: e.EXP(t.gather(x, [_coordinates(2), _coordinates(0)], (1, 2))),
                           IMAGE),
    "scatter_add": (lambda x: e.EXP(t.SCATTER_ADD(x * x, t.iota(4, 1, 2) - 1, axis=1,
                                                  shape=(3, 3))), X),
    "scatter_to_zeros": (lambda x: e.EXP(t.SCATTER_TO_ZEROS(x * x, t.iota(4, 1, 2) - 1, axis=1,
                                                            shape=(3, 3))), X),
    "scatter": (lambda x, y: e.EXP(t.SCATTER(x * x, y * y, t.iota(2, 1, 2) * 3 - 1, axis=1)),
                X, draw(3, 2)),
    "scatter, of equal indices the last": (lambda x, y: e.EXP(t.SCATTER(
        x * x, y * y, s.broadcast_to(e.ABS(t.iota(3, 1, 2) - 1), (3, 3)), axis=1)), X, draw(3, 3)),
    "add_at": (lambda x, y: e.EXP(t.ADD_AT(x * x, y * y, e.ABS(t.iota(3, 1, 2) - 1), axis=1)),
               X, draw(3, 3)),
    "gather_distinct": (lambda x: e.EXP(t.GATHER_DISTINCT(
        x * x, s.broadcast_to(2 - t.iota(2, 1, 2), (3, 2)), axes=(1,))), X),
    "scatter_mul": (lambda x, y: e.EXP(t.SCATTER_MUL(x, y, t.iota(2, 1, 2) * 3 - 1, axis=1)),
                    X, draw(3, 2)),
    "window_sums": (lambda x: e.EXP(t.WINDOW_SUMS(x * x, axis=1, size=3)), X),
    "border of mirrored elements": (lambda x: e.EXP(_bordered(x, "reflect")), X),
    "border of one element": (lambda x: e.EXP(_bordered(x, "replicate")), X),
    "border of the other end": (lambda x: e.EXP(_bordered(x, "circular")), X),
    "concat": (lambda x, y: e.EXP(t.concat([x, y, x], 0)), X, draw(1, 4)),
    "triangle": (lambda x: c.triangle(x * x, -1, is_lower=True), X),
    "sum": (lambda x: e.EXP(r.SUM(x, axes=(0, 2))), IMAGE),
    "mean": (lambda x: e.EXP(r.MEAN(x, axes=(1,))), IMAGE),
    "var": (lambda x: r.VAR(x, axes=(0, 2), correction=1.0) * x, IMAGE),
    "max": (lambda x: e.EXP(r.MAX(x, axes=(0,))), DISTINCT),
    "min": (lambda x: e.EXP(r.MIN(x, axes=(1,))), DISTINCT),
    "prod": (lambda x: r.PROD(x, axes=(0, 2)), IMAGE),
    "cumsum": (lambda x: e.EXP(_scanned(q.CUMSUM, x)), X),
    "cumprod": (lambda x: _scanned(q.CUMPROD, x, is_reversed=True), X),
    "logcumsumexp": (lambda x: e.SQUARE(_scanned(q.LOGCUMSUMEXP, x)), X),
    "cummax": (lambda x: _scanned(q.CUMMAX, x) * x, DISTINCT),
    "cummin": (lambda x: _scanned(q.CUMMIN, x, is_reversed=True) * x, DISTINCT),
    "linear_recurrence": (lambda x, y: _scanned(q.LINEAR_RECURRENCE, x, y) * x, X, X),
    "linear_recurrence from the end": (
        lambda x, y: _scanned(q.LINEAR_RECURRENCE, x * y, y, is_reversed=True), X, X),
    "hardtanh": (lambda x: a.HARDTANH(x, low=-0.2, high=0.2) * x, APART),
    "prelu": (a.PRELU, APART, ROW),
    "huber": (lambda x: pairs.HUBER(x, width=1.1, height=0.7) * x, APART),
    "binary_cross_entropy": (pairs.BINARY_CROSS_ENTROPY, draw(3, 4, low=0.2, high=0.8), X),
    "binary_cross_entropy_with_logits": (pairs.BINARY_CROSS_ENTROPY_WITH_LOGITS, APART, X),
    "weighted cross entropy with logits": (pairs.weighted_cross_entropy_with_logits, APART, X, ROW),
    "divergence": (pairs.DIVERGENCE, X, POSITIVE),
    "divergence of logarithms": (pairs.divergence_of_logs, X, X),
    "poisson": (lambda x, y: pairs.poisson(x, y, log_input=False, full=True, eps=1e-8), POSITIVE,
                draw(3, 4, low=1.5, high=4.0)),
    "normalized": (lambda *v: _normalized(*v, axes=(0, 2), groups=4), draw(3, 4, 2), ROW, ROW),
    "normalized of groups": (
        lambda *v: _normalized(*v, axes=(2,), groups=2), draw(2, 4, 3), ROW, ROW,
    ),
    "power": (lambda x: e.POWER(x, exponent=2.5) + e.POWER(x, exponent=-0.5), POSITIVE),
    "power of whole numbers": (
        lambda x: e.POWER(x, exponent=3.0) + e.POWER(x, exponent=-2.0), APART,
    ),
    "softmax": (lambda x: r.SOFTMAX(x, axis=1), X),
    "log_softmax": (lambda x: e.SQUARE(r.LOG_SOFTMAX(x, axis=0)), X),
    "loss of classes": (_loss_of_classes, X),
    "loss of classes with weights": (
        lambda x, w: _loss_of_classes(x, w, reduction="mean", ignore_index=1), X, ROW),
    "loss of classes, smoothed": (
        lambda x, w: _loss_of_classes(x, w, reduction="sum", smoothing=0.2), X, ROW),
    "loss of shares": (_loss_of_shares, X, POSITIVE, ROW),
    "max_of_all": (lambda x: r.MAX_OF_ALL(x, axes=(0, 1)) * x, DISTINCT),
    "min_of_all": (lambda x: r.MIN_OF_ALL(x, axes=(0, 1)) * x, DISTINCT),
    "std": (lambda x: r.STD(x, axes=(0, 2), correction=1.0) * x, IMAGE),
    "logsumexp": (lambda x: r.LOGSUMEXP(x, axes=(1,)) * x, X),
    "norm of order 2": (lambda x: r.NORM(x, axes=(0, 1), order=2.0) * x, X),
    "norm of order 3": (lambda x: r.NORM(x, axes=(1,), order=3.0) * x, APART),
    "norm of order 1": (lambda x: r.NORM(x, axes=(1,), order=1.0) * x, APART),
    "norm of infinite order": (lambda x: r.NORM(x, axes=(1,), order=np.inf) * x, DISTINCT),
    "matmul": (p.matmul, X, draw(4, 2)),
    "matmul of batches": (p.matmul, draw(2, 1, 3, 4), draw(3, 4, 2)),
    "matmul of a vector": (p.matmul, ROW, draw(4, 2)),
    "linear": (p.linear, IMAGE, draw(5, 4), draw(5)),
    "relu": (lambda x: a.RELU(x) * x, APART), "gelu": (a.GELU, X), "gelu_tanh": (a.GELU_TANH, X),
    "leaky_relu": (lambda x: a.LEAKY_RELU(x, slope=0.1) * x, APART), "silu": (a.SILU, X),
    "elu": (lambda x: a.ELU(x, alpha=0.7, scale=1.1, input_scale=0.5), APART),
    "softplus": (lambda x: a.SOFTPLUS(x, beta=1.5, threshold=20.0), X),
    "logsigmoid": (a.LOGSIGMOID, X), "mish": (a.MISH, X),
    "hardsigmoid": (lambda x: a.HARDSIGMOID(x) * x, X),
    "hardswish": (lambda x: a.HARDSWISH(x, slope=1 / 6, shift=0.5), X),
    "softsign": (a.SOFTSIGN, APART), "tanhshrink": (a.TANHSHRINK, X),
    "hardshrink": (lambda x: a.HARDSHRINK(x, bound=0.2) * x, APART),
    "softshrink": (lambda x: a.SOFTSHRINK(x, bound=0.2) * x, APART),
    "threshold": (lambda x: a.THRESHOLD(x, bound=0.1, value=3.0) * x, APART),
}  # fmt: skip
#: Covered by cases of operations that contain them, or with nothing to differentiate.
WITHOUT_A_CASE = {
    "averages",
    "summands",
    "leaf",
    "number",
    "norm",
    "philox",
    "erfinv_single",
    "scatter_max",
    "scatter_min",
}


def _contracted(parts, key):
    """Return the sum of the products of nodes with leaves; nodes that are None count as 0."""
    total = number(0.0, "float64")
    for index, part in enumerate(parts):
        if part is not None:
            weights = leaf((key, index), part.shape, "float64")
            product = part * weights
            total = total + s.reshape(r.SUM(product, axes=tuple(range(part.ndim))), ())
    return total


def _directional(node, variables, values, direction):
    """Return the derivative along a direction by differences of fourth order."""

    def at(factor):
        moved = {
            v: values[v] + factor * STEP * d for v, d in zip(variables, direction, strict=True)
        }
        return float(values_of([node], values | moved)[0])

    return (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * STEP)


@pytest.mark.parametrize("name", CASES)
def test_derivatives_of_orders_one_to_three(name):
    function, *draws = CASES[name]
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    arrays = [np.asarray(d(rng)) for d in draws]
    variables = [leaf(("operand", i), x.shape, "float64") for i, x in enumerate(arrays)]
    values = dict(zip(variables, arrays, strict=True))
    level = _contracted([function(*variables)], "result")
    values[leaf(("result", 0), function(*variables).shape, "float64")] = rng.standard_normal(
        function(*variables).shape
    )
    one = number(1.0, "float64")
    for order in range(1, 4):
        direction = [rng.standard_normal(x.shape) for x in arrays]
        tangents = [leaf((order, i), x.shape, "float64") for i, x in enumerate(arrays)]
        values |= zip(tangents, direction, strict=True)
        expected = _directional(level, variables, values, direction)
        gradients = pullback([level], [one], variables)
        (forward,) = pushforward([level], variables, tangents)
        level = _contracted(gradients, order)
        backward = float(values_of([level], values)[0])
        scale = max(1.0, abs(expected))
        assert abs(backward - expected) <= TOLERANCE * scale, (order, backward, expected)
        by_forward = 0.0 if forward is None else float(values_of([forward], values)[0])
        assert abs(by_forward - backward) <= 1e-9 * scale, (order, by_forward, backward)


def test_every_operation_with_a_gradient_has_a_case():
    covered = {name.split(" of ")[0] for name in CASES}
    needed = {name for name, op in OPERATIONS.items() if not op.is_flat}
    assert needed - covered - WITHOUT_A_CASE == set()
