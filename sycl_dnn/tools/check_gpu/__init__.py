# SPDX-License-Identifier: Apache-2.0
"""``python -m sycl_dnn check-gpu``: what works on this machine's GPU, as a report to send."""
