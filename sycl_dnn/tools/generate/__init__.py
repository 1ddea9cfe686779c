# SPDX-License-Identifier: Apache-2.0
"""``python -m sycl_dnn generate``: text generation with a language model."""
