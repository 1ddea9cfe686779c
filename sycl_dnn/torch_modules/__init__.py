# SPDX-License-Identifier: Apache-2.0
"""Modules of torch as modules of ``sycl_dnn.nn``: ``sycl_dnn.from_torch``."""
