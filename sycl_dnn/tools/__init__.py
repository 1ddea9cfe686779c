# SPDX-License-Identifier: Apache-2.0
"""The commands of ``python -m sycl_dnn``. The library itself does not import them."""
