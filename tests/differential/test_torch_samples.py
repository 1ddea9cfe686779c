# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own samples of its operators against its results, ``--samples`` of each and dtype.

``SYCL_DNN_INTERPRET=always`` takes a fifth of the time: nothing is compiled.
"""

import warnings
from itertools import islice

import pytest

import sycl_dnn

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest")

from differential.sample_comparison import compared  # noqa: E402
from differential.sample_exceptions import ACCEPTED, DIFFERENT, REFUSED, reason  # noqa: E402
from differential.torch_samples import (  # noqa: E402
    converted,
    function_of,
    infos,
    name_of,
    samples,
    to_torch,
)

DTYPES = ("float32", "bfloat16", "float16", "float64", "complex64", "int64", "int32", "uint8",
          "int8", "bool")  # fmt: skip
#: Where each function is also called as a method, and compiled.
MORE = ("float32", "bfloat16", "int64")
NAMES = [name_of(info) for info in infos() if function_of(info) is not None]
#: Errors by which the package refuses a call.
CLEAR = (TypeError, ValueError, NotImplementedError, sycl_dnn.Unimplemented)


def _text(error, dtype):
    """Return a message; that of an operation without float64 is found by other processes."""
    if dtype == "float64" and isinstance(error, sycl_dnn.Unimplemented):
        return None
    return f"{error}"


def _finding(sample, call):
    """Return how a call of a sample differs from torch's, or None."""
    try:
        native, is_refused = sample.torch_call(), False
    except Exception:  # noqa: BLE001 - torch has no such kernel
        native, is_refused = None, True
    try:
        results = call(*sample.arrays)
    except Exception as error:  # noqa: BLE001
        text = _text(error, sample.dtype)
        if is_refused or text is None or reason(REFUSED, sample.name, sample.dtype, text):
            return None
        return f"refused: {type(error).__name__}: {text}"
    if is_refused:
        return None
    text = compared(sample, to_torch(results), native)
    if text is None or reason(DIFFERENT, sample.name, sample.dtype, text):
        return None
    return text


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMES)
def test_samples_have_torchs_results(name, request):
    count = request.config.getoption("--samples")
    findings = []
    for dtype in DTYPES:
        for way in ("function", "method", "compiled") if dtype in MORE else ("function",):
            of = "method" if way == "method" else "function"
            for sample in samples(dtype, [name], limit=count, way=of):
                call = sycl_dnn.compile(sample.call) if way == "compiled" else sample.call
                if (text := _finding(sample, call)) is not None:
                    findings.append(f"{way} of {sample}: {text}")
    assert not findings, "\n".join(findings)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [n for n in NAMES if infos([n])[0].error_inputs_func])
def test_calls_that_torch_refuses_are_refused_clearly(name):
    (info,) = infos([name])
    findings = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = list(islice(info.error_inputs("cpu"), 200))
    for number, case in enumerate(cases):
        sample = converted(info, "float32", number, case.sample_input)
        rule = case.error_regex if isinstance(case.error_regex, str) else ""
        try:
            sample.call(*sample.arrays)
        except CLEAR:
            continue
        except Exception as error:  # noqa: BLE001
            if not reason(REFUSED, name, "float32", f"{error}"):
                findings.append(f"{sample}: {type(error).__name__}: {error}")
            continue
        if not reason(ACCEPTED, name, "float32", rule):
            findings.append(f"{sample}: accepted, torch says {rule}")
    assert not findings, "\n".join(findings)
