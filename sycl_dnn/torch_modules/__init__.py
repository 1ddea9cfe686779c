# SPDX-License-Identifier: Apache-2.0
"""Conversion of torch modules to ``sycl_dnn.nn``: ``sycl_dnn.from_torch``."""
