# SPDX-License-Identifier: Apache-2.0
"""Quantization of compiled functions to 8-bit integers."""
