# SPDX-License-Identifier: Apache-2.0
"""The list of patterns, and the decorator that adds to it."""

PATTERNS = []
FLOATS = ("f32", "bf16")


def pattern(*dtypes, note="", **kwargs):
    """Register a function ``build(graph, dtype, **kwargs)`` that returns values of some inputs."""

    def keep(build):
        PATTERNS.append(((build.__name__ + ("-" + note if note else "")), build, dtypes, kwargs))
        return build

    return keep
