# SPDX-License-Identifier: Apache-2.0
"""The commands: ``python -m sycl_dnn COMMAND``. Nothing of the library imports them."""
