# SPDX-License-Identifier: Apache-2.0
"""Kernels written to a folder, and their listing."""

import dpnp
import pytest

from sycl_dnn import functional as F
from sycl_dnn.call import cache
from sycl_dnn.kernels import building, launching, listing

#: Calls with one kernel of each generator.
CALLS = {
    "elementwise": lambda x: F.remainder(F.sin(x), 0.5),
    "reduction": lambda x: F.softmax(x, -1),
    "argument": lambda x: F.argmax(x, 1),
    "scan": lambda x: F.cumsum(x, 0),
    "gather": lambda x: F.flip(x, 1),
    "bfloat16": lambda x: F.sin(F.astype(x, "bfloat16")),
    "integers": lambda x: F.bitwise_xor(F.astype(x, "int64"), 5),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SYCL_DNN_KERNELS_DIR", str(tmp_path / "kernels"))
    monkeypatch.setattr(building, "_made", type(building._made)())
    return tmp_path / "kernels"


@pytest.mark.parametrize("name", CALLS)
def test_kernels_are_written(name, folder, queue):
    CALLS[name](dpnp.full((3, 37), 0.5, dtype="f4", sycl_queue=queue))
    modules = sorted(folder.glob("*.spv"))
    assert modules
    for path in modules:
        content = path.read_bytes()
        assert content[:4] == b"\x03\x02\x23\x07"
        assert path.with_suffix(".txt").read_text().splitlines() == list(listing.lines_of(content))


def test_a_listing_names_operations_types_and_constants(folder, queue):
    F.logsigmoid(dpnp.full((3, 37), 0.5, dtype="f4", sycl_queue=queue))
    (path,) = folder.glob("*.txt")
    text = path.read_text()
    width = 16 if queue.sycl_device.is_cpu else 4
    assert f"f32x{width} %" in text
    assert " = load %" in text
    assert " = fma %" in text
    assert " = joined 0 in all" in text
    assert " store %" in text


@pytest.mark.parametrize("name", CALLS)
def test_every_instruction_of_a_body_is_listed(name, folder, queue):
    CALLS[name](dpnp.full((3, 37), 0.5, dtype="f4", sycl_queue=queue))
    for path in folder.glob("*.spv"):
        opcodes = [opcode for opcode, _ in listing._instructions(path.read_bytes())]
        body = set(opcodes[opcodes.index(54) :]) - {54, 56}
        assert body <= set(listing._NAMES)


def test_kernels_on_disk_are_written_too(folder, queue, tmp_path, monkeypatch):
    monkeypatch.setenv("SYCL_DNN_CACHE_DIR", str(tmp_path / "cache"))

    def written(x):
        for path in folder.glob("*"):
            path.unlink()
        monkeypatch.setattr(building, "_made", type(building._made)())
        launching._launches.clear()
        cache.plans.clear()
        F.sin(x).asnumpy()
        return [path.name for path in folder.glob("*.spv")]

    x = dpnp.ones((1500, 1000), dtype="f4", sycl_queue=queue)  # compiled at once
    assert written(x) == written(x) != []


def test_nothing_is_written_without_the_variable(tmp_path, monkeypatch):
    monkeypatch.delenv("SYCL_DNN_KERNELS_DIR", raising=False)
    monkeypatch.chdir(tmp_path)
    listing.write("name", "text")
    assert not list(tmp_path.iterdir())
