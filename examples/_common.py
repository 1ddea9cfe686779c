# SPDX-License-Identifier: Apache-2.0
"""What the examples share: their command line, the device, and how they end."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable

import dpctl

import sycl_dnn


def make_parser(doc: str | None) -> argparse.ArgumentParser:
    """Return a parser with the options of every example; ``doc`` is the program's docstring."""
    parser = argparse.ArgumentParser(
        description=(doc or "").partition("\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--device", help="cpu, gpu or another SYCL filter string (default: a GPU)")
    parser.add_argument(
        "--no-check", action="store_true", help="do not check values (a simulated GPU has none)"
    )
    return parser


def open_queue(device: str | None) -> dpctl.SyclQueue:
    """Return the queue that dpnp uses on ``device``, and print which device that is."""
    try:
        queue = sycl_dnn.default_queue(device)
    except sycl_dnn.NoDeviceError as error:
        sys.exit(f"--device: {error}")
    print(f"device: {queue.sycl_device.filter_string}, {queue.sycl_device.name.strip()}")
    return queue


def start(parser: argparse.ArgumentParser) -> tuple[argparse.Namespace, dpctl.SyclQueue]:
    """Read the command line; return its options and the queue of the device that it names."""
    options = parser.parse_args()
    return options, open_queue(options.device)


def print_implementations(rows: Iterable[tuple[str, str, str]]) -> None:
    """Print the steps of a network: name, primitive, and the implementation that oneDNN chose."""
    for name, primitive, implementation in rows:
        print(f"  {name:36} {primitive:31} {implementation}")


def finish(options: argparse.Namespace, program: str) -> None:
    """Print the last line of an example; it says ``passed`` only if values were checked."""
    print(f"{program}: {'done, nothing checked' if options.no_check else 'passed'}")
