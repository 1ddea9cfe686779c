# SPDX-License-Identifier: Apache-2.0
"""Compiled functions in 8-bit integers."""
