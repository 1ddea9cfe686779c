# SPDX-License-Identifier: Apache-2.0
"""Counts of the calls of methods."""


def counter(patched, owner, name):
    """Count the calls of a method while it is patched; return what returns their number."""
    method, calls = getattr(owner, name), []

    def counted(*args, **kwargs):
        calls.append(name)
        return method(*args, **kwargs)

    patched.setattr(owner, name, counted)
    return lambda: len(calls)
