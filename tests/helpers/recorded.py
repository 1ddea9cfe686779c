# SPDX-License-Identifier: Apache-2.0
"""The records of profiles in short form."""


def names(p, kind="primitive"):
    """Names in order, without the reorders that depend on the CPU."""
    return [r.name for r in p.records if r.kind == kind and not r.inserted]
