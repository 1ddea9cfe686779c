# SPDX-License-Identifier: Apache-2.0
"""Arrays of the dtypes that dpnp lacks: Python's protocols, NumPy's by ml_dtypes, DLPack."""

import copy
import gc
import pickle

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F

VALUES = np.array([[0.0, 1.0, -2.0], [3.5, 4.0, 5.0]], "f4")
FLOATS = {
    "bfloat16": "bfloat16", "float8_e4m3": "float8_e4m3fn", "float8_e5m2": "float8_e5m2",
}  # fmt: skip
ALL = {**FLOATS, "int4": "int4", "uint4": "uint4"}


@pytest.fixture
def narrow(queue):
    return sycl_dnn.asarray(VALUES, "bfloat16", sycl_queue=queue)


class FromCpu:
    """Asks an array for memory that the CPU reads, as consumers with ``device="cpu"`` do."""

    def __init__(self, array, **options):
        self._array, self._options = array, options

    def __dlpack__(self, **kwargs):
        return self._array.__dlpack__(**{**kwargs, "dl_device": (1, 0), **self._options})

    def __dlpack_device__(self):
        return (1, 0)


def test_numbers(narrow):
    assert bool(narrow[0, 1]) is True
    assert bool(narrow[0, 0]) is False
    assert (float(narrow[1, 0]), int(narrow[1, 0])) == (3.5, 3)
    assert [float(v) for v in narrow[1]] == [3.5, 4.0, 5.0]
    assert len(narrow) == 2
    for kind in (bool, float, int):
        with pytest.raises(TypeError, match=rf"{kind.__name__}\(\): .* one element.*\(2, 3\)"):
            kind(narrow)
    with pytest.raises(TypeError, match="without axes"):
        len(narrow[0, 0])


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "max", "min", "var", "std", "cumsum"])
@pytest.mark.sweep(2)
def test_methods_that_keep_the_dtype(narrow, name):
    expected = getattr(VALUES, name)
    for options in ({}, {"axis": 1}):
        result = getattr(narrow, name)(**options)
        assert result.dtype == "bfloat16"
        np.testing.assert_allclose(result.asnumpy(), expected(**options), rtol=1e-2)


@pytest.mark.parametrize("name", ["argmax", "argmin", "all", "any", "argsort", "tolist"])
def test_methods_with_results_that_dpnp_has(narrow, name):
    result = getattr(narrow, name)()
    result = dpnp.asnumpy(result) if hasattr(result, "get_array") else result
    np.testing.assert_array_equal(result, getattr(VALUES, name)())


@pytest.mark.parametrize(
    ("name", "args"),
    [("flatten", ()), ("ravel", ()), ("squeeze", ()), ("swapaxes", (0, 1)), ("take", ([2, 0], 1)),
     ("repeat", (2, 1)), ("diagonal", ()), ("clip", (0, 4)), ("round", ())],
)  # fmt: skip
def test_methods_that_move_elements(narrow, name, args):
    result = getattr(narrow, name)(*args)
    assert result.dtype == "bfloat16"
    np.testing.assert_array_equal(result.asnumpy(), getattr(VALUES, name)(*args))


def test_packed_numbers_are_refused_by_name(queue):
    packed = sycl_dnn.asarray(np.ones((2, 4), "f4"), "int4", sycl_queue=queue)
    with pytest.raises(TypeError, match=r"take\(\): .* 4-bit numbers, got int4"):
        packed.take([0], 1)


@pytest.mark.parametrize("dtype", ALL)
def test_pickle_and_copies(queue, dtype):
    array = sycl_dnn.asarray(np.arange(8, dtype="f4").reshape(2, 4), dtype, sycl_queue=queue)
    for result in (copy.copy(array), copy.deepcopy(array), pickle.loads(pickle.dumps(array))):
        assert (result.dtype, result.shape) == (array.dtype, array.shape)
        np.testing.assert_array_equal(result.asnumpy(), array.asnumpy())
    shallow = copy.copy(array)
    array.bits[...] = 0
    assert shallow.asnumpy().any()


# --- NumPy


@pytest.mark.parametrize("dtype", ALL)
def test_to_numpy_and_back(queue, dtype):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    theirs = np.dtype(getattr(ml_dtypes, ALL[dtype]))
    values = np.arange(8).reshape(2, 4) % 8
    array = sycl_dnn.asarray(values.astype(theirs), sycl_queue=queue)
    assert array.dtype == dtype
    result = np.asarray(array)
    assert result.dtype == theirs
    np.testing.assert_array_equal(result.astype("f4"), values)
    wide = sycl_dnn.asarray(values.astype(theirs), "float32", sycl_queue=queue)
    np.testing.assert_array_equal(dpnp.asnumpy(wide), values)
    assert F.astype(wide, theirs).dtype == dtype


def test_numpy_gets_other_dtypes_and_no_memory(narrow):
    np.testing.assert_array_equal(np.asarray(narrow, dtype="f8"), VALUES)
    with pytest.raises(ValueError, match="copy must not be False"):
        np.asarray(narrow, copy=False)


def test_float8_with_infinities_is_another_dtype(queue):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    with pytest.raises(TypeError):
        F.astype(dpnp.ones(2, dtype="f4", sycl_queue=queue), ml_dtypes.float8_e4m3)


# --- DLPack


def test_torch_shares_memory_both_ways(narrow, queue):
    torch = pytest.importorskip("torch")
    seen = torch.from_dlpack(FromCpu(narrow))
    assert seen.dtype is torch.bfloat16
    np.testing.assert_array_equal(seen.float().numpy(), VALUES)
    if queue.sycl_device.is_cpu:
        narrow[0, 0] = 9.0
        queue.wait()
        assert seen[0, 0] == 9.0
        assert torch.from_dlpack(narrow).dtype is torch.bfloat16
    theirs = torch.arange(6).reshape(2, 3).to(torch.bfloat16).T
    result = sycl_dnn.asarray(theirs, sycl_queue=queue)
    assert (result.dtype, result.shape) == ("bfloat16", (3, 2))
    np.testing.assert_array_equal(result.asnumpy(), theirs.float().numpy())


def test_torch_holds_the_memory_and_waits_for_it(queue):
    torch = pytest.importorskip("torch")
    x = dpnp.ones((512, 512), dtype="f4", sycl_queue=queue)
    y = sycl_dnn.asarray(x, "bfloat16")
    for _ in range(5):
        y = F.matmul(y, y) / 512
    seen = torch.from_dlpack(FromCpu(y))
    del y
    gc.collect()
    assert (seen == 1).all()


def test_a_copy_belongs_to_the_consumer(narrow, queue):
    torch = pytest.importorskip("torch")
    seen = torch.from_dlpack(FromCpu(narrow, copy=True))
    narrow[0, 0] = 9.0
    queue.wait()
    assert seen[0, 0] == 0.0


def test_packed_numbers_have_no_capsule(queue):
    packed = sycl_dnn.asarray(np.ones((2, 4), "f4"), "uint4", sycl_queue=queue)
    with pytest.raises(BufferError, match="4-bit numbers, got uint4"):
        packed.__dlpack__()
