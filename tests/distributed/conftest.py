# SPDX-License-Identifier: Apache-2.0
"""Ranks that stay for the session, by their number; jobs that die there get their own processes."""

import pytest
from rank_jobs import Pool


@pytest.fixture(scope="session")
def in_ranks():
    """Return ``run(ranks, program, *arguments)``."""
    pools = {}

    def run(ranks, program, *arguments):
        if ranks not in pools:
            pools[ranks] = Pool(ranks)
        try:
            return pools[ranks].run(program, *arguments)
        except BaseException:
            pools.pop(ranks).close()
            raise

    yield run
    for pool in pools.values():
        pool.close()
