# SPDX-License-Identifier: Apache-2.0
"""ONNX's own tests against the table of what passes: a few of them, or all."""

import json

import official_suite
import onnx
import pytest


@pytest.fixture(scope="module")
def table():
    return json.loads(official_suite.TABLE.read_text())


@pytest.fixture(scope="module")
def kept(table):
    return {name: state for state, names in table["not passed"].items() for name in names}


def test_the_table_has_the_goal(table):
    assert table["total"]["passed"] >= 1750
    assert "wrong" not in table["total"]
    assert sum(table["total"].values()) == 2033
    for state, names in table["not passed"].items():
        assert len(names) == table["total"][state]


@pytest.mark.slow
def test_outcomes_are_those_of_the_table(table, kept):
    if onnx.__version__ != table["onnx"]:
        pytest.skip(f"the table is of onnx {table['onnx']}")
    differing = {}
    for name, item in official_suite.cases():
        state, message = official_suite.outcome(name, item)
        if state != kept.get(name, "passed"):
            differing[name] = state, message[:200]
    assert not differing
