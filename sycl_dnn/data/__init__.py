# SPDX-License-Identifier: Apache-2.0
"""Input pipelines: batches, prefetching to the device, and running metrics."""

from typing import Any

from sycl_dnn import _torch_habits
from sycl_dnn.data.batching import Batches
from sycl_dnn.data.metrics import Metrics
from sycl_dnn.data.prefetching import Prefetcher

__all__ = ["Batches", "Metrics", "Prefetcher"]


def __getattr__(name: str) -> Any:
    raise _torch_habits.missing("data", "sycl_dnn.data", name)
