"""Values of nodes by NumPy in float64, as a reference: one line for each operation."""

import numpy as np
from scipy import special

from sycl_dnn import ops  # noqa: F401 - registers the operations
from sycl_dnn.ir.derivation import pullback
from sycl_dnn.ir.node import in_order, leaf


def _along(function):
    return lambda x, axis: function(x, axis=axis)


def _over(function):
    return lambda x, axes: function(x, axis=axes, keepdims=True)


def _arg(function):
    """Flat index of the first extreme over all axes."""

    def value(x, axes):
        kept = [k for k in range(x.ndim) if k not in axes]
        rows = x.transpose(*kept, *axes).reshape(*[x.shape[k] for k in kept], -1)
        shape = [1 if k in axes else n for k, n in enumerate(x.shape)]
        return function(rows, axis=-1).reshape(shape)

    return value


def _scan(function):
    def value(x, axis, is_reversed):
        turned = np.flip(x, axis) if is_reversed else x
        result = function.accumulate(turned, axis)
        return np.flip(result, axis) if is_reversed else result

    return value


def _places(wins):
    """Index of the running extreme, the last one on ties."""

    def value(x, axis, is_reversed):
        rows = np.moveaxis(x, axis, 0)
        result, best, last = np.zeros(rows.shape, np.int64), None, None
        for n in range(len(rows))[:: -1 if is_reversed else 1]:
            taken = np.ones(rows[n].shape, bool) if best is None else wins(rows[n], best)
            best = rows[n] if best is None else np.where(taken, rows[n], best)
            result[n] = n if last is None else np.where(taken, n, last)
            last = result[n]
        return np.moveaxis(result, 0, axis)

    return value


def _recurrence(a, b, axis, is_reversed):
    a, b = np.moveaxis(a, axis, 0), np.moveaxis(b, axis, 0)
    result, state = np.zeros(b.shape), 0.0
    for n in range(len(b))[:: -1 if is_reversed else 1]:
        state = result[n] = a[n] * state + b[n]
    return np.moveaxis(result, 0, axis)


def _slices(cuts):
    def one(start, step, length):
        stop = start + step * length
        return slice(start, None if stop < 0 else stop, step)

    return tuple(one(*cut) for cut in cuts)


def _place(x, cuts, shape, value=0):
    whole = np.full(shape, value, x.dtype)
    whole[_slices(cuts)] = x
    return whole


def _iota(shape, dtype):
    return np.arange(np.prod(shape, dtype=int), dtype=_float(dtype)).reshape(shape)


def _gather(x, *indices, axes):
    """Elements by index along axes; out-of-range indices are clamped."""
    places = list(np.ogrid[tuple(slice(1 if k in axes else n) for k, n in enumerate(x.shape))])
    for axis, index in zip(axes, indices, strict=True):
        places[axis] = np.clip(index, 0, x.shape[axis] - 1)
    return x[tuple(np.broadcast_arrays(*places))]


def _scattered(into, values, index, axis, function):
    """Values at an index along an axis; out-of-range ones are dropped."""
    into = into.copy()
    places = list(np.ogrid[tuple(slice(n) for n in values.shape)])
    places[axis] = index
    places = np.broadcast_arrays(*places, values)
    inside = (places[axis] >= 0) & (places[axis] < into.shape[axis])
    function(into, tuple(p[inside] for p in places[:-1]), places[-1][inside])
    return into


def _scatter_by(ufunc):
    return lambda x, values, index, axis: _scattered(x, values, index, axis, ufunc.at)


def _border(x, widths, mode):
    return np.pad(x, widths, mode={"replicate": "edge", "circular": "wrap"}.get(mode, mode))


def _float(dtype):
    return np.float64 if dtype.startswith(("float", "bfloat")) else np.dtype(dtype)


VALUES = {
    "neg": np.negative, "square": np.square, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x),
    "reciprocal": lambda x: 1 / x, "exp": np.exp,
    "exp_nonpositive": np.exp, "exp2": np.exp2, "expm1": np.expm1,
    "log": np.log, "log2": np.log2, "log10": np.log10, "log1p": np.log1p, "sin": np.sin,
    "cos": np.cos, "cos_of_small": np.cos, "tan": np.tan, "asin": np.arcsin,
    "acos": np.arccos, "atan": np.arctan,
    "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh,
    "acosh": np.arccosh, "atanh": np.arctanh, "sigmoid": special.expit, "erf": special.erf,
    "erfc": special.erfc, **dict.fromkeys(("erfinv", "erfinv_single"), special.erfinv),
    "sign": lambda x: np.nan_to_num(np.sign(x)),
    "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "round": np.round,
    "isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite, "logical_not": np.logical_not,
    "bits": lambda x: x.view(np.int64), "from_bits": lambda x: x.view(np.float64),
    "bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "right_shift": np.right_shift,
    "abs": np.abs, "stop_gradient": lambda x: x, "cast": lambda x, dtype: x.astype(_float(dtype)),
    "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "eq": np.equal, "ne": np.not_equal, "logical_and": np.logical_and,
    "logical_or": np.logical_or, "logical_xor": np.logical_xor, "add": np.add,
    "sub": np.subtract, "mul": np.multiply, "div": np.true_divide,
    "hypot": np.hypot, "lgamma": special.gammaln,
    "floor_divide": np.floor_divide, "trunc_divide": lambda a, b: np.trunc(a / b),
    "remainder": np.remainder, "fmod": np.fmod, "pow": np.power, "atan2": np.arctan2,
    "maximum": np.maximum, "minimum": np.minimum, "where": np.where,
    "reshape": lambda x, shape: x.reshape(shape),
    "transpose": lambda x, axes: x.transpose(axes),
    "broadcast_to": lambda x, shape: np.broadcast_to(x, shape),
    "slice": lambda x, cuts: x[_slices(cuts)], "place": _place,
    "concat": lambda *arrays, axis: np.concatenate(arrays, axis),
    "iota": _iota, "gather": _gather,
    **dict.fromkeys(("scatter_add", "scatter_to_zeros"), lambda values, index, axis, shape: (
        _scattered(np.zeros(shape), values, index, axis, np.add.at)
    )),
    "scatter": lambda x, values, index, axis: _scattered(
        x, values, index, axis, lambda into, at, v: into.__setitem__(at, v)
    ),
    "scatter_mul": _scatter_by(np.multiply), "scatter_max": _scatter_by(np.maximum),
    "scatter_min": _scatter_by(np.minimum), "add_at": _scatter_by(np.add),
    "flip": lambda x, axes: np.flip(x, axes),
    "roll": lambda x, shift, axis: np.roll(x, shift, axis), "border": _border,
    "sum": _over(np.sum), "max": _over(np.max), "min": _over(np.min), "prod": _over(np.prod),
    "any": _over(np.any), "all": _over(np.all), "argmax": _arg(np.argmax),
    "argmin": _arg(np.argmin), "cumsum": _scan(np.add),
    "cumprod": _scan(np.multiply), "logcumsumexp": _scan(np.logaddexp),
    "cummax": _scan(np.maximum), "cummin": _scan(np.minimum),
    "cummax_index": _places(np.greater_equal), "cummin_index": _places(np.less_equal),
    "linear_recurrence": _recurrence, "softmax": _along(special.softmax),
    "log_softmax": lambda x, axis: special.log_softmax(x, axis=axis), "matmul": np.matmul,
}  # fmt: skip


def values_of(results, leaves):
    """Return the values of nodes, given those of the leaves by node."""
    known = dict(leaves)
    with np.errstate(all="ignore"):
        for node in in_order(results):
            if node in known:
                continue
            known[node] = _value(node, known)
            assert known[node].shape == node.shape, node
    return [known[node] for node in results]


def _value(node, known):
    operation = node.operation
    if operation.name == "number":
        return np.asarray(node.attributes["value"], _float(node.dtype))
    if operation.name in VALUES:
        inputs = [known[provided] for provided in node.inputs]
        return np.asarray(VALUES[operation.name](*inputs, **node.attributes))
    simpler = operation.definition(*node.inputs, **node.attributes)
    assert (simpler.shape, simpler.dtype) == (node.shape, node.dtype), node
    return values_of([simpler], known)[0]


def pushforward(results, wrt, tangents):
    """Return the derivatives of nodes along ``tangents``, None where there is none.

    Gradients are linear in those of the results: differentiated by these, they give the derivative.
    """
    seeds = [leaf(("seed", i, r), r.shape, r.dtype) for i, r in enumerate(results)]
    gradients = pullback(results, seeds, wrt)
    pairs = [(g, t) for g, t in zip(gradients, tangents, strict=True) if g is not None]
    if not pairs:
        return (None,) * len(results)
    return pullback([g for g, _ in pairs], [t for _, t in pairs], seeds)
