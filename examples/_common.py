# SPDX-License-Identifier: Apache-2.0
"""What the examples share: their command line and how they name the device."""

from __future__ import annotations

import argparse

import dpctl
from dpctl._sycl_queue_manager import get_device_cached_queue

import sycl_dnn


def make_parser(description: str) -> argparse.ArgumentParser:
    """Return a parser with the options of every example, ``--device`` and ``--no-check``."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument("--device", help="cpu, gpu or another SYCL filter string (default: a GPU)")
    parser.add_argument(
        "--no-check", action="store_true", help="do not check values (a simulated GPU has none)"
    )
    return parser


def open_queue(device: str | None) -> dpctl.SyclQueue:
    """Return the queue that dpnp uses on ``device`` and say on which device that is."""
    if device is None:
        queue = sycl_dnn.default_queue()
    else:
        queue = get_device_cached_queue(dpctl.SyclDevice(device))
    sycl_device = queue.sycl_device
    print(f"device: {sycl_device.filter_string}, {sycl_device.name.strip()}")
    return queue
