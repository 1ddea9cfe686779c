# SPDX-License-Identifier: Apache-2.0
"""Private names of dpnp and dpctl exist, and only the adapter uses them."""

import ast
import importlib
import re
from pathlib import Path

import dpctl
import dpctl.memory
import dpnp
import numpy as np
import pytest
from repeated_calls import taken

import sycl_dnn
from sycl_dnn import _dpnp
from sycl_dnn import functional as F

PACKAGE = Path(sycl_dnn.__file__).parent
SOURCES = PACKAGE.parent / "csrc"
#: What a private name looks like in Python: an attribute of an object that is not ours.
PRIVATE = re.compile(
    r"\._pointer\b|_create_from_usm_ndarray|_memory\._Memory|\._array_obj\b|dpctl\._(?!_)\w+|"
    r"dpnp\._(?!_)\w+|_seq_order_keeper|_order_manager|__pyx_capi__|"
    # Who offers it to others does not ask dpnp for it, which waits for the queue.
    r"(?<!self)(?<!to_array\(\))\.__sycl_usm_array_interface__"
)


def found(path):
    """Return the object of a dotted path, modules first."""
    parts = path.split(".")
    for n in range(len(parts), 0, -1):
        try:
            value = importlib.import_module(".".join(parts[:n]))
        except ImportError:
            continue
        for name in parts[n:]:
            value = value[name] if isinstance(value, dict) else getattr(value, name)
        return value
    raise AssertionError(path)


def has(path):
    if path == "dpnp.ndarray._array_obj":  # set by the constructor
        return hasattr(dpnp.zeros(1), "_array_obj")
    if path == "dpnp.tensor.usm_ndarray:struct":
        x = dpnp.zeros((2, 3))
        return [taken(lambda: F.relu(x))[1] for _ in range(2)][1] == 1  # the extension reads it
    try:
        return found(path) is not None
    except (AttributeError, KeyError):
        return False


@pytest.mark.parametrize("path", _dpnp.NEEDED)
def test_private_name_is_there(path):
    assert has(path), (
        f"{path} is gone from dpctl {dpctl.__version__} or dpnp {dpnp.__version__}: "
        f"{_dpnp.NEEDED[path]}; mend sycl_dnn/_dpnp.py, and csrc/ where it is used there"
    )


def test_only_the_adapter_uses_private_names():
    hits = {
        f"{path.relative_to(PACKAGE)}: {hit}"
        for path in PACKAGE.rglob("*.py")
        if path.name != "_dpnp.py"
        for line in path.read_text().splitlines()
        if "``" not in line
        for hit in PRIVATE.findall(line)
    }
    assert not hits


@pytest.mark.skipif(not SOURCES.exists(), reason="the sources of the extension are not here")
def test_extension_uses_no_private_name_beside_those_listed():
    text = "\n".join(p.read_text() for p in SOURCES.rglob("*.?pp"))
    used = set(re.findall(r"\b(?:Sycl(?:Queue|Event|Context|Device)|Memory)_[A-Z]\w+", text))
    of_objects = {"_array_obj", "_pointer"} & set(re.findall(r'InternFromString\("(\w+)"\)', text))
    modules = {m for m in re.findall(r'import\("(dp[\w.]+)"\)', text) if "._" in m}
    last = {path.rpartition(".")[2] for path in _dpnp.NEEDED}
    assert used <= last
    assert {n for n in last if "_" in n and n[0].isupper()} - {"_Memory"} <= used
    assert of_objects <= last
    assert all(any(path.startswith(m) for path in _dpnp.NEEDED) for m in modules)


def test_place_and_view_of_a_part(queue):
    whole = dpnp.arange(24, dtype="i4", sycl_queue=queue)
    part = whole[5:].get_array()
    memory, offset = _dpnp.place(part)
    assert (memory.nbytes, offset) == (24 * 4, 20)
    assert _dpnp.place(memory) == (memory, 0)
    seen = _dpnp.array_maker()(_dpnp.view(part, (3, 2), np.dtype("i4"), (4, 2), 1))
    assert dpnp.asnumpy(seen).tolist() == [[6, 8], [10, 12], [14, 16]]
    assert _dpnp.address(seen.get_array()) == _dpnp.address(memory) + 24


def test_arrays_and_memory_are_distinguished(queue):
    array = dpnp.zeros(3, sycl_queue=queue)
    assert _dpnp.usm_array(array) is array.get_array()
    assert _dpnp.usm_array(array.get_array()) is array.get_array()
    assert _dpnp.usm_array(array.get_array().usm_data) is None
    assert _dpnp.usm_array(np.zeros(3)) is None
    assert _dpnp.is_memory(array.get_array().usm_data)
    assert not _dpnp.is_memory(array)


def parts(array):
    """Yield views of a matrix (8, 9), of dpnp or NumPy, in every kind of layout."""
    yield array
    yield array[2:]
    yield array[3:5, 4:]
    yield array.reshape(-1)[7:29]
    yield array[1::3, ::2]
    yield array[::-1, ::-2]
    yield array.T[2:]
    yield array[5, 3:]
    yield array[4, 4]
    yield array[:0]


WIDE = np.resize([3, 127, 128, 153, 200, 255, 256, 300.9, 32768, 65535, -1, -3.7, -129, 40000, 0.0],
                 (8, 9))  # fmt: skip


@pytest.mark.parametrize("bits", [("int32", "uint32"), ("int64", "uint64"), ("float32", "int32")])
def test_bits_of_parts(bits, queue):
    values = np.arange(-36, 36).reshape(8, 9).astype(bits[0])
    pairs = zip(parts(dpnp.asarray(values, sycl_queue=queue)), parts(values), strict=True)
    for received, expected in pairs:
        actual = _dpnp.bits_as(received, bits[1])
        assert actual.dtype == bits[1]
        np.testing.assert_array_equal(dpnp.asnumpy(actual), expected.view(bits[1]))


def test_bits_in_another_size(queue):
    values = np.arange(48, dtype="i4").reshape(6, 8)
    array = dpnp.asarray(values, sycl_queue=queue)
    for key in (np.s_[:], np.s_[2:, 2:6], np.s_[3], np.s_[1::2, 4:]):
        for dtype in ("int16", "uint8", "int64"):
            result = dpnp.asnumpy(_dpnp.bits_as(array[key], dtype))
            np.testing.assert_array_equal(result, values[key].view(dtype))
    for key in (np.s_[:, ::2], np.s_[:, 1:5], np.s_[:, :3]):
        with pytest.raises(TypeError, match="dtype must be of 4 bytes for an array"):
            _dpnp.bits_as(array[key], "int64")


@pytest.mark.sweep(8)
@pytest.mark.parametrize("source", ["float16", "float32", "float64", "int32", "uint8", "bool"])
@pytest.mark.parametrize("target", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64",
                                    "uint64", "float32", "bool"])  # fmt: skip
def test_dtypes_of_parts(source, target, queue):
    if source == "float64" and not queue.sycl_device.has_aspect_fp64:
        return
    values = np.minimum(WIDE, 3e4).astype(source)
    pairs = zip(parts(dpnp.asarray(values, sycl_queue=queue)), parts(values), strict=True)
    for received, provided in pairs:
        is_integer = np.dtype(target).kind in "iu"
        whole = provided.astype("int64") if is_integer else provided
        actual = _dpnp.in_dtype(received, target)
        assert actual.dtype == target
        np.testing.assert_array_equal(dpnp.asnumpy(actual), whole.astype(target))


#: Dtypes for which dpnp agrees with NumPy.
WIDE_DTYPES = {"int32", "int64", "float32", "float64", "i4", "i8", "f4", "f8"}
#: Files that also convert NumPy arrays.
OF_NUMPY = {"compiler/post_ops.py", "onednn/mapping.py", "onednn/memory.py", "graph/tensor.py",
            "graph/fallbacks.py", "functional/shape/interpolate.py", "functional/attention.py",
            "data/transfer.py", "trace/foreign_arrays.py", "onnx/elementwise_operators.py",
            "onnx/evaluation.py", "onnx/index_operators.py",
            "onnx/signal_operators.py", "trace/trace_state.py"}  # fmt: skip


def _is_faulty(call):
    """Whether a call can be one of those that ``FAULTS`` lists."""
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return False
    owner = ast.unparse(call.func.value)
    provided = [k.value for k in call.keywords if k.arg == "dtype"]
    if owner in ("F", "functional", "functions", "np"):
        return False
    if call.func.attr == "asarray" and owner == "dpnp":
        return any(not isinstance(d, ast.Constant) for d in provided)
    dtype = (provided or call.args)[:1]
    if call.func.attr == "view":
        return len(call.args) < 2 and bool(dtype) and not owner.startswith("np.")
    is_wide = any(isinstance(d, ast.Constant) and d.value in WIDE_DTYPES for d in dtype)
    return call.func.attr == "astype" and not is_wide and "np." not in owner.replace("dpnp.", "")


@pytest.mark.slow
def test_only_the_adapter_uses_faulty_functions():
    hits = {
        f"{name}: {ast.unparse(node)}"
        for path in PACKAGE.rglob("*.py")
        if (name := str(path.relative_to(PACKAGE))) not in OF_NUMPY | {"_dpnp.py"}
        and not name.startswith(("tools/", "sklearn/"))
        and re.search(r"^\s*(?:import|from) dpnp", path.read_text(), re.MULTILINE)
        for node in ast.walk(ast.parse(path.read_text()))
        if _is_faulty(node)
    }
    assert not hits, "use in_dtype, array_in or bits_as of sycl_dnn/_dpnp.py"
    public = {"functional.floor_divide", "functional.matmul"}
    assert set(_dpnp.FAULTS.values()) == {"bits_as", "in_dtype", *public}


def test_functions_in_place_of_faulty_operators(queue):
    """``F.matmul`` reads arrays that repeat elements, ``F.floor_divide`` divides infinities."""
    x = np.random.default_rng(3).standard_normal((4, 5)).astype("f4")
    provided, one = (dpnp.asarray(v, sycl_queue=queue) for v in (x, x[0, :1]))
    row, column = dpnp.broadcast_to(one, (5,)), dpnp.broadcast_to(provided[:, :1], (4, 5))
    for a, b in (
        (provided, row),
        (row, provided.T),
        (column, provided.T),
        (row, row),
        (column, row),
    ):
        assert np.allclose(F.matmul(a, b).asnumpy(), a.asnumpy() @ b.asnumpy(), atol=1e-5)
    infinite = dpnp.asarray([np.inf, -np.inf, 1.3], dtype="f4", sycl_queue=queue)
    result = F.floor_divide(infinite, 0.6).asnumpy()
    assert np.array_equal(result, np.array([np.nan, np.nan, 2.0], "f4"), equal_nan=True)


def test_numbers_and_lists_in_narrow_dtypes(queue):
    values = [3.0, 127.9, 128.0, 200.5, 255.0]
    for provided in (values, np.array(values, "f4"), dpnp.asarray(values, "f4", sycl_queue=queue)):
        actual = _dpnp.array_in(provided, "uint8", sycl_queue=queue)
        assert dpnp.asnumpy(actual).tolist() == [3, 127, 128, 200, 255]
    assert _dpnp.array_in([1, 2], None, sycl_queue=queue).dtype == np.int64
    assert dpnp.asnumpy(F.linspace(100, 200, 3, dtype="uint8", device=queue)).tolist() == [
        100, 150, 200
    ]  # fmt: skip
    result = F.arange(198.0, 202.0, dtype="uint8", device=queue)
    assert dpnp.asnumpy(result).tolist() == [198, 199, 200, 201]


@pytest.mark.parametrize("usm_type", ["device", "shared", "host"])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i8", "u1", "?"])
@pytest.mark.parametrize("shape", [(), (0, 3), (1,), (4, 6), (1100, 1000)])
def test_arrays_of_numpy_are_copied_as_dpnp_copies_them(queue, usm_type, dtype, shape):
    values = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    values.flags.writeable = False
    placement = {"sycl_queue": queue, "usm_type": usm_type}
    for provided in (values, values.T, values[..., ::2] if shape else values):
        actual = _dpnp.array_in(provided, None, **placement)
        expected = dpnp.asarray(provided, **placement)
        assert type(actual) is type(expected)
        assert actual.flags.writable
        for name in ("dtype", "shape", "strides", "usm_type", "sycl_queue"):
            assert getattr(actual, name) == getattr(expected, name), name
        assert np.array_equal(actual.asnumpy(), provided)
