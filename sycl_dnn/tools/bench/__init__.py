# SPDX-License-Identifier: Apache-2.0
"""Time, GFLOP/s and GB/s of cases in benchdnn's language, and where they are below the roof.

``python -m sycl_dnn bench`` is the command; docs/inspect.md describes it.
"""
