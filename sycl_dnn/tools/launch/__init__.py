# SPDX-License-Identifier: Apache-2.0
"""``python -m sycl_dnn launch``: start the ranks of a program and end them together."""
