# SPDX-License-Identifier: Apache-2.0
"""Traced values behave like dpnp arrays, or suggest a replacement, in every transformation."""

import copy
import operator
import pickle

import dpnp
import numpy as np
import pytest
from transforms import TRANSFORMS

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn.trace.refusals import OF_VALUES


@pytest.fixture(params=TRANSFORMS)
def run(request):
    return TRANSFORMS[request.param]


@pytest.fixture
def make(queue):
    rng = np.random.default_rng(0)

    def array(*shape, dtype="f4"):
        values = rng.random(shape) + 0.5 if dtype == "f4" else rng.integers(1, 9, shape)
        return dpnp.asarray(values, dtype=dtype, sycl_queue=queue)

    return array


def assert_same(got, wanted):
    if isinstance(wanted, (tuple, list)):
        for g, w in zip(got, wanted, strict=True):
            assert_same(g, w)
        return
    assert got.shape == wanted.shape
    assert got.dtype.kind == wanted.dtype.kind
    np.testing.assert_allclose(got.asnumpy(), wanted.asnumpy(), rtol=2e-5, atol=1e-6)


# Operators -------------------------------------------------------------------------------------

ARITHMETIC = ["add", "sub", "mul", "truediv", "pow", "floordiv", "mod", "lt", "le", "gt", "ge",
              "eq", "ne"]  # fmt: skip
OF_INTEGERS = ["and_", "or_", "xor", "lshift", "rshift", "floordiv", "mod", "add", "sub", "mul"]
NUMBERS = [2.0, 3, np.float32(2), np.float64(2), np.int64(3), np.array(2.0)]


@pytest.mark.sweep(8)
@pytest.mark.parametrize("name", ARITHMETIC)
def test_operators_with_an_array_of_dpnp_on_either_side(name, run, make):
    sign, a, b = getattr(operator, name), make(3, 4), make(3, 4)
    assert_same(run(lambda x: sign(b, x), a), sign(b, a))
    assert_same(run(lambda x: sign(x, b), a), sign(a, b))
    assert_same(run(lambda x: sign(b[0], x), a), sign(b[0], a))


@pytest.mark.parametrize("name", ARITHMETIC)
@pytest.mark.parametrize("number", NUMBERS, ids=lambda n: type(n).__name__)
@pytest.mark.sweep(4)
def test_operators_with_a_number_on_either_side(name, number, make):
    sign, a, compiled = getattr(operator, name), make(3, 4), TRANSFORMS["compile"]
    plain = number if isinstance(number, (int, float)) else number.item()
    assert_same(compiled(lambda x: sign(number, x), a), sign(plain, a))
    assert_same(compiled(lambda x: sign(x, number), a), sign(a, plain))


@pytest.mark.sweep(4)
@pytest.mark.parametrize("name", OF_INTEGERS)
def test_operators_of_integers(name, run, make):
    sign, a, b = getattr(operator, name), make(3, 4, dtype="i4"), make(3, 4, dtype="i4")
    assert_same(run(lambda x: sign(x, b), a), sign(a, b))
    assert_same(run(lambda x: sign(b, x), a), sign(b, a))
    assert_same(run(lambda x: sign(x, 2), a), sign(a, 2))


def test_operators_of_masks(run, make):
    a, b = make(3, 4), make(3, 4)

    def function(x):
        return (x > b) & (x < 1.2) | ~(x > 0.7) ^ (b > x)

    assert_same(run(function, a), function(a))


def test_products_and_signs(run, make):
    a, b, c = make(3, 4), make(4, 5), make(2, 3)

    def function(x):
        return c @ (x @ b), -x, +x, abs(x - 1), divmod(x, 0.3), divmod(2.0, x)

    assert_same(run(lambda x: c @ (x @ b), a), c @ (a @ b))
    flat = lambda x: (-x, +x, abs(x - 1), *divmod(x, 0.3), *divmod(2.0, x))  # noqa: E731
    assert_same(run(flat, a), flat(a))


@pytest.mark.parametrize(
    "name", ["iadd", "isub", "imul", "itruediv", "ipow", "ifloordiv", "imod", "imatmul"]
)
def test_operators_in_place(name, run, make):
    sign, a, b = getattr(operator, name), make(4, 4), make(4, 4)
    before = a.asnumpy()
    plain = getattr(operator, name.removeprefix("i"))
    assert_same(run(lambda x: sign(x * 1, b), a), plain(a, b))
    np.testing.assert_array_equal(a.asnumpy(), before)


def test_operators_of_bits_in_place(run, make):
    a, b = make(4, dtype="i4"), make(4, dtype="i4")
    for name in ("and_", "or_", "xor", "lshift", "rshift"):
        in_place = getattr(operator, f"i{name.removesuffix('_')}")
        expected = getattr(operator, name)(a, b)
        assert_same(run(lambda x, s=in_place: s(x * 1, b), a), expected)


def test_floats_have_no_bits(make):
    with pytest.raises(TypeError, match="bitwise_and: operands must be integers or bool"):
        sycl_dnn.vjp(lambda x: x & 1, make(3))
    with pytest.raises(TypeError, match="bitwise_or: operands must not be bfloat16.*astype"):
        sycl_dnn.vjp(lambda x: x | 2, sycl_dnn.asarray(make(3), "bfloat16"))


def test_arrays_of_numpy_are_refused_as_operands(make):
    for function in (lambda x: x + np.ones(4, "f4"), lambda x: np.ones(4, "f4") + x):
        with pytest.raises(TypeError, match=r"dpnp|sycl_dnn.functional.add"):
            sycl_dnn.vjp(function, make(3, 4))


# Functions of other libraries ------------------------------------------------------------------

FOREIGN = {
    "dpnp.exp": (lambda x: dpnp.exp(x), "use sycl_dnn.functional.exp"),
    "dpnp.sum": (lambda x: dpnp.sum(x), "use sycl_dnn.functional.sum"),
    "dpnp.max": (lambda x: dpnp.max(x), "use sycl_dnn.functional.(a?)max"),
    "dpnp.add": (lambda x: dpnp.add(x, x), "use sycl_dnn.functional.add"),
    "dpnp.multiply": (lambda x: dpnp.multiply(2.0, x), "use sycl_dnn.functional.mul"),
    "dpnp.concatenate": (lambda x: dpnp.concatenate([x, x]), "use sycl_dnn.functional.cat"),
    "dpnp.where": (lambda x: dpnp.where(x, x, x), "use sycl_dnn.functional.where"),
    "dpnp.expand_dims": (lambda x: dpnp.expand_dims(x, 0), "use sycl_dnn.functional.unsqueeze"),
    "dpnp.norm": (lambda x: dpnp.linalg.norm(x), "use sycl_dnn.functional.norm"),
    "dpnp.asarray": (lambda x: dpnp.asarray(x), "use sycl_dnn.functional.asarray"),
    "dpnp.cumsum": (lambda x: dpnp.cumsum(x), "use sycl_dnn.functional.cumsum"),
    "dpnp.diagonal": (lambda x: dpnp.diagonal(x), "use sycl_dnn.functional.diagonal"),
    "dpnp.copy": (lambda x: dpnp.copy(x), "the array's own method copy"),
    "dpnp.cbrt": (lambda x: dpnp.cbrt(x), "use sycl_dnn.array_function"),
    "dpnp.fft": (lambda x: dpnp.fft.fft(x), "use sycl_dnn.functional.fft.fft"),
    "numpy.exp": (lambda x: np.exp(x), "use sycl_dnn.functional.exp"),
    "numpy.sum": (lambda x: np.sum(x), "use sycl_dnn.functional.sum"),
    "numpy.add": (lambda x: np.add(x, x), "use sycl_dnn.functional.add"),
    "numpy.concatenate": (lambda x: np.concatenate([x, x]), "use sycl_dnn.functional.cat"),
    "numpy.clip": (lambda x: np.clip(x, 0, 1), "use sycl_dnn.functional.clamp"),
    "numpy.cbrt": (lambda x: np.cbrt(x), "use sycl_dnn.array_function"),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_functions_of_dpnp_and_numpy_suggest_a_replacement(name, run, make):
    function, said = FOREIGN[name]
    with pytest.raises(TypeError, match=f"{name} accepts no traced arrays.*{said}"):
        run(function, make(3, 4))


def test_suggested_names_exist():
    from sycl_dnn.trace.foreign_functions import NAMES

    assert not [twin for twin in NAMES.values() if not hasattr(F, twin)]


def test_conversion_to_numpy_is_refused(run, make):
    said = "Implicit conversion" if run is TRANSFORMS["vjp"] else "conversion to NumPy.*not known"
    with pytest.raises(TypeError, match=said):
        run(lambda x: np.asarray(x), make(3))


def test_writing_a_traced_value_into_an_array_is_refused(run, make):
    a, b = make(3), make(3)

    def added(x):
        nonlocal b
        b += x

    with pytest.raises(TypeError, match=r"\+= on an array accepts no traced arrays.*a = a \+ b"):
        run(added, a)
    with pytest.raises(TypeError, match="assignment to elements of an array.*functional.where"):
        run(lambda x: b.__setitem__(0, x), a)


# Methods and properties ------------------------------------------------------------------------

METHODS = {
    "T": lambda x: x.T,
    "mT": lambda x: x.mT,
    "all": lambda x: (x.all(), (x > 1).all(axis=1), (x > 0).all(axis=-1, keepdims=True)),
    "any": lambda x: (x.any(), (x > 1).any(axis=0), (x > 5).any(axis=(0, 1))),
    "argmax": lambda x: (x.argmax(), x.argmax(axis=1), x.argmax(axis=0, keepdims=True)),
    "argmin": lambda x: (x.argmin(), x.argmin(axis=-1)),
    "argsort": lambda x: (x.argsort(), x.argsort(axis=0, descending=True)),
    "astype": lambda x: (x.astype("float16"), x.astype(np.int32), x.astype(dpnp.float32)),
    "clip": lambda x: (x.clip(0.7, 1.1), x.clip(max=1.0)),
    "conj": lambda x: x.conj(),
    "conjugate": lambda x: x.conjugate(),
    "copy": lambda x: x.copy(),
    "cumprod": lambda x: ((x > 1).astype("int32").cumprod(axis=1), x.cumprod(axis=0)),
    "cumsum": lambda x: (x.cumsum(), x.cumsum(axis=0), x.cumsum(axis=-1)),
    "diagonal": lambda x: (x.diagonal(), x.diagonal(1), x.diagonal(offset=-1, axis1=1, axis2=0)),
    "dot": lambda x: x.dot(x.T),
    "flatten": lambda x: x.flatten(),
    "imag": lambda x: x.imag,
    "max": lambda x: (x.max(), x.max(axis=1), x.max(axis=(0, 1), keepdims=True)),
    "mean": lambda x: (x.mean(), x.mean(axis=0), x.mean(-1, keepdims=True)),
    "min": lambda x: (x.min(), x.min(axis=1)),
    "prod": lambda x: (x.prod(), x.prod(axis=1)),
    "ravel": lambda x: x.ravel(),
    "real": lambda x: x.real,
    "repeat": lambda x: (x.repeat(2), x.repeat(3, axis=1)),
    "reshape": lambda x: (x.reshape(4, 3), x.reshape((2, -1)), x.reshape(-1)),
    "round": lambda x: (x.round(), x.round(1)),
    "searchsorted": lambda x: x[0].cumsum().searchsorted(x[1]),
    "squeeze": lambda x: (x[None].squeeze(), x[:, None].squeeze(axis=1)),
    "std": lambda x: (x.std(), x.std(axis=1, ddof=1)),
    "sum": lambda x: (x.sum(), x.sum(axis=1), x.sum(axis=(0, 1), keepdims=True)),
    "swapaxes": lambda x: x.swapaxes(0, 1),
    "take": lambda x: (x.take([0, 5, 2]), x.take(np.array([1, -1]), axis=1)),
    "transpose": lambda x: (x.transpose(), x.transpose(1, 0), x.transpose((0, 1))),
    "var": lambda x: (x.var(), x.var(axis=0, ddof=1)),
    "__abs__": lambda x: abs(x - 1),
    "__copy__": lambda x: copy.copy(x),
    "__getitem__": lambda x: (x[0], x[:, 1], x[-1, ..., None]),
    "__iter__": lambda x: list(x),
}

#: Properties, by name: a function that reads it from an array.
FACTS = {
    "dtype": lambda x: x.dtype == np.float32 and str(x.dtype),
    "itemsize": lambda x: x.itemsize,
    "nbytes": lambda x: x.nbytes,
    "ndim": lambda x: x.ndim,
    "shape": lambda x: x.shape,
    "size": lambda x: x.size,
    "sycl_context": lambda x: x.sycl_context,
    "sycl_device": lambda x: x.sycl_device,
    "sycl_queue": lambda x: x.sycl_queue,
    "__len__": lambda x: len(x),
}

VALUES = "not known while a function is traced"
MEMORY = "a traced array has no memory"
#: Refused methods: a use, and the error message.
REFUSED = {
    "__array__": (lambda x: x.__array__(), VALUES),
    "__array_namespace__": (lambda x: x.__array_namespace__(), "sycl_dnn.functional"),
    "__bool__": (lambda x: bool(x), rf"bool\(\).*{VALUES}"),
    "__bytes__": (lambda x: bytes(x), VALUES),
    "__complex__": (lambda x: complex(x), VALUES),
    "__contains__": (lambda x: 1.0 in x, VALUES),
    "__dlpack__": (lambda x: x.__dlpack__(), MEMORY),
    "__dlpack_device__": (lambda x: x.__dlpack_device__(), MEMORY),
    "__float__": (lambda x: float(x), VALUES),
    "__index__": (lambda x: range(9)[x], VALUES),
    "__int__": (lambda x: int(x), VALUES),
    "__reduce__": (lambda x: pickle.dumps(x), MEMORY),
    "asnumpy": (lambda x: x.asnumpy(), rf"asnumpy\(\).*{VALUES}"),
    "choose": (lambda x: x.choose([x, x]), r"choose\(\).*functional.where"),
    "compress": (lambda x: x.compress([True]), r"compress\(\).*shape.*depends on values"),
    "get_array": (lambda x: x.get_array(), "no memory"),
    "item": (lambda x: x.item(), rf"item\(\).*{VALUES}"),
    "nonzero": (lambda x: x.nonzero(), "nonzero: .*shape.*depends on"),
    "partition": (lambda x: x.partition(1), r"partition\(\).*array_function"),
    "put": (lambda x: x.put([0], 1), r"put\(\).*cannot be written to"),
    "sort": (lambda x: x.sort(), r"sort\(\).*array_function"),
    "to_device": (lambda x: x.to_device("cpu"), r"to_device\(\)"),
    "tobytes": (lambda x: x.tobytes(), VALUES),
    "tofile": (lambda x: x.tofile("x"), VALUES),
    "tolist": (lambda x: x.tolist(), VALUES),
    "trace": (lambda x: x.trace(), r"trace\(\).*diagonal"),
    "view": (lambda x: x.view("i4"), r"view\(\).*astype"),
}
#: Refused attributes.
NO_ATTRIBUTES = ["__sycl_usm_array_interface__", "__usm_ndarray__", "_array_obj", "data", "flags",
                 "flat", "usm_type"]  # fmt: skip

#: Covered by other tests of this file, or meaningless for traced values.
ELSEWHERE = {
    "__setitem__", "fill",  # tests/call/test_assignment.py
    *(f"__{prefix}{name}__" for prefix in ("", "r", "i")
      for name in ("add", "sub", "mul", "truediv", "pow", "floordiv", "mod", "matmul", "and", "or",
                   "xor", "lshift", "rshift")),
    "__divmod__", "__rdivmod__", "__neg__", "__pos__", "__invert__", "__eq__", "__ne__", "__lt__",
    "__le__", "__gt__", "__ge__", "__array_ufunc__", "__hash__", "__repr__", "__str__",
    "__format__", "device", "strides",
    # Of the class, not of an array.
    "__slots__", "_create_from_usm_ndarray", "_create_view", "_view_impl",
}  # fmt: skip


def test_every_method_of_dpnp_arrays_is_covered():
    class Plain:
        """Has what every class has; newer Pythons add attributes to classes."""

    inherited = set(dir(Plain)) - {"__reduce__"}
    names = set(dir(dpnp.ndarray)) - inherited
    covered = {*METHODS, *FACTS, *REFUSED, *NO_ATTRIBUTES, *ELSEWHERE}
    assert names <= covered, f"neither works nor is refused: {sorted(names - covered)}"
    assert not set(METHODS) & set(REFUSED)


@pytest.mark.sweep(8)
@pytest.mark.filterwarnings("ignore:.*is deprecated for non-2D")
@pytest.mark.parametrize("name", METHODS)
def test_methods_match_dpnp_arrays(name, run, make):
    a = make(3, 4)
    assert_same(run(METHODS[name], a), METHODS[name](a))


@pytest.mark.parametrize("name", FACTS)
def test_properties_match_dpnp_arrays(name, make):
    a, seen = make(3, 4), []
    for transform in TRANSFORMS.values():
        transform(lambda x: seen.append(FACTS[name](x)) or F.relu(x), a)
    assert seen == [FACTS[name](a)] * 3


def test_arrays_can_be_created_on_the_queue_of_a_traced_value(run, make):
    a = make(3, 4)

    def function(x):
        return x + dpnp.ones(4, dtype="f4", device=x.device) + dpnp.ones_like(a)

    assert_same(run(function, a), a + 2)


@pytest.mark.parametrize("name", REFUSED)
def test_methods_that_need_values_or_memory_are_refused_by_name(name, run, make):
    function, said = REFUSED[name]
    if run is TRANSFORMS["vjp"] and name in OF_VALUES:
        a, outcomes = make(3, 4), []
        run(lambda x: outcomes.append(_outcome(function, x)) or F.relu(x), a)
        assert outcomes == [_outcome(function, a)]
        return
    if run is TRANSFORMS["vjp"] and name == "nonzero":
        return  # tests/call/test_value_dependent.py
    with pytest.raises(TypeError, match=said):
        run(function, make(3, 4))


def _outcome(function, x):
    """What a method gives or raises."""
    try:
        return str(function(x))
    except (TypeError, ValueError, IndexError) as error:
        return type(error), str(error)


@pytest.mark.parametrize("name", NO_ATTRIBUTES)
def test_attributes_of_memory_are_refused_by_name(name, make):
    with pytest.raises(AttributeError, match=f"{name}: {MEMORY}"):
        sycl_dnn.vjp(lambda x: getattr(x, name), make(3, 4))


def test_shapes_and_repr(make):
    seen = []

    def function(x):
        seen.extend((str(x), repr(x), f"{x}", copy.deepcopy(x) is x, {x: 1}[x]))
        with pytest.raises(AttributeError):
            x.shape = (12,)
        with pytest.raises(TypeError, match="format"):
            f"{x:.3f}"
        return F.relu(x)

    sycl_dnn.vjp(function, make(3, 4))
    assert seen[0] == seen[1] == seen[2]
    assert seen[3:] == [True, 1]


# Indexing --------------------------------------------------------------------------------------

KEYS = {
    "rows": lambda i, j: i,
    "columns": lambda i, j: (slice(None), i),
    "last axis": lambda i, j: (..., i),
    "two arrays": lambda i, j: (i, i),
    "broadcast": lambda i, j: (i[:, None], i[None, :]),
    "a table of numbers": lambda i, j: (slice(None), j),
    "a new axis": lambda i, j: (i, None),
    "a new axis first": lambda i, j: (None, slice(None), i),
    "beside a number": lambda i, j: (0, slice(None), i),
    "between slices": lambda i, j: (slice(1, None), i, slice(None, None, 2)),
    "32-bit numbers": lambda i, j: i.astype("i4"),
    "backwards": lambda i, j: slice(None, None, -1),
    "backwards by two": lambda i, j: (..., slice(4, 0, -2)),
    "backwards beside an array": lambda i, j: (i, ..., slice(None, None, -1)),
    "every second of an odd size": lambda i, j: (..., slice(None, None, 2)),
    "nothing": lambda i, j: (slice(2, 1), slice(1, 2, -1)),
    "no axis": lambda i, j: (0, 1, 2),
    "new axes": lambda i, j: (None, 0, ..., None),
}


@pytest.mark.parametrize("name", KEYS)
@pytest.mark.sweep(4)
def test_indexing_with_arrays_of_integers(name, run, make, queue):
    x = make(3, 4, 5)
    i = dpnp.asarray([2, 0, -1], sycl_queue=queue)
    j = dpnp.asarray([[1, 3], [0, 0]], sycl_queue=queue)
    key = KEYS[name]
    assert_same(run(lambda a: a[key(i, j)], x), x[key(i, j)])
    # The indices may be traced, too.
    assert_same(run(lambda a, m, n: a[key(m, n)], x, i, j), x[key(i, j)])


def test_indexing_with_a_traced_number(run, make, queue):
    x, n = make(3, 4), dpnp.asarray(2, sycl_queue=queue)
    assert_same(run(lambda a, n: (a[n], a[:, n]), x, n), (x[2], x[:, 2]))
    assert_same(run(lambda a: a[a[:, 0].argmax()], x), x[int(x[:, 0].argmax())])


def test_indexing_with_python_integers(run, make):
    x = make(3, 4)
    many = np.arange(200) % 3
    assert_same(run(lambda a: (a[[2, 0]], a[many], a[:, np.array([[0, 1]])]), x),
                (x[dpnp.asarray([2, 0], sycl_queue=x.sycl_queue)],
                 x[dpnp.asarray(many, sycl_queue=x.sycl_queue)],
                 x[:, dpnp.asarray([[0, 1]], sycl_queue=x.sycl_queue)]))  # fmt: skip
    assert_same(run(lambda a: a[np.array([True, False, True])], x), x[::2])


def test_gradient_of_indexing_accumulates(make, queue):
    x, i = make(3, 4), dpnp.asarray([2, 0, 2, -1], sycl_queue=queue)
    for function, expected in (
        (lambda a: a[i], np.repeat([[1.0], [0.0], [3.0]], 4, axis=1)),
        (lambda a: a[i, i], np.diag([1.0, 0, 3, 0])[:3] * 0),
        (lambda a: a[..., i], np.repeat([[1.0, 0.0, 2.0, 1.0]], 3, axis=0)),
    ):
        y, pullback = sycl_dnn.vjp(function, x)
        actual = pullback(dpnp.ones_like(y))[0].asnumpy()
        if y.shape == (4,):
            expected = np.zeros((3, 4))
            for row, column in zip([2, 0, 2, 2], [2, 0, 2, 3], strict=True):
                expected[row, column] += 1
        np.testing.assert_allclose(actual, expected)


def test_indices_out_of_range(run, make, queue):
    x = make(3, 4)
    with pytest.raises(IndexError, match="3 is out of range for axis 0 of size 3"):
        run(lambda a: a[3], x)
    with pytest.raises(IndexError, match="-5 is out of range for axis 1 of size 4"):
        run(lambda a: a[:, np.array([[0, -5]])], x)
    far = dpnp.asarray([3, 1], sycl_queue=queue)
    actual = run(lambda a: a[far], x).asnumpy()
    assert np.isnan(actual[0]).all()
    np.testing.assert_array_equal(actual[1], x.asnumpy()[1])


@pytest.mark.parametrize(
    ("key", "error", "said"),
    [
        (lambda x: x > 1, TypeError, "mask.*shape depends on values.*where"),
        (lambda x: (slice(None), x[0] > 1), TypeError, "mask.*shape depends on values"),
        (lambda x: True, TypeError, "mask"),
        (lambda x: x, TypeError, "must be int32 or int64, got float32"),
        (lambda x: np.ones(2), TypeError, "must hold integers, got float64"),
        (lambda x: 1.0, TypeError, "must be numbers, slices.*got float"),
        (lambda x: "name", TypeError, "must be numbers, slices.*got str"),
        (lambda x: (0, 0, 0), IndexError, "at most 2 items"),
        (lambda x: (..., ...), IndexError, "one ..."),
    ],
)
def test_refused_keys(key, error, said, run, make):
    if run is TRANSFORMS["vjp"] and "values" in said:
        return  # tests/call/test_value_dependent.py
    with pytest.raises(error, match=said):
        run(lambda x: x[key(x)], make(3, 4))


@pytest.mark.parametrize("wrap", [lambda f: f, sycl_dnn.compile], ids=["called", "compiled"])
def test_traced_values_are_converted_and_stacked(wrap, queue):
    x = dpnp.asarray([1.0, 2.0], dtype="f4", sycl_queue=queue)

    def converted(x):
        rows = F.asarray([x.sum(), x.mean(), 2.0])
        y = F.asarray(x * x, dtype="bfloat16").astype("float32")
        return F.sum(rows * F.asarray(rows)) + F.sum(F.asarray([[x, y]]))

    def constant(x):
        return F.sum(F.tensor(x) * x) + F.tensor([x.sum(), 3.0]).sum()

    close = np.testing.assert_allclose
    close(wrap(sycl_dnn.grad(converted))(x).asnumpy(), [6 + 1.5 + 1 + 2, 6 + 1.5 + 1 + 4])
    close(wrap(sycl_dnn.grad(constant))(x).asnumpy(), [1.0, 2.0])


@pytest.mark.parametrize(
    "read",
    [
        lambda x: x[: F.tensor([2, 3])[0]],
        lambda x: x[: int(F.tensor(2)) + 0],
        lambda x: x[: (F.tensor([1, 2]) * F.arange(1, 3)).max().item() - 2],
        lambda x: x * 1 if F.tensor([0, 1]).sum() > 1 else x[:2],
    ],
)
def test_values_of_arrays_made_of_numbers_are_known(read, queue):
    x = dpnp.asarray([1.0, 2.0, 3.0], dtype="f4", sycl_queue=queue)
    gradient = sycl_dnn.grad(lambda x: F.sum(read(x)))
    for wrap in (lambda f: f, sycl_dnn.compile):
        assert wrap(read)(x).tolist() == [1.0, 2.0]
        assert wrap(gradient)(x).tolist() == [1.0, 1.0, 0.0]


@pytest.mark.parametrize("wrap", [lambda f: f, sycl_dnn.compile])
def test_rows_are_assigned_where_a_mask_is_true(wrap, queue):
    x = dpnp.asarray([[1.0, -1.0, 0.0], [-1.0, -2.0, -3.0]], dtype="f4", sycl_queue=queue)
    row = dpnp.asarray([7.0, 8.0, 9.0], dtype="f4", sycl_queue=queue)

    def assigned(x, row):
        y = x * 2
        y[(x > 0).any(1)] = row
        return y

    assert wrap(assigned)(x, row).tolist() == [[7.0, 8.0, 9.0], [-2.0, -4.0, -6.0]]
    gradient = sycl_dnn.grad(lambda x, row: F.sum(assigned(x, row) * row), (0, 1))
    dx, drow = wrap(gradient)(x, row)
    assert dx.tolist() == [[0.0] * 3, [14.0, 16.0, 18.0]]
    assert drow.tolist() == [12.0, 12.0, 12.0]


def test_copies_of_captured_arrays_are_not_known():
    size, x = dpnp.asarray([2]), dpnp.ones(3, dtype="f4")
    with pytest.raises(TypeError, match="are not known while a function is traced"):
        sycl_dnn.compile(lambda x: x[: int(F.tensor(size)[0])])(x)
