# SPDX-License-Identifier: Apache-2.0
"""The commands: ``python -m sycl_dnn COMMAND``. Nothing in the library imports them."""
