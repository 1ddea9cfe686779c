# SPDX-License-Identifier: Apache-2.0
"""Rows by number."""
