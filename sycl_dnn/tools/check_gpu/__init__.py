# SPDX-License-Identifier: Apache-2.0
"""``python -m sycl_dnn check-gpu``: tests of this machine's GPUs, with a report to send."""
