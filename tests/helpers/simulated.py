# SPDX-License-Identifier: Apache-2.0
"""The end of a process that has used a simulated GPU."""

import os
import sys


def leave(status):
    """End the process with this status, without the simulated driver's way out.

    Now and then that aborts ("free(): invalid size") after all work was done well: the driver
    (22.43) has damaged the heap. Processes without it return, and end as usual.
    """
    if "SetCommandStreamReceiver" in os.environ:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
