# SPDX-License-Identifier: Apache-2.0
"""What ran, for how long, and why so slowly: ``sycl_dnn.profile``, ``python -m sycl_dnn trace``."""

from __future__ import annotations

from sycl_dnn.profiling.profile import Profile, profile
from sycl_dnn.profiling.record import Record, TensorFacts
from sycl_dnn.profiling.summary import Summary
from sycl_dnn.profiling.tracing import trace_main

__all__ = ["Profile", "Record", "Summary", "TensorFacts", "profile", "trace_main"]
