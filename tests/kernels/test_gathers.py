"""Kernels of elements by index and by coordinate: values in every dtype, layout and size."""

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn.lower.node_lowering import computed
from sycl_dnn.ops import arithmetic as e
from sycl_dnn.ops import selection as t
from sycl_dnn.ops.creation import iota, triangle
from sycl_dnn.ops.reduction import SUM

RNG = np.random.default_rng(3)
DTYPES = ("float32", "float64", "float16", "int64", "int32", "int8", "uint8", "bool")
#: Rows shorter than a vector, of several, with and without a rest; more than a part of a kernel.
SHAPES = ((3,), (5, 40), (2, 3, 37), (4, 1, 5, 33), (2, 9001), (2, 3, 16))


def _numbers(shape, dtype):
    return (RNG.normal(size=shape) * 50).astype(dtype)


@pytest.fixture
def run(queue):
    """Return a function that computes nodes of NumPy's arrays on the queue."""

    def made(definition, *arrays):
        call = sycl_dnn.compile(lambda *xs: xs[0].trace.logged(computed, definition, *xs))
        found = call(*[dpnp.asarray(a, sycl_queue=queue) for a in arrays])
        return dpnp.asnumpy(found)

    return made


def _placed(a):
    whole = np.full([2 * n + 2 for n in a.shape], 7).astype(a.dtype)
    whole[tuple(slice(1, 1 + 2 * n, 2) for n in a.shape)] = a
    return whole


def _place(x):
    cuts = tuple((1, 2, n) for n in x.shape)
    return t.PLACE(x, cuts=cuts, shape=tuple(2 * n + 2 for n in x.shape), value=7)


def _border(mode):
    return lambda x: t.BORDER(x, widths=((0, 0),) * (x.ndim - 1) + ((2, 1),), mode=mode)


def _bordered(mode):
    return lambda a: np.pad(a, [(0, 0)] * (a.ndim - 1) + [(2, 1)], mode=mode)


#: By name: the function of nodes, and NumPy's.
CASES = {
    "flip": (lambda x: t.FLIP(x, axes=tuple(range(x.ndim))), np.flip),
    "flip of the first axis": (lambda x: t.flip(x, 0), lambda a: np.flip(a, 0)),
    "negative step": (lambda x: t.narrow(x, -1, x.shape[-1] - 1, x.shape[-1] // 2, -2),
                      lambda a: a[..., ::-2][..., : a.shape[-1] // 2]),
    "roll": (lambda x: t.roll(x, 2, -1), lambda a: np.roll(a, 2, -1)),
    "roll back": (lambda x: t.roll(x, -1, 0), lambda a: np.roll(a, -1, 0)),
    "pad": (lambda x: t.pad(x, [(1, 2)] * x.ndim, 3),
            lambda a: np.pad(a, [(1, 2)] * a.ndim, constant_values=np.array(3).astype(a.dtype))),
    "place": (_place, _placed),
    "reflect": (_border("reflect"), _bordered("reflect")),
    "replicate": (_border("replicate"), _bordered("edge")),
    "circular": (_border("circular"), _bordered("wrap")),
    "coordinates": (lambda x: iota(x.shape[-1], dtype="int64") + e.cast(x, "int64"),
                    lambda a: np.arange(a.shape[-1]) + a.astype("int64")),
}  # fmt: skip


@pytest.mark.sweep(24)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CASES)
def test_values(name, dtype, run):
    definition, reference = CASES[name]
    for shape in SHAPES:
        a = _numbers(shape, dtype)
        if name == "coordinates" and np.dtype(dtype).kind == "f":
            a = np.round(a)
        np.testing.assert_array_equal(run(definition, a), reference(a), err_msg=str(shape))


def test_gathers_of_computed_values_and_reductions_of_gathers(run):
    a, rows = _numbers((9, 40), "float32"), RNG.integers(0, 9, (5, 1))

    def definition(x, i):
        chosen = t.gather(t.flip(x * 2, 0) + 1, [i], (0,))
        return SUM(chosen * t.flip(chosen, 1), axes=(1,)) + SUM(x, axes=(0, 1))

    chosen = (a[::-1].astype("f8") * 2 + 1)[rows[:, 0]]
    expected = (chosen * chosen[:, ::-1]).sum(1, keepdims=True) + a.sum(dtype="f8")
    np.testing.assert_allclose(run(definition, a, rows), expected, rtol=1e-5)


def test_permuted_layouts_are_kept(queue):
    x = dpnp.asarray(_numbers((2, 5, 6, 7), "float32").transpose(0, 3, 1, 2), sycl_queue=queue)
    result = F.pad(x, (1, 2, 3, 0), mode="reflect")
    assert result.strides[1] == 4
    expected = np.pad(x.asnumpy(), [(0, 0), (0, 0), (3, 0), (1, 2)], mode="reflect")
    np.testing.assert_array_equal(result.asnumpy(), expected)


def test_triangles_of_matrices_in_one_kernel(run):
    a = _numbers((2, 30, 41), "int64")
    for diagonal in (-50, -3, 0, 2, 60):
        result = run(lambda x, k=diagonal: triangle(x, k, is_lower=False), a)
        np.testing.assert_array_equal(result, np.triu(a, diagonal))
