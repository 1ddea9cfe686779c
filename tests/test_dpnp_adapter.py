# SPDX-License-Identifier: Apache-2.0
"""Private names of dpnp and dpctl: each is there, and only the adapter uses them."""

import importlib
import re
from pathlib import Path

import dpctl
import dpctl.memory
import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import _dpnp
from sycl_dnn.call.arguments import ARRAY_TYPES

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
        return ARRAY_TYPES.kinds((dpnp.zeros((2, 3)),)) is not None
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
    text = "\n".join(p.read_text() for p in SOURCES.glob("*.?pp"))
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


def test_what_is_an_array_and_what_is_memory(queue):
    array = dpnp.zeros(3, sycl_queue=queue)
    assert _dpnp.usm_array(array) is array.get_array()
    assert _dpnp.usm_array(array.get_array()) is array.get_array()
    assert _dpnp.usm_array(array.get_array().usm_data) is None
    assert _dpnp.usm_array(np.zeros(3)) is None
    assert _dpnp.is_memory(array.get_array().usm_data)
    assert not _dpnp.is_memory(array)
