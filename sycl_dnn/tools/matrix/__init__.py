# SPDX-License-Identifier: Apache-2.0
"""Which implementation oneDNN has for each case: descriptors made and described, none executed.

``python -m sycl_dnn matrix`` is the command; docs/support_matrix.md is what it writes.
"""
