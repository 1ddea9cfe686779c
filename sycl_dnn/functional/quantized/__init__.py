# SPDX-License-Identifier: Apache-2.0
"""Quantised arrays and their products."""
