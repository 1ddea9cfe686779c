# SPDX-License-Identifier: Apache-2.0
"""Which implementation oneDNN has for what: descriptors made and described, nothing executed.

``python -m sycl_dnn matrix`` is the command; docs/support_matrix.md is what it writes.
"""
