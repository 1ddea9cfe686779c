# SPDX-License-Identifier: Apache-2.0
"""``--calls`` and ``--seed``: how many calls are generated, and which."""


def pytest_addoption(parser):
    parser.addoption("--calls", type=int, default=2000, help="of all kinds together")
    parser.addoption("--seed", type=int, default=0)
