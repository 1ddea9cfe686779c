# SPDX-License-Identifier: Apache-2.0
"""What the examples share: their command line and how they name the device."""

from __future__ import annotations

import argparse
import sys

import dpctl

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
    try:
        queue = sycl_dnn.default_queue(device)
    except sycl_dnn.NoDeviceError as error:
        sys.exit(f"--device: {error}")
    print(f"device: {queue.sycl_device.filter_string}, {queue.sycl_device.name.strip()}")
    return queue


def finish(options: argparse.Namespace, program: str) -> None:
    """Print the last line of an example; it says ``passed`` only if values were checked."""
    print(f"{program}: {'done, nothing checked' if options.no_check else 'passed'}")
