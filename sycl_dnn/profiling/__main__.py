# SPDX-License-Identifier: Apache-2.0
"""``python -m sycl_dnn.profiling script.py``: the same as ``python -m sycl_dnn trace``."""

import sys

from sycl_dnn.profiling.tracing import trace_main

if __name__ == "__main__":
    sys.exit(trace_main(sys.argv[1:]))
