# SPDX-License-Identifier: Apache-2.0
"""Graph case files: untrusted ones are validated, ours contain what they claim."""

import json
import random

import pytest
from graph_files import CHAIN, FILES, MATMUL, options

from conformance.verify.case_reader import Reader, key_of
from conformance.verify.graph.document import Broken, parse, read, text
from conformance.verify.graph.rewriting import rewrite
from sycl_dnn.graph import Graph
from sycl_dnn.tools.cases.case_files import words_of_text
from sycl_dnn.tools.cases.driver import CaseError


def changed(path, change):
    """The text of a file after ``change(its first operation)``."""
    whole = json.loads(path.read_text())
    change(whole["graph"][0])
    return json.dumps(whole)


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
def test_files_that_are_not_graphs_are_refused(whole):
    with pytest.raises(Broken):
        parse(whole)


def _leaves(value, path=()):
    if isinstance(value, (dict, list)) and value:
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in items:
            yield from _leaves(inner, (*path, key))
    yield path


@pytest.mark.slow
def test_mutated_files_are_refused_by_the_checks():
    """Every refusal is `Broken`, whatever value replaces any other."""
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


def test_truncated_files_are_refused():
    whole = CHAIN.read_text()
    for at in range(0, len(whole.rstrip()) - 1, 97):
        with pytest.raises(Broken):
            parse(whole[:at])


def test_graphs_round_trip_through_files():
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


def test_graph_files_are_found_next_to_the_case_file(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "x.json").write_text(MATMUL.read_text())
    (tmp_path / "deep" / "a.in").write_text("--graph --case=x.json")
    words = words_of_text("--graph --batch=deep/a.in", "line")
    (found,) = Reader().cases(words, tmp_path)
    assert found.problem == f"--case={tmp_path / 'x.json'}"
    assert key_of(found) == "--graph x.json"
    with pytest.raises(CaseError, match="--case must name a file"):
        list(Reader().cases(words_of_text("--graph --case=none.json", "line"), tmp_path))
