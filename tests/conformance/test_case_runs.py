# SPDX-License-Identifier: Apache-2.0
"""Runs of cases detect wrong results, limit memory and work, and recognize known faults."""

import numpy as np
import pytest

from conformance import case_runs, expected_results
from conformance.case_runs import cases_of, run_case
from sycl_dnn.tools.cases import options
from sycl_dnn.tools.cases.case_files import Case

WATCHED = {
    "conv": ("ic4oc4ih5kh3", "dst"),
    "matmul": ("5x8:8x3", "dst"),
    "softmax": ("4x9", "dst"),
    "reorder": ("2x3x4x5", "dst"),
    "bnorm": ("ic4ih3", "dst"),
    "rnn": ("t2sic4", "dst_layer"),
}


@pytest.mark.parametrize("driver", WATCHED)
def test_wrong_results_are_detected(driver, cpu_stream, monkeypatch):
    problem, output = WATCHED[driver]
    case = Case(driver, problem)
    assert run_case(case, cpu_stream).status == "PASSED"
    right = expected_results.expected

    def off_by_a_little(call, arrays):
        results = {name: np.array(value) for name, value in right(call, arrays).items()}
        results[output].flat[1] += 0.01 + abs(results[output].flat[1]) * 0.01
        return results

    monkeypatch.setattr(expected_results, "expected", off_by_a_little)
    outcome = run_case(case, cpu_stream)
    assert (outcome.status, output in outcome.reason) == ("FAILED", True)


def test_writes_outside_of_a_result_are_detected(cpu_stream, monkeypatch):
    right = case_runs.device_runs.Execution.results

    def intruding(self):
        return right(self)[0], {"dst": "!"}

    monkeypatch.setattr(case_runs.device_runs.Execution, "results", intruding)
    assert run_case(Case("softmax", "4x9"), cpu_stream)[:2] == ("FAILED", "dst: !")


def test_too_much_memory_is_refused_before_allocation(cpu_stream):
    outcome = run_case(Case("softmax", "1099511627776x1024"), cpu_stream)
    assert (outcome.status, "bytes, this one" in outcome.reason) == ("LIMITS", True)


def test_too_much_work_is_refused(cpu_stream, monkeypatch):
    monkeypatch.setattr(case_runs, "PRODUCTS", 1000)
    outcome = run_case(Case("matmul", "512x512:512x512"), cpu_stream)
    assert (outcome.status, "products, this one" in outcome.reason) == ("LIMITS", True)


def test_broken_rules_are_invalid(cpu_stream):
    (case,) = cases_of("--matmul --attr-scales=src:9 5x8:8x3")
    assert run_case(case, cpu_stream).status == "INVALID"


def test_known_faults_are_named(cpu_stream):
    outcome = run_case(Case("lnorm", "3x4x33", {"dir": "BWD_D", "flags": "M"}), cpu_stream)
    assert (outcome.status, "docs/onednn_in_python.md" in outcome.reason) == ("KNOWN", True)


@pytest.mark.parametrize("names", [{"impl": "ref"}, {"skip-impl": "brg,gemm"}])
def test_implementations_are_selected_by_name(names, cpu_stream):
    outcome = run_case(Case("matmul", "5x8:8x3", names), cpu_stream)
    assert (outcome.status, outcome.impl) == ("PASSED", "ref:any")


def test_no_implementation_of_that_name(cpu_stream):
    outcome = run_case(Case("matmul", "5x8:8x3", {"impl": "zebra"}), cpu_stream)
    assert outcome.status == "SKIPPED"
    assert "--impl and --skip-impl must leave one of" in outcome.reason


DYNAMIC = {
    "mx": ("mx:e8m0:1x32", 448.0 * 64, 64.0),
    "mx of less than a power": ("mx:e8m0:1x32", 448.0 * 33, 32.0),
    "others": ("dynamic_fp:f8_e4m3:1x32", 448.0 * 3, 3.0),
    "others of nothing": ("dynamic_fp:f8_e4m3:1x32", 0.0, 1.0),
}


@pytest.mark.parametrize(("policy", "largest", "scale"), DYNAMIC.values(), ids=DYNAMIC)
def test_scales_computed_by_onednn(policy, largest, scale):
    (quantity,) = options.quantities("f32")(f"dst:{policy}")
    values = np.zeros((2, 64))
    values[1, 40] = -largest
    scales = expected_results.scales(quantity, values, "f8_e4m3")
    assert scales.shape == (2, 2)
    assert scales[1, 1] == scale


def test_dropout_with_tag_undef_has_no_mask(cpu_stream):
    case = Case("matmul", "5x8:8x3", {"attr-dropout": "0.5:12345:undef"})
    assert case.call().attr.dropout.tag == ""
    outcome = run_case(case, cpu_stream)
    assert outcome.status == "PASSED", outcome.reason
