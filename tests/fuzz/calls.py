# SPDX-License-Identifier: Apache-2.0
"""The kinds of calls, and their outcomes."""

import warnings
from collections import Counter

from dpnp.exceptions import ExecutionPlacementError

import sycl_dnn
from fuzz import functions, graphs, layouts, primitives
from sycl_dnn import onednn as dnnl

#: Errors that a caller may get: docs/errors.md.
DOCUMENTED = (sycl_dnn.DnnlError, ValueError, TypeError, MemoryError, ExecutionPlacementError)
#: Kind -> (function of draw and stream, share of all calls).
KINDS = {
    "execute": (primitives.execute, 40),
    "describe": (primitives.describe, 15),
    "desc": (layouts.desc, 10),
    "memory": (layouts.memory, 5),
    "functional": (functions.call, 15),
    "guarded": (functions.guarded_call, 8),
    "graph": (graphs.run, 7),
}


def make_stream():
    """A stream on the CPU, or on any available device."""
    queue = sycl_dnn.default_queue()
    return dnnl.Stream(dnnl.Engine(queue), queue)


class Tally:
    """Counts of accepted and refused calls, by kind."""

    def __init__(self):
        self.counts = Counter()

    def play(self, kind, draw, stream):
        """Make one call; an undocumented error propagates."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                KINDS[kind][0](draw, stream)
            except DOCUMENTED as refusal:
                # Its text is not computed: that may start a process.
                self.counts[f"refused: {type(refusal).__name__}"] += 1
            else:
                self.counts["accepted"] += 1
