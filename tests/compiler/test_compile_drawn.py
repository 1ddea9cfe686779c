# SPDX-License-Identifier: Apache-2.0
"""Random functions give the same results compiled and step by step."""

import dpnp
import numpy as np
import pytest
from chain_drawing import drawn
from hypothesis import HealthCheck, given, settings

import sycl_dnn

#: Largest error relative to the largest element.
TOLERANCE = {None: 2e-5, "bfloat16": 8e-2}
RARE = settings(
    max_examples=150, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)


def compare(case, queue, dtype):
    x, function = case.input(queue), case.function(queue)
    expected = dpnp.asnumpy(function(x))
    compiled = sycl_dnn.compile(function, dtype=dtype)
    for _ in range(2):
        actual = compiled(x)
        assert actual.shape == expected.shape
        assert actual.dtype == np.float32
        scale = max(np.abs(expected).max(), 1e-3)
        np.testing.assert_allclose(
            dpnp.asnumpy(actual),
            expected,
            rtol=0,
            atol=TOLERANCE[dtype] * scale,
            err_msg=repr(case),
        )


@pytest.mark.slow
@RARE
@given(case=drawn)
def test_compiled_functions_equal_eager_calls(case, queue):
    compare(case, queue, None)


#: Functions too sensitive to bfloat16 rounding, or that choose a dtype themselves.
_TOO_FINE = ("div", "sub", "sub_r", "square", "layer", "bfloat16", "flip")


@pytest.mark.slow
@RARE
@given(case=drawn)
def test_lowered_to_bfloat16_is_near_eager(case, queue):
    case.steps = [s for s in case.steps if s[1] not in _TOO_FINE] or [("unary", "relu")]
    compare(case, queue, "bfloat16")
