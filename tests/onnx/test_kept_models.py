# SPDX-License-Identifier: Apache-2.0
"""Entries on disk for files that another process has read and checked."""

import json
import tracemalloc

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")

import sycl_dnn  # noqa: E402
from sycl_dnn.compiler import kept_programs  # noqa: E402
from sycl_dnn.kernels import kept_binaries  # noqa: E402
from sycl_dnn.onnx import kept_models, model_file, wire_format  # noqa: E402

MODEL = """<ir_version: 9, opset_import: ["": 17]>
    g (float[N, 256] x) => (float[N, 128] y) {
        m = MatMul (x, w)  r = Mul (m, s)  y = Add (r, b) }"""
#: The first weight is large enough that other values of it need no entry of their own.
SHAPES = {"w": (256, 128), "s": (128,), "b": (128,)}


def model(seed=0, text=MODEL, typed=False):
    proto, rng = onnx.parser.parse_model(text), np.random.default_rng(seed)
    proto.producer_name = "a producer" * 30  # so that the first bytes are not those of weights
    for name, shape in SHAPES.items():
        values = rng.uniform(0.5, 1, shape).astype("f4")
        if typed:
            tensor = onnx.helper.make_tensor(name, onnx.TensorProto.FLOAT, shape, values.ravel())
        else:
            tensor = onnx.numpy_helper.from_array(values, name)
        proto.graph.initializer.append(tensor)
    return proto


def check(source, proto):
    x = np.linspace(-1, 1, 512, dtype="f4").reshape(2, 256)
    w, s, b = map(onnx.numpy_helper.to_array, proto.graph.initializer)
    net = sycl_dnn.onnx.load(source)
    np.testing.assert_allclose(net(x).asnumpy(), x @ w * s + b, rtol=1e-4, atol=1e-4)
    return net


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SYCL_DNN_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path


@pytest.fixture
def reads(monkeypatch):
    """Count the files that are parsed and checked."""
    found, read = [], model_file.read

    def counted(*args):
        found.append(args)
        return read(*args)

    monkeypatch.setattr(model_file, "read", counted)
    return found


@pytest.fixture
def path(folder):
    return folder / "model.onnx"


@pytest.mark.parametrize("typed", [False, True])
def test_a_known_file_is_not_checked_again(path, reads, typed):
    path.write_bytes(model(typed=typed).SerializeToString())
    first = check(path, model())
    second = check(path, model())
    assert len(reads) == 1
    assert (second.inputs, second.outputs) == (first.inputs, first.outputs)
    assert second.program_text() == first.program_text()
    assert list(second.state_dict()) == list(first.state_dict())


def test_other_weights_in_a_file_of_the_same_name_are_read(path, reads):
    path.write_bytes(model().SerializeToString())
    check(path, model())
    proto = model()
    values = np.random.default_rng(7).uniform(0.5, 1, SHAPES["w"]).astype("f4")
    proto.graph.initializer[0].raw_data = values.tobytes()
    path.write_bytes(proto.SerializeToString())
    check(path, proto)
    assert len(reads) == 1  # the entry says where these values are


@pytest.mark.parametrize("index", [1, 2])
def test_small_weights_are_part_of_what_an_entry_is_for(path, reads, index):
    path.write_bytes(model().SerializeToString())
    check(path, model())
    proto = model()
    proto.graph.initializer[index].raw_data = np.full(128, 0.25, "f4").tobytes()
    path.write_bytes(proto.SerializeToString())
    check(path, proto)
    assert len(reads) == 2


def test_another_graph_in_a_file_of_the_same_size_is_read(path, reads):
    path.write_bytes(model().SerializeToString())
    check(path, model())
    other = model(text=MODEL.replace("= Mul", "= Sub"))
    assert other.ByteSize() == model().ByteSize()
    path.write_bytes(other.SerializeToString())
    x = np.ones((1, 256), "f4")
    w, s, b = map(onnx.numpy_helper.to_array, other.graph.initializer)
    np.testing.assert_allclose(sycl_dnn.onnx.load(path)(x).asnumpy(), x @ w - s + b, rtol=1e-4)
    assert len(reads) == 2


def test_a_change_behind_the_name_of_an_entry_is_noticed(path, monkeypatch):
    proto = model()
    proto.graph.initializer[1].raw_data = np.ones(128, "f4").tobytes()
    monkeypatch.setattr(kept_models, "_HEAD", 0)
    path.write_bytes(proto.SerializeToString())
    check(path, proto)
    proto.graph.initializer[1].raw_data = np.zeros(128, "f4").tobytes()
    path.write_bytes(proto.SerializeToString())
    check(path, proto)


@pytest.mark.parametrize("change", ["package", "onnx"])
def test_entries_of_another_version_are_not_used(path, reads, monkeypatch, change):
    path.write_bytes(model().SerializeToString())
    check(path, model())
    if change == "onnx":
        monkeypatch.setattr(onnx, "__version__", "0")
    else:
        monkeypatch.setattr(kept_programs, "package", lambda: "another")
    check(path, model())
    assert len(reads) == 2


@pytest.mark.parametrize("content", [
    b"", b"\x00" * 8, b"\x02" + b"\x00" * 7 + b"{}", b"\xff" * 64,
    *(len(t).to_bytes(8, "little") + t for t in (
        b'["", [], [], [], []]', b"[1, 2, 3, 4, 5]", b'["", [["w", "O", [1], 0, true]], [], [], 0]',
    )),
])  # fmt: skip
def test_corrupt_entries_are_ignored(path, reads, content):
    data = model().SerializeToString()
    path.write_bytes(data)
    check(path, model())
    kept_binaries.keep(kept_models._name(data), content)
    check(path, model())
    assert len(reads) == 2 or not content  # an entry of no bytes is not written


@pytest.mark.parametrize("weight", [
    ["w", "<f4", [256, 128], 1 << 40, True], ["w", "<f4", [1 << 40], 0, True],
    ["w", "|O", [1], 0, True], ["w", "<f4", [4], -8, True],
])  # fmt: skip
def test_places_outside_of_the_file_are_ignored(folder, weight):
    data = model().SerializeToString()
    entry = [kept_models._digest(data, []), [weight], [], [], ["", [], [], [], [], []]]
    head = json.dumps(entry).encode()
    kept_binaries.keep(kept_models._name(data), len(head).to_bytes(8, "little") + head)
    assert kept_models.load(data) is None


@pytest.mark.parametrize("text", [MODEL, MODEL.replace("m =", "k = Constant <value = {C}> () m =")])
def test_a_file_may_be_overwritten_once_it_is_loaded(path, text):
    """Read from the file, and with a kept entry."""
    numbers = ", ".join(map(str, range(2048)))  # more than the structure has itself
    text = text.replace("{C}", f"float[2048] {{{numbers}}}")
    for _ in range(2):
        path.write_bytes(model(text=text).SerializeToString())
        net = sycl_dnn.onnx.load(path)
        path.write_bytes(b"")
        x = np.linspace(-1, 1, 512, dtype="f4").reshape(2, 256)
        w, s, b = map(onnx.numpy_helper.to_array, model().graph.initializer)
        np.testing.assert_allclose(net(x).asnumpy(), x @ w * s + b, rtol=1e-4, atol=1e-4)


def test_a_refused_file_is_refused_each_time(path, reads):
    path.write_bytes(model(text=MODEL.replace("= Mul", "= Nul")).SerializeToString())
    for _ in range(2):
        with pytest.raises(ValueError, match="checker refuses"):
            sycl_dnn.onnx.load(path)
    assert len(reads) == 2


def test_files_with_data_elsewhere_have_no_entry(path, reads):
    proto = model()
    onnx.save_model(proto, path, save_as_external_data=True, location="data", size_threshold=600)
    check(path, model())
    data = np.fromfile(path.parent / "data", "f4")
    (data / 2).tofile(path.parent / "data")
    halved = model()
    for tensor in halved.graph.initializer:
        if len(tensor.raw_data) >= 600:
            tensor.raw_data = (onnx.numpy_helper.to_array(tensor) / 2).tobytes()
    check(path, halved)
    assert len(reads) == 2


def test_large_integers_and_constants_come_from_the_file(path, reads):
    text = """<ir_version: 9, opset_import: ["": 17]>
        g (float[N, 64] x) => (float[N, 64] y, int64[3000] t) {
            i = Identity (t0)  t = Add (i, c)  m = MatMul (x, w)  y = Relu (m) }"""
    proto = onnx.parser.parse_model(text)
    table, constant = np.arange(3000), np.arange(3000)[::-1].copy()
    proto.graph.node.insert(0, onnx.helper.make_node(
        "Constant", [], ["c"], value=onnx.numpy_helper.from_array(constant)
    ))  # fmt: skip
    proto.graph.initializer.append(onnx.numpy_helper.from_array(table, "t0"))
    w = np.eye(64, dtype="f4")
    proto.graph.initializer.append(onnx.numpy_helper.from_array(w, "w"))
    data = proto.SerializeToString()
    path.write_bytes(data)
    x = np.ones((2, 64), "f4")
    for _ in range(2):
        y, t = sycl_dnn.onnx.load(path)(x)
        np.testing.assert_array_equal(y.asnumpy(), x)
        np.testing.assert_array_equal(t.asnumpy(), 2999)
    assert len(reads) == 1
    assert len(kept_binaries.load(kept_models._name(data))) < 4000


@pytest.mark.parametrize("n", [0, 1, 7, 100, 5000, -1])
def test_places_in_broken_files_end_where_they_are_broken(n):
    data = model().SerializeToString()
    spans = wire_format.places(data[:n] + b"\xff" * 20, {"w", "c"})
    assert all(0 <= start <= end <= len(data) + 20 for start, end in spans.values())


@pytest.mark.parametrize("typed", [False, True])
def test_places_are_those_of_the_values(typed):
    data = model(typed=typed).SerializeToString()
    values = {n: data[start:end] for n, (start, end) in wire_format.places(data, {"w"}).items()}
    assert values == {t.name: t.raw_data for t in model().graph.initializer}


def test_constants_are_not_read_where_weights_may_change():
    proto = model()
    values = np.zeros((256, 128), "f4")
    proto.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(values, "w"))
    data = proto.SerializeToString()
    at = data.index(values.tobytes())
    constant = np.zeros(1024, "f4")
    assert at <= kept_models._place(data, constant, 0) < at + values.nbytes
    assert kept_models._place(data, constant, 0, [(at, at + values.nbytes)]) == -1


def test_a_structure_is_joined_without_further_copies():
    data = bytes(1 << 22)
    tracemalloc.start()
    joined = kept_models._joined([(-1, 2), (1, len(data) - 1), (-1, 1)], data, b"abc")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert joined == b"ab" + data[1:] + b"c"
    assert peak < 1.5 * len(data)
