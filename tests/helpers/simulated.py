# SPDX-License-Identifier: Apache-2.0
"""A simulated GPU: what is tried on it, and the end of a process that has used it."""

import os
import sys

from sycl_dnn.device import is_simulated


def by_turns(number, kinds):
    """Return the kinds that case ``number`` is tried in on the GPU: one of them on a simulated one.

    Nothing is computed there, and each kind compiles its own kernels: half a second each.
    """
    return [kinds[number % len(kinds)]] if is_simulated("gpu") else list(kinds)


def leave(status):
    """End the process with this status, without the simulated driver's way out.

    Now and then that aborts ("free(): invalid size") after all work was done well: the driver
    (22.43) has damaged the heap. Processes without it return, and end as usual.
    """
    if "SetCommandStreamReceiver" in os.environ:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
