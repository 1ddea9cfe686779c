# SPDX-License-Identifier: Apache-2.0
"""Parsers of the commands that read cases: what they leave over are options of drivers."""

from __future__ import annotations

import argparse


def parser_of(command: str, description: str) -> argparse.ArgumentParser:
    """Return a parser with the choice of the device.

    Parameters
    ----------
    command : str
        As it is typed behind ``python -m``.
    description : str
        Printed as it is.
    """
    found = argparse.ArgumentParser(
        prog=f"python -m {command}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    found.add_argument("--device", default="", metavar="D", help="cpu, gpu or a dpctl filter")
    found.add_argument("--engine", dest="device", metavar="D", help="the same, benchdnn's name")
    return found
