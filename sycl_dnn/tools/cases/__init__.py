# SPDX-License-Identifier: Apache-2.0
"""Cases of one primitive in benchdnn's language: read, described, filled and executed.

docs/verify.md has the grammar.
"""
