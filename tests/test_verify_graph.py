# SPDX-License-Identifier: Apache-2.0
"""Graph cases: files of others are checked, options change graphs, wrong numbers are found."""

import json
import random
from pathlib import Path

import numpy as np
import pytest

import sycl_dnn
from sycl_dnn import onednn as dnnl
from sycl_dnn.graph import Graph
from sycl_dnn.verify.cases import Case, Reader
from sycl_dnn.verify.errors import CaseError
from sycl_dnn.verify.grammar import words_of_text
from sycl_dnn.verify.graph import batch, fill, option_text, tolerance
from sycl_dnn.verify.graph.checks import Broken
from sycl_dnn.verify.graph.driver import OPTIONS, GraphCase
from sycl_dnn.verify.graph.parse import parse, read
from sycl_dnn.verify.graph.rewrite import rewrite
from sycl_dnn.verify.graph.write import text
from sycl_dnn.verify.outcome import Limits
from sycl_dnn.verify.runner import run_case

FOLDER = Path(__file__).parent / "conformance" / "graph"
FILES = sorted(FOLDER.glob("*/*.json"))
MATMUL = FOLDER / "op" / "matmul.json"
CHAIN = FOLDER / "pattern" / "matmul_bias-relu.json"


@pytest.fixture(scope="module")
def graph_stream():
    queue = sycl_dnn.default_queue("cpu")
    return dnnl.Stream(dnnl.Engine(queue), queue)


def options(**given):
    values = {o.name: o.read(o.default) for o in OPTIONS}
    return values | {name.replace("_", "-"): value for name, value in given.items()}


def rewritten(path, **texts):
    readers = {o.name.replace("-", "_"): o.read for o in OPTIONS}
    given = {name: readers[name](value) for name, value in texts.items()}
    return rewrite(read(path), options(**given))


def changed(path, change):
    """The text of a file after ``change(its first operation)``."""
    whole = json.loads(path.read_text())
    change(whole["graph"][0])
    return json.dumps(whole)


def case(path, **texts):
    return Case("graph", f"--case={path}", {n.replace("_", "-"): t for n, t in texts.items()})


def test_there_are_files_of_many_operations():
    kinds = {op.kind for path in FILES for op in read(path).ops}
    assert len(FILES) > 100
    assert len(kinds) >= 80


def test_shapes_that_are_inferred_are_those_of_the_files():
    for path in FILES:
        before, after = read(path), rewrite(read(path), options())
        for number, tensor in before.tensors.items():
            assert after.tensors[number].shape == tensor.shape, (path.name, number)
            assert after.tensors[number].strides == tensor.strides, (path.name, number)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda op: op.update(kind="Foo"), "kind of op 2 must be one of"),
        (lambda op: op.update(id=-1), "id of an operation must be an integer"),
        (lambda op: op["inputs"].pop(), r"op 2 \(MatMul\): inputs must be 2 to 3 tensors, got 1"),
        (lambda op: op["inputs"][0].update(dtype="f65"), r"op 2 \(MatMul\): dtype of tensor 0"),
        (lambda op: op["inputs"][0].update(shape="4x6"), "shape of tensor 0 must be a list"),
        (lambda op: op["inputs"][0].update(shape=[4] * 13), "must have at most 12 axes"),
        (lambda op: op["inputs"][0].update(shape=[True, 6]), "must be an integer"),
        (lambda op: op["attrs"].update(transpose_a=3), "attribute transpose_a must be an object"),
        (
            lambda op: op["attrs"].update(transpose_a={"type": "bool", "value": "yes"}),
            "transpose_a must be true or false",
        ),
        (lambda op: op["outputs"][0].update(id=0, dtype="bf16"), "must have one dtype"),
        (lambda op: op["outputs"][0].update(id=0), "must not depend on its own result"),
        (lambda op: op.update(outputs=[]), "outputs must not be empty"),
    ],
)
def test_broken_files_are_refused_with_operation_and_rule(change, message):
    with pytest.raises(Broken, match=message):
        parse(changed(MATMUL, change))


@pytest.mark.parametrize(
    "whole", ["", "[]", "{}", '{"graph": []}', '{"graph": 3}', "[" * 100_000, '{"graph": [3]}']
)
def test_what_is_no_graph_is_refused(whole):
    with pytest.raises(Broken):
        parse(whole)


def _leaves(value, path=()):
    if isinstance(value, (dict, list)) and value:
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in items:
            yield from _leaves(inner, (*path, key))
    yield path


def test_files_with_anything_anywhere_never_get_further_than_the_checks():
    """Every refusal is `Broken`, whatever stands in the place of whatever."""
    rng, junk = random.Random(7), [None, -1, 2**70, 1e300, "x", "", [], {}, True, [[]], -(2**63)]
    refused = 0
    for path in rng.sample(FILES, 40):
        whole = path.read_text()
        for _ in range(25):
            value = json.loads(whole)
            places = [p for p in _leaves(value) if p]
            *inner, last = rng.choice(places)
            owner = value
            for key in inner:
                owner = owner[key]
            owner[last] = rng.choice(junk)
            try:
                rewrite(parse(json.dumps(value)), options())
            except Broken:
                refused += 1
    assert refused > 500


def test_texts_cut_anywhere_are_refused():
    whole = CHAIN.read_text()
    for at in range(0, len(whole.rstrip()) - 1, 97):
        with pytest.raises(Broken):
            parse(whole[:at])


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("in_shapes", "0", "must be ID:VALUE"),
        ("in_shapes", "0:2xx3", "shape must be integers"),
        ("in_shapes", "0:2x3*acd", "permutation"),
        ("in_shapes", "0:2+0:3", "name each number once"),
        ("op_attrs", "0:foo:1", "attribute must be one of"),
        ("op_attrs", "0:axis:one", "axis must be of kind int"),
        ("dt", "f33", "dtype must be one of"),
        ("op_kind", "0:Foo", "kind must be one of"),
        ("tensor_property", "0:soft", "property must be one of"),
        ("expected_n_partitions", "-1", "must be an integer from 0"),
    ],
)
def test_options_say_what_is_wrong(name, value, message):
    with pytest.raises(ValueError, match=message):
        rewritten(MATMUL, **{name: value})


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ({"in_shapes": "9:2x3"}, "--in-shapes: tensor must be one of the graph's, got 9"),
        ({"in_shapes": "0:5x7"}, r"op 2 \(MatMul\): weights must have 7 rows"),
        ({"in_shapes": "0:*cba"}, "strides of tensor 0 must be 2, got 3"),
        ({"op_attrs": "9:axis:1"}, "--op-attrs: operation"),
        ({"op_kind": "2:ReLU"}, r"op 2 \(ReLU\): inputs must be 1"),
        ({"op_kind": "2:undef"}, "to be taken out"),
        ({"dt": "9:f32"}, "--dt: tensor"),
    ],
)
def test_options_that_do_not_fit_the_graph(texts, message):
    with pytest.raises(Broken, match=message):
        rewritten(MATMUL, **texts)


def test_shapes_strides_and_what_follows_from_them():
    graph = rewritten(CHAIN, in_shapes="0:3x16*ba")
    assert (graph.tensors[0].shape, graph.tensors[0].strides) == ((3, 16), (1, 3))
    assert [graph.tensors[n].shape for n in (4, 6)] == [(3, 12), (3, 12)]
    graph = rewritten(MATMUL, in_shapes="0:4x6*20x2+3:*ba")
    assert graph.tensors[0].strides == (20, 2)
    assert graph.tensors[3].strides == (1, 4)


def test_batches_are_found_and_changed():
    assert batch.tensors(read(CHAIN)) == [0]
    assert rewritten(CHAIN, mb="5").tensors[6].shape == (5, 12)
    with pytest.raises(Broken, match="--mb must have an input"):
        rewritten(FOLDER / "op" / "static_reshape.json", mb="5")


def test_data_types_kinds_and_properties():
    graph = rewritten(CHAIN, dt="bf16", op_kind="5:Tanh", tensor_property="1:constant")
    assert {t.dtype for t in graph.tensors.values()} == {"bf16"}
    assert [op.kind for op in graph.ops] == ["MatMul", "Tanh"]
    assert graph.tensors[1].property == "constant"
    shorter = rewritten(CHAIN, op_kind="5:undef")
    assert shorter.results() == [4]
    with pytest.raises(Broken, match="must not be in a graph whose data type"):
        rewritten(FOLDER / "op" / "quantize.json", dt="bf16")


def test_scales_and_groups_follow_shapes():
    graph = rewritten(FOLDER / "op" / "dequantize-channels.json", in_shapes="0:2x5x4x5")
    assert graph.ops[0].attrs["scales"] == (0.1, 0.05, 0.2, 0.1, 0.05)
    path = FOLDER / "op" / "dynamic_dequantize-groups.json"
    number = read(path).ops[0].id
    assert rewritten(path, in_shapes="0:16x6").ops[0].attrs["group_shape"] == (8, 1)
    wider = rewritten(path, op_attrs=f"{number}:group_shape:8x1")
    assert wider.tensors[wider.ops[0].inputs[1]].shape == (1, 6)


def test_writing_and_reading_give_the_same_graph():
    g = Graph("cpu")
    x, s = g.input((4, 8), "bf16", name="x"), g.scalar("f32", name="s")
    g.softmax(g.multiply(g.type_cast(x, dtype="f32"), s), axis=-1)
    document = parse(text(g))
    assert [op.kind for op in document.ops] == ["TypeCast", "Multiply", "SoftMax"]
    assert document.tensors[s.id].property == "host_scalar"
    assert document.ops[2].attrs["axis"] == -1
    open_shape = Graph("cpu")
    open_shape.relu(open_shape.input((None, 3)))
    with pytest.raises(ValueError, match="known shape"):
        text(open_shape)


def test_data_suits_the_operations():
    def values(name):
        document = rewrite(read(FOLDER / name), options())
        made = fill.inputs(document, "key")
        return {port: made[n] for op in document.ops for port, n in op.ports() if n in made}

    assert (values("op/log.json")["src"] > 0).all()
    norm = values("op/layer_norm_backward.json")
    np.testing.assert_allclose(norm["mean"], norm["src"].mean(-1), rtol=1e-6, atol=1e-7)
    mask = values("pattern/sdpa_mask.json")["src_1"]
    assert np.isneginf(mask).any()
    assert np.isfinite(mask).any(-1).all()
    dst = values("op/tanh_backward-dst.json")["src_or_dst"]
    assert (np.abs(dst) < 1).all()


def test_tolerance_follows_the_spread_and_finds_single_wrong_elements():
    raw = np.linspace(-1, 1, 50)
    others = [raw * (1 + 1e-6), raw * (1 - 1e-6)]
    assert not tolerance.check("t", raw * (1 + 2e-6), raw, others, "f32").problem
    wrong = raw.copy()
    wrong[17] += 1e-4
    assert "1 of 50 wrong, most at (17)" in tolerance.check("t", wrong, raw, others, "f32").problem
    assert not tolerance.check("t", wrong, raw, [raw + 1e-4], "f32").problem
    steps = np.full(50, 2.4)
    assert not tolerance.check("t", np.rint(steps), steps, [steps], "s8").problem
    assert tolerance.check("t", np.full(50, 3.0), steps, [steps], "s8").problem
    assert not tolerance.check("t", np.zeros(50), raw * 0, [raw * 0], "f32").trusted


def test_wrong_results_fail_with_a_line_that_replays(graph_stream, monkeypatch):
    from sycl_dnn.verify.graph.ops import OPERATIONS

    honest = OPERATIONS["relu"]
    monkeypatch.setitem(OPERATIONS, "relu", lambda *args: [honest(*args)[0] + 1e-3])
    result = run_case(case(CHAIN), graph_stream)
    assert result.status == "FAILED"
    assert "tensor 6: 96 of 96 wrong" in result.reason
    assert case(CHAIN, mb="5").replay.endswith(f"--graph --mb=5 --case={CHAIN}")


def test_what_cases_come_to(graph_stream):
    assert run_case(case(CHAIN), graph_stream).status == "PASSED"
    result = run_case(case(FOLDER / "op" / "pow.json"), graph_stream)
    assert (result.status, "got Pow" in result.reason) == ("REFUSED", True)
    result = run_case(case(MATMUL, in_shapes="0:5x7"), graph_stream)
    assert (result.status, result.reason.startswith("matmul.json: op 2")) == ("INVALID", True)
    result = run_case(case(CHAIN, expected_n_partitions="2"), graph_stream)
    assert (result.status, result.reason) == ("FAILED", "partitions must be 2, got 1")
    result = run_case(case(CHAIN), graph_stream, Limits(operations=100))
    assert "a case must need at most 100 products" in result.reason
    result = run_case(case(CHAIN), graph_stream, Limits(check=False))
    assert result.status == "SUBMITTED"


def test_a_fault_of_pooling_is_known(graph_stream):
    document = read(FOLDER / "pattern" / "pool_binary.json")
    shapes = f"{document.inputs()[0]}:1x16x8x8+{document.inputs()[1]}:1x16x4x4"
    result = run_case(case(FOLDER / "pattern" / "pool_binary.json", in_shapes=shapes), graph_stream)
    # Other instruction sets have other kernels.
    assert result.status in ("KNOWN", "PASSED")
    assert result.status == "PASSED" or "pooling_forward" in result.reason


def test_files_are_found_beside_the_case_file(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "x.json").write_text(MATMUL.read_text())
    (tmp_path / "deep" / "a.in").write_text("--graph --case=x.json")
    words = words_of_text("--graph --batch=deep/a.in", "line")
    (found,) = Reader().cases(words, tmp_path)
    assert found.problem == f"--case={tmp_path / 'x.json'}"
    assert found.key == "--graph x.json"
    with pytest.raises(CaseError, match="--case must name a file"):
        list(Reader().cases(words_of_text("--graph --case=none.json", "line"), tmp_path))


def test_options_of_a_case_are_read_once_for_each_combination():
    words = words_of_text(f"--graph --mb=1,2 --dt=f32,bf16 --case={CHAIN}", "line")
    found = list(Reader().cases(words, Path()))
    assert len(found) == 4
    assert all(isinstance(one.call(), GraphCase) for one in found)


def test_shape_texts():
    assert option_text.shape("-").dims == ()
    assert option_text.shape("0").dims == (0,)
    assert option_text.shape("*ba") == option_text.ShapeText(None, "ba")
    assert option_text.shape("2x3*6x2").strides == (6, 2)
