# SPDX-License-Identifier: Apache-2.0
"""Indexing, sorting and counting."""
