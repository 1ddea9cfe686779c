# SPDX-License-Identifier: Apache-2.0
"""Which device a rank takes where there are GPUs, and alone a group of one on a GPU."""

import dpctl
import pytest

from sycl_dnn.device import default_queue, usable_devices
from sycl_dnn.distributed import group

LEVEL_ZERO = dpctl.backend_type.level_zero


def test_ranks_take_gpus_of_level_zero_in_turn():
    gpus = [d for d in usable_devices("gpu") if d.backend == LEVEL_ZERO]
    for local_rank in range(4):
        device = group._queue_of_rank(local_rank, None).sycl_device
        assert device == gpus[local_rank % len(gpus)] if gpus else device.is_cpu


def test_gpus_that_oneccl_cannot_use_are_refused_by_name():
    for device in usable_devices("gpu"):
        if device.backend == LEVEL_ZERO:
            assert group._queue_of_rank(0, device.filter_string).sycl_device == device
            continue
        with pytest.raises(RuntimeError, match="through Level Zero, and opencl:gpu:0"):
            group._queue_of_rank(0, device.filter_string)


def test_alone_the_device_is_that_of_all_functions(monkeypatch):
    for name in ("RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"):
        monkeypatch.delenv(name, raising=False)
    assert group._joined(600, None, None).queue == default_queue()
