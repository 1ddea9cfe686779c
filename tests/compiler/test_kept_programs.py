# SPDX-License-Identifier: Apache-2.0
"""Programs of loaded models that another process left on the disk."""

import pickle
import types
import zlib

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")

import sycl_dnn  # noqa: E402
from sycl_dnn.compiler import kept_graphs, programs  # noqa: E402
from sycl_dnn.functional.conv import convolution  # noqa: E402
from sycl_dnn.kernels import building, kept_binaries, launching  # noqa: E402
from sycl_dnn.nn import folded_calls  # noqa: E402
from sycl_dnn.trace import policy  # noqa: E402

MODEL = """<ir_version: 9, opset_import: ["": 17]>
    g (float[N, 3, 16, 16] x) => (float[N, 4] y, float[N, 8, 16, 16] c) {
        a = Conv <pads = [1, 1, 1, 1]> (x, w, b)
        n = BatchNormalization (a, scale, shift, mean, var)
        s = Sigmoid (n)
        c = Mul (n, s)
        p = GlobalAveragePool (c)
        f = Flatten (p)
        t = Transpose (v)
        m = MatMul (f, t)
        y = Softmax (m)
    }"""
SHAPES = {"w": (8, 3, 3, 3), "b": (8,), "scale": (8,), "shift": (8,), "mean": (8,), "var": (8,),
          "v": (4, 8)}  # fmt: skip


def model(seed=0, text=MODEL):
    result = onnx.parser.parse_model(text)
    rng = np.random.default_rng(seed)
    for name, shape in SHAPES.items():
        values = rng.uniform(0.2, 1, shape).astype("f4")
        result.graph.initializer.append(onnx.numpy_helper.from_array(values, name))
    return result


def expected(proto, x):
    from onnx.reference import ReferenceEvaluator

    return ReferenceEvaluator(proto).run(None, {"x": x})


def check(proto, x):
    result = sycl_dnn.onnx.load(proto)(x)
    for actual, want in zip(result, expected(proto, x), strict=True):
        np.testing.assert_allclose(actual.asnumpy(), want, rtol=1e-5, atol=1e-5)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SYCL_DNN_CACHE_DIR", str(tmp_path))
    return tmp_path / "kernels"


@pytest.fixture
def traces(monkeypatch):
    """Count the functions that are traced."""
    found, traced = [], programs.traced

    def counted(*args):
        found.append(args[1])
        return traced(*args)

    monkeypatch.setattr(programs, "traced", counted)
    return found


@pytest.fixture
def x():
    return np.random.default_rng(5).standard_normal((2, 3, 16, 16)).astype("f4")


def test_a_known_model_is_not_traced_again(folder, traces, x):
    check(model(), x)
    assert len(traces) == 1
    check(model(), x)
    assert len(traces) == 1


def test_weights_are_not_part_of_what_is_kept(folder, traces, x):
    check(model(), x)
    check(model(seed=1), x)
    assert len(traces) == 1


@pytest.mark.parametrize("change", ["shape", "model", "dtype", "policy"])
def test_other_programs_are_traced(folder, traces, x, change):
    check(model(), x)
    if change == "shape":
        check(model(), x[:1])
    elif change == "model":
        check(model(text=MODEL.replace("Sigmoid", "Tanh")), x)
    elif change == "dtype":
        sycl_dnn.onnx.load(model(), dtype="bfloat16")(x)
    else:
        with policy.using(nan="propagate"):
            check(model(), x)
    assert len(traces) == 2


def report(x):
    net = sycl_dnn.onnx.load(model())
    return str(folded_calls.program_of(net).explain({"x": sycl_dnn.asarray(x)}, ()))


def test_reports_are_the_same(folder, traces, x):
    reports = report(x), report(x)
    assert len(traces) == 1
    assert reports[0] == reports[1]
    assert "convolution" in reports[0]


def test_chosen_implementations_are_kept(folder, traces, x, monkeypatch):
    monkeypatch.setattr(convolution, "_preferred", lambda *_: "gemm:jit")
    many = np.tile(x, (64, 1, 1, 1))  # more than a host task computes
    assert "gemm:jit" in report(many)
    assert "gemm:jit" in report(many)
    assert len(traces) == 1


def test_binaries_of_kernels_are_found_by_their_names(folder, traces, x, monkeypatch):
    """Those that the process built that traced the model."""
    text = MODEL.replace("Sigmoid", "Sin")  # a kernel
    many, key, asked = np.tile(x, (64, 1, 1, 1)), kept_binaries.key, []
    for names in (set(), set()):
        asked.append(names)
        found = lambda *args, names=names: names.add(key(*args)) or key(*args)  # noqa: E731
        monkeypatch.setattr(kept_binaries, "key", found)
        monkeypatch.setattr(building, "_made", type(building._made)())
        monkeypatch.setattr(launching, "_launches", {})
        sycl_dnn.onnx.load(model(text=text))(many)
    assert len(traces) == 1
    assert asked[0] == asked[1]
    assert len(asked[0]) > 1


def test_without_a_folder_models_are_traced(monkeypatch, traces, x):
    monkeypatch.setenv("SYCL_DNN_CACHE_DIR", "")
    for n in (1, 2):
        check(model(), x)
        assert len(traces) == n


def kept(monkeypatch, change):
    """Change the binaries that are read from the disk."""
    load = kept_binaries.load

    def changed(name):
        content = load(name)
        return content if content is None or content[:1] != b"x" else change(content)

    monkeypatch.setattr(kept_binaries, "load", changed)


def harmful(content):
    return zlib.compress(pickle.dumps(print))


@pytest.mark.parametrize(
    "change", [lambda content: content[: len(content) // 2], lambda content: b"", harmful],
    ids=["half", "empty", "harmful"],
)  # fmt: skip
def test_invalid_files_are_ignored(folder, traces, x, monkeypatch, change):
    check(model(), x)
    kept(monkeypatch, change)
    check(model(), x)
    assert len(traces) == 2


def test_pickles_name_nothing():
    with pytest.raises(pickle.UnpicklingError, match="builtins.print"):
        kept_graphs.read(harmful(b""), types.SimpleNamespace(engine=None), [], None)


def test_other_choices_of_onednn_are_noticed(folder, traces, x, monkeypatch):
    check(model(), x)

    def chosen_otherwise(content):
        return zlib.compress(zlib.decompress(content).replace(b":", b";"))

    kept(monkeypatch, chosen_otherwise)
    check(model(), x)
    assert len(traces) == 2


def test_results_as_a_tuple_of_one(folder, traces, x):
    """A single result is not a tuple, kept or not."""
    text = MODEL.replace(", float[N, 8, 16, 16] c)", ")")
    for _ in range(2):
        actual = sycl_dnn.onnx.load(model(text=text))(x)
        np.testing.assert_allclose(actual.asnumpy(), expected(model(text=text), x)[0], rtol=1e-5)
    assert len(traces) == 1
