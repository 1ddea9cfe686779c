# SPDX-License-Identifier: Apache-2.0
"""Profiling: ``sycl_dnn.profile`` and ``python -m sycl_dnn trace``."""

from sycl_dnn.tools.profile.recorder import Profile, profile
from sycl_dnn.tools.profile.records import Record, Summary, TensorFacts

__all__ = ["Profile", "Record", "Summary", "TensorFacts", "profile"]
