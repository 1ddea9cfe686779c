# SPDX-License-Identifier: Apache-2.0
"""Attention in any form reads its heads in place, with equal results."""

import dpnp
import numpy as np
import pytest
from arithmetic import is_older_than_avx2
from comparing import assert_same, compiled_as_eager
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sycl_dnn
from sycl_dnn import functional as F

FORMS = st.fixed_dictionaries(
    {
        "batch": st.integers(1, 3),
        "heads": st.sampled_from((1, 2, 3, 8)),
        "length": st.sampled_from((1, 2, 5, 16, 33)),
        "size": st.sampled_from((1, 4, 8, 20, 64)),
        "is_joint": st.booleans(),
        "is_causal": st.booleans(),
        "has_mask": st.booleans(),
        "is_back": st.booleans(),
    }
)


def _function(f, make):
    """Return attention over (B, L, 3 H E) or three (B, L, H E), and its arguments."""
    shape = (f["batch"], f["length"], f["heads"], f["size"])
    width = f["heads"] * f["size"]
    mask = make(f["length"], f["length"]) if f["has_mask"] else None

    def heads(t):
        return F.transpose(F.reshape(t, shape), 1, 2)

    def attend(*parts):
        parts = F.split(parts[0], width, 2) if f["is_joint"] else parts
        q, k, v = map(heads, parts)
        result = F.scaled_dot_product_attention(q, k, v, mask, is_causal=f["is_causal"])
        if not f["is_back"]:
            return result
        return F.reshape(F.transpose(result, 1, 2), (f["batch"], f["length"], width))

    n, wide = (1, 3 * width) if f["is_joint"] else (3, width)
    return attend, [make(f["batch"], f["length"], wide) for _ in range(n)]


@pytest.mark.slow
@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(form=FORMS)
@pytest.mark.parametrize("dtype", [None, "bfloat16"])
def test_attention(form, dtype, queue):
    rng = np.random.default_rng(0)
    make = lambda *s: dpnp.asarray(rng.standard_normal(s).astype("f4"), sycl_queue=queue)  # noqa: E731
    function, args = _function(form, make)
    compiled = sycl_dnn.compile(function, dtype=dtype)
    assert_same(compiled(*args), function(*args), 2e-5 if dtype is None else 6e-2)


def test_no_copies_remain(make, queue):
    w = make(3 * 64, 64) / 8

    def attention(x):
        parts = F.split(F.linear(x, w), 64, 2)
        q, k, v = (F.transpose(F.reshape(t, (2, 16, 4, 16)), 1, 2) for t in parts)
        result = F.scaled_dot_product_attention(q, k, v)
        return F.reshape(F.transpose(result, 1, 2), (2, 16, 64))

    report = compiled_as_eager(attention, make(2, 16, 64))
    if is_older_than_avx2(queue):
        assert report.n_steps <= 7, str(report)  # its products take dense operands only
        return
    assert report.n_reorders == 0, str(report)
    assert report.n_steps <= 4
