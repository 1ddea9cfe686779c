# SPDX-License-Identifier: Apache-2.0
"""The model of docs/distributed_scale.md: its limits, and that the page shows its output."""

import re
import sys

import pytest
from rank_jobs import ROOT


@pytest.fixture
def model(monkeypatch):
    """Return benchmarks/scale_model.py."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import scale_model

    yield scale_model
    del sys.modules["scale_model"]


def test_the_page_shows_the_predictions_of_the_model(model, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["scale_model.py"])
    model.main()
    printed = {row.split()[0]: row.split()[1:] for row in capsys.readouterr().out.splitlines()[1:]}
    page = (ROOT / "docs" / "distributed_scale.md").read_text().partition("## Prediction")[2]
    rows = re.findall(r"^\| ([\d,]+) \| (.*) \|$", page, re.MULTILINE)
    assert [name for name, _ in rows] == ["1", "2", "8", "64", "256", "1,024"]
    for name, text in rows:
        actual = re.findall(r"\d+", text)
        expected = [f"{float(number.rstrip('%')):.0f}" for number in printed[name.replace(",", "")]]
        assert actual == expected[-len(actual) :], name


def test_limits_of_both_algorithms(model):
    link = model.Link(1e-5, 1e10)
    assert model.all_reduce(1, 1e9, link) == 0
    # Small arrays cost messages, large ones twice their bytes.
    assert model.all_reduce(1024, 4, link) == pytest.approx(20e-5, rel=1e-2)
    assert model.all_reduce(8, 1e9, link) == pytest.approx(2 * 7 / 8 * 0.1, rel=1e-2)


def test_all_but_the_last_bucket_are_hidden(model):
    waits = [0.1] * 4
    assert model.step(1.0, 2.0, 0.5, waits, beside=False) == pytest.approx(3.9)
    assert model.step(1.0, 2.0, 0.5, waits) == pytest.approx(3.6)
    assert model.step(1.0, 2.0, 0.5, waits, work=0.1) == pytest.approx(4.0)
