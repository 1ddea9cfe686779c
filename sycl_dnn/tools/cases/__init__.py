# SPDX-License-Identifier: Apache-2.0
"""Test cases of primitives in benchdnn's language: parsing, data, execution.

The grammar is in docs/verify.md.
"""
