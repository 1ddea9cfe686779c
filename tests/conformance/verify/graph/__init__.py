# SPDX-License-Identifier: Apache-2.0
"""Graphs in benchdnn's JSON: read, rewritten, run through `sycl_dnn.graph`, compared with NumPy."""
