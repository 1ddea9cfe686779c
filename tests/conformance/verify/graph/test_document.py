# SPDX-License-Identifier: Apache-2.0
"""Graph case files: untrusted ones are validated, ours contain what they claim."""

import json
import random

import pytest
from graph_files import FILES, MATMUL, options

from conformance.verify.case_reader import Reader, key_of
from conformance.verify.graph.document import Broken, parse, read, text
from conformance.verify.graph.rewriting import rewrite
from sycl_dnn.graph import Graph
from sycl_dnn.tools.cases.case_files import words_of_text
from sycl_dnn.tools.cases.driver import CaseError


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
    (case,) = Reader().cases(words, tmp_path)
    assert case.problem == f"--case={tmp_path / 'x.json'}"
    assert key_of(case) == "--graph x.json"
    with pytest.raises(CaseError, match="--case must name a file"):
        list(Reader().cases(words_of_text("--graph --case=none.json", "line"), tmp_path))
