# SPDX-License-Identifier: Apache-2.0
"""What this CPU answers to every cell, compared with recorded numbers; and its page."""

import pytest
from matrix_counts import changed_counts

from conformance.matrix.families import FAMILIES, cells
from conformance.matrix.page import page
from conformance.matrix.record import counts, measure
from sycl_dnn.tools.cases.drivers import DRIVERS
from sycl_dnn.tools.explain.probe import ProbeError


@pytest.mark.slow
def test_implementation_counts_match_the_record_of_this_cpu(prober):
    assert changed_counts(measure(["cpu"], (prober.facts["isa"],), [*cells()], print)) == {}


@pytest.mark.slow
def test_the_page_has_each_driver_and_the_numbers(prober):
    part = [*cells(["sum", "softmax"])]
    record = measure(["cpu"], (prober.facts["isa"],), part, print)
    text = page(record)
    for driver, (numbers,) in ((d, t.values()) for d, t in counts(record).items()):
        assert f"| {' / '.join(map(str, numbers[:4]))} |" in text, driver
        assert f"({driver})\n" in text


@pytest.mark.slow
def test_every_driver_has_distinct_cells():
    assert FAMILIES.keys() == DRIVERS.keys()
    every = list(cells())
    assert len({cell.line for cell in every}) == len(every)
    with pytest.raises(ValueError, match="drivers must be of conv, .* got 'convolution'"):
        list(cells(["convolution"]))


@pytest.mark.slow
def test_an_unavailable_isa_level_is_reported(prober):
    part = list(cells(["sum"]))[:1]
    if prober.facts["isa"] != "avx10_2_amx_2":
        with pytest.raises(ProbeError, match="has none of the levels avx10_2_amx_2"):
            measure(["cpu"], ("avx10_2_amx_2",), part, print)
