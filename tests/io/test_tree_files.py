# SPDX-License-Identifier: Apache-2.0
"""``save`` and ``load``: round trips; damaged and hostile files raise errors that name them."""

import contextlib
import json
import os
import pickle

import dpnp
import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import functional as F
from sycl_dnn import nn, tree

KINDS = [".npz", ".safetensors", pytest.param(".pt", marks=pytest.mark.torch)]


@pytest.fixture(params=KINDS)
def path(request, tmp_path):
    return tmp_path / f"tree{request.param}"


def same(a, b):
    for x, y in zip(tree.leaves(a), tree.leaves(b), strict=True):
        if hasattr(x, "shape"):
            assert str(x.dtype) == str(y.dtype)
            x, y = (v.bits if str(v.dtype) == "bfloat16" else v for v in (x, y))
            assert dpnp.asnumpy(x).tobytes() == dpnp.asnumpy(y).tobytes()
        else:
            assert (type(x), x) == (type(y), y)


def test_trees_round_trip_bit_for_bit(path):
    value = {
        "a": [F.randn(2, 3), F.astype(F.randn(3), "bfloat16")], "n": F.arange(4), "step": 3,
        "scalar": F.ones(()), "rate": 0.5, "name": "é", "flag": True, "empty": F.zeros(0, 2),
        "strided": F.randn(4, 3).T,
    }  # fmt: skip
    sycl_dnn.save(path, value)
    same(sycl_dnn.load(path, value), value)
    flat = sycl_dnn.load(path)
    assert sorted(flat) == sorted(tree.names(value))
    assert flat["step"] == 3
    assert os.listdir(path.parent) == [path.name]


def test_modules_are_saved_under_torch_names(path):
    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2))
    sycl_dnn.save(path, net)
    assert sorted(sycl_dnn.load(path)) == sorted(net.state_dict())
    other = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2))
    assert sycl_dnn.load(path, other) is other
    same(other, net)
    if path.suffix == ".safetensors":
        found = pytest.importorskip("safetensors.numpy").load_file(path)
        np.testing.assert_array_equal(found["0.weight"], dpnp.asnumpy(net[0].weight))
        pytest.importorskip("safetensors.numpy").save_file(found, path)
        same(sycl_dnn.load(path, other), net)


def test_damaged_files_raise_by_name_and_load_nothing(path):
    net = nn.Linear(2, 3)
    sycl_dnn.save(path, net)
    whole, before = path.read_bytes(), net.weight
    for n in (0, 5, 40, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:n])
        with pytest.raises(ValueError, match=path.name):
            sycl_dnn.load(path, net)
    rng = np.random.default_rng(0)
    for _ in range(40):
        changed = bytearray(whole)
        changed[rng.integers(len(whole))] ^= int(rng.integers(1, 256))
        path.write_bytes(bytes(changed))
        with contextlib.suppress(ValueError):  # or other numbers
            sycl_dnn.load(path)
    path.write_bytes((2**63).to_bytes(8, "little") + b"{}")
    with pytest.raises(ValueError, match=path.name):
        sycl_dnn.load(path)
    assert net.weight is before


@pytest.mark.parametrize(
    ("note", "message"),
    [({"dtypes": {"x": "bfloat16"}}, "x has the dtype float32, not that of bfloat16"),
     ({"plain": ["x"]}, "its numbers and strings are damaged")],
)  # fmt: skip
def test_archives_that_contradict_themselves_are_refused(tmp_path, note, message):
    path = tmp_path / "tree.npz"
    text = np.frombuffer(json.dumps(note).encode(), "u1")
    np.savez(path, **{"a.x": np.ones(2, "f4"), "sycl_dnn.note": text})
    with pytest.raises(ValueError, match=message):
        sycl_dnn.load(path)


def test_no_code_in_a_file_is_executed(tmp_path):
    class Bomb:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "ran"),)

    path = tmp_path / "bomb.npz"
    np.savez(path, a=np.array([Bomb()], dtype=object))
    for content in (path.read_bytes(), pickle.dumps(Bomb())):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="bomb.npz is damaged"):
            sycl_dnn.load(path)
    assert not (tmp_path / "ran").exists()


def test_a_failed_save_keeps_the_old_file(path):
    sycl_dnn.save(path, {"a": F.ones(2)})
    with pytest.raises(TypeError, match="save: b must be an array, a number or string, got object"):
        sycl_dnn.save(path, {"a": F.zeros(2), "b": object()})
    assert float(sycl_dnn.load(path)["a"][0]) == 1.0
    assert os.listdir(path.parent) == [path.name]


def test_files_have_default_permissions(tmp_path):
    before, path = os.umask(0o027), tmp_path / "tree.npz"
    try:
        sycl_dnn.save(path, {"a": F.ones(2)})
        assert os.umask(0o027) == 0o027
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize(
    ("into", "message"),
    [
        ({"b": 0}, r"lacks \['b'\] and has \['a'\]"), ({"a": 0}, "a must be a number or string"),
        ({"a": np.zeros((3,), "f4")}, r"a must have shape \(3,\) and dtype float32, got \(2,\)"),
    ],
)  # fmt: skip
def test_other_trees_are_refused_by_name(tmp_path, into, message):
    path = tmp_path / "t.npz"
    sycl_dnn.save(path, {"a": F.ones(2)})
    into = {n: dpnp.asarray(v) if isinstance(v, np.ndarray) else v for n, v in into.items()}
    with pytest.raises(ValueError, match=message):
        sycl_dnn.load(path, into)
    with pytest.raises(ValueError, match="must end in one of .safetensors, .npz"):
        sycl_dnn.save(tmp_path / "t.pkl", into)
    with pytest.raises(FileNotFoundError):
        sycl_dnn.load(tmp_path / "none.npz")
