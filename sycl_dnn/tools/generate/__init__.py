# SPDX-License-Identifier: Apache-2.0
"""Text from a language model. ``python -m sycl_dnn generate`` is the command."""
